// From sets of stages to the groups of a plan: their order, their passes, what rings need besides, what is predicted.
#include <algorithm>
#include <set>

#include "plan/groups/groups.hpp"
#include "plan/passes/passes.hpp"

namespace tessera::plan {

using ir::StageId;
using ir::StageKind;

namespace {

// Stages as they are before they are in any group.
std::vector<StagePlan> bare_stages(const GraphFacts& facts) {
  std::vector<StagePlan> stages(facts.stages.size());
  for (StageId s = 0; s < stages.size(); ++s) {
    const ir::Stage& stage = facts.graph.stage(s);
    StagePlan& p = stages[s];
    p.lane = facts.of(s).lane;
    p.home = stage.kind == StageKind::input ? Home::memory : Home::array;
    p.periodic.assign(stage.domain.size(), false);
    p.rate.assign(stage.domain.size(), {});
  }
  return stages;
}

void predict(Group& group, const GraphFacts& facts, const Price& price) {
  const double points = facts.of(group.anchor).points;
  group.bytes = price.bytes / points;
  group.operations = price.operations / points;
  group.nanoseconds = price.nanoseconds;
  group.memory_nanoseconds = price.memory;
  group.compute_nanoseconds = price.compute;
}

// A refusal that a later merge overtook is no news, nor is one that was repeated.
std::vector<Decision> news(const std::vector<Decision>& decisions, const std::vector<int>& home) {
  std::vector<Decision> result;
  std::set<std::pair<StageId, StageId>> told;
  for (auto d = decisions.rbegin(); d != decisions.rend(); ++d)
    if (d->fused || (home[d->a] != home[d->b] && told.insert({d->a, d->b}).second)) result.push_back(*d);
  std::reverse(result.begin(), result.end());
  return result;
}

bool has(const Pass& pass, StageId s) {
  return std::count(pass.stages.begin(), pass.stages.end(), s) > 0;
}

// A block is written before any row of it leaves the ring. (In volumes most blocks stand in one plane.)
void hold_blocks(const std::vector<Pass>& passes, std::vector<StagePlan>& stages) {
  for (const Pass& pass : passes)
    for (StageId s : pass.stages)
      if (pass.along == 0 && stages[s].home == Home::ring && stages[s].depth > 0)
        stages[s].depth = std::max<i64>(stages[s].depth, pass.rows);
}

// What vectors of the consumers read beyond a row of a stage: the last vector starts before the end and is strided by
// the scale.
i64 reach_of(const GraphFacts& facts, const std::vector<Pass>& passes, const std::vector<StagePlan>& stages,
             StageId s) {
  i64 reach = 0;
  for (std::size_t k : facts.of(s).read_by) {
    const EdgeDimension& column = facts.edges[k].dims.back();
    for (const Pass& pass : passes)
      if (has(pass, facts.edges[k].consumer))
        reach = std::max(reach, (std::max<i64>(1, column.mul) + 1) * pass.lanes + column.hi);
  }
  for (const Pass& pass : passes) {
    if (has(pass, s)) reach = std::max<i64>(reach, 2 * pass.lanes);
    for (StageId piece : pass.stages)
      if (stages[piece].home == Home::inside && stages[piece].whole == s)
        reach = std::max<i64>(reach, (pass.lanes + 2) * stages[piece].stride.back());
  }
  return reach;
}

void add_group(const GraphFacts& facts, const Set& set, std::vector<Decision> reasons, Plan& plan) {
  const Layout found = layout(facts, set, leaving(facts, set));
  const Price predicted = price(facts, set, found);
  Group group;
  group.anchor = found.anchor;
  group.stages = set;
  group.step = found.step;
  group.reasons = std::move(reasons);
  group.halo_rows = predicted.halo_rows;
  group.halo_columns = predicted.halo_columns;
  group.ring_bytes_per_column = predicted.ring_bytes_per_column;
  group.ring_halo = predicted.ring_halo;
  predict(group, facts, predicted);
  for (std::size_t i = 0; i < set.size(); ++i) {
    plan.stages[set[i]] = found.stages[i];
    plan.stages[set[i]].group = static_cast<int>(plan.groups.size());
    if (found.leaves[i]) group.results.push_back(set[i]);
  }
  group.passes = passes_of(facts, set, found);
  hold_blocks(group.passes, plan.stages);
  for (const StageId s : set) plan.stages[s].reach = reach_of(facts, group.passes, plan.stages, s);
  plan.groups.push_back(std::move(group));
}

}  // namespace

// Groups come in an order in which producers come first.
void take(const GraphFacts& facts, const Grouping& grouping, Plan& plan) {
  plan.stages = bare_stages(facts);
  std::vector<int> home(facts.stages.size(), -1);
  std::vector<std::size_t> left;
  for (std::size_t g = 0; g < grouping.sets.size(); ++g) {
    for (StageId s : grouping.sets[g]) home[s] = static_cast<int>(g);
    if (!grouping.sets[g].empty()) left.push_back(g);
  }
  std::vector<bool> done(facts.stages.size());
  const auto is_ready = [&](std::size_t g) {
    for (StageId s : grouping.sets[g])
      for (std::size_t k : facts.of(s).reads) {
        const StageId p = facts.edges[k].producer;
        if (facts.graph.stage(p).kind != StageKind::input && home[p] != static_cast<int>(g) && !done[p]) return false;
      }
    return true;
  };
  while (!left.empty()) {
    const std::size_t before = left.size();
    std::erase_if(left, [&](std::size_t g) {
      if (!is_ready(g)) return false;
      for (StageId s : grouping.sets[g]) done[s] = true;
      add_group(facts, grouping.sets[g], news(grouping.decisions[g], home), plan);
      return true;
    });
    if (left.size() == before)
      throw Error(ErrorClass::internal, "the groups of the plan depend on each other in a circle");
  }
}

void predict_groups(const GraphFacts& facts, Plan& plan) {
  for (Group& group : plan.groups)
    predict(group, facts, price(facts, group.stages, planned_layout(facts, group, plan.stages)));
}

}  // namespace tessera::plan
