// Numbers as files of plain elements store them, and the elements of arrays that they become: int8 widens to int16,
// 64-bit integers narrow to 32 bits where they fit.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "tessera/array.hpp"

namespace tessera::io {

struct FileNumber {
  char kind = 'u';       // 'i' signed, 'u' unsigned, 'f' floating point
  std::size_t size = 1;  // bytes in the file
  bool swapped = false;  // in the other byte order than the machine's

  ElementType type() const;  // in an array
  // The bytes of the file are those of the array.
  bool is_native() const { return !(swapped && size > 1) && size == size_of(type()); }
};

// `count` numbers one behind the other. Returns the first one that does not fit, of those counted from 0.
std::optional<std::size_t> place_numbers(const FileNumber&, const std::byte* from, std::byte* to, std::size_t count);
// "is 5000000000, which does not fit 32 bits", of the number that stands there.
std::string unfitting(const FileNumber&, const std::byte* at);

// As a file of plain elements stores those of arrays: little-endian, bool and half as the next wider type.
FileNumber number_for(ElementType);

}  // namespace tessera::io
