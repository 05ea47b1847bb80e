// What a page that is written says of itself: one function, whoever lays out the file.
#pragma once

#include <tiffio.h>

#include <optional>
#include <string>

#include "io/metadata.hpp"
#include "io/samples.hpp"
#include "io/tiff/tags.hpp"

namespace tessera::io {

struct TiffDescription {
  Samples samples;  // their elements are not looked at
  Metadata metadata;
  std::optional<double> nodata;
  TiffPacking packing;
  std::string path;  // its name says whether it is an OME-TIFF
};

// Rows of a strip where there are no tiles.
i64 rows_of_strip(const Samples&);
// All tags of a page but those that say where its strips or tiles are.
void describe_page(TIFF*, const TiffDescription&, i64 page);

}  // namespace tessera::io
