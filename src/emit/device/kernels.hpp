// Loop nests as kernels: CUDA C++ for NVRTC and nvcc, OpenCL C 1.2. Values are scalars, one a thread; truth is any
// integer but 0.
//
// The text includes nothing. Every kernel takes its pointers, then its integers as one structure by value.
#pragma once

#include <string>
#include <string_view>

#include "emit/nest/dialect.hpp"
#include "emit/nest/needs.hpp"
#include "lower/device.hpp"

namespace tessera::emit {

enum class DeviceDialect : std::uint8_t { cuda, opencl };
const Dialect& dialect_of(DeviceDialect);

struct DeviceText {
  std::string tables, kernels;
  Needs needs;
};

// `linkage` of CUDA's kernels.
DeviceText device_text(const lower::DeviceProgram&, DeviceDialect, std::string_view linkage = "extern \"C\"");
// Of floats. `contracts`: the compiler may take products into sums as it likes; else the text says which.
struct DeviceFloats {
  bool exact = false, contracts = false;
};
// What stands before them: prelude.cpp.
std::string device_prelude(const Needs&, DeviceDialect, DeviceFloats);
// Both: what a run compiles.
std::string print_device(const lower::DeviceProgram&, DeviceDialect, DeviceFloats);

}  // namespace tessera::emit
