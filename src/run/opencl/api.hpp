// The part of OpenCL 1.2 in use, declared by hand from the Khronos specification (version 1.2, revision 19), so that
// neither headers nor a library are needed to build. Names of functions are OpenCL's own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/process/dynamic_library.hpp"

namespace tessera::run::opencl {

namespace cl {

using Int = std::int32_t;
using UInt = std::uint32_t;
using Flags = std::uint64_t;
using Property = std::intptr_t;

using Platform = struct PlatformObject*;
using Device = struct DeviceObject*;
using Context = struct ContextObject*;
using Queue = struct QueueObject*;
using Mem = struct MemObject*;
using Program = struct ProgramObject*;
using Kernel = struct KernelObject*;
using Event = struct EventObject*;

using ContextNotify = void (*)(const char* message, const void* data, std::size_t size, void* user);
using BuildNotify = void (*)(Program, void* user);

// Results.
constexpr Int success = 0, device_not_found = -1, device_not_available = -2, mem_object_allocation_failure = -4,
              out_of_resources = -5, out_of_host_memory = -6, invalid_context = -34, invalid_command_queue = -36,
              invalid_kernel_name = -46, invalid_buffer_size = -61, platform_not_found = -1001, fault_nv = -9999;

constexpr Flags type_cpu = 2, type_gpu = 4, type_accelerator = 8, type_all = 0xFFFFFFFF;

constexpr UInt platform_version = 0x0901, platform_name = 0x0902;

constexpr UInt device_type = 0x1000, device_max_compute_units = 0x1002, device_max_work_group_size = 0x1004,
               device_max_clock_frequency = 0x100C, device_max_mem_alloc_size = 0x1010,
               device_max_parameter_size = 0x1017, device_single_fp_config = 0x101B,
               device_global_mem_cache_size = 0x101E, device_global_mem_size = 0x101F, device_local_mem_size = 0x1023,
               device_endian_little = 0x1026, device_available = 0x1027, device_compiler_available = 0x1028,
               device_name = 0x102B, driver_version = 0x102D, device_profile = 0x102E, device_version = 0x102F,
               device_extensions = 0x1030, device_double_fp_config = 0x1032, device_host_unified_memory = 0x1035,
               device_preferred_work_group_size_multiple = 0x1067;  // of version 3.0
constexpr UInt device_compute_capability_major_nv = 0x4000, device_compute_capability_minor_nv = 0x4001,
               device_registers_per_block_nv = 0x4002, device_warp_size_nv = 0x4003;
constexpr UInt device_wavefront_width_amd = 0x4043;
constexpr Flags fp_correctly_rounded_divide_sqrt = 128;

constexpr Property context_platform = 0x1084;
constexpr Flags queue_profiling_enable = 2;
constexpr Flags mem_read_write = 1, mem_alloc_host_ptr = 16;
constexpr Flags map_read = 1, map_write = 2;
constexpr Flags migrate_content_undefined = 2;

constexpr UInt program_binary_sizes = 0x1165, program_binaries = 0x1166, program_kernel_names = 0x1168;
constexpr UInt program_build_log = 0x1183;
constexpr UInt kernel_num_args = 0x1191;
constexpr UInt kernel_work_group_size = 0x11B0, kernel_local_mem_size = 0x11B2, kernel_private_mem_size = 0x11B4;
constexpr UInt event_command_execution_status = 0x11D3;
constexpr UInt profiling_command_end = 0x1283;

}  // namespace cl

// name, result, parameters
#define TESSERA_OPENCL_FUNCTIONS(F)                                                                                   \
  F(clGetPlatformIDs, cl::Int, (cl::UInt, cl::Platform*, cl::UInt*))                                                  \
  F(clGetPlatformInfo, cl::Int, (cl::Platform, cl::UInt, std::size_t, void*, std::size_t*))                           \
  F(clGetDeviceIDs, cl::Int, (cl::Platform, cl::Flags, cl::UInt, cl::Device*, cl::UInt*))                             \
  F(clGetDeviceInfo, cl::Int, (cl::Device, cl::UInt, std::size_t, void*, std::size_t*))                               \
  F(clCreateContext, cl::Context,                                                                                     \
    (const cl::Property*, cl::UInt, const cl::Device*, cl::ContextNotify, void*, cl::Int*))                           \
  F(clReleaseContext, cl::Int, (cl::Context))                                                                         \
  F(clCreateCommandQueue, cl::Queue, (cl::Context, cl::Device, cl::Flags, cl::Int*))                                  \
  F(clReleaseCommandQueue, cl::Int, (cl::Queue))                                                                      \
  F(clCreateBuffer, cl::Mem, (cl::Context, cl::Flags, std::size_t, void*, cl::Int*))                                  \
  F(clReleaseMemObject, cl::Int, (cl::Mem))                                                                           \
  F(clCreateProgramWithSource, cl::Program, (cl::Context, cl::UInt, const char**, const std::size_t*, cl::Int*))      \
  F(clCreateProgramWithBinary, cl::Program,                                                                           \
    (cl::Context, cl::UInt, const cl::Device*, const std::size_t*, const unsigned char**, cl::Int*, cl::Int*))        \
  F(clBuildProgram, cl::Int, (cl::Program, cl::UInt, const cl::Device*, const char*, cl::BuildNotify, void*))         \
  F(clGetProgramInfo, cl::Int, (cl::Program, cl::UInt, std::size_t, void*, std::size_t*))                             \
  F(clGetProgramBuildInfo, cl::Int, (cl::Program, cl::Device, cl::UInt, std::size_t, void*, std::size_t*))            \
  F(clReleaseProgram, cl::Int, (cl::Program))                                                                         \
  F(clCreateKernel, cl::Kernel, (cl::Program, const char*, cl::Int*))                                                 \
  F(clGetKernelInfo, cl::Int, (cl::Kernel, cl::UInt, std::size_t, void*, std::size_t*))                               \
  F(clGetKernelWorkGroupInfo, cl::Int, (cl::Kernel, cl::Device, cl::UInt, std::size_t, void*, std::size_t*))          \
  F(clSetKernelArg, cl::Int, (cl::Kernel, cl::UInt, std::size_t, const void*))                                        \
  F(clReleaseKernel, cl::Int, (cl::Kernel))                                                                           \
  F(clEnqueueNDRangeKernel, cl::Int,                                                                                  \
    (cl::Queue, cl::Kernel, cl::UInt, const std::size_t*, const std::size_t*, const std::size_t*, cl::UInt,           \
     const cl::Event*, cl::Event*))                                                                                   \
  F(clEnqueueReadBuffer, cl::Int,                                                                                     \
    (cl::Queue, cl::Mem, cl::UInt, std::size_t, std::size_t, void*, cl::UInt, const cl::Event*, cl::Event*))          \
  F(clEnqueueWriteBuffer, cl::Int,                                                                                    \
    (cl::Queue, cl::Mem, cl::UInt, std::size_t, std::size_t, const void*, cl::UInt, const cl::Event*, cl::Event*))    \
  F(clEnqueueReadBufferRect, cl::Int,                                                                                 \
    (cl::Queue, cl::Mem, cl::UInt, const std::size_t*, const std::size_t*, const std::size_t*, std::size_t,           \
     std::size_t, std::size_t, std::size_t, void*, cl::UInt, const cl::Event*, cl::Event*))                           \
  F(clEnqueueWriteBufferRect, cl::Int,                                                                                \
    (cl::Queue, cl::Mem, cl::UInt, const std::size_t*, const std::size_t*, const std::size_t*, std::size_t,           \
     std::size_t, std::size_t, std::size_t, const void*, cl::UInt, const cl::Event*, cl::Event*))                     \
  F(clEnqueueCopyBuffer, cl::Int,                                                                                     \
    (cl::Queue, cl::Mem, cl::Mem, std::size_t, std::size_t, std::size_t, cl::UInt, const cl::Event*, cl::Event*))     \
  F(clEnqueueCopyBufferRect, cl::Int,                                                                                 \
    (cl::Queue, cl::Mem, cl::Mem, const std::size_t*, const std::size_t*, const std::size_t*, std::size_t,            \
     std::size_t, std::size_t, std::size_t, cl::UInt, const cl::Event*, cl::Event*))                                  \
  F(clEnqueueFillBuffer, cl::Int,                                                                                     \
    (cl::Queue, cl::Mem, const void*, std::size_t, std::size_t, std::size_t, cl::UInt, const cl::Event*, cl::Event*)) \
  F(clEnqueueMapBuffer, void*,                                                                                        \
    (cl::Queue, cl::Mem, cl::UInt, cl::Flags, std::size_t, std::size_t, cl::UInt, const cl::Event*, cl::Event*,       \
     cl::Int*))                                                                                                       \
  F(clEnqueueUnmapMemObject, cl::Int, (cl::Queue, cl::Mem, void*, cl::UInt, const cl::Event*, cl::Event*))            \
  F(clEnqueueMigrateMemObjects, cl::Int,                                                                              \
    (cl::Queue, cl::UInt, const cl::Mem*, cl::Flags, cl::UInt, const cl::Event*, cl::Event*))                         \
  F(clEnqueueMarkerWithWaitList, cl::Int, (cl::Queue, cl::UInt, const cl::Event*, cl::Event*))                        \
  F(clFlush, cl::Int, (cl::Queue))                                                                                    \
  F(clFinish, cl::Int, (cl::Queue))                                                                                   \
  F(clWaitForEvents, cl::Int, (cl::UInt, const cl::Event*))                                                           \
  F(clGetEventInfo, cl::Int, (cl::Event, cl::UInt, std::size_t, void*, std::size_t*))                                 \
  F(clGetEventProfilingInfo, cl::Int, (cl::Event, cl::UInt, std::size_t, void*, std::size_t*))                        \
  F(clReleaseEvent, cl::Int, (cl::Event))

// The functions of the library that was found; none when there is no library, or one that lacks a function.
struct Api {
#define TESSERA_OPENCL_DECLARE(name, result, parameters) result(*name) parameters = nullptr;
  TESSERA_OPENCL_FUNCTIONS(TESSERA_OPENCL_DECLARE)
#undef TESSERA_OPENCL_DECLARE
  base::DynamicLibrary library;
  const char* lacking = nullptr;  // the first function that the library has not

  bool usable() const { return library.loaded() && lacking == nullptr; }
};

// Looks for the library once a process; never throws.
const Api& api();

const char* name_of(cl::Int code);  // "CL_OUT_OF_RESOURCES"

// An object of OpenCL, released with its owner.
template <class T>
class Handle {
 public:
  Handle() = default;
  Handle(T value, cl::Int (*release)(T)) : value_(value), release_(release) {}
  Handle(Handle&& other) noexcept : value_(std::exchange(other.value_, nullptr)), release_(other.release_) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(value_, other.value_);
    std::swap(release_, other.release_);
    return *this;
  }
  ~Handle() {
    if (value_ != nullptr) release_(value_);
  }
  T get() const { return value_; }
  explicit operator bool() const { return value_ != nullptr; }

 private:
  T value_ = nullptr;
  cl::Int (*release_)(T) = nullptr;
};

}  // namespace tessera::run::opencl
