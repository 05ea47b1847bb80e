// What --time says about a run.
#pragma once

#include <string>
#include <vector>

#include "cli/execute/inputs.hpp"
#include "cli/execute/window.hpp"
#include "tessera/program.hpp"

namespace tessera::cli {

// Runs `repeat` times into arrays that exist already and prints median, minimum, pixels and bytes a second, and the
// share of the rate at which this machine copies as much (run/cpu/copy_rate.hpp). Bytes: every input read once, every
// output written once.
void measure(const Program&, const Lanes&, const std::vector<std::vector<Array>>& results, const RunOptions&,
             int repeat);

// Of a window (window.hpp), with everything that a call does; prints median and minimum.
void measure_window(const Program&, const Lanes&, const RunOptions&, const Window& window, int repeat);

}  // namespace tessera::cli
