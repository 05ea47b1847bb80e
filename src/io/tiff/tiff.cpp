// TIFF through libtiff: reading. Strips and tiles, interleaved and planar, classic and BigTIFF, every compression that
// the library was built with but old-style JPEG; several pages become a leading dimension, a series of volumes two.
//
// The directory of a file is checked against what its bytes can hold before memory is asked for: the bound depends on
// the compression. Samples pass through one small loop (Page::place) that undoes what differs from plain rows: packed
// bits, palettes, inverted grey, 8-bit signed numbers, ink.
#include <fmt/format.h>
#include <tiffio.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "io/axes.hpp"
#include "io/codec.hpp"
#include "io/tiff/pages.hpp"
#include "io/tiff/reader.hpp"
#include "io/tiff/tags.hpp"
#include "io/tiff/text.hpp"
#include "tessera/error.hpp"

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

// ---- one page ----------------------------------------------------------------------------------------------------

enum class Kind { plain, inverted, palette, ink };

struct Page {
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
  void place(const std::uint8_t* from, std::uint8_t* to, std::uint32_t count, int plane) const;
  void add_up(std::uint8_t* row, std::uint64_t pixels) const;
};

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

// A row as the library delivers it: each sample is added to that of the pixel before.
void Page::add_up(std::uint8_t* row, std::uint64_t pixels) const {
  const std::uint64_t step = planar == PLANARCONFIG_SEPARATE ? 1u : samples, count = pixels * step;
  if (bits == 8) add_up_as<std::uint8_t>(row, count, step);
  if (bits == 16) add_up_as<std::uint16_t>(row, count, step);
  if (bits == 32) add_up_as<std::uint32_t>(row, count, step);
  if (bits == 64) add_up_as<std::uint64_t>(row, count, step);
}

template <class T>
void invert(T* values, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<T>(~values[i]);
}

