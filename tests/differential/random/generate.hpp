// Random stage graphs that are legal, cover the whole of ir/graph.hpp, and stay small.
#pragma once

#include "differential/case.hpp"

namespace tessera::differential {

// The same case for the same seed, everywhere. Cases with wild data hold any operation and are compared in `exact` (and
// in `fast` where they have no floats); cases with plain data keep float arithmetic free of rounding and are compared
// bit for bit in `fast` as well.
Case random_case(std::uint64_t seed);

}  // namespace tessera::differential
