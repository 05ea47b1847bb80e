// Lane types: the narrowest machine type that computes the same integers as the 32-bit semantics of the graph.
#pragma once

#include <unordered_set>

#include "analyze/ranges.hpp"
#include "ir/nest/nest.hpp"

namespace tessera::plan {

// The narrowest of u8, i16, u16, i32, u32 that holds the range.
ir::nest::Lane narrowest(analyze::Range);

// The lane type in which the value of an expression is held. Booleans are masks and have none: i8 is returned.
ir::nest::Lane lane_of(const ir::Graph&, analyze::Ranges&, ir::ExprId);

// Operations of which every use keeps the low 16 bits alone: sums that wrap in a 16-bit type. Their carries into higher
// bits never matter, so they run in 16-bit lanes whatever their range.
class LowBits {
 public:
  LowBits() = default;
  LowBits(const ir::Graph&, const std::vector<ir::ExprId>& roots);
  bool contains(ir::ExprId e) const { return low_.contains(e.id); }

 private:
  std::unordered_set<std::uint32_t> low_;
};

// The lane type in which an operation on integers is carried out: wide enough for its operands where they matter beyond
// the low bits (comparisons, division, minimum ...), and for what the machine has instructions for.
ir::nest::Lane working_lane(const ir::Graph&, analyze::Ranges&, const LowBits&, ir::ExprId);

}  // namespace tessera::plan
