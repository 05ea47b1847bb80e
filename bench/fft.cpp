// Fourier transforms beside MKL and FFTW, on the same arrays, turn by turn in one run; JSON on standard output.
//
//   bench_fft [--threads 1,2] [--seconds 0.5] [--mkl libmkl_rt.so] [--fftw libfftw3f.so.3] [--only r2c] [job ...]
//
// A job is KIND:EXTENTS, as in c2c:2048x2048, r2c:1080x1920, batched rows r2c:1000*512. Peers are opened at run time by
// the interface that both have, FFTW's; a missing one is left out. FFTW plans with MEASURE up to 2^22 elements, else
// with ESTIMATE. Figures are the best of many runs, in milliseconds; a peer's error is its distance from ours.
#include "engine/fft/fft.hpp"

#include <dlfcn.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tessera/array.hpp"
#include "tessera/error.hpp"

namespace {

using tessera::i64;
using Clock = std::chrono::steady_clock;
using Json = nlohmann::ordered_json;

struct Job {
  std::string name, kind;
  i64 batch = 1;
  std::vector<i64> extents;
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

// FFTW's interface, of whoever has it.
struct Library {
  void* handle = nullptr;
  std::string name;
  using Plan = void*;
  Plan (*many)(int, const int*, int, void*, const int*, int, int, void*, const int*, int, int, int, unsigned) = nullptr;
  Plan (*many_r2c)(int, const int*, int, void*, const int*, int, int, void*, const int*, int, int, unsigned) = nullptr;
  Plan (*many_c2r)(int, const int*, int, void*, const int*, int, int, void*, const int*, int, int, unsigned) = nullptr;
  void (*execute)(Plan) = nullptr;
  void (*destroy)(Plan) = nullptr;
  int (*init_threads)() = nullptr;
  void (*with_threads)(int) = nullptr;
  void (*mkl_threads)(int) = nullptr;

  Library(const std::string& label, const std::string& path, const std::string& threads_path) : name(label) {
    if (!threads_path.empty()) dlopen(threads_path.c_str(), RTLD_NOW | RTLD_GLOBAL);
    void* opened = path.empty() ? nullptr : dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    void* threads = threads_path.empty() ? opened : dlopen(threads_path.c_str(), RTLD_NOW);
    if (opened == nullptr) {
      std::fprintf(stderr, "%s: missing (%s)\n", label.c_str(), path.empty() ? "no path" : dlerror());
      return;
    }
    const auto bind = [](void* from, const char* symbol, auto& function) {
      function = from == nullptr ? nullptr
                                 : reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(from, symbol));
    };
    bind(opened, "fftwf_plan_many_dft", many);
    bind(opened, "fftwf_plan_many_dft_r2c", many_r2c);
    bind(opened, "fftwf_plan_many_dft_c2r", many_c2r);
    bind(opened, "fftwf_execute", execute);
    bind(opened, "fftwf_destroy_plan", destroy);
    bind(threads, "fftwf_init_threads", init_threads);
    bind(threads, "fftwf_plan_with_nthreads", with_threads);
    bind(opened, "MKL_Set_Num_Threads", mkl_threads);
    if (many != nullptr && execute != nullptr) handle = opened;
    if (init_threads != nullptr) init_threads();
  }

