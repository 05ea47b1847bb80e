// SHA-256 (FIPS 180-4), for names of cache entries: strong enough that two different programs never share a name.
// About 250 MB/s in plain C++, far beyond what names need.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace tessera::base {

using Digest = std::array<std::uint8_t, 32>;
std::string to_hex(const Digest&);

class Hasher {
 public:
  Hasher();
  // Raw bytes, as the standard says.
  Hasher& bytes(std::span<const std::byte>);
  // Length, then bytes: "ab","c" and "a","bc" differ.
  Hasher& text(std::string_view);
  Hasher& number(std::int64_t);
  Digest finish();  // once

 private:
  void block(const std::uint8_t* data);
  std::array<std::uint32_t, 8> state_;
  std::array<std::uint8_t, 64> pending_;
  std::size_t pending_size_ = 0;
  std::uint64_t total_ = 0;
};

}  // namespace tessera::base
