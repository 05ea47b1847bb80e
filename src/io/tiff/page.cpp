// One page of a TIFF; see page.hpp.
#include "io/tiff/page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "io/codec.hpp"

namespace tessera::io {
namespace {

// The most bytes that one byte of a compressed file can stand for.
double ratio_of(std::uint16_t compression) {
  switch (compression) {
    case COMPRESSION_NONE:
      return 1;
    case COMPRESSION_PACKBITS:
      return 128;
    case COMPRESSION_DEFLATE:
    case COMPRESSION_ADOBE_DEFLATE:
      return 1040;
    case COMPRESSION_LZW:
    case COMPRESSION_JPEG:
      return 4096;
    default:
      return 0x1p17;  // fax (a white row is one bit), LZMA, Zstandard, WebP
  }
}

template <class T>
void add_up_as(std::uint8_t* row, std::uint64_t count, std::uint64_t step) {
  for (std::uint64_t i = step; i < count; ++i) {
    T before, value;
    std::memcpy(&before, row + (i - step) * sizeof(T), sizeof(T));
    std::memcpy(&value, row + i * sizeof(T), sizeof(T));
    value = static_cast<T>(value + before);
    std::memcpy(row + i * sizeof(T), &value, sizeof(T));
  }
}

template <class T>
void invert(T* values, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<T>(~values[i]);
}

ElementType type_of(const TiffReader& reader, const TiffPage& page) {
  const auto unknown = [&]() {
    reader.refuse(fmt::format(
        "its samples have {} bits in format {}, expected integers of 1, 2, 4, 8, 16 or 32 bits or floats of "
        "16, 32 or 64",
        page.bits, page.sample_format));
  };
  switch (page.sample_format) {
    case SAMPLEFORMAT_UINT:
    case SAMPLEFORMAT_VOID:
      if (page.bits == 1 || page.bits == 2 || page.bits == 4 || page.bits == 8) return ElementType::u8;
      if (page.bits == 16) return ElementType::u16;
      if (page.bits == 32) return ElementType::u32;
      break;
    case SAMPLEFORMAT_INT:
      if (page.bits == 8 || page.bits == 16) return ElementType::i16;
      if (page.bits == 32) return ElementType::i32;
      break;
    case SAMPLEFORMAT_IEEEFP:
      if (page.bits == 16) return ElementType::f16;
      if (page.bits == 32) return ElementType::f32;
      if (page.bits == 64) return ElementType::f64;
      break;
    default:
      break;
  }
  unknown();
  return ElementType::u8;
}

void read_palette(const TiffReader& reader, TiffPage& page) {
  std::uint16_t *red = nullptr, *green = nullptr, *blue = nullptr;
  if (page.bits > 8 || page.samples != 1 || page.type != ElementType::u8 ||
      TIFFGetField(reader.get(), TIFFTAG_COLORMAP, &red, &green, &blue) != 1) {
    reader.refuse("its palette is missing or has samples of more than 8 bits");
  }
  const std::size_t entries = std::size_t{1} << page.bits;
  bool wide = false;  // old programs stored 8 bits where 16 belong
  for (std::size_t i = 0; i < entries; ++i) wide = wide || red[i] > 255 || green[i] > 255 || blue[i] > 255;
  for (std::size_t i = 0; i < entries; ++i) {
    for (const std::uint16_t value : {red[i], green[i], blue[i]}) {
      page.colours.push_back(static_cast<std::uint8_t>(wide ? value >> 8 : value));
    }
  }
  page.kind = TiffPage::Kind::palette;
  page.channels = 3;
  page.names = {"r", "g", "b"};
}

// Of the samples beyond the colours, the tag ExtraSamples says which are alpha, multiplied into the colours (1) or not
// (2); others, and those that it leaves out, are bands, such as near infrared.
void name_channels(const TiffReader& reader, TiffPage& page, bool colour) {
  std::uint16_t count = 0;
  const std::uint16_t* kinds = nullptr;
  if (TIFFGetField(reader.get(), TIFFTAG_EXTRASAMPLES, &count, &kinds) != 1) count = 0;
  const int colours = colour ? 3 : 1;
  if (colour) page.names = {"r", "g", "b"};
  bool alpha = false;
  for (int k = colours; k < page.channels; ++k) {
    const std::uint16_t kind = k - colours < count ? kinds[k - colours] : std::uint16_t{EXTRASAMPLE_UNSPECIFIED};
    const bool is_alpha = !alpha && (kind == EXTRASAMPLE_ASSOCALPHA || kind == EXTRASAMPLE_UNASSALPHA);
    page.associated_alpha = page.associated_alpha || (is_alpha && kind == EXTRASAMPLE_ASSOCALPHA);
    alpha = alpha || is_alpha;
    page.names.push_back(is_alpha ? "a" : band_name(k));
  }
  if (!colour && page.channels > 1) page.names[0] = alpha ? "g" : band_name(0);
}

void read_colour(const TiffReader& reader, TiffPage& page) {
  const auto photometric = reader.tag<std::uint16_t>(TIFFTAG_PHOTOMETRIC);
  page.channels = page.samples;
  switch (photometric) {
    case PHOTOMETRIC_MINISBLACK:
    case PHOTOMETRIC_MASK:
      break;
    case PHOTOMETRIC_MINISWHITE:
      if (page.samples == 1 && !is_float(page.type) && page.sample_format != SAMPLEFORMAT_INT)
        page.kind = TiffPage::Kind::inverted;
      break;
    case PHOTOMETRIC_RGB:
      if (page.samples < 3) reader.refuse(fmt::format("it is RGB with {} channels", page.samples));
      break;
    case PHOTOMETRIC_PALETTE:
      return read_palette(reader, page);
    case PHOTOMETRIC_YCBCR:
      if (page.compression != COMPRESSION_JPEG || page.samples != 3 || page.bits != 8 ||
          page.planar != PLANARCONFIG_CONTIG) {
        reader.refuse("its colours are YCbCr without JPEG compression, expected grey, RGB, a palette or CMYK");
      }
      TIFFSetField(reader.get(), TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB);
      break;
    case PHOTOMETRIC_SEPARATED:
      if (page.samples != 4 || page.bits != 8 || page.type != ElementType::u8 || page.planar != PLANARCONFIG_CONTIG) {
        reader.refuse("its ink is not plain 8-bit CMYK");
      }
      page.kind = TiffPage::Kind::ink;
      page.channels = 3;
      page.names = {"r", "g", "b"};
      return;
    default:
      reader.refuse(fmt::format("its colour space is number {}, expected grey, RGB, a palette or CMYK", photometric));
  }
  if (page.bits < 8 && page.samples != 1)
    reader.refuse(fmt::format("it has {} channels of {} bits", page.samples, page.bits));
  name_channels(reader, page, photometric == PHOTOMETRIC_RGB || photometric == PHOTOMETRIC_YCBCR);
}

// The library undoes a predictor with the compressions that it knows one of; other programs write it with PackBits too.
void read_predictor(const TiffReader& reader, TiffPage& page) {
  if (page.compression != COMPRESSION_PACKBITS) return;
  const std::uint64_t predictor = reader.hidden_tag(TIFFTAG_PREDICTOR, PREDICTOR_NONE);
  page.differences = predictor == PREDICTOR_HORIZONTAL && page.bits >= 8;
  if (predictor != PREDICTOR_NONE && !page.differences)
    reader.refuse(fmt::format("its predictor is number {} with PackBits, which is not read", predictor));
}

}  // namespace

void TiffPage::add_up(std::uint8_t* row, std::uint64_t pixels) const {
  const std::uint64_t step = planar == PLANARCONFIG_SEPARATE ? 1u : samples, count = pixels * step;
  if (bits == 8) add_up_as<std::uint8_t>(row, count, step);
  if (bits == 16) add_up_as<std::uint16_t>(row, count, step);
  if (bits == 32) add_up_as<std::uint32_t>(row, count, step);
  if (bits == 64) add_up_as<std::uint64_t>(row, count, step);
}

void TiffPage::place(const std::uint8_t* from, std::uint8_t* to, std::uint32_t count, int plane) const {
  if (kind == TiffPage::Kind::ink) {
    for (std::uint32_t i = 0; i < count; ++i, from += 4, to += 3) {
      for (int c = 0; c < 3; ++c) to[c] = static_cast<std::uint8_t>(((255u - from[c]) * (255u - from[3]) + 127) / 255);
    }
    return;
  }
  if (bits < 8 || kind == TiffPage::Kind::palette) {
    const unsigned top = (1u << bits) - 1;
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::uint32_t bit = i * bits;
      const unsigned value = bits == 8 ? from[i] : (from[bit / 8] >> (8 - bits - bit % 8)) & top;
      if (kind == TiffPage::Kind::palette) {
        std::memcpy(to + 3 * i, colours.data() + std::size_t{3} * value, 3);
      } else {
        to[i] = static_cast<std::uint8_t>((kind == TiffPage::Kind::inverted ? top - value : value) * (255 / top));
      }
    }
    return;
  }
  const std::size_t width_of = size_of(type);
  const bool separate = planar == PLANARCONFIG_SEPARATE;
  const std::size_t per_pixel = separate ? 1 : static_cast<std::size_t>(channels);
  const std::size_t step = separate ? static_cast<std::size_t>(channels) : 1;
  if (separate) to += static_cast<std::size_t>(plane) * width_of;
  const std::size_t values = count * per_pixel;
  if (bits == 8 && sample_format == SAMPLEFORMAT_INT) {
    for (std::size_t i = 0; i < values; ++i) {
      const auto value = static_cast<std::int16_t>(static_cast<std::int8_t>(from[i]));
      std::memcpy(to + i * step * 2, &value, 2);
    }
  } else {
    for (std::size_t i = 0; i < values; ++i) std::memcpy(to + i * step * width_of, from + i * width_of, width_of);
  }
  if (kind == TiffPage::Kind::inverted) {  // one channel, so that the row is contiguous
    if (type == ElementType::u8) invert(to, values);
    if (type == ElementType::u16) invert(reinterpret_cast<std::uint16_t*>(to), values);
    if (type == ElementType::u32) invert(reinterpret_cast<std::uint32_t*>(to), values);
  }
}

