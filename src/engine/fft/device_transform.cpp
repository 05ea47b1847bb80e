// See device_transform.hpp.
#include "engine/fft/device_transform.hpp"

#include "engine/device/array.hpp"
#include "engine/fft/fft.hpp"
#include "tessera/error.hpp"

namespace tessera::engine {

std::optional<fft::DevicePlan> device_plan(const fft::Problem& problem, const run::gpu::Limits& limits) {
  if (problem.type == ElementType::f64 && !limits.doubles) return {};
  try {
    return fft::plan_on_device(problem, fft_options(limits));
  } catch (const Error& e) {
    if (e.error_class() != ErrorClass::device) throw;
    return {};
  }
}

std::optional<FftOnDevice::Place> place_of(const Array& a) {
  const DeviceMemory* memory = memory_of(a);
  if (memory == nullptr || !lies_well(a)) return {};
  const auto number = static_cast<i64>(a.format().is_struct() ? a.format().size() / 2 : a.format().size());
  if (static_cast<i64>(reinterpret_cast<std::uintptr_t>(a.data()) % static_cast<std::uintptr_t>(2 * number)) != 0)
    return {};
  return FftOnDevice::Place{memory->block(), memory->offset_of(a)};
}

}  // namespace tessera::engine
