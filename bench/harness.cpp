// See harness.hpp.
#include "harness.hpp"

#include <immintrin.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <thread>
#include <utility>

#include "random.hpp"

namespace tessera::bench {
namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// CPU seconds of everybody else since boot: all the system's work less this process's.
double seconds_of_others() {
  double busy = 0;
  std::ifstream stat("/proc/stat");
  std::string word;
  stat >> word;
  double field = 0;
  for (int i = 0; i < 8 && stat >> field; ++i) {
    const bool idle = i == 3 || i == 4;  // idle, iowait
    if (!idle) busy += field;
  }
  double own = 0;
  for (int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage use{};
    getrusage(who, &use);
    own +=
        double(use.ru_utime.tv_sec + use.ru_stime.tv_sec) + 1e-6 * double(use.ru_utime.tv_usec + use.ru_stime.tv_usec);
  }
  return busy / double(sysconf(_SC_CLK_TCK)) - own;
}

class OtherCpu {
 public:
  OtherCpu() : wall_(now()), others_(seconds_of_others()) {}
  double cores() const { return std::max(0.0, (seconds_of_others() - others_) / std::max(1e-3, now() - wall_)); }

 private:
  double wall_, others_;
};

std::vector<float> photograph(i64 height, i64 width) {
  std::vector<float> image(std::size_t(width * height));
  for (i64 y = 0; y < height; ++y)
    for (i64 x = 0; x < width; ++x)
      image[std::size_t(y * width + x)] =
          0.5f + 0.25f * std::sin(6.0f * float(x) / float(width)) * std::cos(5.0f * float(y) / float(height));
  Lcg random(12345);
  const i64 shapes = std::max<i64>(20, width * height / 8000);
  for (i64 k = 0; k < shapes; ++k) {
    const i64 cx = i64(random.unit() * float(width)), cy = i64(random.unit() * float(height));
    const float a = random.unit(), b = random.unit();
    const i64 radius = 4 + i64(60 * a * b);
    const float value = random.unit(), alpha = 0.3f + 0.7f * random.unit();
    const bool disc = (random.next() >> 31) != 0;
    for (i64 y = std::max<i64>(0, cy - radius); y < std::min(height, cy + radius); ++y)
      for (i64 x = std::max<i64>(0, cx - radius); x < std::min(width, cx + radius); ++x) {
        if (disc && (x - cx) * (x - cx) + (y - cy) * (y - cy) > radius * radius) continue;
        float& p = image[std::size_t(y * width + x)];
        p += alpha * (value - p);
      }
  }
  for (float& p : image) p = std::clamp(p + 0.03f * (random.unit() + random.unit() - 1.0f), 0.0f, 1.0f);
  return image;
}

double full_range(ElementType type) {
  switch (type) {
    case ElementType::u8:
      return 255;
    case ElementType::u16:
      return 65535;
    case ElementType::i16:
      return 32767;
    default:
      return 1;
  }
}

template <class F>
void with_type(ElementType type, F f) {
  switch (type) {
    case ElementType::u8:
      return f(std::uint8_t{});
    case ElementType::u16:
      return f(std::uint16_t{});
    case ElementType::i16:
      return f(std::int16_t{});
    case ElementType::i32:
      return f(std::int32_t{});
    case ElementType::f32:
      return f(float{});
    default:
      throw Error(ErrorClass::internal, "the benchmarks do not use " + std::string(name_of(type)));
  }
}

double median(std::vector<double> sorted) {
  const std::size_t n = sorted.size();
  return n % 2 ? sorted[n / 2] : 0.5 * (sorted[n / 2 - 1] + sorted[n / 2]);
}

Timing sample(const Settings& settings, const std::function<void(int)>& fn) {
  constexpr double long_enough_ms = 8000;
  std::vector<double> ms;
  double total = 0;
  const OtherCpu others;
  for (int i = 2; int(ms.size()) < settings.most_runs; ++i) {
    if (total >= settings.seconds * 1e3 && int(ms.size()) >= settings.least_runs) break;
    if (total > long_enough_ms && ms.size() >= 3) break;
    const double start = now();
    fn(i);
    ms.push_back((now() - start) * 1e3);
    total += ms.back();
  }
  const double noise = others.cores();
  std::sort(ms.begin(), ms.end());
  return {median(ms), ms.front(), int(ms.size()), noise};
}

// ---- the copy ----------------------------------------------------------------------------------------------------

// Threads that spin between runs, so that a copy of half a millisecond is not a measurement of wake-ups.
class Team {
 public:
  explicit Team(int size) : size_(size) {
    for (int t = 1; t < size; ++t) threads_.emplace_back([this, t] { serve(t); });
  }
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;
  ~Team() {
    quit_ = true;
    epoch_.fetch_add(1, std::memory_order_release);
    for (std::thread& t : threads_) t.join();
  }
  void run(const std::function<void(int)>& work) {
    work_ = &work;
    left_ = size_ - 1;
    epoch_.fetch_add(1, std::memory_order_release);
    work(0);
    while (left_.load(std::memory_order_acquire) > 0) _mm_pause();
  }

