// What a kernel of transforms reads besides its data, each table once: places are pairs from the begin of all.
#pragma once

#include <map>
#include <tuple>
#include <vector>

#include "tessera/array.hpp"

namespace tessera::fft {

class DeviceTables {
 public:
  explicit DeviceTables(std::vector<double>& pairs) : pairs_(pairs) {}

  i64 turns(i64 n, i64 step, i64 count);  // exp(-2 pi i step k / n), k < count
  i64 chirp(i64 n);                       // exp(-pi i k^2 / n), k < n
  // The transform of m points of exp(+pi i k^2 / n), |k| < n, over m: Bluestein's filter.
  i64 filter(i64 n, i64 m);

 private:
  template <class Fill>
  i64 once(char kind, i64 a, i64 b, i64 c, Fill fill);

  std::vector<double>& pairs_;
  std::map<std::tuple<char, i64, i64, i64>, i64> places_;
};

}  // namespace tessera::fft
