// Where the points of a block's lines lie in shared memory: with gaps, so that the threads of a warp seldom meet in a
// bank. The gaps are found by counting what every pass would do with some choices.
#pragma once

#include "fft/device/index.hpp"
#include "fft/device/line.hpp"

namespace tessera::fft {

struct SharedLayout {
  bool beside = false;  // points of neighbouring lines lie beside each other
  i64 lines = 1, pitch = 0;
  i64 shift = 0;    // a gap behind every 2^shift points; 0: none
  i64 numbers = 0;  // of a block

  i64 gapped(i64 position) const { return shift > 0 ? position + (position >> shift) : position; }
  i64 number(i64 position, i64 line) const {
    return beside ? gapped(position) * lines + line : gapped(position) + line * pitch;
  }
};

SharedLayout shared_layout(const DeviceLine&);

}  // namespace tessera::fft
