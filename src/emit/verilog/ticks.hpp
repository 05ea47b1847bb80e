// Ticks of a circuit as text: when one happens, where in its frame the word of a lag lies, which words are results.
//
// Of frames whose extents are given at run time every lag has a pair of counters. Where extents are constants there is
// one pair, of the word that comes in: the word of a lag is at column c where that one is at (c + lag) mod R, so what
// is asked for is a comparison with a constant. A row begins, for a lag, when the column is lag mod R: then, and only
// then, its flags are taken from comparisons of the row. So a lag costs no counter and no delay.
//
// Behind the last frame, ticks without input push out what is left: another frame goes through that is not real. For
// every result, where a frame begins, it is decided whether it was real; when none is left the circuit is as new.
#pragma once

#include <memory>
#include <string>

#include "hardware/netlist/delay_lines.hpp"
#include "hardware/netlist/netlist.hpp"

namespace tessera::emit {

// All write to the text that they were made with.
class VerilogTicks {
 public:
  virtual ~VerilogTicks() = default;
  // Extents, and the wires `tick` and `take`.
  virtual void print() = 0;
  // The wire or register `name`: a node that is a position, at hardware::position_clock.
  virtual void position(const hardware::Node&, const std::string& name) = 0;
  // NAME_there, NAME_first, NAME_last of the words of a result, at hardware::position_clock.
  virtual void marks(const hardware::Result&, const std::string& name) = 0;
  // Ticks of a lag, as an expression.
  virtual std::string length(hardware::Lag) = 0;
  // A signal: how many columns an image has.
  virtual std::string columns(const hardware::Grid&) = 0;
};

// `module` is what names of modules begin with. The netlist, the lines and the text are to outlive them.
std::unique_ptr<VerilogTicks> fixed_ticks(const hardware::Netlist&, std::string& text);
std::unique_ptr<VerilogTicks> run_time_ticks(const hardware::Netlist&, const hardware::DelayLines&, std::string module,
                                             std::string& text);

bool is_position(hardware::Signal);
int bits_to(i64 n);  // that count to n
// Is `signal` so much more than a multiple of `step`?
std::string phase_is(const std::string& signal, i64 step, i64 rest);
// Does an input have a word for every word of a frame?
bool fills_frame(const hardware::Netlist&, const hardware::Port&);
// The wire that takes a word of an input: `take`, or of those that do not fill the frame, NAME_take; these have words
// where NAME_in.
std::string take_of(const hardware::Netlist&, const hardware::Port&);
// "a_valid & b_valid" of all inputs; " | (take & wrong marks)" of all inputs; "a_full | b_full" of all results.
std::string all_valid(const hardware::Netlist&);
std::string wrong_marks(const hardware::Netlist&, const std::string& first, const std::string& last);
std::string any_full(const hardware::Netlist&);
hardware::Lag longest_lag(const hardware::Netlist&);

}  // namespace tessera::emit
