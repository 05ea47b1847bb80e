// Arrays in files, read and written by region: what need not lie in memory. See docs/design/beyond.md.
//
//   const auto scan = io::open_parts("scan.ome.zarr");
//   Array part(scan->layout().element, {1, 512, 512});
//   scan->read({{7, 0, 0}, {8, 512, 512}}, part);
//
// A region is [begin, end) of every dimension of the array, slowest first. Elements have the type that they have in the
// file; colours and channels are fields of a struct, dimensions stand in the order t, z, y, x, as read_image() has
// them.
#pragma once

#include <memory>
#include <string>

#include "io/image.hpp"
#include "tessera/options.hpp"

namespace tessera::io {

struct RegionLayout {
  std::string format_name;  // "Zarr", "TIFF"
  Format element;
  Shape shape;
  Shape chunk;         // points that are read or written together, from the first point on; 1 at least
  ImageHeader header;  // as read_image() gives it
};

// All functions are thread-safe.
class RegionReader {
 public:
  virtual ~RegionReader() = default;
  virtual const RegionLayout& layout() const = 0;
  // Fills `to`, of the element type and of the region's shape, any strides. Throws Error(io) with the file's name where
  // it cannot be read, Error(argument) where the region is not within the array.
  virtual void read(const Region&, const Array& to) const = 0;
  // Another one where the file has become another one: extents, bytes, times of change.
  virtual std::string identity() const = 0;
  // Bytes that one call of read() takes beside `to`, at most.
  virtual i64 beside(const Region&) const { return 0; }
  // Chunks that it may keep decompressed, in bytes; how much of that it may come to.
  virtual i64 keep_chunks(i64 /*bytes*/) { return 0; }
};

// Of files that are written whole: the path is as it was until commit().
class RegionWriter {
 public:
  virtual ~RegionWriter() = default;  // without commit(): what was written stays under the partial name
  virtual const RegionLayout& layout() const = 0;
  // It goes on with what stood under the partial name, or joins another process there.
  virtual bool resumed() const = 0;
  // Regions that begin and end at multiples of chunks or at the end of the array, each chunk once (again after a
  // resumption). Thread-safe for regions without a common chunk. Throws Error(io).
  virtual void write(const Region&, const Array& from) = 0;
  // Bytes that one call of write() takes beside `from`, at most.
  virtual i64 beside(const Region&) const { return 0; }
  // Of what has been written until now.
  virtual WriteReport report() const = 0;
  // What was written has reached the disk.
  virtual void sync() = 0;
  // The file gets its name. Everything has been written.
  virtual void commit() = 0;
  // What was written, its partial name included, goes.
  virtual void discard() = 0;
};

// Of Zarr folders, TIFF, .npy, NRRD and MetaImage, and of what ReadOptions::raw describes; null where the file is of a
// format without parts, and no more of it was read than its beginning. Options as of read_image().
std::unique_ptr<RegionReader> open_parts(const std::string& path, const ReadOptions& = {});

// Processes that write one file together: number 0 begins it, then the others join it, then all write; at last 0 alone
// commits. Between these they wait for each other.
struct Writers {
  int number = 0, count = 1;
  bool joins() const { return number > 0; }
};

struct RegionWriteOptions {
  WriteOptions write;   // packing, type of the samples, header
  bool resume = false;  // go on with what stands under the partial name; begin where nothing does
  // Resolutions that the file has, the full one counted: 1 is no pyramid. Each has half the points of the one before
  // in y and x, and in z where slices are about as far apart as rows: means, rounded half to even, made by commit().
  int levels = 1;
  Writers writers = {};
  // Of Zarr, in the dimensions of the array: what is packed at once, and what is one file, of whole chunks. Empty: as
  // the format has it, and each chunk is a file.
  Shape chunk = {}, shard = {};
};
// Throws Error(argument) where the format cannot hold such an array or cannot be written by regions.
std::unique_ptr<RegionWriter> create_regions(const std::string& path, const Format&, const Shape&,
                                             const RegionWriteOptions& = {});
// A folder that is read as an array, or says of itself that it is one.
bool is_array_folder(const std::string& path);
bool is_written_by_regions(const std::string& path);  // by its suffix
bool is_chunked_name(const std::string& path);        // of a format whose chunks have any extents
// Of the file that links lead to.
std::string partial_name(const std::string& path);
// Takes away what a run that ended has begun of this file. Throws Error(io) where that is not all that is there.
void discard_partial(const std::string& path);
// Throws Error(io) where writing an array in chunks to this name would lose what is no such result.
void check_replaceable(const std::string& path);
// Throws Error(io): what another writer has begun is not seen by this one.
[[noreturn]] void cannot_join(const std::string& path);

}  // namespace tessera::io
