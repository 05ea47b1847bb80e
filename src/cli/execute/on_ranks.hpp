// A command whose process is one of several that compute one result (--mpi): how they begin and how they end. See
// docs/design/ranks.md.
#pragma once

#include <functional>

#include "base/process/interrupt.hpp"
#include "cli/execute/execute.hpp"

namespace tessera::cli {

// Of processes that all fail alike before they are ranks, is this one that leaves it to another to say so? Then it has
// given that one the time: mpirun ends all when the first one ends.
bool leaves_it_to_another();

// Runs `work` and gives its exit status. With --mpi the settings that it gets name the ranks, and their share of the
// machine is theirs; rank 0 alone speaks; an error of one of them ends all, is told once, and comes back as a status.
// Without it, it is a call.
int on_ranks(const RunSettings&, const std::function<int(const RunSettings&, const base::InterruptGuard&)>& work);

}  // namespace tessera::cli
