// The CUDA driver's functions in use, declared here and found at run time: neither headers nor a toolkit are needed to
// build, and a program without a GPU starts as well.
//
// Handles are pointers to types of no content; numbers of attributes and errors are those of the driver's own
// interface, which NVIDIA keeps forever. A name with _v2 is the function that a program gets which was compiled with
// cuda.h.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace tessera::run::cuda {

using Status = int;                  // CUresult; 0 is success
using Ordinal = int;                 // CUdevice
using Address = unsigned long long;  // CUdeviceptr
using Context = struct ContextHandle*;
using ModuleHandle = struct ModuleHandleContent*;
using Function = struct FunctionHandle*;
using Stream = struct StreamHandle*;
using Event = struct EventHandle*;
using Pool = struct PoolHandle*;

enum : Status {
  success = 0,
  error_invalid_value = 1,
  error_out_of_memory = 2,
  error_deinitialized = 4,
  error_no_device = 100,
  error_invalid_image = 200,
  error_no_binary = 209,
  error_ecc = 214,
  error_invalid_ptx = 218,
  error_nvlink = 220,
  error_unsupported_ptx = 222,
  error_not_found = 500,
  error_not_ready = 600,
  error_peer_already_enabled = 704,
  error_illegal_address = 700,
  error_out_of_resources = 701,
  error_timeout = 702,
  error_context_destroyed = 709,
  error_assert = 710,
  error_hardware_stack = 714,  // 715 illegal instruction, 716 misaligned, 717 address space, 718 program counter
  error_launch_failed = 719,
  error_mps_client_terminated = 810,
  error_unknown = 999,
};
// After such an error every call in the context fails, until the process ends.
bool sticky(Status);

enum DeviceAttribute : int {
  max_threads_per_block = 1,
  max_shared_memory_per_block = 8,
  warp_size = 10,
  max_pitch = 11,
  clock_rate = 13,  // kHz
  multiprocessor_count = 16,
  integrated = 18,
  memory_clock_rate = 36,        // kHz
  global_memory_bus_width = 37,  // bits
  l2_cache_size = 38,
  max_threads_per_multiprocessor = 39,
  compute_capability_major = 75,
  compute_capability_minor = 76,
  max_shared_memory_per_multiprocessor = 81,
  max_registers_per_multiprocessor = 82,
  max_shared_memory_per_block_optin = 97,
  memory_pools_supported = 115,
};

// How a kernel is launched, and what else is asked for: so far that its blocks may come to the multiprocessors while
// the last ones of the kernel before it run, which they wait for by themselves (tsr_begin of emit/device/kernels.cpp).
struct LaunchAttribute {
  int id = 6;  // programmatic stream serialization
  int unused = 0;
  int value[16] = {1};
};
struct LaunchConfiguration {
  unsigned grid[3], block[3];
  unsigned shared_bytes;
  Stream stream;
  LaunchAttribute* attributes;
  unsigned attribute_count;
};
constexpr int capability_of_early_blocks = 90;

enum FunctionAttribute : int {
  function_max_threads_per_block = 0,
  function_shared_bytes = 1,
  function_local_bytes = 3,
  function_ptx_version = 5,  // the capability that it was compiled for, 90 is 9.0
  function_registers = 4,
  function_max_dynamic_shared_bytes = 8,
};

enum : unsigned { stream_non_blocking = 1, event_timed = 0, event_disable_timing = 2, host_portable = 1 };
enum : int { pool_release_threshold = 4 };  // its value is an unsigned 64-bit number
enum MemoryType : int { host_memory = 1, device_memory = 2 };

struct Copy2D {  // CUDA_MEMCPY2D
  std::size_t from_x, from_y;
  MemoryType from_type;
  const void* from_host;
  Address from_device;
  void* from_array;
  std::size_t from_pitch;
  std::size_t to_x, to_y;
  MemoryType to_type;
  void* to_host;
  Address to_device;
  void* to_array;
  std::size_t to_pitch;
  std::size_t width, height;  // bytes, rows
};

// Who may use the memory of a pool: device `id` may read and write it.
struct PoolAccess {  // CUmemAccessDesc
  int type = 1;      // a device
  int id = 0;
  int flags = 3;
};

