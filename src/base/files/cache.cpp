// The disk cache; see cache.hpp. An entry is the file <hex key>.blob:  content | SHA-256(key, content) | length |
// magic.
#include "base/files/cache.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <new>
#include <span>
#include <vector>

#include "base/files/descriptor.hpp"
#include "base/files/files.hpp"
#include "base/files/owner.hpp"
#include "tessera/error.hpp"

namespace tessera::base {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view magic = "TSRBLOB1";
constexpr std::size_t trailer_size = 32 + 8 + 8;
constexpr std::int64_t stale_after = 3600;  // seconds until an unfinished file of a dead process counts as rubbish

std::string trailer_of(const Digest& key, std::string_view content) {
  const Digest sum = Hasher().bytes(std::as_bytes(std::span(key))).text(content).finish();
  std::string out(reinterpret_cast<const char*>(sum.data()), sum.size());
  for (int i = 0; i < 8; ++i) out += static_cast<char>(static_cast<std::uint64_t>(content.size()) >> (8 * i));
  return out + std::string(magic);
}

// Belongs to this user or root.
bool is_ours(const struct stat& info) {
  return info.st_uid == ::geteuid() || info.st_uid == 0;
}

bool is_ours_alone(const struct stat& info) {
  return is_ours(info) && (info.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

// Can nobody else put another folder in the place of `folder`, which need not be there yet? Looks at every folder above
// it, links resolved.
bool is_reached_safely(const fs::path& folder) {
  std::error_code code;
  fs::path at = folder;
  while (!fs::exists(at, code) && at.has_relative_path()) at = at.parent_path();
  const bool there = at == folder;
  at = fs::canonical(at.empty() ? "." : at, code);
  if (code) return false;
  if (there) at = at.parent_path();
  for (;; at = at.parent_path()) {
    struct stat info{};
    if (::stat(at.c_str(), &info) != 0 || !is_ours(info)) return false;
    const bool sticky = (info.st_mode & S_ISVTX) != 0;  // what lies here can be replaced by its owner alone
    const bool group = (info.st_mode & S_IWGRP) != 0 && !is_private_group(info.st_gid);
    if (!sticky && (group || (info.st_mode & S_IWOTH) != 0)) return false;
    if (!at.has_relative_path()) return true;
  }
}

// Opened anew for every use: a folder may be removed, and made by somebody else.
int open_folder(const std::string& folder) {
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  struct stat info{};
  if (fd >= 0 && (::fstat(fd, &info) != 0 || !is_ours_alone(info))) {
    ::close(fd);
    return -1;
  }
  return fd;
}

std::string name_of(const Digest& key) {
  return to_hex(key) + ".blob";
}

// The content and trailer of an entry that can be trusted, whatever they say; `found`: there is something of that name.
std::optional<std::string> read_entry(int folder, const std::string& name, std::int64_t most, bool& found) {
  const Descriptor file(::openat(folder, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  found = file.fd >= 0 || errno != ENOENT;
  struct stat info{};
  if (file.fd < 0 || ::fstat(file.fd, &info) != 0 || !S_ISREG(info.st_mode) || !is_ours_alone(info) ||
      info.st_nlink != 1 || info.st_size > most)
    return std::nullopt;
  std::string content;
  try {
    content.resize(static_cast<std::size_t>(info.st_size));
  } catch (const std::bad_alloc&) {
    found = false;
    return std::nullopt;
  }
  for (std::size_t used = 0; used < content.size();) {
    const ssize_t n = ::read(file.fd, content.data() + used, std::min<std::size_t>(content.size() - used, 1u << 30));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return std::nullopt;
    used += static_cast<std::size_t>(n);
  }
  return content;
}

struct File {
  std::string path;
  std::int64_t size = 0;
  struct timespec used{};
};

// Entries of the folder, and unfinished files that nobody will finish.
void list(const std::string& folder, std::vector<File>& entries, std::vector<std::string>& rubbish) {
  std::error_code code;
  for (fs::directory_iterator it(folder, code), end; !code && it != end; it.increment(code)) {
    const std::string path = it->path().string();
    const std::string suffix = it->path().extension().string();
    struct stat info{};
    if ((suffix != ".blob" && suffix != ".part") || ::lstat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode))
      continue;
    if (suffix == ".blob") {
      entries.push_back({path, info.st_size, info.st_mtim});
    } else if (std::time(nullptr) - info.st_mtim.tv_sec > stale_after) {
      rubbish.push_back(path);
    }
  }
}

std::string from_environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

}  // namespace

std::string Cache::default_folder() {
  if (const char* own = std::getenv("TESSERA_CACHE")) return own;
  // The XDG rules: a relative path is invalid and to be ignored.
  if (const std::string xdg = from_environment("XDG_CACHE_HOME"); xdg.starts_with('/')) return xdg + "/tessera";
  if (const std::string home = from_environment("HOME"); home.starts_with('/')) return home + "/.cache/tessera";
  return "";
}

Cache& Cache::user() {
  static Cache cache(default_folder());
  return cache;
}

Cache::Cache(std::string folder, std::int64_t max_bytes) : folder_(std::move(folder)), max_bytes_(max_bytes) {
  if (folder_.empty()) return;
  std::error_code code;
  const fs::path absolute = fs::absolute(folder_, code).lexically_normal();
  if (code || !is_reached_safely(absolute)) {  // nothing is made there, either
    folder_.clear();
    return;
  }
  fs::create_directories(absolute.parent_path(), code);
  ::mkdir(folder_.c_str(), 0700);
  if (const Descriptor opened(open_folder(folder_)); opened.fd < 0) folder_.clear();
}

std::optional<std::string> Cache::get(const Digest& key) {
  if (folder_.empty()) return std::nullopt;
  const Descriptor folder(open_folder(folder_));
  if (folder.fd < 0) return std::nullopt;
  const std::string name = name_of(key);
  bool found = false;
  std::optional<std::string> content =
      read_entry(folder.fd, name, max_bytes_ + static_cast<std::int64_t>(trailer_size), found);
  const std::size_t size = !content || content->size() < trailer_size ? 0 : content->size() - trailer_size;
  if (!content || content->size() < trailer_size ||
      std::string_view(*content).substr(size) != trailer_of(key, std::string_view(*content).substr(0, size))) {
    if (found) ::unlinkat(folder.fd, name.c_str(), 0);
    return std::nullopt;
  }
  ::utimensat(folder.fd, name.c_str(), nullptr, AT_SYMLINK_NOFOLLOW);  // used now: evicted last
  content->resize(size);
  return content;
}

bool Cache::put(const Digest& key, std::string_view content) {
  const std::string trailer = trailer_of(key, content);
  const auto size = static_cast<std::int64_t>(content.size() + trailer.size());
  if (folder_.empty() || size > max_bytes_) return false;
  // Not AtomicFile: the checksum makes fsync needless, which costs more than many compilations of a small kernel.
  static std::atomic<unsigned> counter{0};
  const Descriptor folder(open_folder(folder_));
  if (folder.fd < 0) return false;
  const std::string part = fmt::format("{}.{}-{}.part", to_hex(key).substr(0, 16), ::getpid(), counter++);
  const int fd = ::openat(folder.fd, part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return false;
  bool good = write_all(fd, content) && write_all(fd, trailer);
  good = ::close(fd) == 0 && good;
  good = good && ::renameat(folder.fd, part.c_str(), folder.fd, name_of(key).c_str()) == 0;
  if (!good) {
    ::unlinkat(folder.fd, part.c_str(), 0);
    return false;
  }
  const Lock lock(mutex_);
  unchecked_ += size;
  // Measuring the folder costs a stat per entry: once per 1/16 of the bound keeps it within 7 % of it.
  if (unchecked_ > max_bytes_ / 16) {
    evict();
    unchecked_ = 0;
  }
  return true;
}

void Cache::evict() {
  std::vector<File> entries;
  std::vector<std::string> rubbish;
  list(folder_, entries, rubbish);
  for (const std::string& path : rubbish) ::unlink(path.c_str());
  std::int64_t total = 0;
  for (const File& f : entries) total += f.size;
  if (total <= max_bytes_) return;
  std::sort(entries.begin(), entries.end(), [](const File& a, const File& b) {
    if (a.used.tv_sec != b.used.tv_sec) return a.used.tv_sec < b.used.tv_sec;
    if (a.used.tv_nsec != b.used.tv_nsec) return a.used.tv_nsec < b.used.tv_nsec;
    return a.path < b.path;
  });
  for (const File& f : entries) {
    if (total <= max_bytes_) return;
    if (::unlink(f.path.c_str()) == 0) total -= f.size;
  }
}

std::string Cache::save_text(const std::string& name, const std::string& suffix, std::string_view text) const {
  std::error_code ec;
  try {
    if (!folder_.empty()) {
      const fs::path folder = fs::path(folder_) / "failed";
      fs::create_directories(folder, ec);
      const std::string path = (folder / (name + suffix)).string();
      write_file(path, text);
      return path;
    }
    const fs::path folder = fs::temp_directory_path(ec);
    if (ec) return "";
    std::string path = (folder / (name + "-XXXXXX" + suffix)).string();
    const Descriptor file(::mkostemps(path.data(), static_cast<int>(suffix.size()), O_CLOEXEC));
    if (file.fd < 0) return "";
    if (write_all(file.fd, text)) return path;
    ::unlink(path.c_str());
    return "";
  } catch (const Error&) {
    return "";
  }
}

std::int64_t Cache::clear() {
  if (folder_.empty()) return 0;
  std::vector<File> entries;
  std::vector<std::string> rubbish;
  list(folder_, entries, rubbish);
  std::int64_t dropped = 0;
  for (const File& f : entries) dropped += ::unlink(f.path.c_str()) == 0 ? 1 : 0;
  for (const std::string& path : rubbish) ::unlink(path.c_str());
  return dropped;
}

std::int64_t Cache::size() const {
  std::vector<File> entries;
  std::vector<std::string> rubbish;
  if (!folder_.empty()) list(folder_, entries, rubbish);
  std::int64_t total = 0;
  for (const File& f : entries) total += f.size;
  return total;
}

}  // namespace tessera::base
