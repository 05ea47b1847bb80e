// See host_program.hpp: what is compiled once and kept.
#include "engine/host/host_program.hpp"

#include "engine/fft/device_transform.hpp"
#include "engine/program_impl.hpp"
#include "lower/host/transform.hpp"

namespace tessera::engine {

namespace {

constexpr std::size_t most_prepared = 64;  // transforms that are kept: tables take memory

}  // namespace

HostProgram::HostProgram(const ir::Graph& graph)
    : graph_(graph), lowered_(lower::lower_host(graph)), loops_(lowered_.program.loops()) {
  for (ir::host::Part& part : lowered_.program.parts) parts_.push_back(make_program(std::move(part.graph), {}));
}

Shape HostProgram::shape_of(std::size_t array, const std::vector<i64>& parameters) const {
  Shape shape;
  for (const ir::SizeId n : program().arrays[array].extents) shape.push_back(graph_.evaluate(n, parameters));
  return shape;
}

std::shared_ptr<const Fft> HostProgram::here(std::size_t transform, const Array& from, const Array& to,
                                             const std::string& compiler) const {
  const base::Lock lock(mutex_, here_, there_);
  if (here_.size() >= most_prepared) here_.clear();
  std::shared_ptr<const Fft>& known = here_[{transform, from.shape(), from.strides(), to.strides(), compiler}];
  if (!known)
    known = std::make_shared<const Fft>(
        lower::transform_problem(program().transforms[transform], from.shape(), from.strides(), to.strides()),
        compiler);
  return known;
}

std::shared_ptr<const FftOnDevice> HostProgram::there(std::size_t transform, const Shape& shape,
                                                      const std::vector<i64>& from_strides,
                                                      const std::vector<i64>& to_strides,
                                                      const std::shared_ptr<run::gpu::Device>& device) const {
  const run::gpu::Limits& limits = device->limits();
  const std::string where = limits.target + std::to_string(limits.index);
  const base::Lock lock(mutex_, here_, there_);
  if (there_.size() >= most_prepared) there_.clear();
  const auto [known, fresh] = there_.try_emplace({transform, shape, from_strides, to_strides, where});
  if (!fresh) return known->second;
  const fft::Problem problem =
      lower::transform_problem(program().transforms[transform], shape, from_strides, to_strides);
  try {
    if (device_plan(problem, limits)) known->second = std::make_shared<const FftOnDevice>(problem, device);
  } catch (...) {
    there_.erase(known);
    throw;
  }
  return known->second;
}

}  // namespace tessera::engine
