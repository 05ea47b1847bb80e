// Expressions of the language as nodes: whole numbers exactly, floats in fixed point with a bound on their error.
//
// A value that stands for a float has a number of fraction bits of its own, as many as its operation makes: sums take
// the larger one, products the sum. What goes into products of two values, divisions, roots and what a stage keeps is
// rounded to `fraction` bits. A constant is exact where it is a multiple of a small power of two, else it has as many
// bits as its product needs. The error is against exact arithmetic of the reals; floats err by a few units of their
// last place themselves.
#pragma once

#include <functional>
#include <map>

#include "analyze/ranges.hpp"
#include "hardware/arithmetic.hpp"
#include "ir/graph.hpp"

namespace tessera::hardware {

class Expressions {
 public:
  Expressions(const ir::Graph& graph, analyze::Ranges& ranges, Netlist& netlist, Arithmetic& make, int fraction)
      : graph_(graph), ranges_(ranges), netlist_(netlist), make_(make), fraction_(fraction) {}

  // The body of a stage. `leaf` gives what accesses, coordinates, extents and scalars are. Throws Error(argument) for
  // what hardware does not compute.
  Value body(ir::StageId, const std::function<Value(const ir::ExprNode&)>& leaf);

  // The largest error of a float that was compared or made a whole number: such results may be others than those of
  // exact arithmetic where it is as close to a limit.
  double decided = 0, decided_relative = 0;  // the latter of the largest magnitude

  // In so many bits of fraction at most.
  Value rounded(Value, int fraction);
  // A constant with at most so many bits of fraction.
  Value constant(double, int most_fraction);
  // What stands beyond the edge of an image of that type.
  Value border(double, ElementType);
  std::pair<Value, Value> aligned(Value, Value) const;

 private:
  [[noreturn]] void refuse(const std::string& what) const;
  void decide(const Value&, double error);
  Value operation(const ir::ExprNode&, const std::vector<Value>&,
                  const std::function<Value(const ir::ExprNode&)>& leaf);
  Value whole(const ir::ExprNode&, const std::vector<Value>&);
  Value real(const ir::ExprNode&, const std::vector<Value>&);
  Value from_float(const ir::ExprNode&, Value);
  Value lookup(const ir::ExprNode&, const std::vector<Value>&);
  Value bitwise(const ir::ExprNode&, const std::vector<Value>&);
  Value shifted(const ir::ExprNode&, const std::vector<Value>&);
  Value scaled(Value, double factor);
  Value product(Value, Value);
  Value quotient(Value, Value);
  Value root(Value);
  Value toward_zero(Value);

  const ir::Graph& graph_;
  analyze::Ranges& ranges_;
  Netlist& netlist_;
  Arithmetic& make_;
  int fraction_;
  ir::StageId stage_ = 0;
  std::map<std::pair<i64, int>, std::size_t> tables_;
};

}  // namespace tessera::hardware
