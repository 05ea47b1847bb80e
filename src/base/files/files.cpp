// Files read with a bound and written whole or not at all; see files.hpp.
#include "base/files/files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <new>
#include <system_error>

#include "base/files/descriptor.hpp"
#include "base/process/deadline.hpp"
#include "base/text.hpp"
#include "tessera/error.hpp"

namespace tessera::base {
namespace {

constexpr std::size_t largest_call = std::size_t{1} << 30;  // Linux moves at most 2 GiB per call

[[noreturn]] void cannot_read(const std::string& path, const std::string& why, std::string help = {}) {
  throw Error(ErrorClass::io,
              fmt::format("cannot read {}: {}", path == "-" ? "standard input" : quoted(path, 1024), why), {},
              std::move(help));
}

std::string written_name(const std::string& path) {
  return path == "-" ? "standard output" : quoted(path, 1024);
}

// Waits are steps of so long, between which cancellation and limits of time are looked at.
constexpr int wait_milliseconds = 100;

// Until something can be read or written, the other side is gone, or an error is to be told.
void wait_for(int fd, short what) {
  for (;;) {
    pollfd one{fd, what, 0};
    const int ready = ::poll(&one, 1, wait_milliseconds);
    if (ready > 0 || (ready < 0 && errno != EINTR)) return;
    look_at_deadline();
  }
}

// "-" is standard input. A pipe without a writer is opened, too, and waited for where it is read.
int open_to_read(const std::string& path) {
  return path == "-" ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
                     : ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
}

// Up to so many bytes; none at the end alone.
std::size_t read_some(int fd, void* to, std::size_t count, const std::string& path) {
  for (;;) {
    wait_for(fd, POLLIN);
    const ssize_t n = ::read(fd, to, std::min(count, largest_call));
    if (n >= 0) return static_cast<std::size_t>(n);
    if (errno != EINTR && errno != EAGAIN) cannot_read(path, reason_of(errno));
    look_at_deadline();
  }
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// The number of an open file of this process where a path is one: of /proc/self/fd/3 by any name of that folder; else
// below 0.
int descriptor_of(const std::string& path) {
  const std::string name = path.substr(path.rfind('/') + 1);
  const bool number = !name.empty() && name.size() < 10 && name.find_first_not_of("0123456789") == std::string::npos;
  char own[PATH_MAX], folder[PATH_MAX];
  if (!number || ::realpath("/proc/self/fd", own) == nullptr || ::realpath(folder_of(path).c_str(), folder) == nullptr)
    return -1;
  return std::strcmp(own, folder) == 0 ? std::atoi(name.c_str()) : -1;
}

// Where a path leads.
struct Place {
  std::string path;     // where a chain of symbolic links ends, even when nothing is there yet
  int descriptor = -1;  // an open file of this process: the text of its link is no path
};

// Nothing for a ring of links.
std::optional<Place> resolve_links(std::string path) {
  if (path == "-") return Place{path, STDOUT_FILENO};
  for (int hops = 0; hops < 40; ++hops) {
    if (const int descriptor = descriptor_of(path); descriptor >= 0) return Place{path, descriptor};
    struct stat info{};
    if (::lstat(path.c_str(), &info) != 0 || !S_ISLNK(info.st_mode)) return Place{path};
    char buffer[PATH_MAX];
    const ssize_t n = ::readlink(path.c_str(), buffer, sizeof buffer);
    if (n <= 0 || static_cast<std::size_t>(n) == sizeof buffer) return Place{path};
    const std::string link(buffer, static_cast<std::size_t>(n));
    path = link[0] == '/' ? link : folder_of(path) + "/" + link;
  }
  return std::nullopt;
}

// What is there by that name, or open by that number.
bool look_at(const std::string& path, struct stat& info) {
  const std::optional<Place> place = resolve_links(path);
  return place && (place->descriptor >= 0 ? ::fstat(place->descriptor, &info) : ::stat(path.c_str(), &info)) == 0;
}

// A file of no name that is gone with its descriptor, in the folder of temporary files.
int open_unnamed(const std::string& path) {
  const std::string folder = temporary_folder();
  const int fd = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd >= 0) return fd;
  std::string pattern = folder + "/tessera-XXXXXX";
  const int named = ::mkostemp(pattern.data(), O_CLOEXEC);
  if (named < 0)
    throw Error(ErrorClass::io,
                fmt::format("cannot write {}: no temporary file can be made in {}: {}", written_name(path),
                            quoted(folder, 1024), reason_of(errno)),
                {}, errno == EMFILE || errno == ENFILE ? "" : "set TMPDIR to a folder that can be written");
  ::unlink(pattern.c_str());
  return named;
}

// A descriptor of one's own for an open file; below 0, with errno set, where it is not open for writing.
int open_again(int descriptor) {
  const int flags = ::fcntl(descriptor, F_GETFL);
  if (flags < 0) return -1;
  if ((flags & O_ACCMODE) != O_RDONLY && (flags & O_PATH) == 0) return ::fcntl(descriptor, F_DUPFD_CLOEXEC, 3);
  errno = EBADF;
  return -1;
}

template <class Container>
Container read_all(int fd, const std::string& path, std::int64_t max_bytes) {
  struct stat info{};
  if (::fstat(fd, &info) != 0) cannot_read(path, reason_of(errno));
  if (S_ISDIR(info.st_mode)) cannot_read(path, "it is a folder");
  const auto too_large = [&](const std::string& held) {
    cannot_read(path, fmt::format("it holds {}, the limit is {}", held, format_bytes(static_cast<double>(max_bytes))));
  };
  const bool regular = S_ISREG(info.st_mode) && path != "-";  // which may stand anywhere in a file
  if (regular && info.st_size > max_bytes) too_large(format_bytes(static_cast<double>(info.st_size)));

  Container out;
  std::size_t used = 0;
  try {
    // One byte more than the size tells the end of the file without growing; a file in /proc says 0 and is longer.
    out.resize(regular ? static_cast<std::size_t>(info.st_size) + 1 : 1 << 16);
    for (;;) {
      if (used == out.size()) out.resize(std::max<std::size_t>(used * 2, 1 << 16));
      const std::size_t n = read_some(fd, out.data() + used, out.size() - used, path);
      if (n == 0) break;
      used += n;
      if (static_cast<std::int64_t>(used) > max_bytes) too_large("more");
    }
    out.resize(used);
  } catch (const std::bad_alloc&) {
    cannot_read(path, fmt::format("no memory for {}",
                                  format_bytes(static_cast<double>(std::max<std::size_t>(out.size(), used)))));
  } catch (const std::length_error&) {
    cannot_read(path, "it is larger than memory can be");
  }
  return out;
}

template <class Container>
Container read_named(const std::string& path, std::int64_t max_bytes) {
  const Descriptor file{open_to_read(path)};
  if (file.fd < 0) cannot_read(path, reason_of(errno));
  return read_all<Container>(file.fd, path, max_bytes);
}

}  // namespace

Reading::Reading(const std::string& path) : path_(path), fd_(open_to_read(path)) {
  if (fd_ < 0) cannot_read(path, reason_of(errno));
}

Reading::~Reading() {
  ::close(fd_);
}

std::size_t Reading::read(std::span<std::byte> to) const {
  for (std::size_t used = 0; used < to.size();) {
    const std::size_t n = some(to.subspan(used));
    if (n == 0) return used;
    used += n;
  }
  return to.size();
}

std::size_t Reading::some(std::span<std::byte> to) const {
  look_at_deadline();  // of a stream that always has more
  return to.empty() ? 0 : read_some(fd_, to.data(), to.size(), path_);
}

std::size_t Reading::read_at(std::int64_t offset, std::span<std::byte> to) const {
  std::size_t done = 0;
  while (done < to.size()) {
    look_at_deadline();
    const std::size_t ask = std::min(to.size() - done, largest_call);
    const ssize_t n = ::pread(fd_, to.data() + done, ask, offset + static_cast<std::int64_t>(done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) cannot_read(path_, reason_of(errno));
    if (n == 0) break;
    done += static_cast<std::size_t>(n);
  }
  return done;
}

std::string reason_of(int error_number) {
  switch (error_number) {
    case ENOENT:
      return "no such file or folder";
    case EACCES:
    case EPERM:
      return "permission denied";
    case EROFS:
      return "the file system is read-only";
    case ENOSPC:
      return "no space left on the device";
    case EDQUOT:
      return "the disk quota is used up";
    case ENOTDIR:
      return "a part of the path is not a folder";
    case EISDIR:
      return "it is a folder";
    case ENAMETOOLONG:
      return "the name is too long";
    case ELOOP:
      return "its symbolic links end nowhere";
    case EFBIG:
      return "it would be larger than files may be here";
    case EBADF:
      return "it is closed, or not open for that";
    case EPIPE:
      return "nobody reads it any more";
    default:
      break;
  }
  std::string text = std::generic_category().message(error_number);
  if (text.size() > 1 && text[1] >= 'a' && text[1] <= 'z') text.replace(0, 1, to_lower(text.substr(0, 1)));
  return text;
}

std::vector<std::byte> read_bytes(const std::string& path, std::int64_t max_bytes) {
  return read_named<std::vector<std::byte>>(path, max_bytes);
}

std::string read_text(const std::string& path, std::int64_t max_bytes) {
  return read_named<std::string>(path, max_bytes);
}

std::string read_open_text(int fd, const std::string& shown, std::int64_t max_bytes) {
  return read_all<std::string>(fd, shown, max_bytes);
}

std::optional<std::int64_t> file_size(const std::string& path) {
  if (path == "-") return std::nullopt;
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0) cannot_read(path, reason_of(errno));
  if (S_ISDIR(info.st_mode)) cannot_read(path, "it is a folder");
  if (!S_ISREG(info.st_mode)) return std::nullopt;
  return info.st_size;
}

std::size_t read_file_into(const std::string& path, std::span<std::byte> bytes) {
  const Descriptor file{open_to_read(path)};
  if (file.fd < 0) cannot_read(path, reason_of(errno));
  std::size_t used = 0;
  while (used < bytes.size()) {
    const std::size_t n = read_some(file.fd, bytes.data() + used, bytes.size() - used, path);
    if (n == 0) break;
    used += n;
  }
  return used;
}

void write_file(const std::string& path, std::span<const std::byte> bytes) {
  AtomicFile file(path);
  file.write(bytes);
  file.commit();
}

void write_file(const std::string& path, std::string_view text) {
  write_file(path, std::as_bytes(std::span(text.data(), text.size())));
}

std::string temporary_folder() {
  const char* chosen = std::getenv("TMPDIR");
  return chosen != nullptr && *chosen != '\0' ? chosen : "/tmp";
}

bool is_stream(const std::string& path) {
  const std::optional<Place> place = resolve_links(path);
  struct stat info{};
  return place && (place->descriptor >= 0 ||
                   (::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode)));
}

