// What --verify says about a run: is it what the interpreter gives?
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/execute/inputs.hpp"
#include "tessera/program.hpp"

namespace tessera::cli {

enum class Verdict {
  agrees,
  amplifies,  // `fast` numbers differ, `exact` ones agree, and the program takes decisions that a last bit turns
  differs,    // a fault of Tessera
};

struct VerifyOptions {
  // All points, or those of random windows of the results; automatic: windows where all would take minutes.
  enum class Points { automatic, all, sampled } points = Points::automatic;
  std::uint64_t seed = 0;  // of the windows
  bool quiet = true;       // no progress
};

// "true" (the option alone), "all", "sampled", "sampled:SEED"; throws Error(argument) for anything else. Without a
// seed: one of the clock.
VerifyOptions parse_verify(const std::string& text);

// Compares with the interpreter, prints a line or two per output: how many values differ, how many by more than they
// may, and the difference and what is allowed of the one where the former is the largest part of the latter. Exact
// numbers, and integers that come of integers alone, may not differ at all; integers that come of floats by 1, where a
// last bit decides how they are rounded. Floats may differ, point by point, by 1e-5 of what the errors of that point
// are measured in (ref/sizes.hpp), by no more than 1e-4 of the largest value and no less than two last bits of that
// size. For `fast` numbers the interpreter adds in double, and where the plan adds L terms in float, the L / 2
// roundings of numbers of one sign are allowed too. Fourier transforms of whole images are exact to 1e-4 of the largest
// number that they see, and `--method whole` as near as its largest point.
Verdict verify(const Program&, const Lanes&, const std::vector<std::vector<Array>>& results, const RunOptions&,
               const VerifyOptions& = {});

}  // namespace tessera::cli
