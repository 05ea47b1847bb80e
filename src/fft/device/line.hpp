// Transforms of lines on devices, one kernel: a block of threads takes whole lines, memory is read and written once.
//
// A thread holds the points of a butterfly or two in registers; between passes points move through shared memory.
// Every extent, stride and radix stands in the text, so that all arithmetic of indices but that of a thread's own is
// done by the compiler. The transform is the forward one; ends that exchange real and imaginary parts make it the
// inverse.
//
//   rows      threads of a line lie beside each other, as its points do in memory
//   columns   threads of neighbouring lines lie beside each other: L columns are read and written in pieces of L points
//
// A kernel takes from, to and tables as bytes, then integers:
//   N[0], N[1]  bytes to the first element of either side      N[2]  the extent of dimension `counted`
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "fft/butterfly.hpp"
#include "fft/device/index.hpp"
#include "fft/problem.hpp"
#include "ir/nest/nest.hpp"

namespace tessera::fft {

// What lies at one end of a line. Element `position` of it is `leg` numbers behind the one before.
struct LineEnd {
  i64 leg = 2;
  i64 step = 1;            // position = point * step + index along dimension `part`
  i64 part = -1;           // of a line in parts (four steps); -1: none
  bool beside = false;     // threads of neighbouring lines lie beside each other
  bool real = false;       // numbers in place of pairs; imaginary parts are 0, or are not stored
  bool exchanged = false;  // imaginary parts first
  i64 count = 0;           // positions that there are, 0: all; others are read as 0 and not stored
  i64 mirror = 0;          // n: of n positions the first n / 2 + 1 are there, others conjugates of these (from)
  i64 chirp = 0;           // n: times exp(- pi i position^2 / n)
  i64 spectrum = 0;        // n: times the transform of Bluestein's filter for n points; step 1 or a whole line (to)
  i64 turn = 0;            // n: times exp(-2 pi i point * index along dimension `part` / n) (to)
  bool swapped = false;    // parts exchanged before anything else is done (to)
  bool halves = false;     // of real numbers, x - i y of the two halves of a line: times exp(-2 pi i position / 4 n)
  bool operator==(const LineEnd&) const = default;
};

struct DeviceLine {
  ElementType type = ElementType::f32;
  i64 points = 1;
  std::vector<i64> radices;
  i64 threads = 1;  // of a line
  i64 lines = 1;    // of a block
  struct Dimension {
    i64 extent = 1, from = 0, to = 0;  // strides in numbers
    bool operator==(const Dimension&) const = default;
  };
  std::vector<Dimension> dimensions;  // of lines; those of a block lie along the first
  i64 counted = -1;                   // the dimension whose extent is an argument: the first, the last or none
  LineEnd from, to;
  // The line is 2 n real numbers as n points: its transform is taken apart into n + 1 frequencies on the way out (to),
  // or put together on the way in.
  bool apart = false, together = false;
  i64 convolved = 0;  // n: Bluestein's, with the spectrum of the filter and a second transform before `to`
  double scale = 1;
  i64 blocks_at_once = 0;  // that a multiprocessor should hold
  bool operator==(const DeviceLine&) const = default;
};

struct DeviceLineKernel {
  ir::nest::Function function;  // p0 (from), p1 (to), p2 (tables), N
  i64 threads = 1;              // of a block
  i64 shared_bytes = 0;
  std::vector<double> tables;  // pairs, of the type of the line
};

// The function's name is given; two lines that are equal have equal texts.
DeviceLineKernel write_line(const DeviceLine&, const std::string& name);

// Both halves of four steps in one kernel. Blocks take tickets: those of a strip of columns do the first half, then
// those of the strip before the second one, which waits until the first half of its columns is done. Strips are as
// small as keeps them in the second-level cache, so that the second half reads what the first has written from there.
struct PairOrder {
  i64 strip = 1;                          // groups of columns
  i64 groups = 1, others = 1;             // along the first dimension; along those but the first two
  i64 parts = 1;                          // lines of a column in the first half
  i64 finer = 1;                          // groups of the second half in one of the first
  i64 first_items = 1, second_items = 1;  // blocks of a strip
  bool source = false;  // what lies between the halves is where the first has read; else where the second writes
  i64 items() const { return first_items + second_items; }
  i64 strips() const { return (groups * others + strip - 1) / strip; }
  i64 blocks() const { return (strips() + 1) * items(); }
  i64 counters() const { return 1 + groups * others; }  // u32, all 0 before
  bool operator==(const PairOrder&) const = default;
};
// Both with columns across, the line's part as second dimension and as many threads; p3 has the counters.
DeviceLineKernel write_pair(const DeviceLine& first, const DeviceLine& second, const PairOrder&,
                            const std::string& name);

// Blocks, where dimension `counted` has so many.
i64 blocks_of(const DeviceLine&, i64 count);

// The lines of a block as a part of another kernel, which says where its memory lies and may read and write one end of
// them itself.
struct LinePoints {
  Index line;             // along the first dimension
  ir::nest::Value alive;  // is there such a line? Null: always
  struct Turn {
    Index start;            // of a butterfly
    ir::nest::Value takes;  // is there such a butterfly? Null: always
  };
  std::vector<Turn> turns;
  i64 radix = 1, apart = 1;  // positions start, start + apart, ... of every turn, in the order of the values
};
struct LineMemory {
  Index group;                       // of lines, along the first dimension
  ir::nest::Value from, to, tables;  // numbers; from and to null where functions read and write
  ir::nest::Value spectrum;          // of `convolved`: rows of pairs, one of each line
  std::function<std::vector<Complex>(const LinePoints&)> read;
  std::function<void(const LinePoints&, const std::vector<Complex>&)> write;
};
void write_line_within(const DeviceLine&, const LineMemory&, DeviceLineKernel&, ir::nest::Builder&);

// Radices up to the 31st, threads and lines of a block. `across`: columns.
struct LineShape {
  std::vector<i64> radices;
  i64 threads = 1, lines = 1;
};
constexpr i64 shared_of_line = i64{48} << 10;
constexpr i64 most_points_of_floats = 32;  // of a thread: 64 registers; 16 took 2 to 20 % longer on large arrays
bool fits_block(i64 points, ElementType);  // has radices, and shared memory holds a line
// A thread holds `most_points`, unless a prime is larger; 0: as is best for the type.
LineShape shape_of(i64 points, ElementType, bool across, i64 most_lines, i64 most_points = 0);
i64 convolution_length(i64 n);  // for Bluestein: at least 2 n - 1, of small primes

}  // namespace tessera::fft
