// TIFF and BigTIFF by region: strips and tiles are read and written alone. See io/regions/file.hpp.
#pragma once

#include <memory>
#include <string>

#include "io/regions/file.hpp"

namespace tessera::io {

// Null where it is no TIFF, or none that has parts: a stream, a picture that is to be turned.
std::unique_ptr<FileReader> open_tiff(const std::string& path, const ReadOptions&);
std::unique_ptr<FileWriter> create_tiff(const std::string& path, const FileLayout&, const RegionWriteOptions&);
// The order of dimensions of a file for an array with this header, of so many dimensions, samples that stand together
// among them: "tczyx", "yxs".
std::string tiff_letters(const ImageHeader&, const Format&, int rank);
std::string ome_tiff_letters(const ImageHeader&, const Format&, int rank);

}  // namespace tessera::io