void check_stream(const std::string& path) {
  const std::optional<Place> place = resolve_links(path);
  const bool open = place && place->descriptor >= 0;
  const Descriptor sink{open ? open_again(place->descriptor) : -1};
  if (open ? sink.fd < 0 : ::faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) != 0)
    throw Error(ErrorClass::io, fmt::format("cannot write {}: {}", written_name(path), reason_of(errno)));
  const Descriptor file{open_unnamed(path)};
}

std::string followed(const std::string& path) {
  std::string name = path;
  while (name.size() > 1 && name.back() == '/') name.pop_back();
  const std::optional<Place> place = resolve_links(name);
  return place && place->descriptor < 0 ? place->path : name;
}

std::string place_of(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code ec;
  const fs::path whole = fs::weakly_canonical(fs::absolute(followed(path), ec), ec);
  return ec ? path : whole.string();
}

bool is_same_file(const std::string& a, const std::string& b) {
  if (a == "-" && b == "-") return true;
  struct stat one{}, other{};
  const bool first = look_at(a, one), second = look_at(b, other);
  if (first && second) return !S_ISCHR(one.st_mode) && one.st_dev == other.st_dev && one.st_ino == other.st_ino;
  if (first || second || a == "-" || b == "-") return false;
  return place_of(a) == place_of(b);
}

