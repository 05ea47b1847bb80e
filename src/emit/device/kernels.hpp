// Loop nests as kernels: CUDA C++ for NVRTC and nvcc, OpenCL C 1.2.
//
// The text includes nothing. Every kernel takes its pointers, then its integers as one structure by value.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "ir/functions/functions.hpp"
#include "lower/device.hpp"

namespace tessera::emit {

enum class DeviceDialect : std::uint8_t { cuda, opencl };

// What kernels need of the text before them.
struct DeviceNeeds {
  bool doubles = false;
  std::set<ir::FunctionUse> functions;
  std::set<std::string> vectors;  // "load_f32x4"
  bool matrices = false;          // tsr_matrix_*
};

struct DeviceText {
  std::string tables, kernels;
  DeviceNeeds needs;
};

// `linkage` of CUDA's kernels.
DeviceText device_text(const lower::DeviceProgram&, DeviceDialect, std::string_view linkage = "extern \"C\"");
std::string device_prelude(const DeviceNeeds&, DeviceDialect, bool exact);
// Both: what a run compiles.
std::string print_device(const lower::DeviceProgram&, DeviceDialect, bool exact);

}  // namespace tessera::emit
