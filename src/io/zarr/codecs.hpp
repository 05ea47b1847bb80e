// How the elements of a chunk become the bytes of a file, and back: put in another order of dimensions, in another byte
// order, packed by one codec of bytes after the other.
//
// Bytes are of strangers. Nothing is unpacked beyond what the chunk's extents ask for, and what comes out shorter or
// longer is an Error(io) with the file's name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tessera/array.hpp"

namespace tessera::io::zarr {

// From bytes to bytes.
struct ByteCodec {
  enum class Kind { gzip, zlib, zstd, blosc, crc32c };
  Kind kind = Kind::zstd;
  int level = 0;
  bool checksum = false;           // of zstd
  std::string compressor = "lz4";  // of blosc; in reading the bytes say it
  int shuffle = 1, type_size = 1;  // of blosc: 0 none, 1 bytes, 2 bits
  bool operator==(const ByteCodec&) const = default;
};

struct Chain {
  std::vector<int> order = {};          // dimension i of the file is dimension order[i] of the chunk; empty: as there
  bool swapped = false;                 // numbers stand in the other byte order
  std::vector<ByteCodec> packing = {};  // in the order in which writing applies them
  bool operator==(const Chain&) const = default;
};

// Bytes that a file of a chunk may have, whose elements take `bytes`; more is damage.
i64 most_stored(const Chain&, i64 bytes);
// The same for what decode() takes beside its result.
i64 beside_decoding(const Chain&, i64 bytes);

// Fills `to` with the elements of a chunk of this shape in C order, as this machine has them. `path`: for errors.
void decode(const Chain&, ElementType, const Shape&, std::span<const std::byte> stored, std::span<std::byte> to,
            const std::string& path);
// What decode() does last, to elements that are in their place already: byte order, booleans of 0 and 1.
void make_native(const Chain&, ElementType, std::span<std::byte> elements);
// The converse of decode(). Throws Error(argument) for chunks beyond what a codec takes.
std::vector<std::byte> encode(const Chain&, ElementType, const Shape&, std::span<const std::byte> elements);

// The checksum of Castagnoli, as the codec crc32c has it.
std::uint32_t crc32c(std::span<const std::byte>);
// Of bytes with their checksum at the end, little endian: what is before it. Throws Error(io) where it does not agree.
std::span<const std::byte> without_checksum(std::span<const std::byte>, const std::string& path);

}  // namespace tessera::io::zarr
