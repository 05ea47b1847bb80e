// One page of a TIFF as its directory says it is, and its strips and tiles as pixels.
//
// Samples pass through one small loop (TiffPage::place) that undoes what differs from plain rows: packed bits,
// palettes, inverted grey, 8-bit signed numbers, ink. Reading a whole file and reading regions of one go through the
// same blocks.
#pragma once

#include <tiffio.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "io/tiff/reader.hpp"
#include "tessera/array.hpp"

namespace tessera::io {

struct TiffPage {
  enum class Kind { plain, inverted, palette, ink };
  std::uint32_t width = 0, height = 0;
  std::uint16_t samples = 1, bits = 1, sample_format = SAMPLEFORMAT_UINT, planar = PLANARCONFIG_CONTIG, compression = 1;
  Kind kind = Kind::plain;
  ElementType type = ElementType::u8;
  int channels = 1;  // of the array
  std::vector<std::string> names = {""};
  bool differences = false;  // samples are told as differences along a row, which the library leaves alone
  bool associated_alpha = false;
  std::vector<std::uint8_t> colours;  // of a palette, 3 per entry

  Format format() const { return named_pixels(type, names); }
  // A decoded row is the row of the array.
  bool direct() const {
    return kind == Kind::plain && bits >= 8 && !(bits == 8 && sample_format == SAMPLEFORMAT_INT) &&
           (planar == PLANARCONFIG_CONTIG || samples == 1);
  }
  // Bytes of `count` pixels as the library delivers them (of one plane when planar).
  std::uint64_t packed(std::uint64_t count) const {
    const std::uint64_t per_pixel = planar == PLANARCONFIG_SEPARATE ? 1u : samples;
    return (count * per_pixel * bits + 7) / 8;
  }
  int planes() const { return planar == PLANARCONFIG_SEPARATE ? samples : 1; }
  // `count` pixels of a plane as the library delivers them into a row of the array; `to` is the first pixel there.
  void place(const std::uint8_t* from, std::uint8_t* to, std::uint32_t count, int plane) const;
  // A row as the library delivers it: each sample is added to that of the pixel before.
  void add_up(std::uint8_t* row, std::uint64_t pixels) const;
};

// What the current directory says, or an Error when it says what is not read.
TiffPage read_page(const TiffReader&);
// The most bytes that one byte of the page can stand for.
double ratio_of(const TiffPage&);
// What reading a page takes beside the array: a strip or tile as it is in the file, and one unpacked that is no row of
// the array.
double beside_page(const TiffReader&, const TiffPage&);

// The strips or the tiles of the current page. Sizes that the file cannot hold are refused before memory is asked for.
class TiffBlocks {
 public:
  TiffBlocks(const TiffReader&, const TiffPage&, double ratio);
  i64 height() const { return height_; }
  i64 width() const { return width_; }
  bool tiled() const { return tiled_; }
  std::uint32_t number(i64 y, i64 x, int plane) const;
  // The one that begins at this pixel, as far as the page reaches. `to`: its first pixel in an array whose rows are
  // `row_bytes` apart.
  void read(i64 y, i64 x, std::uint8_t* to, std::size_t row_bytes);

 private:
  void check_tiles(double ratio) const;
  void read_plane(i64 y, i64 x, int plane, std::uint8_t* to, std::size_t row_bytes);

  const TiffReader& reader_;
  const TiffPage& page_;
  bool tiled_ = false;
  i64 height_ = 0, width_ = 0;
  std::uint64_t packed_row_ = 0;
  std::vector<std::uint8_t> buffer_;
};

}  // namespace tessera::io
