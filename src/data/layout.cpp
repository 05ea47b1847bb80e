// See layout.hpp.
#include "data/layout.hpp"

#include <fmt/format.h>

#include <limits>

#include "tessera/error.hpp"

namespace tessera::data {

std::size_t byte_count(const Format& format, const Shape& shape) {
  constexpr i64 rounding = i64{2} << 20;  // of whoever allocates
  i64 bytes = 0;
  if (__builtin_mul_overflow(element_count(shape), static_cast<i64>(format.size()), &bytes) ||
      bytes > std::numeric_limits<i64>::max() - rounding)
    throw Error(ErrorClass::argument,
                fmt::format("an array of {} elements of {} does not fit in memory", to_string(shape), format.name()));
  return static_cast<std::size_t>(bytes);
}

Span span_of(const Array& a) {
  if (a.count() == 0) return {};
  Span result{0, static_cast<i64>(a.format().size())};
  for (std::size_t d = 0; d < a.shape().size(); ++d) {
    const i64 reach = (a.shape()[d] - 1) * a.strides()[d];
    (reach < 0 ? result.first : result.last) += reach;
  }
  return result;
}

Walk joined(const Shape& shape, const std::vector<i64>& to, const std::vector<i64>& from) {
  Walk walk;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 1) continue;
    if (!walk.extents.empty() && walk.to.back() == shape[d] * to[d] && walk.from.back() == shape[d] * from[d]) {
      walk.extents.back() *= shape[d];
      walk.to.back() = to[d];
      walk.from.back() = from[d];
    } else {
      walk.extents.push_back(shape[d]);
      walk.to.push_back(to[d]);
      walk.from.push_back(from[d]);
    }
  }
  return walk;
}

}  // namespace tessera::data
