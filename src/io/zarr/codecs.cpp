// Chains of codecs; see codecs.hpp.
#include "io/zarr/codecs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "io/zarr/byte_codecs.hpp"
#include "io/zarr/json.hpp"

namespace tessera::io::zarr {
namespace {

// What a codec of bytes may make of so many: all of them add less than a thirty-second and a header, unless they were
// asked to waste. Twice as much is none of their work.
constexpr i64 header_room = i64{1} << 16;
i64 most_packed(i64 bytes) {
  return 2 * bytes + header_room;
}

template <class T>
void swap_all(std::span<std::byte> elements, T (*swapped)(T)) {
  for (std::size_t i = 0; i + sizeof(T) <= elements.size(); i += sizeof(T)) {
    T value;
    std::memcpy(&value, elements.data() + i, sizeof value);
    value = swapped(value);
    std::memcpy(elements.data() + i, &value, sizeof value);
  }
}

void swap_bytes(ElementType type, std::span<std::byte> elements) {
  switch (size_of(type)) {
    case 2:
      return swap_all<std::uint16_t>(elements, [](std::uint16_t v) { return __builtin_bswap16(v); });
    case 4:
      return swap_all<std::uint32_t>(elements, [](std::uint32_t v) { return __builtin_bswap32(v); });
    case 8:
      return swap_all<std::uint64_t>(elements, [](std::uint64_t v) { return __builtin_bswap64(v); });
    default:
      return;
  }
}

// Elements in the order of the file, seen with the dimensions of the chunk.
Array in_order_of_file(const Chain& chain, ElementType type, const Shape& shape, std::byte* elements) {
  std::vector<i64> strides(shape.size());
  i64 stride = static_cast<i64>(size_of(type));
  for (std::size_t i = shape.size(); i-- > 0;) {
    const auto d = static_cast<std::size_t>(chain.order[i]);
    strides[d] = stride;
    stride *= shape[d];
  }
  return Array::borrow(elements, type, shape, strides);
}

// Into `to`, all of it.
void unpack_all(const Chain& chain, std::span<const std::byte> stored, std::span<std::byte> to,
                const std::string& path) {
  std::vector<std::byte> between;  // what the codec before made
  std::size_t made = stored.size();
  for (std::size_t k = chain.packing.size(); k-- > 0;) {
    if (k == 0) {
      made = unpack(chain.packing[k], stored, to, path);
      break;
    }
    i64 room = static_cast<i64>(to.size());
    for (std::size_t i = 0; i < k; ++i) room = most_packed(room);
    std::vector<std::byte> next(static_cast<std::size_t>(room));
    next.resize(unpack(chain.packing[k], stored, next, path));
    between = std::move(next);
    stored = between;
  }
  if (made != to.size()) fail(path, fmt::format("it holds {} bytes, but its extents ask for {}", made, to.size()));
  if (chain.packing.empty()) std::copy(stored.begin(), stored.end(), to.begin());
}

}  // namespace

i64 most_stored(const Chain& chain, i64 bytes) {
  for (std::size_t i = 0; i < chain.packing.size(); ++i) bytes = most_packed(bytes);
  return bytes;
}

i64 beside_decoding(const Chain& chain, i64 bytes) {
  i64 sum = most_stored(chain, bytes) + (chain.order.empty() ? 0 : bytes);
  for (std::size_t i = 1; i < chain.packing.size(); ++i) sum += most_stored(chain, bytes);
  return sum;
}

void make_native(const Chain& chain, ElementType type, std::span<std::byte> elements) {
  if (chain.swapped) swap_bytes(type, elements);
  if (type == ElementType::boolean)
    for (std::byte& b : elements) b = std::byte{b != std::byte{0}};
}

void decode(const Chain& chain, ElementType type, const Shape& shape, std::span<const std::byte> stored,
            std::span<std::byte> to, const std::string& path) {
  if (chain.order.empty()) {
    unpack_all(chain, stored, to, path);
    return make_native(chain, type, to);
  }
  std::vector<std::byte> elements(to.size());
  unpack_all(chain, stored, elements, path);
  make_native(chain, type, elements);
  Array::borrow(to.data(), type, shape).copy_from(in_order_of_file(chain, type, shape, elements.data()));
}

std::vector<std::byte> encode(const Chain& chain, ElementType type, const Shape& shape,
                              std::span<const std::byte> elements) {
  std::vector<std::byte> bytes;
  if (!chain.order.empty() || chain.swapped || chain.packing.empty()) {
    bytes.assign(elements.begin(), elements.end());
    if (!chain.order.empty())
      in_order_of_file(chain, type, shape, bytes.data())
          .copy_from(Array::borrow(const_cast<std::byte*>(elements.data()), type, shape));
    if (chain.swapped) swap_bytes(type, bytes);
    elements = bytes;
  }
  for (const ByteCodec& codec : chain.packing) {
    std::vector<std::byte> packed = pack(codec, elements);
    bytes = std::move(packed);
    elements = bytes;
  }
  return bytes;
}

}  // namespace tessera::io::zarr
