// Elements that lie uncompressed, in the order of memory, behind a header or in files of their own: any part of them by
// reading and writing at places.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/codec.hpp"
#include "io/formats/numbers.hpp"
#include "io/regions/file.hpp"

namespace tessera::io {

// Some of the elements, one behind the other: all files have as many.
struct RawPart {
  std::string path;
  i64 offset = 0;
};

// An element as the file stores it.
struct RawElements {
  i64 bytes = 1;
  // Some of them, one behind the other, as those of an array; `first`: the number of the first one in the file. Null:
  // they are the same.
  std::function<void(const std::byte* from, std::byte* to, i64 count, i64 first)> convert = {};
};
// Of numbers of one type, all fields of a struct alike.
RawElements raw_elements(const std::string& path, const FileLayout&, const FileNumber&);

// `path`: of the file that the parts belong to. `layout`: without its chunk. Throws Error(io) where the parts are
// shorter than that.
std::unique_ptr<FileReader> open_raw(const std::string& path, FileLayout layout, RawElements,
                                     std::vector<RawPart> parts);
// `header`: what stands before the elements. `lost`: as FileWriter::lost_metadata().
std::unique_ptr<FileWriter> create_raw(const std::string& path, FileLayout layout, const std::string& header,
                                       const RegionWriteOptions&,
                                       std::optional<std::vector<std::string>> lost = std::nullopt);
// Throws Error(io) where no memory could hold such an array, or no file: `bytes` of an element there.
void check_extents(const Source&, const FileLayout&, i64 bytes);
// Throws Error(argument) unless the region lies within and the array has its extents and elements.
void check_region(const FileLayout&, const std::string& path, const Region&, const Array&);
// The same, and that the region is made of chunks.
void check_chunks(const FileLayout&, const std::string& path, const Region&, const Array&);

}  // namespace tessera::io
