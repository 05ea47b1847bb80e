// Run-time parameters from the shapes of the arguments: the M and N of `float img[M, N]`.
#pragma once

#include "ir/graph.hpp"

namespace tessera::ir {

// The value of every parameter of the graph. `shapes` holds one shape per argument; those of scalars are not looked at.
// A parameter is found from an extent that is affine in it alone (M, 2*M, M+1), or, failing that, from one that the
// known parameters reduce to this; then every extent of every argument is checked. An extent as M/2 checks a parameter
// but does not determine it. Throws Error(argument) when ranks or extents do not fit, a parameter stays unknown, or
// what the graph requires of extents does not hold.
std::vector<i64> bind_parameters(const Graph&, const std::vector<Shape>& shapes);

}  // namespace tessera::ir
