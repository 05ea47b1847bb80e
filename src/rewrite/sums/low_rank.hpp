// Weights as sums of few outer products; see low_rank.cpp.
#pragma once

#include <optional>
#include <vector>

#include "rewrite/sums/weights.hpp"

namespace tessera::rewrite {

// What the products leave over, added up without signs, of all weights: of floats, and of doubles.
constexpr double dropped_of_floats = 1e-7, dropped_of_doubles = 1e-14;
constexpr std::size_t most_products = 16;

// Products, at most `most` that differ in the first dimension, whose factors belong to the dimensions of `order`, in
// that order; where the last two or three do not split among themselves, one factor belongs to all of them. Integers
// exactly. Nothing where more are needed. `finite`: the image holds no NaN and no infinity; else zeros among the
// weights have to be zeros of every product, so that what is not finite reaches no farther than the weights.
std::optional<std::vector<Product>> low_rank(const Tensor&, ElementType, const std::vector<std::size_t>& order,
                                             std::size_t most, bool finite);

// Whether the products have fewer terms in all than there are weights; zeros are neither.
bool have_fewer_terms(const std::vector<Product>&, const Tensor&);

}  // namespace tessera::rewrite
