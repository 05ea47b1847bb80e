// Texts of CUDA as g++ takes them behind device.h.
#pragma once

#include <string>

namespace cuda_on_cpu {

// Calls of functions for assembly, CUDA_DYNAMIC for shared memory of the launch, and behind all an entry for every
// kernel. Lines keep their numbers.
std::string translate(const std::string& source);

}  // namespace cuda_on_cpu
