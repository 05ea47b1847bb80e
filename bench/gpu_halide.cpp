// Halide on one program of bench/gpu.py, from functions that gpu_halide_generate.cpp compiled ahead of time: every
// schedule is tried in a few runs, the five fastest are timed like every other peer, and the fastest that gives our
// result counts. Halide's automatic schedule and its own programs' are timed even where they are not among the five.
//
// Usage: gpu_halide JOB RESULT.npy TOLERANCE SHARE MARGIN INPUT.npy...
// Prints its version, then a line of JSON for every schedule that was compared, and one for what failed. Linked with
// Halide's run-time library alone; the CUDA driver is opened by both. With -DTESSERA_HALIDE_CHECK the functions are
// those of OpenCL: every schedule is compared on whatever device there is, nothing is timed.
#include <HalideRuntime.h>
#ifdef TESSERA_HALIDE_CHECK
#include <HalideRuntimeOpenCL.h>
#else
#include <HalideRuntimeCuda.h>
#include <dlfcn.h>
#endif

#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <tuple>

#include "gpu_image.hpp"

using namespace gpu_peer;

namespace {

#ifdef TESSERA_HALIDE_CHECK
constexpr std::chrono::seconds kTrying{3600};
#else
constexpr std::chrono::seconds kTrying{60};  // the driver compiles every schedule
#endif

struct Entry {
  const char *job, *how;
  int (*call)(void** buffers);  // the inputs, then the result
};

#include "gpu_halide_table.inc"  // entries[]: written by gpu_halide.py

std::string failure;  // the last that Halide's run-time library said

void hear(void*, const char* text) {
  failure = text;
}

void check(int code, const char* what) {
  if (code == 0) return;
  const std::string said = std::exchange(failure, "");
  throw std::runtime_error(std::string(what) + ": " + (said.empty() ? std::to_string(code) : said));
}

// ---- the device --------------------------------------------------------------------------------------------------

#ifdef TESSERA_HALIDE_CHECK
class Gpu {
 public:
  const halide_device_interface_t* interface() const { return halide_opencl_device_interface(); }
  template <class Run>
  std::vector<float> times(int, Run) {
    return {};
  }
};
#else
// The driver's primary context for Halide and for the clock, so that both use one queue.
class Gpu {
 public:
  Gpu() {
    library_ = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    if (library_ == nullptr) throw std::runtime_error("the CUDA driver is not available");
    int device = 0;
    check(function<int(unsigned)>("cuInit")(0), "cuInit");
    check(function<int(int*, int)>("cuDeviceGet")(&device, 0), "cuDeviceGet");
    check(function<int(void**, int)>("cuDevicePrimaryCtxRetain")(&context_, device), "cuDevicePrimaryCtxRetain");
    check(function<int(void*)>("cuCtxSetCurrent")(context_), "cuCtxSetCurrent");
    halide_set_cuda_acquire_context([](void*, void** to, bool) {
      *to = context_;
      return 0;
    });
    halide_set_cuda_release_context([](void*) { return 0; });
    halide_reuse_device_allocations(nullptr, true);
    void* module = nullptr;
    check(function<int(void**, const void*)>("cuModuleLoadData")(&module, kSpin), "cuModuleLoadData");
    check(function<int(void**, void*, const char*)>("cuModuleGetFunction")(&spin_, module, "spin"),
          "cuModuleGetFunction");
    for (void*& e : events_) check(function<int(void**, unsigned)>("cuEventCreate")(&e, 0), "cuEventCreate");
    launch_ = function<Launch>("cuLaunchKernel");
    record_ = function<int(void*, void*)>("cuEventRecord");
    wait_ = function<int()>("cuCtxSynchronize");
    elapsed_ = function<int(float*, void*, void*)>("cuEventElapsedTime");
  }
  const halide_device_interface_t* interface() const { return halide_cuda_device_interface(); }

  // Milliseconds of every run; all are put into the queue while the device is kept waiting.
  template <class Run>
  std::vector<float> times(int runs, Run run) {
    long long cycles = 600000LL * runs;
    void* arguments[] = {&cycles};
    check(launch_(spin_, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments, nullptr), "cuLaunchKernel");
    for (int k = 0; k < runs; ++k) {
      record_(event(2 * k), nullptr);
      run(k);
      record_(event(2 * k + 1), nullptr);
    }
    check(wait_(), "cuCtxSynchronize");
    std::vector<float> ms(static_cast<std::size_t>(runs));
    for (int k = 0; k < runs; ++k)
      check(elapsed_(&ms[static_cast<std::size_t>(k)], event(2 * k), event(2 * k + 1)), "cuEventElapsedTime");
    return ms;
  }

 private:
  using Launch = int(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**,
                     void**);
  static constexpr const char* kSpin = R"(.version 6.4
.target sm_75
.address_size 64
.visible .entry spin(.param .u64 cycles) {
  .reg .pred %p;
  .reg .u64 %start, %now, %limit;
  ld.param.u64 %limit, [cycles];
  mov.u64 %start, %clock64;
again:
  mov.u64 %now, %clock64;
  sub.u64 %now, %now, %start;
  setp.lt.u64 %p, %now, %limit;
  @%p bra again;
  ret;
}
)";
  template <class F>
  F* function(const char* name) const {
    void* found = dlsym(library_, name);
    if (found == nullptr) throw std::runtime_error(std::string("the CUDA driver has no ") + name);
    return reinterpret_cast<F*>(found);
  }
  void* event(int k) const { return events_[static_cast<std::size_t>(k)]; }

