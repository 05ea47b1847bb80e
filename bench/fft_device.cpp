// Fourier transforms on a device, ours in CUDA and OpenCL beside cuFFT, on the same arrays in one run; JSON on standard
// output, a table on the other.
//
//   bench_fft_device [--target cuda,opencl] [--cufft libcufft.so] [--seconds 0.2] [--chunk MiB] [--strip MiB]
//   [--columns N] [--points N] [job ...]
//
// A job is KIND:EXTENTS as for bench_fft: c2c:2048x2048, r2c:1080x1920, rows c2c:8192*8192. cuFFT is opened at run
// time. Runs take turns among sets of arrays larger than the caches together, some hundred of them behind a task that
// keeps the device busy while the host hands them over; the median of several such rows counts. Distances are from
// cuFFT's result, or from CUDA's.
#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/fft/device.hpp"
#include "run/cuda/cuda.hpp"
#include "run/opencl/opencl.hpp"
#include "tessera/error.hpp"

namespace {

using tessera::i64;
using tessera::engine::FftOnDevice;
namespace gpu = tessera::run::gpu;
using Json = nlohmann::ordered_json;
using Memory = std::shared_ptr<gpu::Memory>;

struct Job {
  std::string name, kind;
  i64 batch = 1;
  std::vector<i64> extents;
  i64 numbers(bool from) const {
    const bool real = (kind == "r2c") == from && kind != "c2c";
    i64 all = batch;
    for (std::size_t d = 0; d < extents.size(); ++d) {
      const bool half = kind != "c2c" && !real && d + 1 == extents.size();
      all *= half ? extents[d] / 2 + 1 : extents[d];
    }
    return real ? all : 2 * all;
  }
};

Job parse(const std::string& text) {
  Job job{text, text.substr(0, 3), 1, {}};
  std::string rest = text.substr(4);
  if (const auto star = rest.find('*'); star != std::string::npos) {
    job.batch = std::stoll(rest.substr(0, star));
    rest = rest.substr(star + 1);
  }
  for (std::size_t at = 0; at != std::string::npos;) {
    const std::size_t next = rest.find('x', at);
    job.extents.push_back(std::stoll(rest.substr(at, next - at)));
    at = next == std::string::npos ? next : next + 1;
  }
  return job;
}

tessera::fft::Problem problem_of(const Job& job) {
  using tessera::fft::Transform;
  tessera::fft::Problem problem;
  problem.transform = job.kind == "c2c"   ? Transform::forward
                      : job.kind == "r2c" ? Transform::real_to_complex
                                          : Transform::complex_to_real;
  if (job.batch > 1) problem.batch = {job.batch};
  problem.extents = job.extents;
  return problem;
}

// The calls of cuFFT that are needed, by hand: no header.
struct CuFft {
  int (*many)(int*, int, int*, int*, int, int, int*, int, int, int, int) = nullptr;
  int (*c2c)(int, void*, void*, int) = nullptr;
  int (*r2c)(int, void*, void*) = nullptr;
  int (*c2r)(int, void*, void*) = nullptr;
  int (*destroy)(int) = nullptr;

  explicit CuFft(const std::string& path) {
    for (const std::string& name :
         {path, std::string("libcufft.so.12"), std::string("libcufft.so.11"), std::string("libcufft.so")}) {
      void* handle = name.empty() ? nullptr : dlopen(name.c_str(), RTLD_NOW);
      if (handle == nullptr) continue;
      const auto bind = [&](const char* symbol, auto& function) {
        function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(handle, symbol));
      };
      bind("cufftPlanMany", many);
      bind("cufftExecC2C", c2c);
      bind("cufftExecR2C", r2c);
      bind("cufftExecC2R", c2r);
      bind("cufftDestroy", destroy);
      return;
    }
  }
  bool there() const { return many != nullptr; }
  int plan(const Job& job) const {
    static const bool warm = [&] {  // its first plan of a process finds no context, and computes nothing
      destroy(make(parse("c2c:64x64")));
      return true;
    }();
    return warm ? make(job) : -1;
  }
  int make(const Job& job) const {
    std::vector<int> n(job.extents.begin(), job.extents.end());
    int handle = 0;
    const int kind = job.kind == "c2c" ? 0x29 : job.kind == "r2c" ? 0x2a : 0x2c;
    const int status = many(&handle, static_cast<int>(n.size()), n.data(), nullptr, 1, 0, nullptr, 1, 0, kind,
                            static_cast<int>(job.batch));
    return status == 0 ? handle : -1;
  }
  bool run(int handle, const Job& job, void* from, void* to) const {
    if (job.kind == "c2c") return c2c(handle, from, to, -1) == 0;
    return (job.kind == "r2c" ? r2c(handle, from, to) : c2r(handle, from, to)) == 0;
  }
};

