// Numbers of files; see numbers.hpp.
#include "io/formats/numbers.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <cstring>
#include <utility>

#include "io/load.hpp"

namespace tessera::io {
namespace {

template <class From, class To>
std::optional<std::size_t> place_as(const std::byte* from, std::byte* to, std::size_t count, bool swapped) {
  for (std::size_t i = 0; i < count; ++i) {
    const From value = load<From>(from + i * sizeof(From), swapped);
    if constexpr (sizeof(From) > sizeof(To)) {
      if (!std::in_range<To>(value)) return i;
    }
    const To result = static_cast<To>(value);
    std::memcpy(to + i * sizeof(To), &result, sizeof(To));
  }
  return std::nullopt;
}

}  // namespace

ElementType FileNumber::type() const {
  if (kind == 'f') return size == 8 ? ElementType::f64 : size == 4 ? ElementType::f32 : ElementType::f16;
  const bool is_signed = kind == 'i';
  if (size == 1) return is_signed ? ElementType::i16 : ElementType::u8;
  if (size == 2) return is_signed ? ElementType::i16 : ElementType::u16;
  return is_signed ? ElementType::i32 : ElementType::u32;
}

std::optional<std::size_t> place_numbers(const FileNumber& n, const std::byte* from, std::byte* to, std::size_t count) {
  if (n.is_native()) {
    std::memcpy(to, from, count * n.size);
    return std::nullopt;
  }
  if (n.kind == 'i' && n.size == 1) return place_as<std::int8_t, std::int16_t>(from, to, count, false);
  if (n.kind == 'i' && n.size == 8) return place_as<std::int64_t, std::int32_t>(from, to, count, n.swapped);
  if (n.kind == 'u' && n.size == 8) return place_as<std::uint64_t, std::uint32_t>(from, to, count, n.swapped);
  if (n.size == 2) return place_as<std::uint16_t, std::uint16_t>(from, to, count, n.swapped);
  if (n.size == 4) return place_as<std::uint32_t, std::uint32_t>(from, to, count, n.swapped);
  return place_as<std::uint64_t, std::uint64_t>(from, to, count, n.swapped);
}

std::string unfitting(const FileNumber& n, const std::byte* at) {
  return n.kind == 'i' ? fmt::format("is {}, which does not fit 32 bits", load<std::int64_t>(at, n.swapped))
                       : fmt::format("is {}, which does not fit 32 bits", load<std::uint64_t>(at, n.swapped));
}

FileNumber number_for(ElementType type) {
  if (type == ElementType::boolean) return {'u', 1};
  if (type == ElementType::f16) return {'f', size_of(ElementType::f32)};
  const bool is_signed = type == ElementType::i16 || type == ElementType::i32;
  return {is_float(type) ? 'f' : is_signed ? 'i' : 'u', size_of(type)};
}

}  // namespace tessera::io
