// What emitted hardware says of itself in its opening comment.
#pragma once

#include <string>

#include "hardware/netlist/delay_lines.hpp"
#include "hardware/netlist/netlist.hpp"

namespace tessera::emit {

// "int16", of what stands for a float "int16 / 2^7, at most 0.004 from exact arithmetic".
std::string number_note(const hardware::Port&);

// Lines that begin with "// ": ports and their numbers, lags, bits of line buffers and shift registers.
std::string hardware_notes(const hardware::Netlist&, const hardware::DelayLines&);

// Of extents at run time, those that are allowed: `height: 2 to 50, a multiple of 2; width: 9 to 640`.
std::string extents_notes(const hardware::Netlist&, const hardware::DelayLines&);

}  // namespace tessera::emit
