// Typed expression building: the language's promotion rules in one place, used by the front end and the C++ pipeline
// builder, with constant folding that is exact (what the interpreter would compute).
#pragma once

#include "ir/graph.hpp"

namespace tessera::ir {

ExprId constant(Graph&, ElementType, double value);
ExprId convert(Graph&, ElementType to, ExprId);
ExprId saturate(Graph&, ElementType to, ExprId);
// double if either is double, else float if either is float or half, else u32 if either is u32, else i32.
ElementType promote(ElementType, ElementType);

// Any operation whose operands follow the usual promotion; comparisons give boolean, min/max/arithmetic the promoted type.
// Functions of floats (sqrt, exp, pow ...) take integers as float. abs, neg, min, max, floor ... of integers stay integer
// (floor, ceil, round, trunc of an integer are the integer).
ExprId unary(Graph&, Op, ExprId);
ExprId binary(Graph&, Op, ExprId, ExprId);
ExprId truth(Graph&, ExprId);                     // boolean: e != 0
ExprId select(Graph&, ExprId condition, ExprId a, ExprId b);  // condition of any type, a and b promoted
ExprId access(Graph&, StageId, std::vector<Index>, std::vector<Border>);
ExprId reduce(Graph&, Op, std::vector<Var>, ExprId body);     // promotes the body (u8 sums in i32)

// The constant value of an expression, when it is one.
std::optional<double> constant_value(const Graph&, ExprId);

// Evaluates one operation on constant operands, exactly as the interpreter does (f32 results are rounded to float).
// Integers travel as doubles (32 bits fit). Operands have their node types.
double evaluate(Op, ElementType type, ElementType operand_type, const double* operands);

}  // namespace tessera::ir
