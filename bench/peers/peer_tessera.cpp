// Our side: bench/jobs/<name>.forma through tessera::Program. Only run_into is timed; compilation is not. The second
// peer of this file is the same program with every stage in a group of its own: what the published compiler calls
// untiled. Its whole intermediate images stay in the pool between runs, so that fusing is not credited with page
// faults.
#include <filesystem>

#include "job.hpp"
#include "run/cpu/parallel.hpp"
#include "tessera/program.hpp"

namespace tessera::bench {
namespace {

class TesseraPeer final : public Peer {
 public:
  TesseraPeer(std::string name, Schedule schedule, std::string folder)
      : name_(std::move(name)), schedule_(schedule), folder_(std::move(folder)) {
    run::cpu::limit_pooled_scratch(std::size_t{4} << 30);
  }

  std::string name() const override { return name_; }
  std::string version() const override { return "this tree"; }
  void set_threads(int threads) override { threads_ = threads; }

  std::optional<Prepared> prepare(const Job& job, const Settings&) override {
    const std::string path = folder_ + "/" + job.name + ".forma";
    if (!std::filesystem::exists(path)) return std::nullopt;
    RunOptions options;
    options.schedule = schedule_;
    options.threads = threads_;
    return Prepared{[program = Program::from_file(path), options](const Buffers& set) {
                      program.run_into(set.inputs, {set.output}, options);
                    },
                    "", true};
  }

 private:
  std::string name_;
  Schedule schedule_;
  std::string folder_;
  int threads_ = 1;
};

}  // namespace

PeerEntry tessera_peer(const std::string& jobs_folder) {
  return {"tessera", "", std::make_unique<TesseraPeer>("tessera", Schedule::automatic, jobs_folder)};
}

PeerEntry tessera_untiled_peer(const std::string& jobs_folder) {
  return {"tessera-untiled", "", std::make_unique<TesseraPeer>("tessera-untiled", Schedule::untiled, jobs_folder)};
}

}  // namespace tessera::bench
