// Starting other programs, without a shell: what is common to a compiler of the system and the built-in one.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace tessera::run::cpu {

// The standard files of the new process; below 0: /dev/null.
struct Standard {
  int input = -1, output = -1, error = -1;
};

// Runs `path` (looked up in PATH unless it has a slash) with these arguments, of which the first is its name, in a
// process group of its own, so that a terminal's signals do not reach it and its children end with it; signals are as
// new, none blocked. Returns 0, or an errno.
int spawn(const std::string& path, const std::vector<std::string>& arguments, const Standard& files, pid_t& child);

// Ends the group of a child and forgets it.
void end_child(pid_t child);

}  // namespace tessera::run::cpu
