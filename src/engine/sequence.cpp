// See sequence.hpp.
#include "engine/sequence.hpp"

#include "data/layout.hpp"
#include "engine/fft/device_transform.hpp"
#include "engine/program_impl.hpp"
#include "run/cpu/parallel.hpp"
#include "tessera/device.hpp"

namespace tessera::engine {

namespace {

constexpr std::size_t most_prepared = 64;  // transforms that are kept: tables take memory
constexpr i64 whole_step = 1000;           // of progress

// What lies on the host, without gaps that transforms cannot take.
Array usable(const Array& a) {
  const Array here = a.to_host();
  return lies_well(here) ? here : here.clone();
}

// Memory of the pool: the next run, and later steps of this one, find it warm.
Array room(const Format& format, Shape shape) {
  auto block = std::make_shared<run::cpu::Scratch>(run::cpu::acquire_scratch(data::byte_count(format, shape) + 64));
  std::byte* data = block->data();
  return Array::share(std::move(block), data, format, std::move(shape));
}

}  // namespace

Sequence::Sequence(const ir::Graph& graph) : graph_(graph), parts_(rewrite::cut(graph)) {
  for (rewrite::Step& step : parts_.steps) {
    std::optional<Program>& program = programs_.emplace_back();
    if (step.is_part()) program = make_program(step.part, {});
  }
}

Shape Sequence::shape_of(const rewrite::Between& between, const std::vector<i64>& parameters) const {
  Shape shape;
  for (const ir::SizeId n : between.domain) shape.push_back(graph_.evaluate(n, parameters));
  return shape;
}

void Sequence::run_here(const std::vector<i64>& parameters, const std::vector<Array>& inputs,
                        const std::vector<Array>& outputs, const RunOptions& options) const {
  std::vector<Array> between(parts_.between.size());
  const auto array = [&](const rewrite::Place& place) -> const Array& {
    if (place.kind == rewrite::Place::Kind::argument) return inputs[place.index];
    if (place.kind == rewrite::Place::Kind::output) return outputs[place.index];
    Array& a = between[place.index];
    if (a.empty()) a = room(parts_.between[place.index].format, shape_of(parts_.between[place.index], parameters));
    return a;
  };
  const i64 total = static_cast<i64>(parts_.steps.size()) * whole_step;
  RunOptions own = options;
  if (options.stream != nullptr) options.stream->wait();  // what comes first may be a transform of what is under way
  for (std::size_t k = 0; k < parts_.steps.size(); ++k) {
    const rewrite::Step& step = parts_.steps[k];
    const i64 before = static_cast<i64>(k) * whole_step;
    if (options.cancel != nullptr && *options.cancel) throw Error(ErrorClass::cancelled, "interrupted");
    if (options.on_progress)
      own.on_progress = [&](const Progress& p) {
        options.on_progress({before + (p.total > 0 ? whole_step * p.done / p.total : 0), total});
      };
    std::vector<Array> from, to;
    for (const rewrite::Place& place : step.inputs) from.push_back(array(place));
    for (const rewrite::Place& place : step.outputs) to.push_back(array(place));
    if (step.is_part()) {
      programs_[k]->impl().run(parameters, from, to, own);
      if (options.stream != nullptr) options.stream->wait();  // the host is next, and what lies between goes
    } else {
      transform(k, from[0], to[0], options);
    }
    if (options.on_progress) options.on_progress({before + whole_step, total});
    for (std::size_t b = 0; b < between.size(); ++b)
      if (parts_.between[b].last == k) between[b] = {};
  }
}

void Sequence::transform(std::size_t step, const Array& from, const Array& to, const RunOptions& options) const {
  const Array in = usable(from);
  const Array out = !to.on_device() && lies_well(to) ? to : Array(to.format(), to.shape());
  prepared(step, in, out, options.compiler)->run(in, out, options.threads);
  if (out.data() != to.data()) to.copy_from(out);
}

std::shared_ptr<const HostTransform> Sequence::prepared(std::size_t step, const Array& from, const Array& to,
                                                        const std::string& compiler) const {
  const base::Lock lock(mutex_, prepared_, on_devices_);
  if (prepared_.size() >= most_prepared) prepared_.clear();
  std::shared_ptr<const HostTransform>& known = prepared_[{step, from.shape(), from.strides(), to.strides(), compiler}];
  if (!known) known = host_transform(parts_.steps[step], from, to, compiler);
  return known;
}

std::shared_ptr<const FftOnDevice> Sequence::on_device(std::size_t step, const Shape& shape,
                                                       const std::vector<i64>& from_strides,
                                                       const std::vector<i64>& to_strides,
                                                       const std::shared_ptr<run::gpu::Device>& device) const {
  const run::gpu::Limits& limits = device->limits();
  const std::string where = limits.target + std::to_string(limits.index);
  const base::Lock lock(mutex_, prepared_, on_devices_);
  if (on_devices_.size() >= most_prepared) on_devices_.clear();
  const auto [known, fresh] = on_devices_.try_emplace({step, shape, from_strides, to_strides, where});
  if (!fresh) return known->second;
  const fft::Problem problem = device_problem(parts_.steps[step], shape, from_strides, to_strides);
  try {
    if (device_plan(problem, limits)) known->second = std::make_shared<const FftOnDevice>(problem, device);
  } catch (...) {
    on_devices_.erase(known);
    throw;
  }
  return known->second;
}

}  // namespace tessera::engine
