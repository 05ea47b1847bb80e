// See raw.hpp.
#include "io/regions/raw.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "base/files/files.hpp"
#include "base/text.hpp"
#include "io/regions/regions.hpp"
#include "tessera/error.hpp"

namespace tessera::io {
namespace {

constexpr mode_t habitual_mode = 0666;

int flags_of(PlacedFile::Mode mode) {
  if (mode == PlacedFile::Mode::read) return O_RDONLY | O_CLOEXEC;
  return O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | (mode == PlacedFile::Mode::create ? O_TRUNC : 0);
}

// Calls `at(first element, count, elements before)` for every run of elements that lie together.
template <class F>
void for_each_run(const PlacedArray& array, const Region& region, const F& at) {
  const std::size_t rank = array.shape.size();
  std::size_t whole = rank;  // dimensions from here on are taken whole
  while (whole > 0 && region.begin[whole - 1] == 0 && region.end[whole - 1] == array.shape[whole - 1]) --whole;
  const std::size_t loops = whole == 0 ? 0 : whole - 1;
  std::vector<i64> steps(rank + 1, 1);
  for (std::size_t d = rank; d-- > 0;) steps[d] = steps[d + 1] * array.shape[d];
  const i64 run = whole == 0 ? steps[0] : (region.end[loops] - region.begin[loops]) * steps[whole];
  std::vector<i64> index(region.begin.begin(), region.begin.begin() + static_cast<std::ptrdiff_t>(loops));
  for (i64 before = 0;; before += run) {
    i64 first = whole == 0 ? 0 : region.begin[loops] * steps[whole];
    for (std::size_t d = 0; d < loops; ++d) first += index[d] * steps[d + 1];
    at(first, run, before);
    std::size_t d = loops;
    while (d > 0 && ++index[d - 1] == region.end[d - 1]) {
      index[d - 1] = region.begin[d - 1];
      --d;
    }
    if (d == 0) return;
  }
}

}  // namespace

PlacedFile::PlacedFile(std::string path, Mode mode)
    : path_(std::move(path)), file_(::open(path_.c_str(), flags_of(mode), habitual_mode)) {
  if (file_.fd < 0) fail(mode == Mode::read ? "read" : "written", errno);
}

void PlacedFile::fail(const char* verb, int error_number) const {
  throw Error(ErrorClass::io,
              fmt::format("{} cannot be {}: {}", base::quoted(path_, 1024), verb, base::reason_of(error_number)));
}

void PlacedFile::read(i64 at, void* to, i64 bytes) const {
  for (auto* p = static_cast<char*>(to); bytes > 0;) {
    const ssize_t n = ::pread(file_.fd, p, static_cast<std::size_t>(bytes), at);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail("read", errno);
    if (n == 0)
      throw Error(ErrorClass::io, fmt::format("cannot read {}: it is cut short, {} bytes at {} are missing",
                                              base::quoted(path_, 1024), bytes, at));
    p += n, at += n, bytes -= n;
  }
}

void PlacedFile::write(i64 at, const void* from, i64 bytes) const {
  for (const auto* p = static_cast<const char*>(from); bytes > 0;) {
    const ssize_t n = ::pwrite(file_.fd, p, static_cast<std::size_t>(bytes), at);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) fail("written", n < 0 ? errno : ENOSPC);
    p += n, at += n, bytes -= n;
  }
}

void PlacedFile::resize(i64 bytes) const {
  if (::ftruncate(file_.fd, bytes) != 0) fail("written", errno);
}

i64 PlacedFile::size() const {
  struct stat s{};
  if (::fstat(file_.fd, &s) != 0) fail("read", errno);
  return s.st_size;
}

void PlacedFile::sync() const {
  if (::fdatasync(file_.fd) != 0) fail("written", errno);
}

std::string PlacedFile::identity() const {
  struct stat s{};
  if (::stat(path_.c_str(), &s) != 0) fail("read", errno);
  return fmt::format("{} bytes, inode {}:{}, changed {}.{:09}", s.st_size, s.st_dev, s.st_ino, s.st_mtim.tv_sec,
                     s.st_mtim.tv_nsec);
}

void read_box(const PlacedFile& file, const PlacedArray& array, const Region& region, std::byte* to) {
  for_each_run(array, region, [&](i64 first, i64 count, i64 before) {
    file.read(array.offset + first * array.item, to + before * array.item, count * array.item);
  });
}

void write_box(const PlacedFile& file, const PlacedArray& array, const Region& region, const std::byte* from) {
  for_each_run(array, region, [&](i64 first, i64 count, i64 before) {
    file.write(array.offset + first * array.item, from + before * array.item, count * array.item);
  });
}

Shape rows_of(const PlacedArray& array) {
  constexpr i64 piece = 1 << 16;  // bytes of a row that are worth a call of the system
  Shape chunk(array.shape.size(), 1);
  if (!chunk.empty()) chunk.back() = std::min(array.shape.back(), std::max<i64>(piece / array.item, 1));
  return chunk;
}

std::string partial_name(const std::string& path) {
  std::string name = path;
  while (name.size() > 1 && name.back() == '/') name.pop_back();
  return name + ".partial";
}

namespace {

std::string followed(const std::string& path) {
  std::error_code ec;
  if (!std::filesystem::is_symlink(path, ec)) return path;
  const std::filesystem::path real = std::filesystem::weakly_canonical(path, ec);
  return ec ? path : real.string();
}

}  // namespace

PartialFile::PartialFile(const std::string& target, bool go_on) : target_(followed(target)) {
  std::error_code ec;
  const std::string name = partial_name(target_);
  went_on_ = go_on && std::filesystem::is_regular_file(name, ec);
  file_ = std::make_unique<PlacedFile>(name, went_on_ ? PlacedFile::Mode::go_on : PlacedFile::Mode::create);
}

void PartialFile::refuse(const std::string& reason) const {
  throw Error(ErrorClass::argument,
              fmt::format("{} is no beginning of this result: {}", base::quoted(file_->path(), 1024), reason), {},
              "remove it, or run without --resume");
}

void PartialFile::commit() {
  file_->sync();
  struct stat old{};
  constexpr mode_t bits = 0777;
  if (::stat(target_.c_str(), &old) == 0) ::chmod(file_->path().c_str(), old.st_mode & bits);
  if (std::rename(file_->path().c_str(), target_.c_str()) != 0)
    throw Error(ErrorClass::io,
                fmt::format("{} cannot be written: {}", base::quoted(target_, 1024), base::reason_of(errno)));
}

void PartialFile::discard() {
  std::error_code ec;
  std::filesystem::remove(file_->path(), ec);
}

}  // namespace tessera::io
