// Running jobs in forked children, so that one that crashes or hangs is reported and the others still run.
//
// The caller must not have started a thread: what a child needs (schedulers, compilers) starts in the child. With
// TESSERA_ONE_PROCESS set there are no children, for tools that watch one process (compute-sanitizer, Oclgrind).
#pragma once

#include <functional>
#include <string>

namespace tessera::differential {

struct Job {
  // Runs in the child. Returns "" or what is wrong. `note` keeps the last words before a crash.
  std::function<std::string(std::size_t index, const std::function<void(const std::string&)>& note)> work;
  // Runs in the caller, in order, for every job. `died` says how the child ended when it did not return.
  std::function<void(std::size_t index, const std::string& wrong, const std::string& died,
                     const std::string& last_note)>
      done;
  int seconds = 60;  // of work that one job may take, or sixty times as long by the clock
};

void run_isolated(std::size_t count, const Job&);

}  // namespace tessera::differential