void take_owner_and_mode(int fd, const struct stat& old) {
  // Not everybody may give a file away, and some file systems have no modes. A mode that was meant
  // for another owner or group opens nothing to this one beyond it; set-id bits would be of another program.
  struct stat own{};
  bool same_group = ::fstat(fd, &own) == 0 && own.st_gid == old.st_gid;
  if (own.st_uid != old.st_uid || !same_group)
    same_group = ::fchown(fd, old.st_uid, old.st_gid) == 0 || ::fchown(fd, static_cast<uid_t>(-1), old.st_gid) == 0;
  const mode_t kept = old.st_mode & (same_group ? 0777 : 0707);
  if (::fchmod(fd, kept) != 0) return;
}

AtomicFile::AtomicFile(std::string path, std::string shown)
    : path_(shown.empty() ? path : std::move(shown)), named_(path), target_(std::move(path)) {
  if (target_.empty()) throw Error(ErrorClass::io, "cannot write a file without a name");
  const std::optional<Place> place = resolve_links(target_);
  if (!place) fail(ELOOP);
  if (place->descriptor >= 0) {
    open_stream(open_again(place->descriptor));
    return;
  }
  struct stat info{};
  const bool exists = ::stat(target_.c_str(), &info) == 0;
  if (exists && S_ISDIR(info.st_mode)) fail(EISDIR);
  if (exists && !S_ISREG(info.st_mode)) {
    // By the name that it was given: an open file of another process has no other. A pipe without a reader is no error
    // yet.
    int sink = -1;
    while ((sink = ::open(target_.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC)) < 0 && errno == ENXIO &&
           S_ISFIFO(info.st_mode)) {
      look_at_deadline();
      ::poll(nullptr, 0, wait_milliseconds);
    }
    open_stream(sink);
    return;
  }
  target_ = place->path;
  // A rename would replace even a file that its owner has made read-only: respect the wish.
  if (exists && ::faccessat(AT_FDCWD, target_.c_str(), W_OK, AT_EACCESS) != 0) fail(errno);
  begin(folder_of(target_));
  if (!exists) return;
  take_owner_and_mode(fd_, info);
}

