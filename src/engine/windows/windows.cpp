// Parts of results: what they read, and running a program on that alone. See docs/design/windows.md.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "data/layout.hpp"
#include "engine/methods.hpp"
#include "engine/program_impl.hpp"
#include "engine/size_class.hpp"
#include "engine/windows/checks.hpp"
#include "engine/windows/region_plan.hpp"
#include "ir/bind.hpp"
#include "run/cpu/parallel.hpp"
#include "tessera/device.hpp"
#include "tessera/program.hpp"

namespace tessera {

namespace {

using analyze::Box;
using engine::box_of;
using engine::is_wanted;
using engine::RegionPlan;
using engine::RegionStep;
using Kind = ir::host::Array::Kind;

[[noreturn]] void fail(std::string message, std::string help = {}) {
  throw Error(ErrorClass::argument, std::move(message), {}, std::move(help));
}

void check_region(const Program::Impl& impl, std::size_t output, const Region& region, const Shape& shape) {
  const std::string name = impl.output_name(output);
  if (const std::string global = engine::global_of(impl, output); !global.empty())
    fail(fmt::format("{} has no windows: {}, so that any part takes the whole input", name, global),
         "run the program on the whole input, and take the part of the result");
  if (region.begin.size() != region.end.size())
    fail(fmt::format("the window of {} has a begin of {} dimensions and an end of {}", name, region.begin.size(),
                     region.end.size()));
  if (region.begin.size() != shape.size())
    fail(fmt::format("the window of {} has {} dimensions, expected {}", name, region.begin.size(), shape.size()));
  for (std::size_t d = 0; d < shape.size(); ++d)
    if (region.begin[d] < 0 || region.begin[d] >= region.end[d] || region.end[d] > shape[d])
      fail(fmt::format("the window {} of {} is not within its shape {}", engine::text_of(box_of(region)), name,
                       to_string(shape)),
           "give ranges [begin, end) of at least one point");
}

std::vector<Region> regions_for(const Program::Impl& impl, std::size_t output, const Region& region) {
  std::vector<Region> regions(impl.outputs.size());
  if (output >= regions.size())
    fail(fmt::format("there is no output number {}; the program has {}", output, regions.size()));
  regions[output] = region;
  return regions;
}

void check_windowed(const Program::Impl& impl, const RunOptions& options) {
  engine::check_method(impl, options);
  if (options.method == Method::whole)
    fail("method whole transforms whole images, of which no part can be had alone", "give another method");
}

// Of every array among the inputs, what steps read; what none reads follows the cut of the last one.
std::vector<Box> reads_of(const Program::Impl& impl, const RegionPlan& plan) {
  std::vector<Box> boxes;
  for (const ir::Argument& a : impl.graph.arguments)
    boxes.push_back(a.is_array ? plan.steps.back().cut.box(impl.graph, a.extents) : Box{});
  for (const RegionPlan::Array& a : plan.arrays)
    if (a.kind == Kind::argument && !a.read.empty()) boxes[a.index] = a.read;
  return boxes;
}

// Regions of outputs of whole inputs.
struct AskedRegions {
  AskedRegions(const Program::Impl& of, const std::vector<Region>& regions, std::vector<i64> parameters,
               const RunOptions& asked, std::size_t output = SIZE_MAX)  // one that has to be wanted
      : options(of.placed({}, {}, asked)),
        impl((check_windowed(of, options), engine::by_method(of, options))),
        whole(std::move(parameters)) {
    const std::vector<Shape> results = impl.output_shapes(whole);
    for (std::size_t o = 0; o < regions.size(); ++o)
      if (o == output || is_wanted(regions[o])) check_region(impl, o, regions[o], results[o]);
    plan = engine::plan_regions(impl, whole, regions, options);
  }

  std::vector<Region> reads() const {
    std::vector<Region> all;
    for (const Box& box : reads_of(impl, plan)) {
      all.emplace_back();
      for (const analyze::Span& span : box) all.back().begin.push_back(span.begin), all.back().end.push_back(span.end);
    }
    return all;
  }

