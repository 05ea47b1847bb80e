// `tessera tune`: short programs are measured, and prices found that foretell their times.
//
// A program is one weighted sum by one method, so that its price is what the plan says of that method. The prices are
// those that come nearest to all times, in logarithms, by least squares: a price that no time depends on stays where
// the others' common factor puts it, since a machine that is slower in what was measured is likely slower in the rest.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "machine/prices.hpp"
#include "tessera/program.hpp"

namespace tessera::engine {

struct TuneOptions {
  std::string target = "cpu";
  int device = 0;
  bool quick = false;  // one round instead of three
  // For tests: only sums whose names begin so, and images whose extents are divided.
  std::string only;
  i64 shrink = 1;
  // Called before each measurement; throws to stop.
  std::function<void(const std::string& what, int done, int total)> on_progress;
};

struct Trial {
  std::string name;              // "dense 9 x 9, direct"
  double nanoseconds = 0;        // a point, measured: the least of all runs
  double before = 0, after = 0;  // as predicted by the prices built in, and by those found
};

struct Tuned {
  std::string target, device;  // its name
  machine::Prices prices;
  std::vector<Trial> trials;
};

// On one thread. Takes some 20 seconds. Throws Error(device) where there is no such device.
Tuned tune(const TuneOptions&);

// The prices near `start` that foretell the times best: foretold(k, prices) is to be times[k]. Both are above zero.
machine::Prices fitted(const machine::Prices& start, const std::vector<double>& times,
                       const std::function<double(std::size_t, const machine::Prices&)>& foretold);

}  // namespace tessera::engine
