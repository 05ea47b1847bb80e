// Cutting a graph into groups.
//
// A candidate group is a set of stages. `layout` decides whether it can stream, `price` predicts its time; both are
// functions of facts that never change (facts.hpp). What changes is which sets there are: greedy merging starts from
// single stages and takes, in topological order, every merge that the prediction says pays (groups.cpp). Not fusing is
// a legal answer, and the reason is kept. Then stages move to their consumers (moves.cpp), and some are computed
// by several groups (repeats.cpp).
#pragma once

#include <string>
#include <vector>

#include "plan/groups/facts.hpp"
#include "plan/groups/prices.hpp"
#include "plan/passes/layout.hpp"

namespace tessera::plan {

// Sets of stages, in no order, some of them empty; decisions about each.
struct Grouping {
  std::vector<Set> sets;
  std::vector<int> home;  // by stage: the set whose stage others read; -1: an input
  std::vector<std::vector<Decision>> decisions;

  Set& set(int group) { return sets[static_cast<std::size_t>(group)]; }
  const Set& set(int group) const { return sets[static_cast<std::size_t>(group)]; }
};

// A grouping that is still looked for, and what is known of its sets.
struct Groups : Grouping {
  // Of a group: what merging and moving cost grows with it, and no cache holds as many rows.
  static constexpr std::size_t most_stages = 256;

  std::vector<double> nanoseconds;         // by set
  std::vector<bool> in_strips, is_chain;   // by set
  ir::StageId merged_until = 0;            // stages behind it stand alone
  std::vector<std::vector<int>> repeated;  // by stage: other groups that compute it; empty while there are none

  bool computes(int group, ir::StageId s) const { return contains(set(group), s); }
  double& price(int group) { return nanoseconds[static_cast<std::size_t>(group)]; }
  bool is_strip(int group) const { return in_strips[static_cast<std::size_t>(group)]; }
};

// What is computed together. Stages of several groups are to be copied before the groups are taken.
Grouping cut(const GraphFacts&);

// Its steps. Merges of neighbours, as far as they pay:
Groups merged(const GraphFacts&);
// stages whose readers are all in one other group,
void move_to_consumers(const GraphFacts&, Groups&);
// sums that are taken one dimension at a time, on devices: those that no strip has, or all,
void merge_chains(const GraphFacts&, Groups&, bool all);
// reductions of an image with their lanes, those of one image together, on devices,
void merge_pieces(const GraphFacts&, Groups&);
// stages that other groups compute again.
void repeat_stages(const GraphFacts&, Groups&);

// Would merging a and b make a circle, a path between them that leaves both? Asked before every merge, thousands of
// times in a large program: so it looks only at what lies between the two sets. It relies on there being no circle yet,
// and knows whole sets alone; a stage that moves to another set is judged by `circular`.
bool creates_cycle(const GraphFacts&, const Groups&, int a, int b);
// Do groups, however they came about, depend on each other in a circle? Takes the time of all edges: for the few moves,
// not for every merge.
bool circular(const GraphFacts&, const Groups&);

// Are there stages that are in several sets, or in none?
bool repeats(const ir::Graph&, const Grouping&);
// Gives each set copies of its own of such stages, and drops those that are in none. Stages are numbered anew.
void copy_repeated(ir::Graph&, Grouping&);

// Fills groups and stages of the plan that the facts are of. Every stage but inputs is in one set.
void take(const GraphFacts&, const Grouping&, Plan&);
// Predictions of the groups that are there, for the parameters of its options.
void predict_groups(const GraphFacts&, Plan&);

}  // namespace tessera::plan
