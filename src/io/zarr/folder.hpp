// Files in the folder of an array: read by part, written under a name that shows when they are whole.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/files/descriptor.hpp"
#include "tessera/array.hpp"

namespace tessera::io::zarr {

// A regular file that is open for reading. Thread-safe.
class StoredFile {
 public:
  // Null where there is none. Throws Error(io).
  static std::unique_ptr<const StoredFile> open(const std::string& path);
  StoredFile(std::string path, int fd, i64 size) : path_(std::move(path)), file_(fd), size_(size) {}
  i64 size() const { return size_; }
  void read(i64 offset, std::span<std::byte> to) const;  // Error(io) where the file ends before

 private:
  std::string path_;
  base::Descriptor file_;
  i64 size_;
};

// The text of a metadata file; nothing where there is none.
std::optional<std::string> read_metadata(const std::string& path);
bool is_folder(const std::string& path);
// "a/b" for "a/b/": the name that other names can stand behind.
std::string without_slashes(std::string path);
std::string join(const std::string& folder, std::string_view name);

// Throws Error(io): "cannot write 'path': reason of errno".
[[noreturn]] void cannot_write(const std::string& path, int error_number);

// Folders of a file on its way: parts of a path are made as they are missing.
void make_folder(const std::string& path);
void make_folders_above(const std::string& path);
// Writes `temporary` and gives it the name, whose folders are made as they are missing.
void write_by(const std::string& temporary, const std::string& path, std::span<const std::byte>);
void remove_file(const std::string& path);    // there or not
void remove_folder(const std::string& path);  // with all that is in it; there or not
// What was written to the file system of this folder is on the disk.
void sync_all(const std::string& folder);
void sync_folder(const std::string& folder);  // the names in it
// Gives `from` the name `to`, in the place of the folder that may be there, which goes by the name `old`.
void replace_folder(const std::string& from, const std::string& to, const std::string& old);

}  // namespace tessera::io::zarr
