// Which of many cases a run looks at: all, but where TESSERA_SAMPLE says which. TESSERA_SAMPLE=2/5 is every fifth from
// number 2 on, so that runs with 0/5 to 4/5 look at all of them; `.ci/run` has it change (docs/design/tests.md).
#pragma once

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <iterator>
#include <type_traits>
#include <utility>
#include <vector>

namespace tessera {

struct SamplePart {
  unsigned part = 0, parts = 1;
};

inline SamplePart sample_part() {
  const char* const given = std::getenv("TESSERA_SAMPLE");
  SamplePart s;
  if (given == nullptr || std::sscanf(given, "%u/%u", &s.part, &s.parts) != 2 || s.part >= s.parts) return {};
  return s;
}

inline bool in_sample(std::size_t number) {
  return number % sample_part().parts == sample_part().part;
}

// The same for number of count: of fewer cases than there are parts, one.
inline bool in_sample(std::size_t number, std::size_t count) {
  return count < sample_part().parts ? number == sample_part().part % count : in_sample(number);
}

// Those of a list that the run looks at.
template <class List, class T = std::decay_t<decltype(*std::begin(std::declval<const List&>()))>>
std::vector<T> sample_of(const List& list) {
  const std::size_t count = std::size(list);
  std::vector<T> chosen;
  std::size_t i = 0;
  for (const T& item : list)
    if (in_sample(i++, count)) chosen.push_back(item);
  return chosen;
}
template <class T>
std::vector<T> sample_of(std::initializer_list<T> list) {
  return sample_of<std::initializer_list<T>, T>(list);
}

}  // namespace tessera
