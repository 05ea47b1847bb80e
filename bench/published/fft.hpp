// What the stages of the Fourier transform have on the host: the radices of a size, the order of the first stage's
// elements, and the same transform in plain C++, in float the document's first version, in double the reference.
#pragma once

#include <complex>
#include <cstdint>
#include <vector>

#include "tessera/array.hpp"

namespace tessera::published {

// 8, 7, 5, 4, 3 and 2 as often as they divide what is left, or only 2. Empty where the size is no such product.
std::vector<i64> radices_of(i64 n, bool only_two);
// The index of the element that stands at each place ahead of the first stage.
std::vector<std::uint32_t> digits_reversed(const std::vector<i64>& radices);

// Rows, transposition, rows, transposition: the naive algorithm of one thread. Rows lie `stride` elements apart.
template <class T>
void transform(std::vector<std::complex<T>>& matrix, i64 n, i64 stride, const std::vector<i64>& radices);

// The largest distance of results from a plain double sum over the whole matrix, at some frequencies.
double distance_from_sums(const std::vector<std::complex<double>>& input,
                          const std::vector<std::complex<double>>& result, i64 n);

}  // namespace tessera::published
