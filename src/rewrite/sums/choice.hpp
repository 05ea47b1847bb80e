// The ways to take a weighted sum that were priced, and the one that was taken: for `explain`.
#pragma once

#include <string>
#include <vector>

#include "tessera/array.hpp"
#include "tessera/options.hpp"

namespace tessera::rewrite {

// A weighted sum of one image, and how it is taken.
struct SumChoice {
  std::string stage;
  std::vector<i64> extents;  // of the weights
  Method taken = Method::direct;
  std::size_t rank = 1;  // low_rank: outer products
  struct Price {
    Method method;
    double nanoseconds;  // a point on one core, predicted
  };
  std::vector<Price> prices;  // of the methods that apply; none of sums of few terms
  std::string refusal;        // why the method that was asked for does not apply; "" where it does
};

// The name that `--method` knows.
const char* name_of(Method);

}  // namespace tessera::rewrite
