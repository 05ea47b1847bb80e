// NVIDIA's NPP on one job of bench/gpu.py: times every call of it that computes the job or nearly so, compares with our
// result.
//
// Usage: gpu_npp JOB INPUT.npy RESULT.npy TOLERANCE SHARE [WEIGHT...]
// A result is the same where no more than SHARE of the points, eight from every edge left out, are further than
// TOLERANCE from ours. Every call prints a line of JSON as soon as it was measured, so that one that ends the process
// takes no other with it: calls whose weights may have to lie elsewhere stand last. "related" calls compute something
// else and are only shown. Build: nvcc -O2 -std=c++20 -arch=native gpu_npp.cu -lnppif -lnppim -lnppial -lnppc
#include <cuda_runtime.h>
#include <npp.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "gpu_image.hpp"

using namespace gpu_peer;

namespace {

void check(cudaError_t code, const char* what) {
  if (code != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(code));
}

// ---- arrays ------------------------------------------------------------------------------------------------------

NppiSize extents(const Image& image) {
  return {image.columns, image.rows};
}

// The bytes of a job of floats, for calls that take nothing else.
Image as_bytes(const Image& from) {
  Image image{'u', from.rows, from.columns, {}};
  image.bytes.resize(static_cast<std::size_t>(from.rows) * from.columns);
  for (std::size_t i = 0; i < image.bytes.size(); ++i)
    image.bytes[i] = static_cast<char>(static_cast<int>(from.at(i) * 255));
  return image;
}

struct Memory {
  explicit Memory(std::size_t bytes) {
    check(cudaMalloc(&at, std::max<std::size_t>(bytes, 16)), "memory of the device");
  }
  ~Memory() { cudaFree(at); }
  Memory(const Memory&) = delete;
  void* at = nullptr;
};

// ---- measuring ---------------------------------------------------------------------------------------------------

// Keeps the device busy while the host puts all runs into the queue: what is timed are kernels, not their launches.
__global__ void spin(long long cycles) {
  const long long start = clock64();
  while (clock64() - start < cycles) {
  }
}

using Run = std::function<NppStatus(const void* in, void* out)>;
struct Call {
  const char* name;
  bool related;
  const Image* input;
  Image output;  // its type and extents
  Run run;
};

double time_ms(const Run& run, const std::vector<std::unique_ptr<Memory>>& in,
               const std::vector<std::unique_ptr<Memory>>& out) {
  cudaEvent_t event[2 * kMostRuns];
  for (auto& e : event) cudaEventCreate(&e);
  const double ms = median_ms([&](int runs) {
    spin<<<1, 1>>>(40000LL * runs);
    for (int k = 0; k < runs; ++k) {
      cudaEventRecord(event[2 * k]);
      run(in[k % kSets]->at, out[k % kSets]->at);
      cudaEventRecord(event[2 * k + 1]);
    }
    check(cudaDeviceSynchronize(), "timing");
    std::vector<float> times(runs);
    for (int k = 0; k < runs; ++k) cudaEventElapsedTime(&times[k], event[2 * k], event[2 * k + 1]);
    return times;
  });
  for (auto& e : event) cudaEventDestroy(e);
  return ms;
}

void measure(const Call& call, const Image& ours, Limits limits) {
  std::vector<std::unique_ptr<Memory>> in, out;
  const std::size_t bytes = static_cast<std::size_t>(call.output.step()) * call.output.rows;
  for (int k = 0; k < kSets; ++k) {
    in.push_back(std::make_unique<Memory>(call.input->bytes.size()));
    check(cudaMemcpy(in[k]->at, call.input->bytes.data(), call.input->bytes.size(), cudaMemcpyHostToDevice), "copy");
    out.push_back(std::make_unique<Memory>(bytes));
    check(cudaMemset(out[k]->at, 0xAB, bytes), "fill");
  }
  const NppStatus status = call.run(in[0]->at, out[0]->at);
  if (status != NPP_SUCCESS) throw std::runtime_error("status " + std::to_string(static_cast<int>(status)));
  check(cudaDeviceSynchronize(), "run");
  Image result = call.output;
  result.bytes.resize(bytes);
  check(cudaMemcpy(result.bytes.data(), out[0]->at, bytes, cudaMemcpyDeviceToHost), "copy");
  std::string verdict = "related", note;
  double largest = 0, share = 0;
  if (!call.related) {
    std::tie(largest, share) = compare(result, ours, limits.tolerance, 1);
    if (share > limits.share) {  // a derivative may be taken the other way round
      const auto turned = compare(result, ours, limits.tolerance, -1);
      if (turned.second <= limits.share) {
        std::tie(largest, share) = turned;
        note = "of the other sign";
      }
    }
    verdict = share <= limits.share ? "same" : "DIFFERENT";
  }
  tell({call.name, verdict, time_ms(call.run, in, out), largest, share, note});
}

// ---- the calls ---------------------------------------------------------------------------------------------------

NppStreamContext context() {
  NppStreamContext c{};
  cudaDeviceProp p;
  check(cudaGetDevice(&c.nCudaDeviceId), "device");
  check(cudaGetDeviceProperties(&p, c.nCudaDeviceId), "device");
  c.nMultiProcessorCount = p.multiProcessorCount;
  c.nMaxThreadsPerMultiProcessor = p.maxThreadsPerMultiProcessor;
  c.nMaxThreadsPerBlock = p.maxThreadsPerBlock;
  c.nSharedMemPerBlock = p.sharedMemPerBlock;
  c.nCudaDevAttrComputeCapabilityMajor = p.major;
  c.nCudaDevAttrComputeCapabilityMinor = p.minor;
  return c;
}

struct Calls {
  explicit Calls(Image given) : input(std::move(given)), image{'f', input.rows, input.columns, {}}, c(context()) {}

