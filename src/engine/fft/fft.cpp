// See fft.hpp.
#include "engine/fft/fft.hpp"

#include <cstdint>

#include "engine/fft/linked.hpp"

namespace tessera::engine {

struct Fft::Impl {
  std::unique_ptr<LinkedTransform> transform;
  std::string description;
};

Fft::Fft(const fft::Problem& problem, const std::string& compiler) : impl_(std::make_unique<Impl>()) {
  const fft::CorePlan plan = fft::plan_on_cores(problem, cores_here());
  impl_->transform = link(plan, compiler);
  impl_->description = plan.description;
}
Fft::~Fft() = default;
Fft::Fft(Fft&&) noexcept = default;

void Fft::run(const void* from, void* to, int threads) const {
  impl_->transform->run(from, to, threads);
}

const std::string& Fft::description() const {
  return impl_->description;
}

bool lies_well(const Array& a) {
  const auto size = static_cast<i64>(a.format().size());
  for (std::size_t d = 0; d < a.shape().size(); ++d) {
    if (a.shape()[d] == 1) continue;
    const i64 stride = a.strides()[d];
    if (stride <= 0 || stride % size != 0 || (d + 1 == a.shape().size() && stride != size)) return false;
  }
  const i64 number = a.format().is_struct() ? size / 2 : size;
  return reinterpret_cast<std::uintptr_t>(a.data()) % static_cast<std::uintptr_t>(number) == 0;
}

}  // namespace tessera::engine
