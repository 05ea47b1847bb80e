// A stage graph as streams: which stages are stored, how far each lags behind the input, what their past takes.
//
// Words: a stage that is *stored* is computed once, and delays of it give its past; a *repeated* one is computed anew
// for every lag at which it is read (docs/design/circuits.md). Reading a window of rows dy and columns dx of a producer
// takes, for each row, the producer as many ticks ago as the row and the last column of the window are: its *taps*; the
// other columns are shift registers behind them. Images whose points lie further apart than those of the finest one
// (grids) are counted in its rows and ticks all the same.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "analyze/ranges.hpp"
#include "hardware/grids.hpp"
#include "hardware/netlist/netlist.hpp"
#include "ir/graph.hpp"

namespace tessera::hardware {

// Integers that stand for floats: value * 2^-fraction.
struct FixedInput {
  ElementType type = ElementType::u8;
  int fraction = 0;
};

constexpr int most_additions = 2;

struct StreamOptions {
  i64 height = 0, width = 0;  // of every frame; of frames whose extents are given at run time, at most
  bool fixed = true;
  int lanes = 1;       // points a tick: 1, 2, 4 or 8
  bool repeat = true;  // may stages be computed anew? (false: every stage is stored, to be compared with)
  std::map<std::string, FixedInput> inputs;  // what comes in for arguments of floats
  // Of floats that are returned, compared or made whole, at most; 0: 2^-10 of their largest value, if that can be had.
  double error = 0;
  int additions = most_additions;  // see Stream
  bool exact = false;              // floats are floats, in the interpreter's order: no circuit, but HLS computes them
};

struct StreamStage {
  bool stored = true;
  Lag lag;    // where it is stored
  Bits bits;  // of a value
  double lo = 0, hi = 0;
  int fraction = 0;  // what stands for a float is a value * 2^-fraction, and has an error
  double error = 0;
  int turns = 1;  // where it is stored, ticks over which its products take turns at multipliers (turns.hpp)
  Lag kept;       // the longest delay of it
  i64 kept_bits = 0;
};

// A window of a producer, over all accesses of one consumer, with what borders may ask for instead of what is outside.
// In rows and words of the frame.
struct Window {
  ir::StageId producer = 0;
  std::set<i64> rows;            // offsets
  std::optional<i64> last_word;  // of columns that enter here and move on
  std::set<Lag> far;             // of words that are read by themselves: around an edge, of pieces
  std::vector<Lag> entries() const;
};

struct Stream {
  ir::Graph graph;
  Frame frame;
  Grids grids;
  std::vector<StreamStage> stages;
  std::map<std::string, FixedInput> inputs;  // see StreamOptions
  std::vector<std::vector<Window>> windows;  // by consumer
  int fraction = 0;                          // the most that a stage of floats keeps
  bool exact = false;                        // see StreamOptions
  double wanted = 0;                         // StreamOptions::error
  double decided = 0;                        // error of floats that are compared or made whole
  int additions = most_additions;            // of a product with a constant; what takes more is a multiplier
  std::vector<Decision> decisions;           // where
  // By operation that decides: how close to the limit it may do so otherwise than exact arithmetic.
  std::map<std::pair<ir::StageId, ir::ExprId>, double> margins;
  i64 delay_bits = 0;                     // of all stored stages
  i64 least_height = 1, least_width = 1;  // of extents given at run time
};

// Ticks from one of a stage's points to the next.
i64 word_step(const Stream&, ir::StageId);

// Of what stands for elements of a type: of floats, of their bits.
analyze::Range range_of(ElementType);

// Throws Error(argument) for programs that cannot stream, with the stage and the reason, and for bad options.
Stream make_stream(ir::Graph graph, const StreamOptions&);

}  // namespace tessera::hardware
