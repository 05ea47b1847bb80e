// Keyed reductions as stages that any machine computes.
//
// What bins hold becomes a sum (a minimum, a maximum) over the pieces of the elements, in their order (ir/keyed.hpp).
//
// Cores take rows of keys and of values that vectors have computed, and put them into bins one after the other. So
// there whatever is no image already becomes a stage, the keys of several dimensions one number, which is that of the
// last bin and one more where an element goes nowhere. These stages stand in one group with the elements, and their
// rows stay in the caches. Devices compute keys and values where they need them.
#pragma once

#include "ir/graph.hpp"

namespace tessera::rewrite {

enum class KeysAre { rows, computed };
void take_keyed_apart(ir::Graph&, KeysAre);

// A value or a key that is an element of an image at the point itself, maybe converted: the access; else none.
std::optional<ir::ExprId> plain_element(const ir::Graph&, const ir::Stage& elements, ir::ExprId);

}  // namespace tessera::rewrite
