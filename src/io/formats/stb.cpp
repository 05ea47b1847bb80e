// BMP, GIF (the first frame), Radiance HDR and TGA through stb_image.
//
// stb_image is small rather than guarded, so that it runs fenced in: what a header declares is checked first, its
// memory comes from a pool with a budget that is emptied whatever happens, its assertions become errors, and its reader
// says when it is asked for bytes past the end, where stb_image alone would invent zeros.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "base/text.hpp"
#include "io/codec.hpp"
#include "io/metadata.hpp"
#include "tessera/error.hpp"

namespace {

// Blocks in a ring list, so that all of them can be freed after an error.
struct Block {
  Block *before, *after;
  std::size_t size;
  std::size_t padding;  // keeps what follows 16-byte aligned
};

struct Pool {
  Block ring{&ring, &ring, 0, 0};
  std::size_t left = 0;
};

thread_local Pool pool;

struct Broken {};  // an assertion of stb_image failed

void* pool_allocate(std::size_t size) {
  if (size > pool.left) return nullptr;
  auto* block = static_cast<Block*>(std::malloc(sizeof(Block) + size));
  if (block == nullptr) return nullptr;
  pool.left -= size;
  *block = {&pool.ring, pool.ring.after, size, 0};
  block->after->before = block;
  pool.ring.after = block;
  return block + 1;
}

void pool_free(void* data) {
  if (data == nullptr) return;
  Block* block = static_cast<Block*>(data) - 1;
  block->before->after = block->after;
  block->after->before = block->before;
  pool.left += block->size;
  std::free(block);
}

// A block that outlives the pool.
std::shared_ptr<void> pool_keep(void* data) {
  Block* block = static_cast<Block*>(data) - 1;
  block->before->after = block->after;
  block->after->before = block->before;
  pool.left += block->size;
  return {data, [block](void*) { std::free(block); }};
}

void* pool_grow(void* data, std::size_t old_size, std::size_t size) {
  void* fresh = pool_allocate(size);
  if (fresh == nullptr || data == nullptr) return fresh;
  std::memcpy(fresh, data, old_size < size ? old_size : size);
  pool_free(data);
  return fresh;
}

// Memory of stb_image for the life of this object.
struct Fence {
  explicit Fence(double budget) { pool.left = static_cast<std::size_t>(budget); }
  ~Fence() {
    while (pool.ring.after != &pool.ring) pool_free(pool.ring.after + 1);
  }
};

}  // namespace

#define STBI_ONLY_BMP
#define STBI_ONLY_GIF
#define STBI_ONLY_HDR
#define STBI_ONLY_TGA
#define STBI_NO_STDIO
#define STB_IMAGE_STATIC
#define STB_IMAGE_IMPLEMENTATION
#define STBI_ASSERT(x) ((x) ? void() : throw Broken{})
#define STBI_MALLOC(size) pool_allocate(size)
#define STBI_FREE(data) pool_free(data)
#define STBI_REALLOC_SIZED(data, old_size, size) pool_grow(data, old_size, size)
#define STBI_MAX_DIMENSIONS (1 << 24)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#include <stb_image.h>
#pragma GCC diagnostic pop

