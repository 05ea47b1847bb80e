// What the tags of a TIFF say of its picture: io::Metadata through libtiff, in and out; and how its samples are packed.
#pragma once

#include <tiffio.h>

#include "io/header.hpp"
#include "io/image.hpp"
#include "io/metadata.hpp"

namespace tessera::io {

// 1 to 8, of the current page; `missing` where it does not say.
int tiff_orientation(TIFF*, int missing);
// Of the current page, into a header whose extents and steps stand; `series` is a description that says how pages are
// arranged, which is not a text of somebody.
void read_tiff_metadata(TIFF*, ImageHeader&);

// Before anything else of a page is set: the library forgets them with each.
void declare_tiff_tags(TIFF*);
// On every page: the profile, the resolution, the place on the earth, the value of unknown points.
void write_tiff_metadata(TIFF*, const Metadata&, const std::optional<double>& nodata);
// On the first page: the texts; the description where there is none yet.
void write_tiff_texts(TIFF*, const Metadata&);

// How a page is packed: what was asked for, else as the file that the picture came from, else not at all.
struct TiffPacking {
  std::uint16_t compression = COMPRESSION_NONE;
  int level = -1;  // the library's own
  bool predictor = false;
  i64 tile_height = 0, tile_width = 0;  // 0: strips
};
TiffPacking tiff_packing(const WriteOptions&, const Metadata&, i64 pixel_bytes);
void set_tiff_packing(TIFF*, const TiffPacking&, ElementType);

}  // namespace tessera::io
