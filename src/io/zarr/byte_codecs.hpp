// Codecs from bytes to bytes, one at a time; codecs.hpp puts them together.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "io/zarr/codecs.hpp"

namespace tessera::io::zarr {

// Fills `to` from its begin and says how much came. More than it holds, damage and what follows the end are Error(io).
std::size_t unpack(const ByteCodec&, std::span<const std::byte> packed, std::span<std::byte> to,
                   const std::string& path);
std::vector<std::byte> pack(const ByteCodec&, std::span<const std::byte>);

}  // namespace tessera::io::zarr