namespace tessera::io {
namespace {

struct Input {
  const Source* source;
  std::size_t position = 0;
  bool cut_short = false;
};

int on_read(void* user, char* to, int count) {
  auto& input = *static_cast<Input*>(user);
  const std::size_t left = input.source->size() - input.position;
  if (left == 0 && count > 0) input.cut_short = true;
  const std::size_t n = std::min(left, static_cast<std::size_t>(std::max(count, 0)));
  if (n > 0) std::memcpy(to, input.source->data() + input.position, n);
  input.position += n;
  return static_cast<int>(n);
}

void on_skip(void* user, int count) {
  auto& input = *static_cast<Input*>(user);
  if (count < 0) {
    input.position -= std::min(input.position, static_cast<std::size_t>(-static_cast<i64>(count)));
    return;
  }
  const std::size_t left = input.source->size() - input.position;
  if (static_cast<std::size_t>(count) > left) input.cut_short = true;
  input.position += std::min(left, static_cast<std::size_t>(count));
}

int on_end(void* user) {
  const auto& input = *static_cast<const Input*>(user);
  return input.position >= input.source->size() ? 1 : 0;
}

constexpr stbi_io_callbacks callbacks = {on_read, on_skip, on_end};

std::string reason() {
  const char* text = stbi_failure_reason();
  return text != nullptr && *text != '\0' ? fmt::format("it is damaged ({})", text) : "it is damaged";
}

// `ratio`: see allocate(). T is the type of the samples. `beside`: bytes for each pixel that decoding takes more.
template <class T>
Array decode_with_stb(const Source& source, std::string_view format, double ratio, double beside = 0) {
  Fence fence(0x1p20);
  int width = 0, height = 0, channels = 0;
  try {
    Input probe{&source};
    if (stbi_info_from_callbacks(&callbacks, &probe, &width, &height, &channels) != 1) source.fail(format, reason());
    if (width < 1 || height < 1 || channels < 1 || channels > 4) source.fail(format, "its header is damaged");
    const double pixels_declared = static_cast<double>(width) * height;
    check_declared(source, format, pixel_format(detail::element_of<T>::value, channels), {height, width}, ratio,
                   beside * pixels_declared);
    pool.left =
        static_cast<std::size_t>(pixels_declared * (channels * static_cast<double>(sizeof(T)) + beside) + 0x1p20);
    Input input{&source};
    T* pixels = nullptr;
    if constexpr (std::is_same_v<T, std::uint8_t>) {
      pixels = stbi_load_from_callbacks(&callbacks, &input, &width, &height, &channels, 0);
    } else {
      pixels = stbi_loadf_from_callbacks(&callbacks, &input, &width, &height, &channels, 0);
    }
    if (input.cut_short) source.fail(format, "the file is cut short");
    if (pixels == nullptr) source.fail(format, reason());
    const Format of_pixels = pixel_format(detail::element_of<T>::value, channels);
    check_declared(source, format, of_pixels, {height, width}, ratio * 4, beside * pixels_declared);
    return Array::share(pool_keep(pixels), pixels, of_pixels, {height, width});
  } catch (const Broken&) {
    source.fail(format, "it is damaged");
  }
}

std::uint32_t little(const Source& source, std::size_t offset, int bytes) {
  std::uint32_t value = 0;
  for (int i = 0; i < bytes; ++i)
    value |= static_cast<std::uint32_t>(source.data()[offset + static_cast<std::size_t>(i)]) << (8 * i);
  return value;
}

// Points of a metre; 2835, 72 of an inch, is what programs write that know none.
void read_density(const Source& source) {
  const double x = little(source, 38, 4), y = little(source, 42, 4);
  if (source.header == nullptr || !(x > 0 && y > 0 && x < 1e9 && y < 1e9) || (x == 2835 && y == 2835)) return;
  Metadata metadata;
  metadata.resolution = {x / 100, y / 100, Resolution::Unit::centimetre};
  source.header->metadata = std::make_shared<const Metadata>(std::move(metadata));
}

// The first channel of an image whose channels are equal.
Array first_channel(const Array& image) {
  return as_planes(image)[0].clone();
}

}  // namespace

Array decode_bmp(const Source& source) {
  if (source.size() < 26) source.fail("BMP", "the file is cut short");
  const std::uint32_t offset = little(source, 10, 4), header = little(source, 14, 4);
  const bool old = header == 12;
  const std::size_t needed = old ? 26 : 54;
  if (source.size() < needed) source.fail("BMP", "the file is cut short");
  const i64 width = old ? little(source, 18, 2) : static_cast<std::int32_t>(little(source, 18, 4));
  const i64 height = old ? little(source, 20, 2) : static_cast<std::int32_t>(little(source, 22, 4));
  const std::uint32_t bits = little(source, old ? 24 : 28, 2);
  const std::uint32_t compression = old ? 0 : little(source, 30, 4);
  if (compression == 1 || compression == 2) source.fail("BMP", "its pixels are run-length encoded, which is not read");
  if (width < 1 || height == 0 || bits > 32) source.fail("BMP", "its header is damaged");
  const double row_bytes = static_cast<double>((width * bits + 31) / 32 * 4);
  const double rows = std::abs(static_cast<double>(height));
  // The padding of the last row may be missing.
  if (row_bytes * rows + offset > static_cast<double>(source.size()) + 3) {
    source.fail(
        "BMP",
        fmt::format(
            "it declares {:.0f}x{} pixels of {} bits, more than a file of {} can hold: it is damaged or cut short",
            rows, width, bits, base::format_bytes(static_cast<double>(source.size()))));
  }
  const Array image = decode_with_stb<std::uint8_t>(source, "BMP", 32, bits <= 8 ? 1 : 0);  // the channel of a grey one
  if (!old) read_density(source);
  if (bits > 8 || old) return image;
  const std::size_t begin = 14 + std::size_t{header}, end = std::min<std::size_t>(offset, source.size());
  bool grey = begin + 4 <= end;
  for (std::size_t i = begin; i + 4 <= end; i += 4) {
    grey = grey && source.data()[i] == source.data()[i + 1] && source.data()[i] == source.data()[i + 2];
  }
  return grey && channels_of(image) >= 3 ? first_channel(image) : image;
}

// Behind the rows, padded to four bytes, where the header is one that is read.
std::optional<std::size_t> end_of_bmp(std::span<const std::byte> bytes, Scan&) {
  if (bytes.size() < 54) return std::nullopt;
  const Source source{bytes, {}, {}};
  const bool old = little(source, 14, 4) == 12;
  const i64 width = old ? little(source, 18, 2) : static_cast<std::int32_t>(little(source, 18, 4));
  const i64 height = old ? little(source, 20, 2) : static_cast<std::int32_t>(little(source, 22, 4));
  const i64 bits = little(source, old ? 24 : 28, 2);
  const double row_bytes = static_cast<double>((width * bits + 31) / 32 * 4);
  const double end = little(source, 10, 4) + row_bytes * std::abs(static_cast<double>(height));
  if (width < 1 || height == 0 || bits > 32 || end > 0x1p48) return bytes.size();  // it is damaged
  return static_cast<std::size_t>(end);
}

// Behind the blocks of the first picture, which is what is read.
std::optional<std::size_t> end_of_gif(std::span<const std::byte> bytes, Scan& scan) {
  const auto at = [&](std::size_t i) { return std::to_integer<unsigned>(bytes[i]); };
  const auto table = [](unsigned flags) { return (flags & 0x80) != 0 ? std::size_t{6} << (flags & 7) : 0; };
  enum { before_blocks, blocks, of_extension, of_picture };
  if (scan.state == before_blocks) {
    if (bytes.size() < 13) return std::nullopt;
    scan = {13 + table(at(10)), blocks};
  }
  while (scan.at < bytes.size()) {
    if (scan.state != blocks) {  // pieces of up to 255 bytes, the last one of 0
      const unsigned length = at(scan.at);
      scan.at += 1 + length;
      if (length > 0) continue;
      if (scan.state == of_picture) return scan.at;
      scan.state = blocks;
    } else if (at(scan.at) == 0x2c) {
      if (bytes.size() - scan.at < 10) return std::nullopt;
      scan = {scan.at + 11 + table(at(scan.at + 9)), of_picture};  // behind the size of its codes
    } else if (at(scan.at) == 0x21) {
      scan = {scan.at + 2, of_extension};
    } else {
      return scan.at + 1;  // its end, or damage
    }
  }
  return std::nullopt;
}

Array decode_gif(const Source& source) {
  // A code of 12 bits stands for at most 4096 pixels of 4 bytes.
  return decode_with_stb<std::uint8_t>(source, "GIF", 4096 * 4, 5);  // a background and what was drawn
}

Array decode_hdr(const Source& source) {
  // A run of 127 bytes takes two; 4 bytes make a pixel of 12.
  return decode_with_stb<float>(source, "HDR", 64 * 3);
}

bool matches_tga(const Source& source) {
  if (source.size() < 18) return false;
  const bool named = base::to_lower(source.name).ends_with(".tga");
  constexpr std::string_view footer = "TRUEVISION-XFILE.";
  std::array<std::byte, 18> last{};
  if (source.rest != nullptr && source.length)
    source.rest->read_at(*source.length - 18, last);
  else
    std::copy(source.bytes.end() - 18, source.bytes.end(), last.begin());
  return named || (source.total() >= 44 && std::memcmp(last.data(), footer.data(), footer.size()) == 0);
}

Array decode_tga(const Source& source) {
  const std::uint8_t* h = source.data();
  const int kind = h[2] & ~8;
  if (h[1] > 1 || kind < 1 || kind > 3 || h[2] > 11) source.fail("TGA", "its header is damaged");
  const bool packed = (h[2] & 8) != 0;
  const double pixels = static_cast<double>(little(source, 12, 2)) * little(source, 14, 2);
  const double start = 18.0 + h[0] + (h[1] == 1 ? little(source, 5, 2) * ((h[7] + 7) / 8) : 0);
  if (!packed && start + pixels * ((h[16] + 7) / 8) > static_cast<double>(source.size())) {
    source.fail("TGA", "the file is cut short");
  }
  return decode_with_stb<std::uint8_t>(source, "TGA", 128 * 4);
}

namespace {

// Points of a metre.
std::pair<i64, i64> density_of(const WriteOptions& options) {
  const auto& metadata = options.header.metadata;
  if (!metadata || !metadata->resolution || metadata->resolution->unit == Resolution::Unit::aspect)
    return {2835, 2835};  // 72 dots per inch
  const Resolution& r = *metadata->resolution;
  const double scale = r.unit == Resolution::Unit::inch ? 100 / 2.54 : 100;
  const auto whole = [&](double v) { return static_cast<i64>(std::clamp(v * scale, 1.0, 1e9) + 0.5); };
  return {whole(r.x), whole(r.y)};
}

}  // namespace

void encode_bmp(base::AtomicFile& file, const Samples& samples, const WriteOptions& options) {
  const bool grey = samples.channels == 1, alpha = samples.channels == 4;
  const i64 row_bytes = (samples.row_bytes() + 3) / 4 * 4;
  const i64 header = alpha ? 108 : 40, palette = grey ? 1024 : 0;
  const i64 offset = 14 + header + palette, total = offset + row_bytes * samples.height;
  if (total > INT32_MAX) {
    throw Error(ErrorClass::argument,
                fmt::format("cannot write {}: BMP holds at most 2 GiB, the image takes {}",
                            base::quoted(file.path(), 1024), base::format_bytes(static_cast<double>(total))),
                {}, "write .tif or .png");
  }
  std::vector<std::uint8_t> head;
  const auto put = [&](i64 value, int bytes) {
    for (int i = 0; i < bytes; ++i)
      head.push_back(static_cast<std::uint8_t>(static_cast<std::uint64_t>(value) >> (8 * i)));
  };
  put('B' | 'M' << 8, 2);
  put(total, 4);
  put(0, 4);
  put(offset, 4);
  put(header, 4);
  put(samples.width, 4);
  put(samples.height, 4);
  put(1, 2);
  put(8 * samples.channels, 2);
  put(alpha ? 3 : 0, 4);  // bit fields, else plain
  put(row_bytes * samples.height, 4);
  const auto [x_density, y_density] = density_of(options);
  put(x_density, 4);
  put(y_density, 4);
  put(grey ? 256 : 0, 4);
  put(0, 4);
  if (alpha) {
    for (const i64 mask : {i64{0x00ff0000}, i64{0x0000ff00}, i64{0x000000ff}, i64{0xff000000}}) put(mask, 4);
    put(0x73524742, 4);  // sRGB
    head.resize(static_cast<std::size_t>(14 + header), 0);
  }
  for (i64 i = 0; grey && i < 256; ++i) put(i | i << 8 | i << 16, 4);
  file.write(std::as_bytes(std::span(head)));

  std::vector<std::uint8_t> row(static_cast<std::size_t>(row_bytes));
  for (i64 y = samples.height; y-- > 0;) {
    std::memcpy(row.data(), samples.row(0, y), static_cast<std::size_t>(samples.row_bytes()));
    for (i64 x = 0; !grey && x < samples.width; ++x)
      std::swap(row[x * samples.channels], row[x * samples.channels + 2]);
    file.write(std::as_bytes(std::span(row)));
  }
}

}  // namespace tessera::io
