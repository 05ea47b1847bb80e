// See region_plan.hpp.
#include "engine/windows/region_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>

#include "base/division.hpp"
#include "engine/filters/certainty_scan.hpp"
#include "engine/size_class.hpp"
#include "lower/device.hpp"
#include "rewrite/located.hpp"
#include "rewrite/sums/tiles/tiles.hpp"

namespace tessera::engine {

using analyze::Box;
using analyze::Cut;
using analyze::Span;

namespace {

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
      std::shared_ptr<Program::Impl::LocatedProgram> kept;
      if (auto made = rewrite::located(impl.graph)) {
        kept = std::make_shared<Program::Impl::LocatedProgram>(Program::Impl::LocatedProgram{std::move(*made), {}});
        kept->program = std::make_shared<const Program>(make_program(kept->located.graph, {}));
      }
      impl.located = std::move(kept);
    }
  }
  if (!*impl.located) return {impl};
  // Blocks are of two programs, of which neither is told.
  if (impl.certainty && may_run_by_certainty(impl, whole, options)) return {impl, nullptr, false};
  return {(*impl.located)->program->impl(), &(*impl.located)->located};
}

// A filter with certainties whose whole runs in blocks, each of which is judged by all that its windows see: whole
// blocks are computed, from where blocks and the cells that are looked at begin.
Cut cut_in_blocks(const Program::Impl& impl, const CertaintyBlocks& blocks, const std::vector<i64>& whole,
                  std::vector<Region> regions) {
  const Certainty& of = *impl.certainty;
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
    const i64 cell = d + 1 < rank ? cell_rows : cell_columns;
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

Cut all_of(const ir::Graph& graph, const std::vector<i64>& whole) {
  Cut all{whole, {}, std::vector<bool>(graph.arguments.size(), true)};
  for (const i64 n : whole) all.kept.push_back({0, n});
  return all;
}

// What is kept of the inputs, by the plan that runs the whole.
Cut cut_for(const Told& by, const std::vector<i64>& whole, const std::vector<Region>& regions,
            const RunOptions& options) {
  const Program::Impl& impl = by.program;
  if (!by.cut) return all_of(impl.graph, whole);
  if (impl.certainty)
    if (const auto blocks = certainty_blocks(impl, whole, options)) return cut_in_blocks(impl, *blocks, whole, regions);
  const auto of = [&](const plan::Plan& plan, const analyze::LeastExtents& least) {
    return analyze::cut_of(plan.graph, whole, wanted_of(plan, regions), grains_of(plan), least);
  };
  const auto on_device = [&](const DeviceExecutable& code) {  // which has other code for small images
    const DeviceExecutable& serves = code.serving(whole, options);
    return of(serves.plan(), lower::least_extents(serves.program()));
  };
  return options.target == "cpu" ? of(impl.executable(options, size_class(impl.graph, whole))->plan(), {})
                                 : on_device(*impl.on_device(options, whole));
}

// The program and its parts as they are run, and the regions of their outputs.
class Planner {
 public:
  Planner(const Program::Impl& of, const std::vector<i64>& whole, const RunOptions& options)
      : of_(of), whole_(whole), options_(options) {}

  RegionPlan take(const std::vector<Region>& regions) {
    if (!of_.host) {
      single(regions);
      return std::move(plan_);
    }
    const ir::host::Program& program = of_.host->program();
    std::vector<std::size_t> outputs(of_.outputs.size());
    for (const ir::host::Array& a : program.arrays) {
      if (a.kind == ir::host::Array::Kind::output) outputs[a.index] = plan_.arrays.size();
      plan_.arrays.push_back({a.kind, a.index});
    }
    for (std::size_t o = 0; o < regions.size(); ++o)
      if (is_wanted(regions[o])) want(outputs[o], box_of(regions[o]));
    for (std::size_t k = program.body.size(); k-- > 0;)
      if (const auto* run = std::get_if<ir::host::RunPart>(&program.body[k])) part(*run);
    std::reverse(plan_.steps.begin(), plan_.steps.end());
    return std::move(plan_);
  }

 private:
  using Kind = ir::host::Array::Kind;

  void single(const std::vector<Region>& regions) {
    std::vector<std::size_t> inputs(of_.inputs.size()), outputs(of_.outputs.size());
    std::iota(inputs.begin(), inputs.end(), std::size_t{0});
    std::iota(outputs.begin(), outputs.end(), inputs.size());
    for (std::size_t k = 0; k < inputs.size(); ++k) plan_.arrays.push_back({Kind::argument, k});
    for (std::size_t o = 0; o < outputs.size(); ++o) plan_.arrays.push_back({Kind::output, o});
    step(of_, regions, std::move(inputs), std::move(outputs));
  }

  void part(const ir::host::RunPart& run) {
    std::vector<Region> regions;
    for (const ir::host::ArrayId a : run.outputs) {
      regions.emplace_back();
      for (const Span& span : plan_.arrays[a].read)
        regions.back().begin.push_back(span.begin), regions.back().end.push_back(span.end);
    }
    if (std::none_of(regions.begin(), regions.end(), is_wanted)) return;
    step(of_.host->part(run.part).impl(), regions, run.inputs, run.outputs);
  }

  void step(const Program::Impl& program, const std::vector<Region>& regions, std::vector<std::size_t> inputs,
            std::vector<std::size_t> outputs) {
    const Told by = told(program, whole_, options_);
    Cut cut = cut_for(by, whole_, regions, options_);
    // Of adjoints, which are right from some extents on.
    for (const LeastExtent& least : of_.least)
      if (cut.extent(of_.graph, least.extent) < least.points) cut = all_of(program.graph, whole_);
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      const ir::Argument& argument = program.graph.arguments[k];
      const bool given = plan_.arrays[inputs[k]].kind == Kind::argument;
      if (argument.is_array && (given || cut.reads[k])) want(inputs[k], cut.box(program.graph, argument.extents));
    }
    plan_.steps.push_back(
        {&by.program, by.located, &program, std::move(cut), regions, std::move(inputs), std::move(outputs)});
  }

  void want(std::size_t array, const Box& box) {
    Box& all = plan_.arrays[array].read;
    if (all.empty()) all = box;
    for (std::size_t d = 0; d < box.size(); ++d)
      all[d] = {std::min(all[d].begin, box[d].begin), std::max(all[d].end, box[d].end)};
  }

  const Program::Impl& of_;
  const std::vector<i64>& whole_;
  const RunOptions& options_;
  RegionPlan plan_;
};

}  // namespace

bool is_wanted(const Region& region) {
  return !region.begin.empty() || !region.end.empty();
}

Box box_of(const Region& region) {
  Box box;
  for (std::size_t d = 0; d < region.begin.size(); ++d) box.push_back({region.begin[d], region.end[d]});
  return box;
}

std::string global_of(const Program::Impl& impl, std::size_t output) {
  const std::optional<analyze::Global> global = analyze::global_stage(impl.graph, output);
  return global ? fmt::format("stage '{}' {}", impl.graph.stage(global->stage).name, global->how) : "";
}

RegionPlan plan_regions(const Program::Impl& impl, const std::vector<i64>& whole, const std::vector<Region>& regions,
                        const RunOptions& options) {
  return Planner(impl, whole, options).take(regions);
}

}  // namespace tessera::engine