struct Set {
  Memory from, to;
};

class Bench {
 public:
  // Of cuFFT the stream that it uses by itself.
  Bench(std::shared_ptr<gpu::Device> device, bool native, double seconds)
      : device_(std::move(device)), seconds_(seconds) {
    queue_ = native ? device_->queue_on(nullptr) : device_->queue();
    busy_ = device_->allocate(i64{1} << 30);
  }

  std::vector<Set> sets(const Job& job) {
    const i64 from = 4 * job.numbers(true), to = 4 * job.numbers(false);
    const i64 count = std::clamp<i64>((i64{512} << 20) / (from + to), 2, 8);
    std::vector<float> x(static_cast<std::size_t>(job.numbers(true)));
    unsigned state = 1;
    for (float& v : x) {
      state = state * 1664525 + 1013904223;
      v = static_cast<float>(state >> 8) / 8388608.0F - 1;
    }
    std::vector<Set> result;
    for (i64 k = 0; k < count; ++k) {
      result.push_back({device_->allocate(from), device_->allocate(to)});
      if (k == 0)
        queue_->upload(*result[0].from, 0, reinterpret_cast<const std::byte*>(x.data()), {1, from, from, from});
      else
        queue_->copy(*result.back().from, 0, *result[0].from, 0, {1, from, from, from});
      queue_->fill(*result.back().to, 0, to, 0xff);
    }
    queue_->wait();
    return result;
  }

  // Milliseconds of a run: the median of rows of them.
  double time(const std::vector<Set>& sets, const std::function<void(const Set&)>& run) {
    for (const Set& set : sets) run(set);
    queue_->wait();
    const auto row = [&](int runs) {
      const int busy = std::min(12, 2 + runs / 8);
      for (int k = 0; k < busy; ++k) queue_->fill(*busy_, 0, busy_->bytes(), 1);
      queue_->mark(0);
      for (int k = 0; k < runs; ++k) run(sets[static_cast<std::size_t>(k) % sets.size()]);
      queue_->mark(1);
      return queue_->milliseconds(0, 1) / runs;
    };
    const double once = row(8);
    const int runs = std::clamp(static_cast<int>(3.0 / once), 8, 64);
    std::vector<double> times;
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds_);
    while (times.size() < 5 || (std::chrono::steady_clock::now() < end && times.size() < 31))
      times.push_back(row(runs));
    std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2), times.end());
    return times[times.size() / 2];
  }

  std::vector<float> result(const Memory& memory, i64 numbers) {
    std::vector<float> y(static_cast<std::size_t>(numbers));
    queue_->download(reinterpret_cast<std::byte*>(y.data()), *memory, 0, {1, 4 * numbers, 4 * numbers, 4 * numbers});
    queue_->wait();
    return y;
  }

  gpu::Queue& queue() { return *queue_; }
  const std::shared_ptr<gpu::Device>& device() const { return device_; }

 private:
  std::shared_ptr<gpu::Device> device_;
  double seconds_;
  std::unique_ptr<gpu::Queue> queue_;
  Memory busy_;
};

double distance(const std::vector<float>& a, const std::vector<float>& b) {
  double error = 0, norm = 0;
  for (std::size_t k = 0; k < a.size(); ++k) {
    const double d = static_cast<double>(a[k]) - b[k];
    error += d * d;
    norm += static_cast<double>(a[k]) * a[k];
  }
  return std::sqrt(error / std::max(norm, 1e-300));
}

struct Settings {
  double seconds = 0.2;
  tessera::fft::DeviceOptions options;
  std::string cufft;
  bool cuda = true, opencl = true;
};

