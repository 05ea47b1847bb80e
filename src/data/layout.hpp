// Where the elements of arrays lie in memory, for copies and for tests of what overlaps. Strides are in bytes.
#pragma once

#include <cstddef>
#include <vector>

#include "tessera/array.hpp"

namespace tessera::data {

// Bytes of all elements side by side. Throws Error(argument) for a negative extent and for what no memory holds.
std::size_t byte_count(const Format&, const Shape&);

// The bytes that elements take, counted from the first element: `first` is negative where strides are. Nothing of an
// array without elements.
struct Span {
  i64 first = 0, last = 0;  // [first, last)
};
Span span_of(const Array&);

// Dimensions of two arrays of one shape, slowest first.
struct Walk {
  std::vector<i64> extents, to, from;
};
// Drops extents of 1 and joins neighbours that both sides walk without a gap between them, so that most copies end as
// one block and the rest have long inner lines.
Walk joined(const Shape&, const std::vector<i64>& to, const std::vector<i64>& from);

}  // namespace tessera::data
