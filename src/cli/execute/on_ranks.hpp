// A command whose process is one of several that compute one result (--mpi): how they begin and how they end. See
// docs/design/ranks.md.
#pragma once

#include <functional>

#include "base/process/interrupt.hpp"
#include "cli/execute/execute.hpp"

namespace tessera::cli {

// Before a process that is no rank yet says that it failed: where all fail alike, rank 0 says so and ends, and mpirun
// ends the others while they wait here.
void let_rank_0_speak();

// Runs `work` and gives its exit status. With --mpi the settings that it gets name the ranks, and their share of the
// machine is theirs; rank 0 alone speaks; an error of one of them ends all, is told once, and comes back as a status.
// Without it, it is a call.
int on_ranks(const RunSettings&, const std::function<int(const RunSettings&, const base::InterruptGuard&)>& work);

}  // namespace tessera::cli
