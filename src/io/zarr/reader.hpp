// An array in a folder whose metadata are read; open.cpp finds them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "io/regions/file.hpp"
#include "io/zarr/metadata.hpp"

namespace tessera::io::zarr {

// `files`: those of the metadata, groups around the array among them, for identity().
std::unique_ptr<FileReader> make_reader(std::string folder, ArrayMetadata, FileLayout, std::vector<std::string> files);
// What the metadata alone say.
FileLayout layout_of(const ArrayMetadata&);

}  // namespace tessera::io::zarr
