// Index maps of the border modes. Mirror repeats with period 2(n-1), symmetric with 2n, wrap with n: one modulo brings
// any index into the first period, a reflection into the array.
#include "data/border.hpp"

#include <fmt/format.h>

#include <cmath>
#include <utility>

namespace tessera {
namespace {

std::pair<double, double> limits_of(ElementType type) {
  switch (type) {
    case ElementType::boolean:
      return {0, 1};
    case ElementType::u8:
      return {0, 255};
    case ElementType::i16:
      return {-32768, 32767};
    case ElementType::u16:
      return {0, 65535};
    case ElementType::i32:
      return {-2147483648.0, 2147483647.0};
    case ElementType::u32:
      return {0, 4294967295.0};
    case ElementType::f16:
      return {-65504, 65504};
    case ElementType::f32:
      return {-3.4028234663852886e38, 3.4028234663852886e38};
    case ElementType::f64:
      return {-1.7976931348623157e308, 1.7976931348623157e308};
  }
  return {0, 0};
}

// i modulo n in [0, n), for any sign of i.
i64 floor_mod(i64 i, i64 n) {
  const i64 r = i % n;
  return r < 0 ? r + n : r;
}

}  // namespace

std::string_view name_of(BorderMode mode) {
  switch (mode) {
    case BorderMode::none:
      return "none";
    case BorderMode::clamp:
      return "clamped";
    case BorderMode::mirror:
      return "mirror";
    case BorderMode::symmetric:
      return "symmetric";
    case BorderMode::wrap:
      return "wrap";
    case BorderMode::constant:
      return "constant";
  }
  return "none";
}

i64 map_index(BorderMode mode, i64 i, i64 n) {
  if (i >= 0 && i < n) return i;
  switch (mode) {
    case BorderMode::none:
    case BorderMode::constant:
      return -1;
    case BorderMode::clamp:
      return i < 0 ? 0 : n - 1;
    case BorderMode::wrap:
      return floor_mod(i, n);
    case BorderMode::mirror: {
      if (n == 1) return 0;
      const i64 period = 2 * (n - 1);
      const i64 k = floor_mod(i, period);
      return k < n ? k : period - k;
    }
    case BorderMode::symmetric: {
      const i64 k = floor_mod(i, 2 * n);
      return k < n ? k : 2 * n - 1 - k;
    }
  }
  return -1;
}

bool continues(ElementType type, double value) {
  const auto [least, most] = limits_of(type);
  return value >= least && value <= most && (is_float(type) || value == std::floor(value));
}

std::string expected_constant(ElementType type) {
  const auto [least, most] = limits_of(type);
  return is_float(type) ? fmt::format("expected a finite number, at most {:.5g}", most)
                        : fmt::format("expected a whole number from {:.0f} to {:.0f}", least, most);
}

}  // namespace tessera
