// See device.hpp.
#include "run/gpu/device.hpp"

#include <fmt/format.h>

namespace tessera::run::gpu {

std::string label_of(const Limits& limits) {
  const std::string kind = limits.target == "cuda" ? "CUDA" : "OpenCL";
  return fmt::format("{} device {}{}", kind, limits.index, limits.name.empty() ? "" : " (" + limits.name + ")");
}

}  // namespace tessera::run::gpu
