// Which pages of a TIFF are the image that is asked for, in which order, and what its dimensions are.
//
// Asked are, in this order: the pages and the axes that somebody names (--page, --axes), the text of the first page.
// Pages without a word are slices of a volume, as they always were. A text that does not fit the pages is refused, with
// the way to say it by hand: a wrong guess would filter channels as if they were slices.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "io/codec.hpp"
#include "io/tiff/text.hpp"

namespace tessera::io {

// A page that is an image, no thumbnail and no mask.
struct ListedPage {
  i64 directory = 0;
  std::uint64_t offset = 0;           // where its directory stands
  std::vector<std::uint64_t> levels;  // where those of the lower levels of its pyramid stand
  i64 height = 0, width = 0;
  Format format;
  std::string text;  // its description
  TiffResolution resolution;
  bool packed = false;
  i64 block_height = 0, block_width = 0;  // of its tiles or strips, as it says
  bool plain_rows = false;                // they are strips of rows that lie as they are: any part can be had alone
  bool planar = false;                    // samples stand in planes, one behind the other
  int orientation = 0;                    // 0: not said
  std::string failure;                    // why it cannot be read; only pages that are wanted are refused
};

struct PagePlan {
  std::vector<std::size_t> pages;  // of the list, in the order of the array
  Shape leading;                   // extents before rows and columns
  std::string letters;             // of all dimensions, of samples as well; empty where they are not known
  std::vector<Step> steps;         // of leading, rows, columns; empty when nothing is said
  // Of samples that are a dimension as others are, where it stands among the letters (and the steps): tifffile writes
  // stacks of 3 or 4 slices as the samples of one page.
  std::optional<std::size_t> samples_at = {};
};

// Throws Error(io) or Error(argument).
PagePlan plan_pages(const Source&, const std::vector<ListedPage>&);
// What was read of these pages, leading x rows x columns, with the dimensions of the plan.
Image arrange_pages(const Array& pages, const PagePlan&, ImageHeader);

// `array` as pages on its way into a file of this name: in the order of the header's layout, channels as pages of their
// own or as samples. Tells `Samples` what its pages are.
Array pages_for(const std::string& path, const Array& array, const WriteOptions&, Samples&);

}  // namespace tessera::io
