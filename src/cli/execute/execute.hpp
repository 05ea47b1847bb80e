// Running a program on files, for the verbs that do: everything behind the program itself.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/process/interrupt.hpp"
#include "cli/execute/inputs.hpp"
#include "cli/execute/results.hpp"
#include "cli/execute/window.hpp"
#include "cli/options/options.hpp"

namespace tessera::engine {
struct Filter;
}
namespace tessera::ranks {
class Agreement;
}

namespace tessera::cli {

struct RunSettings {
  PlanOptions plan;
  InputOptions input;
  OutputOptions output;
  bool time = false, quiet = false, resume = false, mpi = false;
  bool dry = false;                       // what a run would take is told, and nothing is run
  ranks::Agreement* agreement = nullptr;  // of the ranks that run it together: on_ranks.hpp
  std::string verify;                     // "" without, "true" or how: verify.hpp
  std::optional<int> repeat;
  std::optional<std::string> memory;  // that the run may take
  Window window;
  bool of_several = false;  // one file of a batch: what is told of progress is told of all of them
  bool warns = true;        // of the program: of the first file of a batch alone

  // Those of files, --time, --repeat, --verify, -q, and those of the plan.
  void declare(CLI::App&, bool with_axes = true);
  // -o, --roi, --window, --gray, how results become files, --memory, and those of reading.
  void declare_files(CLI::App&, bool with_axes = true);
  void declare_mpi(CLI::App&);
  // Throws Error(argument) for what cannot be used; before any file is read.
  void check() const;
};

// What a verb changes of what was bound, of each page with --pages; either may be empty.
struct Adjust {
  std::function<void(Lanes&)> headers;
  std::shared_ptr<const engine::Filter> continued = {};  // arrays are, as a full extent wants them
};

// A program on one set of files, in steps that follow one another, each on any thread.
class Execution {
 public:
  // Opens the files; what has no parts is read. `label` stands in front of progress. `words`: files, NAME=FILE,
  // NAME=NUMBER.
  Execution(Program, std::string label, const std::vector<std::string>& words,
            const std::map<std::string, double>& scalars, RunSettings, const base::InterruptGuard&, Adjust = {});
  ~Execution();
  Execution(const Execution&) = delete;
  Execution& operator=(const Execution&) = delete;

  // Of arrays as one run of the program takes them, of numbers empty.
  std::vector<Shape> shapes() const;
  const Program& program() const;
  // The files that it writes.
  const std::vector<std::string>& results() const;
  // On which the program runs one by one; 1 without --pages.
  i64 pages() const;
  // That its inputs and outputs take where all of them are in memory.
  i64 bytes() const;
  // What is not read yet; of a dry run nothing. Where files have parts and do not fit the memory, they stay where they
  // are.
  void read();
  // Once per lane; measures and verifies. Files that do not fit the memory run in pieces, and results are written.
  void compute();
  // Writes the results, without their names. Files of several runs may be packed at once.
  void pack();
  // Gives them their names, or tells of results without files; the exit status. Packs what is not.
  int keep();
  // After read() of a dry run: what a run would tell before its first piece, or what it takes in memory.
  std::string forecast();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// All of it.
int execute(const Program&, const std::string& label, const std::vector<std::string>& words,
            const std::map<std::string, double>& scalars, const RunSettings&, const base::InterruptGuard&,
            const Adjust& = {});

}  // namespace tessera::cli
