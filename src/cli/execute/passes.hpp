// The passes of a program before those that write its results: totals of images, turns of loops. What lies between
// them is in files without a name beside the first result.
#pragma once

#include <string>
#include <vector>

#include "cli/execute/piece_program.hpp"
#include "engine/passes/passes.hpp"
#include "ranks/agreement.hpp"

namespace tessera::cli {

// Bytes that the process may take.
struct Room {
  i64 memory = 0;  // for pieces: on every rank the same
  i64 held = 0;    // by the process, pieces apart
};
// Of this process, now.
i64 resident_memory();
// All ranks call it.
Room room_of(i64 memory, ranks::Ranks&);
// Some of what is left keeps chunks that neighbours share: so much.
i64 keep_chunks(const std::vector<Source>&, i64 left, i64 most_of_pieces);

struct PassRun {
  const engine::Passes& passes;
  const std::vector<i64>& parameters;
  const OpenInputs& inputs;
  const InputOptions& settings;
  const RunOptions& options;
  std::string label;
  std::string beside;  // a file of the results
  Room room;
  bool quiet = false;
  const std::atomic<bool>* cancel = nullptr;
  ranks::Agreement& agreement;  // of those who run them together, each on its share of the rows
};

// What a pass reads, before others have made it.
std::vector<Source> sources_of(const engine::Passes&, const engine::Pass&, const std::vector<i64>& parameters,
                               const OpenInputs&);
// What run_passes() says before the first one, lines.
std::string forecast_of_passes(const PassRun&);
// Runs all but the last ones; what each of these reads. All ranks call it; what others have made of images is theirs to
// give: exchange.hpp.
std::vector<std::vector<Source>> run_passes(const PassRun&);

// Of this process, now.
i64 resident_memory();

// How many points all passes together read at most for one that they would read without what lies around pieces: of the
// pass that is worst. Infinite where pieces of one do not fit.
double reads_of_passes(const PassRun&);

}  // namespace tessera::cli
