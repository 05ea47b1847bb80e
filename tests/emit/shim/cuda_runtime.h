// CUDA's runtime as far as emitted files use it, on the processor: kernels run a thread after the other, but warps whose
// threads exchange values, which run at once, and blocks with barriers, whose threads take turns; so do streams. Device
// memory ends at a page that nobody may touch.
#pragma once

#include <pthread.h>
#include <setjmp.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <thread>
#include <vector>

#include "../../support/cuda_bits.h"

#define __global__
#define __align__(n) __attribute__((aligned(n)))
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __restrict__ __restrict
#define __shared__ static

struct dim3 {
  unsigned x, y, z;
};
struct alignas(8) float2 {
  float x, y;
};
struct alignas(16) double2 {
  double x, y;
};
struct uint2 {
  unsigned x, y;
};
struct uint4 {
  unsigned x, y, z, w;
};
inline thread_local dim3 threadIdx, blockIdx, gridDim;

using cudaError_t = int;
using cudaStream_t = struct CUstream_st*;
using cudaMemPool_t = struct Pool*;
enum : int { cudaSuccess = 0, cudaErrorInvalidValue = 1, cudaErrorMemoryAllocation = 2, cudaErrorNotSupported = 801 };
enum { cudaDevAttrMemoryPoolsSupported, cudaDevAttrMultiProcessorCount };
enum { cudaMemoryTypeUnregistered, cudaMemoryTypeHost, cudaMemoryTypeDevice, cudaMemoryTypeManaged };
enum { cudaMemAllocationTypePinned, cudaMemLocationTypeDevice, cudaMemPoolAttrReleaseThreshold, cudaMemcpyDefault };
struct cudaMemPoolProps {
  int allocType;
  struct {
    int type, id;
  } location;
};
struct cudaPointerAttributes {
  int type;
};

// What a test looks at, and errors that it asks for.
struct Shim {
  std::map<void*, size_t> blocks;  // device memory that is held
  int launches = 0, copies = 0, fail_allocation = -1;
  cudaError_t last = cudaSuccess;
};
inline Shim shim;

inline float __int_as_float(int v) {
  float f;
  std::memcpy(&f, &v, sizeof f);
  return f;
}
inline int __float_as_int(float f) {
  int v;
  std::memcpy(&v, &f, sizeof v);
  return v;
}
inline long long __double_as_longlong(double f) {
  long long v;
  std::memcpy(&v, &f, sizeof v);
  return v;
}
inline double __longlong_as_double(long long v) {
  double f;
  std::memcpy(&f, &v, sizeof f);
  return f;
}
inline cudaError_t cudaGetDevice(int* device) { return *device = 0, cudaSuccess; }
inline cudaError_t cudaDeviceGetAttribute(int* value, int what, int) {
  *value = what == cudaDevAttrMultiProcessorCount ? 3 : std::getenv("SHIM_NO_POOLS") == nullptr;
  return cudaSuccess;
}
inline cudaError_t cudaGetLastError() {
  const cudaError_t last = shim.last;
  return shim.last = cudaSuccess, last;
}
inline const char* cudaGetErrorString(cudaError_t error) {
  return error == cudaErrorMemoryAllocation ? "out of memory" : "invalid argument";
}
inline cudaError_t failed(cudaError_t error) { return shim.last = error; }
inline cudaError_t cudaMalloc(void** p, size_t bytes) {
  if (shim.fail_allocation-- == 0) return failed(cudaErrorMemoryAllocation);
  const size_t page = 4096, held = (bytes + page - 1) / page * page, front = (held - bytes) / 16 * 16;
  auto* block = static_cast<char*>(mmap(nullptr, held + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  if (block == MAP_FAILED) return failed(cudaErrorMemoryAllocation);
  mprotect(block + held, page, PROT_NONE);
  std::memset(block, 0xa5, held);
  *p = block + front;
  shim.blocks[*p] = bytes;
  return cudaSuccess;
}
inline cudaError_t cudaFree(void* p) { return shim.blocks.erase(p) ? cudaSuccess : failed(cudaErrorInvalidValue); }
inline cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps*) {
  if (std::getenv("SHIM_BAD_POOLS") != nullptr) return failed(cudaErrorInvalidValue);
  return *pool = reinterpret_cast<cudaMemPool_t>(1), cudaSuccess;
}
inline cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, int, void*) { return cudaSuccess; }
inline cudaError_t cudaMallocFromPoolAsync(void** p, size_t bytes, cudaMemPool_t, cudaStream_t) {
  return cudaMalloc(p, bytes);
}
inline cudaError_t cudaFreeAsync(void* p, cudaStream_t) { return cudaFree(p); }
inline cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* what, const void* p) {
  what->type = cudaMemoryTypeUnregistered;
  for (const auto& [block, bytes] : shim.blocks)
    if (p >= block && p < static_cast<char*>(block) + bytes) what->type = cudaMemoryTypeDevice;
  return cudaSuccess;
}
inline cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, int, cudaStream_t) {
  ++shim.copies;
  return std::memcpy(to, from, bytes), cudaSuccess;
}
inline cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                                     size_t rows, int, cudaStream_t) {
  ++shim.copies;
  if (width > to_pitch || width > from_pitch) return failed(cudaErrorInvalidValue);
  for (size_t r = 0; r < rows; ++r)
    std::memcpy(static_cast<char*>(to) + r * to_pitch, static_cast<const char*>(from) + r * from_pitch, width);
  return cudaSuccess;
}
inline cudaError_t cudaMemsetAsync(void* at, int value, size_t bytes, cudaStream_t) {
  return std::memset(at, value, bytes), cudaSuccess;
}
inline cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }
inline cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void*, int, size_t) {
  return *blocks = 2, cudaSuccess;
}

