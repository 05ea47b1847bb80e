// TIFF through libtiff: writing. Little-endian strips of about 1 MiB, or tiles where the picture came in tiles,
// interleaved; BigTIFF where 4 GiB do not suffice; leading dimensions become pages, and the distances between points
// are told as ImageJ does. Packed as asked for, else as the file that the picture came from.
#include <fmt/format.h>
#include <tiffio.h>

#include <algorithm>
#include <cstdarg>
#include <cstring>
#include <exception>

#include "base/text.hpp"
#include "io/codec.hpp"
#include "io/tiff/tags.hpp"
#include "io/tiff/text.hpp"
#include "tessera/error.hpp"

namespace tessera::io {
namespace {

struct Session {
  base::AtomicFile* file = nullptr;
  std::int64_t position = 0, size = 0;
  std::string message;
  std::exception_ptr failure;  // C++ exceptions must not cross the library
};

template <class F>
tmsize_t guarded(Session& session, F&& body) {
  try {
    return body();
  } catch (...) {
    if (!session.failure) session.failure = std::current_exception();
    return -1;
  }
}

tmsize_t on_read(thandle_t handle, void* to, tmsize_t count) {
  auto& session = *static_cast<Session*>(handle);
  return guarded(session, [&] {
    const std::size_t n = session.file->read_at(
        session.position, std::span(static_cast<std::byte*>(to), static_cast<std::size_t>(count)));
    session.position += static_cast<std::int64_t>(n);
    return static_cast<tmsize_t>(n);
  });
}

tmsize_t on_write(thandle_t handle, void* from, tmsize_t count) {
  auto& session = *static_cast<Session*>(handle);
  return guarded(session, [&] {
    session.file->write_at(session.position,
                           std::span(static_cast<const std::byte*>(from), static_cast<std::size_t>(count)));
    session.position += count;
    session.size = std::max(session.size, session.position);
    return count;
  });
}

toff_t on_seek(thandle_t handle, toff_t offset, int whence) {
  auto& session = *static_cast<Session*>(handle);
  const auto delta = static_cast<std::int64_t>(offset);
  session.position = whence == SEEK_SET ? delta : whence == SEEK_CUR ? session.position + delta : session.size + delta;
  return static_cast<toff_t>(session.position);
}

int on_close(thandle_t) {
  return 0;
}

toff_t on_size(thandle_t handle) {
  return static_cast<toff_t>(static_cast<Session*>(handle)->size);
}

int on_error(TIFF*, void* user, const char*, const char* format, va_list arguments) {
  auto* session = static_cast<Session*>(user);
  if (!session->message.empty()) return 1;
  char text[512];
  std::vsnprintf(text, sizeof text, format, arguments);
  session->message = text;
  return 1;
}

int on_warning(TIFF*, void*, const char*, const char*, va_list) {
  return 1;
}

std::uint16_t sample_format_of(ElementType type) {
  if (is_float(type)) return SAMPLEFORMAT_IEEEFP;
  return type == ElementType::i16 || type == ElementType::i32 ? SAMPLEFORMAT_INT : SAMPLEFORMAT_UINT;
}

// Three channels or four of a program's own struct count as colours; bands do not.
bool is_colour(const Samples& s) {
  if (s.channels < 3) return false;
  if (s.names[0] == "r" && s.names[1] == "g" && s.names[2] == "b") return true;
  return s.channels <= 4 && !is_band(s.names[0]);
}

void describe(TIFF* tiff, const Samples& s, i64 page, const TiffPacking& packing) {
  TIFFSetField(tiff, TIFFTAG_IMAGEWIDTH, static_cast<std::uint32_t>(s.width));
  TIFFSetField(tiff, TIFFTAG_IMAGELENGTH, static_cast<std::uint32_t>(s.height));
  TIFFSetField(tiff, TIFFTAG_SAMPLESPERPIXEL, static_cast<std::uint16_t>(s.channels));
  TIFFSetField(tiff, TIFFTAG_BITSPERSAMPLE, static_cast<std::uint16_t>(8 * size_of(s.type)));
  TIFFSetField(tiff, TIFFTAG_SAMPLEFORMAT, sample_format_of(s.type));
  TIFFSetField(tiff, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG);
  const bool colour = is_colour(s);
  TIFFSetField(tiff, TIFFTAG_PHOTOMETRIC, colour ? PHOTOMETRIC_RGB : PHOTOMETRIC_MINISBLACK);
  const int extra = s.channels - (colour ? 3 : 1);
  if (extra > 0) {
    const std::uint16_t alpha = s.associated_alpha ? EXTRASAMPLE_ASSOCALPHA : EXTRASAMPLE_UNASSALPHA;
    std::vector<std::uint16_t> kinds;
    for (std::size_t k = s.names.size() - static_cast<std::size_t>(extra); k < s.names.size(); ++k)
      kinds.push_back(s.names[k] == "a" || s.names[k] == "alpha" ? alpha : std::uint16_t{EXTRASAMPLE_UNSPECIFIED});
    TIFFSetField(tiff, TIFFTAG_EXTRASAMPLES, static_cast<std::uint16_t>(extra), kinds.data());
  }
  set_tiff_packing(tiff, packing, s.type);
  if (packing.tile_width == 0) {
    const i64 rows = std::clamp<i64>((i64{1} << 20) / std::max<i64>(s.row_bytes(), 1), 1, s.height);
    TIFFSetField(tiff, TIFFTAG_ROWSPERSTRIP, static_cast<std::uint32_t>(rows));
  }
  if (s.pages > 1) {
    TIFFSetField(tiff, TIFFTAG_SUBFILETYPE, FILETYPE_PAGE);
    if (s.pages < 65536)
      TIFFSetField(tiff, TIFFTAG_PAGENUMBER, static_cast<std::uint16_t>(page), static_cast<std::uint16_t>(s.pages));
  }
}

// On the first page.
void describe_axes(TIFF* tiff, const Samples& s, const std::string& path) {
  TiffLayout layout{s.page_axes, {s.height, s.width}, s.page_letters, s.steps, s.type};
  if (s.channels > 1) layout.page.push_back(s.channels);
  layout.sample_letter = s.sample_letter == 'c' ? 'c' : 's';
  const std::optional<TiffStyle> style = style_of(layout, s.named, path);
  if (!style) return;
  TiffResolution resolution;
  const std::string text = print_tiff_text(layout, *style, resolution);
  TIFFSetField(tiff, TIFFTAG_IMAGEDESCRIPTION, text.c_str());
  if (resolution.x <= 0 || resolution.y <= 0) return;
  TIFFSetField(tiff, TIFFTAG_XRESOLUTION, resolution.x);
  TIFFSetField(tiff, TIFFTAG_YRESOLUTION, resolution.y);
  TIFFSetField(tiff, TIFFTAG_RESOLUTIONUNIT, static_cast<std::uint16_t>(RESUNIT_NONE));
}

// A tile reaches past the edge of the picture: its last row and column go on there, which packs well.
bool write_tiles(TIFF* tiff, const Samples& s, i64 page, const TiffPacking& packing) {
  const i64 pixel = s.channels * static_cast<i64>(size_of(s.type)), row_bytes = packing.tile_width * pixel;
  std::vector<std::byte> tile(static_cast<std::size_t>(packing.tile_height * row_bytes));
  std::uint32_t number = 0;
  for (i64 y = 0; y < s.height; y += packing.tile_height) {
    for (i64 x = 0; x < s.width; x += packing.tile_width, ++number) {
      const i64 columns = std::min(packing.tile_width, s.width - x);
      for (i64 r = 0; r < packing.tile_height; ++r) {
        std::byte* to = tile.data() + r * row_bytes;
        std::memcpy(to, s.row(page, std::min(y + r, s.height - 1)) + x * pixel,
                    static_cast<std::size_t>(columns * pixel));
        for (i64 c = columns; c < packing.tile_width; ++c)
          std::memcpy(to + c * pixel, to + (c - 1) * pixel, static_cast<std::size_t>(pixel));
      }
      if (TIFFWriteEncodedTile(tiff, number, tile.data(), static_cast<tmsize_t>(tile.size())) < 0) return false;
    }
  }
  return true;
}

bool write_strips(TIFF* tiff, const Samples& s, i64 page, const TiffPacking& packing) {
  std::uint32_t rows = 0;
  TIFFGetField(tiff, TIFFTAG_ROWSPERSTRIP, &rows);
  std::vector<std::byte> buffer;  // the predictor works in place: the array must not change
  std::uint32_t strip = 0;
  for (i64 y = 0; y < s.height; y += rows, ++strip) {
    const i64 bytes = std::min<i64>(rows, s.height - y) * s.row_bytes();
    auto* data = const_cast<std::byte*>(s.row(page, y));
    if (packing.predictor) {
      buffer.assign(data, data + bytes);
      data = buffer.data();
    }
    if (TIFFWriteEncodedStrip(tiff, strip, data, static_cast<tmsize_t>(bytes)) < 0) return false;
  }
  return true;
}

// tifffile takes plain pages of ImageJ's for one piece when the second directory lies far enough behind, so here all
// directories lie ahead of the first page. Written in two rounds: directories without places, then each page and its
// places.
bool begin_page(TIFF* tiff) {
  return TIFFDeferStrileArrayWriting(tiff) == 1 && TIFFWriteCheck(tiff, TIFFIsTiled(tiff), "page") == 1 &&
         TIFFWriteDirectory(tiff) == 1;
}

bool fill_pages(TIFF* tiff, const Samples& s) {
  bool good = TIFFSetDirectory(tiff, 0) == 1;
  for (i64 page = 0; good && page < s.pages; ++page) {
    good = (page == 0 || TIFFReadDirectory(tiff) == 1) && write_strips(tiff, s, page, {}) &&
           TIFFForceStrileArrayWriting(tiff) == 1;
  }
  return good;
}

}  // namespace

bool packs_tiff(Packing packing) {
  return packing != Packing::zstd || TIFFIsCODECConfigured(COMPRESSION_ZSTD) == 1;
}

void encode_tiff(base::AtomicFile& file, const Samples& samples, const WriteOptions& options) {
  Session session;
  session.file = &file;
  TIFFOpenOptions* open_options = TIFFOpenOptionsAlloc();
  TIFFOpenOptionsSetErrorHandlerExtR(open_options, on_error, &session);
  TIFFOpenOptionsSetWarningHandlerExtR(open_options, on_warning, nullptr);
  // Directories take some room as well.
  const bool big = samples.values() * static_cast<i64>(size_of(samples.type)) + samples.pages * 512 > i64{4000} << 20;
  TIFF* tiff = TIFFClientOpenExt("", big ? "wl8" : "wl", &session, on_read, on_write, on_seek, on_close, on_size,
                                 nullptr, nullptr, open_options);
  TIFFOpenOptionsFree(open_options);
  bool good = tiff != nullptr;
  static const Metadata nothing;
  const Metadata& metadata = options.header.metadata ? *options.header.metadata : nothing;
  const TiffPacking packing =
      tiff_packing(options, metadata, samples.channels * static_cast<i64>(size_of(samples.type)));
  const bool plain = packing.compression == COMPRESSION_NONE && packing.tile_width == 0 && samples.pages > 1;
  for (i64 page = 0; good && page < samples.pages; ++page) {
    declare_tiff_tags(tiff);
    if (page == 0) {
      describe_axes(tiff, samples, file.path());
      write_tiff_texts(tiff, metadata);
    }
    write_tiff_metadata(tiff, metadata, options.header.nodata);
    describe(tiff, samples, page, packing);
    if (plain) {
      good = begin_page(tiff);
      continue;
    }
    good = (packing.tile_width > 0 ? write_tiles(tiff, samples, page, packing)
                                   : write_strips(tiff, samples, page, packing)) &&
           TIFFWriteDirectory(tiff) == 1;
  }
  if (good && plain) good = fill_pages(tiff, samples);
  if (tiff != nullptr) TIFFClose(tiff);
  if (session.failure) std::rethrow_exception(session.failure);
  if (!good) {
    throw Error(ErrorClass::io, fmt::format("cannot write {}: {}", base::quoted(file.path(), 1024),
                                            session.message.empty() ? "the TIFF library failed" : session.message));
  }
}

}  // namespace tessera::io
