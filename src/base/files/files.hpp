// Files read with a bound and written whole or not at all.
//
// An AtomicFile has no name until it is whole: commit() writes data to disk (fsync), then gives it the name, which
// replaces an old file in one step. Whatever fails before that, a full disk, a throw in the middle of an encoder, a
// process that is killed, leaves the old file as it was and no rubbish behind. (Where a file system knows no unnamed
// files it has a name of its own beside the target, which only a killed process leaves there.) A file that is replaced
// keeps its owner, where this user may give files away, and its mode, but no set-id bits. A symbolic link is followed,
// so that the link survives; links in a ring are an error. A stream gets the bytes at commit(), in order, whatever
// order they were written in: "-" (standard output), an open file of this process (/dev/stdout, /dev/fd/3), a pipe, a
// device. commit_all() makes several files appear together: streams first, which cannot be taken back, then the names,
// and where one of them cannot be given the others are as they were. All failures are Error(io) that name the path and
// the reason.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::base {

inline constexpr std::int64_t no_limit = INT64_MAX;

// The whole file; "-" is standard input. Throws Error(io) when it cannot be read or holds more than `max_bytes`. Pipes
// work.
std::vector<std::byte> read_bytes(const std::string& path, std::int64_t max_bytes = no_limit);
std::string read_text(const std::string& path, std::int64_t max_bytes = no_limit);
// The same of an open file, from where it stands; `shown` is its name in errors.
std::string read_open_text(int fd, const std::string& shown, std::int64_t max_bytes = no_limit);

// A file that is read piece by piece; "-" is standard input. All throw Error(io).
class Reading {
 public:
  explicit Reading(const std::string& path);
  ~Reading();
  Reading(const Reading&) = delete;
  Reading& operator=(const Reading&) = delete;

  // What comes next: fewer bytes than asked for at the end alone.
  std::size_t read(std::span<std::byte> to) const;
  // What there is of it now, but one byte at least; none at the end alone.
  std::size_t some(std::span<std::byte> to) const;
  // Of a regular file, wherever the reading stands.
  std::size_t read_at(std::int64_t offset, std::span<std::byte> to) const;

 private:
  std::string path_;
  int fd_;
};

// Bytes of a regular file, or nothing when it is a pipe or a device (whose size shows only in reading). Throws
// Error(io) when there is no such file, or it is a folder.
std::optional<std::int64_t> file_size(const std::string& path);
// Fills `bytes` from the start of the file; returns how many there were.
std::size_t read_file_into(const std::string& path, std::span<std::byte> bytes);

void write_file(const std::string& path, std::span<const std::byte> bytes);
void write_file(const std::string& path, std::string_view text);

// Is what is written there a stream, and no file that would be made or replaced?
bool is_stream(const std::string& path);
// Throws at once what writing to this stream is sure to throw in the end.
void check_stream(const std::string& path);
// One file by two names: links, other ways to write a path, "-" and /dev/stdout; there or not yet. /dev/null and
// terminals take everything and are never the same.
bool is_same_file(const std::string& a, const std::string& b);
// Where the links lead that a path is, which there may be nothing yet; without slashes at its end. A ring of links is
// left as it is.
std::string followed(const std::string& path);
// One spelling for each place, whether a file is there or not: whole, links followed.
std::string place_of(const std::string& path);
// $TMPDIR, else /tmp.
std::string temporary_folder();

// An open file gets the owner and the mode of one that it replaces, as far as this user may: both are courtesies.
void take_owner_and_mode(int fd, const struct stat& old);

// What an errno means, as the tail of a sentence: "permission denied".
std::string reason_of(int error_number);

// Not thread-safe; one thread writes one file.
class AtomicFile {
 public:
  // Throws at once when the folder is missing or not writable. `shown`: what path() says, where that differs.
  explicit AtomicFile(std::string path, std::string shown = {});
  ~AtomicFile();  // without commit(): removes what was written
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::span<const std::byte> bytes);
  // Random access, for encoders that go back to fix headers (TIFF).
  void write_at(std::int64_t offset, std::span<const std::byte> bytes);
  // Bytes actually read at that offset; fewer than asked at the end.
  std::size_t read_at(std::int64_t offset, std::span<std::byte> bytes);
  std::int64_t position() const;  // where write() goes on
  const std::string& path() const { return path_; }
  // A file of this name in the same folder, which gets its name with this one. Throws Error(argument) where this one is
  // a stream.
  AtomicFile& beside(const std::string& name);
  // What was written reaches the disk, under no name yet: after this, commit() only names it.
  void sync();
  // Everything but the name: what was written reaches the disk, or the stream.
  void deliver();
  void commit();
  static void commit_all(std::span<const std::unique_ptr<AtomicFile>> files);

 private:
  [[noreturn]] void fail(int error_number) const;
  void open_stream(int descriptor);
  void begin(const std::string& folder);
  std::string free_name() const;
  void pour();
  void take_name(bool keep_old);
  void give_name_back();
  void drop_old();
  void settle();
  static void name_all(std::span<AtomicFile* const> files);
  std::string path_;       // as the caller wants it shown
  std::string named_;      // as the caller gave it, for errors
  std::string target_;     // with links resolved
  std::string temporary_;  // name until commit, where there has to be one
  int fd_ = -1;
  int sink_ = -1;  // a stream: what gets the bytes in the end
  bool streams_ = false;
  std::unique_ptr<AtomicFile> companion_;
  enum class Naming {
    none,
    fresh,
    exchanged,
    replaced
  } naming_ = Naming::none;  // exchanged: temporary_ is the old file
};

}  // namespace tessera::base
