// Tags of TIFF that tell of the picture; see tags.hpp.
//
// GeoTIFF's and GDAL's tags are none of the library's own. On reading it takes them as nameless fields, with a count in
// front; on writing they have to be declared, for every page anew.
#include "io/tiff/tags.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/text.hpp"
#include "io/tiff/text.hpp"

namespace tessera::io {
namespace {

enum : std::uint32_t {
  tag_scale = 33550,
  tag_tiepoints = 33922,
  tag_matrix = 34264,
  tag_keys = 34735,
  tag_doubles = 34736,
  tag_text = 34737,
  tag_gdal = 42112,
  tag_nodata = 42113,
  tag_rational_map = 50844,
  tag_imagej_counts = 50838,
  tag_imagej = 50839
};
constexpr std::uint32_t most_values = 1 << 20;
constexpr std::size_t most_text = std::size_t{16} << 20;

// The type of a tag of several values that the page has; none else.
TIFFDataType type_of(TIFF* tiff, std::uint32_t tag) {
  const TIFFField* field = TIFFFindField(tiff, tag, TIFF_ANY);
  return field == nullptr || TIFFFieldPassCount(field) == 0 ? TIFF_NOTYPE : TIFFFieldDataType(field);
}

template <class T>
std::vector<T> values_of(TIFF* tiff, std::uint32_t tag, TIFFDataType type) {
  std::uint32_t count = 0;
  const void* data = nullptr;
  if (type_of(tiff, tag) != type || TIFFGetField(tiff, tag, &count, &data) != 1 || data == nullptr ||
      count > most_values)
    return {};
  std::vector<T> values(count);
  std::memcpy(values.data(), data, count * sizeof(T));
  return values;
}

std::string text_of(TIFF* tiff, std::uint32_t tag) {
  std::string text;
  for (const char c : values_of<char>(tiff, tag, TIFF_ASCII)) {
    if (c == 0) break;
    text += c;
  }
  return text;
}

bool all_finite(const std::vector<double>& values) {
  for (const double v : values)
    if (!std::isfinite(v)) return false;
  return true;
}

constexpr std::pair<std::uint32_t, const char*> texts[] = {{TIFFTAG_IMAGEDESCRIPTION, "description"},
                                                           {TIFFTAG_ARTIST, "artist"},
                                                           {TIFFTAG_COPYRIGHT, "copyright"},
                                                           {TIFFTAG_SOFTWARE, "software"},
                                                           {TIFFTAG_DATETIME, "date"}};

// A description by which programs arrange pages belongs to them, not to the picture.
bool is_arrangement(std::string_view text) {
  return text.starts_with("ImageJ=") || text.starts_with("<?xml") || text.starts_with("<OME") ||
         text.starts_with("{\"shape\"") || text.starts_with("SCIFIO=");
}

void read_texts(TIFF* tiff, Metadata& m) {
  for (const auto& [tag, name] : texts) {
    const char* text = nullptr;
    if (TIFFGetField(tiff, tag, &text) != 1 || text == nullptr || *text == 0) continue;
    if (tag == TIFFTAG_IMAGEDESCRIPTION && is_arrangement(text)) continue;
    if (std::strlen(text) < most_text) m.texts[name] = text;
  }
}

void read_resolution(TIFF* tiff, Metadata& m) {
  float x = 0, y = 0;
  std::uint16_t unit = RESUNIT_INCH;
  const char* text = nullptr;
  if (TIFFGetField(tiff, TIFFTAG_IMAGEDESCRIPTION, &text) == 1 && text != nullptr &&
      std::string_view(text).starts_with("ImageJ="))
    return;  // they are distances in a unit of its own
  if (TIFFGetField(tiff, TIFFTAG_XRESOLUTION, &x) != 1 || TIFFGetField(tiff, TIFFTAG_YRESOLUTION, &y) != 1) return;
  TIFFGetFieldDefaulted(tiff, TIFFTAG_RESOLUTIONUNIT, &unit);
  if (!(x > 0 && y > 0 && x < 1e9f && y < 1e9f)) return;
  const bool aspect = unit != RESUNIT_INCH && unit != RESUNIT_CENTIMETER;
  if (aspect && x == y) return;
  m.resolution = {static_cast<double>(x), static_cast<double>(y),
                  aspect                 ? Resolution::Unit::aspect
                  : unit == RESUNIT_INCH ? Resolution::Unit::inch
                                         : Resolution::Unit::centimetre};
}

void read_geo(TIFF* tiff, Metadata& m) {
  GeoTags& g = m.geo;
  g.scale = values_of<double>(tiff, tag_scale, TIFF_DOUBLE);
  g.tiepoints = values_of<double>(tiff, tag_tiepoints, TIFF_DOUBLE);
  g.matrix = values_of<double>(tiff, tag_matrix, TIFF_DOUBLE);
  g.keys = values_of<std::uint16_t>(tiff, tag_keys, TIFF_SHORT);
  g.doubles = values_of<double>(tiff, tag_doubles, TIFF_DOUBLE);
  g.text = text_of(tiff, tag_text);
  g.gdal = text_of(tiff, tag_gdal);
  if (all_finite(g.scale) && all_finite(g.tiepoints) && all_finite(g.matrix)) return;
  g = {};
  m.unread.emplace_back("the place on the earth, whose numbers are damaged");
}

void read_storage(TIFF* tiff, Metadata& m) {
  TiffStorage s;
  TIFFGetFieldDefaulted(tiff, TIFFTAG_COMPRESSION, &s.compression);
  std::uint16_t predictor = PREDICTOR_NONE;
  const bool has_predictor = s.compression == COMPRESSION_LZW || s.compression == COMPRESSION_ADOBE_DEFLATE ||
                             s.compression == COMPRESSION_DEFLATE || s.compression == COMPRESSION_ZSTD;
  if (has_predictor) TIFFGetField(tiff, TIFFTAG_PREDICTOR, &predictor);
  s.predictor = predictor != PREDICTOR_NONE;
  std::uint32_t width = 0, height = 0;
  if (TIFFIsTiled(tiff) != 0 && TIFFGetField(tiff, TIFFTAG_TILEWIDTH, &width) == 1 &&
      TIFFGetField(tiff, TIFFTAG_TILELENGTH, &height) == 1) {
    s.tile_width = width;
    s.tile_height = height;
  }
  if (s.compression != COMPRESSION_NONE || s.tile_width > 0) m.storage = s;
}

// Of the tag in which ImageJ holds what its text does not: a header of four letters and a count for each kind.
std::vector<std::string> fields_of_imagej_tag(TIFF* tiff) {
  constexpr std::pair<std::string_view, const char*> kinds[] = {
      {"info", "Info"}, {"labl", "Labels"},   {"rang", "Ranges"},     {"luts", "LUTs"},
      {"roi ", "ROI"},  {"over", "Overlays"}, {"prop", "Properties"}, {"plot", "Plot"}};
  std::uint32_t count = 0;
  const std::uint8_t* data = nullptr;
  std::vector<std::string> fields;
  const std::vector<std::uint32_t> counts = values_of<std::uint32_t>(tiff, tag_imagej_counts, TIFF_LONG);
  if (type_of(tiff, tag_imagej) != TIFF_BYTE || TIFFGetField(tiff, tag_imagej, &count, &data) != 1 || data == nullptr)
    return fields;
  const std::uint32_t end = counts.empty() ? 0 : std::min({counts[0], count, std::uint32_t{256}});
  for (std::uint32_t at = 4; at + 8 <= end; at += 8) {
    std::string letters(reinterpret_cast<const char*>(data) + at, 4);
    if (data[0] == 'J') std::reverse(letters.begin(), letters.end());  // little-endian
    for (const auto& [kind, name] : kinds)
      if (letters == kind) fields.emplace_back(name);
  }
  if (fields.empty()) fields.emplace_back("IJMetadata");
  return fields;
}

// What programs say in the texts by which they arrange pages, and beside them.
void read_fields(TIFF* tiff, Metadata& m) {
  const char* found = nullptr;
  if (TIFFGetField(tiff, TIFFTAG_IMAGEDESCRIPTION, &found) != 1 || found == nullptr) found = "";
  const std::string_view text = found;
  const bool imagej = text.starts_with("ImageJ="),
             ome = !imagej && base::trim(text).starts_with('<') && text.find("OME") != std::string_view::npos;
  std::vector<std::string> fields = fields_of_imagej_tag(tiff);
  const std::vector<std::string> told = imagej ? imagej_fields(text) : std::vector<std::string>{};
  fields.insert(fields.end(), told.begin(), told.end());
  if (!fields.empty()) m.unread.push_back(fmt::format("ImageJ's fields ({})", base::list_of(fields, "and")));
  if (!ome) return;
  if (const std::vector<std::string> others = ome_fields(text); !others.empty())
    m.unread.push_back(fmt::format("OME's fields ({})", base::list_of(others, "and")));
}

void read_others(TIFF* tiff, Metadata& m) {
  read_fields(tiff, m);
  std::uint64_t offset = 0;
  std::uint32_t count = 0;
  const void* data = nullptr;
  if (TIFFGetField(tiff, TIFFTAG_EXIFIFD, &offset) == 1) m.unread.emplace_back("EXIF");
  if (TIFFGetField(tiff, TIFFTAG_GPSIFD, &offset) == 1) m.unread.emplace_back("GPS");
  if (TIFFGetField(tiff, TIFFTAG_XMLPACKET, &count, &data) == 1) m.unread.emplace_back("XMP");
  if (TIFFGetField(tiff, TIFFTAG_RICHTIFFIPTC, &count, &data) == 1) m.unread.emplace_back("IPTC");
  if (!values_of<double>(tiff, tag_rational_map, TIFF_DOUBLE).empty())
    m.unread.emplace_back("the rational map of its place on the earth");
}

template <class T>
void set_values(TIFF* tiff, std::uint32_t tag, const std::vector<T>& values) {
  if (!values.empty()) TIFFSetField(tiff, tag, static_cast<std::uint32_t>(values.size()), values.data());
}

std::uint16_t number_of(Packing packing) {
  switch (packing) {
    case Packing::none:
      return COMPRESSION_NONE;
    case Packing::deflate:
      return COMPRESSION_ADOBE_DEFLATE;
    case Packing::lzw:
      return COMPRESSION_LZW;
    case Packing::packbits:
      return COMPRESSION_PACKBITS;
    case Packing::zstd:
      return COMPRESSION_ZSTD;
  }
  return COMPRESSION_NONE;
}

bool takes_predictor(std::uint16_t compression) {
  return compression == COMPRESSION_LZW || compression == COMPRESSION_ADOBE_DEFLATE || compression == COMPRESSION_ZSTD;
}

// Of a file that was read: the same where it keeps every bit and the library has it.
std::uint16_t lossless(std::uint16_t compression) {
  switch (compression) {
    case COMPRESSION_NONE:
    case COMPRESSION_LZW:
    case COMPRESSION_PACKBITS:
      return compression;
    case COMPRESSION_ZSTD:
      if (TIFFIsCODECConfigured(compression) == 1) return compression;
      break;
    default:
      break;
  }
  return COMPRESSION_ADOBE_DEFLATE;
}

}  // namespace

int tiff_orientation(TIFF* tiff, int missing) {
  std::uint16_t value = 0;
  const bool said = TIFFGetField(tiff, TIFFTAG_ORIENTATION, &value) == 1;
  return said && value >= 1 && value <= 8 ? value : missing;
}

void read_tiff_metadata(TIFF* tiff, ImageHeader& header) {
  auto m = std::make_shared<Metadata>();
  std::uint32_t size = 0;
  const std::uint8_t* profile = nullptr;
  if (TIFFGetField(tiff, TIFFTAG_ICCPROFILE, &size, &profile) == 1 && profile != nullptr)
    m->icc.assign(profile, profile + size);
  read_resolution(tiff, *m);
  read_texts(tiff, *m);
  read_geo(tiff, *m);
  read_storage(tiff, *m);
  read_others(tiff, *m);
  if (const std::string text = text_of(tiff, tag_nodata); !text.empty())
    header.nodata = base::parse_number(base::trim(text));
  if (!m->empty()) header.metadata = std::move(m);
}

void declare_tiff_tags(TIFF* tiff) {
  constexpr short counted = TIFF_VARIABLE2, once = -1;
  const auto field = [](std::uint32_t tag, short count, TIFFDataType type, const char* name) {
    return TIFFFieldInfo{tag,
                         count,
                         count,
                         type,
                         FIELD_CUSTOM,
                         1,
                         static_cast<unsigned char>(count == counted),
                         const_cast<char*>(name)};
  };
  static const TIFFFieldInfo fields[] = {field(tag_scale, counted, TIFF_DOUBLE, "ModelPixelScaleTag"),
                                         field(tag_tiepoints, counted, TIFF_DOUBLE, "ModelTiepointTag"),
                                         field(tag_matrix, counted, TIFF_DOUBLE, "ModelTransformationTag"),
                                         field(tag_keys, counted, TIFF_SHORT, "GeoKeyDirectoryTag"),
                                         field(tag_doubles, counted, TIFF_DOUBLE, "GeoDoubleParamsTag"),
                                         field(tag_text, once, TIFF_ASCII, "GeoASCIIParamsTag"),
                                         field(tag_gdal, once, TIFF_ASCII, "GDAL_METADATA"),
                                         field(tag_nodata, once, TIFF_ASCII, "GDAL_NODATA")};
  TIFFMergeFieldInfo(tiff, fields, static_cast<std::uint32_t>(std::size(fields)));
}

void write_tiff_metadata(TIFF* tiff, const Metadata& m, const std::optional<double>& nodata) {
  if (!m.icc.empty()) TIFFSetField(tiff, TIFFTAG_ICCPROFILE, static_cast<std::uint32_t>(m.icc.size()), m.icc.data());
  if (float x = 0; m.resolution && TIFFGetField(tiff, TIFFTAG_XRESOLUTION, &x) != 1) {  // distances go first
    const Resolution r = in_whole_numbers(*m.resolution);
    TIFFSetField(tiff, TIFFTAG_XRESOLUTION, r.x);
    TIFFSetField(tiff, TIFFTAG_YRESOLUTION, r.y);
    const int unit = r.unit == Resolution::Unit::inch         ? RESUNIT_INCH
                     : r.unit == Resolution::Unit::centimetre ? RESUNIT_CENTIMETER
                                                              : RESUNIT_NONE;
    TIFFSetField(tiff, TIFFTAG_RESOLUTIONUNIT, static_cast<std::uint16_t>(unit));
  }
  set_values(tiff, tag_scale, m.geo.scale);
  set_values(tiff, tag_tiepoints, m.geo.tiepoints);
  set_values(tiff, tag_matrix, m.geo.matrix);
  set_values(tiff, tag_keys, m.geo.keys);
  set_values(tiff, tag_doubles, m.geo.doubles);
  if (!m.geo.text.empty()) TIFFSetField(tiff, tag_text, m.geo.text.c_str());
  if (!m.geo.gdal.empty()) TIFFSetField(tiff, tag_gdal, m.geo.gdal.c_str());
  if (nodata) TIFFSetField(tiff, tag_nodata, (std::isnan(*nodata) ? "nan" : fmt::format("{}", *nodata)).c_str());
}

void write_tiff_texts(TIFF* tiff, const Metadata& m) {
  for (const auto& [tag, name] : texts) {
    const auto found = m.texts.find(name);
    const char* there = nullptr;
    if (found == m.texts.end() || TIFFGetField(tiff, tag, &there) == 1) continue;
    // Twenty characters by the standard; PNG tells a date as it likes.
    if (tag == TIFFTAG_DATETIME && found->second.size() != 19) continue;
    TIFFSetField(tiff, tag, found->second.c_str());
  }
}

TiffPacking tiff_packing(const WriteOptions& options, const Metadata& m, i64 pixel_bytes) {
  TiffPacking p;
  if (options.packing) {
    p.compression = number_of(*options.packing);
    p.level = options.compression;
    p.predictor = true;
  } else if (options.compression >= 0) {
    p.compression = options.compression > 0 ? COMPRESSION_ADOBE_DEFLATE : COMPRESSION_NONE;
    p.level = options.compression;
    p.predictor = true;
  } else if (m.storage) {
    p.compression = lossless(m.storage->compression);
    p.predictor = m.storage->predictor || p.compression != m.storage->compression;
  }
  if (p.compression == COMPRESSION_ADOBE_DEFLATE && p.level == 0) p.compression = COMPRESSION_NONE;
  if (!m.storage) return p;
  const i64 height = m.storage->tile_height, width = m.storage->tile_width;
  constexpr i64 largest = i64{1} << 26;  // of a tile in bytes: a buffer takes it whole
  const bool good = height > 0 && width > 0 && height % 16 == 0 && width % 16 == 0 && height <= largest &&
                    width <= largest / height / pixel_bytes;
  if (good) {
    p.tile_height = height;
    p.tile_width = width;
  }
  return p;
}

void set_tiff_packing(TIFF* tiff, const TiffPacking& p, ElementType type) {
  TIFFSetField(tiff, TIFFTAG_COMPRESSION, p.compression);
  if (p.level > 0 && p.compression == COMPRESSION_ADOBE_DEFLATE) TIFFSetField(tiff, TIFFTAG_ZIPQUALITY, p.level);
  if (p.level > 0 && p.compression == COMPRESSION_ZSTD) TIFFSetField(tiff, TIFFTAG_ZSTD_LEVEL, p.level);
  if (p.predictor && takes_predictor(p.compression))
    TIFFSetField(tiff, TIFFTAG_PREDICTOR, is_float(type) ? PREDICTOR_FLOATINGPOINT : PREDICTOR_HORIZONTAL);
  if (p.tile_width > 0) {
    TIFFSetField(tiff, TIFFTAG_TILEWIDTH, static_cast<std::uint32_t>(p.tile_width));
    TIFFSetField(tiff, TIFFTAG_TILELENGTH, static_cast<std::uint32_t>(p.tile_height));
  }
}

}  // namespace tessera::io
