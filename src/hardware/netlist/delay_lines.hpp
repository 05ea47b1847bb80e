// The delays of a netlist as lines: a source, whose past is kept once, with taps for all that read it.
//
// The taps of a line are sorted; what lies between two of them is a *piece*. Short pieces are shift registers, long
// ones rings in memories that are read and written at one address a tick. Pieces of equal length whose sources are at
// hand at the same time move together, so they lie side by side in one memory, as wide as all of them.
#pragma once

#include <map>
#include <vector>

#include "hardware/netlist/netlist.hpp"

namespace tessera::hardware {

struct DelayPiece {
  NodeId source;
  Lag from, length;  // from the value `from` ago to the one from + length ago
  int memory = -1;   // index into DelayLines::memories; -1: a shift register
  int place = 0;     // the lowest bit of it in a word of the memory
};

struct DelayLine {
  NodeId source;
  std::vector<DelayPiece> pieces;             // one behind the other
  std::map<std::uint32_t, std::size_t> taps;  // delay node: the piece at whose end it stands
};

struct DelayMemory {
  Lag length;  // ticks between writing and reading
  int width = 0;
  int clock = 0;
};

struct DelayLines {
  std::vector<DelayLine> lines;  // by source, ascending
  std::vector<DelayMemory> memories;
  i64 memory_bits = 0, register_bits = 0;   // for the frame's extents
  i64 least_pitch = hardware::least_pitch;  // ticks a row, for which pieces that depend on it are long enough
};

// Pieces of so many ticks and more are memories.
constexpr i64 least_memory = 48;
// Of more ticks than these, and several rows, they are taken apart into rows.
constexpr i64 deep_memory = 2048;

// `clock` says when the past of a source is at hand, by node; empty: all at once (no clocks).
DelayLines delay_lines(const Netlist&, const std::vector<int>& clock = {});

// Lines that move together lie side by side in one memory.
struct LineMemory {
  NodeId steps, writes;
  Lag length;
  i64 step = 1;  // ticks from one place to the next
  int clock = 0, width = 0;
  std::vector<NodeId> lines;  // from the low bits on
};
// `clock`: what lines in one memory have in common, by node.
std::vector<LineMemory> line_memories(const Netlist&, const std::vector<int>& clock);

// The least width of frames, where it is given at run time.
i64 least_width(const Netlist&, const DelayLines&);
// Throws Error(argument) where the largest extents that were asked for are less than the least.
void check_extents(const Netlist&, const DelayLines&);

}  // namespace tessera::hardware
