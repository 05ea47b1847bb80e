// TIFF through libtiff: writing. Little-endian strips of about 1 MiB, or tiles where the picture came in tiles,
// interleaved; BigTIFF where 4 GiB do not suffice; leading dimensions become pages, and the distances between points
// are told as ImageJ does. Packed as asked for, else as the file that the picture came from.
#include <tiffio.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "io/codec.hpp"
#include "io/tiff/describe.hpp"
#include "io/tiff/tags.hpp"
#include "io/tiff/writer.hpp"

namespace tessera::io {
namespace {

class FileSink : public TiffSink {
 public:
  explicit FileSink(base::AtomicFile& file) : file_(file) {}
  std::size_t read_at(std::int64_t offset, std::span<std::byte> to) override { return file_.read_at(offset, to); }
  void write_at(std::int64_t offset, std::span<const std::byte> from) override { file_.write_at(offset, from); }

 private:
  base::AtomicFile& file_;
};

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
  // Directories take some room as well.
  const bool big = samples.values() * static_cast<i64>(size_of(samples.type)) + samples.pages * 512 > i64{4000} << 20;
  FileSink sink(file);
  TiffWriter writer(sink, big ? "wl8" : "wl");
  TIFF* tiff = writer.get();
  bool good = tiff != nullptr;
  static const Metadata nothing;
  const Metadata& metadata = options.header.metadata ? *options.header.metadata : nothing;
  const TiffPacking packing =
      tiff_packing(options, metadata, samples.channels * static_cast<i64>(size_of(samples.type)));
  const TiffDescription description{samples, metadata, options.header.nodata, packing, file.path()};
  const bool plain = packing.compression == COMPRESSION_NONE && packing.tile_width == 0 && samples.pages > 1;
  for (i64 page = 0; good && page < samples.pages; ++page) {
    describe_page(tiff, description, page);
    if (plain) {
      good = begin_page(tiff);
      continue;
    }
    good = (packing.tile_width > 0 ? write_tiles(tiff, samples, page, packing)
                                   : write_strips(tiff, samples, page, packing)) &&
           TIFFWriteDirectory(tiff) == 1;
  }
  if (good && plain) good = fill_pages(tiff, samples);
  writer.finish(good, file.path());
}

}  // namespace tessera::io
