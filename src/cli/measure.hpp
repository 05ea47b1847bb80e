// What --time and --verify say about a run.
#pragma once

#include <vector>

#include "cli/inputs.hpp"
#include "tessera/program.hpp"

namespace tessera::cli {

// Runs `repeat` times into arrays that exist already and prints median, minimum, pixels and bytes a second, and the
// share of the rate at which this machine copies as much (run/cpu/copy_rate.hpp). Bytes: every input read once, every
// output written once.
void measure(const Program&, const Lanes&, const std::vector<std::vector<Array>>& results, const RunOptions&,
             int repeat);

// Compares with the interpreter, prints a line per output: the largest difference, at how many points there is one, and
// what is allowed; false when one differs by more. Exact numbers, and integers that come of integers alone, may not
// differ at all; integers that come of floats by 1, where a last bit decides how they are rounded; floats by 1e-4 of
// the largest value, but weighted sums by no more than 1e-5 and no less than two last bits of sum |w| |x|
// (ref/magnitude.hpp). For `fast` numbers the interpreter adds in double, and where the plan adds L terms in float, the
// L / 2 roundings of numbers of one sign are allowed too.
bool verify(const Program&, const Lanes&, const std::vector<std::vector<Array>>& results, const RunOptions&);

}  // namespace tessera::cli
