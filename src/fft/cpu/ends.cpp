// See ends.hpp.
#include "fft/cpu/ends.hpp"

#include <algorithm>

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
  const std::size_t v = rows.size();
  const std::size_t block = std::min(v, static_cast<std::size_t>(16 / ir::nest::size_of(vector_.lane)));
  // `count` vectors that lie `step` apart from `first` on, in the order of their units.
  const auto stage = [&](std::size_t first, std::size_t step, std::size_t count, std::size_t unit) {
    std::vector<Value> turned;
    for (std::size_t j = 0; j < count / 2; ++j)
      for (int half = 0; half < 2; ++half)
        turned.push_back(
            out_.let("t", ir::nest::interleave(rows[first + j * step], rows[first + (j + count / 2) * step], half,
                                               static_cast<int>(unit))));
    for (std::size_t k = 0; k < count; ++k) rows[first + k * step] = turned[k];
  };
  for (std::size_t done = 1; done < block; done *= 2)
    for (std::size_t first = 0; first < v; first += block) stage(first, 1, block, 1);
  for (std::size_t done = block; done < v; done *= 2)
    for (std::size_t first = 0; first < block; ++first) stage(first, block, v / block, block);
  return rows;
}

}  // namespace tessera::fft
