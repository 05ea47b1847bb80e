// Expressions of the language as nodes: whole numbers exactly, floats in fixed point with a bound on their error.
//
// A value that stands for a float has a number of fraction bits of its own, as many as its operation makes: sums take
// the larger one, products the sum. What goes into products of two values, divisions, functions (functions.hpp) and
// what a stage keeps is rounded to `fraction` bits. A constant is exact where it is a multiple of a small power of two,
// else it has as many bits as its product needs. The error is against exact arithmetic of the reals; floats err by a
// few units of their last place themselves.
//
// What depends on one value of at most 10 bits, known exactly, is a table of what the interpreter makes of each
// (expressions_tables.cpp), from the first operation on that is dear or has to decide between values with errors.
//
// With `exact` floats are floats: nodes of their bits, each operation of the language one node, in its order.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "analyze/ranges.hpp"
#include "hardware/numbers/arithmetic.hpp"
#include "ir/graph.hpp"
#include "tessera/error.hpp"

namespace tessera::hardware {

// Of operations that decide between values with errors: how close to the limit the circuit may decide otherwise.
using Margins = std::map<std::pair<ir::StageId, ir::ExprId>, double>;

class Expressions {
 public:
  Expressions(const ir::Graph& graph, analyze::Ranges& ranges, Netlist& netlist, Arithmetic& make, int fraction,
              bool exact)
      : graph_(graph), ranges_(ranges), netlist_(netlist), make_(make), fraction_(fraction), exact_(exact) {}

  // The body of a stage. `leaf` gives what accesses, coordinates, extents and scalars are. Throws Error(argument) for
  // what hardware does not compute.
  Value body(ir::StageId, const std::function<Value(const ir::ExprNode&)>& leaf);

  // The largest error of a float that was compared or made a whole number: such results may be others than those of
  // exact arithmetic where it is as close to a limit.
  double decided = 0, decided_relative = 0;  // the latter of the largest magnitude
  std::vector<Decision> decisions;           // one of each kind a stage
  Margins margins;                           // of each operation that decides

  // In so many bits of fraction at most.
  Value rounded(Value, int fraction);
  // A constant with at most so many bits of fraction.
  Value constant(double, int most_fraction);
  // What stands beyond the edge of an image of that type.
  Value border(double, ElementType);
  std::pair<Value, Value> aligned(Value, Value) const;

 private:
  [[noreturn]] void refuse(const std::string& what, const std::string& help = "") const;
  [[noreturn]] void refuse_boundless() const;
  void refuse_wide(std::size_t from) const;
  bool takes_floats(const ir::ExprNode&) const;
  void decide(ir::Op, const Value&, double error);
  Value operation(const ir::ExprNode&, const std::vector<Value>&,
                  const std::function<Value(const ir::ExprNode&)>& leaf);
  Value whole(const ir::ExprNode&, const std::vector<Value>&);
  Value real(const ir::ExprNode&, const std::vector<Value>&);
  Value function(const ir::ExprNode&, const std::vector<Value>&);
  Value from_float(const ir::ExprNode&, Value);
  Value lookup(const ir::ExprNode&, const std::vector<Value>&);
  Value bitwise(const ir::ExprNode&, const std::vector<Value>&);
  Value shifted(const ir::ExprNode&, const std::vector<Value>&);
  Value scaled(Value, double factor);
  Value product(Value, Value);
  Value toward_zero(Value);
  Value checked(ir::ExprId, Value);
  // expressions_tables.cpp
  ir::ExprId source_of(ir::ExprId) const;
  bool asks_for_table(ir::ExprId) const;
  bool is_narrow(ir::ExprId) const;
  std::optional<Value> tabulated(ir::ExprId);
  const std::vector<double>& column(ir::ExprId, ir::ExprId source);
  std::optional<Value> mean(const ir::ExprNode& division, const Value&, const Value&);
  // Floats as floats.
  Value float_operation(const ir::ExprNode&, const std::vector<Value>&);
  Value pattern(NodeId, ElementType) const;
  Value float_constant(double, ElementType);

  const ir::Graph& graph_;
  analyze::Ranges& ranges_;
  Netlist& netlist_;
  Arithmetic& make_;
  int fraction_;
  bool exact_;
  ir::StageId stage_ = 0;
  ir::ExprId now_;  // what is being computed
  // Of the expressions of a stage: values; on which one of them alone each depends (itself for several, none for none);
  // which are tables; what was wrong with those that have no value but may be part of a table.
  struct Known {
    std::map<ir::ExprId, Value> values;
    std::map<ir::ExprId, ir::ExprId> sources;
    std::map<ir::ExprId, bool> tabled;
    std::map<ir::ExprId, Error> broken;
    std::map<std::pair<ir::ExprId, ir::ExprId>, std::vector<double>>
        columns;  // by source: what each of its values gives
  };
  Known known_;
};

}  // namespace tessera::hardware
