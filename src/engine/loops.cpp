// See loops.hpp.
#include "engine/loops.hpp"

#include <algorithm>
#include <optional>

#include "engine/program_impl.hpp"

namespace tessera::engine {

namespace {

constexpr i64 steps_of_run = 100;  // of progress, for one run of a section

// One run of a program.
class Running {
 public:
  Running(const LoopProgram& program, const std::vector<i64>& parameters, const std::vector<Array>& inputs,
          const std::vector<Array>& outputs, const RunOptions& options)
      : program_(program),
        parameters_(parameters),
        inputs_(inputs),
        outputs_(outputs),
        options_(options),
        places_(program.places().size()) {
    for (const LoopProgram::Part& part : program.parts()) total_ += part.section.most * steps_of_run;
    if (options.target != "cpu") go_to_device();
  }

  void run() {
    const std::vector<LoopProgram::Part>& parts = program_.parts();
    for (std::size_t p = 0; p < parts.size(); ++p) {
      const i64 before = done_;
      if (parts[p].section.repeats())
        repeat(parts[p]);
      else
        run_once(parts[p]);
      done_ = before + parts[p].section.most * steps_of_run;
      report(done_);
      for (std::size_t k = 0; k < places_.size(); ++k)
        if (!read_after(p, k)) places_[k] = {};
    }
    if (own_stream_) own_stream_->wait();
  }

 private:
  using Value = ir::Section::Value;

  // Arrays of the host are taken up once, not in every iteration.
  void go_to_device() {
    if (options_.stream == nullptr) {
      device_.emplace(Device::open(options_.target, options_.device));
      own_stream_.emplace(*device_);
      options_.stream = &*own_stream_;
    } else {
      device_.emplace(options_.stream->device());
    }
    const std::vector<ir::Argument>& arguments = program_.graph().arguments;
    for (std::size_t k = 0; k < inputs_.size(); ++k)
      if (arguments[k].is_array && !inputs_[k].on_device()) {
        const Array there = device_->array(inputs_[k].format(), inputs_[k].shape());
        options_.stream->copy(there, inputs_[k]);
        inputs_[k] = there;
      }
  }

  Array make(std::size_t place) const {
    const ir::Place& p = program_.places()[place];
    Shape shape;
    for (const ir::SizeId n : p.extents) shape.push_back(program_.graph().evaluate(n, parameters_));
    return device_ ? device_->array(p.type, std::move(shape)) : Array(p.type, std::move(shape));
  }
  const Array& read(const Value& v) const { return v.place ? places_[v.index] : inputs_[v.index]; }
  Array written(const Value& v) {
    if (!v.place) return outputs_[v.index];
    if (places_[v.index].empty()) places_[v.index] = make(v.index);
    return places_[v.index];
  }

  bool read_after(std::size_t part, std::size_t place) const {
    for (std::size_t p = part + 1; p < program_.parts().size(); ++p)
      for (const Value& v : program_.parts()[p].section.inputs)
        if (v == Value{true, place}) return true;
    return false;
  }

  void run(const LoopProgram::Part& part, const std::vector<Array>& from, const std::vector<Array>& to) {
    RunOptions options = options_;
    options.on_progress = nullptr;
    if (options_.on_progress && !device_)
      options.on_progress = [&](const Progress& p) {
        report(done_ + steps_of_run * p.done / std::max<i64>(p.total, 1));
      };
    part.program.impl().run(parameters_, from, to, options);
    done_ += steps_of_run;
    report(done_);
  }

  void run_once(const LoopProgram::Part& part) {
    std::vector<Array> from, to;
    for (const Value& v : part.section.inputs) from.push_back(read(v));
    for (const Value& v : part.section.outputs) to.push_back(written(v));
    run(part, from, to);
  }

  // The versions of carried images, and buffers that are free for what comes next.
  struct Carried {
    Array image;
    bool ours = false;         // a buffer that may be written when the image is not needed any more
    std::vector<Array> spare;  // of the first of a chain
  };

