// Whole spectra of real images on devices, one kernel beside those of lines (line.hpp).
//
//   fills     the half that a real transform has given: the other half is its conjugate at opposite frequencies
//   gathers   a half: what a spectrum F adds to the real part of its inverse is F_k + conj F_-k, which is the spectrum
//             of a real image, twice
//
// A thread takes one frequency of a row, and the one opposite to it. Arguments as those of lines.
#pragma once

#include <string>
#include <vector>

#include "fft/device/line.hpp"

namespace tessera::fft {

struct DeviceMirror {
  ElementType type = ElementType::f32;
  bool gathers = false;
  bool real = false;        // what is gathered from has numbers in place of pairs
  bool conjugated = false;  // what is filled becomes the conjugate of all that it would be: an inverse transform
  i64 row = 1;              // elements of a whole row
  struct Dimension {
    i64 extent = 1, from = 0, to = 0;  // strides in numbers
    bool opposite = false;             // frequencies: index i stands opposite to extent - i
    bool operator==(const Dimension&) const = default;
  };
  std::vector<Dimension> dimensions;  // of rows, the fastest first
  bool operator==(const DeviceMirror&) const = default;

  i64 elements() const;  // of a row, that threads take
  i64 rows() const;
  // Of a block: threads along a row, and rows.
  i64 across() const;
  i64 down() const;
  i64 blocks() const;
};

DeviceLineKernel write_mirror(const DeviceMirror&, const std::string& name);

}  // namespace tessera::fft
