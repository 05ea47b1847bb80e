// The text of a direct convolution of any rank that computes a block of results an item, from one description, for
// OpenCL, CUDA and C with vectors.
//
// After the document "efficient convolution of multi-dimensional data": every element of the input that an item needs
// is loaded once and added to every result of the block that it reaches. Axes without a block are loops, the last axis
// and those with one are written out. In C an item is a vector of adjacent results along the last axis, so that a block
// along that axis has vectors side by side, which share no element but the filter's weights.
#pragma once

#include <string>
#include <vector>

#include "tessera/array.hpp"

namespace tessera::published {

struct Blocking {
  std::vector<i64> extents;  // of the results, slowest first; the input has taps - 1 more along every axis
  i64 taps = 3;              // of the filter along every axis
  std::vector<i64> block;    // results of an item along every axis, in vectors along the last one
  i64 lanes = 1;             // of a vector
  std::vector<float> weights;

  std::size_t rank() const { return extents.size(); }
  i64 outputs() const { return element_count(block) * lanes; }
  i64 items(std::size_t axis) const;
};

enum class Dialect { device, c };

// A kernel `blocked(source, target, numbers)`, or a function `void blocked(const float*, float*)`. Blocks that reach
// over the end of an axis are moved back.
std::string blocked_text(const Blocking&, Dialect);
// Loads for one result of the block (one vector of results).
double loads_of(const Blocking&);
// The same convolution for Tessera: results at interior points, 0 around them.
std::string forma_text(const Blocking&);

}  // namespace tessera::published
