// tessera_bench: every job through every peer, one thread count after the other, one CSV row per figure. `./dev bench`
// (bench/run.py) starts it, starts it again, and makes the tables.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>

#include "job.hpp"
#include "tessera/error.hpp"

namespace tessera::bench {
namespace {

constexpr const char* header =
    "start,job,peer,threads,median_ms,min_ms,copy_ms,runs,other_cpu,mean_difference,max_difference,verdict,note\n";

struct Options {
  Settings settings;
  std::vector<std::string> peers, filter;
  std::vector<int> threads{1, 2};
  std::string csv, jobs = TESSERA_BENCH_JOBS, exchange;
  std::vector<i64> size;
  int start = 1, shrink = 1, margin = -1;
  bool quick = false, list = false;
};

// Rows to the file as they come, so that an interrupted run keeps what it has.
class Table {
 public:
  explicit Table(const std::string& path) {
    if (path.empty()) return;
    const bool fresh = !std::filesystem::exists(path);
    file_.open(path, std::ios::app);
    if (!file_) throw Error(ErrorClass::io, "cannot write " + path);
    if (fresh) file_ << header << std::flush;
  }
  void row(const std::string& text) {
    std::fputs(text.c_str(), stdout);
    std::fflush(stdout);
    if (file_.is_open()) file_ << text << std::flush;
  }

 private:
  std::ofstream file_;
};

// Raw bytes for the Python peers: the inputs of a job and the result that theirs is compared with.
void exchange(const std::string& folder, const Job& job, const Buffers& set, const Array& result) {
  std::filesystem::create_directories(folder);
  const auto write = [&](const std::string& name, const Array& a) {
    std::ofstream file(folder + "/" + job.name + "." + name, std::ios::binary);
    file.write(a.as<const char>(), std::streamsize(double(a.count()) * double(a.format().size())));
    if (!file) throw Error(ErrorClass::io, "cannot write the arrays of " + job.name + " into " + folder);
  };
  if (set.inputs.size() == 1) write("in", set.inputs[0]);  // of one array; no other job has a Python peer
  if (!result.empty()) write("out", result);
  std::ofstream about(folder + "/" + job.name + ".json");
  const auto tensor = [](const Tensor& t) {
    std::string shape;
    for (i64 n : t.shape) shape += (shape.empty() ? "" : ", ") + std::to_string(n);
    return "{\"type\": \"" + std::string(name_of(t.type)) + "\", \"shape\": [" + shape + "]}";
  };
  about << "{\"in\": " << tensor(job.inputs[0]) << ", \"out\": " << tensor(job.output) << ", \"margin\": " << job.margin
        << ", \"mean_limit\": " << job.mean_limit
        << ", \"max_limit\": " << (std::isfinite(job.max_limit) ? job.max_limit : 1e300) << "}\n";
}

// Channels have no border. `chosen` is of the command line, -1: the job's own.
Shape margins(const Job& job, int chosen) {
  Shape margin(job.output.shape.size(), chosen >= 0 ? chosen : job.margin);
  if (margin.size() == 3 && job.output.shape[0] <= 4) margin[0] = 0;
  return margin;
}

class Run {
 public:
  Run(const Options& options, std::vector<PeerEntry>& peers) : options_(options), peers_(peers), table_(options.csv) {}

  // False when a result was wrong or a peer failed.
  bool all() {
    for (int threads : options_.threads) {
      for (PeerEntry& entry : peers_) entry.peer->set_threads(threads);
      for (const Job& job : all_jobs(options_.shrink, options_.size))
        if (wanted(job)) one(job, threads);
    }
    return good_;
  }

 private:
  bool wanted(const Job& job) const {
    if (options_.filter.empty()) return !options_.quick || !job.long_running;
    return std::any_of(options_.filter.begin(), options_.filter.end(),
                       [&](const std::string& part) { return job.name.find(part) != std::string::npos; });
  }

