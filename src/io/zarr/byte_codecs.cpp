// zlib, zstd, blosc and the checksum; see byte_codecs.hpp.
//
// A codec is given the room that the chunk's extents ask for and fills it, so that no size that its own header states
// is ever allocated.
#include "io/zarr/byte_codecs.hpp"

#include <blosc.h>
#include <fmt/format.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <memory>
#include <new>

#include "io/zarr/json.hpp"
#include "tessera/error.hpp"

namespace tessera::io::zarr {
namespace {

using Kind = ByteCodec::Kind;

[[noreturn]] void too_much(const std::string& path, std::size_t room) {
  fail(path, fmt::format("it unpacks to more than {} bytes, which is what its extents ask for", room));
}

// ---- zlib --------------------------------------------------------------------------------------------------------

constexpr int window_bits = 15;
constexpr int gzip_header = 16;  // added to them
constexpr std::size_t largest_call = std::numeric_limits<uInt>::max();

int window_of(Kind kind) {
  return kind == Kind::gzip ? window_bits + gzip_header : window_bits;
}

Bytef* bytes_of(const std::byte* p) {
  return reinterpret_cast<Bytef*>(const_cast<std::byte*>(p));
}

// One after the other, several packed pieces count as one, as gzip has it.
std::size_t unpack_zlib(Kind kind, std::span<const std::byte> packed, std::span<std::byte> to,
                        const std::string& path) {
  z_stream stream{};
  if (inflateInit2(&stream, window_of(kind)) != Z_OK) throw std::bad_alloc();
  const std::unique_ptr<z_stream, int (*)(z_stream*)> ends(&stream, inflateEnd);
  std::size_t read = 0, written = 0;
  std::array<std::byte, 1> beyond{};  // where a stream that is right writes nothing
  for (;;) {
    const std::size_t in = std::min(packed.size() - read, largest_call);
    const bool full = written == to.size();
    const std::size_t out = full ? beyond.size() : std::min(to.size() - written, largest_call);
    stream.next_in = bytes_of(packed.data() + read);
    stream.avail_in = static_cast<uInt>(in);
    stream.next_out = bytes_of(full ? beyond.data() : to.data() + written);
    stream.avail_out = static_cast<uInt>(out);
    const int status = inflate(&stream, Z_NO_FLUSH);
    const std::size_t taken = in - stream.avail_in, made = out - stream.avail_out;
    read += taken;
    if (full && made > 0) too_much(path, to.size());
    written += made;
    if (status == Z_STREAM_END) {
      if (read == packed.size()) return written;
      if (kind != Kind::gzip)
        fail(path, fmt::format("{} bytes follow the end of what is packed", packed.size() - read));
      inflateReset(&stream);
    } else if (status != Z_OK && status != Z_BUF_ERROR) {
      fail(path, fmt::format("what deflate packed is damaged at byte {}", read));
    } else if (taken == 0 && made == 0) {
      fail(path, "what deflate packed is cut short");
    }
  }
}

std::vector<std::byte> pack_zlib(const ByteCodec& codec, std::span<const std::byte> bytes) {
  z_stream stream{};
  constexpr int memory = 8;  // the library's habit
  if (deflateInit2(&stream, std::clamp(codec.level, 0, 9), Z_DEFLATED, window_of(codec.kind), memory,
                   Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::bad_alloc();
  const std::unique_ptr<z_stream, int (*)(z_stream*)> ends(&stream, deflateEnd);
  std::vector<std::byte> out(deflateBound(&stream, bytes.size()));
  std::size_t read = 0, written = 0;
  for (int status = Z_OK; status != Z_STREAM_END;) {
    const std::size_t in = std::min(bytes.size() - read, largest_call),
                      room = std::min(out.size() - written, largest_call);
    stream.next_in = bytes_of(bytes.data() + read);
    stream.avail_in = static_cast<uInt>(in);
    stream.next_out = bytes_of(out.data() + written);
    stream.avail_out = static_cast<uInt>(room);
    status = deflate(&stream, read + in == bytes.size() ? Z_FINISH : Z_NO_FLUSH);
    read += in - stream.avail_in;
    written += room - stream.avail_out;
  }
  out.resize(written);
  return out;
}

// ---- zstd --------------------------------------------------------------------------------------------------------

std::size_t unpack_zstd(std::span<const std::byte> packed, std::span<std::byte> to, const std::string& path) {
  const std::size_t made = ZSTD_decompress(to.data(), to.size(), packed.data(), packed.size());
  if (ZSTD_isError(made) == 0) return made;
  if (ZSTD_getErrorCode(made) == ZSTD_error_dstSize_tooSmall) too_much(path, to.size());
  fail(path, fmt::format("what zstd packed is damaged ({})", ZSTD_getErrorName(made)));
}

std::vector<std::byte> pack_zstd(const ByteCodec& codec, std::span<const std::byte> bytes) {
  const std::unique_ptr<ZSTD_CCtx, std::size_t (*)(ZSTD_CCtx*)> context(ZSTD_createCCtx(), ZSTD_freeCCtx);
  if (!context) throw std::bad_alloc();
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel, codec.level);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_checksumFlag, codec.checksum ? 1 : 0);
  std::vector<std::byte> out(ZSTD_compressBound(bytes.size()));
  const std::size_t made = ZSTD_compress2(context.get(), out.data(), out.size(), bytes.data(), bytes.size());
  if (ZSTD_isError(made) != 0) throw std::bad_alloc();  // there is room, and every input can be packed
  out.resize(made);
  return out;
}

// ---- blosc -------------------------------------------------------------------------------------------------------

std::size_t unpack_blosc(std::span<const std::byte> packed, std::span<std::byte> to, const std::string& path) {
  std::size_t said = 0;
  if (packed.size() < BLOSC_MIN_HEADER_LENGTH || blosc_cbuffer_validate(packed.data(), packed.size(), &said) < 0)
    fail(path, "what blosc packed is damaged or cut short");
  if (said > to.size()) too_much(path, to.size());
  if (said == 0) return 0;
  const int made = blosc_decompress_ctx(packed.data(), to.data(), to.size(), 1);
  if (made >= 0) return static_cast<std::size_t>(made);
  const char* const name = blosc_cbuffer_complib(packed.data());
  fail(path, fmt::format("blosc cannot unpack it: it is damaged, or packed by {}, of which the library knows {}",
                         name != nullptr ? name : "an unknown compressor", blosc_list_compressors()));
}

std::vector<std::byte> pack_blosc(const ByteCodec& codec, std::span<const std::byte> bytes) {
  if (bytes.size() > BLOSC_MAX_BUFFERSIZE)
    throw Error(ErrorClass::argument,
                fmt::format("blosc takes chunks of {} bytes, not of {}", BLOSC_MAX_BUFFERSIZE, bytes.size()));
  std::vector<std::byte> out(bytes.size() + BLOSC_MAX_OVERHEAD);
  const int made =
      blosc_compress_ctx(std::clamp(codec.level, 0, 9), codec.shuffle, static_cast<std::size_t>(codec.type_size),
                         bytes.size(), bytes.data(), out.data(), out.size(), codec.compressor.c_str(), 0, 1);
  if (made <= 0)
    throw Error(ErrorClass::argument,
                fmt::format("blosc knows {}, not {}", blosc_list_compressors(), codec.compressor));
  out.resize(static_cast<std::size_t>(made));
  return out;
}

// ---- the checksum ------------------------------------------------------------------------------------------------

constexpr std::size_t lanes = 8;  // bytes that one step takes
constexpr std::size_t checksum_bytes = 4;
using Table = std::array<std::array<std::uint32_t, 256>, lanes>;

constexpr Table make_table() {
  constexpr std::uint32_t polynomial = 0x82f63b78;  // Castagnoli's, its bits reversed
  Table table{};
  for (std::uint32_t b = 0; b < 256; ++b) {
    std::uint32_t c = b;
    for (int k = 0; k < 8; ++k) c = (c >> 1) ^ ((c & 1) != 0 ? polynomial : 0);
    table[0][b] = c;
  }
  for (std::size_t lane = 1; lane < lanes; ++lane)
    for (std::size_t b = 0; b < 256; ++b)
      table[lane][b] = (table[lane - 1][b] >> 8) ^ table[0][table[lane - 1][b] & 0xff];
  return table;
}
constexpr Table table = make_table();

std::vector<std::byte> with_checksum(std::span<const std::byte> bytes) {
  std::vector<std::byte> out(bytes.begin(), bytes.end());
  const std::uint32_t sum = crc32c(bytes);
  for (std::size_t i = 0; i < checksum_bytes; ++i) out.push_back(static_cast<std::byte>(sum >> (8 * i)));
  return out;
}

}  // namespace

std::uint32_t crc32c(std::span<const std::byte> bytes) {
  std::uint32_t c = 0xffffffff;
  std::size_t i = 0;
  for (; i + lanes <= bytes.size(); i += lanes) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + i, lanes);
    word ^= c;
    c = 0;
    for (std::size_t lane = 0; lane < lanes; ++lane) c ^= table[lanes - 1 - lane][(word >> (8 * lane)) & 0xff];
  }
  for (; i < bytes.size(); ++i) c = (c >> 8) ^ table[0][(c ^ std::to_integer<std::uint32_t>(bytes[i])) & 0xff];
  return ~c;
}

