// Values travel as doubles, which hold every element type.
#include "values.hpp"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "data/element.hpp"
#include "data/half.hpp"

namespace tessera::differential {
namespace {

template <class T>
T raw(const std::byte* p) {
  T v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
template <class T>
void put(std::byte* p, T v) {
  std::memcpy(p, &v, sizeof v);
}

double wild_float(Random& r, ElementType type) {
  constexpr double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  static constexpr std::array special = {
      0.0,     -0.0,    inf,           -inf,          nan,          1.0,          -1.0,   0.5,  -0.5,
      1.5,     2.5,     -2.5,          2147483647.0,  2147483648.0, 1e-42,        1e-320, 3e38, -3e38,
      65504.0, 65520.0, -2147483648.0, -2147483649.0, 4294967295.0, 4294967296.0, 255.5,  254.5};
  if (r.chance(15)) return r.pick(special);
  const double magnitude = std::exp2(static_cast<double>(r.between(-6, type == ElementType::f16 ? 10 : 12)));
  if (r.chance(30)) return std::floor((2 * r.unit() - 1) * magnitude) + (r.chance(30) ? 0.5 : 0.0);
  return (2 * r.unit() - 1) * magnitude;
}

double odd_float(Random& r) {
  constexpr double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  if (r.chance(12)) return nan;
  if (r.chance(6)) return r.chance(50) ? inf : -inf;
  if (r.chance(8)) return r.chance(50) ? 0.0 : -0.0;
  return static_cast<double>(r.between(-8, 8));
}

double value(ElementType type, Data data, Random& r) {
  switch (type) {
    case ElementType::boolean:
      return static_cast<double>(r.between(0, 1));
    case ElementType::u8:
      return static_cast<double>(r.between(0, 255));
    case ElementType::i16:
      return static_cast<double>(data == Data::wild ? r.between(-32768, 32767) : r.between(-200, 200));
    case ElementType::u16:
      return static_cast<double>(data == Data::wild ? r.between(0, 65535) : r.between(0, 300));
    case ElementType::i32:
      if (data != Data::wild) return static_cast<double>(r.between(-500, 500));
      if (r.chance(10)) return r.chance(50) ? -2147483648.0 : 2147483647.0;
      return static_cast<double>(r.chance(50) ? r.between(-2147483648LL, 2147483647LL) : r.between(-40, 40));
    case ElementType::u32:
      if (data != Data::wild) return static_cast<double>(r.between(0, 500));
      return static_cast<double>(r.chance(50) ? r.between(0, 4294967295LL) : r.between(0, 70));
    default:
      break;
  }
  if (data == Data::wild) return wild_float(r, type);
  if (data == Data::odd) return odd_float(r);
  if (data == Data::plain) return static_cast<double>(r.between(-8, 8));
  return 2 * r.unit() - 1;
}

template <class Fn>
void each_index(const Shape& shape, Fn fn) {
  for (i64 n : shape)
    if (n == 0) return;
  std::vector<i64> index(shape.size(), 0);
  for (;;) {
    if (!fn(index)) return;
    std::size_t d = index.size();
    while (d > 0 && ++index[d - 1] == shape[d - 1]) index[--d] = 0;
    if (d == 0) return;
  }
}

bool same(ElementType type, double a, double b, const Match& match, double scale) {
  if (!is_float(type)) return a == b;
  if (std::isnan(a) || std::isnan(b)) {
    if (!std::isnan(a) || !std::isnan(b)) return false;
    return !match.nans || std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
  }
  if (a == b) return !match.signed_zeros || std::signbit(a) == std::signbit(b);
  if (std::isinf(a) || std::isinf(b)) return false;
  return std::fabs(a - b) <= match.absolute + match.relative * scale;
}

}  // namespace

double load_value(ElementType type, const std::byte* p) {
  switch (type) {
    case ElementType::boolean:
    case ElementType::u8:
      return raw<std::uint8_t>(p);
    case ElementType::i16:
      return raw<std::int16_t>(p);
    case ElementType::u16:
      return raw<std::uint16_t>(p);
    case ElementType::i32:
      return raw<std::int32_t>(p);
    case ElementType::u32:
      return raw<std::uint32_t>(p);
    case ElementType::f16:
      return half_to_float(raw<std::uint16_t>(p));
    case ElementType::f32:
      return raw<float>(p);
    case ElementType::f64:
      return raw<double>(p);
  }
  return 0;
}

void store_value(ElementType type, std::byte* p, double v) {
  switch (type) {
    case ElementType::boolean:
    case ElementType::u8:
      return put(p, static_cast<std::uint8_t>(v));
    case ElementType::i16:
      return put(p, static_cast<std::int16_t>(v));
    case ElementType::u16:
      return put(p, static_cast<std::uint16_t>(v));
    case ElementType::i32:
      return put(p, static_cast<std::int32_t>(v));
    case ElementType::u32:
      return put(p, static_cast<std::uint32_t>(v));
    case ElementType::f16:
      return put(p, double_to_half(v));
    case ElementType::f32:
      return put(p, static_cast<float>(v));
    case ElementType::f64:
      return put(p, v);
  }
}

void fill(const ir::Argument& argument, const Array& a, Data data, Random& r) {
  fill(a, data, r);
  if (!argument.largest) return;
  std::byte* const element = a.as<std::byte>();
  const double given = std::abs(load_element(argument.format.scalar, element));
  store_element(argument.format.scalar, element, std::fmod(given, static_cast<double>(*argument.largest + 1)));
}

void fill(const Array& a, Data data, Random& r) {
  const Format& format = a.format();
  each_index(a.shape(), [&](const std::vector<i64>& index) {
    std::byte* p = a.at(index);
    if (!format.is_struct()) store_value(format.scalar, p, value(format.scalar, data, r));
    for (const Format::Field& f : format.fields) store_value(f.type, p + f.offset, value(f.type, data, r));
    return true;
  });
}

std::optional<std::string> difference(const Array& expected, const Array& got, const Match& match) {
  std::vector<Format::Field> fields = expected.format().fields;
  if (fields.empty()) fields.push_back({"", expected.format().scalar, 0});
  std::optional<std::string> first;
  i64 wrong = 0;
  each_index(expected.shape(), [&](const std::vector<i64>& index) {
    for (const Format::Field& f : fields) {
      const double a = load_value(f.type, expected.at(index) + f.offset),
                   b = load_value(f.type, got.at(index) + f.offset);
      const double scale = match.scale ? load_value(ElementType::f64, match.scale->at(index)) : std::fabs(a);
      if (same(f.type, a, b, match, scale)) continue;
      ++wrong;
      if (first) continue;
      std::string at;
      for (i64 i : index) at += (at.empty() ? "" : ", ") + std::to_string(i);
      first = fmt::format("[{}]{}{} of {} ({}): expected {:.9g}, got {:.9g}", at, f.name.empty() ? "" : ".", f.name,
                          to_string(expected.shape()), name_of(f.type), a, b);
    }
    return true;
  });
  if (first && wrong > 1) *first += fmt::format("; {} elements differ", wrong);
  return first;
}

}  // namespace tessera::differential