  void one(const Job& job, int threads) {
    std::vector<Buffers> sets = buffer_sets(job.inputs, job.output, options_.settings.rotate_mib);
    double in = 0;
    for (const Tensor& t : job.inputs) in += t.bytes();
    const double copy = copy_ms(options_.settings, in, job.output.bytes(), threads);
    Array& reference = references_[job.name];
    for (PeerEntry& entry : peers_) {
      try {
        const std::optional<Prepared> prepared = entry.peer->prepare(job, options_.settings);
        if (!prepared) continue;
        const Timing t = measure(options_.settings, [&](int i) { prepared->run(sets[std::size_t(i) % sets.size()]); });
        const Array& result = sets[0].output;  // of the first warm-up run
        std::string difference = ",,-";
        if (prepared->same_result && reference.empty()) {
          reference = result.clone();
          difference = ",,reference";
        } else if (prepared->same_result) {
          difference = judge(job, entry.name, compare(reference, result, margins(job, options_.margin)));
        }
        char row[256];
        std::snprintf(row, sizeof row, "%d,%s,%s,%d,%.4f,%.4f,%.4f,%d,%.2f,", options_.start, job.name.c_str(),
                      entry.name.c_str(), threads, t.median_ms, t.min_ms, copy, t.runs, t.other_cpu);
        table_.row(row + difference + ",\"" + prepared->note + "\"\n");
      } catch (const std::exception& e) {
        good_ = false;
        std::fprintf(stderr, "%s: %s on %d threads: %s\n", job.name.c_str(), entry.name.c_str(), threads, e.what());
      }
    }
    if (!options_.exchange.empty() && threads == options_.threads.front())
      exchange(options_.exchange, job, sets[0], reference);
  }

  std::string judge(const Job& job, const std::string& peer, const Difference& d) {
    const bool same = d.mean <= job.mean_limit && d.max <= job.max_limit;
    if (!same) {
      good_ = false;
      std::fprintf(stderr, "%s: %s differs from the first peer: mean %.3g (limit %.3g), max %.3g (limit %.3g)\n",
                   job.name.c_str(), peer.c_str(), d.mean, job.mean_limit, d.max, job.max_limit);
    }
    char text[64];
    std::snprintf(text, sizeof text, "%.3g,%.3g,%s", d.mean, d.max, same ? "same" : "DIFFERENT");
    return text;
  }

  const Options& options_;
  std::vector<PeerEntry>& peers_;
  Table table_;
  std::map<std::string, Array> references_;
  bool good_ = true;
};

std::vector<PeerEntry> open_peers(const Options& options) {
  std::vector<PeerEntry> found;
  const auto add = [&](PeerEntry entry) {
    const std::vector<std::string>& names = options.peers;
    if (!names.empty() && std::find(names.begin(), names.end(), entry.name) == names.end()) return;
    std::fprintf(stderr, "peer %-16s %s\n", entry.name.c_str(),
                 entry.peer ? entry.peer->version().c_str() : ("missing: " + entry.missing).c_str());
    if (entry.peer) found.push_back(std::move(entry));
  };
  add(tessera_peer(options.jobs));
  add(tessera_untiled_peer(options.jobs));
  add(plain_peer());
  add(opencv_peer());
  add(halide_peer(options.quick));
  return found;
}

}  // namespace
}  // namespace tessera::bench

int main(int argc, char** argv) {
  using namespace tessera::bench;
  Options options;
  CLI::App app{"measures Tessera beside its peers; one CSV row per figure"};
  app.add_option("--peers", options.peers, "only these: tessera, tessera-untiled, plain, opencv, halide")
      ->delimiter(',');
  app.add_option("--filter", options.filter, "only jobs whose name contains one of these")->delimiter(',');
  app.add_option("--threads", options.threads, "thread counts")->delimiter(',')->check(CLI::Range(1, 1024));
  app.add_option("--seconds", options.settings.seconds, "sampling time of one figure");
  app.add_option("--rotate-mib", options.settings.rotate_mib, "size of the rotating buffer sets");
  app.add_option("--quiet-wait", options.settings.quiet_wait, "seconds to wait for a quiet machine; 0: do not");
  app.add_option("--csv", options.csv, "append the rows to this file");
  app.add_option("--start", options.start, "number of this process start, written into the rows");
  app.add_option("--jobs", options.jobs, "folder of the .forma files");
  app.add_option("--exchange", options.exchange, "write inputs and results here for the Python peers");
  app.add_option("--size", options.size, "rows and columns of the images instead of 2160 and 3840")
      ->expected(2)
      ->check(CLI::Range(64, 1 << 16));
  app.add_option("--margin", options.margin, "points at every edge that are not compared; 0 where all borders are ours")
      ->check(CLI::Range(0, 1024));
  app.add_option("--shrink", options.shrink, "divide every extent, to try the harness")->check(CLI::Range(1, 16));
  app.add_flag("--quick", options.quick, "no long jobs, fewer Halide schedules");
  app.add_flag("--list", options.list, "say which peers and jobs there are");
  CLI11_PARSE(app, argc, argv);
  std::sort(options.threads.begin(), options.threads.end());
  try {
    std::fprintf(stderr, "machine %s\n", machine_name().c_str());
    std::vector<PeerEntry> peers = open_peers(options);
    if (options.list) {
      for (const Job& job : all_jobs()) std::printf("%-20s %s\n", job.name.c_str(), job.title.c_str());
      return 0;
    }
    return Run(options, peers).all() ? 0 : 1;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "tessera_bench: error: %s\n", e.what());
    return 2;
  }
}
