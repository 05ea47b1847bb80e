// One plane in another scalar type, its shape kept; one value in another type.
#pragma once

#include <cmath>
#include <limits>
#include <optional>

#include "data/element.hpp"
#include "io/samples.hpp"

namespace tessera::cli {

// Rounds half to even and clamps on the way to integers and adds to `lost` how many values did not fit. Shares the
// memory of `plane` when nothing has to change.
inline Array in_type(const Array& plane, ElementType type, i64& lost) {
  const Array flat = io::converted(plane, type, lost);
  return Array::share(flat.owner(), flat.data(), type, plane.shape());
}

// The value as elements of this type have it: rounded, for floats; nothing for a value that none of them has.
inline std::optional<double> value_in_type(double value, ElementType type) {
  const auto within = [&](double least, double most) -> std::optional<double> {
    if (!(value >= least && value <= most) || value != std::floor(value)) return {};
    return value + 0.0;
  };
  switch (type) {
    case ElementType::boolean:
      return within(0, 1);
    case ElementType::u8:
      return within(0, 255);
    case ElementType::i16:
      return within(-32768, 32767);
    case ElementType::u16:
      return within(0, 65535);
    case ElementType::i32:
      return within(-2147483648.0, 2147483647.0);
    case ElementType::u32:
      return within(0, 4294967295.0);
    default:
      break;
  }
  std::byte element[8];
  store_element(type, element, value);
  const double own = load_element(type, element);
  return std::isfinite(value) && !std::isfinite(own) ? std::nullopt : std::optional(own);
}

}  // namespace tessera::cli
