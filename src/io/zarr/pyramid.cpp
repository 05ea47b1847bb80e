// Means of two, four or eight points; see pyramid.hpp.
#include "io/zarr/pyramid.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "data/half.hpp"

namespace tessera::io::zarr {
namespace {

struct Half {
  std::uint16_t bits = 0;
};

template <class T>
double value_of(const T& p) {
  if constexpr (std::is_same_v<T, Half>)
    return half_to_float(p.bits);
  else
    return static_cast<double>(p);
}

// Sums of eight integers of 32 bits and their means are exact in double.
template <class T>
T from_mean(double mean) {
  if constexpr (std::is_same_v<T, Half>)
    return {double_to_half(mean)};
  else if constexpr (std::is_same_v<T, bool>)
    return std::nearbyint(mean) != 0;
  else if constexpr (std::is_integral_v<T>)
    return static_cast<T>(std::nearbyint(mean));
  else
    return static_cast<T>(mean);
}

// Rows of the result one after the other, each from all rows that it stands for.
template <class T>
class Halving {
 public:
  Halving(const Array& above, const Array& to, const std::vector<bool>& halved)
      : above_(above), to_(to), halved_(halved), sums_(static_cast<std::size_t>(to.shape().back())) {}

  void run() {
    const std::size_t last = to_.shape().size() - 1;
    std::vector<i64> at(last, 0);
    for (i64 row = 0, rows = to_.count() / to_.shape().back(); row < rows; ++row) {
      std::fill(sums_.begin(), sums_.end(), 0.0);
      rows_ = 0;
      add_rows(at, 0, 0);
      store(to_.as<T>() + row * to_.shape().back());
      for (std::size_t d = last; d-- > 0;) {
        if (++at[d] < to_.shape()[d]) break;
        at[d] = 0;
      }
    }
  }

 private:
  // `row`: the number of the row above, as far as the dimensions before d say it.
  void add_rows(const std::vector<i64>& at, std::size_t d, i64 row) {
    if (d == at.size()) {
      ++rows_;
      return add_row(above_.as<T>() + row * above_.shape().back());
    }
    const i64 extent = above_.shape()[d], step = halved_[d] ? 2 : 1, first = at[d] * step;
    for (i64 k = first; k < std::min(first + step, extent); ++k) add_rows(at, d + 1, row * extent + k);
  }

  void add_row(const T* from) {
    const i64 width = above_.shape().back();
    if (!halved_.back()) {
      for (i64 x = 0; x < width; ++x) sums_[static_cast<std::size_t>(x)] += value_of(from[x]);
      return;
    }
    for (i64 x = 0; 2 * x + 1 < width; ++x)
      sums_[static_cast<std::size_t>(x)] += value_of(from[2 * x]) + value_of(from[2 * x + 1]);
    if (width % 2 == 1) sums_[static_cast<std::size_t>(width / 2)] += value_of(from[width - 1]);
  }

  void store(T* to) const {
    const auto width = static_cast<std::size_t>(to_.shape().back());
    const bool pairs = halved_.back();
    const bool odd = pairs && above_.shape().back() % 2 == 1;
    for (std::size_t x = 0; x < width; ++x) {
      const int points = rows_ * (pairs && !(odd && x + 1 == width) ? 2 : 1);
      to[x] = from_mean<T>(sums_[x] / points);
    }
  }

  const Array& above_;
  const Array& to_;
  const std::vector<bool>& halved_;
  std::vector<double> sums_;
  int rows_ = 0;
};

template <class T>
void run(const Array& above, const Array& to, const std::vector<bool>& halved) {
  Halving<T>(above, to, halved).run();
}

}  // namespace

void halve(const Array& above, const Array& to, const std::vector<bool>& halved) {
  switch (to.format().scalar) {
    case ElementType::boolean:
      return run<bool>(above, to, halved);
    case ElementType::u8:
      return run<std::uint8_t>(above, to, halved);
    case ElementType::i16:
      return run<std::int16_t>(above, to, halved);
    case ElementType::u16:
      return run<std::uint16_t>(above, to, halved);
    case ElementType::i32:
      return run<std::int32_t>(above, to, halved);
    case ElementType::u32:
      return run<std::uint32_t>(above, to, halved);
    case ElementType::f16:
      return run<Half>(above, to, halved);
    case ElementType::f32:
      return run<float>(above, to, halved);
    case ElementType::f64:
      return run<double>(above, to, halved);
  }
}

}  // namespace tessera::io::zarr