  RunOptions options;
  const Program::Impl& impl;
  std::vector<i64> whole;
  RegionPlan plan;
};

// Of a step: what it computes around what is wanted, and what lies between its groups. On a device both lie there.
i64 bytes_of_step(const RegionStep& step, const std::vector<i64>& whole, const RunOptions& options) {
  const std::vector<i64> kept = step.cut.parameters();
  i64 bytes = 0;
  const std::vector<Shape> shapes = step.program->output_shapes(kept);
  for (std::size_t o = 0; o < shapes.size(); ++o)
    bytes += static_cast<i64>(data::byte_count(step.program->outputs[o].format, shapes[o]));
  const bool on_core = options.target == "cpu" && !step.program->host;
  if (on_core)
    bytes += step.program->executable(options, engine::size_class(step.program->graph, whole))->memory(kept, options);
  return bytes;
}

}  // namespace

engine::RegionNeeds engine::needs_of(const Program& program, const std::vector<Region>& regions,
                                     const std::vector<i64>& whole, const RunOptions& options) {
  const AskedRegions asked(program.impl(), regions, whole, options);
  RegionNeeds needs{asked.reads()};
  for (const RegionStep& step : asked.plan.steps) {
    needs.memory += bytes_of_step(step, asked.whole, asked.options);
    for (const Shape& shape : step.program->output_shapes(step.cut.parameters()))
      needs.points += static_cast<double>(element_count(shape));
  }
  return needs;
}

std::vector<Region> engine::reads_of(const Program& program, const std::vector<Region>& regions,
                                     const std::vector<i64>& whole, const RunOptions& options) {
  return AskedRegions(program.impl(), regions, whole, options).reads();
}

std::vector<Region> Program::reads(std::size_t output, const Region& region, const std::vector<Shape>& shapes,
                                   const RunOptions& asked) const {
  for (std::size_t k = 0; k < std::min(shapes.size(), impl_->inputs.size()); ++k)
    engine::check_extents("the whole of " + impl_->input_name(k), shapes[k]);
  return AskedRegions(*impl_, regions_for(*impl_, output, region), ir::bind_parameters(impl_->graph, shapes), asked,
                      output)
      .reads();
}

namespace {

// A call, once its windows are checked.
struct RegionRun {
  const Program::Impl& program;  // by the method
  RegionPlan plan;
  std::vector<i64> whole;            // parameters
  std::vector<Array> inputs;         // as they are given, numbers in their type
  std::vector<std::vector<i64>> at;  // where each begins in the whole
  std::vector<Region> regions;
  RunOptions options;
};

// Shapes of whole inputs.
std::vector<Shape> wholes_of(const Program::Impl& impl, const std::vector<InputWindow>& windows,
                             const std::vector<Array>& given) {
  std::vector<Shape> shapes;
  for (std::size_t k = 0; k < windows.size(); ++k) {
    const InputWindow& w = windows[k];
    const bool is_part = !w.at.empty() || !w.whole.empty();
    shapes.push_back(is_part ? w.whole : given[k].shape());
    if (is_part) engine::check_within(impl.input_name(k), given[k].shape(), w.at, w.whole);
  }
  return shapes;
}

// Every window has what is read of it.
void check_covered(const RegionRun& run) {
  const std::vector<Box> boxes = reads_of(run.program, run.plan);
  for (std::size_t k = 0; k < boxes.size(); ++k)
    engine::check_covers(run.program.input_name(k), run.inputs[k].shape(), run.at[k], boxes[k]);
}

// `parameters`: of the whole, where inputs do not say them.
RegionRun prepared(const Program::Impl& of, const std::vector<InputWindow>& windows, const std::vector<Region>& regions,
                   const std::vector<Array>& outputs, const RunOptions& asked,
                   const std::optional<std::vector<i64>>& parameters = {}) {
  std::vector<Array> given;
  for (const InputWindow& w : windows) given.push_back(w.array);
  given = of.checked(given);
  const RunOptions options = of.placed(given, outputs, asked);
  check_windowed(of, options);
  const Program::Impl& impl = engine::by_method(of, options);
  const std::vector<i64> whole =
      parameters ? *parameters : ir::bind_parameters(impl.graph, wholes_of(impl, windows, given));
  const std::vector<Shape> shapes = impl.output_shapes(whole);
  if (regions.size() != shapes.size())
    fail(fmt::format("{} windows were given, expected {}: one for every output, empty where it is not wanted",
                     regions.size(), shapes.size()));
  if (std::none_of(regions.begin(), regions.end(), is_wanted)) fail("no window is wanted of any output");
  for (std::size_t o = 0; o < regions.size(); ++o)
    if (is_wanted(regions[o])) check_region(impl, o, regions[o], shapes[o]);
  RegionRun run{impl,   engine::plan_regions(impl, whole, regions, options), whole, std::move(given), {}, regions,
                options};
  for (std::size_t k = 0; k < windows.size(); ++k)
    run.at.push_back(windows[k].at.empty() ? std::vector<i64>(run.inputs[k].shape().size()) : windows[k].at);
  check_covered(run);
  return run;
}

Array array_for(const std::vector<Array>& inputs, const Format& format, const Shape& shape) {
  const auto there = std::find_if(inputs.begin(), inputs.end(), [](const Array& a) { return a.on_device(); });
  return there != inputs.end() ? there->memory()->make(format, shape) : Array(format, shape);
}

Shape shape_of(const Box& box) {
  Shape shape;
  for (const analyze::Span& span : box) shape.push_back(span.end - span.begin);
  return shape;
}

// What lies around a window is thrown away: on the host it is memory of the pool, whose pages are there.
Array array_for_part(const std::vector<Array>& inputs, const Format& format, const Shape& shape) {
  if (std::any_of(inputs.begin(), inputs.end(), [](const Array& a) { return a.on_device(); }))
    return array_for(inputs, format, shape);
  const auto memory = std::make_shared<run::cpu::Scratch>(
      run::cpu::acquire_scratch(static_cast<std::size_t>(element_count(shape)) * format.size()));
  return Array::share(memory, memory->data(), format, shape);
}

// Runs the steps of a call one after the other.
class Steps {
 public:
  Steps(const RegionRun& run, const std::vector<Array>& outputs)
      : run_(run), outputs_(outputs), held_(run.plan.arrays.size()) {
    for (std::size_t a = 0; a < held_.size(); ++a) {
      const RegionPlan::Array& named = run.plan.arrays[a];
      if (named.kind == Kind::argument) held_[a] = {run.inputs[named.index], run.at[named.index]};
    }
  }

