// A netlist's results, tick by tick: what its printers are tested against, and itself against the interpreter.
#pragma once

#include <vector>

#include "hardware/netlist/netlist.hpp"

namespace tessera::hardware {

// Frames of one size, one after the other. A frame is its points in rows.
using Frames = std::vector<std::vector<i64>>;

// `inputs` by input stream, `scalars` by scalar; gives frames of each result. Extents of the frame when they are not
// fixed: height, width (else those of the netlist). Throws Error(internal) where a value does not fit its format, which
// is never, but for operations that wrap.
std::vector<Frames> simulate(const Netlist&, const std::vector<Frames>& inputs, const std::vector<i64>& scalars = {},
                             i64 height = 0, i64 width = 0);

}  // namespace tessera::hardware
