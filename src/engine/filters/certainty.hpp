// Filters of images whose points are not all known (filters/masked*.forma), where they are: see certainty.cpp.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "base/process/fork.hpp"
#include "tessera/program.hpp"

namespace tessera::engine {

// What a program of such a filter knows about itself.
struct Certainty {
  explicit Certainty(Program filter) : plain(std::move(filter)) {}

  Program plain;                    // the filter without certainties, of the image alone, which is input 0 of both
  std::optional<std::size_t> mask;  // the input that says how certain points are
  bool finite = false;              // points that are not finite are unknown
  bool keeps = false;               // a channel that is as it is wherever nothing is known
  std::vector<i64> before, after;   // the reach of a window, per dimension
  std::vector<i64> first;           // where the result begins in the image
  std::vector<Border> borders;

  // The schedule whose plans have one group over the result, by the method: see certainty.cpp.
  mutable base::Mutex mutex;
  mutable std::map<int, std::optional<Schedule>> schedules;
};

// Runs the program block by block, by itself or by its filter without certainties. False, and nothing is done, where
// that cannot be: the program is then to be run as any other. `whole`: the parameters of what is run a part of, which
// begins at a block.
bool run_by_certainty(const Program::Impl&, const std::vector<i64>& parameters, const std::vector<Array>& inputs,
                      const std::vector<Array>& outputs, const RunOptions&, const std::vector<i64>& whole);

// Would it, for arrays on the host in layouts that need no copy?
bool may_run_by_certainty(const Program::Impl&, const std::vector<i64>& parameters, const RunOptions&);

// If so: the options that make its plan, and the extents of a block in every dimension of that plan's result.
struct CertaintyBlocks {
  RunOptions options;
  std::vector<i64> extents;
};
std::optional<CertaintyBlocks> certainty_blocks(const Program::Impl&, const std::vector<i64>& parameters,
                                                const RunOptions&);

}  // namespace tessera::engine
