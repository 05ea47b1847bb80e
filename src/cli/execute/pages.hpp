// `--pages`: a program of images on every slice of a volume and every moment of a series, each by itself.
//
// The inputs of all pages are bound once; a page is a view of them. What the pages give is put together under the
// dimensions that they came from, and written as one file, or as a file for each page: `-o 'out/{stem}_{page}.tif'`.
#pragma once

#include <string>
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
// Page number `page` of an array whose first dimensions are `leading`; the array itself where they are not.
Array page_of(const Array&, const Shape& leading, i64 page);

// ---- names of pages ---------------------------------------------------------------------------------------------

// Stands in a name for the number of its page until that is known. No word of a command line holds it.
inline constexpr char page_mark = '\0';
// The word with its {page} marked. Throws Error(argument) where the program does not run on pages (`pages`), or where
// the number would stand in the name of a folder.
std::string mark_page(std::string word, bool pages);
void mark_pages(std::vector<std::string>& words, bool pages);
// As it was written, {page}.
std::string unmarked(std::string word);
// Of page number `page`, from 0, with as many digits as the last one has.
std::string name_of_page(const std::string& marked, i64 page, i64 count);

}  // namespace tessera::cli
