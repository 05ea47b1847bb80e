// Numbers of files and of borrowed arrays, which may stand at any address and in the other byte order.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstring>

namespace tessera::io {

template <class T>
T load(const std::byte* p, bool swapped = false) {
  std::array<std::byte, sizeof(T)> raw;
  std::memcpy(raw.data(), p, sizeof(T));
  if (swapped) std::reverse(raw.begin(), raw.end());
  return std::bit_cast<T>(raw);
}

}  // namespace tessera::io
