// Netlists as SystemVerilog for synthesis: one module with a stream in for every input and one out for every result.
//
// Streams are AXI4-Stream Video: a word holds the points of a tick, the leftmost in the low bits, each in the bits of
// its type of the language; `tuser` marks the first word of a frame, `tlast` the last of a line, `tkeep` (of results)
// the points that lie within the image. Ready is a register on both sides. Frames that follow each other without a gap
// take one clock a word; a row of fewer than eight words takes eight. An input NAME is the ports s_NAME_*, a result
// m_NAME_*, a scalar p_NAME, which is to stand still while frames are under way.
//
// `rst` is synchronous, high, for one clock at least; of circuits with extents at run time for five, while these stand
// still. `height` and `width` may change, without a reset, while `busy` is low and no word is offered; `busy` is high
// from the first word of a frame on until the last frame's results were all taken. `error` is set, until reset, when
// extents change while it is high, when they are not among those that the circuit can do (no frame is taken then), and
// when an input's tuser or tlast is not where they say.
#pragma once

#include <string>

#include "hardware/netlist/delay_lines.hpp"
#include "hardware/netlist/netlist.hpp"
#include "hardware/netlist/schedule.hpp"

namespace tessera::emit {

struct VerilogOptions {
  std::string name = "tessera_program";  // of the module
};

std::string print_verilog(const hardware::Netlist&, const hardware::Schedule&, const VerilogOptions&);

// A bench for simulators: reads words of frames in hexadecimal from `inputs` (a file for each input), writes those of
// each result to a file, with random gaps on both sides where `stalls`; prints the clocks from the first word in to the
// last one out. Extents of the frames, and their number.
struct BenchOptions {
  std::string name = "tessera_program";
  i64 height = 0, width = 0, frames = 1;
  bool stalls = false;
  unsigned seed = 1;
  std::vector<i64> scalars;
};
std::string print_verilog_bench(const hardware::Netlist&, const BenchOptions&);

// Bits of a word of a stream.
int word_bits(const hardware::Netlist&, const hardware::Port&);

}  // namespace tessera::emit
