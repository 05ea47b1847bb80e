// The devices of all platforms, in the order of their numbers, with what they say about themselves.
#pragma once

#include <string>
#include <vector>

#include "base/process/fork.hpp"
#include "run/gpu/device.hpp"
#include "run/opencl/api.hpp"

namespace tessera::run::opencl {

struct Listed {
  cl::Platform platform = nullptr;
  cl::Device device = nullptr;
  gpu::Limits limits;
  i64 largest_allocation = 0;
  bool rounded_division = false;  // division and roots of 32-bit floats can be rounded correctly
  bool processor = false;
  std::string identity;  // everything that compiled code depends on
};

struct Listing {
  std::vector<Listed> devices;
  std::string missing;
  std::vector<std::string> notes;
  unsigned process = base::forks();  // whose threads the drivers have
};

// Looks once a process; never throws.
const Listing& listing();

}  // namespace tessera::run::opencl
