// Parts of results: what they read, and running a program on that alone. See docs/design/windows.md.
#include "analyze/windows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>

#include "base/division.hpp"
#include "engine/filters/certainty_scan.hpp"
#include "engine/methods.hpp"
#include "engine/program_impl.hpp"
#include "engine/size_class.hpp"
#include "ir/bind.hpp"
#include "lower/device.hpp"
#include "rewrite/located.hpp"
#include "rewrite/sums/tiles/tiles.hpp"
#include "run/cpu/parallel.hpp"
#include "tessera/device.hpp"
#include "tessera/program.hpp"

namespace tessera {

namespace {

using analyze::Box;
using analyze::Cut;
using analyze::Span;

[[noreturn]] void fail(std::string message, std::string help = {}) {
  throw Error(ErrorClass::argument, std::move(message), {}, std::move(help));
}

Box box_of(const Region& region) {
  Box box;
  for (std::size_t d = 0; d < region.begin.size(); ++d) box.push_back({region.begin[d], region.end[d]});
  return box;
}

// "[3, 7) x [0, 12)"
std::string text_of(const Box& box) {
  std::string text;
  for (const Span& span : box) text += fmt::format("{}[{}, {})", text.empty() ? "" : " x ", span.begin, span.end);
  return text;
}

std::string global_of(const Program::Impl& impl, std::size_t output) {
  std::optional<analyze::Global> global = analyze::global_stage(impl.graph, output);
  // What stands beside a transform or a loop is computed in the same sections.
  for (std::size_t o = 0; o < impl.graph.outputs.size() && !global && impl.host; ++o)
    global = analyze::global_stage(impl.graph, o);
  return global ? fmt::format("stage '{}' {}", impl.graph.stage(global->stage).name, global->how) : "";
}

bool is_wanted(const Region& region) {
  return !region.begin.empty() || !region.end.empty();
}

void check_region(const Program::Impl& impl, std::size_t output, const Region& region, const Shape& shape) {
  if (const std::string global = global_of(impl, output); !global.empty())
    fail(fmt::format("{} has no windows: {}, so that any part takes the whole input", impl.output_name(output), global),
         "run the program on the whole input, and take the part of the result");
  if (region.begin.size() != shape.size() || region.end.size() != shape.size())
    fail(fmt::format("the window of {} has {} dimensions, expected {}", impl.output_name(output),
                     std::max(region.begin.size(), region.end.size()), shape.size()));
  for (std::size_t d = 0; d < shape.size(); ++d)
    if (region.begin[d] < 0 || region.begin[d] >= region.end[d] || region.end[d] > shape[d])
      fail(fmt::format("the window {} of {} is not within its shape {}", text_of(box_of(region)),
                       impl.output_name(output), to_string(shape)),
           "give ranges [begin, end) of at least one point");
}

// A plan that says where whole tiles are computed, as notes of stages.
std::vector<analyze::Grain> grains_of(const plan::Plan& plan) {
  std::vector<analyze::Grain> grains;
  for (ir::StageId s = 0; s < plan.graph.stage_count(); ++s) {
    const rewrite::Tiling& tiling = plan.tiling(s);
    if (tiling.rows == 0 || tiling.matrix) continue;
    const std::size_t rank = plan.graph.stage(s).domain.size();
    analyze::Grain grain{s, std::vector<i64>(rank, 1)};
    const bool signal = rewrite::is_signal_tile(plan.graph, plan.graph.stage(s), tiling);
    grain.points[rank - 1] = 2 * tiling.wide * (signal ? tiling.high : 1);
    if (!signal) grain.points[rank - 2] = tiling.high;
    if (tiling.planes > 1) grain.points[0] = std::max<i64>(1, 2 * tiling.along);
    grains.push_back(std::move(grain));
  }
  return grains;
}

// Regions of a program's outputs as those of its plan, which may add dimensions and join fields.
analyze::Wanted wanted_of(const plan::Plan& plan, const std::vector<Region>& regions) {
  analyze::Wanted wanted;
  for (const Region& region : regions) {
    wanted.emplace_back();
    if (!is_wanted(region)) continue;
    Box box = box_of(region);
    const std::size_t rank = plan.graph.stage(plan.graph.outputs[wanted.size() - 1].stages.front()).domain.size();
    while (box.size() < rank) box.insert(box.begin(), {0, 1});
    box.back() = {box.back().begin * plan.together(), box.back().end * plan.together()};
    wanted.back() = std::move(box);
  }
  return wanted;
}

// A program that is told which part of its images it has, where it asks, and the numbers that tell it.
struct Told {
  const Program::Impl& program;
  const rewrite::Located* located = nullptr;
  bool cut = true;  // else it runs on all of its images
};

Told told(const Program::Impl& impl, const std::vector<i64>& whole, const RunOptions& options) {
  {
    const base::Lock lock = impl.locked();
    if (!impl.located) {
      impl.located.emplace();
      if (auto made = rewrite::located(impl.graph)) {
        auto kept =
            std::make_shared<Program::Impl::LocatedProgram>(Program::Impl::LocatedProgram{std::move(*made), {}});
        kept->program = std::make_shared<const Program>(engine::make_program(kept->located.graph, {}));
        *impl.located = std::move(kept);
      }
    }
  }
  if (!*impl.located) return {impl};
  // Blocks are of two programs, of which neither is told.
  if (impl.certainty && engine::may_run_by_certainty(impl, whole, options)) return {impl, nullptr, false};
  return {(*impl.located)->program->impl(), &(*impl.located)->located};
}

// A filter with certainties whose whole runs in blocks, each of which is judged by all that its windows see: whole
// blocks are computed, from where blocks and the cells that are looked at begin.
Cut cut_in_blocks(const Program::Impl& impl, const engine::CertaintyBlocks& blocks, const std::vector<i64>& whole,
                  std::vector<Region> regions) {
  const engine::Certainty& of = *impl.certainty;
  const plan::Plan& plan = impl.executable(blocks.options)->plan();
  const std::size_t rank = regions[0].begin.size(), lead = blocks.extents.size() - rank;
  const Shape result = impl.output_shapes(whole)[0];
  std::vector<i64> extents(blocks.extents.begin() + static_cast<std::ptrdiff_t>(lead), blocks.extents.end());
  extents.back() /= plan.together();
  for (std::size_t d = 0; d < rank; ++d) {
    i64 &begin = regions[0].begin[d], &end = regions[0].end[d];
    begin = begin / extents[d] * extents[d];
    end = std::min(result[d], base::ceil_divide(end, extents[d]) * extents[d]);
  }
  Cut cut = analyze::cut_of(plan.graph, whole, wanted_of(plan, regions), grains_of(plan));
  const std::vector<ir::SizeId>& image = impl.graph.arguments.front().extents;
  for (std::size_t d = 0; d < rank; ++d) {
    const i64 cell = d + 1 < rank ? engine::cell_rows : engine::cell_columns;
    const i64 first = std::max<i64>(0, regions[0].begin[d] + of.first[d] - of.before[d]) / cell * cell;
    const i64 last = base::ceil_divide(regions[0].end[d] + of.first[d] + of.after[d], cell) * cell;
    // The image has an extent of its own along every dimension.
    Span& kept = cut.kept[static_cast<std::size_t>(impl.graph.node(image[d]).value)];
    const i64 unit = std::lcm(extents[d], cell);
    kept.begin = std::min(kept.begin, first) / unit * unit;
    kept.end = std::min(impl.graph.evaluate(image[d], whole), std::max(kept.end, last));
  }
  return cut;
}

// What is kept of the inputs, by the plan that runs the whole.
Cut cut_for(const Told& by, const std::vector<i64>& whole, const std::vector<Region>& regions,
            const RunOptions& options) {
  const Program::Impl& impl = by.program;
  Cut all{whole, {}};
  for (const i64 n : whole) all.kept.push_back({0, n});
  if (!by.cut) return all;
  if (impl.certainty)
    if (const auto blocks = engine::certainty_blocks(impl, whole, options))
      return cut_in_blocks(impl, *blocks, whole, regions);
  const auto of = [&](const plan::Plan& plan, const analyze::LeastExtents& least) {
    return analyze::cut_of(plan.graph, whole, wanted_of(plan, regions), grains_of(plan), least);
  };
  const auto on_device = [&](const engine::DeviceExecutable& code) {  // which has other code for small images
    const engine::DeviceExecutable& serves = code.serving(whole, options);
    return of(serves.plan(), lower::least_extents(serves.program()));
  };
  Cut cut = options.target == "cpu" ? of(impl.executable(options, engine::size_class(impl.graph, whole))->plan(), {})
                                    : on_device(*impl.on_device(options, whole));
  // Of adjoints, which are right from some extents on.
  for (const LeastExtent& least : impl.least)
    if (cut.extent(impl.graph, least.extent) < least.points) return all;
  return cut;
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

// What points of an output read, where no edge is near: of one period, after which they read as they read.
class Sight {
 public:
  Sight(const Program::Impl& impl, std::size_t output) : graph_(impl.graph), output_(output) {
    const std::vector<ir::SizeId>& domain = graph_.stage(graph_.outputs[output].stages.front()).domain;
    const i64 step = analyze::pace_of_all(graph_);
    repeats_ = step <= most_phases;
    for (const ir::SizeId extent : domain) {
      if (graph_.constant(extent)) continue;  // its last point says enough: nothing goes with it
      const analyze::Pace pace = analyze::pace_of(graph_, extent);
      repeats_ = repeats_ && pace.points > 0;
      if (!repeats_) return;
      period_ = std::lcm(period_, pace.points * (step / pace.parameter));
      repeats_ = period_ <= most_phases;
    }
    if (!repeats_) return;
    far_ = (far_points / period_ + 1) * period_;
    parameters_.assign(graph_.parameters.size(), 2 * far_ * step);
    domain_ = domain;
  }

  // Not where points repeat too late, as those of a pyramid of more than ten levels do.
  bool repeats() const { return repeats_; }

  void look(std::vector<std::vector<Locality::Dimension>>& inputs) const {
    const std::vector<Box> here = read_at(far_), there = read_at(far_ + period_);
    for (std::size_t a = 0; a < inputs.size(); ++a)
      for (std::size_t d = 0; d < here[a].size(); ++d) {
        Locality::Dimension& dim = inputs[a].emplace_back();
        const i64 n = graph_.evaluate(graph_.arguments[a].extents[d], parameters_);
        dim.whole = here[a][d] == Span{0, n} || domain_.size() + d < graph_.arguments[a].extents.size();
        const i64 moved = there[a].empty() ? 0 : there[a][d].begin - here[a][d].begin;
        const i64 common = std::gcd(moved, period_);
        dim.scale = moved / common, dim.divisor = period_ / common;
      }
    for (i64 at = far_; at < far_ + period_; ++at) widen(inputs, at, read_at(at));
  }

 private:
  static constexpr i64 most_phases = 1024, far_points = 1 << 18;

  std::vector<Box> read_at(i64 at) const {
    analyze::Wanted wanted(graph_.outputs.size());
    Box& box = wanted[output_].emplace();
    for (const ir::SizeId n : domain_) {
      const i64 begin = std::min(at, graph_.evaluate(n, parameters_) - 1);
      box.push_back({begin, begin + 1});
    }
    return analyze::read_of_arguments(graph_, parameters_, wanted);
  }

  static void widen(std::vector<std::vector<Locality::Dimension>>& inputs, i64 at, const std::vector<Box>& read) {
    for (std::size_t a = 0; a < inputs.size(); ++a)
      for (std::size_t d = 0; d < inputs[a].size(); ++d) {
        Locality::Dimension& dim = inputs[a][d];
        const i64 centre = at * dim.scale / dim.divisor;
        if (dim.whole || read[a].empty()) continue;
        dim.before = std::max(dim.before, centre - read[a][d].begin);
        dim.after = std::max(dim.after, read[a][d].end - 1 - centre);
      }
  }

  const ir::Graph& graph_;
  std::size_t output_;
  bool repeats_ = false;
  i64 period_ = 1, far_ = 0;
  std::vector<i64> parameters_;
  std::vector<ir::SizeId> domain_;
};

}  // namespace

std::vector<Locality> Program::locality() const {
  std::vector<Locality> all;
  for (std::size_t o = 0; o < impl_->graph.outputs.size(); ++o) {
    Locality& local = all.emplace_back();
    local.global = global_of(*impl_, o);
    local.inputs.resize(impl_->graph.arguments.size());
    if (!local.global.empty()) continue;
    const Sight sight(*impl_, o);
    if (sight.repeats())
      sight.look(local.inputs);
    else
      for (std::size_t a = 0; a < local.inputs.size(); ++a)
        local.inputs[a].assign(impl_->graph.arguments[a].extents.size(), {.whole = true});
  }
  return all;
}

std::vector<Region> Program::reads(std::size_t output, const Region& region, const std::vector<Shape>& shapes,
                                   const RunOptions& asked) const {
  const std::vector<Region> regions = regions_for(*impl_, output, region);
  RunOptions options = impl_->placed({}, {}, asked);
  check_windowed(*impl_, options);
  const Program::Impl& impl = engine::by_method(*impl_, options);
  const std::vector<i64> whole = ir::bind_parameters(impl.graph, shapes);
  check_region(impl, output, region, impl.output_shapes(whole)[output]);
  const Cut cut = cut_for(told(impl, whole, options), whole, regions, options);
  std::vector<Region> all;
  for (const ir::Argument& a : impl.graph.arguments) {
    all.emplace_back();
    if (!a.is_array) continue;
    for (const Span& span : cut.box(impl.graph, a.extents))
      all.back().begin.push_back(span.begin), all.back().end.push_back(span.end);
  }
  return all;
}

namespace {

// A call, once its windows are checked: the parts of the inputs, and what they are parts of.
struct RegionRun {
  const Program::Impl& program;  // by the method
  Told by;
  Cut cut;
  std::vector<i64> whole;  // parameters
  std::vector<Array> inputs;
  RunOptions options;
};

// Shapes of whole inputs.
std::vector<Shape> wholes_of(const Program::Impl& impl, const std::vector<InputWindow>& windows,
                             const std::vector<Array>& given) {
  std::vector<Shape> shapes;
  for (std::size_t k = 0; k < windows.size(); ++k) {
    const InputWindow& w = windows[k];
    const bool is_part = !w.at.empty() || !w.whole.empty();
    const std::string name = impl.input_name(k);
    shapes.push_back(is_part ? w.whole : given[k].shape());
    if (!is_part) continue;
    const std::size_t rank = given[k].shape().size();
    if (w.at.size() != rank || w.whole.size() != rank)
      fail(fmt::format("{} has {} dimensions, but its place has {} and its whole {}", name, rank, w.at.size(),
                       w.whole.size()));
    for (std::size_t d = 0; d < rank; ++d)
      if (w.at[d] < 0 || w.at[d] > w.whole[d] - given[k].shape()[d])
        fail(fmt::format("{} of shape {} at {} is not within a whole of {}", name, to_string(given[k].shape()),
                         to_string(w.at), to_string(w.whole)));
  }
  return shapes;
}

// What is read, of every window.
void take_parts(const Program::Impl& impl, const std::vector<InputWindow>& windows, const Cut& cut,
                std::vector<Array>& given) {
  for (std::size_t k = 0; k < given.size(); ++k) {
    if (!impl.inputs[k].is_array) continue;
    const Box box = cut.box(impl.graph, impl.graph.arguments[k].extents);
    std::vector<i64> begin, end;
    Box has;
    bool covered = true;
    for (std::size_t d = 0; d < box.size(); ++d) {
      const i64 at = windows[k].at.empty() ? 0 : windows[k].at[d];
      begin.push_back(box[d].begin - at), end.push_back(box[d].end - at);
      has.push_back({at, at + given[k].shape()[d]});
      covered = covered && begin[d] >= 0 && end[d] <= given[k].shape()[d];
    }
    if (!covered)
      fail(fmt::format("{} has {} of the whole, but the window reads {}", impl.input_name(k), text_of(has),
                       text_of(box)),
           "give what Program::reads says");
    given[k] = given[k].region(begin, end);
  }
}

RegionRun prepared(const Program::Impl& of, const std::vector<InputWindow>& windows, const std::vector<Region>& regions,
                   const RunOptions& asked) {
  std::vector<Array> given;
  for (const InputWindow& w : windows) given.push_back(w.array);
  given = of.prepare(given);
  const RunOptions options = of.placed(given, {}, asked);
  check_windowed(of, options);
  const Program::Impl& impl = engine::by_method(of, options);
  const ir::Graph& graph = impl.graph;
  const std::vector<i64> whole = ir::bind_parameters(graph, wholes_of(impl, windows, given));
  const std::vector<Shape> outputs = impl.output_shapes(whole);
  if (regions.size() != outputs.size())
    fail(fmt::format("{} windows were given, expected {}: one for every output, empty where it is not wanted",
                     regions.size(), outputs.size()));
  if (std::none_of(regions.begin(), regions.end(), is_wanted)) fail("no window is wanted of any output");
  for (std::size_t o = 0; o < regions.size(); ++o)
    if (is_wanted(regions[o])) check_region(impl, o, regions[o], outputs[o]);
  const Told by = told(impl, whole, options);
  const Cut cut = cut_for(by, whole, regions, options);
  take_parts(impl, windows, cut, given);
  if (by.located != nullptr) {
    for (const ir::SizeId n : by.located->origins)
      given.push_back(scalar(static_cast<double>(cut.origin(graph, n)), ElementType::i32));
    for (const ir::SizeId n : by.located->wholes)
      given.push_back(scalar(static_cast<double>(graph.evaluate(n, whole)), ElementType::i32));
  }
  given = by.program.prepare(given);
  return {impl, by, cut, whole, std::move(given), options};
}

Array array_for(const std::vector<Array>& inputs, const Format& format, const Shape& shape) {
  const auto there = std::find_if(inputs.begin(), inputs.end(), [](const Array& a) { return a.on_device(); });
  return there != inputs.end() ? there->memory()->make(format, shape) : Array(format, shape);
}

Shape shape_of(const Region& region) {
  Shape shape;
  for (std::size_t d = 0; d < region.begin.size(); ++d) shape.push_back(region.end[d] - region.begin[d]);
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

// Runs the part, and takes the windows out of what results; where that is the window itself, it is computed in place.
void run_part(const RegionRun& run, const std::vector<Region>& regions, const std::vector<Array>& outputs) {
  const Program::Impl& impl = run.program;
  const std::vector<i64> kept = run.cut.parameters();
  const std::vector<Shape> parts = run.by.program.output_shapes(kept);
  std::vector<Array> results;
  for (std::size_t o = 0; o < parts.size(); ++o) {
    const bool in_place = is_wanted(regions[o]) && outputs[o].shape() == parts[o] && outputs[o].contiguous();
    results.push_back(in_place ? outputs[o] : array_for_part(run.inputs, impl.outputs[o].format, parts[o]));
  }
  run.by.program.run(kept, run.inputs, results, run.options, run.whole);
  for (std::size_t o = 0; o < results.size(); ++o) {
    if (!is_wanted(regions[o]) || results[o].data() == outputs[o].data()) continue;
    std::vector<i64> begin = regions[o].begin, end = regions[o].end;
    const std::vector<ir::SizeId>& domain = impl.graph.stage(impl.graph.outputs[o].stages.front()).domain;
    for (std::size_t d = 0; d < begin.size(); ++d) {
      const i64 origin = run.cut.origin(impl.graph, domain[d]);
      begin[d] -= origin, end[d] -= origin;
    }
    const Array part = results[o].region(begin, end);
    if (run.options.stream != nullptr)
      run.options.stream->copy(outputs[o], part);
    else
      outputs[o].copy_from(part);
  }
  // What is not wanted, and what lies around windows, goes now.
  if (run.options.stream != nullptr) run.options.stream->wait();
}

}  // namespace

std::vector<Array> Program::run_region(const std::vector<InputWindow>& windows, const std::vector<Region>& regions,
                                       const RunOptions& asked) const {
  const RegionRun run = prepared(*impl_, windows, regions, asked);
  std::vector<Array> outputs;
  for (std::size_t o = 0; o < regions.size(); ++o)
    outputs.push_back(is_wanted(regions[o]) ? array_for(run.inputs, impl_->outputs[o].format, shape_of(regions[o]))
                                            : Array());
  run_part(run, regions, outputs);
  return outputs;
}

void Program::run_region_into(const std::vector<InputWindow>& windows, const std::vector<Region>& regions,
                              const std::vector<Array>& outputs, const RunOptions& asked) const {
  const RegionRun run = prepared(*impl_, windows, regions, asked);
  if (outputs.size() != regions.size())
    fail(fmt::format("the program has {} outputs, but {} arrays were given", regions.size(), outputs.size()));
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    if (!is_wanted(regions[o])) continue;
    const Shape shape = shape_of(regions[o]);
    if (outputs[o].empty() || outputs[o].shape() != shape)
      fail(fmt::format("the window of {} has shape {}, but an array of shape {} was given", impl_->output_name(o),
                       to_string(shape), to_string(outputs[o].shape())));
    if (outputs[o].format() != impl_->outputs[o].format)
      fail(fmt::format("{} has elements of type {}, but an array of {} was given", impl_->output_name(o),
                       impl_->outputs[o].format.name(), outputs[o].format().name()));
  }
  run_part(run, regions, outputs);
}

}  // namespace tessera
