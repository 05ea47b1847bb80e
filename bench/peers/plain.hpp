// What the plain loops share: a loop over the points of an image, and the two or three expressions that recur.
#pragma once

#include <functional>
#include <string>
#include <type_traits>

#include "harness.hpp"

namespace tessera::bench {

using Loop = std::function<void(const Buffers&, int threads)>;

Loop plain_filter(const std::string& job);    // null where there is none
Loop plain_long_job(const std::string& job);  // the jobs of many steps
Loop plain_photo(const std::string& job);     // the pipelines of cameras

// Keeps an intermediate image from run to run.
inline void allocate(Array& a, ElementType type, const Shape& shape) {
  if (a.empty() || a.shape() != shape) a = Array(type, shape);
}

// f(index of the term) for 0 <= index < N, combined in order: a loop that is certainly unrolled.
template <int N, class Combine, class F>
inline auto unrolled(Combine combine, F f) {
  if constexpr (N == 1) {
    return f(std::integral_constant<int, 0>{});
  } else {
    return combine(unrolled<N - 1>(combine, f), f(std::integral_constant<int, N - 1>{}));
  }
}
constexpr auto plus = [](auto a, auto b) { return a + b; };
constexpr auto larger = [](auto a, auto b) { return a > b ? a : b; };

// One row, as a function of its own with everything by value: otherwise GCC loses `__restrict` and takes every store
// for a change of the weights.
template <class Out, class F, class... P>
[[gnu::noinline, gnu::flatten]] void row_of(Out* __restrict o, i64 margin, i64 w, F f, P... p) {
  for (i64 x = margin; x < w - margin; ++x) o[x] = f((p + x)..., w);
}

// out = f(pointers to the point in every input, elements per row) for all points at least `margin` from every edge.
template <class In, class Out, class F, class... Inputs>
void each(const Array& out, i64 margin, int threads, F f, const Inputs&... inputs) {
  const i64 h = out.shape()[0], w = out.shape()[1];
#pragma omp parallel for num_threads(threads) schedule(static)
  for (i64 y = margin; y < h - margin; ++y)
    row_of<Out>(out.as<Out>() + y * w, margin, w, f, (inputs.template as<const In>() + y * w)...);
}

template <class T>
auto sobel_x(const T* p, i64 row) {
  return (p[1 - row] - p[-1 - row]) + 2 * (p[1] - p[-1]) + (p[1 + row] - p[-1 + row]);
}
template <class T>
auto sobel_y(const T* p, i64 row) {
  return (p[row - 1] - p[-row - 1]) + 2 * (p[row] - p[-row]) + (p[row + 1] - p[-row + 1]);
}
inline float sum3x3(const float* p, i64 row) {
  return (p[-row - 1] + p[-row] + p[-row + 1]) + (p[-1] + p[0] + p[1]) + (p[row - 1] + p[row] + p[row + 1]);
}

}  // namespace tessera::bench