Json measure(const Job& job, Bench* cuda, Bench* opencl, Bench* native, const CuFft& cufft, const Settings& settings) {
  Json row{{"job", job.name}};
  std::vector<float> reference;
  const auto judge = [&](const char* name, std::vector<float> y) {
    if (reference.empty())
      reference = std::move(y);
    else
      row[std::string(name) + "_distance"] = distance(reference, y);
  };
  const auto ours = [&](const char* name, Bench& bench) {
    const std::vector<Set> sets = bench.sets(job);
    const auto start = std::chrono::steady_clock::now();
    const FftOnDevice transform(problem_of(job), bench.device(), settings.options);
    row[std::string(name) + "_plan_ms"] =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    row["how"] = transform.description();
    row[std::string(name) + "_ms"] =
        bench.time(sets, [&](const Set& s) { transform.run(bench.queue(), {s.from, 0}, {s.to, 0}); });
    std::string usage;
    for (const auto& u : transform.usage())
      usage += " " + std::to_string(u.registers) + "r" +
               (u.local_bytes > 0 ? std::to_string(u.local_bytes) + "L" : "") + std::to_string(u.shared_bytes / 1024) +
               "K" + std::to_string(u.blocks_per_multiprocessor) + "b";
    if (bench.device()->limits().target == "cuda") row["usage"] = usage;
    judge(name, bench.result(sets.back().to, job.numbers(false)));
  };
  if (native != nullptr && cufft.there()) {
    const std::vector<Set> sets = native->sets(job);
    if (const int plan = cufft.plan(job); plan >= 0) {
      bool good = true;
      const double time = native->time(sets, [&](const Set& s) {
        good = cufft.run(plan, job, tessera::run::cuda::pointer_of(*s.from), tessera::run::cuda::pointer_of(*s.to)) &&
               good;
      });
      if (good) row["cufft_ms"] = time;
      if (good) judge("cufft", native->result(sets.back().to, job.numbers(false)));
      cufft.destroy(plan);
    }
  }
  if (cuda != nullptr) ours("cuda", *cuda);
  if (opencl != nullptr) ours("opencl", *opencl);
  return row;
}

}  // namespace

int main(int count, char** arguments) {
  Settings settings;
  std::vector<Job> jobs;
  for (int k = 1; k < count; ++k) {
    const std::string word = arguments[k], value = k + 1 < count ? arguments[k + 1] : "";
    if (word.rfind("--", 0) == 0) ++k;
    if (word == "--target") {
      settings.cuda = value.find("cuda") != std::string::npos;
      settings.opencl = value.find("opencl") != std::string::npos;
    } else if (word == "--cufft") {
      settings.cufft = value;
    } else if (word == "--seconds") {
      settings.seconds = std::stod(value);
    } else if (word == "--chunk") {
      settings.options.chunk_bytes = std::stoll(value) << 20;
    } else if (word == "--strip") {
      settings.options.strip_bytes = std::stoll(value) << 20;
    } else if (word == "--points") {
      settings.options.most_points = std::stoll(value);
    } else if (word == "--columns") {
      settings.options.least_columns = std::stoll(value);
    } else {
      jobs.push_back(parse(word));
    }
  }
  if (jobs.empty())
    for (const char* kind : {"c2c", "r2c"})
      for (const char* extents : {"512x512", "1000x1000", "1024x1024", "1009x1009", "1080x1920", "2048x2048",
                                  "2039x2039", "3000x3000", "4096x4096", "8192x8192"})
        jobs.push_back(parse(std::string(kind) + ":" + extents));
  Json all = Json::array();
  int status = 0;
  try {
    std::unique_ptr<Bench> cuda, opencl, native;
    if (settings.cuda) cuda = std::make_unique<Bench>(tessera::run::cuda::open(0), false, settings.seconds);
    if (settings.cuda) native = std::make_unique<Bench>(tessera::run::cuda::open(0), true, settings.seconds);
    if (settings.opencl) opencl = std::make_unique<Bench>(tessera::run::opencl::open(0), false, settings.seconds);
    const CuFft cufft(settings.cufft);
    for (const Job& job : jobs) {
      try {
        const Json row = measure(job, cuda.get(), opencl.get(), native.get(), cufft, settings);
        std::fprintf(stderr, "%-16s", job.name.c_str());
        for (const char* peer : {"cufft", "cuda", "opencl"}) {
          if (row.contains(std::string(peer) + "_ms"))
            std::fprintf(stderr, " %s %8.4f", peer, row[std::string(peer) + "_ms"].get<double>());
          if (row.contains(std::string(peer) + "_distance"))
            std::fprintf(stderr, " (%.1e)", row[std::string(peer) + "_distance"].get<double>());
        }
        std::fprintf(stderr, "  %s;%s\n", row.value("how", "").c_str(), row.value("usage", "").c_str());
        all.push_back(row);
      } catch (const tessera::Error& e) {
        std::fprintf(stderr, "%s: %s\n", job.name.c_str(), e.what());
        status = 1;
      }
    }
  } catch (const tessera::Error& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
  std::printf("%s\n", all.dump(2).c_str());
  return status;
}
