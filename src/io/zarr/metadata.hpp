// What a Zarr array says of itself: .zarray of version 2, zarr.json of version 3, as one description.
// https://zarr-specs.readthedocs.io/en/latest/v3/core/index.html, .../v2/v2.0.html
//
// An array is cut into chunks, each a file. A chunk of version 3 may be a *shard*: it holds smaller chunks one behind
// the other and an index of them. A *unit* is what is decoded at once: a chunk, or one of the chunks in a shard.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/image.hpp"
#include "io/zarr/codecs.hpp"
#include "tessera/array.hpp"

namespace tessera::io::zarr {

struct Shards {
  // Dimension i of the shard, in whose order the index counts, is dimension order[i] of the array; empty: as there.
  std::vector<int> order = {};
  bool at_end = true;    // the index is
  bool swapped = false;  // its numbers stand in the other byte order
  bool checked = false;  // it has a checksum
};

struct ArrayMetadata {
  int version = 3;
  Shape shape, chunk;
  Shape unit;  // divides the chunk
  ElementType type = ElementType::u8;
  Chain chain;                          // of a unit
  std::optional<Shards> shards;         // nothing: the unit is the chunk
  std::vector<std::byte> fill;          // one element, of chunks that are not there
  bool prefixed = true;                 // names of chunks begin with a c
  char separator = '/';                 // of the numbers in them
  std::vector<std::string> names = {};  // of the dimensions, "" of one without; empty: not said
};

// Names of the files, in the folder of an array or a group.
inline constexpr std::string_view v3_file = "zarr.json";
inline constexpr std::string_view v2_array_file = ".zarray";
inline constexpr std::string_view v2_group_file = ".zgroup";
inline constexpr std::string_view v2_attributes_file = ".zattrs";

// The texts of these files. `path`: for errors. Of the options the limit of memory counts.
ArrayMetadata parse_v3(std::string_view text, const std::string& path, const ReadOptions&);
ArrayMetadata parse_v2(std::string_view text, std::string_view attributes, const std::string& path, const ReadOptions&);
bool is_v3_array(std::string_view text, const std::string& path);  // false: a group
std::string print_v3(const ArrayMetadata&);

// The name of the file of a chunk within the folder: "c/0/7".
std::string chunk_name(const ArrayMetadata&, std::span<const i64> index);
i64 unit_bytes(const ArrayMetadata&);

// ---- shards ------------------------------------------------------------------------------------------------------

// Places of the units of a shard in its file, in the order in which the file counts them.
using ShardIndex = std::vector<std::uint64_t>;        // for each where it begins and how many bytes it has
inline constexpr std::uint64_t no_unit = UINT64_MAX;  // both numbers of a unit that is not there

struct Bytes {  // where a file can be read
  i64 size = 0;
  std::function<void(i64 offset, std::span<std::byte> to)> read;
};
i64 index_bytes(const ArrayMetadata&);
ShardIndex read_index(const ArrayMetadata&, const Bytes& shard, const std::string& path);
// `within`: which unit of the shard, by dimension of the array. False where it is not there.
bool read_unit(const ArrayMetadata&, const ShardIndex&, std::span<const i64> within, const Bytes& shard,
               std::span<std::byte> to, const std::string& path);
// The place of a unit in that index.
std::size_t place_in_index(const ArrayMetadata&, std::span<const i64> within);
// The index as the file has it; its numbers are those of places from the file's first byte on.
std::vector<std::byte> print_index(const ArrayMetadata&, const ShardIndex&);
// The file of a chunk without shards.
void read_chunk(const ArrayMetadata&, const Bytes& file, std::span<std::byte> to, const std::string& path);

}  // namespace tessera::io::zarr
