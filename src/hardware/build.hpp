// A stream as a netlist: windows and borders (window.cpp), expressions (arithmetic.cpp).
#pragma once

#include "hardware/netlist/netlist.hpp"
#include "hardware/stream.hpp"

namespace tessera::hardware {

// Throws Error(argument) for what hardware does not compute, with the stage.
Netlist build_netlist(const Stream&);

}  // namespace tessera::hardware
