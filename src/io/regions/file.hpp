// What a format implements to be read or written by region: plain elements in the file's own order of dimensions.
// arranged.cpp makes readers and writers of io/regions/regions.hpp of them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/regions/regions.hpp"

namespace tessera::io {

struct FileLayout {
  std::string format_name;
  Format element;                // scalars, or a struct where samples of a point stand together
  Shape shape, chunk = {};       // in the file's order, slowest first
  std::string letters = {};      // a letter for each dimension (io/axes.hpp); empty: they are those of an array
  std::vector<Step> steps = {};  // for each dimension; empty: not said
  ImageHeader header = {};       // metadata alone; axes, steps and extents are filled in
  Shape shard = {};              // of a file that is written: of chunks that stand in one file; empty: each alone
};

// As RegionReader and RegionWriter.
class FileReader {
 public:
  virtual ~FileReader() = default;
  virtual const FileLayout& layout() const = 0;
  virtual void read(const Region&, const Array& to) const = 0;
  virtual std::string identity() const = 0;
  virtual i64 beside(const Region&) const { return 0; }
  virtual i64 keep_chunks(i64 /*bytes*/) { return 0; }
};

class FileWriter {
 public:
  virtual ~FileWriter() = default;
  virtual const FileLayout& layout() const = 0;
  virtual bool resumed() const = 0;
  virtual void write(const Region&, const Array& from) = 0;
  virtual i64 beside(const Region&) const { return 0; }
  virtual void sync() = 0;
  virtual void commit() = 0;
  virtual void discard() = 0;
  // What the header says of the picture and the file does not; nothing of formats that keep none of it.
  virtual std::optional<std::vector<std::string>> lost_metadata() const { return {}; }
};

std::unique_ptr<RegionReader> arranged(std::unique_ptr<FileReader>);
// Of a file whose elements are those of an array of this format and shape; the header has its axes.
// `ones`: true is 1 where the file has integers, not the largest value. `lost`: for the report.
std::unique_ptr<RegionWriter> arranged(std::unique_ptr<FileWriter>, const Format&, const Shape&, ImageHeader, bool ones,
                                       std::vector<std::string> lost);
// One row a format, in the order in which they are asked.
struct RegionFormat {
  std::string_view name;
  // Nothing where the path is of another format. Throws Error(io) where it is this one and damaged.
  std::unique_ptr<FileReader> (*open)(const std::string& path, const ReadOptions&);
  std::vector<std::string_view> suffixes;  // that are written, lower case, with the dot
  // Null: not written by regions. `layout`: elements, extents, letters, steps and header as the file is to have them;
  // `chunk` as wanted, or empty: the format's habit.
  std::unique_ptr<FileWriter> (*create)(const std::string& path, const FileLayout& layout, const RegionWriteOptions&);
  // The order in which such a file has its dimensions, with channels, for an array with these letters (header.axes) and
  // so many fields: "tczyx". Null: as arrays have them.
  std::string (*letters)(const ImageHeader&, const Format&, int rank) = nullptr;
  bool reads_axes = false;   // `open` looks at ReadOptions::axes itself
  bool pages = false;        // and at the pages
  bool reads_level = false;  // and at the level
  bool widens = false;       // bool is stored as uint8, 0 and 1, half as float
  bool halves = false;       // but half as it is
  bool levels = false;       // `create` looks at RegionWriteOptions::levels
  bool chunks = false;       // and takes chunks and shards of any extents
};
const std::vector<RegionFormat>& region_formats();

std::unique_ptr<FileReader> open_npy(const std::string& path, const ReadOptions&);
std::unique_ptr<FileWriter> create_npy(const std::string& path, const FileLayout&, const RegionWriteOptions&);
std::string npy_letters(const ImageHeader&, const Format&, int rank);

}  // namespace tessera::io