  void repeat(const LoopProgram::Part& part) {
    const ir::Section& section = part.section;
    std::vector<Array> from, to;
    for (const Value& v : section.inputs) from.push_back(read(v));
    for (const Value& v : section.outputs) to.push_back(written(v));
    std::vector<Carried> carried;
    for (const ir::Section::Carried& c : section.carried) {
      carried.push_back({from[c.input], c.spent, {}});
      const Value& begins = section.inputs[c.input];
      if (begins.place && c.spent) places_[begins.index] = {};
    }
    i64 count = 0;
    for (bool more = true; more; ++count) {
      if (options_.cancel != nullptr && *options_.cancel) stop();
      run(part, from, to);
      hand_on(section, carried, from, to);
      more = test(to[section.test]) && count + 1 < section.most;
      for (std::size_t k = 0; k < carried.size() && more; ++k)
        if (const auto& output = section.carried[k].output) to[*output] = buffer(section, carried[k], *output);
    }
    for (std::size_t k = 0; k < carried.size(); ++k)
      if (const auto& output = section.carried[k].output) places_[section.outputs[*output].index] = carried[k].image;
    if (options_.on_loop_end) options_.on_loop_end({program_.graph().loops[section.loop].name, count, section.most});
  }

  // Every version becomes the one before it, from the oldest on, and what was computed the newest.
  void hand_on(const ir::Section& section, std::vector<Carried>& carried, std::vector<Array>& from,
               const std::vector<Array>& to) {
    Array oldest;
    bool free = false;
    for (std::size_t k = carried.size(); k-- > 0;) {
      const bool last = k + 1 == carried.size() || section.carried[k + 1].output.has_value();
      if (last) oldest = carried[k].image, free = carried[k].ours;
      if (const auto& output = section.carried[k].output) {
        if (free) carried[k].spare.push_back(oldest);
        carried[k].image = to[*output];
        carried[k].ours = true;
      } else {
        carried[k].image = carried[k - 1].image;
        carried[k].ours = carried[k - 1].ours;
      }
      from[section.carried[k].input] = carried[k].image;
    }
  }

  Array buffer(const ir::Section& section, Carried& carried, std::size_t output) const {
    if (carried.spare.empty()) return make(section.outputs[output].index);
    Array free = carried.spare.back();
    carried.spare.pop_back();
    return free;
  }

  bool test(const Array& there) {
    if (!device_) return *there.as<std::uint8_t>() != 0;
    const Array here(there.format(), there.shape());
    options_.stream->copy(here, there);
    options_.stream->wait();
    return *here.as<std::uint8_t>() != 0;
  }

  [[noreturn]] void stop() {
    if (device_) options_.stream->wait();
    throw Error(ErrorClass::cancelled, "interrupted");
  }

  void report(i64 done) const {
    if (options_.on_progress) options_.on_progress({done, total_});
  }

  const LoopProgram& program_;
  const std::vector<i64>& parameters_;
  std::vector<Array> inputs_;
  const std::vector<Array>& outputs_;
  RunOptions options_;
  std::vector<Array> places_;
  std::optional<Device> device_;  // nothing: the CPU
  std::optional<Stream> own_stream_;
  i64 done_ = 0, total_ = 0;
};

}  // namespace

LoopProgram::LoopProgram(const ir::Graph& graph) : graph_(graph) {
  ir::Sections cut = ir::sections(graph);
  places_ = std::move(cut.places);
  for (ir::Section& section : cut.sections) {
    Program program = make_program(std::move(section.graph), {});
    parts_.push_back({std::move(section), std::move(program)});
  }
}

void LoopProgram::run(const std::vector<i64>& parameters, const std::vector<Array>& inputs,
                      const std::vector<Array>& outputs, const RunOptions& options) const {
  Running(*this, parameters, inputs, outputs, options).run();
}

}  // namespace tessera::engine
