// Clocks: when, after a tick has come in, the value of each node for that tick is there.
//
// Every operation ends in a register; what has to wait for something else waits in registers behind it. The clocks are
// those with the fewest bits in such registers, exactly, up to a few thousand nodes (differences.hpp); beyond that,
// everything happens as early as it can.
#pragma once

#include <vector>

#include "hardware/netlist.hpp"

namespace tessera::hardware {

struct Schedule {
  std::vector<int> clock;  // by node
  std::vector<int> until;  // by node: the last clock at which it is read; clock where it is not read later
  std::vector<int> line;   // by node: when its past is at hand, and enters it; -1: it has none
  std::vector<int> result;
  int depth = 0;         // the last clock at which anything is there
  i64 waiting_bits = 0;  // registers that only wait
};

// Clocks that an operation takes; 0: it is wiring.
int latency_of(const Netlist&, const Node&);
// Of a divider, which has a sign.
int dividend_bits(Bits);
// Of the root of a number.
int root_bits(Bits);
// Is its value the same at all clocks?
bool is_static(const Node&);

constexpr int input_clock = 1, position_clock = 2, memory_clock = 4;  // the earliest
// What a printed circuit adds to a result's clock between taking a word and handing one out that nobody stalls: its
// entry, its exit (emit/parts.sv.inc).
constexpr int port_clocks = 3;

Schedule make_schedule(const Netlist&);

}  // namespace tessera::hardware
