// `explain` for CUDA says what reaches the driver: names, grids and blocks of every launch of a run, and what the
// driver says of the compiled kernels. The driver is the fake one of tests/run_cuda, which keeps a list.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <numeric>

#include "device/programs.hpp"
#include "tessera/tessera.hpp"

namespace tessera {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

// Before anything asks for a driver.
[[maybe_unused]] const bool faked = [] {
  std::string cache = (std::filesystem::temp_directory_path() / "tessera-explain-XXXXXX").string();
  setenv("TESSERA_CUDA_DRIVER", FAKE_DRIVER, 1);
  setenv("TESSERA_NVRTC", FAKE_NVRTC, 1);
  if (mkdtemp(cache.data()) != nullptr) setenv("TESSERA_CACHE", cache.c_str(), 1);
  return true;
}();

class ExplainCuda : public ::testing::Test {
 protected:
  static void TearDownTestSuite() { std::filesystem::remove_all(std::getenv("TESSERA_CACHE")); }
};

// One line a launch: name, grid, block. Forgets them.
std::string launched() {
  void* driver = dlopen(FAKE_DRIVER, RTLD_NOW | RTLD_LOCAL);
  const auto list = reinterpret_cast<const char* (*)()>(dlsym(driver, "fake_cuda_launches"));
  return list();
}

RunOptions on_cuda(Schedule schedule = Schedule::automatic) {
  RunOptions options;
  options.target = "cuda";
  options.schedule = schedule;
  return options;
}

TEST_F(ExplainCuda, EqualsWhatIsLaunched) {
  const Program program = Program::from_text(two_stages);
  for (const Schedule schedule : {Schedule::automatic, Schedule::untiled})
    for (const Shape& shape : {Shape{480, 640}, {2000, 3000}, {4, 6}}) {
      SCOPED_TRACE(to_string(shape));
      const json j = json::parse(program.explain({shape}, on_cuda(schedule), ExplainFormat::json));
      std::string expected;
      for (const json& g : j["groups"])
        for (const json& k : g["kernels"]) {
          expected += k["name"].get<std::string>();
          for (const char* what : {"grid", "block"})
            for (const json& n : k[what]) expected += " " + std::to_string(n.get<i64>());
          expected += "\n";
          EXPECT_EQ(k["registers"], 40);
          EXPECT_EQ(k["shared_bytes"], 1024);
          EXPECT_EQ(k["spilled_bytes"], 0);
          EXPECT_EQ(k["warps"].get<int>() % k["blocks_per_multiprocessor"].get<int>(), 0);
          EXPECT_LE(k["warps"], k["most_warps"]);
        }
      const Array image = Device::open("cuda").array(ElementType::f32, shape);  // of the host it may run in slabs
      launched();
      program.run({image}, on_cuda(schedule));
      EXPECT_EQ(launched(), expected);
      EXPECT_FALSE(expected.empty());
      EXPECT_EQ(j["groups"][0]["kernels"][0]["runs"] == "register tiles",
                schedule == Schedule::automatic && shape[0] > 4);
      EXPECT_EQ(j["device_facts"]["runs_untiled_as_small"], schedule == Schedule::automatic && shape[0] == 4);
    }
}

// Every way that is asked answers: one is taken, the others have a reason or a price; and the one that is taken runs.
TEST_F(ExplainCuda, TellsEveryWayThatWasConsidered) {
  const auto ways = [](const std::string& text, const Shape& shape, const RunOptions& options) {
    const json j = json::parse(Program::from_text(text).explain({shape}, options, ExplainFormat::json));
    return std::make_pair(j["groups"][0]["ways"], j["groups"][0]["kernels"][0]["runs"].get<std::string>());
  };
  const auto taken = [](const json& all) {
    std::string name;
    for (const json& w : all) {
      if (w["taken"]) name += (w["form"].is_null() ? w["way"] : w["form"]).get<std::string>();
      EXPECT_TRUE(!w["taken"] || w["refused"].is_null());
      EXPECT_TRUE(w["refused"].is_null() || !w["refused"].get<std::string>().empty());
    }
    return name;
  };
  const auto [tiles, tiles_run] = ways(two_stages, {480, 640}, on_cuda());
  EXPECT_EQ(taken(tiles), "register tiles");
  EXPECT_EQ(tiles_run, "register tiles");
  std::vector<std::string> asked;
  for (const json& w : tiles) asked.push_back(w["way"]);
  EXPECT_EQ(asked, (std::vector<std::string>{"keyed", "matrix units", "large tiles", "transform tiles", "pieces",
                                             "march", "strips", "chain", "points"}));
  EXPECT_EQ(taken(ways(two_stages, {480, 640}, on_cuda(Schedule::untiled)).first), "points");
  EXPECT_EQ(taken(ways(two_stages, {480, 640}, on_cuda(Schedule::tiled)).first), "shared tiles");
  EXPECT_EQ(taken(ways(two_stages, {480, 640}, on_cuda(Schedule::stream)).first), "strips");
  const std::string dense =
      "stencil f(vector#3 float X) { return sum(l = -1..1, i = -1..1, j = -1..1) ((l * 9 + i * 5 + j * j + 3) * "
      "X@[l,i,j]); } parameter K, M, N; vector#3 float a[K,M,N]; return f(a:clamped);";
  const json volume = ways(dense, {64, 64, 256}, on_cuda()).first;
  EXPECT_EQ(taken(volume), "march");
  EXPECT_EQ(volume.size(), 6U);  // it settles
  const auto [reduced, reduced_run] =
      ways("parameter M, N; vector#2 float a[M,N]; return lo = min(a), m = mean(a);", {480, 640}, on_cuda());
  EXPECT_EQ(taken(reduced), "pieces");
  EXPECT_EQ(reduced_run, "pieces");
  const std::string told = Program::from_text(two_stages).explain({{480, 640}}, on_cuda());
  EXPECT_NE(told.find("runs as    register tiles, "), std::string::npos) << told;
  EXPECT_EQ(told.find("march"), std::string::npos) << told;  // it is for other groups
  EXPECT_NE(Program::from_text(two_stages).explain({{480, 640}}, on_cuda(), ExplainFormat::json).find("not one stage"),
            std::string::npos);
  const std::string few =
      "stencil f(vector#3 float X) { return X@[-1,0,0] + 2 * X@[0,1,0] + 3 * X@[0,0,1]; } parameter K, M, N; vector#3 "
      "float a[K,M,N]; return f(a:clamped);";
  const std::string refused = Program::from_text(few).explain({{64, 64, 256}}, on_cuda());
  EXPECT_NE(refused.find("not        march: it has 3 terms, fewer than 12"), std::string::npos) << refused;
}

// What is put together where it belongs takes no kernel, and is drawn all the same.
TEST_F(ExplainCuda, ChannelsTakeNoKernel) {
  const Program program = Program::from_text(
      "stencil f(vector#2 float X) { return X@[0,1] - X@[1,0]; } stencil g(vector#3 float X) { return X@[-1,0,1] + "
      "X@[1,1,0]; } parameter M, N; vector#2 float image[M,N]; a = ( [0..,..,..] = f(image:wrap); [1..,..,..] = "
      "f(image:mirror); ); return g(a:clamped);");
  const Shape shape{200, 300};
  const json j = json::parse(program.explain({shape}, on_cuda(), ExplainFormat::json));
  std::size_t kernels = 0, in_place = 0;
  for (const json& g : j["groups"]) {
    kernels += g["kernels"].size(), in_place += g["in_place"].size();
    EXPECT_FALSE(g["reads"].empty());
    EXPECT_FALSE(g["writes"].empty());
  }
  EXPECT_EQ(in_place, 1U);
  const Array image = Device::open("cuda").array(ElementType::f32, shape);
  launched();
  program.run({image}, on_cuda());
  const std::string lines = launched();
  EXPECT_EQ(static_cast<std::size_t>(std::count(lines.begin(), lines.end(), '\n')), kernels);
  EXPECT_NE(program.explain({shape}, on_cuda(), ExplainFormat::svg).find("no kernel"), std::string::npos);
}

// Three at once, each with a queue and a thread.
TEST_F(ExplainCuda, LargeImagesOfTheHostGoInSlabs) {
  const Program program = Program::from_text(two_stages);
  RunOptions options = on_cuda();
  std::vector<i64> done;
  i64 parts = 0;
  options.on_progress = [&](const Progress& p) {
    done.push_back(p.done);
    parts = p.total;
  };
  launched();
  program.run({Array(ElementType::f32, {4000, 3000})}, options);
  EXPECT_GT(parts, 4);
  const std::string launches = launched();
  EXPECT_EQ(std::count(launches.begin(), launches.end(), '\n'), parts);
  std::vector<i64> expected(static_cast<std::size_t>(parts));
  std::iota(expected.begin(), expected.end(), 1);
  EXPECT_EQ(done, expected);
  // In one piece where the caller's stream is to run it.
  Stream stream(Device::open("cuda"));
  options.stream = &stream;
  options.target.clear();
  program.run({Array(ElementType::f32, {4000, 3000})}, options);
  stream.wait();
  EXPECT_EQ(parts, 1);
  // A cancelled run stops all of them.
  const std::atomic<bool> cancel{true};
  options = on_cuda();
  options.cancel = &cancel;
  EXPECT_THROW(program.run({Array(ElementType::f32, {4000, 3000})}, options), Error);
}

TEST_F(ExplainCuda, TellsTheDevice) {
  const Program program = Program::from_text(two_stages);
  const json j = json::parse(program.explain({{480, 640}}, on_cuda(), ExplainFormat::json));
  EXPECT_EQ(j["target"], "cuda");
  EXPECT_EQ(j["device"], "Fake GPU");
  const json& facts = j["device_facts"];
  EXPECT_EQ(facts["found"], true);
  EXPECT_EQ(facts["compiled_for"], "sm_90");
  EXPECT_FALSE(facts["bandwidth_assumed"]);
  EXPECT_FALSE(facts["operations_assumed"]);
  EXPECT_NEAR(facts["bandwidth"].get<double>(), 4.9e12, 0.1e12);
  EXPECT_NEAR(facts["operations_per_second"].get<double>(), 132 * 128 * 1.98e9, 1e9);
  const std::string said = program.explain({{480, 640}}, on_cuda());
  EXPECT_THAT(said, HasSubstr("cuda 0: Fake GPU"));
  EXPECT_THAT(said, HasSubstr("compiled for sm_90 by CUDA driver 12.8"));
}

TEST_F(ExplainCuda, RefusesDevicesThatAreNotThere) {
  RunOptions options = on_cuda();
  options.device = 3;
  try {
    Program::from_text(two_stages).explain({{480, 640}}, options);
    FAIL() << "it was explained";
  } catch (const Error& e) {
    EXPECT_EQ(e.error_class(), ErrorClass::device);
    EXPECT_THAT(e.message(), HasSubstr("there is no CUDA device 3"));
  }
}

}  // namespace
}  // namespace tessera
