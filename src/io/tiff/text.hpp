// What the description of a TIFF, the text of its first page, says of its pages: ImageJ's lines, OME's XML, and the
// JSON of tifffile.
//
// ImageJ writes "key=value" lines: how many pages are channels, slices and moments (channels vary fastest, then
// slices), how far apart pages are (spacing) and in which unit; points within a page have their distance in the
// resolution tags. OME writes sizes as attributes of the element Pixels, one for each image, with the order of the
// pages in DimensionOrder and their places in TiffData (io/tiff/ome.cpp). tifffile writes {"shape": [3, 4, 16, 16],
// "axes": "TZYX"}. Numbers that make no sense are taken as not said; what says two things at once is kept as a
// contradiction, which the reader refuses.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/axes.hpp"
#include "io/header.hpp"

namespace tessera::io {

// The tags of the first page that belong to it.
struct TiffResolution {
  double x = 0, y = 0;  // points per unit; 0 where it is not said
  int unit = 1;         // 1 none, 2 inch, 3 centimetre
};

// Some pages of the file, which are one image.
struct TiffImage {
  std::string name;
  FileAxes axes;            // of its pages, slowest first; of tifffile those of the page as well
  std::vector<i64> places;  // of the pages, among all directories; empty: all, one after the other
  bool named = true;        // the letters are told; of tifffile's text perhaps only the extents
};

struct TiffText {
  enum class Kind { none, imagej, ome, shaped };
  Kind kind = Kind::none;
  i64 pages = 1;                  // that the text speaks of
  std::vector<TiffImage> images;  // empty when nothing is said
  std::map<char, Step> steps;     // by letter; those that are known
  std::string contradiction;
};

// `samples`: channels that stand together in a page; OME counts them among SizeC.
TiffText parse_tiff_text(std::string_view description, const TiffResolution&, int samples = 1);
TiffText parse_ome(std::string_view description, int samples);
// What such a text says of the picture beside its dimensions and distances, by the names of its fields: "min", "mode",
// "Channel Name". Nothing of it is written again.
std::vector<std::string> imagej_fields(std::string_view description);
std::vector<std::string> ome_fields(std::string_view description);

enum class TiffStyle { imagej, ome, shaped };
struct TiffLayout {
  FileAxes pages;  // slowest first, c among them
  Shape page;      // rows, columns, samples where there are several
  std::string page_letters = "yx";
  std::map<char, Step> steps;
  ElementType type = ElementType::u8;
  char sample_letter = 's';
};
// How a file of this name tells its axes; nothing where there is nothing to tell. `named`: somebody said what they are.
std::optional<TiffStyle> style_of(const TiffLayout&, bool named, std::string_view path);
// The text of a file whose pages are these, and the resolution tags that belong to it.
std::string print_tiff_text(const TiffLayout&, TiffStyle, TiffResolution&);
std::string print_ome(const TiffLayout&);

// Lengths and times as programs spell their units: millimetres and seconds; 0 for another word.
double millimetres_of(std::string_view unit);
double seconds_of(std::string_view unit);
// A count of pages, or 1.
i64 count_of(std::string_view text);
// A distance that is one, finite and above 0, in a unit of this size; 0 for a unit that is not known.
Step distance_of(std::string_view text, double scale, Step::Unit unit);

}  // namespace tessera::io
