// The disk cache; see cache.hpp. An entry is the file <hex key>.blob:  content | SHA-256(key, content) | length |
// magic.
#include "base/cache.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <vector>

#include "base/files.hpp"
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

bool trustworthy(const std::string& folder) {
  struct stat info{};
  if (::stat(folder.c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) return false;
  return (info.st_uid == ::geteuid() || info.st_uid == 0) && (info.st_mode & S_IWOTH) == 0;
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
  if (const fs::path parent = fs::path(folder_).parent_path(); !parent.empty()) fs::create_directories(parent, code);
  ::mkdir(folder_.c_str(), 0700);
  if (!trustworthy(folder_)) folder_.clear();
}

std::string Cache::entry(const Digest& key) const {
  return folder_ + "/" + to_hex(key) + ".blob";
}

std::optional<std::string> Cache::get(const Digest& key) {
  if (folder_.empty()) return std::nullopt;
  const std::string path = entry(key);
  std::string content;
  try {
    if (::access(path.c_str(), F_OK) != 0) return std::nullopt;
    content = read_text(path, max_bytes_ + static_cast<std::int64_t>(trailer_size));
  } catch (const Error&) {
    return std::nullopt;
  }
  const std::size_t size = content.size() < trailer_size ? 0 : content.size() - trailer_size;
  if (content.size() < trailer_size ||
      content.substr(size) != trailer_of(key, std::string_view(content).substr(0, size))) {
    ::unlink(path.c_str());
    return std::nullopt;
  }
  ::utimensat(AT_FDCWD, path.c_str(), nullptr, 0);  // used now: evicted last
  content.resize(size);
  return content;
}

std::optional<std::string> Cache::path_of(const Digest& key) {
  if (!get(key)) return std::nullopt;
  return entry(key);
}

bool Cache::put(const Digest& key, std::string_view content) {
  const std::string trailer = trailer_of(key, content);
  const auto size = static_cast<std::int64_t>(content.size() + trailer.size());
  if (folder_.empty() || size > max_bytes_) return false;
  // Not AtomicFile: the checksum makes fsync needless, which costs more than many compilations of a small kernel.
  static std::atomic<unsigned> counter{0};
  const std::string part = fmt::format("{}/{}.{}-{}.part", folder_, to_hex(key).substr(0, 16), ::getpid(), counter++);
  const int fd = ::open(part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return false;
  bool good = true;
  for (std::string_view rest : {content, std::string_view(trailer)}) {
    while (good && !rest.empty()) {
      const ssize_t n = ::write(fd, rest.data(), std::min<std::size_t>(rest.size(), 1u << 30));
      if (n < 0 && errno == EINTR) continue;
      good = n > 0;
      if (good) rest.remove_prefix(static_cast<std::size_t>(n));
    }
  }
  good = ::close(fd) == 0 && good;
  good = good && ::rename(part.c_str(), entry(key).c_str()) == 0;
  if (!good) {
    ::unlink(part.c_str());
    return false;
  }
  const std::lock_guard lock(mutex_);
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
