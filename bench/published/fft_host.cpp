// Mixed-radix transforms in plain C++; see fft.hpp.
#include <cmath>
#include <numbers>

#include "published/fft.hpp"

namespace tessera::published {
namespace {

template <class T>
std::vector<std::complex<T>> roots(i64 n) {
  std::vector<std::complex<T>> found;
  for (i64 k = 0; k < n; ++k)
    found.emplace_back(std::polar(1.0, -2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n)));
  return found;
}

// One row, in place but for the reordering.
template <class T>
void transform_row(std::complex<T>* row, std::complex<T>* spare, const std::vector<i64>& radices,
                   const std::vector<std::uint32_t>& order, const std::vector<std::complex<T>>& root) {
  const i64 n = static_cast<i64>(order.size());
  for (i64 k = 0; k < n; ++k) spare[k] = row[order[static_cast<std::size_t>(k)]];
  i64 done = 1;
  for (const i64 radix : radices) {
    const i64 turn = n / (done * radix), step = n / radix;
    for (i64 first = 0; first < n; first += done * radix)
      for (i64 k = 0; k < done; ++k) {
        std::complex<T> x[8];
        for (i64 m = 0; m < radix; ++m)
          x[m] = spare[first + m * done + k] * root[static_cast<std::size_t>(k * m * turn)];
        for (i64 q = 0; q < radix; ++q) {
          std::complex<T> sum = x[0];
          for (i64 m = 1; m < radix; ++m) sum += x[m] * root[static_cast<std::size_t>(q * m % radix * step)];
          spare[first + q * done + k] = sum;
        }
      }
    done *= radix;
  }
  std::copy(spare, spare + n, row);
}

}  // namespace

std::vector<i64> radices_of(i64 n, bool only_two) {
  std::vector<i64> found;
  for (const i64 radix : only_two ? std::vector<i64>{2} : std::vector<i64>{8, 7, 5, 4, 3, 2})
    for (; n % radix == 0; n /= radix) found.push_back(radix);
  return n == 1 ? found : std::vector<i64>{};
}

std::vector<std::uint32_t> digits_reversed(const std::vector<i64>& radices) {
  i64 n = 1;
  for (const i64 radix : radices) n *= radix;
  std::vector<std::uint32_t> order;
  for (i64 place = 0; place < n; ++place) {
    i64 index = 0, left = place;
    for (const i64 radix : radices) {  // the digit of the first stage counts most in the index
      index = index * radix + left % radix;
      left /= radix;
    }
    order.push_back(static_cast<std::uint32_t>(index));
  }
  return order;
}

template <class T>
void transform(std::vector<std::complex<T>>& matrix, i64 n, i64 stride, const std::vector<i64>& radices) {
  const std::vector<std::uint32_t> order = digits_reversed(radices);
  const std::vector<std::complex<T>> root = roots<T>(n);
  std::vector<std::complex<T>> spare(static_cast<std::size_t>(n));
  for (int axis = 0; axis < 2; ++axis) {
    for (i64 y = 0; y < n; ++y) transform_row(matrix.data() + y * stride, spare.data(), radices, order, root);
    for (i64 y = 0; y < n; ++y)
      for (i64 x = 0; x < y; ++x)
        std::swap(matrix[static_cast<std::size_t>(y * stride + x)], matrix[static_cast<std::size_t>(x * stride + y)]);
  }
}

template void transform(std::vector<std::complex<float>>&, i64, i64, const std::vector<i64>&);
template void transform(std::vector<std::complex<double>>&, i64, i64, const std::vector<i64>&);

double distance_from_sums(const std::vector<std::complex<double>>& input,
                          const std::vector<std::complex<double>>& result, i64 n) {
  const std::vector<std::complex<double>> root = roots<double>(n);
  double largest = 0;
  for (const i64 k : {i64{0}, i64{1}, n / 3, n - 2}) {
    const i64 l = (7 * k + 5) % n;
    std::complex<double> sum = 0;
    for (i64 y = 0; y < n; ++y) {
      std::complex<double> row = 0;
      for (i64 x = 0; x < n; ++x)
        row += input[static_cast<std::size_t>(y * n + x)] * root[static_cast<std::size_t>(l * x % n)];
      sum += row * root[static_cast<std::size_t>(k * y % n)];
    }
    largest = std::max(largest, std::abs(sum - result[static_cast<std::size_t>(k * n + l)]));
  }
  return largest;
}

}  // namespace tessera::published
