// Files read with a bound and written whole or not at all.
//
// An AtomicFile writes beside its target under a temporary name, and only commit() puts it in place: data to disk
// (fsync), then rename, which replaces the old file in one step. Whatever fails before that, a full disk or a throw in
// the middle of an encoder, leaves the old file as it was and no rubbish behind. A symbolic link is followed, so that
// the link survives; a pipe or a device is written directly, since there is nothing to keep. All failures are
// Error(io) that name the path and the reason.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::base {

inline constexpr std::int64_t no_limit = INT64_MAX;

// The whole file. Throws Error(io) when it cannot be read or holds more than `max_bytes`. Pipes work.
std::vector<std::byte> read_bytes(const std::string& path, std::int64_t max_bytes = no_limit);
std::string read_text(const std::string& path, std::int64_t max_bytes = no_limit);

// Bytes of a regular file, or nothing when it is a pipe or a device (whose size shows only in reading). Throws
// Error(io) when there is no such file, or it is a folder.
std::optional<std::int64_t> file_size(const std::string& path);
// Fills `bytes` from the start of the file; returns how many there were.
std::size_t read_file_into(const std::string& path, std::span<std::byte> bytes);

void write_file(const std::string& path, std::span<const std::byte> bytes);
void write_file(const std::string& path, std::string_view text);

// What an errno means, as the tail of a sentence: "permission denied".
std::string reason_of(int error_number);

// Not thread-safe; one thread writes one file.
class AtomicFile {
 public:
  explicit AtomicFile(std::string path);  // throws at once when the folder is missing or not writable
  ~AtomicFile();                          // without commit(): removes what was written
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::span<const std::byte> bytes);
  // Random access, for encoders that go back to fix headers (TIFF). Throws on a pipe.
  void write_at(std::int64_t offset, std::span<const std::byte> bytes);
  // Bytes actually read at that offset; fewer than asked at the end.
  std::size_t read_at(std::int64_t offset, std::span<std::byte> bytes);
  bool seekable() const { return !temporary_.empty(); }
  const std::string& path() const { return path_; }
  // What was written reaches the disk, under no name yet: after this, commit() only renames.
  void sync();
  void commit();

 private:
  [[noreturn]] void fail(int error_number) const;
  std::string path_;       // as the caller gave it
  std::string target_;     // with links resolved
  std::string temporary_;  // empty when the target is written directly
  int fd_ = -1;
};

}  // namespace tessera::base
