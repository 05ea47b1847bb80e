// Greedy merging of stages into groups; see groups.hpp for the idea and layout.cpp for what makes a group legal.
#include "plan/groups/groups.hpp"

#include <algorithm>
#include <cstdio>
#include <set>

#include "base/process/deadline.hpp"
#include "plan/groups/strips.hpp"

namespace tessera::plan {

using ir::StageId;
using ir::StageKind;

namespace {

// Every stage by itself.
Groups single_stages(const GraphFacts& facts) {
  const std::size_t count = facts.stages.size();
  Groups groups;
  groups.sets.assign(count, {});
  groups.home.assign(count, -1);
  groups.decisions.assign(count, {});
  groups.nanoseconds.assign(count, 0);
  groups.in_strips.assign(count, false);
  groups.is_chain.assign(count, false);
  for (StageId s = 0; s < count; ++s) {
    if (facts.graph.stage(s).kind == StageKind::input) continue;
    groups.home[s] = static_cast<int>(s);
    groups.sets[s] = {s};
    const Layout alone = layout(facts, groups.sets[s], leaving(facts, groups.sets[s]));
    groups.nanoseconds[s] = price(facts, groups.sets[s], alone).nanoseconds;
    groups.in_strips[s] = runs_in_strips(facts, groups.sets[s], alone);
  }
  return groups;
}

// What is no strip runs stage by stage: so no strip may become a part of it, but a piece that then is computed right
// into its whole. Why the two stay apart, or "".
std::string breaks_strips(const GraphFacts& facts, const Groups& groups, int a, int b, const Layout& together) {
  if (!facts.plans_strips || (!groups.is_strip(a) && !groups.is_strip(b))) return "";
  const std::string why = no_strip(facts, together);
  if (why.empty()) return "";
  for (const StageId whole : groups.set(b))
    for (const ir::Piece& piece : facts.graph.stage(whole).pieces)
      if (facts.of(whole).fillable && groups.set(a) == Set{*piece.stage}) return "";
  return why;
}

// Puts a into b, where that is possible and pays, and says why, or why not.
void try_merge(const GraphFacts& facts, Groups& groups, int a, int b) {
  if (a == b || a < 0 || b < 0) return;
  const std::size_t from = static_cast<std::size_t>(a), to = static_cast<std::size_t>(b);
  const Set &left = groups.sets[from], &right = groups.sets[to];
  auto decided = [&](bool fused, std::string why) {
    groups.decisions[to].push_back({left.back(), right.back(), fused, std::move(why)});
  };
  if (groups.is_chain[from] || groups.is_chain[to])
    return decided(false, "one of them marches through the image by itself");
  if (left.size() + right.size() > Groups::most_stages)
    return decided(false, "a group has " + std::to_string(Groups::most_stages) + " stages at most");
  base::reached_stage(facts.graph.stage(right.back()).name);
  base::look_at_deadline();
  if (creates_cycle(facts, groups, a, b)) return decided(false, "stages of other groups lie between them");
  Set merged;
  std::merge(left.begin(), left.end(), right.begin(), right.end(), std::back_inserter(merged));
  const Layout together = layout(facts, merged, leaving(facts, merged));
  if (!together.legal) return decided(false, together.reason);
  if (std::string why = breaks_strips(facts, groups, a, b, together); !why.empty())
    return decided(false, std::move(why));
  const double fused = price(facts, merged, together).nanoseconds;
  const double apart = groups.nanoseconds[from] + groups.nanoseconds[to];
  char text[96];
  std::snprintf(text, sizeof text, "%.2f ms together, %.2f ms apart (predicted)", fused * 1e-6, apart * 1e-6);
  const Schedule schedule = facts.options.schedule;
  const bool forced = schedule == Schedule::stream || schedule == Schedule::tiled;
  decided(fused < apart || forced, text);
  if (fused >= apart && !forced) return;
  for (StageId s : left) groups.home[s] = b;
  groups.merged_until = std::max(groups.merged_until, merged.back());
  std::vector<Decision>& reasons = groups.decisions[to];
  reasons.insert(reasons.begin(), groups.decisions[from].begin(), groups.decisions[from].end());
  groups.sets[to] = std::move(merged);
  groups.sets[from].clear();
  groups.nanoseconds[to] = fused;
  groups.in_strips[to] = runs_in_strips(facts, groups.sets[to], together);
}

}  // namespace

// Walks forward from both through other groups. Whole groups run at once, so reaching a stage reaches its group. Behind
// `last` everything stands alone and leads only further on, so the walk ends there.
bool creates_cycle(const GraphFacts& facts, const Groups& groups, int a, int b) {
  const StageId last = std::max({groups.set(a).back(), groups.set(b).back(), groups.merged_until});
  std::set<int> seen{a, b};
  std::vector<int> stack{a, b};
  while (!stack.empty()) {
    int g = stack.back();
    stack.pop_back();
    for (StageId s : groups.set(g))
      for (std::size_t k : facts.of(s).read_by) {
        StageId c = facts.edges[k].consumer;
        int h = groups.home[c];
        if ((h == a || h == b) && g != a && g != b) return true;
        if (c <= last && seen.insert(h).second) stack.push_back(h);
      }
  }
  return false;
}

bool circular(const GraphFacts& facts, const Groups& groups) {
  std::vector<int> waits(groups.sets.size(), 0);
  std::vector<std::set<int>> next(groups.sets.size());
  for (const Edge& edge : facts.edges) {
    int from = groups.home[edge.producer], to = groups.home[edge.consumer];
    if (from >= 0 && from != to && next[static_cast<std::size_t>(from)].insert(to).second)
      ++waits[static_cast<std::size_t>(to)];
  }
  std::vector<std::size_t> ready;
  std::size_t left = groups.sets.size();
  for (std::size_t g = 0; g < groups.sets.size(); ++g)
    if (waits[g] == 0) ready.push_back(g);
  while (!ready.empty()) {
    std::size_t g = ready.back();
    ready.pop_back();
    --left;
    for (int n : next[g])
      if (--waits[static_cast<std::size_t>(n)] == 0) ready.push_back(static_cast<std::size_t>(n));
  }
  return left > 0;
}

// Stages with what they read first; then the fields of an output, and readers of one stage.
Groups merged(const GraphFacts& facts) {
  Groups groups = single_stages(facts);
  if (facts.plans_strips) merge_chains(facts, groups, false);
  if (facts.plans_strips) merge_pieces(facts, groups);
  if (facts.options.schedule == Schedule::untiled) return groups;
  const auto together = [&](StageId a, StageId b) { try_merge(facts, groups, groups.home[a], groups.home[b]); };
  for (StageId s = 0; s < facts.stages.size(); ++s)
    for (std::size_t k : facts.of(s).reads) together(facts.edges[k].producer, s);
  for (const ir::Output& output : facts.graph.outputs)
    for (std::size_t k = 1; k < output.stages.size(); ++k) together(output.stages[k - 1], output.stages[k]);
  for (const StageFacts& stage : facts.stages)
    for (std::size_t k = 1; k < stage.read_by.size(); ++k)
      together(facts.edges[stage.read_by[k - 1]].consumer, facts.edges[stage.read_by[k]].consumer);
  return groups;
}

Grouping cut(const GraphFacts& facts) {
  Groups groups = merged(facts);
  if (facts.options.schedule == Schedule::automatic) move_to_consumers(facts, groups);
  if (facts.plans_strips) merge_chains(facts, groups, true);
  if (facts.plans_strips) repeat_stages(facts, groups);
  return groups;
}

}  // namespace tessera::plan
