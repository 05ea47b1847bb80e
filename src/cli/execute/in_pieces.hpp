// A run whose files are larger than the memory that it may take: regions of the inputs are read, the part of the result
// that they make is computed and written, one piece after the other. See docs/design/beyond.md.
#pragma once

#include <memory>
#include <string>

#include "base/process/interrupt.hpp"
#include "cli/execute/execute.hpp"
#include "cli/execute/inputs.hpp"
#include "cli/execute/results.hpp"
#include "ranks/agreement.hpp"

namespace tessera::cli {

// A run as the command asks for it, its inputs open.
struct PieceRun {
  const Program& program;
  const std::string& label;
  OpenInputs& inputs;
  const Destinations& destinations;
  const RunSettings& settings;
  const RunOptions& options;
  const base::InterruptGuard& interrupt;
  const Adjust& adjust;
  ranks::Agreement& agreement;  // of the processes that run it together; one, without --mpi
};

class PieceWork {
 public:
  explicit PieceWork(const PieceRun&);
  ~PieceWork();
  PieceWork(const PieceWork&) = delete;
  PieceWork& operator=(const PieceWork&) = delete;

  // Bytes that inputs and outputs take in memory.
  i64 array_bytes() const;
  // Should it run in pieces? Where its files allow that, and --resume or --mpi says so or all of it takes more than the
  // memory that it may take. Throws Error(argument) where --resume or --mpi cannot be.
  bool is_wanted();
  void run();
  // What run() would tell before its first piece, or what a run in memory takes, as is_wanted() has said.
  std::string forecast();

 private:
  class Work;
  std::unique_ptr<Work> work_;
};

}  // namespace tessera::cli
