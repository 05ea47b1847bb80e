// Runs of host programs: one walk over the statements, with memory of the host or of a device.
//
// Memory belongs to the names that hold it, so that a run that is cancelled or fails leaves none. On a device arrays of
// the host are taken up where they are acquired, results are brought down behind the statement that writes them. A
// transform that the device cannot do, of a line that is too long, goes by way of the host.
#include <algorithm>
#include <optional>

#include "data/layout.hpp"
#include "engine/device/array.hpp"
#include "engine/fft/device_transform.hpp"
#include "engine/host/host_program.hpp"
#include "engine/program_impl.hpp"
#include "lower/host/transform.hpp"
#include "run/cpu/parallel.hpp"
#include "run/gpu/errors.hpp"
#include "tessera/device.hpp"

namespace tessera::engine {

namespace {

namespace host = ir::host;

constexpr i64 whole_step = 1000;  // of progress, for one statement that runs

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

i64 padded_bytes(const Format& format, const Shape& shape) {
  return padded_rows(static_cast<i64>(format.size()), shape).bytes;
}

i64 steps_of(const std::vector<host::Statement>& list) {
  i64 steps = 0;
  for (const host::Statement& s : list) {
    steps += std::holds_alternative<host::RunPart>(s) || std::holds_alternative<host::RunTransform>(s) ? 1 : 0;
    if (const auto* repeat = std::get_if<host::Repeat>(&s)) steps += repeat->most * steps_of(repeat->body);
  }
  return steps;
}

// What a run is of.
struct Call {
  const HostProgram& program;
  const std::vector<i64>& parameters;
  const std::vector<Array>&inputs, &outputs;
  const RunOptions& options;
  std::size_t told = 0;  // loops whose end was told by an attempt before
};

// The device on which everything stays. Nothing: the host.
struct There {
  Stream stream;
  Device device;
  explicit There(const RunOptions& options)
      : stream(options.stream != nullptr ? *options.stream : Stream(Device::open(options.target, options.device))),
        device(stream.device()) {}
};

class Run {
 public:
  Run(Call& call, There* there)
      : call_(call),
        program_(call.program.program()),
        there_(there),
        own_(call.options),
        arrays_(program_.arrays.size()),
        total_(steps_of(program_.body) * whole_step) {
    for (std::size_t a = 0; a < arrays_.size(); ++a)
      if (!program_.arrays[a].is_array) arrays_[a] = given(a);
    if (there_ == nullptr) return;
    own_.stream = &there_->stream;
    own_.devices = {};
    own_.on_progress = nullptr;
    if (own_.device_memory > 0) own_.device_memory -= bytes();
  }

  // Of what lies on the device at the same time, besides what parts need for themselves.
  i64 bytes() const {
    host::Sizes sizes;
    for (std::size_t a = 0; a < arrays_.size(); ++a) {
      const host::Array& array = program_.arrays[a];
      const bool there = array.kind != host::Array::Kind::own && (!array.is_array || given(a).on_device());
      sizes.arrays.push_back(there ? 0 : padded_bytes(array.format, shape(a)));
    }
    for (const host::Transform& t : program_.transforms) sizes.transforms.push_back(work_of(t));
    return host::most_bytes(program_, sizes);
  }

  void run() {
    // What comes first by way of the host may be a transform of what is under way.
    if (there_ == nullptr && call_.options.stream != nullptr) call_.options.stream->wait();
    statements(program_.body);
    if (there_ != nullptr && call_.options.stream == nullptr) there_->stream.wait();
  }

 private:
  Shape shape(std::size_t a) const { return call_.program.shape_of(a, call_.parameters); }
  const Array& given(std::size_t a) const {
    const host::Array& array = program_.arrays[a];
    return array.kind == host::Array::Kind::argument ? call_.inputs[array.index] : call_.outputs[array.index];
  }

  void statements(const std::vector<host::Statement>& list) {
    for (const host::Statement& s : list) std::visit([&](const auto& one) { statement(one); }, s);
  }

  void statement(const host::Acquire& s) {
    const host::Array& array = program_.arrays[s.array];
    Array& named = arrays_[s.array];
    if (array.kind == host::Array::Kind::own) {
      named =
          there_ != nullptr ? there_->device.array(array.format, shape(s.array)) : room(array.format, shape(s.array));
      return;
    }
    named = given(s.array);
    if (there_ == nullptr || named.on_device()) return;
    named = there_->device.array(named.format(), named.shape());
    if (array.kind == host::Array::Kind::argument || named.format().has_padding())  // which stays as it was
      there_->stream.copy(named, given(s.array));
  }
  void statement(const host::Release& s) { arrays_[s.array] = {}; }
  void statement(const host::Bind& s) { arrays_[s.array] = arrays_[s.to]; }

