// A stage graph as streams: which stages are stored, how far each lags behind the input, what their past takes.
//
// Words: a stage that is *stored* is computed once, and delays of it give its past; a *repeated* one is computed anew
// for every lag at which it is read (docs/fpga.md). Reading a window of rows dy and columns dx of a producer takes, for
// each row, the producer as many ticks ago as the row and the last column of the window are: its *taps*; the other
// columns are shift registers behind them.
#pragma once

#include <string>
#include <vector>

#include "analyze/ranges.hpp"
#include "hardware/netlist.hpp"
#include "ir/graph.hpp"

namespace tessera::hardware {

struct StreamOptions {
  i64 height = 0, width = 0;  // of every frame; of frames whose extents are given at run time, at most
  bool fixed = true;
  int lanes = 1;       // points a tick: 1, 2, 4 or 8
  bool repeat = true;  // may stages be computed anew? (false: every stage is stored, to be compared with)
};

struct StreamStage {
  bool stored = true;
  Lag lag;    // where it is stored
  Bits bits;  // of a value
  Lag kept;   // the longest delay of it
  i64 kept_bits = 0;
};

// A window of a producer, over all accesses of one consumer, with what borders may ask for instead of what is outside.
struct Window {
  ir::StageId producer = 0;
  i64 first_row = 0, last_row = 0;  // offsets
  i64 first_word = 0, last_word = 0;
};

struct Stream {
  ir::Graph graph;
  Frame frame;
  std::vector<StreamStage> stages;
  std::vector<std::vector<Window>> windows;  // by consumer
  i64 delay_bits = 0;                        // of all stored stages
  i64 least_height = 1, least_width = 1;     // of extents given at run time
};

// What an access at `offset` may read instead, seen from the centre: see map_index.
struct Reach {
  i64 first = 0, last = 0;
};
Reach reach_of(BorderMode, i64 offset);

// Throws Error(argument) for programs that cannot stream, with the stage and the reason, and for bad options.
Stream make_stream(ir::Graph graph, const StreamOptions&);

}  // namespace tessera::hardware
