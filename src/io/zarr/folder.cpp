// Files and folders of the system; see folder.hpp.
#include "io/zarr/folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/files/files.hpp"
#include "base/text.hpp"
#include "io/zarr/json.hpp"
#include "tessera/error.hpp"

namespace tessera::io::zarr {
namespace {

constexpr i64 most_metadata = i64{64} << 20;                // consolidated ones of large groups take some megabytes
constexpr std::size_t largest_call = std::size_t{1} << 30;  // Linux moves at most 2 GiB per call
constexpr mode_t folder_mode = 0777, file_mode = 0666;      // less what the process masks

}  // namespace

std::unique_ptr<const StoredFile> StoredFile::open(const std::string& path) {
  // A pipe under this name is not waited for.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0 && errno == ENOENT) return nullptr;
  if (fd < 0) fail(path, base::reason_of(errno));
  auto file = std::make_unique<StoredFile>(path, fd, 0);
  struct stat info{};
  if (::fstat(fd, &info) != 0) fail(path, base::reason_of(errno));
  if (!S_ISREG(info.st_mode)) fail(path, S_ISDIR(info.st_mode) ? "it is a folder, expected a file" : "it is no file");
  file->size_ = info.st_size;
  return file;
}

void StoredFile::read(i64 offset, std::span<std::byte> to) const {
  while (!to.empty()) {
    const ssize_t n = ::pread(file_.fd, to.data(), std::min(to.size(), largest_call), offset);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail(path_, base::reason_of(errno));
    if (n == 0) fail(path_, fmt::format("{} bytes are missing: it was cut short while it was read", to.size()));
    offset += n;
    to = to.subspan(static_cast<std::size_t>(n));
  }
}

std::optional<std::string> read_metadata(const std::string& path) {
  const std::unique_ptr<const StoredFile> file = StoredFile::open(path);
  if (!file) return std::nullopt;
  if (file->size() > most_metadata)
    fail(path, fmt::format("its {} bytes of metadata are too many, expected up to {}", file->size(), most_metadata));
  std::string text(static_cast<std::size_t>(file->size()), ' ');
  file->read(0, std::as_writable_bytes(std::span(text.data(), text.size())));
  return text;
}

bool is_folder(const std::string& path) {
  struct stat info{};
  return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

std::string without_slashes(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

std::string join(const std::string& folder, std::string_view name) {
  return fmt::format("{}{}{}", folder, folder.ends_with('/') ? "" : "/", name);
}

// ---- writing -----------------------------------------------------------------------------------------------------

void cannot_write(const std::string& path, int error_number) {
  throw Error(ErrorClass::io,
              fmt::format("cannot write {}: {}", base::quoted(path, 1024), base::reason_of(error_number)));
}

void make_folder(const std::string& path) {
  if (::mkdir(path.c_str(), folder_mode) != 0 && (errno != EEXIST || !is_folder(path))) cannot_write(path, errno);
}

void make_folders_above(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos || slash == 0) return;
  const std::string folder = path.substr(0, slash);
  if (::mkdir(folder.c_str(), folder_mode) == 0 || errno == EEXIST) return;
  if (errno != ENOENT) cannot_write(folder, errno);
  make_folders_above(folder);
  make_folder(folder);
}

void write_by(const std::string& temporary, const std::string& path, std::span<const std::byte> bytes) {
  {
    const base::Descriptor file{::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, file_mode)};
    if (file.fd < 0) cannot_write(path, errno);
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (!base::write_all(file.fd, text)) {
      const int error = errno;
      ::unlink(temporary.c_str());
      cannot_write(path, error);
    }
  }
  if (::rename(temporary.c_str(), path.c_str()) == 0) return;
  if (errno == ENOENT) {
    make_folders_above(path);
    if (::rename(temporary.c_str(), path.c_str()) == 0) return;
  }
  const int error = errno;
  ::unlink(temporary.c_str());
  cannot_write(path, error);
}

void remove_file(const std::string& path) {
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) cannot_write(path, errno);
}

void remove_folder(const std::string& path) {
  std::error_code error;
  std::filesystem::remove_all(path, error);
  if (error) cannot_write(path, error.value());
}

void sync_all(const std::string& folder) {
  const base::Descriptor file{::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (file.fd < 0 || ::syncfs(file.fd) != 0) cannot_write(folder, errno);
}

void sync_folder(const std::string& folder) {
  const base::Descriptor file{::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  // (Some file systems know no such thing of folders.)
  if (file.fd < 0 || (::fsync(file.fd) != 0 && errno != EINVAL)) cannot_write(folder, errno);
}

void replace_folder(const std::string& from, const std::string& to, const std::string& old) {
  remove_folder(old);
  if (::rename(from.c_str(), to.c_str()) == 0) return;  // nothing was there, or an empty folder
  if (errno != ENOTEMPTY && errno != EEXIST) cannot_write(to, errno);
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_EXCHANGE) == 0) {
    if (::rename(from.c_str(), old.c_str()) != 0) cannot_write(from, errno);
  } else if (errno != EINVAL && errno != ENOSYS) {
    cannot_write(to, errno);
  } else {  // a file system that knows no exchange: for a moment there is none
    if (::rename(to.c_str(), old.c_str()) != 0) cannot_write(to, errno);
    if (::rename(from.c_str(), to.c_str()) != 0) {
      const int error = errno;
      if (::rename(old.c_str(), to.c_str()) != 0) cannot_write(old, errno);
      cannot_write(to, error);
    }
  }
  remove_folder(old);
}

}  // namespace tessera::io::zarr