TiffPage read_page(const TiffReader& reader) {
  TiffPage page;
  if (TIFFGetField(reader.get(), TIFFTAG_IMAGEWIDTH, &page.width) != 1 ||
      TIFFGetField(reader.get(), TIFFTAG_IMAGELENGTH, &page.height) != 1 || page.width == 0 || page.height == 0 ||
      page.width > 0x7fffffff || page.height > 0x7fffffff) {
    reader.fail("a page has no usable size");
  }
  page.samples = reader.tag<std::uint16_t>(TIFFTAG_SAMPLESPERPIXEL);
  page.bits = reader.tag<std::uint16_t>(TIFFTAG_BITSPERSAMPLE);
  page.sample_format = reader.tag<std::uint16_t>(TIFFTAG_SAMPLEFORMAT);
  page.planar = reader.tag<std::uint16_t>(TIFFTAG_PLANARCONFIG);
  page.compression = reader.tag<std::uint16_t>(TIFFTAG_COMPRESSION);
  if (page.samples < 1 || page.samples > 256) {
    reader.refuse(fmt::format("it has {} channels, expected 1 to 256", page.samples));
  }
  if (page.compression == COMPRESSION_OJPEG || TIFFIsCODECConfigured(page.compression) != 1) {
    reader.refuse(fmt::format("its compression is number {}, which is not read", page.compression));
  }
  if (page.samples == 1) page.planar = PLANARCONFIG_CONTIG;
  read_predictor(reader, page);
  page.type = type_of(reader, page);
  read_colour(reader, page);
  return page;
}

