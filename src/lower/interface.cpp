// The order of pointers and integers that emitted functions take.
#include "lower/interface.hpp"

#include <algorithm>
#include <climits>

namespace tessera::lower {

namespace {

// Of every group, the groups that run before it on the longest path that leads to it.
std::vector<int> levels_of(const plan::Plan& plan) {
  std::vector<int> level(plan.groups.size(), 0);
  for (std::size_t g = 0; g < plan.groups.size(); ++g)
    for (const ir::StageId s : plan.groups[g].stages)
      for (const ir::StageId source : ir::sources(plan.graph, s)) {
        const int from = plan.stages[source].group;
        if (from >= 0 && from != static_cast<int>(g))
          level[g] = std::max(level[g], level[static_cast<std::size_t>(from)] + 1);
      }
  return level;
}

// Groups run one after the other, so an intermediate can lie where another one did that no group reads any more. The
// place of an array of the same extents is taken before any other: then all of it is used. Devices may run groups
// beside each other that do not depend on one another: there the group that writes is also on a later level.
void share_memory(const plan::Plan& plan, Interface& interface) {
  const ir::Graph& graph = plan.graph;
  const std::vector<int> levels = plan.device.overlaps ? levels_of(plan) : std::vector<int>();
  struct When {
    int group = -1, level = -1;
    bool before(const When& b) const { return group < b.group && (level < b.level || level < 0); }
  };
  const auto when = [&](ir::StageId s) {
    const int g = plan.stages[s].group;
    return When{g, levels.empty() ? -1 : levels[static_cast<std::size_t>(g)]};
  };
  const auto first_of = [](const When& a, const When& b) {
    return When{std::min(a.group, b.group), std::min(a.level, b.level)};
  };
  const auto last_of = [](const When& a, const When& b) {
    return When{std::max(a.group, b.group), std::max(a.level, b.level)};
  };
  struct Life {
    When first{INT_MAX, INT_MAX}, last;  // when something writes or reads
  };
  std::vector<Life> lives(interface.arrays.size());
  std::vector<When> last(graph.stage_count());  // when the stage is read
  for (ir::StageId s = 0; s < graph.stage_count(); ++s)
    for (ir::StageId source : ir::sources(graph, s)) last[source] = last_of(last[source], when(s));
  const auto lives_for = [&](std::size_t k, ir::StageId s) {
    lives[k] = {first_of(lives[k].first, when(s)), last_of(last_of(lives[k].last, when(s)), last[s])};
  };
  std::vector<std::size_t> order;  // in which they are written
  for (std::size_t k = 0; k < interface.arrays.size(); ++k) {
    const ArrayRef& array = interface.arrays[k];
    if (array.kind != ArrayRef::Kind::intermediate) continue;
    lives_for(k, static_cast<ir::StageId>(array.index));
    if (array.part) lives_for(array.part->whole, static_cast<ir::StageId>(array.index));
    order.push_back(k);
  }
  // (Not std::stable_sort: it calls what the C++ library itself calls deprecated.)
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(lives[a].first.group, a) < std::pair(lives[b].first.group, b);
  });
  struct Memory {
    When until;  // something needs what is there
    const ArrayRef* latest;
  };
  std::vector<Memory> memories;
  for (const std::size_t k : order) {
    ArrayRef& array = interface.arrays[k];
    std::size_t chosen = memories.size();
    for (std::size_t m = 0; m < memories.size(); ++m) {
      if (!memories[m].until.before(lives[k].first)) continue;
      const bool equal = memories[m].latest->extents == array.extents &&
                         plan.stages[memories[m].latest->index].lane == plan.stages[array.index].lane;
      if (chosen == memories.size() || equal) chosen = m;
      if (equal) break;
    }
    if (chosen == memories.size()) memories.emplace_back();
    memories[chosen] = {lives[k].last, &array};
    array.memory = chosen;
  }
  interface.memories = memories.size();
}

// Do the pieces, blocks of constant extent one behind the other along one dimension and whole in the others, cover the
// composed stage once? Channels do. The last dimension is none to cut: rows would begin anywhere.
bool cover(const ir::Graph& graph, const ir::Stage& composed) {
  const std::size_t rank = composed.domain.size();
  std::optional<std::size_t> cut;
  for (const ir::Piece& piece : composed.pieces)
    for (std::size_t d = 0; d < rank; ++d) {
      const bool whole =
          graph.constant(piece.start[d]) == 0 && piece.stride[d] == 1 && piece.count[d] == composed.domain[d];
      if (whole || cut == d) continue;
      if (cut) return false;
      cut = d;
    }
  if (!cut || *cut + 1 == rank) return false;
  i64 end = 0;
  for (const ir::Piece& piece : composed.pieces) {
    const auto extent = graph.constant(piece.count[*cut]);
    if (!extent || graph.constant(piece.start[*cut]) != end || piece.stride[*cut] != 1) return false;
    end += *extent;
  }
  return graph.constant(composed.domain[*cut]) == end;
}

