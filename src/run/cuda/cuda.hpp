// CUDA devices; what they do is said in run/gpu/device.hpp. Nothing here needs a toolkit to build, or a GPU to start.
//
// $TESSERA_CUDA_DRIVER and $TESSERA_NVRTC name the driver (libcuda.so.1) and the compiler (libnvrtc.so.13, .12 or
// .11.2) where the loader does not find them. Memory that does not fit is a gpu::OutOfMemory (run/gpu/errors.hpp).
#pragma once

#include <memory>

#include "run/gpu/device.hpp"

namespace tessera::run::cuda {

// Makes no context: cheap but for the first call, which starts the driver. Never throws.
gpu::Found find();

// The device of that number, the same object for all callers; it lives until the process ends. Throws Error(device)
// when there is no driver, no NVRTC or no such device.
std::shared_ptr<gpu::Device> open(int index);

// Memory of a device that belongs to somebody else, such as another library's array; `owner` is held as long as work
// uses it. The pointer is taken as it is.
std::shared_ptr<gpu::Memory> borrow(void* device_pointer, i64 bytes, std::shared_ptr<void> owner = {});

// Where the memory of a CUDA device begins, for other libraries. Throws Error(internal) for memory of another kind.
void* pointer_of(const gpu::Memory&);

}  // namespace tessera::run::cuda
