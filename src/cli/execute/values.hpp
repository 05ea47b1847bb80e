// How the numbers of a result become those of its file: as they are, or brought to the range of the file's integers.
//
// A file of integers holds 0 to 255 or 65535 (a PGM, what it says). Numbers on another scale are lost there, so that a
// scale is asked for (--unit, --range, --stretch); where none is, results of 0 to 1 are brought to that of the file,
// and what was lost is told.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/execute/inputs.hpp"
#include "io/image.hpp"
#include "tessera/program.hpp"

namespace tessera::cli {

struct ValueOptions {
  bool unit = false;               // floating-point results: 0 to 1 is the range of a file of integers
  bool stretch = false;            // from the least to the largest finite value
  std::vector<std::string> range;  // one "LO,HI", given once

  // Throws Error(argument) for what cannot be used together or read.
  void check() const;
};

// The file that a result goes into.
struct Target {
  std::string name;      // for messages: "'o.png'"
  ElementType type;      // of its samples
  double largest;        // of these, what is white
  bool integers = true;  // it holds nothing else
};

// The result as it is written, and what has to be said of it once the file is there.
struct Fitted {
  Array array;
  std::vector<std::string> notes;  // whole lines
  bool chosen = false;             // a range was asked for: what lies outside of it is meant to be cut off
};
Fitted fit_values(const Program&, const Array& result, const Target&, const ValueOptions&, const Lanes&);

// After writing `array`, of which `saturated` values did not fit.
void warn_clamped(const Array& array, const Target&, i64 saturated, bool chosen);

// The format of a picture that --unit makes of one: 0..1 in single precision; floats stay what they are.
Format in_unit(const Format&);

// Scalars of one format or a struct's fields into the format of another array of the same shape; counts what was
// clamped.
void copy_converted(const Array& from, const Array& to, i64& lost);

}  // namespace tessera::cli