  void* library_ = nullptr;
  static inline void* context_ = nullptr;
  void* spin_ = nullptr;
  std::array<void*, 2 * kMostRuns> events_{};
  Launch* launch_ = nullptr;
  int (*record_)(void*, void*) = nullptr;
  int (*wait_)() = nullptr;
  int (*elapsed_)(float*, void*, void*) = nullptr;
};
#endif

// An image with its place on the device.
class Plane {
 public:
  Plane(const Gpu& gpu, char* host, const Image& like) : interface_(gpu.interface()) {
    dimensions_[0] = {0, like.columns, 1, 0};
    dimensions_[1] = {0, like.rows, like.columns, 0};
    dimensions_[2] = {0, like.planes, like.rows * like.columns, 0};
    buffer_.host = reinterpret_cast<std::uint8_t*>(host);
    buffer_.type = like.kind == 'f'   ? halide_type_t(halide_type_float, 32)
                   : like.kind == 'i' ? halide_type_t(halide_type_int, 16)
                   : like.kind == 'w' ? halide_type_t(halide_type_uint, 16)
                                      : halide_type_t(halide_type_uint, 8);
    buffer_.dimensions = like.planes > 1 ? 3 : 2;
    buffer_.dim = dimensions_.data();
    up();
  }
  ~Plane() { halide_device_free(nullptr, &buffer_); }
  Plane(const Plane&) = delete;
  void up() {
    buffer_.set_host_dirty(true);
    buffer_.set_device_dirty(false);
    check(halide_copy_to_device(nullptr, &buffer_, interface_), "memory of the device");
  }
  void down() {
    buffer_.set_device_dirty(true);
    check(halide_copy_to_host(nullptr, &buffer_), "run");
  }
  halide_buffer_t* get() { return &buffer_; }

 private:
  const halide_device_interface_t* interface_;
  std::array<halide_dimension_t, 3> dimensions_;
  halide_buffer_t buffer_{};
};

// ---- measuring ---------------------------------------------------------------------------------------------------

struct Job {
  Gpu gpu;
  Image ours, result;
  std::vector<Image> inputs;
  Limits limits;
  struct Set {
    std::vector<std::unique_ptr<Plane>> in;
    std::unique_ptr<Plane> out;
    std::vector<void*> buffers;
  };
  std::vector<Set> sets;

  void run(const Entry& e, int k) { check(e.call(sets[static_cast<std::size_t>(k % kSets)].buffers.data()), "run"); }
  Figures compared(const Entry& e) {
    std::fill(result.bytes.begin(), result.bytes.end(), static_cast<char>(0xAB));
    sets[0].out->up();
    run(e, 0);
    sets[0].out->down();
    const auto [largest, share] = compare(result, ours, limits.tolerance, 1, limits.margin);
    return {e.how, share <= limits.share ? "same" : "DIFFERENT", -1, largest, share, ""};
  }
};

// What was not of our choice.
bool of_halide(const Entry& e) {
  const std::string how = e.how;
  return how.starts_with("Anderson2021") || how.starts_with("published");
}

struct Tried {
  const Entry* entry;
  float ms;
};

void measure(Job& job, std::vector<Tried> all) {
  std::sort(all.begin(), all.end(), [](const Tried& a, const Tried& b) { return a.ms < b.ms; });
  std::vector<std::pair<double, const Entry*>> timed;
  int count = 0;
  for (const Tried& t : all)
    if (count++ < 5 || of_halide(*t.entry))
      timed.emplace_back(median_ms([&](int runs) { return job.gpu.times(runs, [&](int k) { job.run(*t.entry, k); }); }),
                         t.entry);
  std::sort(timed.begin(), timed.end());
  bool found = false;
  for (const auto& [ms, entry] : timed) {
    if (found && !of_halide(*entry)) continue;
    Figures f = job.compared(*entry);
    f.ms = ms;
    tell(f);
    found |= f.verdict == "same";
  }
}

void work(int count, char** given) {
  Job job{{}, read_npy(given[2]), {}, {}, {std::atof(given[3]), std::atof(given[4]), std::atoi(given[5])}, {}};
  job.result = job.ours;
  for (int k = 6; k < count; ++k) job.inputs.push_back(read_npy(given[k]));
  for (int k = 0; k < kSets; ++k) {
    Job::Set& set = job.sets.emplace_back();
    for (Image& input : job.inputs) {
      set.in.push_back(std::make_unique<Plane>(job.gpu, input.bytes.data(), input));
      set.buffers.push_back(set.in.back()->get());
    }
    set.out = std::make_unique<Plane>(job.gpu, job.result.bytes.data(), job.result);
    set.buffers.push_back(set.out->get());
  }
  std::vector<Tried> tried;
  const auto start = std::chrono::steady_clock::now();
  for (const Entry& e : entries) {
    if (std::strcmp(e.job, given[1]) != 0) continue;
    if (std::chrono::steady_clock::now() - start > kTrying) {
      tell_error(e.how, "not tried: no time was left");
      continue;
    }
    try {
#ifdef TESSERA_HALIDE_CHECK
      tell(job.compared(e));
#else
      job.run(e, 0);  // compiles
      std::vector<float> ms = job.gpu.times(5, [&](int k) { job.run(e, k); });
      std::sort(ms.begin(), ms.end());
      tried.push_back({&e, ms[2]});
#endif
    } catch (const std::exception& error) {
      tell_error(e.how, error.what());
    }
  }
  if (!tried.empty()) measure(job, std::move(tried));
}

}  // namespace

int main(int count, char** given) {
  std::printf("{\"version\": \"%s\"}\n", kVersion);
  std::fflush(stdout);
  if (count < 7) return 0;
  halide_set_error_handler(hear);
  try {
    work(count, given);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
