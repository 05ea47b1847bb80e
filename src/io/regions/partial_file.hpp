// A file that is written at any place, by several threads, under the partial name, and gets its own at the end.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "io/regions/regions.hpp"
#include "tessera/array.hpp"

namespace tessera::io {

// All functions throw Error(io), with the name that the file is to have.
class PartialFile {
 public:
  // `resume`: what stands under the partial name is kept. A symbolic link is followed. Who joins other writers keeps
  // it, too, and finds it there.
  PartialFile(const std::string& path, bool resume, const Writers& writers = {});
  ~PartialFile();  // it stays under the partial name
  PartialFile(const PartialFile&) = delete;
  PartialFile& operator=(const PartialFile&) = delete;

  const std::string& path() const { return path_; }
  bool resumed() const { return resumed_; }  // something stood there, and was kept
  i64 size() const;
  std::size_t read_at(i64 offset, std::span<std::byte> to) const;  // fewer at the end
  void write_at(i64 offset, std::span<const std::byte> from) const;
  // What every file of this work has there. What stood there from before has to be the same, or the first part of it
  // at the file's end: Error(argument).
  void begin_with(i64 offset, std::span<const std::byte> bytes) const;
  void reach(i64 size) const;  // as long as this at least; what is new there is 0
  // Longer by so many bytes, which are the caller's: where they begin. Processes take turns; threads of one do not.
  i64 append(i64 bytes) const;
  void sync() const;
  void commit();  // in the place of a file whose mode it gets
  void discard();

 private:
  [[noreturn]] void fail(int error_number) const;
  void close();
  std::string path_, partial_;
  int fd_ = -1;
  bool resumed_ = false;
};

// Another one where the file of this name has become another one: its size, its time of change, its inode.
std::string file_identity(const std::string& path);

}  // namespace tessera::io
