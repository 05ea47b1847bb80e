// Elements of a rank, medians among them, as networks of minima and maxima, or as searches; see median.cpp.
#pragma once

#include <optional>
#include <vector>

#include "ir/build.hpp"

namespace tessera::rewrite {

// The terms of a median or of a rank, its variables replaced by numbers.
struct RankTerms {
  std::vector<ir::ExprId> terms;  // without those that are known to come behind the wanted one
  std::optional<i64> rank;        // of the wanted one; nothing where it is known at the point alone
};
RankTerms rank_terms(ir::Graph&, const ir::ExprNode& reduction);

// The element of a rank, 0 the least one, of terms that are values at a point of a stage of so many dimensions.
ir::ExprId rank_network(ir::Graph&, ElementType type, std::size_t dimensions, const std::vector<ir::ExprId>& terms,
                        std::size_t rank);

// The same of a rank that is a value; it is clamped.
ir::ExprId rank_choice(ir::Graph&, ElementType type, std::size_t dimensions, const std::vector<ir::ExprId>& terms,
                       ir::ExprId rank);

// The same of a reduction of any size, its body evaluated in a loop for every bit of the result.
ir::ExprId rank_search(ir::Graph&, const ir::ExprNode& reduction);

// Windows of more terms are searched: a network grows with n log^2 n, and the text with it.
i64 most_network_terms(ElementType of_values);

// Between which values an expression of integers is, as far as its types and constants say.
ir::IntegerLimits values_of(const ir::Graph&, ir::ExprId);

}  // namespace tessera::rewrite
