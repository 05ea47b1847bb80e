// Zarr folders made by hand, and what is in them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/files/files.hpp"
#include "io/zarr/codecs.hpp"
#include "io/zarr/zarr.hpp"
#include "support.hpp"

namespace tessera::io {

inline Region all_of(const Shape& shape) {
  return {std::vector<i64>(shape.size(), 0), shape};
}

inline Array read_region(const FileReader& reader, const Region& region) {
  Shape shape;
  for (std::size_t d = 0; d < region.begin.size(); ++d) shape.push_back(region.end[d] - region.begin[d]);
  Array array(reader.layout().element, shape);
  reader.read(region, array);
  return array;
}

class ZarrTest : public FolderTest {
 protected:
  // A file in the test's folder; folders on its way are made.
  void put(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(path(name)).parent_path());
    std::filesystem::remove(path(name));  // what is cut off and written again, some file systems bring to the disk
    std::ofstream(path(name), std::ios::binary) << text;
  }
  void put(const std::string& name, std::span<const std::byte> bytes) const {
    put(name, std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  }
  std::unique_ptr<FileReader> open(const std::string& name, const ReadOptions& options = {}) const {
    return open_zarr(path(name), options);
  }
  Array read(const std::string& name) const {
    const std::unique_ptr<FileReader> reader = open(name);
    EXPECT_NE(reader, nullptr) << name;
    return read_region(*reader, all_of(reader->layout().shape));
  }
  // What opening and reading all of it says is wrong.
  std::string failure(const std::string& name, const ReadOptions& options = {}) const {
    return message_of([&] {
      const std::unique_ptr<FileReader> reader = open(name, options);
      ASSERT_NE(reader, nullptr) << name;
      read_region(*reader, all_of(reader->layout().shape));
    });
  }
  std::vector<std::string> files_in(const std::string& name) const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path(name)))
      if (!entry.is_directory()) names.push_back(std::filesystem::relative(entry.path(), path(name)).string());
    std::sort(names.begin(), names.end());
    return names;
  }
  // Texts of arrays, in which values are put in the place of others or, with an empty one, left out.
  using Changes = std::map<std::string, std::string>;
  static std::string v3(const Changes& changes = {}) {
    return print({{"zarr_format", "3"},
                  {"node_type", R"("array")"},
                  {"shape", "[3, 5]"},
                  {"data_type", R"("uint16")"},
                  {"chunk_grid", R"({"name": "regular", "configuration": {"chunk_shape": [2, 3]}})"},
                  {"chunk_key_encoding", R"({"name": "default"})"},
                  {"fill_value", "7"},
                  {"codecs", R"([{"name": "bytes", "configuration": {"endian": "little"}}])"}},
                 changes);
  }
  static std::string v2(const Changes& changes = {}) {
    return print({{"zarr_format", "2"},
                  {"shape", "[3, 5]"},
                  {"chunks", "[2, 3]"},
                  {"dtype", R"("<u2")"},
                  {"compressor", "null"},
                  {"fill_value", "7"},
                  {"order", R"("C")"},
                  {"filters", "null"}},
                 changes);
  }
  // A chunk of 2 x 3 elements from `first` on.
  static std::vector<std::byte> chunk(int first) {
    std::vector<std::byte> bytes;
    for (int k = first; k < first + 6; ++k) {
      bytes.push_back(static_cast<std::byte>(k));
      bytes.push_back(std::byte{0});
    }
    return bytes;
  }
  // What an array of v2() or v3() holds whose chunks begin with 10, 20, 30 and 40: rows and columns as chunks have
  // them.
  static Array four_chunks() {
    const std::uint16_t values[] = {10, 11, 12, 20, 21, 13, 14, 15, 23, 24, 30, 31, 32, 40, 41};
    return Array::from<std::uint16_t>(values, {3, 5});
  }

 private:
  static std::string print(Changes values, const Changes& changes) {
    std::string text;
    for (const auto& [key, value] : changes) values[key] = value;
    for (const auto& [key, value] : values)
      if (!value.empty()) text += (text.empty() ? "{\"" : ", \"") + key + "\": " + value;
    return text + "}";
  }
};

}  // namespace tessera::io
