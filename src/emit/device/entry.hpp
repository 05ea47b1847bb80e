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
#include "emit/loop_driver.hpp"
#include "plan/plan.hpp"
#include "rewrite/parts.hpp"

namespace tessera::emit {

struct DeviceVariant {
  plan::Plan plan;
  lower::DeviceProgram lowered;
  bool last = false;  // of its section: it takes any image. Set when printed
};

// A program, or one of the sections of a program with loops. Every variant takes smaller images than the one before,
// the last one any.
struct DeviceSection {
  std::vector<DeviceVariant> variants;
  // Of one with transforms in their place: its graph, what it was cut into, and the variants of every part.
  const ir::Graph* graph = nullptr;
  const rewrite::Parts* parts = nullptr;
  std::vector<std::vector<DeviceVariant>> steps = {};
};

struct DeviceFiles {
  std::string source;  // .cu or .cl
  std::string host;    // .c of OpenCL
  std::string header;  // declares the functions
};

// `kernels_file` is how OpenCL's host file finds the kernels. Throws Error(argument) when the name is not an identifier
// that C and C++ leave to their users, or where a struct has that of a type of CUDA.
DeviceFiles print_device_files(DeviceSection, DeviceDialect, Numbers, const std::string& name,
                               const std::string& kernels_file);
// The same of a program with loops.
DeviceFiles print_device_files(const SectionList&, std::vector<DeviceSection>, DeviceDialect, Numbers,
                               const std::string& name, const std::string& kernels_file);

}  // namespace tessera::emit
