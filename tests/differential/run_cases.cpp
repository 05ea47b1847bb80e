// The caller makes a case again when its child reports trouble: cases are functions of their number.
#include "run_cases.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <tuple>

#include "base/text.hpp"
#include "differential/random/shrink.hpp"
#include "isolate.hpp"
#include "support/opencl.hpp"
#include "support/sample.hpp"

namespace tessera::differential {
namespace {

// Compiled code goes to a folder of its own that is removed at the end; runs in one process, which tools repeat, keep
// theirs.
class CacheFolder : public testing::Environment {
 public:
  void SetUp() override {
    setenv("TESSERA_GUARDED", "1", 1);
    if (std::getenv("TESSERA_ONE_PROCESS") != nullptr && std::getenv("TESSERA_CACHE") != nullptr) return;
    std::string pattern = (std::filesystem::temp_directory_path() / "tessera-differential-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    setenv("TESSERA_CACHE", folder_.c_str(), 1);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

 private:
  std::filesystem::path folder_;
};

const auto* const registered = testing::AddGlobalTestEnvironment(new CacheFolder);

// TESSERA_TARGET=opencl: the same cases on that device, in the ways that it has.
double points_of(const std::vector<i64>& parameters) {
  double points = 1;
  for (const i64 n : parameters) points *= static_cast<double>(n);
  return points;
}

double most_points(const Case& c) {
  double most = 1;
  for (const std::vector<i64>& set : c.parameters) most = std::max(most, points_of(set));
  return most;
}

Case on_target(Case c) {
  const char* target = std::getenv("TESSERA_TARGET");
  if (target == nullptr || *target == 0 || std::string_view(target) == "cpu") return c;
  std::vector<Way> ways;
  const Numbers usual = c.ways.front().numbers;
  const Method method = c.ways.front().method;  // of graphs, which devices run as well
  const bool tiles = method == Method::transform && std::string_view(target) == "cuda";
  const bool taken = method == Method::direct || method == Method::separable || method == Method::low_rank || tiles;
  const Where there = c.seed % 2 == 0 ? Where::device : Where::device_views;
  // A third of the cases as strips, a third as tiles in shared memory.
  constexpr Schedule others[] = {Schedule::automatic, Schedule::stream, Schedule::tiled};
  const Schedule other = others[c.seed / 2 % 3];
  for (const auto& [schedule, numbers, placement, where] :
       {std::tuple{Schedule::automatic, Numbers::exact, Placement::flush_end, Where::host},
        std::tuple{Schedule::automatic, usual, Placement::view, Where::host},
        std::tuple{Schedule::untiled, usual, Placement::flush_begin, Where::host},
        std::tuple{other, Numbers::exact, Placement::flush_end, Where::slabs},
        std::tuple{other, Numbers::exact, Placement::flush_end, there}}) {
    Way way;
    way.target = target;
    c.may_refuse = true;  // not all that cores have
    way.schedule = schedule;
    way.numbers = numbers;
    way.placement = placement;
    way.where = where;
    if (taken && schedule == Schedule::automatic && numbers == usual) way.method = method;
    ways.push_back(way);
  }
  // Sums of volumes march in `fast` numbers alone; sums through transforms are of floats in those alone.
  const bool volumes = std::any_of(c.graph.arguments.begin(), c.graph.arguments.end(),
                                   [](const ir::Argument& a) { return a.extents.size() > 2; });
  if ((volumes || tiles) && usual == Numbers::fast)
    for (const Where where : {Where::slabs, there}) {
      ways.push_back(ways[1]);
      ways.back().placement = Placement::flush_end;
      ways.back().where = where;
    }
  c.ways = std::move(ways);
  const double most = most_points(c);
  // Register tiles are wider than most images of the tests: 128 columns, 512 of bytes, beside a frame.
  const auto seed = static_cast<i64>(c.seed);
  const bool narrow = std::all_of(c.graph.arguments.begin(), c.graph.arguments.end(), [](const ir::Argument& a) {
    return !a.is_array || (!a.format.is_struct() && size_of(a.format.scalar) <= 2);
  });
  if (c.graph.parameters.size() == 2) c.parameters.push_back({23 + seed % 31, (narrow ? 593 : 293) + seed % 97});
  // Those of volumes reach their sides where the columns are a multiple of what a thread has.
  const i64 columns = 256 + 8 * (seed % 5) + (seed % 3 == 0 ? seed % 8 : 0);
  if (c.graph.parameters.size() == 3) c.parameters.push_back({17 + seed % 6, 1 + seed % 4, columns});
  if (c.graph.parameters.size() == 4) c.parameters.push_back({17 + seed % 4, 2, 1 + seed % 3, columns});
  c.absolute *= std::max(1.0, most_points(c) / most);  // a transform adds up all points
  return c;
}

// TESSERA_POINTS=5000 leaves out sets of parameters whose product is larger, for tools that make everything slow.
Case of_this_size(Case c) {
  const char* given = std::getenv("TESSERA_POINTS");
  if (given == nullptr) return c;
  std::erase_if(c.parameters, [most = std::atof(given)](const std::vector<i64>& set) { return points_of(set) > most; });
  return c;
}

// Why cases cannot run on the target, in a process of its own: a driver does not live through a fork. "" when they can.
std::string target_is_missing() {
  const char* target = std::getenv("TESSERA_TARGET");
  if (target == nullptr) return "";
  std::string reason;
  Job job;
  job.work = [&](std::size_t, const auto&) -> std::string {
    RunOptions options;
    options.target = target;
    try {
      Program::from_text("parameter N; vector#1 float a[N]; return a;").run({Array(ElementType::f32, {4})}, options);
    } catch (const Error& e) {
      return e.error_class() == ErrorClass::device ? e.message() : "";
    }
    return "";
  };
  job.done = [&](std::size_t, const std::string& wrong, const std::string&, const std::string&) { reason = wrong; };
  run_isolated(1, job);
  return reason;
}

int shrink_seconds() {
  const char* given = std::getenv("TESSERA_SHRINK_SECONDS");
  return given != nullptr ? std::atoi(given) : 40;
}

}  // namespace

bool gcc_is_there() {
  const char* path = std::getenv("PATH");
  for (std::string_view folder : base::split(path != nullptr ? path : "", ':'))
    if (access((std::string(folder) + "/gcc").c_str(), X_OK) == 0) return true;
  return false;
}

// TESSERA_PART=2/5: every fifth case from number 2 on, so that several processes share them; TESSERA_SAMPLE=2/3: every
// third of a process's own.
bool of_this_part(std::size_t i, std::size_t count) {
  const char* given = std::getenv("TESSERA_PART");
  unsigned part = 0, parts = 1;
  if (given != nullptr && (std::sscanf(given, "%u/%u", &part, &parts) != 2 || parts == 0)) part = 0, parts = 1;
  return i % parts == part && in_sample(i / parts, (count + parts - 1 - part) / parts);
}

void run_cases(std::size_t count, const std::function<Case(std::size_t)>& make, int most) {
  if (cannot_run(target_is_missing())) return;
  int failed = 0;
  i64 executed = 0;
  Job job;
  job.seconds =
      std::getenv("TESSERA_TARGET") != nullptr ? 300 : 120;  // compilers of devices take half a minute for some
  job.work = [&](std::size_t i, const auto& note) -> std::string {
    if (failed >= most || !of_this_part(i, count)) return "";
    const Case c = of_this_size(on_target(make(i)));
    i64 done = 0;
    auto failure = check(c, [&](std::size_t p, std::size_t s) { note(fmt::format("{} {}", p, s)); }, &done);
    note(fmt::format("done {}", done));
    return failure ? fmt::format("{} {} {}", failure->parameters, failure->way, failure->what) : "";
  };
  job.done = [&](std::size_t i, const std::string& wrong, const std::string& died, const std::string& last) {
    long long done = 0;
    if (std::sscanf(last.c_str(), "done %lld", &done) == 1) executed += done;
    if ((wrong.empty() && died.empty()) || failed >= most) return;
    ++failed;
    Case c;
    try {
      c = of_this_size(on_target(make(i)));
    } catch (const std::exception& e) {
      ADD_FAILURE() << "case " << i << " cannot be made: " << e.what();
      return;
    }
    Failure failure;
    const std::string& text = died.empty() ? wrong : last;
    if (std::sscanf(text.c_str(), "%zu %zu", &failure.parameters, &failure.way) != 2) {
      ADD_FAILURE() << c.name << ": " << wrong << died << "\n" << describe(c);
      return;
    }
    failure.what = died.empty() ? wrong : died;
    const Found found = shrink(c, failure, shrink_seconds());
    ADD_FAILURE() << c.name << ": " << failure.what << "\nsmallest: " << found.what << "\n" << describe(found.smallest);
  };
  run_isolated(count, job);
  EXPECT_GT(executed + failed, 0) << "nothing was compared";
  std::printf("%zu cases, %lld runs compared\n", count, static_cast<long long>(executed));
}

}  // namespace tessera::differential
