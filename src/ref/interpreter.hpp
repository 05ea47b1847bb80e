// The oracle: what a graph means, in the plainest way. Every target, schedule and algorithm is tested against it.
#pragma once

#include "ir/graph.hpp"

namespace tessera::ref {

// How sums of floats (reduce_sum) are taken. One after the other in float is what they mean, and with a hundred
// thousand terms further from the true sum than what a transform gives: `once` adds in double and rounds at the end.
enum class Rounding { each, once };

// The outputs of the graph, owned, in order. `arguments` are arrays, and rank-0 arrays for scalars, in declaration
// order; `parameters` as ir::bind_parameters gives them. Throws Error(argument) when the arguments do not fit the
// graph, Error(cancelled) as the thread's base::Deadline says. The graph must be well formed. Thread-safe.
std::vector<Array> interpret(const ir::Graph&, const std::vector<i64>& parameters, const std::vector<Array>& arguments,
                             Rounding of_sums = Rounding::each);

}  // namespace tessera::ref