// `descriptor`: below 0 where it could not be opened, for the reason in errno.
void AtomicFile::open_stream(int descriptor) {
  streams_ = true;
  sink_ = descriptor;
  if (sink_ < 0) fail(errno);
  try {
    fd_ = open_unnamed(named_);
  } catch (...) {
    ::close(sink_);  // nobody destroys what was not made
    throw;
  }
}

// Without a name where the system can: else under one of its own.
void AtomicFile::begin(const std::string& folder) {
  if (target_.substr(target_.rfind('/') + 1).empty()) fail(ENOENT);
  // 0666 and the umask give a new file the mode that any program would.
  fd_ = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
  if (fd_ >= 0 && ::access(fmt::format("/proc/self/fd/{}", fd_).c_str(), F_OK) == 0) return;
  if (fd_ >= 0) ::close(fd_);
  for (int attempt = 0; attempt < 100; ++attempt) {
    const std::string candidate = free_name();
    fd_ = ::open(candidate.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd_ >= 0) {
      temporary_ = candidate;
      return;
    }
    if (errno != EEXIST) fail(errno);
  }
  fail(EEXIST);
}

// Beside the target.
std::string AtomicFile::free_name() const {
  static std::atomic<unsigned> counter{0};
  std::string name = target_.substr(target_.rfind('/') + 1);
  name.resize(std::min<std::size_t>(name.size(), 200));  // leaves room for the suffix within the 255 of a name
  return fmt::format("{}/.{}.{}-{}.part", folder_of(target_), name, ::getpid(), counter++);
}

AtomicFile::~AtomicFile() {
  if (fd_ >= 0) ::close(fd_);
  if (sink_ >= 0) ::close(sink_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void AtomicFile::fail(int error_number) const {
  std::string help;
  if (error_number == ENOENT && named_ != "-" && ::access(folder_of(target_).c_str(), F_OK) != 0)
    help = fmt::format("make the folder {} first", quoted(folder_of(target_), 1024));
  throw Error(ErrorClass::io, fmt::format("cannot write {}: {}", written_name(named_), reason_of(error_number)), {},
              help);
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd_, bytes.data(), std::min(bytes.size(), largest_call));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) fail(n < 0 ? errno : ENOSPC);
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
}

void AtomicFile::write_at(std::int64_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::pwrite(fd_, bytes.data(), std::min(bytes.size(), largest_call), offset);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) fail(n < 0 ? errno : ENOSPC);
    bytes = bytes.subspan(static_cast<std::size_t>(n));
    offset += n;
  }
}

std::size_t AtomicFile::read_at(std::int64_t offset, std::span<std::byte> bytes) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const std::size_t ask = std::min(bytes.size() - done, largest_call);
    const ssize_t n = ::pread(fd_, bytes.data() + done, ask, offset + static_cast<std::int64_t>(done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail(errno);
    if (n == 0) break;
    done += static_cast<std::size_t>(n);
  }
  return done;
}

void AtomicFile::sync() {
  // EINVAL and ENOTSUP: a file system that cannot sync has promised nothing to begin with.
  if (!streams_ && ::fsync(fd_) != 0 && errno != EINVAL && errno != ENOTSUP) fail(errno);
}

// From the first byte to the last into the pipe or device.
void AtomicFile::pour() {
  struct stat info{};
  // Of a pipe that can be written, so many bytes are taken without waiting.
  const std::size_t piece = ::fstat(sink_, &info) == 0 && S_ISFIFO(info.st_mode) ? PIPE_BUF : largest_call;
  std::vector<std::byte> block(std::size_t{1} << 20);
  for (std::int64_t offset = 0;;) {
    std::span<std::byte> bytes = std::span(block).first(read_at(offset, block));
    if (bytes.empty()) break;
    offset += static_cast<std::int64_t>(bytes.size());
    while (!bytes.empty()) {
      wait_for(sink_, POLLOUT);
      const ssize_t n = ::write(sink_, bytes.data(), std::min(bytes.size(), piece));
      if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
      if (n <= 0) fail(n < 0 ? errno : ENOSPC);
      bytes = bytes.subspan(static_cast<std::size_t>(n));
    }
  }
  const int closed = ::close(sink_);
  sink_ = -1;
  if (closed != 0 && errno != EINTR) fail(errno);
}