std::span<const std::byte> without_checksum(std::span<const std::byte> bytes, const std::string& path) {
  if (bytes.size() < checksum_bytes) fail(path, fmt::format("its {} bytes are too few for a checksum", bytes.size()));
  const std::span<const std::byte> content = bytes.first(bytes.size() - checksum_bytes);
  std::uint32_t said = 0;
  for (std::size_t i = 0; i < checksum_bytes; ++i)
    said |= std::to_integer<std::uint32_t>(bytes[content.size() + i]) << (8 * i);
  if (const std::uint32_t sum = crc32c(content); sum != said)
    fail(path, fmt::format("its checksum is {:08x}, but it says {:08x}: it is damaged", sum, said));
  return content;
}

std::size_t unpack(const ByteCodec& codec, std::span<const std::byte> packed, std::span<std::byte> to,
                   const std::string& path) {
  switch (codec.kind) {
    case Kind::gzip:
    case Kind::zlib:
      return unpack_zlib(codec.kind, packed, to, path);
    case Kind::zstd:
      return unpack_zstd(packed, to, path);
    case Kind::blosc:
      return unpack_blosc(packed, to, path);
    case Kind::crc32c:
      break;
  }
  const std::span<const std::byte> content = without_checksum(packed, path);
  if (content.size() > to.size()) too_much(path, to.size());
  std::copy(content.begin(), content.end(), to.begin());
  return content.size();
}

std::vector<std::byte> pack(const ByteCodec& codec, std::span<const std::byte> bytes) {
  switch (codec.kind) {
    case Kind::gzip:
    case Kind::zlib:
      return pack_zlib(codec, bytes);
    case Kind::zstd:
      return pack_zstd(codec, bytes);
    case Kind::blosc:
      return pack_blosc(codec, bytes);
    case Kind::crc32c:
      break;
  }
  return with_checksum(bytes);
}

}  // namespace tessera::io::zarr