// A warp whose threads run at once. One that exchanges without it is begun anew: kernels do not read what they write.
struct ShimWarp {
  pthread_barrier_t meet;
  unsigned long long values[32];
};
struct ShimNeedsWarp {};
inline thread_local ShimWarp* shim_warp = nullptr;
template <class T>
T shim_exchanged(T v, long long from) {
  if (shim_warp == nullptr) throw ShimNeedsWarp();
  std::memcpy(&shim_warp->values[threadIdx.x], &v, sizeof v);
  pthread_barrier_wait(&shim_warp->meet);
  if (from >= 0 && from < 32) std::memcpy(&v, &shim_warp->values[from], sizeof v);
  pthread_barrier_wait(&shim_warp->meet);
  return v;
}
template <class T>
T __shfl_up_sync(unsigned, T v, unsigned away) {
  return shim_exchanged(v, static_cast<long long>(threadIdx.x) - away);
}
template <class T>
T __shfl_down_sync(unsigned, T v, unsigned away) {
  return shim_exchanged(v, static_cast<long long>(threadIdx.x) + away);
}

// A block whose threads meet: each has a stack of its own, and runs until it meets the others or ends. One that meets
// without it is begun anew, as warps are.
struct ShimNeedsBlock {};
struct ShimBlock {
  struct Thread {
    ucontext_t beginning;
    jmp_buf where;
    bool begun = false, ended = false;
    dim3 index;
  };
  static constexpr size_t most = 1024, stack = 64 * 1024;
  Thread threads[most];
  Thread* running = nullptr;
  jmp_buf scheduler;
  std::function<void()> kernel;

  static void live();
  ShimBlock() {
    auto* memory = static_cast<char*>(
        mmap(nullptr, most * stack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    for (size_t k = 0; k < most; ++k) {
      ucontext_t& c = threads[k].beginning;
      getcontext(&c);
      c.uc_stack.ss_sp = memory + k * stack, c.uc_stack.ss_size = stack, c.uc_link = nullptr;
      makecontext(&c, live, 0);
    }
  }
  void resume(Thread& t) {
    threadIdx = t.index;
    running = &t;
    if (_setjmp(scheduler) != 0) return;
    if (t.begun) _longjmp(t.where, 1);
    t.begun = true;
    setcontext(&t.beginning);
  }
  void leave() {
    if (_setjmp(running->where) == 0) _longjmp(scheduler, 1);
  }
  void run(unsigned columns, unsigned rows, std::function<void()> body) {
    kernel = std::move(body);
    for (unsigned k = 0; k < columns * rows; ++k) threads[k].index = {k % columns, k / columns, 0}, threads[k].ended = false;
    for (bool again = true; again;) {
      again = false;
      for (unsigned k = 0; k < columns * rows; ++k)
        if (!threads[k].ended) resume(threads[k]), again = again || !threads[k].ended;
    }
    running = nullptr;
  }
};
inline ShimBlock& shim_block() {
  static ShimBlock* const block = new ShimBlock;
  return *block;
}
inline void ShimBlock::live() {
  ShimBlock& block = shim_block();
  for (;;) {
    block.kernel();
    block.running->ended = true;
    block.leave();
  }
}
inline void __syncthreads() {
  if (shim_block().running == nullptr) throw ShimNeedsBlock();
  shim_block().leave();
}

// Blocks that wait for others find that these have ended: they run in the order of their numbers.
inline unsigned atomicAdd(unsigned* at, unsigned more) {
  const unsigned before = *at;
  *at += more;
  return before;
}
inline void __threadfence() {}
#define tsr_fresh_f32x2(p, a, b) ((a) = ((const float*)(p))[0], (b) = ((const float*)(p))[1])
#define tsr_fresh_f64x2(p, a, b) ((a) = ((const double*)(p))[0], (b) = ((const double*)(p))[1])

template <class Kernel>
void shim_run(long long blocks, unsigned columns, unsigned rows, const Kernel& kernel) {
  ++shim.launches;
  const auto thread = [&](long long block, unsigned x, unsigned y) {
    blockIdx.x = static_cast<unsigned>(block), gridDim.x = static_cast<unsigned>(blocks);
    threadIdx.x = x, threadIdx.y = y;
    kernel();
  };
  const auto at_once = [&](long long block, unsigned y) {
    ShimWarp own;
    pthread_barrier_init(&own.meet, nullptr, 32);
    std::vector<std::thread> threads;
    for (unsigned x = 0; x < 32; ++x)
      threads.emplace_back([&, x] {
        shim_warp = &own;
        thread(block, x, y);
      });
    for (std::thread& t : threads) t.join();
    pthread_barrier_destroy(&own.meet);
  };
  for (long long block = 0; block < blocks; ++block) try {
      for (unsigned y = 0; y < rows; ++y) try {
          for (unsigned x = 0; x < columns; ++x) thread(block, x, y);
        } catch (ShimNeedsWarp) {
          at_once(block, y);
        }
    } catch (ShimNeedsBlock) {
      shim_block().run(columns, rows, kernel);
    }
}
#define TSR_LAUNCH(kernel, blocks, columns, rows, stream, ...) \
  shim_run(blocks, columns, rows, [&] { kernel(__VA_ARGS__); })

// For the test, which has no CUDA: memory of the device, and what is left of it.
extern "C" inline void* shim_allocate(size_t bytes) {
  void* p = nullptr;
  return cudaMalloc(&p, bytes) == cudaSuccess ? p : nullptr;
}