void AtomicFile::deliver() {
  sync();
  if (sink_ >= 0) pour();
}

std::int64_t AtomicFile::position() const {
  const off_t at = ::lseek(fd_, 0, SEEK_CUR);
  if (at < 0) fail(errno);
  return at;
}

AtomicFile& AtomicFile::beside(const std::string& name) {
  if (streams_)
    throw Error(ErrorClass::argument,
                fmt::format("cannot write {}: the file {} would belong to it, and a stream has no folder",
                            quoted(path_, 1024), quoted(name, 1024)));
  const std::string folder = folder_of(target_);
  companion_ = std::make_unique<AtomicFile>(folder == "." ? name : folder + "/" + name);
  return *companion_;
}

void AtomicFile::commit() {
  if (companion_) {
    AtomicFile* const both[] = {companion_.get(), this};
    return name_all(both);
  }
  deliver();
  take_name(false);
  settle();
}

void AtomicFile::commit_all(std::span<const std::unique_ptr<AtomicFile>> files) {
  std::vector<AtomicFile*> all;
  for (const auto& file : files) {
    if (file->companion_) all.push_back(file->companion_.get());
    all.push_back(file.get());
  }
  name_all(all);
}

void AtomicFile::name_all(std::span<AtomicFile* const> files) {
  for (AtomicFile* file : files) file->sync();
  for (AtomicFile* file : files) file->deliver();
  std::size_t named = 0;
  try {
    for (; named < files.size(); ++named) files[named]->take_name(files.size() > 1);
  } catch (...) {
    while (named-- > 0) files[named]->give_name_back();
    throw;
  }
  for (AtomicFile* file : files) file->drop_old();  // before anything waits for a disk: a kill would leave it
  for (AtomicFile* file : files) file->settle();
}

// `keep_old`: so that it can be given back, where the file system can exchange two names.
void AtomicFile::take_name(bool keep_old) {
  if (streams_) return;
  if (temporary_.empty()) {
    const std::string unnamed = fmt::format("/proc/self/fd/{}", fd_);
    if (::linkat(AT_FDCWD, unnamed.c_str(), AT_FDCWD, target_.c_str(), AT_SYMLINK_FOLLOW) == 0) {
      naming_ = Naming::fresh;
      return;
    }
    // A link replaces nothing, a rename does: for a moment it has a name of its own.
    if (errno != EEXIST) fail(errno);
    for (int attempt = 0; temporary_.empty(); ++attempt) {
      const std::string candidate = free_name();
      if (::linkat(AT_FDCWD, unnamed.c_str(), AT_FDCWD, candidate.c_str(), AT_SYMLINK_FOLLOW) == 0)
        temporary_ = candidate;
      else if (errno != EEXIST || attempt == 100)
        fail(errno);
    }
  }
  const char *from = temporary_.c_str(), *to = target_.c_str();
  if (keep_old && ::renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_EXCHANGE) == 0) {
    naming_ = Naming::exchanged;
    struct stat old{};  // a folder that was made meanwhile would be exchanged, too
    if (::lstat(from, &old) != 0 || !S_ISDIR(old.st_mode)) return;
    give_name_back();
    fail(EISDIR);
  }
  const bool nothing_there = keep_old && errno == ENOENT;
  if (::rename(from, to) != 0) fail(errno);
  temporary_.clear();
  naming_ = nothing_there ? Naming::fresh : Naming::replaced;
}

void AtomicFile::give_name_back() {
  if (naming_ == Naming::fresh) ::unlink(target_.c_str());
  if (naming_ == Naming::exchanged &&
      ::renameat2(AT_FDCWD, temporary_.c_str(), AT_FDCWD, target_.c_str(), RENAME_EXCHANGE) != 0)
    temporary_.clear();  // the old file stays beside the new one
  naming_ = Naming::none;
}

void AtomicFile::drop_old() {
  if (naming_ != Naming::exchanged) return;
  ::unlink(temporary_.c_str());
  temporary_.clear();
  naming_ = Naming::replaced;
}

// The new name itself reaches the disk with its folder; if that fails the file is still complete, so no error.
void AtomicFile::settle() {
  drop_old();
  if (naming_ == Naming::none) return;
  const Descriptor folder{::open(folder_of(target_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (folder.fd >= 0) ::fsync(folder.fd);
}

}  // namespace tessera::base