  Image input, bytes;  // bytes: of an input of floats, where a call asks for them
  Image image;         // extents of the output
  NppStreamContext c;
  std::vector<Call> list;
  std::vector<std::unique_ptr<Memory>> kept;
  const NppiPoint zero{0, 0};
  const NppiBorderType edge = NPP_BORDER_REPLICATE;

  template <class T>
  T* keep(const std::vector<T>& values) {
    kept.push_back(std::make_unique<Memory>(values.size() * sizeof(T)));
    check(cudaMemcpy(kept.back()->at, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice), "copy");
    return static_cast<T*>(kept.back()->at);
  }
  Npp8u* scratch(std::size_t size) {
    kept.push_back(std::make_unique<Memory>(size));
    return static_cast<Npp8u*>(kept.back()->at);
  }
  // In, Out: the types of the call; f(from, step of a row, to, step of a row).
  template <class In, class Out, class F>
  void add(const char* name, bool related, F f) {
    const Image* from = &input;
    if (sizeof(In) == 1 && input.kind == 'f') {
      if (bytes.bytes.empty()) bytes = as_bytes(input);
      from = &bytes;
    }
    Image to = image;
    to.kind = sizeof(Out) == 4 ? 'f' : sizeof(Out) == 2 ? 'i' : 'u';
    const int step_in = from->step(), step_out = to.step();
    list.push_back({name, related, from, to, [=](const void* in, void* out) {
                      return f(static_cast<const In*>(in), step_in, static_cast<Out*>(out), step_out);
                    }});
  }

