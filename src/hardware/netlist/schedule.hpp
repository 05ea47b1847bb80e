// Clocks: when, after a tick has come in, the value of each node for that tick is there.
//
// A small operation takes no clock of its own: it happens in the clock of its operands, one behind the other, as long
// as the chain fits the period. Its delay stands in a table (`delay_of`). Where a chain from u to v would not fit, v is
// at least a clock later than u; a value that is read at a later clock than it arises waits in registers. Both are
// differences, so the clocks are those with the fewest bits in registers, exactly (differences.hpp): registers move
// over an operation to where the signal is narrow. Beyond many thousands of nodes everything happens as early as it
// can. Products, tables, roots and divisions have registers of their own.
#pragma once

#include <vector>

#include "hardware/netlist/chip.hpp"
#include "hardware/netlist/netlist.hpp"

namespace tessera::hardware {

struct Schedule {
  std::vector<int> clock;  // by node
  std::vector<int> until;  // by node: the last clock at which it is read; clock where it is not read later
  std::vector<int> line;   // by node: when its past is at hand, and enters it; -1: it has none
  std::vector<int> result;
  int depth = 0;         // the last clock at which anything is there
  i64 waiting_bits = 0;  // registers between clocks
};

struct ScheduleOptions {
  double frequency = 200;  // MHz to reach
  Chip chip = Chip::ecp5;
};
constexpr double least_frequency = 10, most_frequency = 1000;

// Clocks that an operation takes; 0: it is chained.
int latency_of(const Netlist&, const Node&);
// Of a divider's quotient, without its sign: it has so many rows.
int quotient_bits(const Netlist&, const Node&);
// Of the root of a number.
int root_bits(Bits);
// Is its value the same at all clocks?
bool is_static(const Node&);

// Of an operation that is chained, picoseconds.
int delay_of(const Netlist&, const Node&, const Delays& = delays_of(Chip::ecp5));
// Is the ring of a piece addressed by the column of the word that comes in?
bool follows_columns(const Netlist&, Lag length, int clock);

// The clocks of inputs and positions, the earliest ones of shift registers and memories.
constexpr int input_clock = 0, position_clock = 2, shift_clock = 1, memory_clock = 3, row_memory_clock = 2;
// What a printed circuit adds to a result's clock between taking a word and handing one out that nobody stalls: its
// entry, its exit (emit/verilog/parts.sv.inc).
constexpr int port_clocks = 3;

// Throws Error(argument) for a frequency out of bounds.
Schedule make_schedule(const Netlist&, const ScheduleOptions& = {});

}  // namespace tessera::hardware
