// Typed expression building: the language's promotion rules in one place, used by the front end and the C++ pipeline
// builder, with constant folding that is exact (what the interpreter would compute).
#pragma once

#include "ir/graph.hpp"

namespace tessera::ir {

// Operands that an operation does not take (a bit operation of floats, a wrong count of indices) give Error(compile).
ExprId constant(Graph&, ElementType, double value);  // converted to the type as Op::convert does
ExprId var(Graph&, std::uint32_t id);
ExprId coord(Graph&, std::size_t dimension);
ExprId extent(Graph&, std::size_t dimension);
ExprId parameter(Graph&, std::size_t index);
ExprId scalar(Graph&, std::size_t argument);  // the argument must be there already
ExprId convert(Graph&, ElementType to, ExprId);
ExprId saturate(Graph&, ElementType to, ExprId);
// double if either is double, else float if either is float or half, else u32 if either is u32, else i32.
ElementType promote(ElementType, ElementType);

// Any operation whose operands follow the usual promotion; comparisons give boolean, min/max/arithmetic the promoted
// type. Shifts have the promoted type of their left operand alone. rem of floats is fmod. bit operations, eq and ne of
// two booleans stay boolean. Functions of floats (sqrt, exp, pow ...) take integers as float. abs, neg, min, max, floor
// ... of integers stay integer (floor, ceil, round, trunc of an integer are the integer).
ExprId unary(Graph&, Op, ExprId);
ExprId binary(Graph&, Op, ExprId, ExprId);
ExprId truth(Graph&, ExprId);                                 // boolean: e != 0
ExprId select(Graph&, ExprId condition, ExprId a, ExprId b);  // condition of any type, a and b promoted
ExprId access(Graph&, StageId, std::vector<Index>, std::vector<Border>);
ExprId gather(Graph&, StageId, std::vector<ExprId> indices);  // indices of any type, converted to i32
ExprId lookup(Graph&, std::size_t table, std::vector<ExprId> indices);
// Promotes the body (u8 sums in i32). Throws Error(compile) for an empty range or more than max_window points, of which
// those of extents known at run time are not counted.
ExprId reduce(Graph&, Op, std::vector<Var>, ExprId body);
// The element of a rank (of any type, converted to i32), from below: reduce_rank.
ExprId reduce_rank(Graph&, std::vector<Var>, ExprId body, ExprId rank);
// The value that goes along with the least key of those that are taken: reduce_pick. Key and value are promoted.
ExprId reduce_pick(Graph&, std::vector<Var>, ExprId key, ExprId taken, ExprId value);
// Over 0 .. extent - 1.
Var variable_over(Graph&, SizeId extent);
constexpr i64 max_window = i64{1} << 24;
constexpr i64 max_offset = i64{1} << 30;  // offsets, scales, coefficients and bounds of variables, in magnitude

// A well-formed node, simplified where that is exact in every bit: constant operands, x*1, 0+i, selections by a
// constant. For rewriting: rewrite(g, e, [&](ExprId, const ExprNode& n) { ...; return fold(g, n); }).
ExprId fold(Graph&, ExprNode);
// The expression with reduction variables replaced by values, in offsets and indices too.
ExprId substitute(Graph&, ExprId, const std::vector<std::pair<std::uint32_t, i64>>& values);
// The operation of two operands that a reduction repeats: add for a sum, bit_or for any. Median, rank and pick have
// none: Error(internal).
Op step_of(Op reduction);
// A reduction that repeats an operation, written out in the interpreter's order; at most `limit` terms, else nothing.
std::optional<ExprId> unroll(Graph&, ExprId reduction, i64 limit);

// The least and the largest value of an integer or boolean type.
struct IntegerLimits {
  double lo, hi;
};
IntegerLimits integer_limits(ElementType);

// The constant value of an expression, when it is one.
std::optional<double> constant_value(const Graph&, ExprId);

// Whether every value of `from` is a value of `to`.
bool embeds(ElementType from, ElementType to);

// Evaluates one operation on constant operands, exactly as the interpreter does (f32 results are rounded to float).
// Integers travel as doubles (32 bits fit). Operands have their node types.
// For the operations from convert to select in TESSERA_OPS; operand_type is that of the last operand.
double evaluate(Op, ElementType type, ElementType operand_type, const double* operands);

}  // namespace tessera::ir
