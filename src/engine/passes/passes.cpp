// See passes.hpp.
#include "engine/passes/passes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "engine/windows/region_plan.hpp"
#include "ir/bind.hpp"

namespace tessera::engine {

namespace {

namespace host = ir::host;
using Kind = host::Array::Kind;

host::RunPart run_of(std::size_t pass) {
  return {pass, {}, {}};
}

// Takes images as they are, out of the arrays that have them.
ir::Graph copy_of(const ir::Graph& graph) {
  ir::Graph copy = graph;
  copy.take_stages();
  copy.arguments.clear();
  copy.loops.clear();
  for (ir::Output& o : copy.outputs) {
    std::vector<ir::StageId> stages;
    for (std::uint32_t field = 0; field < o.stages.size(); ++field) {
      const ir::Stage& of = graph.stage(o.stages[field]);
      ir::Stage input = ir::stage_like(of, ir::StageKind::input);
      input.argument = static_cast<std::uint32_t>(copy.arguments.size());
      input.field = field;
      stages.push_back(copy.add(std::move(input)));
    }
    copy.arguments.push_back({o.name, true, o.format, graph.stage(o.stages.front()).domain, {}});
    o.stages = std::move(stages);
  }
  return copy;
}

}  // namespace

Passes::Passes(const Program& program, std::size_t parts) : impl_(program.impl()) {
  const ir::Graph& graph = impl_.graph;
  const auto extents = [&](const ir::Output& o) { return graph.stage(o.stages.front()).domain; };
  bool windows = true, alike = true;
  for (std::size_t o = 0; o < impl_.outputs.size(); ++o) {
    windows = windows && global_of(impl_, o).empty();
    alike = alike && extents(graph.outputs[o]) == extents(graph.outputs.front());
  }
  std::vector<ArrayId> inputs(impl_.inputs.size()), outputs(impl_.outputs.size());
  std::iota(inputs.begin(), inputs.end(), ArrayId{0});
  std::iota(outputs.begin(), outputs.end(), inputs.size());
  const bool straight = windows || !impl_.host;  // no loop or transform is in the way of results
  // (Of a filter with certainties two programs compute blocks, each by what is known there: no part of one does.)
  const bool cut = straight && impl_.certainty == nullptr && impl_.precise == nullptr;
  const std::vector<ir::StageId> stored = cut ? ir::stored_for(graph, parts) : std::vector<ir::StageId>();
  if (!straight) {
    of_host_program(impl_.host->program());
  } else if (of_graph(graph); windows && alike && stored.empty()) {
    passes_.push_back({program, inputs, {outputs.begin(), outputs.end()}, {}});
    last_ = {0};
  } else {
    for (const std::size_t pass : add(graph, inputs, outputs, ir::OutputsAre::last, stored))
      body_.emplace_back(run_of(pass));
    if (!end_with_outputs()) add_copy();
    release();
  }
  check();
}

void Passes::of_graph(const ir::Graph& graph) {
  for (std::size_t k = 0; k < graph.arguments.size(); ++k) {
    const ir::Argument& a = graph.arguments[k];
    arrays_.push_back({Kind::argument, k, a.name, a.is_array, a.format, a.extents});
  }
  for (std::size_t o = 0; o < graph.outputs.size(); ++o) {
    const ir::Output& out = graph.outputs[o];
    arrays_.push_back({Kind::output, o, out.name, true, out.format, graph.stage(out.stages.front()).domain});
  }
}

void Passes::of_host_program(const host::Program& program) {
  if (!program.transforms.empty()) {
    why_not_ = fmt::format("stage '{}' is a Fourier transform of a whole image", program.transforms.front().name);
    return;
  }
  arrays_ = program.arrays;
  body_ = replaced(program.body);
  if (!end_with_outputs()) add_copy();
}

// What runs last and makes outputs alone, where that makes all of them.
bool Passes::end_with_outputs() {
  const auto to_result = [&](const auto& o) { return o && arrays_[*o].kind == Kind::output; };
  std::vector<std::size_t> last;
  std::size_t end = body_.size(), written = 0;
  for (; end > 0; --end) {
    if (std::holds_alternative<host::Release>(body_[end - 1])) continue;
    const auto* run = std::get_if<host::RunPart>(&body_[end - 1]);
    if (run == nullptr || !std::ranges::all_of(passes_[run->part].outputs, to_result)) break;
    last.insert(last.begin(), run->part);
    written += passes_[run->part].outputs.size();
  }
  if (written != impl_.outputs.size()) return false;
  body_.erase(body_.begin() + static_cast<std::ptrdiff_t>(end), body_.end());
  last_ = std::move(last);
  return true;
}

// Of a row of passes: an array goes behind the last one that reads it.
void Passes::release() {
  const auto reads = [&](std::size_t pass, std::size_t array) {
    return std::ranges::find(passes_[pass].inputs, array) != passes_[pass].inputs.end();
  };
  std::vector<host::Statement> all;
  std::vector<bool> kept(arrays_.size());
  for (std::size_t a = 0; a < arrays_.size(); ++a)
    kept[a] =
        arrays_[a].kind != Kind::own || std::ranges::any_of(last_, [&](std::size_t pass) { return reads(pass, a); });
  for (std::size_t k = 0; k < body_.size(); ++k) {
    all.push_back(body_[k]);
    const auto pass_at = [&](std::size_t at) { return std::get<host::RunPart>(body_[at]).part; };
    for (std::size_t a = 0; a < arrays_.size(); ++a) {
      bool last = !kept[a] && reads(pass_at(k), a);
      for (std::size_t later = k + 1; last && later < body_.size(); ++later) last = !reads(pass_at(later), a);
      if (last) all.emplace_back(host::Release{a});
    }
  }
  body_ = std::move(all);
}

// Images of outputs are the program's own; passes take them from there.
void Passes::add_copy() {
  std::vector<ArrayId> from(impl_.outputs.size()), to(impl_.outputs.size());
  for (std::size_t a = 0, count = arrays_.size(); a < count; ++a) {
    if (arrays_[a].kind != Kind::output) continue;
    from[arrays_[a].index] = a;
    to[arrays_[a].index] = arrays_.size();
    arrays_.push_back(arrays_[a]);
    arrays_[a].kind = Kind::own;
    std::erase_if(body_, [&](const host::Statement& s) {  // it stays
      const auto* release = std::get_if<host::Release>(&s);
      return release != nullptr && release->array == a;
    });
  }
  last_ = add(copy_of(impl_.graph), from, to, ir::OutputsAre::last);
}

std::vector<host::Statement> Passes::replaced(const std::vector<host::Statement>& list) {
  std::vector<host::Statement> out;
  for (const host::Statement& s : list) {
    if (const auto* repeat = std::get_if<host::Repeat>(&s)) {
      host::Repeat copy = *repeat;
      copy.body = replaced(repeat->body);
      out.emplace_back(std::move(copy));
    } else if (const auto* run = std::get_if<host::RunPart>(&s)) {
      const bool at_end = std::ranges::all_of(run->outputs, [&](ArrayId a) { return arrays_[a].kind == Kind::output; });
      for (const std::size_t pass : add(impl_.host->part(run->part).impl().graph, run->inputs, run->outputs,
                                        at_end ? ir::OutputsAre::last : ir::OutputsAre::early))
        out.emplace_back(run_of(pass));
    } else {
      out.push_back(s);
    }
  }
  return out;
}

std::vector<std::size_t> Passes::add(const ir::Graph& graph, const std::vector<ArrayId>& inputs,
                                     const std::vector<ArrayId>& outputs, ir::OutputsAre outputs_are,
                                     const std::vector<ir::StageId>& stored) {
  ir::Totals cut = ir::totals(graph, outputs_are, stored);
  const std::size_t first = arrays_.size();
  for (const ir::Place& p : cut.places) arrays_.push_back({Kind::own, 0, p.name, true, p.type, p.extents});
  std::vector<std::size_t> made;
  const auto output_of = [&](const ir::ReducedSection& each, std::size_t o) -> std::optional<std::size_t> {
    if (std::ranges::any_of(each.reductions, [&](const ir::Reduction& r) { return r.output == o; })) return {};
    const ir::Section::Value& v = each.section.outputs[o];
    return v.place ? first + v.index : outputs[v.index];
  };
  for (ir::ReducedSection& each : cut.sections) {
    Pass pass{make_program(std::move(each.section.graph), {}), {}, {}, each.reductions};
    for (const ir::Section::Value& v : each.section.inputs)
      pass.inputs.push_back(v.place ? first + v.index : inputs[v.index]);
    for (std::size_t o = 0; o < each.section.outputs.size(); ++o) pass.outputs.push_back(output_of(each, o));
    for (ir::Reduction& r : pass.reductions) r.place += first;
    made.push_back(passes_.size());
    passes_.push_back(std::move(pass));
  }
  return made;
}

void Passes::check() {
  for (const Pass& pass : passes_)
    for (std::size_t o = 0; o < pass.outputs.size() && why_not_.empty(); ++o)
      why_not_ = global_of(pass.program.impl(), o);
}

std::vector<i64> Passes::parameters(const std::vector<Shape>& inputs) const {
  return ir::bind_parameters(impl_.graph, inputs);
}

Shape Passes::shape_of(std::size_t array, const std::vector<i64>& parameters) const {
  Shape shape;
  for (const ir::SizeId n : arrays_[array].extents) shape.push_back(impl_.graph.evaluate(n, parameters));
  return shape;
}

}  // namespace tessera::engine
