// See stream_group.hpp.
#include "lower/ways/stream/stream_group.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "data/half.hpp"
#include "ir/build.hpp"
#include "lower/vocabulary.hpp"

namespace tessera::lower {

using ir::Op;
using ir::StageId;
using ir::nest::Lane;
using ir::nest::Value;

namespace {

std::vector<StageId> stages_of(const plan::Plan& plan, std::size_t group) {
  std::vector<StageId> stages;
  for (StageId s = 0; s < plan.stages.size(); ++s)
    if (plan.stages[s].group == static_cast<int>(group)) stages.push_back(s);
  return stages;
}

std::vector<StageId> tiled_of(const plan::Plan& plan, std::size_t group) {
  std::vector<StageId> tiled;
  for (StageId s : plan.groups[group].stages)
    if (plan.graph.stage(s).note > 0 && !plan.tiling(s).contraction) tiled.push_back(s);
  return tiled;
}

}  // namespace

StreamGroup::StreamGroup(const WayQuestion& q, std::string name)
    : plan(q.plan),
      interface(q.interface),
      ranges(q.ranges),
      graph(q.plan.graph),
      options(q.plan.options),
      machine(q.plan.device),
      planned(q.plan.groups[q.group]),
      number(q.group),
      rank(graph.stage(planned.anchor).domain.size()),
      edges(plan::edges_of(graph, stages_of(q.plan, q.group))),
      tiled(tiled_of(q.plan, q.group)),
      name_(std::move(name)) {}

std::size_t StreamGroup::pass_of(StageId s) const {
  for (std::size_t p = 0; p < planned.passes.size(); ++p)
    if (std::count(planned.passes[p].stages.begin(), planned.passes[p].stages.end(), s)) return p;
  throw Error(ErrorClass::internal, "stage '" + stage(s).name + "' has no pass in its group");
}

bool StreamGroup::is_tiled(std::size_t p) const {
  return pass(p).form == plan::PassForm::tiles;
}

bool StreamGroup::has_margins(StageId s) const {
  bool margins = false;
  for (std::size_t d = 0; d < rank; ++d) margins |= stage(s).margin_lo[d] > 0 || stage(s).margin_hi[d] > 0;
  return margins;
}

StageId StreamGroup::written(StageId s) const {
  return plan_of(s).home == plan::Home::inside ? plan_of(s).whole : s;
}

i64 StreamGroup::slack(StageId s, std::size_t dim) const {
  // A region that begins at any phase is rounded down for the first piece and again for the last one.
  return plan_of(s).filled ? 2 * (stage(s).pieces.front().stride[dim] - 1) : 0;
}

i64 StreamGroup::element_step(StageId s) const {
  return in_ring(s) && contains(s) ? 1 : place(s)->element_stride / bytes(s);
}

i64 StreamGroup::element_offset(StageId s) const {
  return in_ring(s) && contains(s) ? 0 : place(s)->offset / bytes(s);
}

Value StreamGroup::typed(StageId s, const Value& pointer) const {
  return convert({memory_lane(s), 1, true}, pointer);
}

bool StreamGroup::reads_words(std::size_t p, StageId s) const {
  constexpr int least_lanes = 8;  // shuffles of less have no instruction everywhere
  const i64 step = element_step(s);
  const bool bytes = stage(s).type == ElementType::u8 && memory_lane(s) == Lane::u8;
  return (step == 3 || step == 4) && bytes && pass(p).form == plan::PassForm::vectors && pass(p).lanes >= least_lanes &&
         4 * pass(p).lanes == machine.vector_bytes;
}

i64 StreamGroup::beyond(std::size_t p, StageId s) const {
  const i64 step = element_step(s);
  if (step <= 1) return 0;
  return step == 3 && reads_words(p, s) ? (pass(p).lanes + 2) / 3 : 1;
}

std::vector<StageId> StreamGroup::leaving_with(StageId s) const {
  constexpr std::size_t most = 4;
  const plan::Pass& computed = pass(pass_of(s));
  if (transformed() || computed.composes()) return {};
  const auto count = [](const std::vector<StageId>& stages, StageId of) {
    return std::count(stages.begin(), stages.end(), of);
  };
  for (const ir::Output& o : graph.outputs) {
    if (!o.format.is_struct() || !count(o.stages, s)) continue;
    const std::size_t fields = o.stages.size();
    const std::size_t size = size_of(stage(s).type);
    if (fields < 2 || fields > most || o.format.size() != fields * size) return {};
    for (std::size_t f = 0; f < fields; ++f) {
      const StageId of = o.stages[f];
      if (!count(computed.stages, of) || count(o.stages, of) > 1) return {};
      if (!in_ring(of) || !plan_of(of).also_array || o.format.fields[f].offset != f * size) return {};
      if (static_cast<std::size_t>(bytes(of)) != size) return {};
    }
    return o.stages;
  }
  return {};
}

i64 StreamGroup::border_bits(const Border& border, StageId s) const {
  double v = ir::evaluate(Op::convert, stage(s).type, ElementType::f64, &border.value);
  switch (memory_lane(s)) {
    case Lane::f32:
      return static_cast<i64>(std::bit_cast<std::uint32_t>(static_cast<float>(v)));
    case Lane::f64:
      return std::bit_cast<i64>(v);
    case Lane::f16:
      return static_cast<i64>(double_to_half(v));
    default:
      return static_cast<i64>(v);
  }
}

i64 StreamGroup::bordered(BorderMode mode) const {
  const bool by_points = mode == BorderMode::clamp || mode == BorderMode::mirror || mode == BorderMode::symmetric;
  return by_points ? plan.together() : 1;
}

}  // namespace tessera::lower
