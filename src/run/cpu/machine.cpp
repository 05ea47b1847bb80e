// Where the numbers come from: caches from sysfs (or sysconf where a sandbox hides it), cores from the affinity mask
// and the control group's quota, features from the processor itself.
#include "run/cpu/machine.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>

#include "base/process/fork.hpp"
#include "base/text.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace tessera::run::cpu {
namespace {

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return std::string(base::trim(line));
}

// "32K", "1M", "1024": 0 when it is none of these.
i64 parse_size(std::string_view text) {
  i64 unit = 1;
  if (!text.empty() && (text.back() == 'K' || text.back() == 'M' || text.back() == 'G')) {
    unit = text.back() == 'K' ? i64{1} << 10 : text.back() == 'M' ? i64{1} << 20 : i64{1} << 30;
    text.remove_suffix(1);
  }
  const auto value = base::parse_integer(text);
  return value && *value > 0 && *value < (i64{1} << 32) ? *value * unit : 0;
}

void read_caches(Machine& m) {
  i64 found[4] = {};
  for (int i = 0; i < 8; ++i) {
    const std::string folder = fmt::format("/sys/devices/system/cpu/cpu0/cache/index{}/", i);
    const std::string type = first_line(folder + "type");
    const auto level = base::parse_integer(first_line(folder + "level"));
    if (level && *level >= 1 && *level <= 3 && (type == "Data" || type == "Unified"))
      found[*level] = parse_size(first_line(folder + "size"));
  }
  const auto ask = [](int name) { return std::max<i64>(0, sysconf(name)); };
  if (found[1] == 0) found[1] = ask(_SC_LEVEL1_DCACHE_SIZE);
  if (found[2] == 0) found[2] = ask(_SC_LEVEL2_CACHE_SIZE);
  if (found[3] == 0) found[3] = ask(_SC_LEVEL3_CACHE_SIZE);
  if (found[1] > 0) m.l1 = found[1];
  if (found[2] > 0) m.l2 = found[2];
  if (found[1] > 0 && found[2] > 0) m.l3 = found[3];
}

int affinity_cores() {
  // Masks of more than 1024 processors need a larger set; the kernel says EINVAL until it fits.
  for (int capacity = 1024; capacity <= 1 << 16; capacity *= 4) {
    cpu_set_t* set = CPU_ALLOC(capacity);
    if (set == nullptr) break;
    const std::size_t bytes = CPU_ALLOC_SIZE(capacity);
    CPU_ZERO_S(bytes, set);
    const int n = sched_getaffinity(0, bytes, set) == 0 ? CPU_COUNT_S(bytes, set) : 0;
    CPU_FREE(set);
    if (n > 0) return n;
  }
  return static_cast<int>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
}

// A container may be allowed less time than its processors have ("200000 100000" is two cores' worth).
int quota_cores() {
  double quota = 0, period = 0;
  const std::string v2 = first_line("/sys/fs/cgroup/cpu.max");
  const auto words = base::split_words(v2);
  if (words.size() == 2) {
    quota = base::parse_number(words[0]).value_or(0);
    period = base::parse_number(words[1]).value_or(0);
  } else {
    quota = base::parse_number(first_line("/sys/fs/cgroup/cpu/cpu.cfs_quota_us")).value_or(0);
    period = base::parse_number(first_line("/sys/fs/cgroup/cpu/cpu.cfs_period_us")).value_or(0);
  }
  if (quota <= 0 || period <= 0) return 1 << 16;
  return std::max(1, static_cast<int>(std::min(65536.0, std::ceil(quota / period))));
}

#if defined(__x86_64__)

std::string brand() {
  unsigned r[12] = {};
  if (__get_cpuid_max(0x80000000u, nullptr) < 0x80000004u) return "x86-64 processor";
  for (unsigned i = 0; i < 3; ++i) __get_cpuid(0x80000002u + i, &r[4 * i], &r[4 * i + 1], &r[4 * i + 2], &r[4 * i + 3]);
  char text[sizeof r + 1] = {};
  std::memcpy(text, r, sizeof r);
  return std::string(base::trim(text));
}

void read_processor(Machine& m) {
  __builtin_cpu_init();
  m.name = brand();
  const auto feature = [&](const char* name, bool present) {
    if (present) m.features.emplace_back(name);
    return present;
  };
  feature("sse4.2", __builtin_cpu_supports("sse4.2"));
  const bool avx2 = feature("avx2", __builtin_cpu_supports("avx2"));
  feature("fma", __builtin_cpu_supports("fma"));
  const bool f = feature("avx512f", __builtin_cpu_supports("avx512f"));
  const bool bw = feature("avx512bw", __builtin_cpu_supports("avx512bw"));
  const bool dq = feature("avx512dq", __builtin_cpu_supports("avx512dq"));
  const bool vl = feature("avx512vl", __builtin_cpu_supports("avx512vl"));
  feature("avx512vnni", __builtin_cpu_supports("avx512vnni"));
  m.vector_bytes = f && bw && dq && vl ? 64 : avx2 ? 32 : 16;

  // Family and model choose the compiler's tuning, the feature words its instructions. EBX of leaf 1 holds the number
  // of the core that happens to run this and stays out.
  unsigned a, b, c, d;
  m.identity = m.name;
  if (__get_cpuid(1, &a, &b, &c, &d)) m.identity += fmt::format(" {:x} {:x} {:x}", a, c, d);
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d)) m.identity += fmt::format(" {:x} {:x} {:x}", b, c, d);
  if (__get_cpuid_count(7, 1, &a, &b, &c, &d)) m.identity += fmt::format(" {:x}", a);
  if (__get_cpuid(0x80000001u, &a, &b, &c, &d)) m.identity += fmt::format(" {:x} {:x}", c, d);
  m.identity += fmt::format(" v{}", m.vector_bytes);
}

#else

void read_processor(Machine& m) {
  std::ifstream info("/proc/cpuinfo");
  std::string features, part, line;
  while (std::getline(info, line)) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const std::string key(base::trim(std::string_view(line).substr(0, colon)));
    const std::string value(base::trim(std::string_view(line).substr(colon + 1)));
    if (key == "model name" && m.name.empty()) m.name = value;
    if ((key == "Features" || key == "flags") && features.empty()) features = value;
    if (key == "CPU part" && part.empty()) part = value;
  }
  if (m.name.empty()) m.name = part.empty() ? "processor" : "processor " + part;
  for (std::string_view word : base::split_words(features)) m.features.emplace_back(word);
  m.identity = m.name + " " + part + " " + features;
}

#endif

Machine read_machine() {
  Machine m;
  read_processor(m);
  read_caches(m);
  m.cores = std::max(1, std::min(affinity_cores(), quota_cores()));
  m.page = std::max<i64>(1024, sysconf(_SC_PAGESIZE));
  return m;
}

}  // namespace

const Machine& machine() {
  static constinit base::Once<Machine> value;
  return value.get(read_machine);
}

}  // namespace tessera::run::cpu
