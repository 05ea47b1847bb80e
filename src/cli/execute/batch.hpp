// One program on many files, each by itself: `tessera filter median stack/*.tif -o 'out/{stem}.tif'`.
//
// Where the results go is known before the first file is read, so that two files never meet in one. A file that fails
// is named, and the others are done.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/process/interrupt.hpp"
#include "cli/execute/execute.hpp"

namespace tessera::cli {

// Runs `one` for each file with the settings that it has: {stem}, {name} and {index} in the words of -o become its name
// without a suffix, its name, and its number from 0, in as many digits as the last one has. One file alone fails by its
// Error; of several the status is the worst one, and each is named before what is printed of it.
int run_batch(const std::vector<std::string>& files, const RunSettings&, const base::InterruptGuard&,
              const std::function<int(const std::string& file, RunSettings settings)>& one);

}  // namespace tessera::cli
