// Files under a partial name; see partial_file.hpp.
#include "io/regions/partial_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <utility>
#include <vector>

#include "base/files/descriptor.hpp"
#include "base/files/files.hpp"
#include "base/text.hpp"
#include "io/regions/regions.hpp"
#include "tessera/error.hpp"

namespace tessera::io {
namespace {

constexpr std::size_t largest_call = std::size_t{1} << 30;  // the system moves no more than 2 GiB at once
constexpr mode_t usual_mode = 0666;                         // less what the umask takes

}  // namespace

std::string partial_name(const std::string& path) {
  return base::followed(path) + ".partial";
}

void cannot_join(const std::string& path) {
  throw Error(
      ErrorClass::io,
      fmt::format("cannot write {}: another process has begun it, but it is not here", base::quoted(path, 1024)), {},
      "write where all processes see the same files");
}

PartialFile::PartialFile(const std::string& path, bool resume, const Writers& writers)
    : path_(base::followed(path)), partial_(partial_name(path_)) {
  struct stat info{};
  const bool exists = ::stat(path_.c_str(), &info) == 0;
  if (exists && S_ISDIR(info.st_mode)) fail(EISDIR);
  // As AtomicFile: a file that its owner has made read-only is not replaced.
  if (exists && ::faccessat(AT_FDCWD, path_.c_str(), W_OK, AT_EACCESS) != 0) fail(errno);
  resumed_ = (resume || writers.joins()) && ::lstat(partial_.c_str(), &info) == 0 && info.st_size > 0;
  if (writers.joins() && !resumed_) cannot_join(path_);
  const int beginning = writers.joins() ? 0 : resume ? O_CREAT : O_CREAT | O_TRUNC;
  fd_ = ::open(partial_.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | beginning, usual_mode);
  if (fd_ < 0) fail(errno);
}

PartialFile::~PartialFile() {
  if (fd_ >= 0) ::close(fd_);
}

void PartialFile::fail(int error_number) const {
  throw Error(ErrorClass::io,
              fmt::format("cannot write {}: {}", base::quoted(path_, 1024), base::reason_of(error_number)));
}

void PartialFile::begin_with(i64 offset, std::span<const std::byte> bytes) const {
  std::vector<std::byte> there(resumed_ ? bytes.size() : 0);
  there.resize(read_at(offset, there));
  if (!std::equal(there.begin(), there.end(), bytes.begin()))
    throw Error(ErrorClass::argument,
                fmt::format("cannot write {}: what stands there is not the beginning of this file",
                            base::quoted(partial_, 1024)),
                {}, "begin anew, without resuming");
  if (there.size() < bytes.size()) write_at(offset, bytes);
}

i64 PartialFile::size() const {
  struct stat info{};
  if (::fstat(fd_, &info) != 0) fail(errno);
  return info.st_size;
}

std::size_t PartialFile::read_at(i64 offset, std::span<std::byte> to) const {
  std::size_t done = 0;
  while (done < to.size()) {
    const std::size_t ask = std::min(to.size() - done, largest_call);
    const ssize_t n = ::pread(fd_, to.data() + done, ask, offset + static_cast<i64>(done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail(errno);
    if (n == 0) break;
    done += static_cast<std::size_t>(n);
  }
  return done;
}

void PartialFile::write_at(i64 offset, std::span<const std::byte> from) const {
  while (!from.empty()) {
    const ssize_t n = ::pwrite(fd_, from.data(), std::min(from.size(), largest_call), offset);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) fail(n < 0 ? errno : ENOSPC);
    offset += n;
    from = from.subspan(static_cast<std::size_t>(n));
  }
}

void PartialFile::reach(i64 size) const {
  if (this->size() < size && ::ftruncate(fd_, size) != 0) fail(errno);
}

i64 PartialFile::append(i64 bytes) const {
  // A lock of the open file, so that it is none between threads and goes with the descriptor.
  struct flock lock{};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  while (::fcntl(fd_, F_OFD_SETLKW, &lock) != 0)
    if (errno != EINTR) fail(errno);
  const i64 begin = size();
  const int error = ::ftruncate(fd_, begin + bytes) != 0 ? errno : 0;
  lock.l_type = F_UNLCK;
  ::fcntl(fd_, F_OFD_SETLK, &lock);
  if (error != 0) fail(error);
  return begin;
}

void PartialFile::sync() const {
  // EINVAL and ENOTSUP: a file system that cannot sync has promised nothing to begin with.
  if (::fsync(fd_) != 0 && errno != EINVAL && errno != ENOTSUP) fail(errno);
}

void PartialFile::close() {
  const int closed = ::close(std::exchange(fd_, -1));
  if (closed != 0 && errno != EINTR) fail(errno);
}

void PartialFile::commit() {
  sync();
  struct stat old{};
  if (::stat(path_.c_str(), &old) == 0) base::take_owner_and_mode(fd_, old);
  close();
  if (std::rename(partial_.c_str(), path_.c_str()) != 0) fail(errno);
  const std::size_t slash = path_.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path_.substr(0, slash + 1);
  // The name reaches the disk, where the system lets a folder be opened.
  const base::Descriptor opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (opened.fd >= 0 && ::fsync(opened.fd) != 0 && errno != EINVAL && errno != ENOTSUP) fail(errno);
}

void PartialFile::discard() {
  close();
  if (::unlink(partial_.c_str()) != 0 && errno != ENOENT) fail(errno);
}

std::string file_identity(const std::string& path) {
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0)
    throw Error(ErrorClass::io, fmt::format("cannot read {}: {}", base::quoted(path, 1024), base::reason_of(errno)));
  return fmt::format("{} bytes, changed {}.{:09}, inode {}", info.st_size, info.st_mtim.tv_sec, info.st_mtim.tv_nsec,
                     info.st_ino);
}

}  // namespace tessera::io
