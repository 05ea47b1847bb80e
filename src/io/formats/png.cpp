// PNG through libpng: 1 to 16 bits, palettes, transparency, interlacing.
//
// libpng reports errors by longjmp, which must not skip a destructor: every stretch of calls runs inside protect(),
// whose body holds nothing that has one; messages are kept in the session and thrown after the jump. Deflate packs at
// most 1032 bytes into one, so a file that declares more pixels than that is refused before memory is asked for.
#include <fmt/format.h>
#include <png.h>

#include <csetjmp>
#include <cstring>
#include <exception>

#include "base/text.hpp"
#include "io/codec.hpp"
#include "io/metadata.hpp"
#include "tessera/error.hpp"

namespace tessera::io {
namespace {

constexpr double deflate_ratio = 1040;

struct Session {
  png_structp png = nullptr;
  png_infop info = nullptr;
  char message[256] = "";
  const Source* source = nullptr;
  std::size_t position = 0;
  base::AtomicFile* file = nullptr;
  std::exception_ptr failure;  // of the file
  bool writing = false;

  ~Session() {
    if (png == nullptr) return;
    if (writing) {
      png_destroy_write_struct(&png, &info);
    } else {
      png_destroy_read_struct(&png, &info, nullptr);
    }
  }
};

void on_error(png_structp png, png_const_charp message) {
  auto* session = static_cast<Session*>(png_get_error_ptr(png));
  std::strncpy(session->message, message, sizeof session->message - 1);
  png_longjmp(png, 1);
}

void on_warning(png_structp, png_const_charp) {}

void read_bytes(png_structp png, png_bytep to, png_size_t count) {
  auto* session = static_cast<Session*>(png_get_io_ptr(png));
  if (session->source->size() - session->position < count) png_error(png, "the file is cut short");
  std::memcpy(to, session->source->data() + session->position, count);
  session->position += count;
}

void write_bytes(png_structp png, png_bytep from, png_size_t count) {
  auto* session = static_cast<Session*>(png_get_io_ptr(png));
  try {
    session->file->write(std::as_bytes(std::span(from, count)));
    return;
  } catch (...) {
    session->failure = std::current_exception();
  }
  png_error(png, "write failed");  // outside of the handler, which a jump must not leave
}

void flush_bytes(png_structp) {}

template <class F>
bool protect(Session& session, F&& body) {
  if (setjmp(png_jmpbuf(session.png)) != 0) return false;
  body();
  return true;
}

}  // namespace

// Chunks say how long they are; the last one is IEND.
std::optional<std::size_t> end_of_png(std::span<const std::byte> bytes, Scan& scan) {
  constexpr std::size_t signature = 8, around = 12;  // length, name and checksum
  if (scan.at == 0) scan.at = signature;
  while (bytes.size() >= scan.at && bytes.size() - scan.at >= around) {
    const std::byte* const chunk = bytes.data() + scan.at;
    std::size_t length = 0;
    for (int i = 0; i < 4; ++i) length = length << 8 | std::to_integer<std::size_t>(chunk[i]);
    const std::size_t end = scan.at + around + length;
    if (std::memcmp(chunk + 4, "IEND", 4) == 0) return end;
    scan.at = end;
  }
  return std::nullopt;
}

Array decode_png(const Source& source) {
  Session session;
  session.source = &source;
  const auto check = [&](bool good) {
    if (!good) source.fail("PNG", session.message);
  };
  session.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &session, on_error, on_warning);
  if (session.png != nullptr) session.info = png_create_info_struct(session.png);
  if (session.info == nullptr) source.fail("PNG", "not enough memory");

