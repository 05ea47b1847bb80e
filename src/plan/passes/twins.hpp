// Two values in a register: threads of a GPU have registers of 32 bits, images have often 8 or 16. See twins.cpp.
#pragma once

#include <optional>
#include <unordered_set>
#include <vector>

#include "analyze/ranges.hpp"

namespace tessera::plan {

// Half a register holds them all: unsigned ones or signed ones.
bool fits_half(analyze::Range);

// Constant bits that a shift of twins to the right, or a division, takes away.
std::optional<i64> shifted_right(const ir::Graph&, analyze::Ranges&, const ir::ExprNode&);

// Which operations of expressions can be done for two columns at once.
class Twins {
 public:
  // `minima`: of two values in a register, by one instruction.
  Twins(const ir::Graph&, analyze::Ranges&, const std::vector<ir::ExprId>& roots, bool minima);
  bool together(ir::ExprId e) const { return together_.contains(e.id); }
  // Done together, but needed one by one.
  const std::vector<ir::ExprId>& parted() const { return parted_; }
  // Of a thread for both columns of every root: like analyze::instruction_count, with taking apart and putting
  // together.
  double instructions(bool contracted) const;

 private:
  bool done(const ir::ExprNode&) const;
  bool is_constant(ir::ExprId e) const;
  double repairs(const ir::ExprNode&) const;  // instructions beyond the one that it is

  const ir::Graph& graph_;
  analyze::Ranges& ranges_;
  std::vector<ir::ExprId> roots_, order_, parted_;
  std::unordered_set<std::uint32_t> together_;
  bool minima_;
};

}  // namespace tessera::plan
