// See problem.hpp.
#include "fft/problem.hpp"

#include <fmt/format.h>

#include "tessera/error.hpp"

namespace tessera::fft {

namespace {

constexpr i64 most = i64{1} << 40;  // elements; keeps every address far from overflow

[[noreturn]] void refuse(const std::string& sentence) {
  throw Error(ErrorClass::argument, sentence);
}

std::vector<i64> strides_of(const Problem& p, const std::vector<i64>& given, i64 row, const char* side) {
  const std::size_t rank = p.batch.size() + p.extents.size();
  if (!given.empty()) {
    if (given.size() != rank - 1)
      refuse(fmt::format("{} strides of the {} were given, expected {}: one for every extent but the last",
                         given.size(), side, rank - 1));
    return given;
  }
  std::vector<i64> strides(rank - 1);
  i64 stride = row;
  for (std::size_t d = rank - 1; d-- > 0;) {
    strides[d] = stride;
    stride *= d < p.batch.size() ? p.batch[d] : p.extents[d - p.batch.size()];
  }
  return strides;
}

}  // namespace

i64 row_of_from(const Problem& p) {
  return to_real(p) ? p.extents.back() / 2 + 1 : p.extents.back();
}
i64 row_of_to(const Problem& p) {
  return from_real(p) ? p.extents.back() / 2 + 1 : p.extents.back();
}

Problem complete(Problem p, std::size_t most_extents) {
  if (p.type != ElementType::f32 && p.type != ElementType::f64)
    refuse(fmt::format("a transform of {} numbers was asked for, expected float or double", name_of(p.type)));
  if (p.extents.empty() || p.extents.size() > most_extents)
    refuse(fmt::format("a transform of {} dimensions was asked for, expected 1 to {}", p.extents.size(), most_extents));
  for (std::size_t k = 0; k < p.along.size(); ++k)
    if (p.along[k] < 0 || p.along[k] >= static_cast<int>(p.extents.size()) || (k > 0 && p.along[k] <= p.along[k - 1]))
      refuse(
          fmt::format("dimension {} was given as number {} of those that are transformed, expected ascending "
                      "numbers from 0 to {}",
                      p.along[k], k + 1, p.extents.size() - 1));
  const bool halves = from_real(p) || to_real(p);
  if (halves && !p.along.empty())
    refuse("a transform of real numbers along some dimensions gives or takes whole spectra");
  if ((halves && (p.from_numbers || p.to_numbers)) || (p.to_numbers && p.transform != Transform::inverse))
    refuse("numbers in place of pairs were asked for, expected those of a whole spectrum's transform");
  i64 count = 1;
  for (const std::vector<i64>* list : {&p.batch, &p.extents})
    for (const i64 n : *list) {
      if (n < (list == &p.batch ? 0 : 1)) refuse(fmt::format("an extent of a transform is {}, expected at least 1", n));
      if (__builtin_mul_overflow(count, n, &count) || count > most)
        refuse(fmt::format("a transform of more than {} elements was asked for", most));
    }
  p.from_strides = strides_of(p, p.from_strides, row_of_from(p), "input");
  p.to_strides = strides_of(p, p.to_strides, row_of_to(p), "output");
  return p;
}

}  // namespace tessera::fft