 private:
  void serve(int index) {
    for (unsigned seen = 0;;) {
      while (epoch_.load(std::memory_order_acquire) == seen) _mm_pause();
      ++seen;
      if (quit_) return;
      (*work_)(index);
      left_.fetch_sub(1, std::memory_order_release);
    }
  }
  int size_;
  std::atomic<unsigned> epoch_{0};
  std::atomic<int> left_{0};
  std::atomic<bool> quit_{false};
  const std::function<void(int)>* work_ = nullptr;
  std::vector<std::thread> threads_;
};

// Lines are the 64 bytes that move together. Reads `in` lines, writes `out` lines evenly interleaved; n of each are
// copied, the rest is only read or only written.
__attribute__((target("avx2"))) void stream(std::byte* to, i64 out, const std::byte* from, i64 in) {
  const i64 steps = 64, both = std::max(in, out);
  __m256i kept = _mm256_setzero_si256();
  for (i64 at = 0; at < both; at += steps) {
    const i64 end = std::min(both, at + steps);
    const i64 in_end = end * in / both, out_begin = at * out / both, out_end = end * out / both;
    i64 reader = at * in / both;
    for (i64 line = out_begin; line < out_end; ++line, ++reader) {
      const std::byte* source = from + 64 * std::min(reader, in - 1);
      const __m256i a = _mm256_load_si256(reinterpret_cast<const __m256i*>(source));
      const __m256i b = _mm256_load_si256(reinterpret_cast<const __m256i*>(source + 32));
      _mm256_stream_si256(reinterpret_cast<__m256i*>(to + 64 * line), a);
      _mm256_stream_si256(reinterpret_cast<__m256i*>(to + 64 * line + 32), b);
    }
    for (; reader < in_end; ++reader)
      kept = _mm256_xor_si256(kept, _mm256_load_si256(reinterpret_cast<const __m256i*>(from + 64 * reader)));
  }
  asm volatile("" : : "x"(kept));
  _mm_sfence();
}

}  // namespace

double Tensor::bytes() const {
  return double(element_count(shape)) * double(size_of(type));
}

void fill(Array& array, Content content, unsigned seed) {
  const Shape& shape = array.shape();
  const i64 count = array.count();
  const double range = content == Content::sensor ? 1023 : full_range(array.format().scalar);
  if (content == Content::random) {
    Lcg random(seed);
    with_type(array.format().scalar, [&]<class T>(T) {
      for (i64 i = 0; i < count; ++i) array.as<T>()[i] = T(random.unit() * range);
    });
    return;
  }
  static std::map<std::pair<i64, i64>, std::vector<float>> drawn;
  const i64 height = shape[shape.size() - 2], width = shape.back(), plane = height * width;
  std::vector<float>& image = drawn[{height, width}];
  if (image.empty()) image = photograph(height, width);
  with_type(array.format().scalar, [&]<class T>(T) {
    for (i64 i = 0; i < count; ++i)
      array.as<T>()[i] = T(double(image[std::size_t((i % plane + 97 * (i / plane + i64(seed) - 1)) % plane)]) * range);
  });
}