  Plan plan(const Job& job, void* from, void* to, int threads, bool measure) const {
    if (mkl_threads != nullptr) mkl_threads(threads);
    if (with_threads != nullptr) with_threads(threads);
    std::vector<int> n(job.extents.begin(), job.extents.end());
    i64 real = 1, half = 1;
    for (std::size_t d = 0; d < n.size(); ++d) {
      real *= n[d];
      half *= d + 1 == n.size() ? n[d] / 2 + 1 : n[d];
    }
    const auto rank = static_cast<int>(n.size()), count = static_cast<int>(job.batch);
    const auto r = static_cast<int>(real), h = static_cast<int>(half);
    const unsigned how = measure ? 0 : 1U << 6;
    if (job.kind == "c2c") return many(rank, n.data(), count, from, nullptr, 1, r, to, nullptr, 1, r, -1, how);
    if (job.kind == "r2c") return many_r2c(rank, n.data(), count, from, nullptr, 1, r, to, nullptr, 1, h, how);
    return many_c2r(rank, n.data(), count, from, nullptr, 1, h, to, nullptr, 1, r, how | (1U << 4));
  }
};

double once(const std::function<void()>& f) {
  const auto start = Clock::now();
  f();
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

double distance(const tessera::Array& a, const tessera::Array& b, std::size_t count) {
  const float *x = static_cast<const float*>(a.data()), *y = static_cast<const float*>(b.data());
  double error = 0, norm = 0;
  for (std::size_t k = 0; k < count; ++k) {
    error += (static_cast<double>(x[k]) - y[k]) * (static_cast<double>(x[k]) - y[k]);
    norm += static_cast<double>(x[k]) * x[k];
  }
  return std::sqrt(error / std::max(norm, 1e-300));
}

Json measure(const Job& job, int threads, double seconds, const std::vector<Library>& libraries) {
  using tessera::fft::Transform;
  i64 real = job.batch, half = job.batch;
  for (std::size_t d = 0; d < job.extents.size(); ++d) {
    real *= job.extents[d];
    half *= d + 1 == job.extents.size() ? job.extents[d] / 2 + 1 : job.extents[d];
  }
  const i64 from_numbers = job.kind == "c2c" ? 2 * real : job.kind == "r2c" ? real : 2 * half;
  const i64 to_numbers = job.kind == "c2c" ? 2 * real : job.kind == "r2c" ? 2 * half : real;
  tessera::Array from(tessera::ElementType::f32, {from_numbers}), to(tessera::ElementType::f32, {to_numbers}),
      theirs(tessera::ElementType::f32, {to_numbers});
  unsigned state = 1;
  float* x = static_cast<float*>(from.data());
  const auto fill = [&] {
    for (i64 k = 0; k < from_numbers; ++k) {
      state = state * 1664525 + 1013904223;
      x[k] = static_cast<float>(state >> 8) / 8388608.0F - 1;
    }
  };
  fill();
  tessera::fft::Problem problem;
  problem.transform = job.kind == "c2c"   ? Transform::forward
                      : job.kind == "r2c" ? Transform::real_to_complex
                                          : Transform::complex_to_real;
  if (job.batch > 1) problem.batch = {job.batch};
  problem.extents = job.extents;
  Json result{{"job", job.name}, {"threads", threads}};
  std::unique_ptr<tessera::engine::Fft> ours;
  result["plan_ms"] = once([&] { ours = std::make_unique<tessera::engine::Fft>(problem); });
  result["plan_again_ms"] = once([&] { tessera::engine::Fft again(problem); });
  result["how"] = ours->description();

  struct Peer {
    std::string name;
    std::function<void()> run;
    double best = 1e300;
  };
  std::vector<Peer> peers{{"tessera", [&] { ours->run(from.data(), to.data(), threads); }}};
  for (const Library& library : libraries) {
    if (library.handle == nullptr) continue;
    const bool thorough = library.name == "fftw" && real <= (1 << 22);
    void* plan = library.plan(job, from.data(), theirs.data(), threads, thorough);
    if (thorough) fill();
    if (plan == nullptr) continue;
    peers.push_back({library.name, [&library, plan] { library.execute(plan); }});
  }
  for (Peer& p : peers) p.run();
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  for (int k = 0; k < 3 || Clock::now() < end; ++k)
    for (Peer& p : peers) p.best = std::min(p.best, once(p.run));
  for (std::size_t k = 0; k < peers.size(); ++k) {
    result[peers[k].name + "_ms"] = peers[k].best;
    if (k > 0 && job.kind != "c2r") {
      peers[k].run();
      result[peers[k].name + "_distance"] = distance(to, theirs, static_cast<std::size_t>(to_numbers));
    }
  }
  return result;
}

}  // namespace

int main(int count, char** arguments) {
  std::string mkl, fftw = "libfftw3f.so.3", fftw_threads = "libfftw3f_threads.so.3";
  std::vector<int> threads{1, 2};
  double seconds = 0.5;
  std::vector<Job> jobs;
  for (int k = 1; k < count; ++k) {
    const std::string word = arguments[k];
    const std::string value = k + 1 < count ? arguments[k + 1] : "";
    if (word == "--mkl" || word == "--fftw" || word == "--seconds" || word == "--threads") {
      ++k;
      if (word == "--mkl") mkl = value;
      if (word == "--fftw") fftw = value;
      if (word == "--seconds") seconds = std::stod(value);
      if (word == "--threads") {
        threads.clear();
        for (const char* at = value.c_str(); *at != 0; at = std::strchr(at, ',') ? std::strchr(at, ',') + 1 : "")
          threads.push_back(std::atoi(at));
      }
    } else {
      jobs.push_back(parse(word));
    }
  }
  if (jobs.empty())
    for (const char* kind : {"r2c", "c2c"})
      for (const char* extents : {"512x512", "1000x1000", "1024x1024", "1080x1920", "2048x2048", "3000x3000",
                                  "4096x4096", "1009x1009", "2039x2039"})
        jobs.push_back(parse(std::string(kind) + ":" + extents));
  const std::vector<Library> libraries{Library("mkl", mkl, ""),
                                       Library("fftw", fftw, fftw.empty() ? "" : fftw_threads)};
  Json all = Json::array();
  for (const int t : threads)
    for (const Job& job : jobs) {
      Json row;
      try {
        row = measure(job, t, seconds, libraries);
      } catch (const tessera::Error& e) {
        std::fprintf(stderr, "%s: %s\n", job.name.c_str(), e.what());
        return 1;
      }
      std::fprintf(stderr, "%-16s %d  ", job.name.c_str(), t);
      for (const char* peer : {"tessera", "mkl", "fftw"})
        if (row.contains(std::string(peer) + "_ms"))
          std::fprintf(stderr, "%s %8.3f  ", peer, row[std::string(peer) + "_ms"].get<double>());
      std::fprintf(stderr, "plan %.1f ms, again %.2f; %s", row["plan_ms"].get<double>(),
                   row["plan_again_ms"].get<double>(), row["how"].get<std::string>().c_str());
      for (const char* peer : {"mkl", "fftw"})
        if (row.contains(std::string(peer) + "_distance"))
          std::fprintf(stderr, "  %.1e", row[std::string(peer) + "_distance"].get<double>());
      std::fprintf(stderr, "\n");
      all.push_back(std::move(row));
    }
  std::printf("%s\n", all.dump(2).c_str());
  return 0;
}
