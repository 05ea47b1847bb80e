// The passes of a program before those that write its results: totals of images, turns of loops. What lies between
// them is in files beside the first result: without a name on several ranks, otherwise in the folder of a record, by
// which a later run goes on.
#pragma once

#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "cli/execute/in_pieces.hpp"
#include "cli/execute/piece_program.hpp"
#include "engine/passes/passes.hpp"
#include "pieces/grid.hpp"
#include "pieces/pass_record.hpp"
#include "ranks/agreement.hpp"

namespace tessera::cli {

// Bytes that the process may take.
struct Room {
  i64 memory = 0;  // for pieces: on every rank the same
  i64 held = 0;    // by the process, pieces apart
  i64 later = 0;   // by another process that does the same, at most
};
// Of this process, now.
i64 resident_memory();
// What a run is said to take that is going to take so much: no less than planning has taken.
i64 at_most(i64 bytes);
// All ranks call it.
Room room_of(i64 memory, ranks::Agreement&);
// Some of what is left keeps chunks that neighbours share: so much.
i64 keep_chunks(const std::vector<Source>&, i64 left, i64 most_of_pieces);

struct PassRun {
  const PieceRun& run;
  const engine::Passes& passes;
  const std::vector<i64>& parameters;
  Room room;
  pieces::PassRecord* record = nullptr;  // of one rank
};

// What a pass reads, before others have made it.
std::vector<Source> sources_of(const engine::Passes&, const engine::Pass&, const std::vector<i64>& parameters,
                               const OpenInputs&);

// A pass over images, in which pieces this rank goes over its rows: those of one lane as those of another.
struct PlannedPass {
  std::string name;
  pieces::Chosen pieces = {};
  i64 kept = 0;  // bytes of chunks that neighbours share
};
struct PassPlan {
  std::vector<std::optional<PlannedPass>> passes;  // none of last ones, and of those that make numbers of numbers
  std::string said;                                // before the first one, lines
};
// Throws pieces::TooLittle.
PassPlan plan_passes(const PassRun&);
// Of their least pieces the one that takes most.
pieces::TooLittle least_of_passes(const PassRun&);
// Runs all but the last ones; what each of these reads. All ranks call it; what others have made of images is theirs to
// give: exchange.hpp.
std::vector<std::vector<Source>> run_passes(const PassRun&, const PassPlan&);

struct PassReads {
  double times = 1;  // points that the worst pass reads for one that it would read without what lies around pieces
  i64 lacking = 0;   // bytes, for pieces of the worst one; 0: all fit
  bool operator<(const PassReads& o) const { return std::tie(lacking, times) < std::tie(o.lacking, o.times); }
};
PassReads reads_of_passes(const PassRun&);

}  // namespace tessera::cli
