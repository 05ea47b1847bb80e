// Elements that lie in a file one after the other, uncompressed: boxes of them, by place.
#pragma once

#include <memory>
#include <string>

#include "base/files/descriptor.hpp"
#include "tessera/array.hpp"
#include "tessera/options.hpp"

namespace tessera::io {

// An open file whose bytes are had by place. Thread-safe.
class PlacedFile {
 public:
  enum class Mode { read, create, go_on };
  // Throws Error(io) that names the path.
  PlacedFile(std::string path, Mode);
  // Throws Error(io) where fewer follow: the file is cut short.
  void read(i64 at, void* to, i64 bytes) const;
  void write(i64 at, const void* from, i64 bytes) const;
  void resize(i64 bytes) const;  // holes are zeros
  i64 size() const;
  void sync() const;
  // Size, inode and times of change, as text.
  std::string identity() const;
  const std::string& path() const { return path_; }

 private:
  [[noreturn]] void fail(const char* verb, int error_number) const;
  std::string path_;
  base::Descriptor file_;
};

// An array within such a file: C order, `item` bytes an element, the first one at `offset`.
struct PlacedArray {
  i64 offset = 0, item = 1;
  Shape shape;
};
// A box of it, its elements one after the other.
void read_box(const PlacedFile&, const PlacedArray&, const Region&, std::byte* to);
void write_box(const PlacedFile&, const PlacedArray&, const Region&, const std::byte* from);
// Rows, or pieces of long ones.
Shape rows_of(const PlacedArray&);

// What is written under a partial name until it is whole.
class PartialFile {
 public:
  // With `go_on` what stands there already is kept. A symbolic link to the target is followed.
  PartialFile(const std::string& target, bool go_on);
  const PlacedFile& file() const { return *file_; }
  bool went_on() const { return went_on_; }
  // What stands there is no beginning of this file. Throws Error(argument).
  [[noreturn]] void refuse(const std::string& reason) const;
  // Synchronised, and under the name of the target, in the place of what stands there, whose mode it gets.
  void commit();
  void discard();

 private:
  std::string target_;
  bool went_on_ = false;
  std::unique_ptr<PlacedFile> file_;
};

}  // namespace tessera::io
