// A weighted sum that is taken one dimension at a time, seen as one: a chain of stages, each a sum along a dimension of
// its own of the stage before. What separable.cpp makes of a Gaussian, or what is written so.
//
// Devices compute such a chain by one kernel that goes through the source once (lower/ways/chain/chain.hpp). The order
// of the dimensions is then another one. That changes no integer, and floats in `fast` numbers only.
#pragma once

#include <optional>
#include <vector>

#include "ir/graph.hpp"
#include "tessera/options.hpp"

namespace tessera::rewrite {

struct SumChain {
  // Along a dimension: weights from offset lo on.
  struct Along {
    i64 lo = 0;
    std::vector<double> weights{1};
    BorderMode border = BorderMode::clamp;
    i64 hi() const { return lo + static_cast<i64>(weights.size()) - 1; }
  };
  ir::StageId source = 0, last = 0;
  ir::ExprId sum;                // in the body of the last stage, which may compute more from it
  std::vector<Along> along;      // per dimension
  std::optional<double> before;  // what the source is beside its edges, where a border is constant
  // Of integers: what no sum of some of the products exceeds. 0 of floats.
  double most = 0;
};

// Does a thread of a device have registers for the sums that wait, and a block shared memory for halos?
bool fits_device(const SumChain&);

// Of stages in topological order; nothing where they are no such chain of two stages or more. What else reads them is
// not asked.
std::optional<SumChain> sum_chain(const ir::Graph&, Numbers, const std::vector<ir::StageId>&);

}  // namespace tessera::rewrite
