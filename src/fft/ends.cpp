// See ends.hpp.
#include "fft/ends.hpp"

namespace tessera::fft {

using ir::nest::Value;

Complex Ends::load(End end, const Value& pointer, const Value& at) {
  if (end == End::points || end == End::turned) {
    const Value first = out_.let("x", ir::nest::load(pointer, at, vector_.lanes));
    const Value second = out_.let("x", ir::nest::load(pointer, at + vector_.lanes, vector_.lanes));
    return end == End::points ? Complex{first, second} : Complex{second, first};
  }
  const Value even = out_.let("x", ir::nest::load(pointer, at, vector_.lanes, 2, 0));
  const Value odd = out_.let("x", ir::nest::load(pointer, at, vector_.lanes, 2, 1));
  return end == End::columns ? Complex{even, odd} : Complex{odd, even};
}

void Ends::store(End end, const Value& pointer, const Value& at, const Complex& y, bool streaming) {
  const bool swapped = end == End::turned || end == End::exchanged;
  const Value &first = swapped ? y.im : y.re, &second = swapped ? y.re : y.im;
  const bool whole = end == End::points || end == End::turned;
  for (int half = 0; half < 2; ++half) {
    const Value part = whole ? (half == 0 ? first : second) : out_.let("z", ir::nest::interleave(first, second, half));
    out_.store(pointer, at + half * vector_.lanes, part, streaming);
  }
}

std::vector<Value> Ends::transposed(std::vector<Value> rows) {
  const std::size_t half = rows.size() / 2;
  for (int lanes = vector_.lanes; lanes > 1; lanes /= 2) {
    std::vector<Value> turned;
    for (std::size_t j = 0; j < half; ++j)
      for (int part = 0; part < 2; ++part)
        turned.push_back(out_.let("t", ir::nest::interleave(rows[j], rows[j + half], part)));
    rows = std::move(turned);
  }
  return rows;
}

}  // namespace tessera::fft
