// What kernels find in CUDA, for g++: included before a text for NVRTC by compiler.cpp, which has replaced assembly by
// calls of cuda_asm_INSTRUCTION. NVIDIA's rules hold where they differ from C++: overloads, lanes that take no part,
// bits of numbers that are none.
#pragma once

#include "../../support/cuda_bits.h"
#include "state.h"

#define __CUDACC__ 1
#define __CUDA_ARCH__ 900
#define __CUDACC_VER_MAJOR__ 12
#define __CUDACC_VER_MINOR__ 9
#define __global__
#define __device__
#define __host__
#define __constant__
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))
// One block at a time; a section of its own, so that the machine can fill it before every block.
#define __shared__ static __attribute__((section("cuda_shared_memory")))
// Arrays of functions that are "extern __shared__".
#define CUDA_DYNAMIC(type, name) type* const name = (type*)cuda_machine->dynamic

extern "C" {
CudaMachine* cuda_machine;
extern char __start_cuda_shared_memory[] __attribute__((weak, visibility("hidden")));
extern char __stop_cuda_shared_memory[] __attribute__((weak, visibility("hidden")));
void cuda_shared(char** begin, char** end) {
  *begin = __start_cuda_shared_memory;
  *end = __stop_cuda_shared_memory;
}
}

#define threadIdx (cuda_machine->thread)
#define blockIdx (cuda_machine->block)
#define blockDim (cuda_machine->threads)
#define gridDim (cuda_machine->blocks)
#define warpSize 32
#define __syncthreads() (cuda_machine->barrier())

struct alignas(8) uint2 {
  unsigned x, y;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};
struct alignas(16) float4 {
  float x, y, z, w;
};

template <class To, class From>
inline To cuda_bits(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  __builtin_memcpy(&to, &from, sizeof to);
  return to;
}
inline float __int_as_float(int v) {
  return cuda_bits<float>(v);
}
inline float __uint_as_float(unsigned v) {
  return cuda_bits<float>(v);
}
inline int __float_as_int(float v) {
  return cuda_bits<int>(v);
}
inline unsigned __float_as_uint(float v) {
  return cuda_bits<unsigned>(v);
}
inline double __longlong_as_double(long long v) {
  return cuda_bits<double>(v);
}
inline long long __double_as_longlong(double v) {
  return cuda_bits<long long>(v);
}

#define fabsf __builtin_fabsf
#define fabs __builtin_fabs
#define sqrtf __builtin_sqrtf
#define sqrt __builtin_sqrt
#define __fsqrt_rn __builtin_sqrtf
#define __dsqrt_rn __builtin_sqrt
#define fmaf __builtin_fmaf
#define fma __builtin_fma
#define fminf __builtin_fminf
#define fmaxf __builtin_fmaxf
#define fmin __builtin_fmin
#define fmax __builtin_fmax
#define __fmaf_rn __builtin_fmaf
#define __fma_rn __builtin_fma

// Assembly.
// Kernels run one after the other here.
inline void cuda_asm_griddepcontrol_launch_dependents_() {}
inline void cuda_asm_griddepcontrol_wait_() {}
inline void cuda_asm_cvt_f32_f16(float& to, unsigned short half) {
  to = (float)cuda_bits<_Float16>(half);
}
inline void cuda_asm_cvt_rn_f16_f32(unsigned short& to, float from) {
  to = from == from ? cuda_bits<unsigned short>((_Float16)from) : 0x7fff;
}
inline void cuda_asm_cvt_rn_f16_f64(unsigned short& to, double from) {
  to = from == from ? cuda_bits<unsigned short>((_Float16)from) : 0x7fff;
}
// Past the cache of a multiprocessor.
inline void cuda_asm_ld_global_cg_v2_f32(float& a, float& b, const float* from) {
  a = from[0];
  b = from[1];
}
inline void cuda_asm_ld_global_cg_v2_f64(double& a, double& b, const double* from) {
  a = from[0];
  b = from[1];
}
inline void cuda_asm_not_b32(unsigned& to, unsigned from) {
  to = ~from;
}
inline void cuda_asm_cvt_pack_sat_u8_s32_b32(unsigned& to, int high, int low) {
  const auto byte = [](int v) { return v < 0 ? 0u : v > 255 ? 255u : (unsigned)v; };
  to = byte(high) << 8 | byte(low);
}
inline void cuda_asm_ex2_approx_ftz_f32(float& to, float from) {
  const float power = __builtin_exp2f(from);
  to = power < 0x1p-126f ? 0.0f : power;
}

