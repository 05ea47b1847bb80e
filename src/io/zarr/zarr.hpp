// Zarr, versions 2 and 3, and OME-Zarr, 0.4 and 0.5: arrays in folders, a file for each chunk. Read and written by
// region; rows of the table in io/regions/file.hpp.
#pragma once

#include <memory>
#include <string>

#include "io/regions/file.hpp"

namespace tessera::io {

// `path`: the folder of an array, or of a group: of an OME-Zarr image, whose finest level is opened, or of one array
// and nothing else. Null where the path is no Zarr folder. Throws Error(io).
std::unique_ptr<FileReader> open_zarr(const std::string& path, const ReadOptions&);
// Version 3. A name that ends with .ome.zarr gives OME-Zarr 0.5, others a plain array. Throws Error(argument) where it
// cannot hold the array, Error(io).
std::unique_ptr<FileWriter> create_zarr(const std::string& path, const FileLayout&, const RegionWriteOptions&);
// It says that it is an array or a group.
bool is_zarr_folder(const std::string& path);
// Time, channels, slices, rows, columns: the order of OME-Zarr.
std::string zarr_letters(const ImageHeader&, const Format&, int rank);

}  // namespace tessera::io
