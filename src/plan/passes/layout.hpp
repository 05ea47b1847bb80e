// What makes a set of stages a group that can stream: one anchor, rates that fit, offsets that are known, wrap-around
// only where the producer can be computed beyond its domain, one column border for each ring. From these follow lags
// and ring depths.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plan/groups/facts.hpp"

namespace tessera::plan {

struct Layout {
  bool legal = false;
  std::string reason;  // why not
  ir::StageId anchor = 0;
  std::vector<StagePlan> stages;  // parallel to the set, as `leaves` is
  std::vector<bool> leaves;       // others read it: it is stored as an array
  i64 step = 4;
  std::optional<Strip> strip;  // where strips are planned
};

// Which stages of a set others read, where no stage is in several sets.
std::vector<bool> leaving(const GraphFacts&, const Set&);

Layout layout(const GraphFacts&, const Set&, std::vector<bool> leaves);
// Of a group as it was planned.
Layout planned_layout(const GraphFacts&, const Group&, const std::vector<StagePlan>&);

// Rows of a block share what they read of the same rows: so do planes, in sums that read several planes but one row of
// each. The dimension along which the blocks of a stage lie, in a group of so many stages (0: of several).
std::size_t blocks_along(const GraphFacts&, ir::StageId, std::size_t stages_of_group);

}  // namespace tessera::plan
