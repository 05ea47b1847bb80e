// A plan as kernels for devices whose threads each compute a point: CUDA and OpenCL.
//
// Every group of the plan becomes kernels by the way of running that the plan holds for it (lower/ways/ways.hpp). They
// run in the order of the list.
//
// A kernel takes the arrays that it touches, as pointers to bytes, and one list of integers N:
//
//   extents and other sizes, evaluated by the host; offsets and byte strides of the arrays; blocks along every
//   dimension; the rows (of dimension 0) that are computed
//
// A launch may compute some rows of the domain only, with memory that holds some rows of every array only: borders
// follow the extents, addresses the offsets, which are then negative.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "ir/host/launch.hpp"
#include "lower/interface.hpp"

namespace tessera::lower {

struct DeviceKernel {
  std::string name;                 // of its function, which kernels of equal text share
  std::size_t function = 0;         // in DeviceProgram::module
  std::vector<std::size_t> arrays;  // positions in Interface::arrays, in the order of the kernel's pointers
  // One integer of N. `size`: an extent or another size. `offset`: bytes from the beginning of the array's memory to
  // its first element. `stride`: bytes, of one dimension of an array. `blocks`: of threads, along a dimension of
  // `domain`. `strip`: rows of one. `first`, `last`: the rows [first, last) of dimension 0 are computed. `frame`:
  // number `dimension` of what tsr_frame gives. `order`: what strips wait for, see engine/device/launch_order.hpp; 0
  // where kernels are launched one after the other.
  struct Integer {
    enum class Kind : std::uint8_t { size, offset, stride, blocks, strip, first, last, frame, order } kind = Kind::size;
    ir::SizeId size;            // size
    std::size_t array = 0;      // offset, stride: position in `arrays`
    std::size_t dimension = 0;  // stride, blocks, frame
    auto operator<=>(const Integer&) const = default;
  };
  std::vector<Integer> integers;
  // Of the points that are computed. In strips of stages that differ in size, those of the coarsest rate: as many as
  // compute every row and column of the results.
  std::vector<ir::SizeId> domain;
  std::vector<i64> points;              // that one block computes, per dimension
  std::array<int, 3> threads{1, 1, 1};  // of a block, x (columns) first
  int threads_of_block() const { return threads[0] * threads[1] * threads[2]; }
  // Strips: threads[1] strips of rows a block, of a height that the host chooses or `frame` has; a strip computes
  // `warm_up` rows more.
  bool strips = false;
  int blocks_at_once = 0;  // that a multiprocessor should hold: what the compiler gives up registers for; 0: any number
  i64 warm_up = 0;
  bool marches = false;  // a block of threads through its planes: lower/ways/march/march.hpp
  // Strips of a fixed height, in one text without a loop: register tiles. They lie in the rows [top, bottom) and
  // columns [left, right) of the domain; a warp computes height x points.back() points. What is outside is the frame,
  // a column a thread.
  struct Frame {
    i64 height = 0, top = 0, left = 0;
    ir::SizeId bottom, right;
    i64 sides = 0;  // tiles reach up to the last column where there is a multiple of so many; 0: they never do
  };
  std::optional<Frame> frame;
  std::map<ir::SizeId, i64> least;  // extents of arguments that the kernel takes; smaller ones need another plan

  // What the rows [first, last) of dimension 0 touch of an array: from row (scale * first + lo - start) / stride to
  // (scale * (last - 1) + hi - start) / stride, rounded down, where they lie inside; what lies outside is mapped.
  struct Reach {
    std::size_t array = 0;  // in `arrays`
    i64 scale = 1, lo = 0, hi = 0;
    ir::SizeId start{};
    i64 stride = 1;
    bool whole = false;  // all rows: dimension 0 is another one, or places are computed
    bool reflects = false, wraps = false;
  };
  std::vector<Reach> reads, writes;

  ir::host::Launch launch;  // what the host computes for it, of arrays by their position in Interface::arrays

  // It puts pieces together that may lie where they belong (ArrayRef::Part): run as a whole, it has nothing to do.
  bool in_place = false;
  i64 row_multiple = 1;  // of the first row that a launch computes
  i64 shared_bytes = 0;  // that it declares

  // What it is, for `explain`.
  std::size_t group = 0;             // of the plan
  std::vector<ir::StageId> stages;   // that it computes
  std::string why;                   // no strips; "" where it has some or the schedule asks for none
  i64 piece = 0;                     // elements that a block reduces; 1: all; 0: it reduces none
  int columns = 1;                   // that a thread computes
  int values = 1;                    // of them in a register
  int registers = 0;                 // of a thread, an estimate; 0: none
  double operations = 0, moves = 0;  // a point: instructions, loads and stores, with what its halo repeats
  // It reads what its stages read, it writes them; and of a group's scratch memory it moves so many bytes a point.
  bool reads_sources = true, writes_stages = true;
  double scratch_read = 0, scratch_written = 0;
};

// Numbers that kernels read from memory, where a text does not hold them: Kind::table of an interface.
struct DeviceTable {
  ElementType type = ElementType::f32;
  i64 count = 0;
  std::function<std::vector<double>()> values;
};

struct DeviceProgram {
  Interface interface;
  ir::nest::Module module;  // a function for every text: kernels say which is theirs
  std::vector<DeviceKernel> kernels;
  std::vector<DeviceTable> tables;
};

// Extents below which kernels in strips do not take an image: smaller ones need another plan.
std::set<std::pair<ir::SizeId, i64>> least_extents(const DeviceProgram&);

// Of a kernel with a frame: the integers that it takes, see frame.c.inc.
constexpr std::size_t frame_integers = 11;
// Functions of launches in C: strip_height.c.inc, of planes march_height.c.inc, and frame.c.inc.
extern const std::string_view strip_height_text, march_height_text, frame_text;

// Shared memory that a block of tiles takes at most, unless a device has less.
constexpr i64 shared_of_block = i64{48} << 10;

// The kernels of a plan, each group by the way that choose_device_ways (lower/ways/ways.hpp) has written into it.
// Extents of the kernels that the plan does not have yet are added to its graph.
DeviceProgram lower_device(plan::Plan&);

}  // namespace tessera::lower
