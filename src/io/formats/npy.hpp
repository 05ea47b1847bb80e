// The header of NumPy's .npy, and elements as such a file stores them.
#pragma once

#include <string>
#include <vector>

#include "io/codec.hpp"

namespace tessera::io {

// A scalar as the file stores it.
struct NpyStored {
  char kind = 'f';  // b i u f, or V for padding
  std::size_t size = 4;
  bool swapped = false;
  ElementType type = ElementType::f32;  // in the array
};

struct NpyField {
  std::string name;
  NpyStored stored;
  std::size_t offset = 0;
};

struct NpyHeader {
  std::vector<NpyField> fields;
  bool is_struct = false;
  std::size_t item_size = 0;
  bool fortran = false;
  Shape shape;
  i64 begin = 0;  // of the elements, bytes from the start of the file
};

// Reads on from the first byte of the source. Throws Error(io) for what is damaged, and for what no array of the
// project has.
NpyHeader read_npy_header(const Source&, InOrder&);
Format format_of(const NpyHeader&);
// An element of the file is an element of the array.
bool is_native(const NpyHeader&, const Format&);
// Elements of the file as the array has them; `first`: the number of the first of them, for messages.
void convert_elements(const Source&, const NpyHeader&, const Format&, const std::byte* from, std::byte* to, i64 count,
                      i64 first);
// The bytes of a file before its elements, for C order.
std::string npy_head(const Format&, const Shape&);

}  // namespace tessera::io
