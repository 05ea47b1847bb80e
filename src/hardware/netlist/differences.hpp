// Linear functions under constraints between two variables: lags of stages, clocks of registers.
//
//   minimise  sum_v cost_v * x_v   where  x_to - x_from >= least  for every constraint
//
// The costs add up to 0, so that only differences matter. The dual is a flow: constraints are arcs that carry any
// amount, a variable of negative cost sends what it costs, one of positive cost takes it, and the sum of least * flow
// is to be as large as it can be. The best x are whole numbers, since all numbers of the constraints are.
// Ahuja, Magnanti, Orlin, Network Flows (1993), chapters 9 and 11.
#pragma once

#include <optional>
#include <vector>

#include "tessera/array.hpp"

namespace tessera::hardware {

struct Difference {
  std::size_t from = 0, to = 0;
  i64 least = 0;
};

// One best x, its smallest element 0. Nothing where the constraints contradict each other or the function has no least
// value (a variable of negative cost from which no constraint leads to one of positive cost).
std::optional<std::vector<i64>> minimise_differences(const std::vector<i64>& cost,
                                                     const std::vector<Difference>& constraints);

}  // namespace tessera::hardware
