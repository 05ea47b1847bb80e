// A netlist with fewer cells that gives the same.
#pragma once

#include "hardware/netlist/netlist.hpp"

namespace tessera::hardware {

// The same results, of simpler signals (simplify.cpp says which).
Netlist simplified(const Netlist&);

}  // namespace tessera::hardware
