// The files of a batch, and where what becomes of each of them goes.
#pragma once

#include <string>
#include <vector>

#include "cli/execute/results.hpp"

namespace tessera::cli {

// A folder stands for the images in it, by their names; one that is an array, such as Zarr, for itself. Throws
// Error(argument) where a folder has none.
std::vector<std::string> files_in(const std::vector<std::string>& words);

// The words of -o for each file. {stem}, {suffix}, {name}, {folder}, {parent} and {index} become what the file has, a
// folder the file's name in it; {page} is marked where a program runs on `pages` (cli/execute/pages.hpp). Throws
// Error(argument) where two files would be written into one, or into one that is read, and Error(io) where a folder is
// missing: before anything is read. One file that is named, and no `of_folder`, may be written over by its name.
std::vector<std::vector<std::string>> destinations_of(const std::vector<std::string>& files, const OutputOptions&,
                                                      bool pages, bool of_folder);

}  // namespace tessera::cli
