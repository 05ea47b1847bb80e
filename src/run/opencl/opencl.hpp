// OpenCL devices behind the interface of run/gpu/device.hpp: version 1.2 and nothing beyond, of any vendor.
//
// The library is opened at run time: $TESSERA_OPENCL alone when it is set, else libOpenCL.so.1, libOpenCL.so. Devices
// of all platforms are numbered in one row, graphics cards and accelerators first, then processors.
//
// What OpenCL leaves open, and what this layer makes of it:
//   - Launch::shared_bytes greater than 0 is one more argument of the kernel, behind the integers: __local u8* shared.
//     Kernels that declare their local memory themselves leave it 0.
//   - Memory begins where the device's OpenCL puts it: at a multiple of 128 bytes by the standard, of 256 or more on
//     every graphics card we know.
//   - Code that is not to be contracted must say `#pragma OPENCL FP_CONTRACT OFF` itself: no option says so. Division
//     and square roots of exact code are asked to be rounded correctly where the device can.
//   - Of a kernel's registers and the groups that fit a compute unit OpenCL says nothing: Module::usage() gives -1.
#pragma once

#include <memory>

#include "run/gpu/device.hpp"

namespace tessera::run::opencl {

// Never throws. Looks once a process: later calls copy what the first one saw.
gpu::Found find();

// One object per index and process, never destroyed. Throws Error(device) when there is no such device.
std::shared_ptr<gpu::Device> open(int index);

}  // namespace tessera::run::opencl
