// Loop nests as kernels: CUDA C++ for NVRTC and nvcc, OpenCL C 1.2.
//
// The text includes nothing. Every kernel takes its pointers, then its integers as one structure by value.
#pragma once

#include <string>

#include "lower/device.hpp"

namespace tessera::emit {

enum class DeviceDialect : std::uint8_t { cuda, opencl };

std::string print_device(const lower::DeviceProgram&, DeviceDialect, bool exact);

}  // namespace tessera::emit
