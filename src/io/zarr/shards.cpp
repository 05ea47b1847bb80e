// Units out of the files of chunks; see metadata.hpp.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <memory>
#include <vector>

#include "io/load.hpp"
#include "io/zarr/json.hpp"
#include "io/zarr/metadata.hpp"

namespace tessera::io::zarr {
namespace {

constexpr i64 checksum_bytes = 4;
constexpr i64 bytes_a_place = 2 * sizeof(std::uint64_t);

i64 units_of(const ArrayMetadata& array) {
  i64 count = 1;
  for (std::size_t d = 0; d < array.chunk.size(); ++d) count *= array.chunk[d] / array.unit[d];
  return count;
}

void read_stored(const ArrayMetadata& array, const Bytes& file, i64 offset, i64 size, std::span<std::byte> to,
                 const std::string& path) {
  const Chain& chain = array.chain;
  const auto wanted = static_cast<i64>(to.size());
  if (chain.packing.empty() && size != wanted)
    fail(path, fmt::format("it holds {} bytes, but its extents ask for {}", size, wanted));
  if (size > most_stored(chain, wanted))
    fail(path,
         fmt::format("a chunk has {} bytes, but its extents ask for {} at most", size, most_stored(chain, wanted)));
  if (chain.packing.empty() && chain.order.empty()) {
    file.read(offset, to);
    return make_native(chain, array.type, to);
  }
  const auto stored = std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(size));
  const std::span bytes(stored.get(), static_cast<std::size_t>(size));
  file.read(offset, bytes);
  decode(chain, array.type, array.unit, bytes, to, path);
}

}  // namespace

std::size_t place_in_index(const ArrayMetadata& array, std::span<const i64> within) {
  i64 place = 0;
  for (std::size_t i = 0; i < within.size(); ++i) {
    const std::size_t d = array.shards->order.empty() ? i : static_cast<std::size_t>(array.shards->order[i]);
    place = place * (array.chunk[d] / array.unit[d]) + within[d];
  }
  return static_cast<std::size_t>(place);
}

std::vector<std::byte> print_index(const ArrayMetadata& array, const ShardIndex& index) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(index_bytes(array)));
  std::byte* to = bytes.data();
  const auto put = [&](auto number) {
    auto raw = std::bit_cast<std::array<std::byte, sizeof(number)>>(number);
    if (array.shards->swapped) std::ranges::reverse(raw);
    to = std::ranges::copy(raw, to).out;
  };
  for (const std::uint64_t number : index) put(number);
  const auto written = static_cast<std::size_t>(to - bytes.data());
  if (array.shards->checked) put(crc32c(std::span(bytes).first(written)));
  return bytes;
}

i64 index_bytes(const ArrayMetadata& array) {
  return units_of(array) * bytes_a_place + (array.shards->checked ? checksum_bytes : 0);
}

ShardIndex read_index(const ArrayMetadata& array, const Bytes& shard, const std::string& path) {
  const i64 size = index_bytes(array);
  if (shard.size < size)
    fail(path, fmt::format("its {} bytes are too few for the index of a shard, which has {}", shard.size, size));
  std::vector<std::byte> bytes(static_cast<std::size_t>(size));
  shard.read(array.shards->at_end ? shard.size - size : 0, bytes);
  std::span<const std::byte> content = bytes;
  if (array.shards->checked) content = without_checksum(content, path);
  ShardIndex index(content.size() / sizeof(std::uint64_t));
  for (std::size_t i = 0; i < index.size(); ++i)
    index[i] = load<std::uint64_t>(content.data() + i * sizeof(std::uint64_t), array.shards->swapped);
  return index;
}

bool read_unit(const ArrayMetadata& array, const ShardIndex& index, std::span<const i64> within, const Bytes& shard,
               std::span<std::byte> to, const std::string& path) {
  const std::size_t place = place_in_index(array, within);
  const std::uint64_t offset = index[2 * place], length = index[2 * place + 1];
  if (offset == no_unit && length == no_unit) return false;
  const auto size = static_cast<std::uint64_t>(shard.size);
  if (offset > size || length > size - offset)
    fail(path, fmt::format("its index says that chunk {} has {} bytes from byte {} on, but the file has {}", place,
                           length, offset, size));
  read_stored(array, shard, static_cast<i64>(offset), static_cast<i64>(length), to, path);
  return true;
}

void read_chunk(const ArrayMetadata& array, const Bytes& file, std::span<std::byte> to, const std::string& path) {
  read_stored(array, file, 0, file.size, to, path);
}

}  // namespace tessera::io::zarr