  void run() {
    for (const RegionStep& next : run_.plan.steps) {
      step(next);
      ++done_;
      // What the next one reads is there, and what lies around windows goes.
      if (run_.options.stream != nullptr) run_.options.stream->wait();
    }
  }

 private:
  // A part of an array, and where it begins in the whole.
  struct Held {
    Array array = {};
    std::vector<i64> at = {};
    Array part(const Box& box) const {
      std::vector<i64> begin, end;
      for (std::size_t d = 0; d < box.size(); ++d)
        begin.push_back(box[d].begin - at[d]), end.push_back(box[d].end - at[d]);
      return array.region(begin, end);
    }
  };

  std::vector<Array> inputs_of(const RegionStep& step) const {
    const ir::Graph& graph = step.untold->graph;
    std::vector<Array> inputs;
    for (std::size_t k = 0; k < step.inputs.size(); ++k) {
      const ir::Argument& argument = graph.arguments[k];
      const Held& held = held_[step.inputs[k]];
      const Box box = argument.is_array ? step.cut.box(graph, argument.extents) : Box{};
      if (!argument.is_array)
        inputs.push_back(held.array);
      else if (held.array.empty())  // for outputs that nobody wants
        inputs.push_back(array_for(run_.inputs, argument.format, shape_of(box)));
      else
        inputs.push_back(held.part(box));
    }
    if (step.located != nullptr) {
      for (const ir::SizeId n : step.located->origins)
        inputs.push_back(scalar(static_cast<double>(step.cut.origin(graph, n)), ElementType::i32));
      for (const ir::SizeId n : step.located->wholes)
        inputs.push_back(scalar(static_cast<double>(graph.evaluate(n, run_.whole)), ElementType::i32));
    }
    return step.program->prepare(inputs);
  }

  // The caller's array, where that is as large as what is computed.
  Array target(const RegionStep& step, std::size_t o, const Shape& shape) const {
    const RegionPlan::Array& named = run_.plan.arrays[step.outputs[o]];
    if (named.kind == Kind::output && is_wanted(run_.regions[named.index])) {
      const Array& given = outputs_[named.index];
      if (given.shape() == shape && given.contiguous()) return given;
    }
    return array_for_part(run_.inputs, step.untold->outputs[o].format, shape);
  }

  // Of all steps together.
  RunOptions with_progress() const {
    constexpr i64 whole_step = 1000;
    RunOptions options = run_.options;
    const i64 steps = static_cast<i64>(run_.plan.steps.size());
    if (options.on_progress && steps > 1)
      options.on_progress = [this, steps](const Progress& p) {
        const i64 now = p.total > 0 ? whole_step * p.done / p.total : 0;
        run_.options.on_progress({whole_step * done_ + now, whole_step * steps});
      };
    return options;
  }

