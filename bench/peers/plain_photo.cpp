// Plain loops of the camera pipeline: the mosaic without hot points, its four planes, green everywhere, the three
// colours in whole images, the picture.
#include <algorithm>
#include <cmath>

#include "peers/plain.hpp"

namespace tessera::bench {
namespace {

std::vector<std::int32_t> tone_curve() {
  std::vector<std::int32_t> curve(1024);
  for (std::size_t i = 0; i < curve.size(); ++i) {
    const float v = float(i) / 1023.0f;
    const float s = v <= 0.0031308f ? 12.92f * v : 1.055f * std::pow(v, 1 / 2.4f) - 0.055f;
    curve[i] = std::clamp(int(std::nearbyint(255 * s)), 0, 255);
  }
  return curve;
}

// Two ways across a point: along the one that changes less.
inline float along(float a, float b, float p, float q, float near, float far) {
  return std::fabs(a - b) < std::fabs(p - q) ? near : far;
}

struct Planes {
  float *gr, *r, *b, *gb, *g_r, *g_b;  // a row of each, of half the extents
};

[[gnu::noinline]] void split_row(Planes p, const std::uint16_t* __restrict top, const std::uint16_t* __restrict bottom,
                                 i64 half) {
  float* __restrict gr = p.gr, * __restrict r = p.r, * __restrict b = p.b, * __restrict gb = p.gb;
  for (i64 x = 0; x < half; ++x) {
    gr[x] = float(top[2 * x]) - 64;
    r[x] = (float(top[2 * x + 1]) - 64) * 2;
    b[x] = (float(bottom[2 * x]) - 64) * 1.5f;
    gb[x] = float(bottom[2 * x + 1]) - 64;
  }
}

[[gnu::noinline]] void green_row(Planes p, i64 half) {
  float* __restrict g_r = p.g_r, * __restrict g_b = p.g_b;
  const float *gr = p.gr, *gb = p.gb;
  for (i64 x = 1; x < half - 1; ++x) {
    g_r[x] = along(gr[x], gr[x + 1], gb[x - half], gb[x], (gr[x] + gr[x + 1]) / 2, (gb[x - half] + gb[x]) / 2);
    g_b[x] = along(gb[x], gb[x - 1], gr[x + half], gr[x], (gb[x] + gb[x - 1]) / 2, (gr[x + half] + gr[x]) / 2);
  }
}

// One row of blocks of 2x2 points of one colour, `top` and the row below it. C stands in the mosaic right of and above
// green (red) or left of and below it (blue); H is green at C's points, G green at the points of the other colour.
// `side` and `up` lead to the neighbour that is as near as the block's own C.
template <int Side, int Up>
[[gnu::noinline]] void colour_row(float* __restrict beside, float* __restrict own, float* __restrict opposite,
                                  float* __restrict above, const float* gs, const float* ga, const float* G,
                                  const float* C, const float* H, i64 half) {
  const i64 side = Side, up = Up * half;
  for (i64 x = 1; x < half - 1; ++x) {
    const float d = C[x] - H[x], s = C[x + side] - H[x + side], u = C[x + up] - H[x + up];
    const float t = C[x + side + up] - H[x + side + up];
    beside[2 * x] = gs[x] + (s + d) / 2;
    above[2 * x] = ga[x] + (d + u) / 2;
    own[2 * x] = C[x];
    opposite[2 * x] = G[x] + along(C[x], C[x + side + up], C[x + side], C[x + up], (d + t) / 2, (s + u) / 2);
  }
}

[[gnu::noinline]] void developed_row(std::uint8_t* __restrict out, const float* r, const float* g, const float* b,
                                     const float* weights, const std::int32_t* curve, i64 w) {
  const float p = weights[0], q = weights[1], s = weights[2];
  for (i64 x = 0; x < w; ++x) {
    const float v = p * r[x] + q * g[x] + s * b[x];
    out[x] = std::uint8_t(curve[std::clamp(int(v * (1023.0f / 959) + 0.5f), 0, 1023)]);
  }
}

class Camera {
 public:
  void run(const Buffers& set, int threads) {
    const Array& raw = set.inputs[0];
    const i64 h = raw.shape()[0], w = raw.shape()[1];
    allocate(clean_, ElementType::u16, raw.shape());
    for (Array& a : planes_) allocate(a, ElementType::f32, {h / 2, w / 2});
    for (Array& a : colours_) allocate(a, ElementType::f32, raw.shape());
    each<std::uint16_t, std::uint16_t>(
        clean_, 2, threads,
        [](const std::uint16_t* p, i64 row) {
          const std::uint16_t a = p[-2 * row], b = p[2 * row], c = p[-2], d = p[2];
          return std::min(std::max(p[0], std::min(std::min(a, b), std::min(c, d))),
                          std::max(std::max(a, b), std::max(c, d)));
        },
        raw);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (i64 y = 0; y < h / 2; ++y) {
      const std::uint16_t* top = clean_.as<std::uint16_t>() + 2 * y * w;
      split_row(rows(y), top, top + w, w / 2);
    }
#pragma omp parallel for num_threads(threads) schedule(static)
    for (i64 y = 1; y < h / 2 - 1; ++y) green_row(rows(y), w / 2);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (i64 y = 1; y < h / 2 - 1; ++y) colours(y, w);
    static constexpr float matrix[3][3] = {{1.6f, -0.4f, -0.2f}, {-0.3f, 1.5f, -0.2f}, {0, -0.5f, 1.5f}};
#pragma omp parallel for num_threads(threads) schedule(static)
    for (i64 y = 0; y < h; ++y)
      for (i64 c = 0; c < 3; ++c)
        developed_row(set.output.as<std::uint8_t>() + (c * h + y) * w, row(0, y, w), row(1, y, w), row(2, y, w),
                      matrix[c], curve_.data(), w);
  }

 private:
  Planes rows(i64 y) const {
    const i64 at = y * planes_[0].shape()[1];
    const auto of = [&](int i) { return planes_[i].as<float>() + at; };
    return {of(0), of(1), of(2), of(3), of(4), of(5)};
  }
  float* row(int colour, i64 y, i64 w) const { return colours_[colour].as<float>() + y * w; }
  void colours(i64 y, i64 w) const {
    const Planes p = rows(y);
    float *r = row(0, 2 * y, w), *g = row(1, 2 * y, w), *b = row(2, 2 * y, w);
    colour_row<-1, 1>(r, r + 1, r + w, r + w + 1, p.gr, p.gb, p.g_b, p.r, p.g_r, w / 2);
    colour_row<1, -1>(b + w + 1, b + w, b + 1, b, p.gb, p.gr, p.g_r, p.b, p.g_b, w / 2);
    for (i64 x = 0; x < w / 2; ++x) {
      g[2 * x] = p.gr[x];
      g[2 * x + 1] = p.g_r[x];
      g[w + 2 * x] = p.g_b[x];
      g[w + 2 * x + 1] = p.gb[x];
    }
  }

  Array clean_, planes_[6], colours_[3];
  std::vector<std::int32_t> curve_ = tone_curve();
};

}  // namespace

Loop plain_photo(const std::string& job) {
  if (job == "camera_u16")
    return [camera = Camera()](const Buffers& set, int threads) mutable { camera.run(set, threads); };
  return nullptr;
}

}  // namespace tessera::bench
