// See device_transform.hpp.
#include "engine/fft/device_transform.hpp"

#include "engine/device/array.hpp"
#include "engine/fft/host_transform.hpp"
#include "tessera/error.hpp"

namespace tessera::engine {

fft::Problem device_problem(const rewrite::Step& step, const Shape& shape, const std::vector<i64>& from_strides,
                            const std::vector<i64>& to_strides) {
  const i64 number = static_cast<i64>(size_of(step.type));
  fft::Problem p;
  p.transform = step.inverse ? fft::Transform::inverse : fft::Transform::forward;
  p.type = step.type;
  p.from_numbers = step.from_real;
  p.to_numbers = step.to_real;
  const auto first = static_cast<std::ptrdiff_t>(step.along.front());
  p.batch.assign(shape.begin(), shape.begin() + first);
  p.extents.assign(shape.begin() + first, shape.end());
  for (const int d : step.along) {
    p.along.push_back(d - static_cast<int>(first));
    if (step.inverse) p.scale /= static_cast<double>(shape[static_cast<std::size_t>(d)]);
  }
  for (std::size_t d = 0; d + 1 < shape.size(); ++d) {
    p.from_strides.push_back(from_strides[d] / (step.from_real ? number : 2 * number));
    p.to_strides.push_back(to_strides[d] / (step.to_real ? number : 2 * number));
  }
  return p;
}

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
