// Running many cases in children and reporting failures, small.
#pragma once

#include <functional>

#include "case.hpp"

namespace tessera::differential {

// Adds a test failure with the shrunken case for every case that fails; stops after `most` of them.
void run_cases(std::size_t count, const std::function<Case(std::size_t)>& make, int most = 5);

// Whether a second compiler, gcc, is in the search path.
bool gcc_is_there();

}  // namespace tessera::differential
