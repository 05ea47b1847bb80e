// A transform of an array on a device as launches of kernels (line.hpp).
//
//   rows of an even number of real values   half as many points, taken apart on the way out
//   a line that fits a block                one kernel
//   longer                                  four steps: n = a b, b lines of a points, then a lines of b. In place, if
//   the
//                                           pass before has put element j1 b + j2 at j2 a + j1; both in one kernel on
//                                           devices whose blocks may wait for each other
//   a prime above 31 in n                   Bluestein's convolution, in the block or in four kernels
//   whole spectra of real arrays            a half of them, filled or gathered by a kernel (mirror.hpp)
//
// Arrays of two and three dimensions take a pass along each: the rows, then columns in place; complex to real the other
// way round.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fft/device/line.hpp"
#include "fft/device/mirror.hpp"

namespace tessera::fft {

struct DeviceStep {
  // Memory that a kernel reads or writes: the caller's, two arrays of the plan's own, or two that hold a chunk each.
  enum class Buffer : std::uint8_t { input, output, half, whole, chunk, other_chunk };
  static constexpr std::size_t buffers = 6;
  DeviceLine line;
  Buffer from = Buffer::input, to = Buffer::output;
  std::optional<DeviceLine> second;  // of what the first has written, in the same kernel
  PairOrder order;
  std::optional<DeviceMirror> mirror = {};  // in place of the line
  // One kernel does for both, whatever memory they are launched on.
  bool operator==(const DeviceStep& other) const {
    return line == other.line && second == other.second && order == other.order && mirror == other.mirror;
  }
};

DeviceLineKernel written(const DeviceStep&, const std::string& name);
i64 threads_of(const DeviceStep&);            // of a block
i64 blocks_of(const DeviceStep&, i64 count);  // where dimension `counted` of its lines has so many

// Kernels that run one after the other on a chunk of the array, then on the next one.
struct DevicePhase {
  std::vector<DeviceStep> steps;  // the first reads and the last writes an array, others chunks
  struct Loop {
    i64 extent = 1, from = 0, to = 0;  // strides in numbers
  };
  std::vector<Loop> loops;  // of the host
  Loop counted;             // along which a chunk is `chunk` indices
  i64 chunk = 1;
};

struct DevicePlan {
  Problem problem;
  std::vector<DevicePhase> phases;
  i64 half = 0, whole = 0, chunk = 0;  // numbers of the plan's own arrays
  bool permutes = false;               // the first kernel reads and writes an element at different places: not in place
  std::string description;             // "rows 16x16x16, columns 64 * 64"
};

struct DeviceOptions {
  i64 chunk_bytes = i64{32} << 20;
  i64 strip_bytes = i64{8} << 20;  // of columns whose two halves are in one kernel
  bool pairs = false;              // blocks of the device may wait for each other
  i64 multiprocessors = 132;
  i64 least_columns = 4;  // that a block takes at once, else columns go in four steps
  i64 most_points = 0;    // that a thread holds, 0: as is best for the type
};

// Throws Error(argument) for a problem that makes no sense, Error(device) for lines that are too long.
DevicePlan plan_on_device(Problem, const DeviceOptions& = {});

}  // namespace tessera::fft
