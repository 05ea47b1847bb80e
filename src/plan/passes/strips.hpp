// Strips of a GPU: a thread owns some columns and marches down the rows, with the last rows of every stage of a group
// in registers (lower/ways/strips/strips.cpp). Here is what of that the plan has to know as well: which rows and
// columns each stage keeps, and how many registers they take.
//
// Stages of different sizes march together. Each has a rate, rows and columns apart: where the thread owns v columns
// and takes one step, the stage owns v * rate columns and computes `rate` rows. At step y these are the rows
//
//   rate * y + lag ... rate * y + lag + rate - 1
//
// A ring holds the last `depth` rows; its first slot the row rate * y + lag + rate - depth. Rows and columns of a ring
// are counted from rate * y and rate * x below, so that everything is known before any extent is: a consumer of rate c
// that reads (mul * i + offset) / div has a producer of rate c * mul / div, and the row c * y + k reads of it the row
// (mul * k + offset) / div. Nothing but constants is left of sampled and composed stages.
//
// Volumes march along their first dimension, and what is said of rows here holds for their planes. A thread has one row
// of each plane, of index i along the dimensions in between. A stage that others read at rows beside their own is
// computed there as well: it is several stages of the strip, one for each distance from i that is read, its slice.
#pragma once

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "plan/plan.hpp"

namespace tessera::plan {

// An estimate, a thread: up to which more than 2 columns pay; measured on an H200.
constexpr int wide_strip_registers = 140;

// Of a dimension in between, for each of them: a distance from the thread's own row.
using Slice = std::vector<i64>;

// Of rows (0) and columns (1), what a stage reads around its point i: (mul * i + [lo, hi]) / div, where that is whole;
// at a fixed distance in the dimensions in between.
struct StripRead {
  struct Dimension {
    i64 mul = 1, div = 1;
    i64 lo = 0, hi = 0;
    i64 least = 0, most = 0;  // the same with what the borders map to; counts where the producer is in the strip too
    Border border;
  };
  ir::StageId stage = 0;
  std::array<Dimension, 2> dims;
  Slice slice;
  std::vector<Border> between;  // borders of those dimensions
  bool wraps = false;           // beyond the edge

  std::vector<Border> borders() const;  // of all dimensions
  // What is read of a stage of the strip by one whose slice is `reader`: with what the borders map to.
  std::vector<Slice> slices(const Slice& reader) const;
};
struct StripReads {
  std::string why;  // the stage is in no strip, since ...; "" where it can be
  std::vector<StripRead> reads;
  std::vector<ir::StageId> gathered;  // read at computed places
};
StripReads strip_reads(ir::Graph&, ir::StageId);

// What is kept of a stage, or of an array as it is read with one pair of borders.
struct StripRing {
  ir::StageId stage = 0;
  bool memory = false;         // an array
  std::vector<Border> border;  // memory: of all dimensions
  Slice slice;
  std::array<i64, 2> rate{1, 1};
  i64 lag = 0, depth = 0;             // depth 0: nobody reads it
  i64 left = 0, right = 0;            // columns beyond the thread's own
  i64 near_left = 0, near_right = 0;  // those of them that its readers need for their own columns
  i64 first = 0;                      // the first row that has to be right, from the strip's first one
  bool only_pieces = false;           // read by composed stages alone: what they hold is what it holds

  bool is_own() const {  // of the thread's own row
    return std::all_of(slice.begin(), slice.end(), [](i64 distance) { return distance == 0; });
  }
  // That a tile of so many steps computes or loads, with those that its first rows need.
  i64 rows_of_tile(i64 height) const { return rate[0] * height + lag - first; }
  i64 fresh() const { return std::min(depth, rate[0]); }  // rows that a step computes
  i64 first_fresh() const { return lag + rate[0] - fresh(); }
  i64 oldest() const { return lag + rate[0] - depth; }
  i64 own(i64 v) const { return v * rate[1]; }
  i64 columns(i64 v) const { return own(v) + left + right; }
};

struct Strip {
  std::string why;               // they are no strip, since ...; "" where they are
  std::vector<StripRing> rings;  // of the stages in their order, then of arrays
  i64 start = 0;                 // the first step, from that of the strip's first rows: those before warm up
  i64 finest = 1;                // column rate

  // The ring that a stage of rate `rate` reads so; of a stage of the strip the borders do not matter.
  std::size_t ring(ir::StageId, const std::vector<Border>&, const std::array<i64, 2>& rate, const Slice&) const;
  // The same where a thread computes its own columns alone and takes those beside them from its neighbours.
  Strip exchanged() const;
  // Threads at the left and at the right end of a warp that then miss what their neighbours would give them.
  std::array<i64, 2> without_neighbours(i64 v) const;
  // Arrays are loaded so many steps earlier.
  void look_ahead(i64 steps);
  // About how many registers of 32 bits a thread of v columns needs; `bytes` of an element as it is kept.
  int registers(i64 v, const std::function<int(ir::StageId)>& bytes) const;
  // The columns v that a thread owns: the most that pay, up to so many registers. The fewest where none fit.
  int columns_for(int most_registers, const std::function<int(ir::StageId)>& bytes) const;
  // Is a stage computed at other rows than the thread's own?
  bool has_slices() const;
  // How often a point is computed, by a thread and by those beside it, the mean of all operations.
  double repetition(i64 v, const std::function<double(ir::StageId)>& operations) const;
};

// A strip of these stages, in topological order. `rate`: StagePlan::rate of a stage.
Strip strip_of(const ir::Graph&, const std::vector<ir::StageId>& stages,
               const std::function<const StripReads&(ir::StageId)>& reads,
               const std::function<bool(ir::StageId)>& is_result,
               const std::function<const std::vector<StagePlan::Rate>&(ir::StageId)>& rate);

}  // namespace tessera::plan