// `count` pixels into a row of the array; `to` is the first pixel there.
void Page::place(const std::uint8_t* from, std::uint8_t* to, std::uint32_t count, int plane) const {
  if (kind == Kind::ink) {
    for (std::uint32_t i = 0; i < count; ++i, from += 4, to += 3) {
      for (int c = 0; c < 3; ++c) to[c] = static_cast<std::uint8_t>(((255u - from[c]) * (255u - from[3]) + 127) / 255);
    }
    return;
  }
  if (bits < 8 || kind == Kind::palette) {
    const unsigned top = (1u << bits) - 1;
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::uint32_t bit = i * bits;
      const unsigned value = bits == 8 ? from[i] : (from[bit / 8] >> (8 - bits - bit % 8)) & top;
      if (kind == Kind::palette) {
        std::memcpy(to + 3 * i, colours.data() + std::size_t{3} * value, 3);
      } else {
        to[i] = static_cast<std::uint8_t>((kind == Kind::inverted ? top - value : value) * (255 / top));
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
  if (kind == Kind::inverted) {  // one channel, so that the row is contiguous
    if (type == ElementType::u8) invert(to, values);
    if (type == ElementType::u16) invert(reinterpret_cast<std::uint16_t*>(to), values);
    if (type == ElementType::u32) invert(reinterpret_cast<std::uint32_t*>(to), values);
  }
}

ElementType type_of(const TiffReader& reader, const Page& page) {
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

void read_palette(const TiffReader& reader, Page& page) {
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
  page.kind = Kind::palette;
  page.channels = 3;
  page.names = {"r", "g", "b"};
}

// Of the samples beyond the colours, the tag ExtraSamples says which are alpha, multiplied into the colours (1) or not
// (2); others, and those that it leaves out, are bands, such as near infrared.
void name_channels(const TiffReader& reader, Page& page, bool colour) {
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

void read_colour(const TiffReader& reader, Page& page) {
  const auto photometric = reader.tag<std::uint16_t>(TIFFTAG_PHOTOMETRIC);
  page.channels = page.samples;
  switch (photometric) {
    case PHOTOMETRIC_MINISBLACK:
    case PHOTOMETRIC_MASK:
      break;
    case PHOTOMETRIC_MINISWHITE:
      if (page.samples == 1 && !is_float(page.type) && page.sample_format != SAMPLEFORMAT_INT)
        page.kind = Kind::inverted;
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
      page.kind = Kind::ink;
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
void read_predictor(const TiffReader& reader, Page& page) {
  if (page.compression != COMPRESSION_PACKBITS) return;
  const std::uint64_t predictor = reader.hidden_tag(TIFFTAG_PREDICTOR, PREDICTOR_NONE);
  page.differences = predictor == PREDICTOR_HORIZONTAL && page.bits >= 8;
  if (predictor != PREDICTOR_NONE && !page.differences)
    reader.refuse(fmt::format("its predictor is number {} with PackBits, which is not read", predictor));
}

// What the current directory says, or an Error when it says what is not read.
Page read_page(const TiffReader& reader) {
  Page page;
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

void read_strips(const TiffReader& reader, const Page& page, std::uint8_t* out) {
  const auto rows_per_strip = std::min(std::max(reader.tag<std::uint32_t>(TIFFTAG_ROWSPERSTRIP), 1u), page.height);
  const std::size_t row_bytes = page.format().size() * page.width;
  const std::uint64_t packed_row = page.packed(page.width);
  if (static_cast<std::uint64_t>(TIFFScanlineSize64(reader.get())) != packed_row)
    reader.fail("its rows have no usable size");
  const int planes = page.planar == PLANARCONFIG_SEPARATE ? page.samples : 1;
  std::vector<std::uint8_t> buffer(page.direct() ? 0 : packed_row * rows_per_strip);
  std::uint32_t strip = 0;
  for (int plane = 0; plane < planes; ++plane) {
    for (std::uint32_t y = 0; y < page.height; y += std::min(rows_per_strip, page.height - y), ++strip) {
      const std::uint32_t rows = std::min(rows_per_strip, page.height - y);
      std::uint8_t* first = out + y * row_bytes;
      std::uint8_t* target = page.direct() ? first : buffer.data();
      const auto size = static_cast<tmsize_t>(packed_row * rows);
      if (TIFFReadEncodedStrip(reader.get(), strip, target, size) != size)
        reader.fail(fmt::format("strip {} is damaged or cut short", strip));
      for (std::uint32_t r = 0; r < rows && page.differences; ++r) page.add_up(target + r * packed_row, page.width);
      for (std::uint32_t r = 0; r < rows && !page.direct(); ++r) {
        page.place(target + r * packed_row, first + r * row_bytes, page.width, plane);
      }
    }
  }
}

void read_tiles(const TiffReader& reader, const Page& page, double ratio, std::uint8_t* out) {
  const auto tile_width = reader.tag<std::uint32_t>(TIFFTAG_TILEWIDTH),
             tile_height = reader.tag<std::uint32_t>(TIFFTAG_TILELENGTH);
  if (tile_width == 0 || tile_height == 0 || tile_width > 0x7fffffff || tile_height > 0x7fffffff)
    reader.fail("its tiles have no size");
  const std::uint64_t packed_row = page.packed(tile_width);
  // A tile may reach past the image, but not past what the file could hold.
  const double declared = static_cast<double>(packed_row) * tile_height;
  const double bound = std::max(ratio * reader.source().total(), 0x1p20);
  if (declared > bound || static_cast<double>(TIFFTileSize64(reader.get())) != declared) {
    reader.fail(fmt::format("its tiles of {}x{} are larger than the file can hold", tile_height, tile_width));
  }
  // A tile may be larger than its image: the limit of memory holds for it, too.
  if (declared > 0x1p20)
    check_declared(reader.source(), "TIFF", ElementType::u8,
                   {static_cast<i64>(tile_height), static_cast<i64>(packed_row)}, ratio);
  std::vector<std::uint8_t> buffer(packed_row * tile_height);
  const std::size_t pixel = page.format().size(), row_bytes = pixel * page.width;
  const int planes = page.planar == PLANARCONFIG_SEPARATE ? page.samples : 1;
  for (int plane = 0; plane < planes; ++plane) {
    for (std::uint64_t y = 0; y < page.height; y += tile_height) {
      for (std::uint64_t x = 0; x < page.width; x += tile_width) {
        const std::uint32_t tile = TIFFComputeTile(reader.get(), static_cast<std::uint32_t>(x),
                                                   static_cast<std::uint32_t>(y), 0, static_cast<std::uint16_t>(plane));
        const auto size = static_cast<tmsize_t>(buffer.size());
        if (TIFFReadEncodedTile(reader.get(), tile, buffer.data(), size) != size)
          reader.fail(fmt::format("tile {} is damaged or cut short", tile));
        const auto rows = static_cast<std::uint32_t>(std::min<std::uint64_t>(tile_height, page.height - y));
        const auto columns = static_cast<std::uint32_t>(std::min<std::uint64_t>(tile_width, page.width - x));
        for (std::uint32_t r = 0; r < rows; ++r) {
          if (page.differences) page.add_up(buffer.data() + r * packed_row, tile_width);
          page.place(buffer.data() + r * packed_row, out + (y + r) * row_bytes + x * pixel, columns, plane);
        }
      }
    }
  }
}

// Thumbnails and masks are pages of another kind.
bool is_image(const TiffReader& reader) {
  return (reader.tag<std::uint32_t>(TIFFTAG_SUBFILETYPE) & (FILETYPE_REDUCEDIMAGE | FILETYPE_MASK)) == 0;
}

// What the current page says of itself; what is wrong with it is kept, since it may not be wanted.
ListedPage list_page(const TiffReader& reader, tdir_t directory, bool first) {
  ListedPage listed;
  listed.directory = directory;
  const char* text = nullptr;
  if (TIFFGetField(reader.get(), TIFFTAG_IMAGEDESCRIPTION, &text) == 1 && text != nullptr) {
    // Of pages behind the first one only a series of tifffile's is of interest; many may share a long text.
    constexpr std::size_t longest = 4096;
    listed.text = std::string_view(text).substr(0, first ? std::string_view::npos : longest);
    float x = 0, y = 0;
    TIFFGetField(reader.get(), TIFFTAG_XRESOLUTION, &x);
    TIFFGetField(reader.get(), TIFFTAG_YRESOLUTION, &y);
    listed.resolution = {x, y, reader.tag<std::uint16_t>(TIFFTAG_RESOLUTIONUNIT)};
  }
  try {
    const Page page = read_page(reader);
    listed.height = page.height;
    listed.width = page.width;
    listed.format = page.format();
    listed.orientation = tiff_orientation(reader.get(), 0);
    listed.packed = page.compression != COMPRESSION_NONE;
    listed.planar = page.planar == PLANARCONFIG_SEPARATE;
  } catch (const Error& e) {
    listed.failure = e.message();
  }
  return listed;
}

// Pages of an image are alike.
void check_pages(const Source& source, const std::vector<ListedPage>& all, const std::vector<std::size_t>& pages) {
  const ListedPage& first = all[pages.front()];
  for (const std::size_t k : pages) {
    const ListedPage& page = all[k];
    if (!page.failure.empty()) throw Error(ErrorClass::io, page.failure);
    if (page.orientation != 0 && page.orientation != std::max(first.orientation, 1))
      source.fail("TIFF",
                  fmt::format("page {} has orientation {}, page {} has {}", k, page.orientation, pages.front(),
                              first.orientation),
                  fmt::format("--page {} reads one page", k));
    if (page.width == first.width && page.height == first.height && page.format == first.format) continue;
    source.fail("TIFF",
                fmt::format("page {} is {}x{} of {}, page {} is {}x{} of {}", k, page.height, page.width,
                            page.format.name(), pages.front(), first.height, first.width, first.format.name()),
                fmt::format("--page {} reads one page, --page {}-{} those from one to the other", k, pages.front(),
                            pages.front() + 1));
  }
}

double ratio_of(const Page& page) {
  return ratio_of(page.compression) * (page.bits < 8 ? 8.0 / page.bits : 1) * (page.kind == Kind::palette ? 3 : 1) *
         (page.sample_format == SAMPLEFORMAT_INT ? 2 : 1);
}

// What reading a page takes beside the array: a strip or tile as it is in the file, and one unpacked that is no row of
// the array.
double beside_page(const TiffReader& reader, const Page& page) {
  const bool tiled = TIFFIsTiled(reader.get()) != 0;
  double unpacked = 0, packed = 0;
  if (tiled || !page.direct())
    unpacked = static_cast<double>(tiled ? TIFFTileSize64(reader.get()) : TIFFStripSize64(reader.get()));
  const std::uint32_t pieces = tiled ? TIFFNumberOfTiles(reader.get()) : TIFFNumberOfStrips(reader.get());
  for (std::uint32_t k = 0; k < pieces && page.compression != COMPRESSION_NONE; ++k)
    packed = std::max(packed, static_cast<double>(TIFFGetStrileByteCount(reader.get(), k)));
  return unpacked + std::min(packed, reader.source().total());
}

// The pages one behind the other, in the order of the plan; read in that of the file.
Array read_pages(TiffReader& reader, const std::vector<ListedPage>& all, const PagePlan& plan) {
  const ListedPage& first = all[plan.pages.front()];
  Shape shape = plan.leading;
  shape.insert(shape.end(), {first.height, first.width});
  std::vector<std::pair<i64, std::size_t>> order;
  for (std::size_t k = 0; k < plan.pages.size(); ++k) order.emplace_back(all[plan.pages[k]].directory, k);
  std::sort(order.begin(), order.end());
  double ratio = 1, beside = 0;
  const auto go = [&](std::size_t k) {
    if (k == 0 || order[k].first < order[k - 1].first) {
      if (TIFFSetDirectory(reader.get(), static_cast<tdir_t>(order[k].first)) != 1)
        reader.fail("its directory is damaged");
      return;
    }
    for (i64 at = order[k - 1].first; at < order[k].first; ++at)
      if (!reader.next()) reader.fail("its directory is damaged");
  };
  for (std::size_t k = 0; k < order.size(); ++k) {
    go(k);
    const Page page = read_page(reader);
    ratio = std::max(ratio, ratio_of(page));
    beside = std::max(beside, beside_page(reader, page));
  }
  // Dimensions that stand in another order than an array has them are copied when all of them are there.
  const int copies = (plan.samples_at ? 1 : 0) + (!plan.letters.empty() && arranging_copies(plan.letters) ? 1 : 0);
  const double bytes = static_cast<double>(element_count(shape)) * static_cast<double>(first.format.size());
  beside = std::max(beside, copies * bytes);
  const Array image = allocate(reader.source(), "TIFF", first.format, shape, ratio, beside);
  const std::size_t page_bytes = first.format.size() * static_cast<std::size_t>(first.width * first.height);
  for (std::size_t k = 0; k < order.size(); ++k) {
    go(k);
    const Page page = read_page(reader);
    auto* out = image.as<std::uint8_t>() + order[k].second * page_bytes;
    if (TIFFIsTiled(reader.get()) != 0)
      read_tiles(reader, page, ratio, out);
    else
      read_strips(reader, page, out);
  }
  return image;
}

}  // namespace

Array decode_tiff(const Source& source) {
  const auto largest = static_cast<std::int64_t>(std::min(0x1p17 * source.total() + 0x1p20, 0x1p40));
  TiffReader reader(source, std::min(largest, std::max<std::int64_t>(source.most_bytes(), 1 << 20)));

  std::vector<ListedPage> all;
  tdir_t directory = 0;
  do {
    if (is_image(reader)) all.push_back(list_page(reader, directory, all.empty()));
    ++directory;
  } while (reader.next());
  if (all.empty()) reader.fail("it has no image");
  const PagePlan plan = plan_pages(source, all);
  check_pages(source, all, plan.pages);
  const Array pages = read_pages(reader, all, plan);

  const ListedPage& first = all[plan.pages.front()];
  if (TIFFSetDirectory(reader.get(), static_cast<tdir_t>(first.directory)) != 1)
    reader.fail("its directory is damaged");
  ImageHeader header;
  read_tiff_metadata(reader.get(), header);
  Image image = arrange_pages(pages, plan, std::move(header));
  image.header.associated_alpha = !plan.samples_at && read_page(reader).associated_alpha;
  if (source.orientation != nullptr) *source.orientation = std::max(first.orientation, 1);
  if (source.header != nullptr) *source.header = std::move(image.header);
  return image.array;
}

}  // namespace tessera::io
