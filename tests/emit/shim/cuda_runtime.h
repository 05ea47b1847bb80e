// CUDA's runtime as far as emitted files use it, on the processor: kernels run a thread after the other, streams at
// once. Device memory ends at a page that nobody may touch.
#pragma once

#include <sys/mman.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __restrict__ __restrict

struct dim3 {
  unsigned x, y, z;
};
struct uint2 {
  unsigned x, y;
};
struct uint4 {
  unsigned x, y, z, w;
};
inline thread_local dim3 threadIdx, blockIdx;

using cudaError_t = int;
using cudaStream_t = struct CUstream_st*;
using cudaMemPool_t = struct Pool*;
enum : int { cudaSuccess = 0, cudaErrorInvalidValue = 1, cudaErrorMemoryAllocation = 2 };
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
inline cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }
inline cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void*, int, size_t) {
  return *blocks = 2, cudaSuccess;
}

#define TSR_LAUNCH(kernel, blocks, columns, rows, stream, ...)         \
  for (long long block_ = (++shim.launches, 0); block_ < (blocks); ++block_) \
    for (unsigned y_ = 0; y_ < (rows); ++y_)                           \
      for (unsigned x_ = 0; x_ < (columns); ++x_) {                    \
        blockIdx.x = static_cast<unsigned>(block_);                    \
        threadIdx.x = x_, threadIdx.y = y_;                            \
        kernel(__VA_ARGS__);                                           \
      }

// For the test, which has no CUDA: memory of the device, and what is left of it.
extern "C" inline void* shim_allocate(size_t bytes) {
  void* p = nullptr;
  return cudaMalloc(&p, bytes) == cudaSuccess ? p : nullptr;
}
