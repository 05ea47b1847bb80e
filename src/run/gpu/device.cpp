// See device.hpp.
#include "run/gpu/device.hpp"

#include <fmt/format.h>

#include "tessera/error.hpp"

namespace tessera::run::gpu {

std::string label_of(const Limits& limits) {
  const std::string kind = limits.target == "cuda" ? "CUDA" : "OpenCL";
  return fmt::format("{} device {}{}", kind, limits.index, limits.name.empty() ? "" : " (" + limits.name + ")");
}

void Queue::copy_across(Memory&, i64, const Memory&, i64, i64) {
  throw Error(ErrorClass::internal, "devices whose queues have no fences copy by way of the host");
}

}  // namespace tessera::run::gpu
