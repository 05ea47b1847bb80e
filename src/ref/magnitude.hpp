// In what the errors of sums of floats are measured: sum |w| |x| over all that a value comes of.
#pragma once

#include <optional>
#include <vector>

#include "ir/graph.hpp"

namespace tessera::ref {

// Per stage the largest that sum |w| |x| can be at a point, where no |x| of argument k is above most[k]. Nothing for
// stages that are, or come of, more than sums, products, least and greatest values and quotients by known numbers. The
// graph must be well formed.
std::vector<std::optional<double>> magnitudes(const ir::Graph&, const std::vector<i64>& parameters,
                                              const std::vector<double>& most);

}  // namespace tessera::ref
