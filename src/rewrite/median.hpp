// Medians as networks of minima and maxima, or as searches; see median.cpp.
#pragma once

#include <vector>

#include "ir/graph.hpp"

namespace tessera::rewrite {

// The element of rank (n-1)/2 of the terms, which are values at a point of a stage of the given rank.
ir::ExprId median_network(ir::Graph&, ElementType type, std::size_t rank, const std::vector<ir::ExprId>& terms);

// The same of a reduction of any size, its body evaluated in a loop for every bit of the result.
ir::ExprId median_search(ir::Graph&, const ir::ExprNode& reduction);

// Windows of more terms are searched: a network grows with n log^2 n, and the text with it.
i64 most_network_terms(ElementType of_values);

}  // namespace tessera::rewrite