double ratio_of(const TiffPage& page) {
  return ratio_of(page.compression) * (page.bits < 8 ? 8.0 / page.bits : 1) *
         (page.kind == TiffPage::Kind::palette ? 3 : 1) * (page.sample_format == SAMPLEFORMAT_INT ? 2 : 1);
}

double beside_page(const TiffReader& reader, const TiffPage& page) {
  const bool tiled = TIFFIsTiled(reader.get()) != 0;
  double unpacked = 0, packed = 0;
  if (tiled || !page.direct())
    unpacked = static_cast<double>(tiled ? TIFFTileSize64(reader.get()) : TIFFStripSize64(reader.get()));
  const std::uint32_t pieces = tiled ? TIFFNumberOfTiles(reader.get()) : TIFFNumberOfStrips(reader.get());
  for (std::uint32_t k = 0; k < pieces && page.compression != COMPRESSION_NONE; ++k)
    packed = std::max(packed, static_cast<double>(TIFFGetStrileByteCount(reader.get(), k)));
  return unpacked + std::min(packed, reader.source().total());
}

// ---- strips and tiles --------------------------------------------------------------------------------------------

TiffBlocks::TiffBlocks(const TiffReader& reader, const TiffPage& page, double ratio) : reader_(reader), page_(page) {
  tiled_ = TIFFIsTiled(reader.get()) != 0;
  if (tiled_) {
    height_ = reader.tag<std::uint32_t>(TIFFTAG_TILELENGTH);
    width_ = reader.tag<std::uint32_t>(TIFFTAG_TILEWIDTH);
    constexpr i64 most = std::numeric_limits<std::int32_t>::max();
    if (width_ == 0 || height_ == 0 || width_ > most || height_ > most) reader.fail("its tiles have no size");
  } else {
    height_ = std::min(std::max(reader.tag<std::uint32_t>(TIFFTAG_ROWSPERSTRIP), 1u), page.height);
    width_ = page.width;
  }
  packed_row_ = page.packed(static_cast<std::uint64_t>(width_));
  if (tiled_)
    check_tiles(ratio);
  else if (static_cast<std::uint64_t>(TIFFScanlineSize64(reader.get())) != packed_row_)
    reader.fail("its rows have no usable size");
}

