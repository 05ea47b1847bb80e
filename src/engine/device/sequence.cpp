// A program with Fourier transforms on a device: steps are handed over one after the other, and arrays between them
// live on the device from the step that writes them to the last one that reads them.
//
// Arrays of the host are taken up before the first step that reads them, results are brought down behind the step that
// writes them. A transform that the device cannot do, of a line that is too long, goes by way of the host.
#include "engine/sequence.hpp"

#include <algorithm>

#include "engine/fft/device_transform.hpp"
#include "engine/program_impl.hpp"
#include "run/gpu/errors.hpp"
#include "tessera/device.hpp"

namespace tessera::engine {

namespace {

constexpr i64 whole_step = 1000;  // of progress

}  // namespace

class Sequence::OnDevice {
 public:
  OnDevice(const Sequence& sequence, const std::vector<i64>& parameters, const std::vector<Array>& inputs,
           const std::vector<Array>& outputs, const RunOptions& options)
      : sequence_(sequence),
        parts_(sequence.parts_),
        parameters_(parameters),
        inputs_(inputs),
        outputs_(outputs),
        options_(options),
        stream_(options.stream != nullptr ? *options.stream : Stream(Device::open(options.target, options.device))),
        device_(stream_.device()),
        up_(inputs.size()),
        results_(outputs.size()),
        between_(parts_.between.size()) {
    for (std::size_t k = 0; k < parts_.steps.size(); ++k)
      for (const rewrite::Place& p : parts_.steps[k].inputs)
        if (p.kind == rewrite::Place::Kind::argument) last_[p.index] = k;
  }

  // Bytes of what lies on the device at the same time, besides what parts need for themselves.
  i64 bytes() const {
    i64 most = 0;
    for (std::size_t k = 0; k < parts_.steps.size(); ++k) {
      i64 bytes = lying(k);
      if (!parts_.steps[k].is_part())
        if (const auto plan = planned(k))
          bytes += (plan->half + plan->whole + 2 * plan->chunk) * static_cast<i64>(size_of(parts_.steps[k].type));
      most = std::max(most, bytes);
    }
    return most;
  }

  void run() {
    const i64 total = static_cast<i64>(parts_.steps.size()) * whole_step;
    RunOptions own = options_;
    own.stream = &stream_;
    own.on_progress = nullptr;
    if (options_.device_memory > 0) own.device_memory = options_.device_memory - bytes();
    for (std::size_t k = 0; k < parts_.steps.size(); ++k) {
      if (options_.cancel != nullptr && *options_.cancel) {
        stream_.wait();
        throw Error(ErrorClass::cancelled, "interrupted");
      }
      step(k, own);
      if (options_.on_progress) options_.on_progress({static_cast<i64>(k + 1) * whole_step, total});
    }
    if (options_.stream == nullptr) stream_.wait();
  }

 private:
  const ir::Graph& graph() const { return sequence_.graph_; }

  void step(std::size_t k, const RunOptions& own) {
    const rewrite::Step& step = parts_.steps[k];
    std::vector<Array> from, to;
    for (const rewrite::Place& place : step.inputs) from.push_back(read(place));
    for (const rewrite::Place& place : step.outputs) to.push_back(written(place));
    if (step.is_part())
      sequence_.programs_[k]->impl().run(parameters_, from, to, own);
    else
      transform(k, from[0], to[0]);
    for (std::size_t n = 0; n < step.outputs.size(); ++n)
      if (step.outputs[n].kind == rewrite::Place::Kind::output && !outputs_[step.outputs[n].index].on_device())
        stream_.copy(outputs_[step.outputs[n].index], to[n]);
    for (std::size_t b = 0; b < between_.size(); ++b)
      if (parts_.between[b].last == k) between_[b] = {};
    for (const auto& [argument, last] : last_)
      if (last == k) up_[argument] = {};
  }

  // On the device, but for scalars.
  const Array& read(const rewrite::Place& place) {
    if (place.kind == rewrite::Place::Kind::output) return results_[place.index];
    if (place.kind == rewrite::Place::Kind::between) return between_[place.index];
    const Array& given = inputs_[place.index];
    if (given.on_device() || !graph().arguments[place.index].is_array) return given;
    Array& there = up_[place.index];
    if (there.empty()) {
      there = device_.array(given.format(), given.shape());
      stream_.copy(there, given);
    }
    return there;
  }

