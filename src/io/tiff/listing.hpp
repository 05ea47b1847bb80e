// The pages of a TIFF that are asked for: the list of its directories, the plan of them, and the level of their
// pyramid.
#pragma once

#include <vector>

#include "io/tiff/pages.hpp"
#include "io/tiff/reader.hpp"

namespace tessera::io {

struct TiffListing {
  std::vector<ListedPage> all;
  PagePlan plan;  // of the level that is asked for

  const ListedPage& page(std::size_t k) const { return all[plan.pages[k]]; }  // of the plan
};

// Throws Error(io) or Error(argument) where they are no image.
TiffListing list_pages(TiffReader&);
// What the directory of the first page says beside its pixels, without what the plan says of dimensions. The reader is
// left there.
ImageHeader header_of_pages(TiffReader&, const TiffListing&);
// To a page of the list.
void go_to_page(TiffReader&, const ListedPage&);

}  // namespace tessera::io
