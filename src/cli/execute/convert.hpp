// One plane in another scalar type, its shape kept; one value in another type.
#pragma once

#include <cmath>
#include <limits>
#include <optional>

#include "data/element.hpp"
#include "io/samples.hpp"
#include "ir/build.hpp"

namespace tessera::cli {

// Rounds half to even and clamps on the way to integers and adds to `lost` how many values did not fit. Shares the
// memory of `plane` when nothing has to change.
inline Array in_type(const Array& plane, ElementType type, i64& lost) {
  const Array flat = io::converted(plane, type, lost);
  return Array::share(flat.owner(), flat.data(), type, plane.shape());
}

// What is white.
inline double largest_of(ElementType type) {
  return is_float(type) ? 1 : ir::integer_limits(type).hi;
}

// The value as elements of this type have it: rounded, for floats; nothing for a value that none of them has.
inline std::optional<double> value_in_type(double value, ElementType type) {
  if (!is_float(type)) {
    const auto [least, most] = ir::integer_limits(type);
    if (!(value >= least && value <= most) || value != std::floor(value)) return {};
    return value + 0.0;
  }
  std::byte element[8];
  store_element(type, element, value);
  const double own = load_element(type, element);
  return std::isfinite(value) && !std::isfinite(own) ? std::nullopt : std::optional(own);
}

}  // namespace tessera::cli
