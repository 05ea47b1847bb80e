// The order of pointers and integers that emitted functions take.
#include "lower/interface.hpp"

#include <algorithm>

namespace tessera::lower {

namespace {

// Groups run one after the other, so an intermediate can lie where another one did that no group reads any more. The
// place of an array of the same extents is taken before any other: then all of it is used.
void share_memory(const plan::Plan& plan, Interface& interface) {
  const ir::Graph& graph = plan.graph;
  std::vector<int> last(graph.stage_count(), -1);  // group that reads the stage
  for (ir::StageId s = 0; s < graph.stage_count(); ++s)
    for (ir::StageId source : ir::sources(graph, s)) last[source] = std::max(last[source], plan.stages[s].group);
  struct Memory {
    int until;  // the last group that needs what is there
    const ArrayRef* latest;
  };
  std::vector<Memory> memories;
  for (ArrayRef& array : interface.arrays) {
    if (array.kind != ArrayRef::Kind::intermediate) continue;
    const int first = plan.stages[array.index].group;
    std::size_t chosen = memories.size();
    for (std::size_t m = 0; m < memories.size(); ++m) {
      if (memories[m].until >= first) continue;
      const bool equal = memories[m].latest->extents == array.extents &&
                         plan.stages[memories[m].latest->index].lane == plan.stages[array.index].lane;
      if (chosen == memories.size() || equal) chosen = m;
      if (equal) break;
    }
    if (chosen == memories.size()) memories.emplace_back();
    memories[chosen] = {std::max(first, last[array.index]), &array};
    array.memory = chosen;
  }
  interface.memories = memories.size();
}

}  // namespace

Interface interface_of(const plan::Plan& plan) {
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
        add({ArrayRef::Kind::intermediate, s, Format(graph.stage(s).type), graph.stage(s).domain, 0, true});
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
