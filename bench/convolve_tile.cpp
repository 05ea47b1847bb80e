// Convolution by pairs of overlap-save tiles, one thread: the function of a pair in a plain loop over an image of
// floats with clamped borders, results of the same size; and the function alone on a pair that stays in the caches.
//
//   bench_convolve_tile [--size 2160x3840] [--repeats 20] [--check] JOB ...
//
// A job is KERNEL:ROWSxCOLUMNS, as in 9:64x64 or 3x31:32x128 or 1x31:1x256, radices after a colon: 9:64x64:8x8:8x8
// (columns, rows). Figures are the best of the repeats: results in units of 1e9 a second, and nanoseconds for one point
// of a tile.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "emit/c/c.hpp"
#include "fft/cpu/tile.hpp"
#include "run/cpu/compiler.hpp"
#include "run/cpu/machine.hpp"
#include "tessera/array.hpp"

namespace {

using tessera::i64;
using Clock = std::chrono::steady_clock;
using Function = void (*)(const float* const* rows, float* const* out, const float* spectrum, float* scratch,
                          const i64* n);

std::vector<std::string> parts(const std::string& text, char by) {
  std::vector<std::string> list(1);
  for (const char c : text) {
    if (c == by)
      list.emplace_back();
    else
      list.back() += c;
  }
  return list;
}
std::vector<i64> numbers(const std::string& text) {
  std::vector<i64> list;
  for (const std::string& part : parts(text, 'x')) list.push_back(std::stoll(part));
  return list;
}

class Floats {
 public:
  explicit Floats(i64 count) : array_(tessera::ElementType::f32, {count}) {}
  float* get() const { return static_cast<float*>(array_.data()); }

 private:
  mutable tessera::Array array_;
};

struct Image {
  Image(i64 h, i64 w) : height(h), width(w), data(h * w) {}
  float* row(i64 y) const { return data.get() + y * width; }
  i64 height, width;
  Floats data;
};

struct Job {
  i64 k0, k1;
  tessera::fft::TilePlan plan;
  Function function;
  std::shared_ptr<tessera::run::cpu::Module> code;
  std::vector<float> spectrum;
  std::vector<double> weights;
};

i64 rows_of(const Job& job) {
  return tessera::fft::tile_rows(job.plan);
}

Job parse(const std::string& text) {
  const std::vector<std::string> words = parts(text, ':');
  std::vector<i64> kernel = numbers(words.at(0)), tile = numbers(words.at(1));
  if (kernel.size() == 1) kernel.push_back(kernel[0]);
  if (tile.size() == 1) tile.push_back(tile[0]);
  const int lanes = tessera::run::cpu::machine().vector_bytes / 4;
  Job job{kernel[0], kernel[1], tessera::fft::plan_tile(tile[0], tile[1], {tessera::ir::nest::Lane::f32, lanes, false}),
          nullptr,   nullptr,   {},
          {}};
  if (words.size() > 2) job.plan.down = numbers(words[2]);
  if (words.size() > 3) job.plan.across = numbers(words[3]);
  unsigned state = 1;
  for (i64 k = 0; k < job.k0 * job.k1; ++k) {
    state = state * 1664525 + 1013904223;
    job.weights.push_back(static_cast<double>(state >> 8) / 16777216 / static_cast<double>(job.k0 * job.k1));
  }
  for (const double v : tessera::fft::tile_spectrum(job.plan, job.weights, job.k0, job.k1))
    job.spectrum.push_back(static_cast<float>(v));
  tessera::ir::nest::Module module;
  const std::string name = tessera::fft::name_of(job.plan);
  tessera::fft::add_tile(module, job.plan, name);
  job.code = tessera::run::cpu::load({.source = tessera::emit::print_c(module), .name = name});
  job.function = reinterpret_cast<Function>(job.code->symbol(name));
  return job;
}

// Tiles in the order of rows, two at a time.
class Convolution {
 public:
  Convolution(const Job& job, const Image& from, const Image& to)
      : job_(job),
        from_(from),
        to_(to),
        high_(rows_of(job) - job.k0 + 1),
        wide_(job.plan.columns - job.k1 + 1),
        across_((from.width + wide_ - 1) / wide_),
        tiles_(across_ * ((from.height + high_ - 1) / high_)),
        scratch_(tessera::fft::tile_scratch(job.plan)),
        spectrum_(static_cast<i64>(job.spectrum.size())),
        borders_(2 * rows_of(job) * job.plan.columns),
        rows_(static_cast<std::size_t>(2 * rows_of(job))),
        out_(static_cast<std::size_t>(2 * rows_of(job))) {
    std::copy(job.spectrum.begin(), job.spectrum.end(), spectrum_.get());
  }

  void run() {
    for (i64 t = 0; t < tiles_; t += 2) pair(t);
  }
  void pair(i64 t) {
    i64 n[5] = {0, 0, 0, 0, 2 * wide_};
    const i64 x0 = t % across_ * wide_ - job_.k1 / 2;
    if (t == last_ + 2 && t % across_ >= 3 && x0 + wide_ + job_.plan.columns <= from_.width && (t + 2) % across_ >= 4) {
      // All four tiles are inside, in one row of tiles: pointers move on.
      for (const float*& p : rows_) p += 2 * wide_;
      for (float*& p : out_) p += 2 * wide_;
      n[0] = n[2] = std::min(high_, from_.height - t / across_ * high_), n[1] = n[3] = wide_;
      last_ = t;
      job_.function(rows_.data(), out_.data(), spectrum_.get(), scratch_.get(), n);
      return;
    }
    last_ = t;
    for (i64 part = 0; part < 2; ++part) tile(std::min(t + part, tiles_ - 1), part, n + 2 * part);
    if (t + 1 == tiles_) n[2] = 0;
    job_.function(rows_.data(), out_.data(), spectrum_.get(), scratch_.get(), n);
  }

