// See transform.hpp. The model is that of other kernels (device.cpp): every array once through memory,
// at four fifths of its bandwidth, against arithmetic: 5 n log2 n additions and multiplications of n points.
#include "engine/explain/transform.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/explain/device.hpp"

namespace tessera::engine {

namespace {

// Numbers of one side of a line.
double numbers_of(const fft::DeviceLine& line, bool from) {
  const fft::LineEnd& end = from ? line.from : line.to;
  const double points = static_cast<double>(end.mirror > 0  ? end.mirror / 2 + 1
                                            : end.count > 0 ? std::min(end.count, line.points)
                                                            : line.points);
  return points * (end.real ? 1 : 2);
}

double lines_of(const fft::DeviceLine& line, const fft::DevicePhase& phase) {
  double lines = 1;
  for (std::size_t d = 0; d < line.dimensions.size(); ++d)
    lines *=
        static_cast<double>(static_cast<i64>(d) == line.counted ? phase.counted.extent : line.dimensions[d].extent);
  for (const fft::DevicePhase::Loop& loop : phase.loops) lines *= static_cast<double>(loop.extent);
  return lines;
}

std::string spelled(const fft::DeviceLine& line) {
  std::string radices;
  for (const i64 r : line.radices) radices += fmt::format("{}{}", radices.empty() ? "" : "x", r);
  return fmt::format("{} of {}{}", line.from.beside || line.to.beside ? "columns" : "rows", line.points,
                     line.radices.size() > 1 ? " as " + radices : "");
}

std::string spelled(const fft::DeviceStep& step) {
  if (step.mirror) return step.mirror->gathers ? "half of a spectrum" : "the other half";
  return step.second ? spelled(step.line) + " and of " + std::to_string(step.second->points) : spelled(step.line);
}

}  // namespace

void explain_transform(explain::GroupReport& group, const fft::DevicePlan& plan, const FftOnDevice* compiled,
                       const explain::DeviceReport& device, const run::gpu::Limits& limits) {
  const double number = static_cast<double>(size_of(plan.problem.type));
  const double copied = copy_share * device.bandwidth * 1e6, computed = rate_share * device.operations * 1e6;
  double operations = 0;
  group.milliseconds = group.memory_milliseconds = group.compute_milliseconds = 0;
  group.bytes_read = group.bytes_written = 0;
  std::vector<fft::DeviceStep> known;
  for (const fft::DevicePhase& phase : plan.phases)
    for (const fft::DeviceStep& step : phase.steps) {
      const auto same = std::find(known.begin(), known.end(), step);
      explain::KernelReport k;
      k.name = fmt::format("tsr_fft_{}", same - known.begin());
      if (same == known.end()) known.push_back(step);
      k.work = spelled(step);
      k.stages = group.stages, k.reads = group.reads, k.writes = group.writes;
      i64 launches = (phase.counted.extent + phase.chunk - 1) / phase.chunk;
      for (const fft::DevicePhase::Loop& loop : phase.loops) launches *= loop.extent;
      k.grid[0] = fft::blocks_of(step, phase.chunk) * launches;
      k.block[0] = static_cast<int>(fft::threads_of(step));
      if (step.mirror) {
        const double elements = static_cast<double>(step.mirror->elements() * step.mirror->rows());
        k.points = elements;
        k.bytes_read = elements * number * (step.mirror->gathers ? (step.mirror->real ? 2 : 4) : 2);
        k.bytes_written = elements * number * (step.mirror->conjugated ? 4 : 2);
        k.operations = 2;
      } else {
        const fft::DeviceLine& last = step.second ? *step.second : step.line;
        const double lines = lines_of(step.line, phase);
        k.points = lines * static_cast<double>(step.line.points);
        k.bytes_read = lines * numbers_of(step.line, true) * number;
        k.bytes_written = lines_of(last, phase) * numbers_of(last, false) * number;
        k.operations = 5 * std::log2(static_cast<double>(step.line.points * (step.second ? last.points : 1)));
        if (step.line.convolved > 0) k.operations *= 2;
      }
      if (compiled != nullptr) {
        const run::gpu::Module::Usage usage = compiled->usage_of(step);
        k.registers = usage.registers, k.shared_bytes = usage.shared_bytes, k.spilled_bytes = usage.local_bytes;
        k.blocks_per_multiprocessor = usage.blocks_per_multiprocessor;
        if (limits.threads_per_multiprocessor > 0) {
          k.most_warps = limits.threads_per_multiprocessor / limits.lanes;
          if (k.blocks_per_multiprocessor >= 0) k.warps = k.blocks_per_multiprocessor * (k.block[0] / limits.lanes);
        }
      }
      k.memory_milliseconds = (k.bytes_read + k.bytes_written) / copied;
      k.compute_milliseconds = k.points * k.operations / computed;
      k.milliseconds = std::max(k.memory_milliseconds, k.compute_milliseconds) +
                       (1 - hidden_share) * std::min(k.memory_milliseconds, k.compute_milliseconds) +
                       static_cast<double>(launches) * launch_milliseconds;
      group.bytes_read += k.bytes_read, group.bytes_written += k.bytes_written;
      group.milliseconds += k.milliseconds;
      group.memory_milliseconds += k.memory_milliseconds;
      group.compute_milliseconds += k.compute_milliseconds;
      operations += k.points * k.operations;
      group.kernels.push_back(std::move(k));
    }
  double points = 1;
  for (const i64 n : plan.problem.batch) points *= static_cast<double>(n);
  for (const i64 n : plan.problem.extents) points *= static_cast<double>(n);
  group.operations = operations / points;
  group.bound_by_memory = group.memory_milliseconds >= group.compute_milliseconds;
  group.reasons.push_back(fmt::format("on the device: {}", plan.description));
}

}  // namespace tessera::engine
