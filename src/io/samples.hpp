// Arrays on their way into a file: contiguous samples of one type, pages x height x width x channels.
#pragma once

#include <string>
#include <vector>

#include "tessera/array.hpp"

namespace tessera::io {

struct Samples {
  ElementType type = ElementType::u8;
  i64 pages = 1, height = 0, width = 0;
  i64 series = 1;  // volumes that the pages are, one after the other
  int channels = 1;
  std::vector<std::string> names;  // of the channels; empty for a grey image
  bool associated_alpha = false;
  i64 saturated = 0;  // values that did not fit `type`
  Array memory;       // keeps `data` alive
  const std::byte* data = nullptr;

  i64 row_values() const { return width * channels; }
  i64 row_bytes() const { return row_values() * static_cast<i64>(size_of(type)); }
  i64 values() const { return pages * height * row_values(); }
  const std::byte* row(i64 page, i64 y) const { return data + (page * height + y) * row_bytes(); }
};

// The elements of the array in C order as scalars of one type, struct fields one after the other. Shares the memory
// when nothing has to change. Rounds half to even and clamps on the way to an integer type (NaN gives 0) and counts in
// `saturated` what did not fit; true becomes the largest value of an integer type that is not boolean.
Array converted(const Array&, ElementType to, i64& saturated);

// Integers above it become it, and count as saturated.
void clamp_above(Samples&, i64 largest);

}  // namespace tessera::io