// Pieces whose elements lie in the composed array one by one, at whole rows of it. A piece that does not fit as it is,
// or is an output itself, keeps all of them where they are.
void place_parts(const plan::Plan& plan, Interface& interface, ir::StageId s) {
  const ir::Graph& graph = plan.graph;
  const ir::Stage& composed = graph.stage(s);
  const std::optional<ArrayPlace> whole = place_of(plan, interface, s);
  if (!whole || interface.arrays[whole->array].part || !cover(graph, composed)) return;
  const ArrayRef& ref = interface.arrays[whole->array];
  if (ref.format.is_struct()) return;
  const ir::nest::Lane lane =
      ref.kind == ArrayRef::Kind::output ? ir::nest::lane_of(composed.type) : plan.stages[s].lane;
  std::vector<std::pair<std::size_t, ArrayRef::Part>> parts;
  for (const ir::Piece& piece : composed.pieces) {
    if (!piece.stage || plan.stages[*piece.stage].lane != lane) return;
    const ir::Stage& source = graph.stage(*piece.stage);
    const std::optional<ArrayPlace> own = place_of(plan, interface, *piece.stage);
    if (!own || source.kind == ir::StageKind::input) return;
    const ArrayRef& array = interface.arrays[own->array];
    if (array.kind != ArrayRef::Kind::intermediate || array.part) return;
    for (const auto& [k, part] : parts)
      if (k == own->array) return;
    for (const ArrayRef& other : interface.arrays)  // it holds parts itself
      if (other.part && other.part->whole == own->array) return;
    const std::size_t lead = composed.domain.size() - source.domain.size();
    for (std::size_t d = 0; d < source.domain.size(); ++d)
      if (piece.count[d + lead] != source.domain[d]) return;
    ArrayRef::Part& part = parts.emplace_back(own->array, ArrayRef::Part{whole->array, {}}).second;
    for (const ir::SizeId start : piece.start) part.start.push_back(graph.constant(start).value());
  }
  for (auto& [k, part] : parts) interface.arrays[k].part = std::move(part);
}

}  // namespace

Interface interface_of(const plan::Plan& plan, const std::set<ir::StageId>& wholes) {
  const ir::Graph& graph = plan.graph;
  Interface result;
  result.integers = graph.parameters.size();
  auto add = [&](ArrayRef array) {
    array.strides = result.integers;
    if (array.is_array) result.integers += array.extents.size() - 1;
    result.arrays.push_back(std::move(array));
  };
  for (std::size_t a = 0; a < graph.arguments.size(); ++a) {
    const ir::Argument& argument = graph.arguments[a];
    add({ArrayRef::Kind::argument, a, argument.format, argument.extents, 0, argument.is_array});
  }
  std::vector<bool> is_output(graph.stage_count());
  for (std::size_t o = 0; o < graph.outputs.size(); ++o) {
    const ir::Output& output = graph.outputs[o];
    for (ir::StageId s : output.stages) is_output[s] = true;
    add({ArrayRef::Kind::output, o, output.format, graph.stage(output.stages.front()).domain, 0, true});
  }
  for (const plan::Group& group : plan.groups)
    for (ir::StageId s : group.results)
      if (!is_output[s])
        add({ArrayRef::Kind::intermediate, s, Format(graph.stage(s).type), plan::extents_of_array(plan, s), 0, true});
  for (const ir::StageId s : wholes) place_parts(plan, result, s);
  share_memory(plan, result);
  return result;
}

std::size_t Interface::output(std::size_t o) const {
  for (std::size_t k = 0; k < arrays.size(); ++k)
    if (arrays[k].kind == ArrayRef::Kind::output && arrays[k].index == o) return k;
  throw Error(ErrorClass::internal, "the plan has no output number " + std::to_string(o));
}

std::size_t Interface::intermediate(ir::StageId s) const {
  for (std::size_t k = 0; k < arrays.size(); ++k)
    if (arrays[k].kind == ArrayRef::Kind::intermediate && arrays[k].index == s) return k;
  throw Error(ErrorClass::internal, "stage " + std::to_string(s) + " of the plan has no array");
}

std::optional<ArrayPlace> place_of(const plan::Plan& plan, const Interface& interface, ir::StageId s) {
  const ir::Graph& graph = plan.graph;
  auto record = [](const Format& format, std::size_t field, std::size_t array) {
    if (!format.is_struct()) return ArrayPlace{array, static_cast<i64>(format.size()), 0};
    return ArrayPlace{array, static_cast<i64>(format.size()), static_cast<i64>(format.fields[field].offset)};
  };
  if (graph.stage(s).kind == ir::StageKind::input)
    return record(graph.arguments[graph.stage(s).argument].format, graph.stage(s).field, graph.stage(s).argument);
  for (std::size_t o = 0; o < graph.outputs.size(); ++o)
    for (std::size_t f = 0; f < graph.outputs[o].stages.size(); ++f)
      if (graph.outputs[o].stages[f] == s) return record(graph.outputs[o].format, f, interface.output(o));
  for (std::size_t k = 0; k < interface.arrays.size(); ++k)
    if (interface.arrays[k].kind == ArrayRef::Kind::intermediate && interface.arrays[k].index == s)
      return ArrayPlace{k, ir::nest::size_of(plan.stages[s].lane), 0};
  return {};
}

}  // namespace tessera::lower
