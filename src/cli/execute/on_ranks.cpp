// See on_ranks.hpp.
#include "cli/execute/on_ranks.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/memory.hpp"
#include "base/process/system.hpp"
#include "cli/command.hpp"
#include "cli/tell.hpp"
#include "ranks/agreement.hpp"
#include "run/cpu/machine.hpp"
#include "run/cpu/parallel.hpp"
#include "tessera/error.hpp"

namespace tessera::cli {
namespace {

// This start of the system that the process runs on.
std::string system_name() {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  return fmt::format("{} {}", host.data(), base::start_of_system());
}

// Processors that it may use, as the kernel lists them: "0-3,8".
std::string own_processors() {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("Cpus_allowed_list:")) return line;
  return "";
}

// Ranks of one system divide its memory, those with the same processors divide them.
void take_share(ranks::Agreement& agreement) {
  const std::string system = system_name() + "\n", processors = system + own_processors();
  const std::vector<std::string> all = agreement.all_gather(processors);
  base::share_memory(
      static_cast<int>(std::ranges::count_if(all, [&](const std::string& each) { return each.starts_with(system); })));
  run::cpu::use_cores(run::cpu::machine().cores / static_cast<int>(std::ranges::count(all, processors)));
}

// Nothing where mpirun is ending all.
std::unique_ptr<ranks::Ranks> start(const base::InterruptGuard& interrupt) {
  try {
    return ranks::start_mpi(&interrupt.flag());
  } catch (const Error&) {
    let_rank_0_speak();
    if (!interrupt.interrupted()) throw;
    return nullptr;
  }
}

// One rank's error while others work.
[[noreturn]] void end_all(const ranks::Agreement& agreement, const Error& error) {
  ranks::Ranks& ranks = agreement.ranks();
  const int status = status_of(error.error_class());
  const bool cancelled = error.error_class() == ErrorClass::cancelled;
  const Error told = cancelled ? Error(ErrorClass::cancelled, "interrupted") : error;
  // In step nobody listens; an interruption came to rank 0, too, and what was under way in MPI is left alone.
  constexpr std::chrono::seconds patience{2};
  if (ranks.rank() != 0 && agreement.in_step()) std::this_thread::sleep_for(patience);
  if (ranks.rank() != 0 && !agreement.in_step()) agreement.report(told);
  const bool same = cancelled || ranks.size() == 1;
  report(same ? told : Error(told.error_class(), fmt::format("rank {}: {}", ranks.rank(), told.what())));
  ranks.abort(status);
}

int ended(ranks::Agreement& agreement, const std::exception_ptr& thrown) {
  ranks::Ranks& ranks = agreement.ranks();
  try {
    std::rethrow_exception(thrown);
  } catch (const ranks::RankError& other) {  // rank 0 was told of it
    report(other);
    ranks.abort(status_of(other.error_class()));
  } catch (...) {
  }
  const Error error = as_error(thrown);
  // Who is interrupted waits for nobody.
  if (!agreement.in_step() || error.error_class() == ErrorClass::cancelled) end_all(agreement, error);
  try {
    const Error told = agreement.failed(error);
    if (ranks.rank() == 0) report(told);
    ranks.barrier();
    return status_of(told.error_class());
  } catch (const Error& again) {
    end_all(agreement, again);
  }
}

}  // namespace

void let_rank_0_speak() {
  constexpr std::chrono::seconds patience{3};
  if (ranks::rank_in_environment() != 0) std::this_thread::sleep_for(patience);
}

int on_ranks(const RunSettings& settings,
             const std::function<int(const RunSettings&, const base::InterruptGuard&)>& work) {
  const base::InterruptGuard interrupt;
  if (!settings.mpi) {
    if (ranks::rank_in_environment() == 1 && !settings.quiet)
      tell("note: several processes are started that each do all of this; --mpi divides the work among them\n");
    return work(settings, interrupt);
  }
  const std::unique_ptr<ranks::Ranks> ranks = start(interrupt);
  if (ranks == nullptr) return usage_faulty;
  silent = ranks->rank() != 0;
  ranks::Agreement agreement(*ranks);
  try {
    take_share(agreement);
    RunSettings own = settings;
    own.agreement = &agreement;
    const int status = work(own, interrupt);
    agreement.step();
    return status;
  } catch (...) {
    return ended(agreement, std::current_exception());
  }
}

}  // namespace tessera::cli