// Copies to shared memory that go on by themselves come when they are waited for, and no sooner.
struct CudaCopies {
  struct {
    char* to;
    const char* from;
    unsigned bytes, lot;
  } all[256];
  unsigned count, lot;  // lot: of what is asked for now
};
static CudaCopies cuda_copies[1024];
inline CudaCopies& cuda_own_copies() {
  return cuda_copies[threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)];
}
inline unsigned long __cvta_generic_to_shared(const void* p) {
  return (unsigned long)p;
}
inline void cuda_asm_cp_async_ca_shared_global(unsigned long to, const void* from, unsigned bytes) {
  CudaCopies& own = cuda_own_copies();
  if (own.count == 256 || to % bytes != 0 || (unsigned long)from % bytes != 0) __builtin_trap();
  own.all[own.count].to = (char*)to, own.all[own.count].from = (const char*)from;
  own.all[own.count].bytes = bytes, own.all[own.count++].lot = own.lot;
  __builtin_memset((char*)to, 0xff, bytes);
}
inline void cuda_asm_cp_async_cg_shared_global(unsigned long to, const void* from) {
  cuda_asm_cp_async_ca_shared_global(to, from, 16);
}
inline void cuda_asm_cp_async_commit_group_() {
  ++cuda_own_copies().lot;
}
// All lots but the last so many, and what has become none yet.
inline void cuda_asm_cp_async_wait_group(unsigned but) {
  CudaCopies& own = cuda_own_copies();
  unsigned left = 0;
  for (unsigned k = 0; k < own.count; ++k)
    if (own.lot - own.all[k].lot > but)
      __builtin_memcpy(own.all[k].to, own.all[k].from, own.all[k].bytes);
    else
      own.all[left++] = own.all[k];
  own.count = left;
}
inline void cuda_asm_cp_async_wait_all_() {
  cuda_asm_cp_async_commit_group_();
  cuda_asm_cp_async_wait_group(0);
}
// Blocks run one after the other: who waits for one that comes later waits for ever.
inline unsigned atomicAdd(unsigned* at, unsigned more) {
  const unsigned before = *at;
  *at += more;
  return before;
}
inline void __threadfence() {}

// Exchanges in a warp. Narrow integers are promoted to int, as by the overloads of CUDA.
template <class T>
inline T cuda_exchange(unsigned mask, T value, int from, bool keeps) {
  unsigned long long bits = 0;
  __builtin_memcpy(&bits, &value, sizeof value);
  const unsigned long long* const all = cuda_machine->exchange(mask, bits);
  if (keeps) return value;
  __builtin_memcpy(&value, &all[from & 31], sizeof value);
  return value;
}
// Stores that pass the caches.
template <class To, class From>
inline void __stcs(To* to, From value) {
  *to = (To)value;
}
#define CUDA_SHUFFLES(T)                                                             \
  inline T __shfl_sync(unsigned mask, T value, int lane, int width = 32) {           \
    const int own = (int)cuda_machine->lane, first = own & ~(width - 1);             \
    return cuda_exchange(mask, value, first | (lane & (width - 1)), false);          \
  }                                                                                  \
  inline T __shfl_up_sync(unsigned mask, T value, unsigned away, int width = 32) {   \
    const int own = (int)cuda_machine->lane, from = own - (int)away;                 \
    return cuda_exchange(mask, value, from, from < (own & ~(width - 1)));            \
  }                                                                                  \
  inline T __shfl_down_sync(unsigned mask, T value, unsigned away, int width = 32) { \
    const int own = (int)cuda_machine->lane, from = own + (int)away;                 \
    return cuda_exchange(mask, value, from, from > (own | (width - 1)));             \
  }                                                                                  \
  inline T __shfl_xor_sync(unsigned mask, T value, int changed, int width = 32) {    \
    const int own = (int)cuda_machine->lane, from = own ^ changed;                   \
    return cuda_exchange(mask, value, from, from > (own | (width - 1)));             \
  }
CUDA_SHUFFLES(int)
CUDA_SHUFFLES(unsigned)
CUDA_SHUFFLES(long)
CUDA_SHUFFLES(unsigned long)
CUDA_SHUFFLES(long long)
CUDA_SHUFFLES(unsigned long long)
CUDA_SHUFFLES(float)
CUDA_SHUFFLES(double)
#undef CUDA_SHUFFLES
inline void __syncwarp(unsigned mask = 0xffffffffu) {
  cuda_machine->exchange(mask, 0);
}

