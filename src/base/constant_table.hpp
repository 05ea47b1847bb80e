// A constant array that compiled code names and that does not stand in its text: numbers that are many, of which a
// compiler would make nothing but the same bytes again.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace tessera::base {

struct ConstantTable {
  static constexpr std::size_t alignment = 64;  // of the bytes

  std::string name;  // of the symbol
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;  // of the bytes, which nobody changes any more
};

}  // namespace tessera::base
