// The body of a point pass: expressions of the graph become vector values.
//
// All expressions of a register block (several rows, several stages) are one DAG. Loads come first in the order of
// memory, rows then columns, and every operation follows as soon as its operands are there: a convolution so becomes
// one accumulator per row that takes each loaded vector once, in the order in which its sum was written.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "analyze/ranges.hpp"
#include "lower/vocabulary.hpp"
#include "plan/passes/lanes.hpp"

namespace tessera::lower {

// Supplied by the target: where operands come from at the vector that is being computed.
struct PointSource {
  int lanes = 16;
  int least_bytes = 1;         // of a lane that integers are computed in: 4 where narrow ones gain nothing
  bool chained = false;        // addends of a looped sum are added to its total one by one, in any order
  bool fuses = false;          // a sum of floats takes a product that it has for a term in one step: fused_of
  bool own_quotients = false;  // see machine::Machine
  // The vector of an access without reduction variables in its index, or with the given values for them.
  std::function<ir::nest::Value(const ir::ExprNode&, const std::map<std::uint32_t, ir::nest::Value>& vars)> load;
  // Lane-wise absolute reads: indices are i32 vectors, clamped already.
  std::function<ir::nest::Value(const ir::ExprNode&, const std::vector<ir::nest::Value>& indices)> gather;
  // Of bins that elements have gone into: a bin, i32, of a piece, a scalar i64.
  std::function<ir::nest::Value(const ir::ExprNode&, const ir::nest::Value& piece, const ir::nest::Value& bin)> partial;
  // The same at one place for all lanes, indices as scalars; may be missing.
  std::function<ir::nest::Value(const ir::ExprNode&, const std::vector<ir::nest::Value>& indices)> gather_one;
  // The point's index in a dimension, as a scalar, where all lanes share it; may be missing.
  std::function<std::optional<ir::nest::Value>(std::size_t dimension)> coordinate;
  std::function<ir::nest::Value(const ir::ExprNode&)> leaf;  // coord, extent, parameter, scalar, value, size: vectors
  std::function<ir::nest::Value(const ir::ExprNode&)> lanes_of_piece;  // of a whole image; may be missing
  std::function<ir::nest::Value(std::size_t table)> table;             // pointer to its first element
  std::function<ir::nest::Value(ir::SizeId)> extent;                   // a scalar, of what a reduction runs over
};

// A sum that takes a product: a * b + c with the signs of both. Which product that is follows from the sum alone, never
// from what else a block or a tile computes, so that results have the same bits in all of them.
struct FusedSum {
  ir::ExprId a, b, c;
  bool minus_product = false, minus_c = false;
  bool divides = false;  // a / b, and b is a power of two
};
std::optional<FusedSum> fused_of(const ir::Graph&, ir::ExprId sum);

class PointEmitter {
 public:
  using Values = std::unordered_map<std::uint32_t, ir::nest::Value>;  // by expression
  PointEmitter(const ir::Graph& graph, analyze::Ranges& ranges, Builder& builder, const PointSource& source)
      : graph_(graph), ranges_(ranges), builder_(builder), source_(source) {}
  PointEmitter(const ir::Graph&, analyze::Ranges&, Builder&, PointSource&&) = delete;  // it has to live as long

  // Emits everything below the roots and calls `finished(k, value)` as soon as root k is known. Values of integer
  // roots come in the lane type that plan::lane_of says, or a wider one; booleans as masks.
  // `known`: those that are there already.
  void emit(const std::vector<ir::ExprId>& roots, const std::function<void(std::size_t, ir::nest::Value)>& finished,
            Values known = {});

  // The value in another lane type: numbers convert, masks become 0 or 1 when the target is not a mask.
  ir::nest::Value stored(ir::ExprId e, ir::nest::Value v, ir::nest::Lane lane);

 private:
  using Value = ir::nest::Value;
  using Vars = std::map<std::uint32_t, Value>;

  void emit_block(const std::vector<ir::ExprId>& wanted, Values& known, const Vars& vars,
                  const std::function<void(ir::ExprId, Value)>& made);
  Value node(ir::ExprId e, const Values& known, const Vars& vars);
  Value fused(const FusedSum&, ir::nest::Lane, const Values& known);
  // What a node is computed of: its arguments, or those of a product that it takes.
  std::vector<ir::ExprId> operands_of(ir::ExprId e) const;
  bool is_addend(ir::ExprId e) const { return addends_.contains(e.id); }
  void reductions(const std::vector<ir::ExprId>& together, Values& known, const Vars& vars);
  // An integer that is the same in all lanes: of numbers, the variables of loops and indices of the point.
  std::optional<Value> uniform(ir::ExprId e, const Vars& vars);
  Value lookup(const ir::ExprNode&, const Values& known, const Vars& vars);
  Value gather(const ir::ExprNode&, const Values& known, const Vars& vars);
  Value compare(ir::ExprId e, const Values& known);
  Value to_integer(const ir::ExprNode&, Value, ir::nest::Lane lane);
  Value integer_division(const ir::ExprNode&, Value a, Value b, ir::nest::Lane lane);
  ir::nest::Lane widened(ir::nest::Lane) const;
  ir::nest::Lane lane_of(ir::ExprId e);  // of an integer node: of its value, of the operation
  ir::nest::Lane working_lane(ir::ExprId e);
  Value constant(ir::ExprId e);
  Value value(ir::ExprId e, const Values& known);  // a constant has no place in `known`
  Value operand(ir::ExprId e, const Values& known, ir::nest::Lane lane);
  Value mask(Value v, ir::nest::Lane lane);
  Value as(Value v, ir::nest::Lane lane);
  Value op(ir::Op, ir::nest::Lane, std::vector<Value>);
  Value named(const Value&);
  std::optional<Value> own_quotient(const ir::ExprNode&, const Value& dividend);
  Value compared(ir::Op, const Value& a, const Value& b);
  Value number(double v, ir::nest::Lane lane);
  Value identity(const ir::ExprNode&, ir::nest::Lane lane);
  bool free(ir::ExprId e) const;

  const ir::Graph& graph_;
  analyze::Ranges& ranges_;
  Builder& builder_;
  const PointSource& source_;
  plan::LowBits low_;
  std::unordered_set<std::uint32_t> addends_;  // products that a looped sum takes in one step
};

}  // namespace tessera::lower
