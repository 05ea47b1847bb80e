// Passes of large modules as functions of their own: compilers take more than linear time over a function's loops, and
// passes that do the same to other rows need one text only.
#pragma once

#include "ir/nest/nest.hpp"

namespace tessera::lower {

constexpr std::size_t large_module = 1500;  // statements of one that is cut

// Turns every block that has a name into a local function of that name, called with the values that it uses; blocks
// that differ in names alone share one. In small modules blocks stay where they are. Such a block assigns nothing that
// is declared outside it.
void outline_blocks(ir::nest::Module&, std::size_t large = large_module);

}  // namespace tessera::lower
