// Running a program on files, for the verbs that do: everything behind the program itself.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/process/interrupt.hpp"
#include "cli/execute/inputs.hpp"
#include "cli/execute/results.hpp"
#include "cli/execute/window.hpp"
#include "cli/options/options.hpp"

namespace tessera::ranks {
class Agreement;
}

namespace tessera::cli {

struct RunSettings {
  PlanOptions plan;
  InputOptions input;
  OutputOptions output;
  bool time = false, quiet = false, resume = false, mpi = false;
  ranks::Agreement* agreement = nullptr;  // of the ranks that run it together: on_ranks.hpp
  std::string verify;                     // "" without, "true" or how: verify.hpp
  std::optional<int> repeat;
  std::optional<std::string> memory;  // that the run may take
  Window window;

  // -o, --roi, --window, --gray, how results become files, --time, --repeat, --verify, -q, and those of reading and of
  // the plan.
  void declare(CLI::App&, bool with_axes = true);
  void declare_mpi(CLI::App&);
  // Throws Error(argument) for what cannot be used; before any file is read.
  void check() const;
};

// What a verb changes of what was bound, of each page with --pages; either may be empty.
struct Adjust {
  std::function<void(Lanes&)> headers;
  std::function<void(Lanes&)> arrays;  // which have to lie in memory then
};

// Binds the words, runs once per lane, measures, verifies and keeps the results; the exit status. `label` stands in
// front of progress. Where files have parts and do not fit the memory, it runs in pieces.
int execute(const Program&, const std::string& label, const std::vector<std::string>& words,
            const std::map<std::string, double>& scalars, const RunSettings&, const base::InterruptGuard&,
            const Adjust& = {});

}  // namespace tessera::cli
