// What the kernel tells of memory; see memory.hpp.
#include "base/memory.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <limits>
#include <optional>

#include "base/text.hpp"

namespace tessera::base {
namespace {

constexpr std::int64_t unlimited = std::numeric_limits<std::int64_t>::max();
std::atomic<std::int64_t> chosen{0};
std::atomic<int> sharing{1};

// The first number of a file of the kernel; nothing where there is none ("max").
std::optional<std::int64_t> number_in(const std::string& path) {
  std::ifstream file(path);
  std::int64_t value = 0;
  if (file >> value && value >= 0) return value;
  return std::nullopt;
}

std::int64_t of_machine() {
  std::ifstream file("/proc/meminfo");
  std::string name;
  std::int64_t kilobytes = 0;
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("MemAvailable:")) continue;
    for (const char c : line)
      if (c >= '0' && c <= '9') kilobytes = kilobytes * 10 + (c - '0');
    return kilobytes * 1024;
  }
  const long pages = ::sysconf(_SC_PHYS_PAGES), size = ::sysconf(_SC_PAGESIZE);
  return pages > 0 && size > 0 ? static_cast<std::int64_t>(pages) * size : unlimited;
}

// Of a group and of all that it is part of. Pages of files that the group has read count as used, and are given back
// when somebody wants them.
std::int64_t of_groups() {
  std::ifstream file("/proc/self/cgroup");
  std::int64_t least = unlimited;
  for (std::string line; std::getline(file, line);) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string kind = line.substr(first + 1, second - first - 1);
    const bool newer = kind.empty();
    if (!newer && kind != "memory") continue;
    const std::string root = newer ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory";
    for (std::string group = line.substr(second + 1);; group.resize(group.rfind('/'))) {
      if (group == "/") group.clear();
      const std::string folder = root + group;
      const auto most = number_in(folder + (newer ? "/memory.max" : "/memory.limit_in_bytes"));
      const auto used = number_in(folder + (newer ? "/memory.current" : "/memory.usage_in_bytes"));
      if (most && used) {
        std::int64_t cached = 0;
        std::ifstream statistics(folder + "/memory.stat");
        std::string name;
        for (std::int64_t value = 0; statistics >> name >> value;)
          if (name == "inactive_file" || name == "active_file") cached += value;
        least = std::min(least, std::max<std::int64_t>(*most - std::max<std::int64_t>(*used - cached, 0), 0));
      }
      if (group.empty() || group.find('/') == std::string::npos) break;
    }
  }
  return least;
}

std::int64_t of_address_space() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return unlimited;
  const std::int64_t pages = number_in("/proc/self/statm").value_or(0);
  return std::max<std::int64_t>(static_cast<std::int64_t>(limit.rlim_cur) - pages * ::sysconf(_SC_PAGESIZE), 0);
}

}  // namespace

std::int64_t available_memory() {
  return std::min({of_machine(), of_groups(), of_address_space()});
}

std::int64_t memory_limit() {
  const std::int64_t said = chosen.load();
  return said > 0 ? said : available_memory() / 2 / sharing.load();
}

void share_memory(int processes) {
  sharing.store(processes);
}

void limit_memory(std::int64_t bytes) {
  chosen.store(bytes);
}

std::string memory_limit_sentence() {
  const std::int64_t said = chosen.load();
  return fmt::format("{} is {}", said > 0 ? "the limit (--memory)" : "half of the memory that is left",
                     format_bytes(static_cast<double>(memory_limit())));
}

}  // namespace tessera::base
