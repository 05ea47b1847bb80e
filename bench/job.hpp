// What is measured: one row per job. A job is a name, the arrays it reads and writes, and the rules by which the
// results of two peers count as the same. Tessera's side is bench/jobs/<name>.forma; every peer computes the same
// thing.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness.hpp"

namespace tessera::bench {

struct Job {
  std::string name;   // as in bench/jobs/<name>.forma
  std::string title;  // as in the tables
  std::vector<Tensor> inputs;
  Tensor output;
  i64 margin = 32;                // points at every edge that are not compared: peers treat borders differently
  double mean_limit = 0;          // largest mean difference between two peers
  double max_limit = 0;           // largest difference at one point
  std::array<double, 2> reach{};  // the figure to reach, in copies of the job's arrays, on one and two threads; 0: none
  bool long_running = false;      // left out of a quick run
};

// Images of 3840 x 2160 take the extents `size` where it is given. Every extent is divided by `shrink`, to try the
// harness; jobs that would have nothing left to compare are left out.
std::vector<Job> all_jobs(int shrink = 1, const Shape& size = {});

// One way of running a job.
struct Prepared {
  std::function<void(const Buffers&)> run;
  std::string note;         // the schedule chosen, the library's path
  bool same_result = true;  // false: a related job whose result is not comparable
};

// A library or a compiler beside which we are measured.
class Peer {
 public:
  virtual ~Peer() = default;
  virtual std::string name() const = 0;
  virtual std::string version() const = 0;
  // Called before any job, with the thread count of all the jobs that follow (counts only grow).
  virtual void set_threads(int threads) = 0;
  // Nothing where the peer has no such job. May measure among several schedules.
  virtual std::optional<Prepared> prepare(const Job&, const Settings&) = 0;
};

struct PeerEntry {
  std::string name;
  std::string missing;  // why there is no such peer, when there is none
  std::unique_ptr<Peer> peer;
};

PeerEntry tessera_peer(const std::string& jobs_folder);
PeerEntry tessera_untiled_peer(const std::string& jobs_folder);
PeerEntry plain_peer();
PeerEntry opencv_peer();
// quick: fewer schedules to choose from, no automatic schedulers.
PeerEntry halide_peer(bool quick);

}  // namespace tessera::bench