 private:
  void tile(i64 t, i64 part, i64* n) {
    const i64 y0 = t / across_ * high_, x0 = t % across_ * wide_, height = rows_of(job_), width = job_.plan.columns;
    n[0] = std::min(high_, from_.height - y0);
    n[1] = std::min(wide_, from_.width - x0);
    const i64 left = x0 - job_.k1 / 2;
    const bool inside = left >= 0 && left + width <= from_.width;
    for (i64 y = 0; y < height; ++y) {
      const auto at = static_cast<std::size_t>(part * height + y);
      const float* row = from_.row(std::clamp<i64>(y0 + y - job_.k0 / 2, 0, from_.height - 1));
      if (inside) {
        rows_[at] = row + left;
      } else {
        float* border = borders_.get() + (part * height + y) * width;
        const i64 begin = std::clamp<i64>(-left, 0, width), end = std::clamp<i64>(from_.width - left, begin, width);
        std::fill(border, border + begin, row[0]);
        std::copy(row + left + begin, row + left + end, border + begin);
        std::fill(border + end, border + width, row[from_.width - 1]);
        rows_[at] = border;
      }
      out_[at] = y < n[0] ? to_.row(y0 + y) + x0 : out_[at - 1];
    }
  }

  const Job& job_;
  const Image &from_, &to_;
  i64 high_, wide_, across_, tiles_;
  i64 last_ = -2;
  Floats scratch_, spectrum_, borders_;
  std::vector<const float*> rows_;
  std::vector<float*> out_;
};

template <class F>
double seconds(const F& f) {
  const auto start = Clock::now();
  f();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double error(const Job& job, const Image& from, const Image& to) {
  unsigned state = 7;
  double worst = 0;
  const auto next = [&](i64 n) {
    state = state * 1664525 + 1013904223;
    return static_cast<i64>(state >> 8) % n;
  };
  for (int k = 0; k < 500; ++k) {
    const i64 y = k < 20 ? k * (from.height - 1) / 19 : next(from.height),
              x = k < 20 ? from.width - 1 : next(from.width);
    double sum = 0;
    for (i64 i = 0; i < job.k0; ++i)
      for (i64 j = 0; j < job.k1; ++j)
        sum += job.weights[static_cast<std::size_t>(i * job.k1 + j)] *
               static_cast<double>(from.row(std::clamp<i64>(
                   y + i - job.k0 / 2, 0, from.height - 1))[std::clamp<i64>(x + j - job.k1 / 2, 0, from.width - 1)]);
    worst = std::max(worst, std::abs(sum - static_cast<double>(to.row(y)[x])));
  }
  return worst;
}

}  // namespace

int main(int count, char** arguments) {
  i64 height = 2160, width = 3840;
  int repeats = 20;
  bool checked = false;
  std::vector<std::string> jobs;
  for (int k = 1; k < count; ++k) {
    const std::string word = arguments[k];
    if (word == "--check") {
      checked = true;
    } else if ((word == "--size" || word == "--repeats") && k + 1 < count) {
      const std::vector<i64> value = numbers(arguments[++k]);
      if (word == "--size") height = value.at(0), width = value.at(1);
      if (word == "--repeats") repeats = static_cast<int>(value.at(0));
    } else {
      jobs.push_back(word);
    }
  }
  const Image from(height, width), to(height, width);
  unsigned state = 1;
  for (i64 k = 0; k < height * width; ++k) {
    state = state * 1664525 + 1013904223;
    from.row(0)[k] = static_cast<float>(state >> 8) / 16777216.0F;
  }
  // Turn by turn, since a shared machine is slow for seconds at a time.
  struct Entry {
    std::string text;
    std::unique_ptr<Job> job;
    std::unique_ptr<Convolution> convolution;
    double image = 1e9, pair = 1e9, wrong = 0;
  };
  std::vector<Entry> entries;
  for (const std::string& text : jobs) {
    Entry& e = entries.emplace_back();
    e.text = text;
    e.job = std::make_unique<Job>(parse(text));
    e.convolution = std::make_unique<Convolution>(*e.job, from, to);
  }
  for (int k = 0; k < repeats; ++k)
    for (Entry& e : entries) {
      e.image = std::min(e.image, seconds([&] { e.convolution->run(); }));
      if (checked && k == 0) e.wrong = error(*e.job, from, to);
      const int turns = static_cast<int>(1 + 1000000 / (rows_of(*e.job) * e.job->plan.columns));
      e.pair = std::min(e.pair, seconds([&] {
                                  for (int turn = 0; turn < turns; ++turn) e.convolution->pair(2);
                                }) / turns);
    }
  for (const Entry& e : entries) {
    const Job& job = *e.job;
    const auto image_points = static_cast<double>(height * width);
    const auto kept = static_cast<double>((rows_of(job) - job.k0 + 1) * (job.plan.columns - job.k1 + 1));
    const auto tile_points = static_cast<double>(rows_of(job) * job.plan.columns);
    std::printf("%-28s %6.3f Gpixel/s  %6.3f ns a point, in caches %6.3f (%6.3f Gpixel/s)", e.text.c_str(),
                image_points / e.image * 1e-9, e.image * 1e9 / image_points * kept / tile_points,
                e.pair * 1e9 / (2 * tile_points), 2 * kept / e.pair * 1e-9);
    if (checked) std::printf("  error %.1e", e.wrong);
    std::printf("\n");
  }
  return 0;
}
