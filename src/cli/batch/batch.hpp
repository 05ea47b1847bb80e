// One program on many files, each by itself: `tessera filter median stack/*.tif -o 'out/{stem}.tif'`.
//
// Where the results go is known before the first file is read, so that two files never meet in one. While one file is
// computed, the next is read and the one before is written; files alike are planned and compiled once. A file that
// fails is named, and the others are done. See docs/design/batches.md.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/process/interrupt.hpp"
#include "cli/execute/execute.hpp"

namespace tessera::cli {

struct Batch {
  std::string label;               // in front of progress
  std::vector<std::string> words;  // files, and folders of files
  const RunSettings& settings;     // with names behind -o that have fields: names.hpp
  std::string work;                // what is done with each: journal.hpp
  // One file, its own settings given.
  std::function<std::unique_ptr<Execution>(const std::string& file, RunSettings)> open;
};

// One file alone fails by its Error; of several the status is the worst one.
int run_batch(const Batch&, const base::InterruptGuard&);

}  // namespace tessera::cli
