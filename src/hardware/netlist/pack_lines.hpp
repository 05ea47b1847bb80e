// Delay lines laid out so that their long pieces are equally long: equal pieces share a memory.
#pragma once

#include "hardware/netlist/netlist.hpp"

namespace tessera::hardware {

// The same results. Where the taps of a line lie in clusters about a row apart, the line goes from the first tap of a
// cluster to the first of the next, and the others of a cluster are registers beside it, if that makes fewer lengths.
Netlist pack_lines(const Netlist&);

}  // namespace tessera::hardware
