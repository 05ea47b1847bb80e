// A regular file that stays open: its first bytes, what follows them in order, and all of it by places, from any
// thread.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/files/files.hpp"
#include "io/codec.hpp"

namespace tessera::io {

struct OpenFile {
  OpenFile(const std::string& path, const ReadOptions& options, std::size_t first_bytes)
      : reading(path), start(first_bytes) {
    start.resize(reading.read(start));
    source.bytes = start;
    source.name = source.path = path;
    source.options = options;
    source.rest = &reading;
    source.length = base::file_size(path).value_or(0);
    source.most = options.most_bytes();
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  base::Reading reading;
  std::vector<std::byte> start;
  Source source;
};

}  // namespace tessera::io
