// Arrays on their way into a file: contiguous samples of one type, pages x height x width x channels.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "io/header.hpp"
#include "tessera/array.hpp"

namespace tessera::io {

// A dimension of a file by the letter of io/axes.hpp.
struct FileAxis {
  char letter = 'q';
  i64 extent = 0;  // 0: not said
  bool operator==(const FileAxis&) const = default;
};
using FileAxes = std::vector<FileAxis>;  // slowest first

struct Samples {
  ElementType type = ElementType::u8;
  i64 pages = 1, height = 0, width = 0;
  FileAxes page_axes;  // what the pages are
  std::string page_letters = "yx";
  char sample_letter = 0;  // of channels that stand together
  bool named = false;      // somebody said so, it is not the usual meaning of a rank
  std::map<char, Step> steps;
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

// The channel of opacity among these, or -1.
int alpha_of(const std::vector<std::string>& names);
// The samples of a format whose colours are not multiplied by alpha, of an array whose colours are: each is divided by
// its share of what `s.type` calls opaque, and 0 where alpha is not above 0. Integers are rounded half to even and
// clamped. `array`: the elements as converted() takes them. Fills in `memory`, `data` and `saturated`.
void divide_by_alpha(Samples& s, const Array& array, int alpha);

// Integers above it become it, and count as saturated.
void clamp_above(Samples&, i64 largest);

}  // namespace tessera::io