  const Array& written(const rewrite::Place& place) {
    if (place.kind == rewrite::Place::Kind::between) {
      const rewrite::Between& between = parts_.between[place.index];
      return between_[place.index] = device_.array(between.format, sequence_.shape_of(between, parameters_));
    }
    const Array& given = outputs_[place.index];
    Array& there = results_[place.index];
    if (!there.empty()) return there;
    there = given.on_device() ? given : device_.array(given.format(), given.shape());
    if (!given.on_device() && given.format().has_padding()) stream_.copy(there, given);  // which stays as it was
    return there;
  }

  void transform(std::size_t k, const Array& from, const Array& to) {
    const auto moved = [&](const Array& a) { return place_of(a) ? a : device_.array(a.format(), a.shape()); };
    const Array in = moved(from), out = moved(to);
    const auto fft = sequence_.on_device(k, in.shape(), in.strides(), out.strides(), device_.impl().device);
    if (!fft) return by_the_host(k, from, to);
    if (in.data() != from.data()) stream_.copy(in, from);
    fft->run(*stream_.impl().queue, *place_of(in), *place_of(out));
    if (out.data() != to.data()) stream_.copy(to, out);
  }

  void by_the_host(std::size_t k, const Array& from, const Array& to) {
    const Array in(from.format(), from.shape()), out(to.format(), to.shape());
    stream_.copy(in, from);
    stream_.wait();
    sequence_.transform(k, in, out, options_);
    stream_.copy(to, out);
  }

  // ---- how much memory it takes ----

  static i64 padded_bytes(const Format& format, const Shape& shape) {
    return padded_rows(static_cast<i64>(format.size()), shape).bytes;
  }

  i64 lying(std::size_t k) const {
    i64 bytes = 0;
    std::vector<std::size_t> first(parts_.between.size(), parts_.steps.size());
    for (std::size_t s = parts_.steps.size(); s-- > 0;)
      for (const rewrite::Place& p : parts_.steps[s].outputs)
        if (p.kind == rewrite::Place::Kind::between) first[p.index] = s;
    for (std::size_t b = 0; b < parts_.between.size(); ++b)
      if (first[b] <= k && k <= std::max(first[b], parts_.between[b].last))
        bytes += padded_bytes(parts_.between[b].format, sequence_.shape_of(parts_.between[b], parameters_));
    for (const auto& [argument, last] : last_)
      if (!inputs_[argument].on_device() && k <= last)
        bytes += padded_bytes(inputs_[argument].format(), inputs_[argument].shape());
    for (const Array& output : outputs_)
      if (!output.on_device()) bytes += padded_bytes(output.format(), output.shape());
    return bytes;
  }

  // Of the transform between arrays as they are made here.
  std::optional<fft::DevicePlan> planned(std::size_t k) const {
    const rewrite::Step& step = parts_.steps[k];
    Shape shape;
    for (const ir::SizeId n : step.domain) shape.push_back(graph().evaluate(n, parameters_));
    const i64 number = static_cast<i64>(size_of(step.type));
    const auto strides = [&](bool real) { return padded_rows(real ? number : 2 * number, shape).strides; };
    return device_plan(device_problem(step, shape, strides(step.from_real), strides(step.to_real)),
                       device_.impl().device->limits());
  }

  const Sequence& sequence_;
  const rewrite::Parts& parts_;
  const std::vector<i64>& parameters_;
  const std::vector<Array>&inputs_, &outputs_;
  const RunOptions& options_;
  Stream stream_;
  Device device_;
  std::vector<Array> up_, results_, between_;  // of arguments, outputs, and between steps: empty where there is none
  std::map<std::size_t, std::size_t> last_;    // the last step that reads an argument
};

void Sequence::run(const std::vector<i64>& parameters, const std::vector<Array>& inputs,
                   const std::vector<Array>& outputs, const RunOptions& options) const {
  if (options.target == "cpu") return run_here(parameters, inputs, outputs, options);
  try {
    OnDevice there(*this, parameters, inputs, outputs, options);
    if (options.device_memory == 0 || there.bytes() < options.device_memory) return there.run();
  } catch (const run::gpu::OutOfMemory&) {
    // What there is holds too little for that: by way of the host, in slabs.
  }
  run_here(parameters, inputs, outputs, options);
}

}  // namespace tessera::engine
