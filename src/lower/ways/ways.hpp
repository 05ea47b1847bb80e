// The table of ways of running on devices, and the choice among them.
#pragma once

#include <span>

#include "lower/way.hpp"

namespace tessera::lower {

// In the order in which they are asked.
std::span<const Way* const> ways();

// Asks the ways about every group of the plan and writes down what they answered and which one is taken.
//
// The first one that fits and settles is taken. Else the cheapest: a way that is asked later is taken before one that
// is asked earlier where its price is at most a twentieth higher, since it does with less memory.
void choose_ways(plan::Plan&, i64 most_shared = shared_of_block);

}  // namespace tessera::lower
