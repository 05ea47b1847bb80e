// Plain loops, as one writes them without a library: one loop nest per stage, intermediates in whole images, OpenMP
// over rows, borders left untouched. Compiled with -O3 -march=native -mprefer-vector-width=512 -ffast-math -fopenmp,
// which is more than most programs get.
#include <algorithm>
#include <array>
#include <cmath>

#include "job.hpp"
#include "peers/plain.hpp"
#include "random.hpp"

namespace tessera::bench {
namespace {

template <int K>
Loop dense() {
  return [k = random_weights(K * K, 7)](const Buffers& set, int threads) {
    std::array<float, K * K> w;
    std::copy(k.begin(), k.end(), w.begin());
    each<float, float>(
        set.output, K / 2, threads,
        [w](const float* p, i64 row) {
          return unrolled<K * K>(plus, [&](auto i) { return w[i] * p[(i / K - K / 2) * row + i % K - K / 2]; });
        },
        set.inputs[0]);
  };
}

Loop blur3() {
  return [](const Buffers& set, int threads) {
    each<float, float>(
        set.output, 1, threads, [](const float* p, i64 row) { return sum3x3(p, row) * (1.0f / 9); }, set.inputs[0]);
  };
}

template <class In, class Out>
Loop sobel() {
  return [](const Buffers& set, int threads) {
    each<In, Out>(set.output, 1, threads, [](const In* p, i64 row) { return Out(sobel_x(p, row)); }, set.inputs[0]);
  };
}

// Rows of 16-bit sums, then columns, rounded.
template <int K>
Loop gauss_bytes() {
  return [rows = Array()](const Buffers& set, int threads) mutable {
    static constexpr int weights[] = {1, K == 3 ? 2 : 4, K == 3 ? 1 : 6, 4, 1};
    constexpr int shift = K == 3 ? 4 : 8, r = K / 2;
    allocate(rows, ElementType::u16, set.inputs[0].shape());
    each<std::uint8_t, std::uint16_t>(
        rows, r, threads,
        [](const std::uint8_t* p, i64) {
          return std::uint16_t(unrolled<K>(plus, [&](auto i) { return weights[i] * p[i - r]; }));
        },
        set.inputs[0]);
    each<std::uint16_t, std::uint8_t>(
        set.output, r, threads,
        [](const std::uint16_t* p, i64 row) {
          const int sum = unrolled<K>(plus, [&](auto i) { return weights[i] * p[(i - r) * row]; });
          return std::uint8_t((sum + (1 << (shift - 1))) >> shift);
        },
        rows);
  };
}

Loop box_bytes() {
  return [](const Buffers& set, int threads) {
    each<std::uint8_t, std::uint8_t>(
        set.output, 1, threads,
        [](const std::uint8_t* p, i64 row) {
          const int sum = unrolled<9>(plus, [&](auto i) { return int(p[(i / 3 - 1) * row + i % 3 - 1]); });
          return std::uint8_t(std::uint16_t(sum + 4) / 9);
        },
        set.inputs[0]);
  };
}

template <class T>
T middle(T a, T b, T c) {
  return std::max(std::min(a, b), std::min(std::max(a, b), c));
}

// Sorted columns, then the classic merge.
template <class T>
Loop median3() {
  return [](const Buffers& set, int threads) {
    each<T, T>(
        set.output, 1, threads,
        [](const T* p, i64 row) {
          T lo[3], mid[3], hi[3];
#pragma GCC unroll 3
          for (int i = 0; i < 3; ++i) {
            const T a = p[i - 1 - row], b = p[i - 1], c = p[i - 1 + row];
            lo[i] = std::min(std::min(a, b), c);
            mid[i] = middle(a, b, c);
            hi[i] = std::max(std::max(a, b), c);
          }
          return middle(std::max(std::max(lo[0], lo[1]), lo[2]), middle(mid[0], mid[1], mid[2]),
                        std::min(std::min(hi[0], hi[1]), hi[2]));
        },
        set.inputs[0]);
  };
}

template <int K>
Loop dilate() {
  return [rows = Array()](const Buffers& set, int threads) mutable {
    allocate(rows, ElementType::u8, set.inputs[0].shape());
    each<std::uint8_t, std::uint8_t>(
        rows, K / 2, threads,
        [](const std::uint8_t* p, i64) { return unrolled<K>(larger, [&](auto i) { return p[i - K / 2]; }); },
        set.inputs[0]);
    each<std::uint8_t, std::uint8_t>(
        set.output, K / 2, threads,
        [](const std::uint8_t* p, i64 row) {
          return unrolled<K>(larger, [&](auto i) { return p[(i - K / 2) * row]; });
        },
        rows);
  };
}

// The round window of thirteen points.
Loop bilateral() {
  return [](const Buffers& set, int threads) {
    each<float, float>(
        set.output, 2, threads,
        [](const float* p, i64 row) {
          float total = 0, weight = 0;
#pragma GCC unroll 5
          for (int j = -2; j <= 2; ++j)
#pragma GCC unroll 5
            for (int i = -2; i <= 2; ++i) {
              if (i * i + j * j > 4) continue;
              const float v = p[j * row + i], d = v - p[0];
              const float w = std::exp(-50.0f * d * d - float(i * i + j * j) * 0.125f);
              total += w * v;
              weight += w;
            }
          return total / weight;
        },
        set.inputs[0]);
  };
}

// Rows, then columns, through a whole image.
void separable(const Array& in, Array& rows, const Array& out, const std::array<float, 5>& weights, int threads) {
  allocate(rows, ElementType::f32, in.shape());
  const auto tap = [w = weights](const float* p, i64 step) {
    return unrolled<5>(plus, [&](auto i) { return w[i] * p[(i - 2) * step]; });
  };
  each<float, float>(rows, 2, threads, [tap](const float* p, i64) { return tap(p, 1); }, in);
  each<float, float>(out, 2, threads, tap, rows);
}

constexpr std::array<float, 5> binomial{1 / 16.f, 4 / 16.f, 6 / 16.f, 4 / 16.f, 1 / 16.f};

Loop unsharp() {
  return [rows = Array(), blurred = Array()](const Buffers& set, int threads) mutable {
    allocate(blurred, ElementType::f32, set.output.shape());
    separable(set.inputs[0], rows, blurred, {0.120078f, 0.233881f, 0.292082f, 0.233881f, 0.120078f}, threads);
    each<float, float>(
        set.output, 2, threads, [](const float* p, const float* b, i64) { return 1.7f * p[0] - 0.7f * b[0]; },
        set.inputs[0], blurred);
  };
}

Loop chain() {
  return [rows = Array(), smooth = Array(), slope = Array()](const Buffers& set, int threads) mutable {
    allocate(smooth, ElementType::f32, set.output.shape());
    allocate(slope, ElementType::f32, set.output.shape());
    separable(set.inputs[0], rows, smooth, binomial, threads);
    each<float, float>(slope, 3, threads, [](const float* p, i64 row) { return sobel_x(p, row); }, smooth);
    each<float, float>(
        set.output, 4, threads, [](const float* p, i64 row) { return sum3x3(p, row) * (1.0f / 9); }, slope);
  };
}

Loop canny() {
  struct Images {
    Array rows, smooth, gx, gy, size;
  };
  return [m = Images()](const Buffers& set, int threads) mutable {
    for (Array* a : {&m.smooth, &m.gx, &m.gy, &m.size}) allocate(*a, ElementType::f32, set.output.shape());
    separable(set.inputs[0], m.rows, m.smooth, binomial, threads);
    each<float, float>(m.gx, 3, threads, [](const float* p, i64 row) { return sobel_x(p, row); }, m.smooth);
    each<float, float>(m.gy, 3, threads, [](const float* p, i64 row) { return sobel_y(p, row); }, m.smooth);
    each<float, float>(
        m.size, 3, threads, [](const float* x, const float* y, i64) { return std::sqrt(x[0] * x[0] + y[0] * y[0]); },
        m.gx, m.gy);
    each<float, float>(
        set.output, 4, threads,
        [](const float* p, const float* x, const float* y, i64 row) {
          const float ax = std::fabs(x[0]), ay = std::fabs(y[0]);
          const float along = larger(p[-1], p[1]), across = larger(p[-row], p[row]);
          const float down = larger(p[-row - 1], p[row + 1]), up = larger(p[-row + 1], p[row - 1]);
          float beside = x[0] * y[0] < 0 ? up : down;
          beside = ay > 2.41421356f * ax ? across : beside;
          beside = ay < 0.41421356f * ax ? along : beside;
          return p[0] >= beside ? p[0] : 0.0f;
        },
        m.size, m.gx, m.gy);
  };
}

Loop harris() {
  struct Images {
    Array ix, iy, xx, xy, yy;
  };
  return [m = Images()](const Buffers& set, int threads) mutable {
    for (Array* a : {&m.ix, &m.iy, &m.xx, &m.xy, &m.yy}) allocate(*a, ElementType::f32, set.output.shape());
    constexpr float scale = 1.0f / 12;  // as OpenCV: 1 / (2^(3 - 1) * 3)
    const auto product = [](const float* p, const float* q, i64) { return p[0] * q[0]; };
    each<float, float>(
        m.ix, 1, threads, [](const float* p, i64 row) { return scale * sobel_x(p, row); }, set.inputs[0]);
    each<float, float>(
        m.iy, 1, threads, [](const float* p, i64 row) { return scale * sobel_y(p, row); }, set.inputs[0]);
    each<float, float>(m.xx, 1, threads, product, m.ix, m.ix);
    each<float, float>(m.xy, 1, threads, product, m.ix, m.iy);
    each<float, float>(m.yy, 1, threads, product, m.iy, m.iy);
    each<float, float>(
        set.output, 2, threads,
        [](const float* a, const float* b, const float* c, i64 row) {
          const float sxx = sum3x3(a, row), sxy = sum3x3(b, row), syy = sum3x3(c, row), trace = sxx + syy;
          return sxx * syy - sxy * sxy - 0.04f * trace * trace;
        },
        m.xx, m.xy, m.yy);
  };
}

// Every second point of a 5x5 binomial; rows of the result first.
void down(const Array& in, Array& rows, const Array& out, int threads) {
  const i64 h = out.shape()[0], w = out.shape()[1], in_w = in.shape()[1], in_h = in.shape()[0];
  allocate(rows, ElementType::f32, {h, in_w});
#pragma omp parallel for num_threads(threads) schedule(static)
  for (i64 y = 0; y < h; ++y) {
    const auto line = [&](i64 j) { return in.as<float>() + std::clamp<i64>(2 * y + j, 0, in_h - 1) * in_w; };
    const float *a = line(-2), *b = line(-1), *c = line(0), *d = line(1), *e = line(2);
    float* __restrict o = rows.as<float>() + y * in_w;
    for (i64 x = 0; x < in_w; ++x) o[x] = (a[x] + 4 * b[x] + 6 * c[x] + 4 * d[x] + e[x]) * (1 / 16.f);
  }
#pragma omp parallel for num_threads(threads) schedule(static)
  for (i64 y = 0; y < h; ++y) {
    const float* p = rows.as<float>() + y * in_w;
    float* __restrict o = out.as<float>() + y * w;
    for (i64 x = 1; x < w - 1; ++x)
      o[x] = (p[2 * x - 2] + 4 * p[2 * x - 1] + 6 * p[2 * x] + 4 * p[2 * x + 1] + p[2 * x + 2]) * (1 / 16.f);
    for (i64 x : {i64{0}, w - 1}) {
      const auto at = [&](i64 i) { return p[std::clamp<i64>(2 * x + i, 0, in_w - 1)]; };
      o[x] = (at(-2) + 4 * at(-1) + 6 * at(0) + 4 * at(1) + at(2)) * (1 / 16.f);
    }
  }
}

// Twice the size, and out = gain_up * up(in) + gain_add * add.
void up(const Array& in, Array& rows, const Array& out, float gain_up, const Array& add, float gain_add, int threads) {
  const i64 h = in.shape()[0], w = in.shape()[1];
  allocate(rows, ElementType::f32, {2 * h, w});
#pragma omp parallel for num_threads(threads) schedule(static)
  for (i64 y = 0; y < h; ++y) {
    const float *p = in.as<float>() + y * w, *above = p - (y > 0 ? w : 0), *below = p + (y < h - 1 ? w : 0);
    float* __restrict even = rows.as<float>() + 2 * y * w, * __restrict odd = even + w;
    for (i64 x = 0; x < w; ++x) {
      even[x] = (above[x] + 6 * p[x] + below[x]) * 0.125f;
      odd[x] = (p[x] + below[x]) * 0.5f;
    }
  }
#pragma omp parallel for num_threads(threads) schedule(static)
  for (i64 y = 0; y < 2 * h; ++y) {
    const float* p = rows.as<float>() + y * w;
    const float* q = add.as<float>() + y * 2 * w;
    float* __restrict o = out.as<float>() + y * 2 * w;
    const auto point = [&](i64 x, i64 left, i64 right) {
      o[2 * x] = gain_up * (p[left] + 6 * p[x] + p[right]) * 0.125f + gain_add * q[2 * x];
      o[2 * x + 1] = gain_up * (p[x] + p[right]) * 0.5f + gain_add * q[2 * x + 1];
    };
    for (i64 x = 1; x < w - 1; ++x) point(x, x - 1, x + 1);
    point(0, 0, 1);
    point(w - 1, w - 2, w - 1);
  }
}

Loop pyrdown() {
  return [rows = Array()](const Buffers& set, int threads) mutable { down(set.inputs[0], rows, set.output, threads); };
}

Loop laplacian() {
  return [images = std::vector<Array>(5), details = std::vector<Array>(5), sums = std::vector<Array>(5), rows = Array(),
          wide = Array()](const Buffers& set, int threads) mutable {
    constexpr float gain[] = {1.5f, 1.3f, 1.2f, 1.1f};
    Shape shape = set.output.shape();
    images[0] = set.inputs[0];
    sums[0] = set.output;
    for (std::size_t i = 0; i < 4; ++i) {
      allocate(details[i], ElementType::f32, shape);
      if (i > 0) allocate(sums[i], ElementType::f32, shape);
      shape = {shape[0] / 2, shape[1] / 2};
      allocate(images[i + 1], ElementType::f32, shape);
      down(images[i], rows, images[i + 1], threads);
      up(images[i + 1], wide, details[i], -1, images[i], 1, threads);
    }
    Array sum = images[4];
    for (std::size_t i = 4; i-- > 0;) {
      up(sum, wide, sums[i], 1, details[i], gain[i], threads);
      sum = sums[i];
    }
  };
}

}  // namespace

Loop plain_filter(const std::string& job) {
  if (job == "blur3_f32") return blur3();
  if (job == "conv3_f32") return dense<3>();
  if (job == "conv5_f32") return dense<5>();
  if (job == "conv7_f32") return dense<7>();
  if (job == "sobel_f32") return sobel<float, float>();
  if (job == "sobel_u8") return sobel<std::uint8_t, std::int16_t>();
  if (job == "gauss3_u8" || job == "tiny_u8") return gauss_bytes<3>();
  if (job == "gauss5_u8") return gauss_bytes<5>();
  if (job == "box3_u8") return box_bytes();
  if (job == "median3_u8") return median3<std::uint8_t>();
  if (job == "median3_f32") return median3<float>();
  if (job == "dilate3_u8") return dilate<3>();
  if (job == "dilate15_u8") return dilate<15>();
  if (job == "bilateral5_f32") return bilateral();
  if (job == "unsharp5_f32") return unsharp();
  if (job == "chain_f32") return chain();
  if (job == "canny_f32") return canny();
  if (job == "harris_f32") return harris();
  if (job == "pyrdown_f32") return pyrdown();
  if (job == "laplacian_f32") return laplacian();
  return nullptr;
}

namespace {

class PlainPeer final : public Peer {
 public:
  std::string name() const override { return "plain"; }
  std::string version() const override { return "C++ loops, GCC " __VERSION__; }
  void set_threads(int threads) override { threads_ = threads; }
  std::optional<Prepared> prepare(const Job& job, const Settings&) override {
    Loop loop = plain_filter(job.name);
    if (!loop) loop = plain_long_job(job.name);
    if (!loop) loop = plain_photo(job.name);
    if (!loop) return std::nullopt;
    return Prepared{[loop, threads = threads_](const Buffers& set) { loop(set, threads); }, "", true};
  }

 private:
  int threads_ = 1;
};

}  // namespace

PeerEntry plain_peer() {
  return {"plain", "", std::make_unique<PlainPeer>()};
}

}  // namespace tessera::bench
