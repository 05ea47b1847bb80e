// Weighted sums through one Fourier transform of the whole image; see whole.cpp.
#pragma once

#include <vector>

#include "plan/plan.hpp"

namespace tessera::plan {

// Puts Fourier transforms (ir::StageKind::fourier) in place of every weighted sum that can be taken so. Returns what was
// found, taken or not; without any that is taken the graph means the same but is to be thrown away. For a graph without
// loops and transforms.
std::vector<SumChoice> take_whole(ir::Graph&, Numbers);

}  // namespace tessera::plan
