// The passes of a program before those that write its results: totals of images, turns of loops. What lies between
// them is in files without a name beside the first result.
#pragma once

#include <string>
#include <vector>

#include "cli/execute/piece_program.hpp"
#include "engine/passes/passes.hpp"

namespace tessera::cli {

struct PassRun {
  const engine::Passes& passes;
  const std::vector<i64>& parameters;
  const OpenInputs& inputs;
  const InputOptions& settings;
  RunOptions options;
  std::string label;
  std::string beside;  // a file of the results
  i64 memory = 0;      // that the process may take
  bool quiet = false;
  const std::atomic<bool>* cancel = nullptr;
};

// What a pass reads, before others have made it.
std::vector<Source> sources_of(const engine::Passes&, const engine::Pass&, const std::vector<i64>& parameters,
                               const OpenInputs&);
// Runs all but the last ones; what each of these reads.
std::vector<std::vector<Source>> run_passes(const PassRun&);

// Of this process, now.
i64 resident_memory();

// How many points all passes together read at most for one that they would read without what lies around pieces: of the
// pass that is worst. Infinite where pieces of one do not fit.
double reads_of_passes(const PassRun&);

// Bytes that the process may take for pieces, and which of them a grid takes: shared by all who go through files.
struct Room {
  i64 memory = 0;  // for pieces
  i64 held = 0;    // by the process, pieces apart
};
Room room_of(i64 memory);
// Some of what is left keeps chunks that neighbours share: so much.
i64 keep_chunks(const std::vector<Source>&, i64 left, i64 most_of_pieces);

}  // namespace tessera::cli
