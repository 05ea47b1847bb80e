// See element.hpp.
#include "data/element.hpp"

#include <cstdint>
#include <cstring>

#include "data/half.hpp"

namespace tessera {

namespace {

template <class T>
T load_as(const std::byte* p) {
  T v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
template <class T>
void store_as(std::byte* p, T v) {
  std::memcpy(p, &v, sizeof v);
}

}  // namespace

double load_element(ElementType t, const std::byte* p) {
  switch (t) {
    case ElementType::boolean:
      return load_as<std::uint8_t>(p) != 0;
    case ElementType::u8:
      return load_as<std::uint8_t>(p);
    case ElementType::i16:
      return load_as<std::int16_t>(p);
    case ElementType::u16:
      return load_as<std::uint16_t>(p);
    case ElementType::i32:
      return load_as<std::int32_t>(p);
    case ElementType::u32:
      return load_as<std::uint32_t>(p);
    case ElementType::f16:
      return half_to_float(load_as<std::uint16_t>(p));
    case ElementType::f32:
      return load_as<float>(p);
    case ElementType::f64:
      return load_as<double>(p);
  }
  return 0;
}

void store_element(ElementType t, std::byte* p, double v) {
  switch (t) {
    case ElementType::boolean:
    case ElementType::u8:
      return store_as(p, static_cast<std::uint8_t>(v));
    case ElementType::i16:
      return store_as(p, static_cast<std::int16_t>(v));
    case ElementType::u16:
      return store_as(p, static_cast<std::uint16_t>(v));
    case ElementType::i32:
      return store_as(p, static_cast<std::int32_t>(v));
    case ElementType::u32:
      return store_as(p, static_cast<std::uint32_t>(v));
    case ElementType::f16:
      return store_as(p, double_to_half(v));
    case ElementType::f32:
      return store_as(p, static_cast<float>(v));
    case ElementType::f64:
      return store_as(p, v);
  }
}

}  // namespace tessera
