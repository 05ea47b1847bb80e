// See copy_rate.hpp. A pass is the better of plain and of non-temporal stores: the first where the data fits the cache,
// the second where it does not, since a line that is written whole then need not be read before.
#include "run/cpu/copy_rate.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <string>

#include "base/files/cache.hpp"
#include "base/text.hpp"
#include "run/cpu/machine.hpp"
#include "run/cpu/parallel.hpp"
#include "tessera/error.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace tessera::run::cpu {
namespace {

using Clock = std::chrono::steady_clock;

constexpr i64 page = 4096, chunk = i64{1} << 20;  // chunk: what a thread moves at a time
constexpr i64 shares = 16;                        // of reading, which samples tell apart
constexpr int rounds = 16;                        // in which memory is taken
constexpr double take_seconds = 0.2, pass_seconds = 0.15;
constexpr int most_passes = 200;

double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

#if defined(__x86_64__)

__attribute__((target("avx512f"))) void copy_64(std::byte* to, const std::byte* from, std::size_t bytes) {
  for (std::size_t i = 0; i + 256 <= bytes; i += 256)
    for (std::size_t k = 0; k < 256; k += 64)
      _mm512_stream_si512(reinterpret_cast<__m512i*>(to + i + k), _mm512_loadu_si512(from + i + k));
  _mm_sfence();
}

__attribute__((target("avx2"))) void copy_32(std::byte* to, const std::byte* from, std::size_t bytes) {
  for (std::size_t i = 0; i + 256 <= bytes; i += 256)
    for (std::size_t k = 0; k < 256; k += 32)
      _mm256_stream_si256(reinterpret_cast<__m256i*>(to + i + k),
                          _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + i + k)));
  _mm_sfence();
}

void copy_16(std::byte* to, const std::byte* from, std::size_t bytes) {
  for (std::size_t i = 0; i + 256 <= bytes; i += 256)
    for (std::size_t k = 0; k < 256; k += 16)
      _mm_stream_si128(reinterpret_cast<__m128i*>(to + i + k),
                       _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i + k)));
  _mm_sfence();
}

void copy_block(std::byte* to, const std::byte* from, std::size_t bytes) {
  const int width = machine().vector_bytes;
  (width == 64 ? copy_64 : width == 32 ? copy_32 : copy_16)(to, from, bytes);
}

#else

void copy_block(std::byte* to, const std::byte* from, std::size_t bytes) {
  std::memcpy(to, from, bytes);
}

#endif

// Memory of this measurement alone: it goes back to the system at the end.
class Pages {
 public:
  explicit Pages(i64 bytes) : bytes_(static_cast<std::size_t>(std::max(bytes, page))) {
    void* const at = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
      throw Error(ErrorClass::device, fmt::format("{} of memory to measure a copy in cannot be had",
                                                  base::format_bytes(static_cast<double>(bytes_))));
    ::madvise(at, bytes_, MADV_HUGEPAGE);
    data_ = static_cast<std::byte*>(at);
  }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  ~Pages() { ::munmap(data_, bytes_); }
  std::byte* data() const { return data_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t bytes_;
};

// Reads `read` bytes and writes `written`: both together as far as both reach, the rest from and to a page that stays
// in the first cache.
void move(std::byte* to, i64 written, const std::byte* from, i64 read, bool past_caches) {
  alignas(64) thread_local std::byte hot[page];
  const auto copy = [past_caches](std::byte* target, const std::byte* source, i64 bytes) {
    const i64 whole = past_caches ? bytes / 256 * 256 : 0;
    if (whole > 0) copy_block(target, source, static_cast<std::size_t>(whole));
    std::memcpy(target + whole, source + whole, static_cast<std::size_t>(bytes - whole));
  };
  const i64 both = std::min(read, written) / 64 * 64;  // non-temporal stores take whole lines
  copy(to, from, both);
  for (i64 at = both; at < read; at += page)
    std::memcpy(hot, from + at, static_cast<std::size_t>(std::min(page, read - at)));
  for (i64 at = both; at < written; at += page) copy(to + at, hot, std::min(page, written - at));
}

class Measurement {
 public:
  explicit Measurement(const Traffic& traffic) : traffic_(traffic), from_(traffic.read), to_(traffic.written) {
    take();
  }

  CopyRate best() const {
    double best = 0;
    const auto start = Clock::now();
    for (int k = 0; k < most_passes && (k < 4 || since(start) < pass_seconds); ++k)
      best = std::max(best, pass(k % 2 == 1, k / 2 % 2 == 0 ? chunk : chunk / 16));
    return {best, taken_.bytes()};
  }

