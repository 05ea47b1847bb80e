// Images as the interpreter has them, whole or point by point, and how it goes over them.
#pragma once

#include <functional>
#include <limits>
#include <unordered_map>
#include <vector>

#include "tessera/array.hpp"

namespace tessera::ref {

struct Element {
  double value = 0, size = 0;
};

struct Image {
  Shape shape;
  std::vector<double> values, sizes;  // sizes: where they are wanted
  // Of single points: what gives one, and those that are known.
  std::function<Element(i64)> make;
  mutable std::unordered_map<i64, Element> known;

  Element element(i64 flat) const {
    const auto [at, fresh] = known.try_emplace(flat);
    if (!fresh) return at->second;
    const Element made = make(flat);  // which may ask for others
    return known[flat] = made;
  }
  double value(i64 flat) const { return make ? element(flat).value : values[static_cast<std::size_t>(flat)]; }
  double size(i64 flat) const { return make ? element(flat).size : sizes[static_cast<std::size_t>(flat)]; }
};

// Advances a multi-index inside [lo, hi); false after the last one.
inline bool next(std::vector<i64>& i, const std::vector<i64>& lo, const std::vector<i64>& hi) {
  for (std::size_t d = i.size(); d-- > 0;) {
    if (++i[d] < hi[d]) return true;
    i[d] = lo[d];
  }
  return false;
}

inline bool empty_box(const std::vector<i64>& lo, const std::vector<i64>& hi) {
  for (std::size_t d = 0; d < lo.size(); ++d)
    if (lo[d] >= hi[d]) return true;
  return false;
}

inline std::vector<i64> unflat(const Shape& shape, i64 at) {
  std::vector<i64> i(shape.size());
  for (std::size_t d = shape.size(); d-- > 0; at /= shape[d]) i[d] = at % shape[d];
  return i;
}

inline i64 flat(const Shape& shape, const std::vector<i64>& i) {
  i64 at = 0;
  for (std::size_t d = 0; d < shape.size(); ++d) at = at * shape[d] + i[d];
  return at;
}

// Of NaNs that are computed: which one comes of an operation is the business of processors and compilers.
constexpr double one_nan = std::numeric_limits<double>::quiet_NaN();

}  // namespace tessera::ref
