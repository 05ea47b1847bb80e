// What emitted hardware says of itself in its opening comment.
#pragma once

#include <string>

#include "hardware/delay_lines.hpp"
#include "hardware/netlist.hpp"

namespace tessera::emit {

// Lines that begin with "// ": ports and their types, lags, bits of line buffers and shift registers.
std::string hardware_notes(const hardware::Netlist&, const hardware::DelayLines&);

}  // namespace tessera::emit