 private:
  // Pages come from the memory of the thread that first writes them; where that is slow less is taken, but not so
  // little that it fits the cache.
  void take() {
    const auto start = Clock::now();
    const i64 least = std::min(traffic_.bytes(), 2 * machine().l3);
    for (int k = 0; k < rounds && (taken_.bytes() < least || since(start) < take_seconds); ++k) {
      const Traffic before = taken_;
      taken_ = {traffic_.threads, part(traffic_.read, k + 1, rounds), part(traffic_.written, k + 1, rounds)};
      fill(from_.data(), before.read, taken_.read);
      fill(to_.data(), before.written, taken_.written);
    }
  }

  static i64 part(i64 whole, i64 k, i64 of) { return whole / of * k + whole % of * k / of; }

  void fill(std::byte* data, i64 begin, i64 end) const {
    const i64 chunks = (end - begin + chunk - 1) / chunk;
    parallel_tiles(chunks, traffic_.threads, [&](i64 i, int) {
      const i64 first = begin + i * chunk;
      std::memset(data + first, static_cast<int>(i & 127), static_cast<std::size_t>(std::min(chunk, end - first)));
    });
  }

  // Few blocks where waking a thread would take longer than the copy, many where a block should stay in a cache.
  double pass(bool past_caches, i64 block) const {
    const i64 chunks = (taken_.bytes() + 2 * block - 1) / (2 * block);
    // Whole lines, so that no two threads write to one.
    const auto bound = [&](i64 whole, i64 i) { return i == chunks ? whole : part(whole, i, chunks) / 64 * 64; };
    const auto start = Clock::now();
    parallel_tiles(chunks, traffic_.threads, [&](i64 i, int) {
      const i64 from = bound(taken_.read, i), to = bound(taken_.written, i);
      move(to_.data() + to, bound(taken_.written, i + 1) - to, from_.data() + from, bound(taken_.read, i + 1) - from,
           past_caches);
    });
    return static_cast<double>(taken_.bytes()) / std::max(since(start), 1e-9) * 1e-9;
  }

  Traffic traffic_, taken_;
  Pages from_, to_;
};

// Everything that is known of the machine, since folders are shared and carried from one to the next.
base::Digest key_of(const Traffic& t) {
  const Machine& m = machine();
  base::Hasher hash;
  hash.text("copy rate 1").text(m.name).text(m.identity).number(m.cores).number(m.l1).number(m.l2).number(m.l3);
  hash.number(::sysconf(_SC_PHYS_PAGES)).number(m.page).number(t.threads).number(t.read).number(t.written);
  return hash.finish();
}

bool plausible(const CopyRate& found, const Traffic& asked) {
  return std::isfinite(found.rate) && found.rate > 1e-3 && found.rate < 1e6 && found.bytes > 0 &&
         found.bytes <= asked.bytes();
}

void check(const Traffic& t) {
  if (t.threads >= 1 && t.read >= 0 && t.written >= 0 && t.read <= INT64_MAX / 2 && t.written <= INT64_MAX / 2 &&
      t.bytes() > 0)
    return;
  throw Error(ErrorClass::argument,
              fmt::format("a copy of {} bytes into {} on {} threads cannot be measured, expected at least 1 of each",
                          t.read, t.written, t.threads));
}

}  // namespace

Traffic whole_copy(int threads) {
  const i64 bytes = std::clamp(4 * machine().l3, most_copied / 4, most_copied);
  return {threads, bytes / 2, bytes / 2};
}

Traffic sample_of(const Traffic& t) {
  const i64 most = whole_copy(t.threads).bytes();
  if (t.bytes() <= most) return t;
  const double share = static_cast<double>(t.read) / static_cast<double>(t.bytes());
  const i64 read = most / shares * std::lround(share * static_cast<double>(shares));
  return {t.threads, read, most - read};
}

bool fits_cache(const Traffic& t) {
  return t.bytes() <= std::max(machine().l3, machine().l2);
}

std::optional<CopyRate> known_copy_rate(const Traffic& traffic) {
  check(traffic);
  const Traffic sample = sample_of(traffic);
  const auto text = base::Cache::user().get(key_of(sample));
  if (!text) return std::nullopt;
  const auto words = base::split_words(*text);
  if (words.size() != 2) return std::nullopt;
  const auto rate = base::parse_number(words[0]);
  const auto bytes = base::parse_integer(words[1]);
  if (!rate || !bytes) return std::nullopt;
  const CopyRate found{*rate, *bytes};
  return plausible(found, sample) ? std::optional(found) : std::nullopt;
}

CopyRate copy_rate(const Traffic& traffic) {
  const auto known = known_copy_rate(traffic);
  return known ? *known : measure_copy_rate(traffic);
}

CopyRate measure_copy_rate(const Traffic& traffic) {
  const auto known = known_copy_rate(traffic);
  const Traffic sample = sample_of(traffic);
  CopyRate found = Measurement(sample).best();
  if (known && known->rate > found.rate) found = *known;
  base::Cache::user().put(key_of(sample), fmt::format("{:.6g} {}\n", found.rate, found.bytes));
  return found;
}

}  // namespace tessera::run::cpu
