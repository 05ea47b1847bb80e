// The Fourier transforms of the interpreter: by the definition where an extent is prime, else split by its least
// factor, in double. It shares nothing with src/fft.
#pragma once

#include <vector>

#include "tessera/array.hpp"

namespace tessera::ref {

struct Spectrum {
  std::vector<double> re, im;
};

// Along one dimension, in place; the inverse divides by the extent.
void transform(Spectrum&, const Shape&, std::size_t dimension, bool inverse);

}  // namespace tessera::ref