  void dense(const std::vector<float>& weights) {
    const int k = static_cast<int>(std::lround(std::sqrt(static_cast<double>(weights.size()))));
    const std::vector<float> reversed(weights.rbegin(), weights.rend());
    const NppiSize s = extents(image);
    for (const auto* order : {&reversed, &weights}) {
      const float* w = keep(*order);
      add<Npp32f, Npp32f>(order == &reversed ? "FilterBorder, reversed" : "FilterBorder", false,
                          [=, this](auto* i, int a, auto* o, int b) {
                            return nppiFilterBorder_32f_C1R_Ctx(i, a, s, zero, o, b, s, w, {k, k}, {k / 2, k / 2}, edge,
                                                                c);
                          });
      if (reversed == weights) break;
    }
  }
  void gauss_bytes(const std::vector<int>& w) {
    const NppiSize s = extents(image);
    const int k = static_cast<int>(w.size());
    int sum = 0;
    for (int v : w) sum += v;
    std::vector<Npp32s> whole;
    std::vector<float> parts, line;
    for (int v : w) {
      line.push_back(static_cast<float>(v) / static_cast<float>(sum));
      for (int u : w) {
        whole.push_back(u * v);
        parts.push_back(static_cast<float>(u * v) / static_cast<float>(sum * sum));
      }
    }
    const Npp32s* integers = keep(whole);
    const float *square = keep(parts), *taps = keep(line);
    const auto mask = k == 3 ? NPP_MASK_SIZE_3_X_3 : NPP_MASK_SIZE_5_X_5;
    add<Npp8u, Npp8u>("FilterGaussBorder, other weights", true, [=, this](auto* i, int a, auto* o, int b) {
      return nppiFilterGaussBorder_8u_C1R_Ctx(i, a, s, zero, o, b, s, mask, edge, c);
    });
    add<Npp8u, Npp8u>("FilterBorder", false, [=, this](auto* i, int a, auto* o, int b) {
      return nppiFilterBorder_8u_C1R_Ctx(i, a, s, zero, o, b, s, integers, {k, k}, {k / 2, k / 2}, sum * sum, edge, c);
    });
    add<Npp8u, Npp8u>("FilterBorder32f", false, [=, this](auto* i, int a, auto* o, int b) {
      return nppiFilterBorder32f_8u_C1R_Ctx(i, a, s, zero, o, b, s, square, {k, k}, {k / 2, k / 2}, edge, c);
    });
    add<Npp8u, Npp8u>("FilterGaussAdvancedBorder", false, [=, this](auto* i, int a, auto* o, int b) {
      return nppiFilterGaussAdvancedBorder_8u_C1R_Ctx(i, a, s, zero, o, b, s, k, taps, edge, c);
    });
  }
  // Whole weights of bytes; the sum is divided.
  void dense_bytes(const std::vector<float>& weights, int divisor) {
    const int k = static_cast<int>(std::lround(std::sqrt(static_cast<double>(weights.size()))));
    const std::vector<Npp32s> reversed(weights.rbegin(), weights.rend());
    const NppiSize s = extents(image);
    const Npp32s* w = keep(reversed);
    add<Npp8u, Npp8u>("FilterBorder, reversed", false, [=, this](auto* i, int a, auto* o, int b) {
      return nppiFilterBorder_8u_C1R_Ctx(i, a, s, zero, o, b, s, w, {k, k}, {k / 2, k / 2}, divisor, edge, c);
    });
  }
  void box() {
    const NppiSize s = extents(image);
    if (input.kind == 'f')
      add<Npp32f, Npp32f>("FilterBoxBorder", false, [=, this](auto* i, int a, auto* o, int b) {
        return nppiFilterBoxBorder_32f_C1R_Ctx(i, a, s, zero, o, b, s, {3, 3}, {1, 1}, edge, c);
      });
    else
      add<Npp8u, Npp8u>("FilterBoxBorder", false, [=, this](auto* i, int a, auto* o, int b) {
        return nppiFilterBoxBorder_8u_C1R_Ctx(i, a, s, zero, o, b, s, {3, 3}, {1, 1}, edge, c);
      });
  }
  void sobel() {
    const NppiSize s = extents(image);
    if (input.kind == 'f') {
      add<Npp32f, Npp32f>("FilterSobelVertBorder", false, [=, this](auto* i, int a, auto* o, int b) {
        return nppiFilterSobelVertBorder_32f_C1R_Ctx(i, a, s, zero, o, b, s, edge, c);
      });
      dense({-1, 0, 1, -2, 0, 2, -1, 0, 1});
    } else {
      add<Npp8u, Npp16s>("FilterSobelVertBorder", false, [=, this](auto* i, int a, auto* o, int b) {
        return nppiFilterSobelVertBorder_8u16s_C1R_Ctx(i, a, s, zero, o, b, s, NPP_MASK_SIZE_3_X_3, edge, c);
      });
    }
  }
  void unsharp(const std::vector<float>& w) {
    const NppiSize s = extents(image);
    int size = 0;
    nppiFilterUnsharpGetBufferSize_32f_C1R(2, 1.5f, &size);
    Npp8u* buffer = scratch(static_cast<std::size_t>(size));
    add<Npp32f, Npp32f>("FilterUnsharpBorder", false, [=, this](auto* i, int a, auto* o, int b) {
      return nppiFilterUnsharpBorder_32f_C1R_Ctx(i, a, zero, o, b, s, 2, 1.5f, 0.7f, 0, edge, buffer, c);
    });
    const std::size_t points = static_cast<std::size_t>(image.rows) * image.columns;
    auto* blurred = reinterpret_cast<float*>(scratch(4 * points));
    auto* rows = reinterpret_cast<float*>(scratch(4 * points));
    const float* line = keep(w);
    const int k = static_cast<int>(w.size());
    add<Npp32f, Npp32f>(
        "FilterRowBorder, FilterColumnBorder, MulC, MulC, Sub", false, [=, this](auto* i, int a, auto* o, int b) {
          auto r = nppiFilterRowBorder_32f_C1R_Ctx(i, a, s, zero, rows, a, s, line, k, k / 2, edge, c);
          if (!r) r = nppiFilterColumnBorder_32f_C1R_Ctx(rows, a, s, zero, blurred, a, s, line, k, k / 2, edge, c);
          if (!r) r = nppiMulC_32f_C1R_Ctx(blurred, a, 0.7f, rows, a, s, c);
          if (!r) r = nppiMulC_32f_C1R_Ctx(i, a, 1.7f, blurred, a, s, c);
          return r ? r : nppiSub_32f_C1R_Ctx(rows, a, blurred, a, o, b, s, c);
        });
  }
  void corners() {
    const NppiSize s = extents(image);
    int size = 0;
    nppiFilterHarrisCornersBorderGetBufferSize(s, &size);
    Npp8u* buffer = scratch(static_cast<std::size_t>(size));
    add<Npp8u, Npp32f>("FilterHarrisCornersBorder, of bytes", true, [=, this](auto* i, int a, auto* o, int b) {
      return nppiFilterHarrisCornersBorder_8u32f_C1R_Ctx(i, a, s, zero, o, b, s, NPP_FILTER_SOBEL, NPP_MASK_SIZE_3_X_3,
                                                         NPP_MASK_SIZE_3_X_3, 0.04f, 1.0f, edge, buffer, c);
    });
  }
  void canny() {
    const NppiSize s = extents(image);
    int size = 0;
    nppiFilterCannyBorderGetBufferSize(s, &size);
    Npp8u* buffer = scratch(static_cast<std::size_t>(size));
    add<Npp8u, Npp8u>("FilterCannyBorder, of bytes, with hysteresis", true, [=, this](auto* i, int a, auto* o, int b) {
      return nppiFilterCannyBorder_8u_C1R_Ctx(i, a, s, zero, o, b, s, NPP_FILTER_SOBEL, NPP_MASK_SIZE_3_X_3, 72, 256,
                                              nppiNormL2, edge, buffer, c);
    });
  }
  void median() {
    const NppiSize s = extents(image), three{3, 3}, inner{s.width - 2, s.height - 2};
    Npp32u size = 0;
    const bool f = input.kind == 'f';
    if (f)
      nppiFilterMedianGetBufferSize_32f_C1R_Ctx(s, three, &size, c);
    else
      nppiFilterMedianGetBufferSize_8u_C1R_Ctx(s, three, &size, c);
    Npp8u* buffer = scratch(size);
    // Without border control the points at an edge are left out.
    if (f)
      add<Npp32f, Npp32f>("FilterMedian", false, [=, this](auto* i, int a, auto* o, int b) {
        return nppiFilterMedian_32f_C1R_Ctx(i + a / 4 + 1, a, o + b / 4 + 1, b, inner, three, {1, 1}, buffer, c);
      });
    else
      add<Npp8u, Npp8u>("FilterMedian", false, [=, this](auto* i, int a, auto* o, int b) {
        return nppiFilterMedian_8u_C1R_Ctx(i + a + 1, a, o + b + 1, b, inner, three, {1, 1}, buffer, c);
      });
    Npp32u more = 0;
    if (f)
      nppiFilterMedianBorderGetBufferSize_32f_C1R_Ctx(s, three, &more, edge, c);
    else
      nppiFilterMedianBorderGetBufferSize_8u_C1R_Ctx(s, three, &more, edge, c);
    Npp8u* room = scratch(more);
    if (f)
      add<Npp32f, Npp32f>("FilterMedianBorder", false, [=, this](auto* i, int a, auto* o, int b) {
        return nppiFilterMedianBorder_32f_C1R_Ctx(i, a, s, zero, o, b, s, three, {1, 1}, room, edge, c);
      });
    else
      add<Npp8u, Npp8u>("FilterMedianBorder", false, [=, this](auto* i, int a, auto* o, int b) {
        return nppiFilterMedianBorder_8u_C1R_Ctx(i, a, s, zero, o, b, s, three, {1, 1}, room, edge, c);
      });
  }
  void dilate() {
    const NppiSize s = extents(image);
    add<Npp8u, Npp8u>("Dilate3x3Border", false, [=, this](auto* i, int a, auto* o, int b) {
      return nppiDilate3x3Border_8u_C1R_Ctx(i, a, s, zero, o, b, s, edge, c);
    });
    add<Npp8u, Npp8u>("FilterMaxBorder", false, [=, this](auto* i, int a, auto* o, int b) {
      return nppiFilterMaxBorder_8u_C1R_Ctx(i, a, s, zero, o, b, s, {3, 3}, {1, 1}, edge, c);
    });
  }
  void bilateral() {
    const NppiSize s = extents(image);
    add<Npp32f, Npp32f>("FilterBilateralGaussBorder, 25 points", true, [=, this](auto* i, int a, auto* o, int b) {
      return nppiFilterBilateralGaussBorder_32f_C1R_Ctx(i, a, s, zero, o, b, s, 2, 1, 0.1f * 0.1f, 2.0f * 2.0f, edge,
                                                        c);
    });
  }
  void down() {
    const NppiSize s = extents(image);
    image.rows /= 2;
    image.columns /= 2;
    const NppiSize half = extents(image);
    const float* taps = keep(std::vector<float>{0.0625f, 0.25f, 0.375f, 0.25f, 0.0625f});
    add<Npp32f, Npp32f>("FilterGaussPyramidLayerDownBorder", false, [=, this](auto* i, int a, auto* o, int b) {
      return nppiFilterGaussPyramidLayerDownBorder_32f_C1R_Ctx(i, a, s, zero, o, b, half, 2, 5, taps, NPP_BORDER_MIRROR,
                                                               c);
    });
  }
};

void collect(Calls& calls, const std::string& job, const std::vector<float>& weights) {
  const std::map<std::string, std::function<void()>> jobs = {
      {"blur3_f32",
       [&] {
         calls.box();
         calls.dense(std::vector<float>(9, 1.0f / 9));
       }},
      {"conv3_f32", [&] { calls.dense(weights); }},
      {"conv5_f32", [&] { calls.dense(weights); }},
      {"conv7_f32", [&] { calls.dense(weights); }},
      {"conv9_u8", [&] { calls.dense_bytes(weights, 4096); }},
      {"conv15_u8", [&] { calls.dense_bytes(weights, 4096); }},
      {"gauss3_u8", [&] { calls.gauss_bytes({1, 2, 1}); }},
      {"gauss5_u8", [&] { calls.gauss_bytes({1, 4, 6, 4, 1}); }},
      {"box3_u8", [&] { calls.box(); }},
      {"sobel_u8", [&] { calls.sobel(); }},
      {"sobel_f32", [&] { calls.sobel(); }},
      {"unsharp5_f32", [&] { calls.unsharp(weights); }},
      {"harris_f32", [&] { calls.corners(); }},
      {"canny_f32", [&] { calls.canny(); }},
      {"median3_f32", [&] { calls.median(); }},
      {"median3_u8", [&] { calls.median(); }},
      {"dilate3_u8", [&] { calls.dilate(); }},
      {"bilateral5_f32", [&] { calls.bilateral(); }},
      {"pyrdown_f32", [&] { calls.down(); }},
  };
  if (const auto found = jobs.find(job); found != jobs.end()) found->second();
}

void work(int count, char** given) {
  Calls calls(read_npy(given[2]));
  const Image ours = read_npy(given[3]);
  std::vector<float> weights;
  for (int k = 6; k < count; ++k) weights.push_back(std::strtof(given[k], nullptr));
  collect(calls, given[1], weights);
  for (const Call& call : calls.list) {
    try {
      if (!call.related && (call.output.rows != ours.rows || call.output.columns != ours.columns))
        throw std::runtime_error("another size than ours");
      measure(call, ours, {std::atof(given[4]), std::atof(given[5])});
    } catch (const std::exception& e) {
      tell_error(call.name, e.what());
    }
  }
}

}  // namespace

int main(int count, char** given) {
  const NppLibraryVersion* version = nppGetLibVersion();
  std::printf(R"({"version": "%d.%d.%d"})"
              "\n",
              version->major, version->minor, version->build);
  if (count < 6) return 0;
  try {
    work(count, given);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
