// What a stream takes and how long: counted on its netlist and its clocks, for `explain` and for whoever checks them.
//
// Only signals that a result needs are counted; synthesis drops the others. Clocks are those of a circuit that nothing
// stalls: a word comes in at every one of them, and goes out at every one of them.
#pragma once

#include <string>
#include <vector>

#include "hardware/netlist/delay_lines.hpp"
#include "hardware/netlist/netlist.hpp"
#include "hardware/netlist/schedule.hpp"
#include "hardware/stream.hpp"

namespace tessera::hardware {

struct StageFacts {
  std::string name;
  std::string kind;  // "input", "stored", "repeated"
  bool returned = false;
  Bits bits;  // of a value
  int fraction = 0;
  double error = 0;
  Lag lag, kept;                    // of what is stored; the longest delay of it
  i64 kept_bits = 0;                // as the plan counts them: one line from the value to its longest delay
  i64 adders = 0, multipliers = 0;  // of signals that were made for it first
  int turns = 1;                    // ticks over which its products take turns at these multipliers
};

struct MemoryFacts {
  i64 words = 0;
  int bits = 0;  // of a word
};

struct ResultFacts {
  Port port;
  i64 last = 0;    // ticks from its first word to the last one of a frame
  i64 ticks = 0;   // from the first word in to the tick of the first one out
  i64 clocks = 0;  // from the clock that takes the first word in to the one that hands out the first; 0: not known
};

struct Facts {
  Frame frame;
  Given given;
  i64 least_height = 1, least_width = 1;  // of extents given at run time
  std::vector<StageFacts> stages;
  std::vector<Port> inputs, scalars;
  std::vector<ResultFacts> results;
  std::vector<MemoryFacts> memories;    // line buffers
  i64 memory_bits = 0, shift_bits = 0;  // of line buffers; of shift registers that move with ticks
  i64 waiting_bits = 0;                 // of registers in which values wait for others
  int depth = 0;                        // clocks from a tick to the last thing that happens for it; 0: not known
  i64 adders = 0, multipliers = 0, dividers = 0, roots = 0, selections = 0, comparisons = 0;
  i64 functions = 0;                // of floats as such, which HLS has: exp and the like
  i64 tables = 0, table_bits = 0;   // that are looked up at once, each a memory of its own
  double decided = 0;               // error of floats that are compared or made whole; 0: none are
  std::vector<Decision> decisions;  // where they are
  i64 ticks = 0;                    // of a frame
  i64 points() const { return frame.height * frame.width; }
};

// By node: does a result need it?
std::vector<bool> needed_nodes(const Netlist&);

// `stream` gave `netlist`, which gave `schedule`; without one (HLS, where a tool makes it) nothing is said of clocks.
Facts facts_of(const Stream& stream, const Netlist& netlist, const Schedule* schedule);

// Clocks from taking the first word of so many frames of these extents in to handing out the last word of a result.
i64 clocks_of(const Facts&, const ResultFacts&, i64 frames);

}  // namespace tessera::hardware