  png_uint_32 width = 0, height = 0;
  std::size_t packed_row = 0;
  check(protect(session, [&] {
    png_set_read_fn(session.png, &session, read_bytes);
    png_set_user_limits(session.png, 0x7fffffff, 0x7fffffff);
    // Text and profiles are not used here (png_chunks.cpp): never unpack them.
    png_set_keep_unknown_chunks(session.png, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);
    png_read_info(session.png, session.info);
    width = png_get_image_width(session.png, session.info);
    height = png_get_image_height(session.png, session.info);
    packed_row = png_get_rowbytes(session.png, session.info);
  }));
  // Before the next step: it makes room for rows.
  if (static_cast<double>(packed_row) * height > deflate_ratio * static_cast<double>(source.size())) {
    source.fail("PNG",
                fmt::format("it declares {}x{} pixels, more than a file of {} can hold: it is damaged or cut short",
                            height, width, base::format_bytes(static_cast<double>(source.size()))));
  }
  int passes = 1;
  check(protect(session, [&] {
    png_set_palette_to_rgb(session.png);
    png_set_expand_gray_1_2_4_to_8(session.png);
    if (png_get_valid(session.png, session.info, PNG_INFO_tRNS) != 0) png_set_tRNS_to_alpha(session.png);
    png_set_swap(session.png);  // the file is big-endian, the machine is not
    passes = png_set_interlace_handling(session.png);
    png_read_update_info(session.png, session.info);
  }));
  const int channels = png_get_channels(session.png, session.info);
  const int depth = png_get_bit_depth(session.png, session.info);
  const Format format = pixel_format(depth == 16 ? ElementType::u16 : ElementType::u8, channels);
  const std::size_t row_bytes = format.size() * width;
  if ((depth != 8 && depth != 16) || png_get_rowbytes(session.png, session.info) != row_bytes) {
    source.fail("PNG", "the kind of its samples is unknown");
  }
  // Expansion from 1-bit samples multiplies by 8, from a palette by 4 more.
  const Array image = allocate(source, "PNG", format, {height, width}, deflate_ratio * 32);
  auto* const first = image.as<png_byte>();
  check(protect(session, [&] {
    for (int pass = 0; pass < passes; ++pass) {
      for (std::size_t y = 0; y < height; ++y) png_read_row(session.png, first + y * row_bytes, nullptr);
    }
    png_read_end(session.png, nullptr);
  }));
  if (source.header != nullptr) {
    Metadata metadata;
    *source.orientation = read_png_metadata({source.data(), source.size()}, metadata);
    if (!metadata.empty()) source.header->metadata = std::make_shared<const Metadata>(std::move(metadata));
  }
  return image;
}

void encode_png(base::AtomicFile& file, const Samples& samples, const WriteOptions& options) {
  Session session;
  session.file = &file;
  session.writing = true;
  session.png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &session, on_error, on_warning);
  if (session.png != nullptr) session.info = png_create_info_struct(session.png);
  if (session.info == nullptr) throw Error(ErrorClass::io, "cannot write " + file.path() + ": not enough memory");
  const int colours[] = {PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB, PNG_COLOR_TYPE_RGB_ALPHA};
  const std::vector<PngChunk> chunks =
      options.header.metadata ? png_chunks_of(*options.header.metadata) : std::vector<PngChunk>{};
  const int level = options.packing == Packing::none ? 0 : options.compression;
  const bool good = protect(session, [&] {
    png_set_write_fn(session.png, &session, write_bytes, flush_bytes);
    png_set_user_limits(session.png, 0x7fffffff, 0x7fffffff);
    png_set_IHDR(session.png, session.info, static_cast<png_uint_32>(samples.width),
                 static_cast<png_uint_32>(samples.height), static_cast<int>(8 * size_of(samples.type)),
                 colours[samples.channels - 1], PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
                 PNG_FILTER_TYPE_DEFAULT);
    if (level >= 0) png_set_compression_level(session.png, level);
    png_write_info(session.png, session.info);
    for (const PngChunk& chunk : chunks) {
      png_write_chunk(session.png, reinterpret_cast<png_const_bytep>(chunk.type.data()), chunk.bytes.data(),
                      chunk.bytes.size());
    }
    if (samples.type == ElementType::u16) png_set_swap(session.png);
    for (i64 y = 0; y < samples.height; ++y) {
      png_write_row(session.png, reinterpret_cast<png_const_bytep>(samples.row(0, y)));
    }
    png_write_end(session.png, nullptr);
  });
  if (good) return;
  if (session.failure) std::rethrow_exception(session.failure);
  throw Error(ErrorClass::io, "cannot write " + file.path() + ": " + session.message);
}

}  // namespace tessera::io
