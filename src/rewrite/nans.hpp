// What is no number: where expressions may be it, what medians make of it, and with which bits it is stored.
#pragma once

#include "ir/graph.hpp"

namespace tessera::rewrite {

// Is the value a number, or an infinity, whatever the inputs hold? Of integers always.
bool surely_number(const ir::Graph&, ir::ExprId);

// Medians of floats become NaN where an element is one: networks of minima and maxima, and searches, know no NaN.
void guard_medians(ir::Graph&);

// Outputs hold NaNs with the bits of one alone, 0x7fc00000 of floats: which one comes of an operation, and with which
// sign, is the business of processors and compilers. What is copied from an input into a composition stays as it is.
void unify_nans(ir::Graph&);

}  // namespace tessera::rewrite