std::vector<Buffers> buffer_sets(const std::vector<Tensor>& inputs, const Tensor& output, double rotate_mib) {
  double bytes = output.bytes();
  for (const Tensor& t : inputs) bytes += t.bytes();
  const int count = std::clamp(int(std::ceil(rotate_mib * 1048576.0 / bytes)), 2, 64);
  std::vector<Buffers> sets;
  for (int i = 0; i < count; ++i) {
    Buffers& set = sets.emplace_back();
    unsigned seed = 1;
    for (const Tensor& t : inputs) {
      Array a(t.type, t.shape);
      if (i == 0)
        fill(a, t.content, seed++);
      else
        a.copy_from(sets[0].inputs[set.inputs.size()]);
      set.inputs.push_back(a);
    }
    set.output = Array(output.type, output.shape);
    std::memset(set.output.data(), 0, std::size_t(output.bytes()));
  }
  return sets;
}

Timing measure(const Settings& settings, const std::function<void(int)>& fn) {
  constexpr double quiet = 0.1;
  Timing best;
  for (int attempt = 0; attempt < 3; ++attempt) {
    for (const double until = now() + settings.quiet_wait; now() < until;) {
      const OtherCpu others;
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      if (others.cores() <= quiet) break;
    }
    fn(0);
    fn(1);
    const Timing timing = sample(settings, fn);
    if (attempt == 0 || timing.other_cpu < best.other_cpu) best = timing;
    if (best.other_cpu <= quiet || settings.quiet_wait <= 0) break;
  }
  return best;
}

double copy_ms(const Settings& settings, double in, double out, int threads) {
  static std::map<std::tuple<i64, i64, int>, double> known;
  const i64 in_lines = std::max<i64>(1, i64(in) / 64), out_lines = std::max<i64>(1, i64(out) / 64);
  const auto [entry, fresh] = known.try_emplace({in_lines, out_lines, threads}, 0.0);
  if (!fresh) return entry->second;
  const std::vector<Buffers> sets =
      buffer_sets({{ElementType::u8, {1, in_lines * 64}, Content::random}},
                  {ElementType::u8, {out_lines * 64}, Content::random}, settings.rotate_mib);
  Team team(threads);
  Settings brief = settings;
  brief.seconds = std::min(0.2, settings.seconds);
  const auto time = [&](bool with_memcpy) {
    return measure(brief,
                   [&](int i) {
                     const Buffers& set = sets[std::size_t(i) % sets.size()];
                     team.run([&](int t) {
                       const i64 a = in_lines * t / threads, b = in_lines * (t + 1) / threads;
                       const i64 c = out_lines * t / threads, d = out_lines * (t + 1) / threads;
                       std::byte* to = set.output.as<std::byte>() + 64 * c;
                       const std::byte* from = set.inputs[0].as<std::byte>() + 64 * a;
                       if (with_memcpy)
                         std::memcpy(to, from, std::size_t(64 * (b - a)));
                       else
                         stream(to, d - c, from, b - a);
                     });
                   })
        .median_ms;
  };
  entry->second = time(false);
  if (in_lines == out_lines) entry->second = std::min(entry->second, time(true));
  return entry->second;
}

Difference compare(const Array& a, const Array& b, const Shape& margin) {
  Shape begin = margin, end = a.shape();
  for (std::size_t d = 0; d < end.size(); ++d) end[d] -= margin[d];
  const Array left = a.region(begin, end).clone(), right = b.region(begin, end).clone();
  Difference out;
  with_type(a.format().scalar, [&]<class T>(T) {
    const i64 n = left.count();
    for (i64 i = 0; i < n; ++i) {
      const double d = std::abs(double(left.as<T>()[i]) - double(right.as<T>()[i]));
      out.mean += d / double(n);
      out.max = std::isnan(d) ? d : std::max(out.max, d);
    }
  });
  return out;
}

std::string machine_name() {
  std::string model = "unknown processor";
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);)
    if (line.rfind("model name", 0) == 0) {
      model = line.substr(line.find(':') + 2);
      break;
    }
  return model + ", " + std::to_string(std::thread::hardware_concurrency()) + " cores, L2 " +
         std::to_string(sysconf(_SC_LEVEL2_CACHE_SIZE) / 1024) + " KiB";
}

}  // namespace tessera::bench
