// Conversion of samples for writing; see samples.hpp.
#include "io/samples.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>

#include "data/half.hpp"

namespace tessera::io {
namespace {

struct Half {
  std::uint16_t bits;
};
struct Boolean {
  std::uint8_t byte;
};

template <class T>
constexpr bool is_integer = std::is_integral_v<T>;

// Calls f with a null pointer of the C++ type that stores `type`.
template <class F>
void with_type(ElementType type, F&& f) {
  switch (type) {
    case ElementType::boolean:
      return f(static_cast<Boolean*>(nullptr));
    case ElementType::u8:
      return f(static_cast<std::uint8_t*>(nullptr));
    case ElementType::i16:
      return f(static_cast<std::int16_t*>(nullptr));
    case ElementType::u16:
      return f(static_cast<std::uint16_t*>(nullptr));
    case ElementType::i32:
      return f(static_cast<std::int32_t*>(nullptr));
    case ElementType::u32:
      return f(static_cast<std::uint32_t*>(nullptr));
    case ElementType::f16:
      return f(static_cast<Half*>(nullptr));
    case ElementType::f32:
      return f(static_cast<float*>(nullptr));
    case ElementType::f64:
      return f(static_cast<double*>(nullptr));
  }
}

// Every element type but half and boolean is a subset of double.
template <class From>
double value_of(From v) {
  if constexpr (std::is_same_v<From, Half>) {
    return half_to_float(v.bits);
  } else if constexpr (std::is_same_v<From, Boolean>) {
    return v.byte != 0 ? 1 : 0;
  } else {
    return static_cast<double>(v);
  }
}

template <class To, class From>
To convert_one(From from, i64& saturated) {
  if constexpr (std::is_same_v<To, From>) {
    return from;
  } else if constexpr (std::is_same_v<To, Half>) {
    return Half{double_to_half(value_of(from))};
  } else if constexpr (std::is_same_v<To, Boolean>) {
    return Boolean{static_cast<std::uint8_t>(value_of(from) != 0 ? 1 : 0)};
  } else if constexpr (std::is_floating_point_v<To>) {
    return static_cast<To>(value_of(from));
  } else if constexpr (std::is_same_v<From, Boolean>) {
    return from.byte != 0 ? std::numeric_limits<To>::max() : To{0};
  } else {
    constexpr double lowest = static_cast<double>(std::numeric_limits<To>::min());
    constexpr double highest = static_cast<double>(std::numeric_limits<To>::max());
    // Adding and taking away 1.5 * 2^52 rounds a double of this range half to even.
    constexpr double magic = 0x1.8p52;
    const double v = value_of(from);
    const double near = v > lowest - 1 ? (v < highest + 1 ? v : highest + 1) : lowest - 1;  // NaN: lowest - 1
    const double rounded = (near + magic) - magic;
    if (rounded >= lowest && rounded <= highest) return static_cast<To>(rounded);
    ++saturated;
    if (v != v) return To{0};
    return rounded < lowest ? std::numeric_limits<To>::min() : std::numeric_limits<To>::max();
  }
}

// Steps are in bytes. Through memcpy, since a field of a foreign struct may stand anywhere.
i64 convert_line(std::byte* to, ElementType to_type, i64 to_step, const std::byte* from, ElementType from_type,
                 i64 from_step, i64 count) {
  i64 saturated = 0;
  with_type(to_type, [&](auto* to_tag) {
    using To = std::remove_pointer_t<decltype(to_tag)>;
    with_type(from_type, [&](auto* from_tag) {
      using From = std::remove_pointer_t<decltype(from_tag)>;
      i64 clamped = 0;
      for (i64 i = 0; i < count; ++i) {
        From source;
        std::memcpy(&source, from + i * from_step, sizeof source);
        const To result = convert_one<To>(source, clamped);
        std::memcpy(to + i * to_step, &result, sizeof result);
      }
      saturated = clamped;
    });
  });
  return saturated;
}

}  // namespace

Array converted(const Array& array, ElementType to, i64& saturated) {
  const Format& format = array.format();
  const i64 count = array.count();
  const i64 fields = format.is_struct() ? static_cast<i64>(format.fields.size()) : 1;
  const i64 from_step = static_cast<i64>(format.size());
  const i64 to_size = static_cast<i64>(size_of(to));

  const Array source = array.contiguous() ? array : array.clone();
  bool same = from_step == fields * to_size;
  for (const Format::Field& f : format.fields) same = same && f.type == to;
  if (!format.is_struct()) same = format.scalar == to;
  if (same) {
    return Array::share(source.owner(), source.data(), to, {count * fields});
  }
  Array out(to, {count * fields});
  auto* target = static_cast<std::byte*>(out.data());
  const auto* begin = static_cast<const std::byte*>(source.data());
  for (i64 k = 0; k < fields; ++k) {
    const ElementType type = format.is_struct() ? format.fields[k].type : format.scalar;
    const i64 offset = format.is_struct() ? static_cast<i64>(format.fields[k].offset) : 0;
    saturated += convert_line(target + k * to_size, to, fields * to_size, begin + offset, type, from_step, count);
  }
  return out;
}

namespace {

// The type of all elements; nothing where fields differ.
std::optional<ElementType> type_of(const Format& format) {
  if (!format.is_struct()) return format.scalar;
  for (const Format::Field& f : format.fields)
    if (f.type != format.fields[0].type) return std::nullopt;
  return format.fields[0].type;
}

double largest_of(ElementType type) {
  return type == ElementType::u8 ? 255 : type == ElementType::u16 ? 65535 : 1;
}

}  // namespace

int alpha_of(const std::vector<std::string>& names) {
  for (std::size_t k = 1; k < names.size(); ++k)
    if (names[k] == "a" || names[k] == "alpha") return static_cast<int>(k);
  return -1;
}

void divide_by_alpha(Samples& s, const Array& array, int alpha) {
  // Numbers that the file's type does not hold are divided before they are rounded.
  const std::optional<ElementType> own = type_of(array.format());
  const bool narrow = own == ElementType::u8 && s.type == ElementType::u16;
  const bool held = own == s.type || own == ElementType::boolean || narrow;
  const ElementType through = held ? s.type : ElementType::f64;
  const double opaque = largest_of(narrow ? ElementType::u8 : s.type);
  i64 clamped = 0;
  const Array values = converted(array, through, clamped);
  const i64 count = values.count();
  Array out(s.type, {count});
  with_type(through, [&](auto* from_tag) {
    using From = std::remove_pointer_t<decltype(from_tag)>;
    with_type(s.type, [&](auto* to_tag) {
      using To = std::remove_pointer_t<decltype(to_tag)>;
      const auto* from = reinterpret_cast<const From*>(values.data());
      auto* to = reinterpret_cast<To*>(out.data());
      for (i64 i = 0; i < count; i += s.channels) {
        const double share = value_of(from[i + alpha]);
        for (i64 k = 0; k < s.channels; ++k) {
          const double value = value_of(from[i + k]);
          to[i + k] = convert_one<To>(k == alpha ? value : share > 0 ? value * opaque / share : 0.0, clamped);
        }
      }
    });
  });
  s.saturated += clamped;
  s.associated_alpha = false;
  s.memory = std::move(out);
  s.data = static_cast<const std::byte*>(s.memory.data());
}

namespace {

template <class T>
void clamp_values(Samples& s, i64 largest) {
  const auto* from = reinterpret_cast<const T*>(s.data);
  const auto is_above = [&](T v) { return static_cast<i64>(v) > largest; };
  const auto above = std::count_if(from, from + s.values(), is_above);
  if (above == 0) return;
  Array changed(s.type, {s.values()});  // the memory may be the caller's
  std::replace_copy_if(from, from + s.values(), changed.as<T>(), is_above, static_cast<T>(largest));
  s.saturated += above;
  s.memory = changed;
  s.data = static_cast<const std::byte*>(s.memory.data());
}

}  // namespace

void clamp_above(Samples& s, i64 largest) {
  if (s.type == ElementType::u8) clamp_values<std::uint8_t>(s, largest);
  if (s.type == ElementType::u16) clamp_values<std::uint16_t>(s, largest);
}

}  // namespace tessera::io
