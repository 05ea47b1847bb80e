// `explain` for OpenCL says what a run launches, and needs no device at all: here no CUDA driver is ever found.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "device/programs.hpp"
#include "engine/program_impl.hpp"
#include "ir/bind.hpp"
#include "support/opencl.hpp"
#include "tessera/tessera.hpp"

namespace tessera {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

[[maybe_unused]] const bool no_driver =
    std::getenv("TESSERA_TARGET") != nullptr || setenv("TESSERA_CUDA_DRIVER", "no such library", 1) == 0;

constexpr const char* both = R"(
parameter M, N;
stencil half(vector#2 float X) { return X@[(0,2),(0,2)] + X@[(1,2),(1,2)]; }
stencil blur(vector#2 float X) { return (X@[0,-1] + X + X@[0,1]) / 3; }
vector#2 float image[M,N];
b = blur(image:clamped);
return fine = blur(b:mirror), coarse = half(b);
)";
constexpr const char* volume = R"(
parameter L, M, N;
stencil mean(vector#3 float X) { return sum(i = -1..1, j = -1..1, k = -1..1) ( X@[i,j,k] ) / 27; }
vector#3 float image[L,M,N];
return mean(mean(image:clamped):clamped);
)";

RunOptions on(const std::string& target, Schedule schedule = Schedule::automatic) {
  RunOptions options;
  options.target = target;
  options.schedule = schedule;
  return options;
}

std::vector<json> kernels_of(const json& j) {
  std::vector<json> kernels;
  for (const json& g : j["groups"])
    for (const json& k : g["kernels"]) kernels.push_back(k);
  return kernels;
}

TEST(ExplainDevice, EqualsWhatIsLaunched) {
  if (cannot_run(no_opencl())) return;
  const std::vector<std::pair<const char*, Shape>> cases = {{two_stages, {480, 640}},
                                                            {two_stages, {37, 3000}},
                                                            {two_stages, {4, 6}},
                                                            {both, {300, 500}},
                                                            {volume, {20, 30, 40}}};
  for (const auto& [text, shape] : cases)
    for (const Schedule schedule : {Schedule::automatic, Schedule::stream, Schedule::untiled}) {
      SCOPED_TRACE(to_string(shape));
      const Program program = Program::from_text(text);
      const RunOptions options = on("opencl", schedule);
      const json j = json::parse(program.explain({shape}, options, ExplainFormat::json));
      const std::vector<json> said = kernels_of(j);
      const std::vector<i64> parameters = ir::bind_parameters(program.impl().graph, {shape});
      const auto compiled = program.impl().on_device(options, parameters);
      const auto queue = compiled->queue();
      const auto bound = compiled->bind(parameters, *queue, options);
      const auto& kernels = compiled->serving(parameters, options).program().kernels;
      ASSERT_EQ(said.size(), bound->launches().size());
      for (std::size_t k = 0; k < said.size(); ++k) {
        const auto& launch = bound->launches()[k];
        EXPECT_EQ(said[k]["name"], launch.launch.kernel);
        EXPECT_EQ(said[k]["grid"], json(launch.launch.grid));
        EXPECT_EQ(said[k]["block"], json(launch.launch.block));
        i64 rows = 0;
        for (std::size_t i = 0; i < kernels[k].integers.size(); ++i)
          if (kernels[k].integers[i].kind == lower::DeviceKernel::Integer::Kind::strip) rows = launch.integers[i];
        const bool framed = kernels[k].frame.has_value();
        EXPECT_EQ(framed, rows == 0 && said[k]["strip_rows"] > 0);
        EXPECT_EQ(said[k]["strip_rows"], framed ? kernels[k].frame->height : rows);
        EXPECT_EQ(said[k]["runs"], framed ? "register tiles" : rows > 0 ? "strips" : "points");
      }
    }
}

TEST(ExplainDevice, WithoutADevice) {
  const Program program = Program::from_text(two_stages);
  const json j = json::parse(program.explain({{480, 640}}, on("cuda"), ExplainFormat::json));
  EXPECT_EQ(j["device_facts"]["found"], false);
  EXPECT_THAT(j["device_facts"]["missing"].get<std::string>(), HasSubstr("CUDA driver is not available"));
  EXPECT_EQ(j["device_facts"]["multiprocessors"], 132);
  const std::vector<json> kernels = kernels_of(j);
  ASSERT_EQ(kernels.size(), 1U);
  EXPECT_EQ(kernels[0]["runs"], "register tiles");
  EXPECT_TRUE(kernels[0]["registers"].is_null());
  EXPECT_GT(kernels[0]["registers_estimated"], 20);
  EXPECT_GT(kernels[0]["strip_rows"], 0);
  EXPECT_GT(kernels[0]["milliseconds"], 0);
  const std::string text = program.explain({{480, 640}}, on("cuda"));
  EXPECT_THAT(text, AllOf(HasSubstr("no device was found (the CUDA driver is not available)"), HasSubstr("tsr_g0"),
                          HasSubstr("points a thread"), Not(HasSubstr("  tiles      "))));
  // Which device is asked for matters only where there are some.
  RunOptions third = on("cuda");
  third.device = 3;
  EXPECT_EQ(json::parse(program.explain({{480, 640}}, third, ExplainFormat::json))["device_facts"]["found"], false);
}

TEST(ExplainDevice, SaysWhyNotInStrips) {
  const Program program = Program::from_text(
      "stencil shade(vector#3 float X, vector#2 float P) { return X@[1,0,0] * P@[0,1]; }\n"
      "parameter L, M, N;\nvector#3 float image[L,M,N];\nvector#2 float plane[M,N];\n"
      "return shade(image:clamped, plane:clamped);\n");
  const std::vector<Shape> shapes{{20, 30, 400}, {30, 400}};
  EXPECT_THAT(
      program.explain(shapes, on("cuda")),
      AllOf(HasSubstr("a point a thread"), HasSubstr("not in strips, since it reads an array of fewer dimensions")));
  EXPECT_THAT(program.explain(shapes, on("cuda", Schedule::untiled)), Not(HasSubstr("not in strips")));
  const std::string tiles = Program::from_text(volume).explain({{20, 30, 400}}, on("cuda"));
  EXPECT_THAT(tiles, AllOf(HasSubstr("tiles of 2 x 16 x 64"), Not(HasSubstr("not in strips"))));
  EXPECT_THAT(Program::from_text(two_stages).explain({{4, 6}}, on("cuda")), HasSubstr("runs untiled"));
}

TEST(ExplainDevice, CountsAMultiplyAddOnceWhereItMayContract) {
  const Program program = Program::from_text(
      "stencil f(vector#2 float X) { return 2.5f * X@[0,-1] + 0.3f * X + 0.7f * X@[0,1]; }\n"
      "parameter M, N;\nvector#2 float image[M,N];\nreturn f(image:clamped);\n");
  RunOptions options = on("cuda", Schedule::untiled);
  auto operations = [&] {
    return kernels_of(json::parse(program.explain({{480, 640}}, options, ExplainFormat::json)))
        .at(0)["operations_per_point"]
        .get<double>();
  };
  EXPECT_EQ(operations(), 3);
  options.numbers = Numbers::exact;
  EXPECT_EQ(operations(), 7);  // and two that give NaNs their one pattern
}

TEST(ExplainDevice, RefusesWhatIsNotThere) {
  const Program program = Program::from_text(two_stages);
  auto refusal = [&](const RunOptions& options) {
    try {
      program.explain({{480, 640}}, options);
    } catch (const Error& e) {
      return e.error_class();
    }
    return ErrorClass::internal;
  };
  EXPECT_EQ(refusal(on("abacus")), ErrorClass::argument);
  RunOptions far = on("opencl");
  far.device = 1000;
  if (!run::opencl::find().devices.empty()) {
    EXPECT_EQ(refusal(far), ErrorClass::device);
  }
  EXPECT_THROW(program.explain({{i64{1} << 24, i64{1} << 24}}, on("cuda", Schedule::untiled)), Error);  // one launch
}

// A group of more rows than registers would run a point a thread, every stage through memory: it is cut instead.
TEST(ExplainDevice, GroupsAreNoLargerThanAThreadsRegisters) {
  const Program program = Program::from_file(TESSERA_SOURCE_DIR "/examples/canny.forma");
  const auto report = nlohmann::json::parse(program.explain({{2160, 3840}}, on("cuda"), ExplainFormat::json));
  ASSERT_GT(report["groups"].size(), 1u);
  EXPECT_LT(report["groups"].size(), 6u);
  for (const auto& group : report["groups"]) {
    ASSERT_EQ(group["kernels"].size(), 1u);
    EXPECT_NE(group["kernels"][0]["runs"], "points");
    EXPECT_LE(group["kernels"][0]["registers_estimated"], 200);
  }
  EXPECT_THAT(program.explain({{2160, 3840}}, on("cuda")), HasSubstr("together their rows need"));
}

}  // namespace
}  // namespace tessera