// Words of 8 rows of 16 bytes, whose addresses eight lanes give.
inline unsigned cuda_word_of_row(const unsigned long long* rows, unsigned block) {
  unsigned word = 0;
  const unsigned lane = cuda_machine->lane;
  const unsigned long long at = rows[8 * block + lane / 4];
  if (at % 16 != 0) __builtin_trap();
  __builtin_memcpy(&word, (const char*)at + 4 * (lane % 4), 4);
  return word;
}
inline void cuda_asm_ldmatrix_sync_aligned_m8n8_x4_shared_b16(unsigned& a, unsigned& b, unsigned& c, unsigned& d,
                                                              unsigned long row) {
  const unsigned long long* const rows = cuda_machine->exchange(0xffffffffu, row);
  a = cuda_word_of_row(rows, 0), b = cuda_word_of_row(rows, 1);
  c = cuda_word_of_row(rows, 2), d = cuda_word_of_row(rows, 3);
}
inline void cuda_asm_ldmatrix_sync_aligned_m8n8_x2_shared_b16(unsigned& a, unsigned& b, unsigned long row) {
  const unsigned long long* const rows = cuda_machine->exchange(0xffffffffu, row);
  a = cuda_word_of_row(rows, 0), b = cuda_word_of_row(rows, 1);
}
// What a lane gives to a product of 16 x 64 and 64 x 8 bytes, of whose first factor two of every four stand there.
struct CudaFactors {
  unsigned a[4], b[4], which;
};
template <class A, class B>
inline void cuda_sparse_product(int* sum, const CudaFactors& own) {
  const unsigned long long* const given = cuda_machine->exchange(0xffffffffu, (unsigned long long)&own);
  const CudaFactors* all[32];
  for (unsigned k = 0; k < 32; ++k) all[k] = (const CudaFactors*)given[k];
  const unsigned lane = cuda_machine->lane;
  for (unsigned k = 0; k < 4; ++k) {
    const unsigned row = lane / 4, half = k / 2, column = 2 * (lane % 4) + k % 2;
    for (unsigned stored = 0; stored < 32; ++stored) {
      const unsigned four = stored / 2, word = all[4 * row + four / 8 * 2 + half]->which >> (4 * (four % 8)) & 15;
      if ((word & 3) >= word >> 2) __builtin_trap();  // of two the first is the first
      const unsigned at = 4 * four + (word >> (2 * (stored % 2)) & 3);
      const unsigned a = all[4 * row + stored % 16 / 4]->a[stored / 16 * 2 + half] >> (8 * (stored % 4)) & 255;
      const unsigned b = all[4 * column + at % 16 / 4]->b[at / 16] >> (8 * (at % 4)) & 255;
      sum[k] = (int)((unsigned)sum[k] + (unsigned)((int)(A)a * (int)(B)b));
    }
  }
  cuda_machine->exchange(0xffffffffu, 0);  // all have read
}
#define CUDA_SPARSE_PRODUCT(A, B, a_type, b_type)                                                                     \
  inline void cuda_asm_mma_sp__ordered_metadata_sync_aligned_m16n8k64_row_col_s32_##a_type##_##b_type##_s32(                            \
      int& d0, int& d1, int& d2, int& d3, unsigned a0, unsigned a1, unsigned a2, unsigned a3, unsigned b0,            \
      unsigned b1, unsigned b2, unsigned b3, int c0, int c1, int c2, int c3, unsigned which) {                        \
    int sum[4] = {c0, c1, c2, c3};                                                                                    \
    const CudaFactors own = {{a0, a1, a2, a3}, {b0, b1, b2, b3}, which};                                              \
    cuda_sparse_product<A, B>(sum, own);                                                                              \
    d0 = sum[0], d1 = sum[1], d2 = sum[2], d3 = sum[3];                                                               \
  }
CUDA_SPARSE_PRODUCT(signed char, unsigned char, s8, u8)
CUDA_SPARSE_PRODUCT(unsigned char, unsigned char, u8, u8)
#undef CUDA_SPARSE_PRODUCT

// A thread of a kernel: arguments as cuLaunchKernel has them, an address each.
template <unsigned...>
struct CudaNumbers {};
template <class... P, unsigned... k>
inline void cuda_call(void (*kernel)(P...), void** arguments, CudaNumbers<k...>) {
  kernel(*(P*)arguments[k]...);
}
template <class... P>
inline void cuda_call(void (*kernel)(P...), void** arguments) {
  cuda_call(kernel, arguments, CudaNumbers<__integer_pack((unsigned)sizeof...(P))...>());
}
#define CUDA_KERNEL(name)                              \
  extern "C" void cuda_call_##name(void** arguments) { \
    cuda_call(name, arguments);                        \
  }
