// Making a failing case small: fewer sizes and ways, fewer outputs, simpler stages, smaller numbers, as long as it
// keeps failing (in whatever way). Candidates run in children.
#pragma once

#include "differential/case.hpp"

namespace tessera::differential {

struct Found {
  Case smallest;
  std::string what;
};

// `c` fails at `failure`. Gives up looking after `seconds`.
Found shrink(const Case& c, const Failure& failure, int seconds);

// Runs the case in a child; a crash is a failure as well.
std::optional<Failure> check_isolated(const Case&);

}  // namespace tessera::differential
