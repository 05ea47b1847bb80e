// The oracle: what a graph means, in the plainest way. Every target, schedule and algorithm is tested against it.
#pragma once

#include "ir/graph.hpp"

namespace tessera::ref {

// The outputs of the graph, owned, in order. `arguments` are arrays, and rank-0 arrays for scalars, in declaration
// order; `parameters` as ir::bind_parameters gives them. Throws Error(argument) when the arguments do not fit the
// graph. The graph must be well formed. Thread-safe.
std::vector<Array> interpret(const ir::Graph&, const std::vector<i64>& parameters, const std::vector<Array>& arguments);

}  // namespace tessera::ref
