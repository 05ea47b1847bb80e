// The passes of a program before those that write its results: totals of images, turns of loops. What lies between
// them is in files without a name beside the first result.
#pragma once

#include <string>
#include <vector>

#include "cli/execute/in_pieces.hpp"
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
Room room_of(i64 memory, ranks::Agreement&);
// Some of what is left keeps chunks that neighbours share: so much.
i64 keep_chunks(const std::vector<Source>&, i64 left, i64 most_of_pieces);

struct PassRun {
  const PieceRun& run;
  const engine::Passes& passes;
  const std::vector<i64>& parameters;
  Room room;
};

// What a pass reads, before others have made it.
std::vector<Source> sources_of(const engine::Passes&, const engine::Pass&, const std::vector<i64>& parameters,
                               const OpenInputs&);
// What run_passes() says before the first one, lines.
std::string forecast_of_passes(const PassRun&);
// Runs all but the last ones; what each of these reads. All ranks call it; what others have made of images is theirs to
// give: exchange.hpp.
std::vector<std::vector<Source>> run_passes(const PassRun&);

// How many points the worst pass reads for one that it would read without what lies around pieces. Infinite where
// pieces of one do not fit.
double reads_of_passes(const PassRun&);

}  // namespace tessera::cli
