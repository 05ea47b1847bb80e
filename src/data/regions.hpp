// Extents of a region.
#pragma once

#include "tessera/array.hpp"
#include "tessera/options.hpp"

namespace tessera::data {

inline Shape shape_of(const Region& region) {
  Shape shape;
  for (std::size_t d = 0; d < region.begin.size(); ++d) shape.push_back(region.end[d] - region.begin[d]);
  return shape;
}

inline Region all_of(const Shape& shape) {
  return {std::vector<i64>(shape.size()), shape};
}

}  // namespace tessera::data
