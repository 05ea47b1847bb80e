// Plain loops of the long jobs: many steps over one array, each step a pass over the whole of it.
#include <algorithm>
#include <cmath>
#include <utility>

#include "peers/plain.hpp"

namespace tessera::bench {
namespace {

// Runs `step` from the input through two scratch arrays into the output; the borders of every step are copied first.
template <class Step>
void iterate(const Buffers& set, Array (&scratch)[2], int steps, Step step) {
  const Array& in = set.inputs[0];
  for (Array& a : scratch)
    if (a.empty() || a.shape() != in.shape()) {
      allocate(a, in.format().scalar, in.shape());
      a.copy_from(in);
    }
  const Array* from = &in;
  for (int s = 0; s < steps; ++s) {
    const Array& to = s == steps - 1 ? set.output : scratch[s % 2];
    step(*from, to);
    from = &to;
  }
}

struct Scratch {
  Array images[2];
};

Loop jacobi() {
  return [scratch = Scratch()](const Buffers& set, int threads) mutable {
    iterate(set, scratch.images, 100, [&](const Array& from, const Array& to) {
      each<float, float>(
          to, 1, threads, [](const float* p, i64 row) { return 0.25f * (p[-row] + p[-1] + p[1] + p[row]); }, from);
    });
  };
}

// Denoising of magnetic resonance volumes: the weight of every point, then one step of the relaxation. Whole planes but
// for their first and last rows; what that computes at the ends of rows is never compared.
[[gnu::noinline]] void rician_weights(float* __restrict weight, const float* u, i64 begin, i64 end, i64 plane,
                                      i64 row) {
  for (i64 i = begin; i < end; ++i) {
    const float a = u[i] - u[i + plane], b = u[i] - u[i - plane], c = u[i] - u[i + row], d = u[i] - u[i - row];
    const float e = u[i] - u[i + 1], f = u[i] - u[i - 1];
    weight[i] = 1 / std::sqrt(1e-10f + a * a + b * b + c * c + d * d + e * e + f * f);
  }
}

[[gnu::noinline]] void rician_step(float* __restrict next, const float* u, const float* noisy, const float* weight,
                                   i64 begin, i64 end, i64 plane, i64 row) {
  constexpr float tau = 5.0f, gamma = 0.13f, inverse_variance = 400.0f;
  for (i64 i = begin; i < end; ++i) {
    float r = u[i] * noisy[i] * inverse_variance;
    r = r * (2.38944f + r * (0.950037f + r)) / (4.65314f + r * (2.57541f + r * (1.48937f + r)));
    const float* w = weight + i;
    const float* v = u + i;
    const float flow =
        v[plane] * w[plane] + v[-plane] * w[-plane] + v[row] * w[row] + v[-row] * w[-row] + v[1] * w[1] + v[-1] * w[-1];
    const float total = w[plane] + w[-plane] + w[row] + w[-row] + w[1] + w[-1];
    next[i] = (u[i] + tau * (flow + gamma * noisy[i] * r)) / (1 + tau * (total + gamma));
  }
}

Loop rician() {
  return [scratch = Scratch(), weights = Array()](const Buffers& set, int threads) mutable {
    const Array& noisy = set.inputs[0];
    const i64 n = noisy.shape()[0], row = noisy.shape()[2], plane = noisy.shape()[1] * row;
    allocate(weights, ElementType::f32, noisy.shape());
    iterate(set, scratch.images, 50, [&](const Array& from, const Array& to) {
      float* w = weights.as<float>();
      const float* u = from.as<float>();
#pragma omp parallel for num_threads(threads) schedule(static)
      for (i64 z = 1; z < n - 1; ++z) rician_weights(w, u, z * plane + row, (z + 1) * plane - row, plane, row);
#pragma omp parallel for num_threads(threads) schedule(static)
      for (i64 z = 2; z < n - 2; ++z)
        rician_step(to.as<float>(), u, noisy.as<float>(), w, z * plane + 2 * row, (z + 1) * plane - 2 * row, plane,
                    row);
    });
  };
}

// Thirty-two 5x5 stages of wrapping 16-bit sums.
Loop stencil_chain() {
  return [scratch = Scratch()](const Buffers& set, int threads) mutable {
    iterate(set, scratch.images, 32, [&](const Array& from, const Array& to) {
      each<std::uint16_t, std::uint16_t>(
          to, 2, threads,
          [](const std::uint16_t* p, i64 row) {
            return std::uint16_t(unrolled<25>(
                plus, [&](auto i) { return unsigned((i / 5 + 1) * (i % 5 + 1)) * p[(i / 5 - 2) * row + i % 5 - 2]; }));
          },
          from);
    });
  };
}

}  // namespace

Loop plain_long_job(const std::string& job) {
  if (job == "jacobi_f32") return jacobi();
  if (job == "rician_f32") return rician();
  if (job == "stencil_chain_u16") return stencil_chain();
  return nullptr;
}

}  // namespace tessera::bench
