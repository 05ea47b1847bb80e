// What an emitted circuit says of stages in which values with errors decide.
#pragma once

#include <string>

#include "hardware/netlist/netlist.hpp"

namespace tessera::emit {

// A line of comment for each stage whose decisions may be others than those of exact arithmetic.
std::string decision_notes(const hardware::Netlist&);

}  // namespace tessera::emit