void TiffBlocks::check_tiles(double ratio) const {
  // A tile may reach past the image, but not past what the file could hold.
  const double declared = static_cast<double>(packed_row_) * static_cast<double>(height_);
  const double bound = std::max(ratio * reader_.source().total(), 0x1p20);
  if (declared > bound || static_cast<double>(TIFFTileSize64(reader_.get())) != declared)
    reader_.fail(fmt::format("its tiles of {}x{} are larger than the file can hold", height_, width_));
  // A tile may be larger than its image: the limit of memory holds for it, too.
  if (declared > 0x1p20)
    check_declared(reader_.source(), "TIFF", ElementType::u8, {height_, static_cast<i64>(packed_row_)}, ratio);
}

std::uint32_t TiffBlocks::number(i64 y, i64 x, int plane) const {
  const auto row = static_cast<std::uint32_t>(y);
  const auto sample = static_cast<std::uint16_t>(plane);
  return tiled_ ? TIFFComputeTile(reader_.get(), static_cast<std::uint32_t>(x), row, 0, sample)
                : TIFFComputeStrip(reader_.get(), row, sample);
}

void TiffBlocks::read(i64 y, i64 x, std::uint8_t* to, std::size_t row_bytes) {
  for (int plane = 0; plane < page_.planes(); ++plane) read_plane(y, x, plane, to, row_bytes);
}

void TiffBlocks::read_plane(i64 y, i64 x, int plane, std::uint8_t* to, std::size_t row_bytes) {
  const i64 rows = std::min<i64>(height_, page_.height - y), columns = std::min<i64>(width_, page_.width - x);
  const std::uint32_t block = number(y, x, plane);
  // Of a tile all is delivered, of a strip what the page has.
  const bool in_place = !tiled_ && page_.direct() && row_bytes == packed_row_;
  const std::uint64_t bytes = packed_row_ * static_cast<std::uint64_t>(tiled_ ? height_ : rows);
  if (!in_place && buffer_.size() < bytes) buffer_.resize(bytes);
  std::uint8_t* packed = in_place ? to : buffer_.data();
  const auto size = static_cast<tmsize_t>(bytes);
  // (The library takes the start of the file for a block that is not there.)
  const tmsize_t got = TIFFGetStrileOffset(reader_.get(), block) == 0 ? 0
                       : tiled_ ? TIFFReadEncodedTile(reader_.get(), block, packed, size)
                                : TIFFReadEncodedStrip(reader_.get(), block, packed, size);
  if (got != size) reader_.fail(fmt::format("{} {} is damaged or cut short", tiled_ ? "tile" : "strip", block));
  for (i64 r = 0; r < rows; ++r) {
    std::uint8_t* row = packed + static_cast<std::uint64_t>(r) * packed_row_;
    if (page_.differences) page_.add_up(row, static_cast<std::uint64_t>(width_));
    if (!in_place)
      page_.place(row, to + static_cast<std::size_t>(r) * row_bytes, static_cast<std::uint32_t>(columns), plane);
  }
}

}  // namespace tessera::io
