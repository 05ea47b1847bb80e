// Elements without a header, as an option describes them: "uint16,40x512x512", "float,512x512,1024,big".
#pragma once

#include <memory>
#include <string>

#include "io/formats/numbers.hpp"
#include "io/regions/file.hpp"

namespace tessera::io {

struct PlainFile {
  FileNumber number;
  Shape shape;     // slowest first
  i64 offset = 0;  // bytes before the first element
};
// Throws Error(argument).
PlainFile parse_plain(const std::string& text);

// By ReadOptions::raw; nothing where that is empty. Throws Error(io) where the file is shorter or longer than that.
std::unique_ptr<FileReader> open_plain(const std::string& path, const ReadOptions&);
// Little-endian, samples of a point together.
std::unique_ptr<FileWriter> create_plain(const std::string& path, const FileLayout&, const RegionWriteOptions&);

}  // namespace tessera::io