  void step(const RegionStep& step) {
    const ir::Graph& graph = step.untold->graph;
    const std::vector<i64> kept = step.cut.parameters();
    const std::vector<Shape> shapes = step.program->output_shapes(kept);
    std::vector<Array> results;
    for (std::size_t o = 0; o < shapes.size(); ++o) results.push_back(target(step, o, shapes[o]));
    step.program->run(kept, inputs_of(step), results, with_progress(), run_.whole);
    for (std::size_t o = 0; o < results.size(); ++o) {
      if (!is_wanted(step.regions[o])) continue;
      Held& held = held_[step.outputs[o]];
      held.array = results[o];
      for (const ir::SizeId n : graph.stage(graph.outputs[o].stages.front()).domain)
        held.at.push_back(step.cut.origin(graph, n));
      hand_out(run_.plan.arrays[step.outputs[o]], held);
    }
  }

  void hand_out(const RegionPlan::Array& named, const Held& held) const {
    if (named.kind != Kind::output || !is_wanted(run_.regions[named.index])) return;
    const Array& to = outputs_[named.index];
    if (held.array.data() == to.data()) return;
    const Array part = held.part(box_of(run_.regions[named.index]));
    if (run_.options.stream != nullptr)
      run_.options.stream->copy(to, part);
    else
      to.copy_from(part);
  }

  const RegionRun& run_;
  const std::vector<Array>& outputs_;
  std::vector<Held> held_;  // of every array of the plan; empty ones of what is not computed
  i64 done_ = 0;            // steps
};

}  // namespace

namespace {

std::vector<Array> run_new(const RegionRun& run) {
  std::vector<Array> outputs;
  for (std::size_t o = 0; o < run.regions.size(); ++o)
    outputs.push_back(is_wanted(run.regions[o])
                          ? array_for(run.inputs, run.program.outputs[o].format, shape_of(box_of(run.regions[o])))
                          : Array());
  Steps(run, outputs).run();
  return outputs;
}

}  // namespace

std::vector<Array> Program::run_region(const std::vector<InputWindow>& windows, const std::vector<Region>& regions,
                                       const RunOptions& asked) const {
  return run_new(prepared(*impl_, windows, regions, {}, asked));
}

std::vector<Array> engine::run_regions(const Program& program, const std::vector<InputWindow>& windows,
                                       const std::vector<Region>& regions, const std::vector<i64>& whole,
                                       const RunOptions& options) {
  return run_new(prepared(program.impl(), windows, regions, {}, options, whole));
}

void engine::run_regions_into(const Program& program, const std::vector<InputWindow>& windows,
                              const std::vector<Region>& regions, const std::vector<Array>& outputs,
                              const std::vector<i64>& whole, const RunOptions& options) {
  Steps(prepared(program.impl(), windows, regions, outputs, options, whole), outputs).run();
}

void Program::run_region_into(const std::vector<InputWindow>& windows, const std::vector<Region>& regions,
                              const std::vector<Array>& outputs, const RunOptions& asked) const {
  if (outputs.size() != impl_->outputs.size())
    fail(fmt::format("the program has {} outputs, but {} arrays were given", impl_->outputs.size(), outputs.size()));
  const RegionRun run = prepared(*impl_, windows, regions, outputs, asked);
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    if (!is_wanted(regions[o])) continue;
    const Shape shape = shape_of(box_of(regions[o]));
    const std::string name = impl_->output_name(o);
    if (outputs[o].empty() || outputs[o].shape() != shape)
      fail(fmt::format("the window of {} has shape {}, but an array of shape {} was given", name, to_string(shape),
                       to_string(outputs[o].shape())));
    if (outputs[o].format() != impl_->outputs[o].format)
      fail(fmt::format("{} has elements of type {}, but an array of {} was given", name,
                       impl_->outputs[o].format.name(), outputs[o].format().name()));
    for (std::size_t k = 0; k < windows.size(); ++k)
      if (impl_->inputs[k].is_array && Impl::share_memory(outputs[o], windows[k].array))
        fail(fmt::format("{} shares memory with {}", name, impl_->input_name(k)), "give an array of its own");
    for (std::size_t k = 0; k < o; ++k)
      if (is_wanted(regions[k]) && Impl::share_memory(outputs[o], outputs[k]))
        fail(fmt::format("{} shares memory with {}", name, impl_->output_name(k)), "give an array of its own");
  }
  Steps(run, outputs).run();
}

}  // namespace tessera
