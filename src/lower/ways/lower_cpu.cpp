// A plan as functions for CPU cores: a loop over groups, each by the way that the plan holds; see lower/interface.hpp.
#include <fmt/format.h>

#include "base/process/deadline.hpp"
#include "lower/outline.hpp"
#include "lower/ways/ways.hpp"

namespace tessera::lower {

Lowered lower_cpu(const plan::Plan& plan) {
  plan::Plan working = plan;  // bodies shifted along rows join the graph's expressions
  Lowered result;
  result.interface = interface_of(working);
  result.module.tables = working.graph.tables;
  RangesOnDemand ranges(working.graph);
  for (std::size_t g = 0; g < working.groups.size(); ++g) {
    const plan::Group& group = working.groups[g];
    base::reached_stage(working.graph.stage(group.anchor).name);
    way_of(core_ways(), group)
        .lower({working, result.interface, ranges, g}, group.way.chosen(), fmt::format("tsr_g{}", g), result);
  }
  outline_blocks(result.module);
#ifndef NDEBUG
  ir::nest::verify(result.module);
#endif
  return result;
}

}  // namespace tessera::lower
