// What an expression can be at most and at least, whatever is read: by the types of what it is made of, by minima and
// maxima in it, by the ranges of reduction variables.
#pragma once

#include <vector>

#include "ir/graph.hpp"

namespace tessera::ir {

struct Interval {
  double lo = 0, hi = 0;  // infinite where nothing is known of a float
};

// `vars`: of the reductions around the expression.
Interval interval_of(const Graph&, ExprId, const std::vector<Var>& vars);

}  // namespace tessera::ir
