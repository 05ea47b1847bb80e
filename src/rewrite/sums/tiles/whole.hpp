// Weighted sums through one Fourier transform of the whole image; see whole.cpp.
#pragma once

#include <vector>

#include "ir/graph.hpp"
#include "machine/machine.hpp"
#include "rewrite/sums/choice.hpp"

namespace tessera::rewrite {

// Puts Fourier transforms (ir::StageKind::fourier) in place of every weighted sum that can be taken so. Returns what
// was found, taken or not; without any that is taken the graph means the same but is to be thrown away. For a graph
// without loops and transforms.
std::vector<SumChoice> take_whole(ir::Graph&, Numbers);

}  // namespace tessera::rewrite
