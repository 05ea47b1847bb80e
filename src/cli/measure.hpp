// What --time and --verify say about a run.
#pragma once

#include <vector>

#include "cli/inputs.hpp"
#include "tessera/program.hpp"

namespace tessera::cli {

// Runs `repeat` times into arrays that exist already and prints median, minimum, pixels and bytes a second, and the
// share of the bandwidth with which this machine copies. Bytes: every input read once, every output written once.
void measure(const Program&, const Lanes&, const std::vector<std::vector<Array>>& results, const RunOptions&,
             int repeat);

// Compares with the interpreter, prints a line per output; false when one differs by more than it may: integers and
// exact numbers not at all, others by 1e-4 of the largest value.
bool verify(const Program&, const Lanes&, const std::vector<std::vector<Array>>& results, const RunOptions&);

}  // namespace tessera::cli
