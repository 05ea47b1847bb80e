// Files for users of GPUs: the kernels as a run compiles them, and a host's entry point.
//
//   CUDA    one .cu file. NAME(inputs..., run-time parameters as int..., outputs...) takes host and device pointers,
//   and
//           int NAME_on_stream(the same, cudaStream_t) returns an error instead of printing it.
//   OpenCL  a .cl file and a .c file, which reads it at the first call. NAME(...) takes host pointers, and
//           int NAME_enqueue(cl_command_queue, the same with cl_mem for arrays) works on buffers of the caller.
//
// Arrays are contiguous. Kernels of strips do not take images smaller than their halo, so that a file holds the program
// twice: the second time untiled.
#pragma once

#include <string>
#include <vector>

#include "emit/device/kernels.hpp"
#include "emit/device/transforms.hpp"
#include "ir/host/program.hpp"
#include "plan/plan.hpp"

namespace tessera::emit {

struct DeviceVariant {
  plan::Plan plan;
  lower::DeviceProgram lowered;
  bool last = false;  // of its part: it takes any image. Set when printed
};

struct DeviceFiles {
  std::string source;  // .cu or .cl
  std::string host;    // .c of OpenCL
  std::string header;  // declares the functions
};

// Every variant takes smaller images than the one before, the last one any. `kernels_file` is how OpenCL's host file
// finds the kernels. Throws Error(argument) when the name is not an identifier that C and C++ leave to their users, or
// where a struct has that of a type of CUDA.
DeviceFiles print_device_files(std::vector<DeviceVariant>, DeviceDialect, Numbers, const std::string& name,
                               const std::string& kernels_file);
// The same of a host program: the variants of every part, and transforms of the extents that the file is made for.
DeviceFiles print_device_files(const ir::host::Program&, const ir::Graph&,
                               std::vector<std::vector<DeviceVariant>> parts, std::vector<SizedTransform>,
                               DeviceDialect, Numbers, const std::string& name, const std::string& kernels_file);

}  // namespace tessera::emit
