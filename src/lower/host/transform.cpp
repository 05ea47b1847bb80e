// See transform.hpp.
#include "lower/host/transform.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tessera/error.hpp"

namespace tessera::lower {

namespace {

DeviceKernel described(const fft::DeviceLineKernel& written, const fft::DeviceStep& step) {
  DeviceKernel kernel;
  kernel.name = written.function.name;
  kernel.arrays = {0, 1, 2};
  if (step.second) kernel.arrays.push_back(3);
  kernel.integers.resize(integers_of_transform);
  kernel.threads = {static_cast<int>(written.threads), 1, 1};
  kernel.blocks_at_once = static_cast<int>(step.line.blocks_at_once);
  kernel.shared_bytes = written.shared_bytes;
  // No block comes before the kernel before it has ended. Lines change memory in place, and turns of a loop use the
  // same memory again: what a block has read of it lies in a first-level cache, and a block that came early would take
  // that for what has been written since, for arrays that a kernel only reads are loaded as constants.
  kernel.strips = false;
  return kernel;
}

}  // namespace

std::size_t TransformProgram::index_of(const fft::DeviceStep& step) const {
  const auto found = std::find_if(kernels.begin(), kernels.end(), [&](const auto& k) { return k.step == step; });
  if (found == kernels.end()) throw Error(ErrorClass::internal, "a transform launches a kernel that it has not");
  return static_cast<std::size_t>(found - kernels.begin());
}

const TransformKernel& TransformProgram::kernel_of(const fft::DeviceStep& step) const {
  return kernels[index_of(step)];
}

TransformProgram lower_transform(fft::DevicePlan plan, const std::string& prefix) {
  TransformProgram made;
  made.plan = std::move(plan);
  for (const fft::DevicePhase& phase : made.plan.phases)
    for (const fft::DeviceStep& step : phase.steps) {
      const auto same = [&](const TransformKernel& k) { return k.step == step; };
      if (std::any_of(made.kernels.begin(), made.kernels.end(), same)) continue;
      const std::string name = fmt::format("{}{}", prefix, made.kernels.size());
      fft::DeviceLineKernel written = fft::written(step, name);
      made.waits = made.waits || step.second;
      if (written.tables.empty()) written.tables.resize(2);
      made.program.kernels.push_back(described(written, step));
      made.program.kernels.back().function = made.program.module.functions.size();
      made.program.module.functions.push_back(std::move(written.function));
      made.kernels.push_back({step, name, written.threads, std::move(written.tables)});
    }
  return made;
}

fft::Problem transform_problem(const ir::host::Transform& what, const std::vector<i64>& shape,
                               const std::vector<i64>& from_strides, const std::vector<i64>& to_strides) {
  const i64 number = static_cast<i64>(size_of(what.type));
  fft::Problem p;
  p.transform = what.inverse ? fft::Transform::inverse : fft::Transform::forward;
  p.type = what.type;
  p.from_numbers = what.from_real;
  p.to_numbers = what.to_real;
  const auto first = static_cast<std::ptrdiff_t>(what.along.front());
  p.batch.assign(shape.begin(), shape.begin() + first);
  p.extents.assign(shape.begin() + first, shape.end());
  for (const int d : what.along) {
    p.along.push_back(d - static_cast<int>(first));
    if (what.inverse) p.scale /= static_cast<double>(shape[static_cast<std::size_t>(d)]);
  }
  for (std::size_t d = 0; d + 1 < shape.size(); ++d) {
    p.from_strides.push_back(from_strides[d] / (what.from_real ? number : 2 * number));
    p.to_strides.push_back(to_strides[d] / (what.to_real ? number : 2 * number));
  }
  return p;
}

}  // namespace tessera::lower
