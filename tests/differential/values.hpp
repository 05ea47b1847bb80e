// Element values: what inputs are filled with, and when two results are the same.
//
// `wild` data holds every hard case of its type. `plain` data are small whole numbers, so that float arithmetic on them
// rounds nowhere as long as it stays small: then every order of evaluation gives the same bits, and `fast` numbers can
// be compared without a tolerance. `smooth` data are ordinary numbers of magnitude about 1 for comparisons with one.
// `odd` data are plain ones with NaNs, infinities and zeros of both signs among the floats, for what chooses and
// compares and never adds: there `fast` numbers give the oracle's values as well.
#pragma once

#include <optional>
#include <string>

#include "differential/random/random.hpp"
#include "ir/graph.hpp"

namespace tessera::differential {

enum class Data { wild, plain, smooth, odd };

void fill(const Array&, Data, Random&);
// What an argument of a program may be: no scalar is beyond its declared largest value.
void fill(const ir::Argument&, const Array&, Data, Random&);

struct Match {
  bool signed_zeros = true;  // +0 and -0 differ
  bool nans = false;         // NaNs with other bits differ
  double relative = 0;       // of floats, against `scale` where there is one, else against the expected value
  double absolute = 0;
  const Array* scale = nullptr;  // sum |w||x| of every element
};

// Nothing when they match; else the first element that does not, in words.
std::optional<std::string> difference(const Array& expected, const Array& got, const Match&);

double load_value(ElementType, const std::byte*);
void store_value(ElementType, std::byte*, double);

}  // namespace tessera::differential
