// Halide, compiled in process for this machine: the fastest of a grid of schedules of ours and of Halide's automatic
// schedulers, found anew for each job in a short measurement.
//
// Halide's thread pool never shrinks: a worker that exists keeps taking work even after set_num_threads(1). So the
// harness runs every job on one thread before any job on two.
#include "job.hpp"

#ifdef TESSERA_BENCH_HALIDE
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <utility>

#include "peers/halide.hpp"
#endif

namespace tessera::bench {
#ifdef TESSERA_BENCH_HALIDE
namespace {

Halide::Type type_of(ElementType type) {
  switch (type) {
    case ElementType::u8:
      return Halide::UInt(8);
    case ElementType::u16:
      return Halide::UInt(16);
    case ElementType::i16:
      return Halide::Int(16);
    default:
      return Halide::Float(32);
  }
}

Halide::Buffer<> view(const Array& a) {
  const std::vector<int> extents(a.shape().rbegin(), a.shape().rend());
  return Halide::Buffer<>(type_of(a.format().scalar), a.data(), extents);
}

struct Candidate {
  std::string how;
  Halide::Callable call;
};

template <std::size_t... I>
int call_with(const Candidate& candidate, const std::vector<Halide::Buffer<>>& in, const Halide::Buffer<>& out,
              std::index_sequence<I...>) {
  return candidate.call(in[I]..., out);
}

void call(const Candidate& candidate, const Buffers& set) {
  const Halide::Buffer<> out = view(set.output);
  std::vector<Halide::Buffer<>> in;
  for (const Array& input : set.inputs) in.push_back(view(input));
  int status = 0;
  switch (in.size()) {
    case 1:
      status = call_with(candidate, in, out, std::make_index_sequence<1>());
      break;
    case 3:
      status = call_with(candidate, in, out, std::make_index_sequence<3>());
      break;
    case 4:
      status = call_with(candidate, in, out, std::make_index_sequence<4>());
      break;
    case 12:
      status = call_with(candidate, in, out, std::make_index_sequence<12>());
      break;
    default:
      throw std::runtime_error("the Halide peer takes one, three, four or twelve inputs");
  }
  if (status != 0) throw std::runtime_error("a Halide call failed with status " + std::to_string(status));
}

class HalidePeer final : public Peer {
 public:
  explicit HalidePeer(bool quick) : quick_(quick), target_(Halide::get_host_target()) {
    if (quick) return;
    for (const auto& [name, file] :
         {std::pair{"Mullapudi2016", "mullapudi2016"}, {"Li2018", "li2018"}, {"Adams2019", "adams2019"}}) {
      try {
        Halide::load_plugin(std::string(TESSERA_BENCH_HALIDE "/libautoschedule_") + file + ".so");
        automatic_.emplace_back(name);
      } catch (const Halide::Error& e) {
        std::fprintf(stderr, "halide: no %s: %s\n", name, e.what());
      }
    }
  }

  std::string name() const override { return "halide"; }
  std::string version() const override {
    return std::to_string(HALIDE_VERSION_MAJOR) + "." + std::to_string(HALIDE_VERSION_MINOR) + "." +
           std::to_string(HALIDE_VERSION_PATCH) + ", " + target_.to_string();
  }
  void set_threads(int threads) override {
    // The variable counts for the pool that the first call makes, the setter for one that exists.
    setenv("HL_NUM_THREADS", std::to_string(threads).c_str(), 1);
    Halide::Internal::JITSharedRuntime::set_num_threads(threads);
    threads_ = threads;
  }

  std::optional<Prepared> prepare(const Job& job, const Settings& settings) override {
    const auto [entry, fresh] = compiled_.try_emplace(job.name);
    if (fresh) entry->second = compile(job);
    const std::vector<Candidate>& candidates = entry->second;
    if (candidates.empty()) return std::nullopt;
    Settings brief = settings;
    brief.seconds = settings.seconds / 4;
    brief.quiet_wait = 0;
    brief.least_runs = 3;
    const std::vector<Buffers> sets = buffer_sets(job.inputs, job.output, settings.rotate_mib);
    const Candidate* best = nullptr;
    double best_ms = 0;
    for (const Candidate& c : candidates) {
      const double ms = measure(brief, [&](int i) { call(c, sets[std::size_t(i) % sets.size()]); }).median_ms;
      if (!best || ms < best_ms) best = &c, best_ms = ms;
    }
    return Prepared{[best](const Buffers& set) { call(*best, set); },
                    best->how + "; the best of " + std::to_string(candidates.size()), true};
  }

 private:
  std::vector<Candidate> compile(const Job& job) const {
    const Recipe recipe = halide_any_recipe(job.name);
    std::vector<Candidate> out;
    if (!recipe.make) return out;
    const std::size_t step = quick_ ? recipe.cuts.size() / 4 | 1 : 1;  // odd: both ways of the fastest choice
    for (std::size_t i = 0; i < recipe.cuts.size(); i += step)
      attempt(job, recipe, recipe.cuts[i].text(), out,
              [&](Algorithm& a) { (a.schedule ? a.schedule : schedule_strips)(a, recipe.cuts[i]); });
    if (recipe.automatic)
      for (const std::string& name : automatic_)
        attempt(job, recipe, name, out, [&](Algorithm& a) {
          for (std::size_t i = 0; i < a.inputs.size(); ++i) a.inputs[i].set_estimates(region(job.inputs[i].shape));
          a.out.set_estimates(region(job.output.shape));
          Halide::Pipeline(a.out).apply_autoscheduler(target_, {name, {{"parallelism", "2"}}});
        });
    return out;
  }

  static Halide::Region region(const Shape& shape) {
    Halide::Region r;
    for (auto n = shape.rbegin(); n != shape.rend(); ++n) r.emplace_back(0, int(*n));
    return r;
  }

  void attempt(const Job& job, const Recipe& recipe, const std::string& how, std::vector<Candidate>& out,
               const std::function<void(Algorithm&)>& schedule) const {
    try {
      Algorithm a = recipe.make();
      schedule(a);
      const std::vector<Halide::Argument> arguments(a.inputs.begin(), a.inputs.end());
      out.push_back({how, Halide::Pipeline(a.out).compile_to_callable(arguments, target_)});
    } catch (const Halide::Error& e) {
      std::fprintf(stderr, "halide: %s, %s: %.300s\n", job.name.c_str(), how.c_str(), e.what());
    }
  }

  bool quick_;
  Halide::Target target_;
  int threads_ = 1;
  std::vector<std::string> automatic_;
  std::map<std::string, std::vector<Candidate>> compiled_;
};

}  // namespace

PeerEntry halide_peer(bool quick) {
  return {"halide", "", std::make_unique<HalidePeer>(quick)};
}
#else
PeerEntry halide_peer(bool) {
  return {"halide", "Halide was not found at build time (PyPI: halide; cmake -DHALIDE_ROOT=...)", nullptr};
}
#endif
}  // namespace tessera::bench
