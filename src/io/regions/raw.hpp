// Elements that lie uncompressed, in the order of memory, behind a header or in files of their own: any part of them by
// reading and writing at places. And arrays of files that have no parts, which are held whole.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "io/formats/numbers.hpp"
#include "io/regions/file.hpp"

namespace tessera::io {

// Some of the elements, one behind the other: all files have as many.
struct RawPart {
  std::string path;
  i64 offset = 0;
};

// `path`: of the file that the parts belong to. `layout`: without its chunk. Fields of a struct have all one type, that
// of `number`. Throws Error(io) where the parts are shorter than that.
std::unique_ptr<FileReader> open_raw(const std::string& path, FileLayout layout, const FileNumber& number,
                                     std::vector<RawPart> parts);
// `header`: what stands before the elements.
std::unique_ptr<FileWriter> create_raw(const std::string& path, FileLayout layout, const std::string& header,
                                       bool resume);
// `array`: all of the elements.
std::unique_ptr<FileReader> hold(const std::string& path, FileLayout layout, const Array& array);

// Throws Error(argument) unless the region lies within and the array has its extents and elements.
void check_region(const FileLayout&, const std::string& path, const Region&, const Array&);
// The same, and that the region is made of chunks.
void check_chunks(const FileLayout&, const std::string& path, const Region&, const Array&);

}  // namespace tessera::io
