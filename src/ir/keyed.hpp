// Keyed reductions: every element of an image goes into the bin that its keys say. Histograms, votes, sums of regions.
//
// A program has two stages for one of them. The first has the domain of the elements; its body is one of into_*, whose
// operands are the value of an element, then for every dimension of the bins the key, i32, and the extent (`size`). It
// is no image, and nothing reads it but `bins`, the body of the second stage, whose domain are the bins. What computes
// values and keys is folded into the first stage as into any other.
//
// An element with a key outside of 0 ... extent - 1 goes nowhere. A bin without elements holds that with which it
// began.
//
//   into_sum    begins with 0. Integers are int or uint32 and wrap; floats are added in double
//   into_min,   begin with the largest (the least) value of the type, or infinity. They take an element that is less
//   into_max    (greater) than what they hold, so NaNs are passed over
//
// The order, which is the definition for every machine: dimension 0 of the elements, of at least two dimensions, is
// cut into pieces of equally many rows, `pieces_of` of them and the last ones shorter or empty; elements of one
// dimension are one piece. Every piece has bins of its own and takes its elements in the order of memory. What the
// pieces hold comes together in their order. How many there are depends on the bins alone: bins of all pieces together
// are to take little memory beside the image, and pieces enough keep all cores busy.
//
// Plans put `partial` for `bins` (rewrite/keyed.hpp): an element of the array that the first stage then is. Its extents
// are the pieces and, in one line, the bins and one more, which takes what goes nowhere.
#pragma once

#include <optional>
#include <vector>

#include "ir/graph.hpp"

namespace tessera::ir {

// A stage of elements, taken apart.
struct Keyed {
  Op op = Op::into_sum;
  ExprId value;
  std::vector<ExprId> keys;  // by dimension of the bins
  std::vector<SizeId> bins;  // their extents
};
std::optional<Keyed> keyed_of(const Graph&, const Stage&);
bool is_keyed(const Graph&, const Stage&);

// The most bins of one reduction: their numbers, and that of one more, are int.
constexpr i64 most_bins = (i64{1} << 31) - 2;

// One of into_*. The value has the type `keyed_operand` of it, keys are i32.
ExprId into(Graph&, const Keyed&);
// What the bins of a stage of elements hold, in the type that is asked for.
ExprId bins(Graph&, StageId elements, ElementType);
// Element `bin` of piece `piece` of what that stage is in a plan.
ExprId partial(Graph&, StageId elements, ExprId piece, ExprId bin);

// As which type a value is taken, and which one its bin has.
ElementType keyed_operand(Op, ElementType);
ElementType keyed_type(Op, ElementType);
// With what a bin begins.
double first_of_bin(Op, ElementType);
// The operation of two operands, the element first, by which a bin takes it.
Op step_of_bin(Op);
// May elements come in any order?
bool is_orderless(Op, ElementType);

// Bins as an extent, and as a number where it is one.
SizeId bins_of(Graph&, const Keyed&);
std::optional<i64> constant_bins(const Graph&, const Keyed&);
// Pieces that the elements are cut into.
i64 pieces_of(const Graph&, const Keyed&);
// The extents of the array that a stage of elements is in plans.
std::vector<SizeId> partial_extents(Graph&, const Keyed&);

}  // namespace tessera::ir