  void statement(const host::RunPart& s) {
    before_step();
    std::vector<Array> from, to;
    for (const host::ArrayId a : s.inputs) from.push_back(arrays_[a]);
    for (const host::ArrayId a : s.outputs) to.push_back(arrays_[a]);
    if (there_ == nullptr && call_.options.on_progress)
      own_.on_progress = [&](const Progress& p) { report(done_ + (p.total > 0 ? whole_step * p.done / p.total : 0)); };
    call_.program.part(s.part).impl().run(call_.parameters, from, to, own_);
    // By way of the host it is next, and what lies between goes.
    if (there_ == nullptr && call_.options.stream != nullptr) call_.options.stream->wait();
    for (const host::ArrayId a : s.outputs) brought_down(a);
    after_step();
  }

  void statement(const host::RunTransform& s) {
    before_step();
    if (there_ != nullptr)
      transform_there(s.transform, arrays_[s.from], arrays_[s.to]);
    else
      transform_here(s.transform, arrays_[s.from], arrays_[s.to]);
    brought_down(s.to);
    after_step();
  }

  void statement(const host::Shift& s) { host::shift(s, turn_, arrays_); }

  void statement(const host::Repeat& s) {
    const i64 before = done_;
    i64 count = 0;
    for (bool more = true; more; ++count) {
      turn_ = count;
      statements(s.body);
      more = holds(arrays_[s.test]) && count + 1 < s.most;
    }
    done_ = before + s.most * steps_of(s.body) * whole_step;
    report(done_);
    if (call_.options.on_loop_end && loops_++ >= call_.told) {
      call_.told = loops_;
      call_.options.on_loop_end({s.loop, count, s.most});
    }
  }

  bool holds(const Array& test) {
    if (there_ == nullptr) return *test.as<std::uint8_t>() != 0;
    const Array here(test.format(), test.shape());
    there_->stream.copy(here, test);
    there_->stream.wait();
    return *here.as<std::uint8_t>() != 0;
  }

  void brought_down(std::size_t a) {
    if (there_ != nullptr && program_.arrays[a].kind == host::Array::Kind::output && !given(a).on_device())
      there_->stream.copy(given(a), arrays_[a]);
  }

  void before_step() {
    if (call_.options.cancel == nullptr || !*call_.options.cancel) return;
    if (there_ != nullptr) there_->stream.wait();
    throw Error(ErrorClass::cancelled, "interrupted");
  }
  void after_step() {
    done_ += whole_step;
    report(done_);
  }
  void report(i64 done) const {
    if (call_.options.on_progress) call_.options.on_progress({done, total_});
  }

  // ---- transforms ----

  void transform_here(std::size_t t, const Array& from, const Array& to) const {
    const Array in = usable(from);
    const Array out = !to.on_device() && lies_well(to) ? to : Array(to.format(), to.shape());
    call_.program.here(t, in, out, call_.options.compiler)->run(in.data(), out.data(), call_.options.threads);
    if (out.data() != to.data()) to.copy_from(out);
  }

  void transform_there(std::size_t t, const Array& from, const Array& to) const {
    const auto moved = [&](const Array& a) { return place_of(a) ? a : there_->device.array(a.format(), a.shape()); };
    const Array in = moved(from), out = moved(to);
    const auto fft = call_.program.there(t, in.shape(), in.strides(), out.strides(), there_->device.impl().device);
    if (!fft) return by_the_host(t, from, to);
    if (in.data() != from.data()) there_->stream.copy(in, from);
    fft->run(*there_->stream.impl().queue, *place_of(in), *place_of(out));
    if (out.data() != to.data()) there_->stream.copy(to, out);
  }

  void by_the_host(std::size_t t, const Array& from, const Array& to) const {
    const Array in(from.format(), from.shape()), out(to.format(), to.shape());
    there_->stream.copy(in, from);
    there_->stream.wait();
    transform_here(t, in, out);
    there_->stream.copy(to, out);
  }

  // Of a transform between arrays as they are made here.
  i64 work_of(const host::Transform& t) const {
    Shape shape;
    for (const ir::SizeId n : t.domain) shape.push_back(call_.program.graph().evaluate(n, call_.parameters));
    const i64 number = static_cast<i64>(size_of(t.type));
    const auto strides = [&](bool real) { return padded_rows(real ? number : 2 * number, shape).strides; };
    const auto plan = device_plan(lower::transform_problem(t, shape, strides(t.from_real), strides(t.to_real)),
                                  there_->device.impl().device->limits());
    return plan ? (plan->half + plan->whole + 2 * plan->chunk) * number : 0;
  }

  Call& call_;
  const host::Program& program_;
  There* there_;
  RunOptions own_;
  std::vector<Array> arrays_;  // of every name; empty where it has no memory
  i64 done_ = 0, total_ = 0, turn_ = 0;
  std::size_t loops_ = 0;
};

}  // namespace

void HostProgram::run(const std::vector<i64>& parameters, const std::vector<Array>& inputs,
                      const std::vector<Array>& outputs, const RunOptions& options) const {
  Call call{*this, parameters, inputs, outputs, options};
  if (options.target != "cpu") {
    try {
      There there(options);
      Run run(call, &there);
      if (options.device_memory == 0 || run.bytes() < options.device_memory) return run.run();
    } catch (const run::gpu::OutOfMemory&) {
      // What there is holds too little for that.
    }
  }
  Run(call, nullptr).run();
}

}  // namespace tessera::engine
