// What a file says of its picture and no program computes with: how its numbers are meant as colours, how large it is
// on paper, where it lies on the earth, who made it, how it is packed.
//
// It travels from the file that was read to the file that is written, through three steps, each a function: a decoder
// fills it in; it is moved along when the picture is turned or cut; and before it is written fit_metadata() keeps what
// the format has a place for and what still holds for the result, and names the rest. Encoders write all that is left.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/header.hpp"
#include "io/samples.hpp"

namespace tessera::io {

// Points per inch or centimetre; as an aspect the two numbers mean their ratio alone.
struct Resolution {
  enum class Unit { aspect, inch, centimetre };
  double x = 0, y = 0;
  Unit unit = Unit::inch;
  bool operator==(const Resolution&) const = default;
};

// GeoTIFF: the map from columns and rows to coordinates (one of three forms), and what the coordinates are.
struct GeoTags {
  std::vector<double> scale, tiepoints, matrix;  // 33550, 33922, 34264
  std::vector<std::uint16_t> keys;               // 34735
  std::vector<double> doubles;                   // 34736
  std::string text;                              // 34737
  std::string gdal;                              // 42112, XML
  bool empty() const { return scale.empty() && tiepoints.empty() && matrix.empty() && keys.empty() && gdal.empty(); }
};

// How a TIFF packs its samples.
struct TiffStorage {
  std::uint16_t compression = 1;
  bool predictor = false;
  i64 tile_height = 0, tile_width = 0;  // 0: strips
};

struct PngChunk {
  std::array<char, 4> type{};
  std::vector<std::uint8_t> bytes;
  std::string_view name() const { return {type.data(), type.size()}; }
};

struct Metadata {
  std::vector<std::uint8_t> icc;   // a colour profile, whole
  std::vector<std::uint8_t> exif;  // a block as TIFF lays it out, without orientation and thumbnail
  std::optional<Resolution> resolution;
  std::map<std::string, std::string> texts;  // "description", "artist", "copyright", "software", "date", "comment"
  std::vector<PngChunk> png;                 // of colour and text, as they are
  std::vector<std::uint8_t> significant;     // PNG's bits that count, one number per channel
  int depth = 0;                             // bits of a sample in the file that `significant` speaks of
  GeoTags geo;
  std::optional<TiffStorage> storage;
  std::optional<i64> largest;       // what the format says is white, where it is not the type's largest number
  std::vector<std::string> unread;  // what goes nowhere, by name: "XMP"

  bool empty() const;
};

// ---- moved along -----------------------------------------------------------------------------------------------

// Pixels of the last two dimensions as EXIF's orientation, 1 to 8, wants them seen; the header likewise.
Array turned(const Array&, int orientation);
void turn_header(ImageHeader&, int orientation);
// Of a picture whose corner stands at this row and column of the old one.
Metadata moved(const Metadata&, i64 row, i64 column);

// ---- on the way out --------------------------------------------------------------------------------------------

struct FittedMetadata {
  Metadata kept;
  std::vector<std::string> lost;  // in the middle of a sentence: "the ICC profile"
};

// `format`: a name of the table of formats. The extents of the header say whether the result has those of the file.
FittedMetadata fit_metadata(const ImageHeader&, std::string_view format, const Samples&);
// The same for formats that hold arrays.
std::vector<std::string> lost_in_array(const ImageHeader&, std::string_view format, const Shape&);

// The unit in which both numbers are nearest to whole ones, for formats that store those.
Resolution in_whole_numbers(const Resolution&);

// ---- EXIF ------------------------------------------------------------------------------------------------------

// Of a block that begins "II*\0" or "MM\0*"; 0 when it says nothing that can be used.
int exif_orientation(std::span<const std::uint8_t> block);
std::optional<Resolution> exif_resolution(std::span<const std::uint8_t> block);
// Upright, without the thumbnail, which shows what the picture was.
void make_upright(std::vector<std::uint8_t>& block);
void set_exif_extents(std::vector<std::uint8_t>& block, i64 height, i64 width);
// The orientation that XMP tells; 0 when it does not.
int xmp_orientation(std::string_view xmp);

// ---- formats ---------------------------------------------------------------------------------------------------

// Both take whole files and leave alone what is damaged: the decoder of the picture says so. They return the
// orientation.
int read_png_metadata(std::span<const std::uint8_t> file, Metadata&);
int read_jpeg_metadata(std::span<const std::uint8_t> file, Metadata&);
// Chunks between the header and the picture.
std::vector<PngChunk> png_chunks_of(const Metadata&);
// Markers behind the header: their number (0xe1 ...) and content.
std::vector<std::pair<int, std::vector<std::uint8_t>>> jpeg_markers_of(const Metadata&);

}  // namespace tessera::io
