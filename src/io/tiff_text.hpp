// What the description of a TIFF, the text of its first page, says of its pages: ImageJ's lines and OME's XML.
//
// ImageJ writes "key=value" lines: how many pages are volumes of a series (frames), how far apart pages are (spacing)
// and in which unit; points within a page have their distance in the resolution tags. OME writes the sizes of a point
// as attributes of the element Pixels. Whatever is not understood is taken as not said.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "io/header.hpp"

namespace tessera::io {

// The tags of the first page that belong to it.
struct TiffResolution {
  double x = 0, y = 0;  // points per unit; 0 where it is not said
  int unit = 1;         // 1 none, 2 inch, 3 centimetre
};

struct TiffText {
  i64 images = 1;           // pages that the text speaks of
  i64 series = 1;           // volumes among them, when the pages are those of a single channel
  std::vector<Step> steps;  // time, page, y, x; empty when nothing is said
};

TiffText parse_tiff_text(std::string_view description, const TiffResolution&);
// For an array of rank 2 to 4 with these steps. Empty when they say nothing.
std::string print_tiff_text(const Shape&, const std::vector<Step>&, TiffResolution&);

}  // namespace tessera::io
