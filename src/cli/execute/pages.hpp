// `--pages`: a program of images on every slice of a volume and every moment of a series, each by itself.
//
// The inputs of all pages are bound once; a page is a view of them. What the pages give is put together under the
// dimensions that they came from.
#pragma once

#include <vector>

#include "cli/execute/inputs.hpp"

namespace tessera::cli {

i64 page_count(const Lanes&);
// One page of everything that has pages; the rest is the same in all of them.
Lanes page_of(const Lanes&, i64 page);
// Arrays of all pages, outputs of a lane, under the leading dimensions. `pages`: one list of results for each page.
std::vector<std::vector<Array>> stacked(const Lanes&, const std::vector<std::vector<std::vector<Array>>>& pages);
// The headers of all pages: those of a page, as it was changed, with what the whole has before.
void rejoin_headers(Lanes& whole, const Lanes& page);

}  // namespace tessera::cli