// member, symbol, arguments
#define TESSERA_CUDA_REQUIRED(X)                                                                              \
  X(init, "cuInit", (unsigned))                                                                               \
  X(driver_version, "cuDriverGetVersion", (int*))                                                             \
  X(error_name, "cuGetErrorName", (Status, const char**))                                                     \
  X(error_string, "cuGetErrorString", (Status, const char**))                                                 \
  X(device_count, "cuDeviceGetCount", (int*))                                                                 \
  X(device_get, "cuDeviceGet", (Ordinal*, int))                                                               \
  X(device_name, "cuDeviceGetName", (char*, int, Ordinal))                                                    \
  X(device_attribute, "cuDeviceGetAttribute", (int*, int, Ordinal))                                           \
  X(device_memory, "cuDeviceTotalMem_v2", (std::size_t*, Ordinal))                                            \
  X(primary_retain, "cuDevicePrimaryCtxRetain", (Context*, Ordinal))                                          \
  X(context_get, "cuCtxGetCurrent", (Context*))                                                               \
  X(context_set, "cuCtxSetCurrent", (Context))                                                                \
  X(context_synchronize, "cuCtxSynchronize", ())                                                              \
  X(module_load, "cuModuleLoadData", (ModuleHandle*, const void*))                                            \
  X(module_unload, "cuModuleUnload", (ModuleHandle))                                                          \
  X(module_function, "cuModuleGetFunction", (Function*, ModuleHandle, const char*))                           \
  X(function_get, "cuFuncGetAttribute", (int*, int, Function))                                                \
  X(function_set, "cuFuncSetAttribute", (Function, int, int))                                                 \
  X(occupancy, "cuOccupancyMaxActiveBlocksPerMultiprocessor", (int*, Function, int, std::size_t))             \
  X(launch, "cuLaunchKernel",                                                                                 \
    (Function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Stream, void**, void**)) \
  X(stream_create, "cuStreamCreate", (Stream*, unsigned))                                                     \
  X(stream_destroy, "cuStreamDestroy_v2", (Stream))                                                           \
  X(stream_synchronize, "cuStreamSynchronize", (Stream))                                                      \
  X(event_create, "cuEventCreate", (Event*, unsigned))                                                        \
  X(event_destroy, "cuEventDestroy_v2", (Event))                                                              \
  X(event_record, "cuEventRecord", (Event, Stream))                                                           \
  X(event_query, "cuEventQuery", (Event))                                                                     \
  X(event_synchronize, "cuEventSynchronize", (Event))                                                         \
  X(event_elapsed, "cuEventElapsedTime", (float*, Event, Event))                                              \
  X(memory_info, "cuMemGetInfo_v2", (std::size_t*, std::size_t*))                                             \
  X(memory_allocate, "cuMemAlloc_v2", (Address*, std::size_t))                                                \
  X(memory_free, "cuMemFree_v2", (Address))                                                                   \
  X(host_allocate, "cuMemHostAlloc", (void**, std::size_t, unsigned))                                         \
  X(host_free, "cuMemFreeHost", (void*))                                                                      \
  X(upload, "cuMemcpyHtoDAsync_v2", (Address, const void*, std::size_t, Stream))                              \
  X(download, "cuMemcpyDtoHAsync_v2", (void*, Address, std::size_t, Stream))                                  \
  X(copy_rows, "cuMemcpy2DAsync_v2", (const Copy2D*, Stream))                                                 \
  X(fill, "cuMemsetD8Async", (Address, unsigned char, std::size_t, Stream))

// Since CUDA 11.2.
#define TESSERA_CUDA_POOLS(X)                                          \
  X(pool_of_device, "cuDeviceGetDefaultMemPool", (Pool*, Ordinal))     \
  X(pool_set, "cuMemPoolSetAttribute", (Pool, int, void*))             \
  X(pool_trim, "cuMemPoolTrimTo", (Pool, std::size_t))                 \
  X(pool_allocate, "cuMemAllocAsync", (Address*, std::size_t, Stream)) \
  X(pool_free, "cuMemFreeAsync", (Address, Stream))

// Since CUDA 11.8.
#define TESSERA_CUDA_LATER(X) \
  X(launch_early, "cuLaunchKernelEx", (const LaunchConfiguration*, Function, void**, void**))

// Of several devices, all or none.
#define TESSERA_CUDA_PEERS(X)                                                                  \
  X(stream_wait, "cuStreamWaitEvent", (Stream, Event, unsigned))                               \
  X(stream_create_urgent, "cuStreamCreateWithPriority", (Stream*, unsigned, int))              \
  X(stream_priorities, "cuCtxGetStreamPriorityRange", (int*, int*))                            \
  X(peer_copy, "cuMemcpyPeerAsync", (Address, Context, Address, Context, std::size_t, Stream)) \
  X(peer_can, "cuDeviceCanAccessPeer", (int*, Ordinal, Ordinal))                               \
  X(peer_enable, "cuCtxEnablePeerAccess", (Context, unsigned))                                 \
  X(pool_share, "cuMemPoolSetAccess", (Pool, const PoolAccess*, std::size_t))

#define TESSERA_CUDA_MEMBER(member, symbol, arguments) Status(*member) arguments = nullptr;
struct Driver {
  TESSERA_CUDA_REQUIRED(TESSERA_CUDA_MEMBER)
  TESSERA_CUDA_POOLS(TESSERA_CUDA_MEMBER)
  TESSERA_CUDA_LATER(TESSERA_CUDA_MEMBER)
  TESSERA_CUDA_PEERS(TESSERA_CUDA_MEMBER)

  std::string missing;  // why there is no driver or no device: a sentence; "" when all is well
  std::vector<std::string> notes;
  int version = 0;  // the newest CUDA that it knows: 12080 is 12.8
  int devices = 0;
  bool pools = false;  // has all functions of TESSERA_CUDA_POOLS
  bool peers = false;  // has all functions of TESSERA_CUDA_PEERS

  // "CUDA_ERROR_ILLEGAL_ADDRESS (700): an illegal memory access was encountered"
  std::string describe(Status) const;
};
#undef TESSERA_CUDA_MEMBER

// 12080 as "12.8".
std::string cuda_version(int number);

// Opened and initialised at the first call, then the same. Thread-safe, never throws.
const Driver& driver();

}  // namespace tessera::run::cuda
