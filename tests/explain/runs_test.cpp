// `explain` says what runs: groups, stages and tiles against the compiled program, tile shapes against the functions of
// the emitted code, rings against the scratch memory that it asks for.
#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <random>

#include "engine/executable.hpp"
#include "engine/program_impl.hpp"
#include "ir/bind.hpp"
#include "run/cpu/parallel.hpp"
#include "support/programs.hpp"

namespace tessera {
namespace {

using nlohmann::json;

std::vector<Array> inputs_of(const Program& program, const std::vector<Shape>& shapes) {
  std::vector<Array> arrays;
  for (std::size_t k = 0; k < shapes.size(); ++k) {
    const Parameter& p = program.inputs()[k];
    if (!p.is_array)
      arrays.push_back(scalar(1, p.format.scalar));
    else
      arrays.emplace_back(p.format, shapes[k]);
  }
  return arrays;
}

// One program for all tests of a sample: it keeps its compiled code.
const Program& program_of(const Sample& sample) {
  static std::map<std::string, Program> programs;
  auto found = programs.find(sample.name);
  if (found == programs.end()) found = programs.emplace(sample.name, Program::from_text(sample.text)).first;
  return found->second;
}

class ExplainRuns : public testing::TestWithParam<Sample> {};

TEST_P(ExplainRuns, EqualsWhatRan) {
  const Program& program = program_of(GetParam());
  std::vector<RunOptions> ways(3);
  ways[1].threads = 3;
  ways[2].tile_rows = 24;
  ways[2].tile_columns = 100;
  // Every schedule is compiled anew; two samples stand for all.
  if (GetParam().name == "pyramid") ways[1].schedule = Schedule::untiled;
  if (GetParam().name == "gather") ways[1].schedule = Schedule::stream;
  for (RunOptions& options : ways) {
    const json j = json::parse(program.explain(GetParam().shapes, options, ExplainFormat::json));
    const plan::Plan& plan = program.impl().executable(options)->plan();
    ASSERT_EQ(j["groups"].size(), plan.groups.size());
    ASSERT_EQ(j["stages"].size(), plan.graph.stage_count());
    i64 tiles = 0;
    for (std::size_t g = 0; g < plan.groups.size(); ++g) {
      EXPECT_EQ(j["groups"][g]["stages"].size(), plan.groups[g].stages.size());
      EXPECT_EQ(j["groups"][g]["passes"].size(), plan.groups[g].passes.size());
      tiles += j["groups"][g]["tiles"].get<i64>();
    }
    i64 total = 0;
    options.on_progress = [&](const Progress& p) { total = p.total; };
    program.run(inputs_of(program, GetParam().shapes), options);
    EXPECT_EQ(tiles, total);
  }
}

// The same arithmetic in the plan and in the emitted code, over extents from 1 to thousands.
TEST_P(ExplainRuns, TilesAreThoseOfTheEmittedCode) {
  const Program& program = program_of(GetParam());
  const auto executable = program.impl().executable({});
  const plan::Plan& plan = executable->plan();
  std::mt19937 random(5);
  for (int round = 0; round < 200; ++round) {
    std::vector<i64> n(plan.graph.parameters.size());
    for (i64& value : n) value = 4 + static_cast<i64>(random() % (round % 2 ? 40 : 6000));
    const i64 threads = 1 + static_cast<i64>(random() % 9);
    std::vector<i64> integers = n;
    integers.resize(n.size() + 64);
    for (std::size_t g = 0; g < plan.groups.size(); ++g) {
      const plan::Group& group = plan.groups[g];
      const std::size_t rank = plan.graph.stage(group.anchor).domain.size();
      std::string name = "tsr_g" + std::to_string(g);
      std::vector<i64> t(rank + 2);
      reinterpret_cast<void (*)(const i64*, i64, i64*)>(executable->module().symbol(name + "_shape"))(
          integers.data(), threads, t.data());
      const plan::TileShape shape = plan::tile_shape(plan, group, n, threads);
      EXPECT_EQ(shape.extents, std::vector<i64>(t.begin(), t.begin() + static_cast<std::ptrdiff_t>(rank)));
      EXPECT_EQ(shape.tiles, t[rank]);
      EXPECT_EQ(shape.streaming, t[rank + 1] != 0);
      i64 rings = 0;
      for (ir::StageId s : group.stages)
        if (plan.stages[s].home == plan::Home::ring) rings += plan::ring_shape(plan, s, shape).bytes;
      i64 scratch = reinterpret_cast<i64 (*)(const i64*, const i64*)>(executable->module().symbol(name + "_scratch"))(
          integers.data(), t.data());
      EXPECT_LE(rings, scratch);
      EXPECT_EQ(rings > 0, group.ring_bytes_per_column > 0);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Programs, ExplainRuns, testing::ValuesIn(samples()),
                         [](const auto& info) { return info.param.name; });

const Sample contractions[] = {
    {"matrix_product",
     "stencil mul(vector#2 float A, vector#2 float B)[i, j] { return sum(k : A.1) (A[i,k] * B[k,j]); }\n"
     "parameter M, K, N; vector#2 float a[M,K]; vector#2 float b[K,N]; return mul(a, b);",
     {{70, 90}, {90, 130}}},
    {"convolution_layer",
     "stencil conv(vector#3 float X, vector#4 float W)[o, y, x] {\n"
     "  return max(0.0f, sum(c : X.0, i = 0..2, j = 0..2) (W[o,c,i,j] * X[c,y+i-1,x+j-1]));\n}\n"
     "parameter D, C, M, N; vector#3 float x[C,M,N]; vector#4 float w[D,C,3,3];\n"
     "return conv(x:[none,mirror,mirror], w);",
     {{5, 20, 90}, {9, 5, 3, 3}}}};
INSTANTIATE_TEST_SUITE_P(Contractions, ExplainRuns, testing::ValuesIn(contractions),
                         [](const auto& info) { return info.param.name; });

// Predictions follow the extents, decisions do not: compiled code serves every size.
TEST(Explain, DecisionsAreThoseOfTheCompiledCode) {
  const Program& program = program_of(sample("harris"));
  const json large = json::parse(program.explain({{2160, 3840}}, {}, ExplainFormat::json));
  const json small = json::parse(program.explain({{216, 384}}, {}, ExplainFormat::json));
  ASSERT_EQ(large["groups"].size(), small["groups"].size());
  for (std::size_t g = 0; g < large["groups"].size(); ++g) {
    EXPECT_EQ(large["groups"][g]["stages"], small["groups"][g]["stages"]);
    EXPECT_EQ(large["groups"][g]["bytes_read"].get<double>(), 100 * small["groups"][g]["bytes_read"].get<double>());
    EXPECT_NEAR(large["groups"][g]["memory_milliseconds"].get<double>(),
                100 * small["groups"][g]["memory_milliseconds"].get<double>(), 1e-9);
    EXPECT_GT(large["groups"][g]["milliseconds"].get<double>(), small["groups"][g]["milliseconds"].get<double>());
  }
  EXPECT_EQ(small["decided_for"], (json{{"M", 2160}, {"N", 3840}}));
  EXPECT_EQ(small["parameters"], (json{{"M", 216}, {"N", 384}}));
  EXPECT_NE(program.explain({{216, 384}}).find("decided for M = 2160, N = 3840"), std::string::npos);
  EXPECT_EQ(program.explain({{2160, 3840}}).find("decided for"), std::string::npos);
}

std::string refusal(const Program& program, const std::vector<Shape>& shapes, const RunOptions& options = {}) {
  try {
    program.explain(shapes, options);
  } catch (const Error& e) {
    EXPECT_EQ(e.error_class(), ErrorClass::argument);
    return e.message();
  }
  return "accepted";
}

TEST(Explain, RefusesWhatDoesNotFit) {
  const Program& program = program_of(sample("blur"));
  EXPECT_EQ(refusal(program, {}), "the program takes 1 inputs, but 0 shapes were given");
  EXPECT_EQ(refusal(program, {{3, 4}, {5, 6}}), "the program takes 1 inputs, but 2 shapes were given");
  EXPECT_NE(refusal(program, {{3, 4, 5}}), "accepted");
  EXPECT_NE(refusal(program, {{0, 4}}), "accepted");
  EXPECT_NE(refusal(program, {{-7, 4}}), "accepted");
  const i64 huge = i64{1} << 40;
  EXPECT_NE(refusal(program, {{huge, huge}}).find("more than 2^48 points"), std::string::npos);
  EXPECT_NE(refusal(program, {{std::numeric_limits<i64>::max(), std::numeric_limits<i64>::max()}}), "accepted");
  EXPECT_EQ(refusal(program, {{i64{1} << 24, i64{1} << 24}}), "accepted");
  EXPECT_EQ(refusal(program, {{1, i64{1} << 48}}), "accepted");
  EXPECT_EQ(refusal(program, {{i64{1} << 48, 1}}), "accepted");
  RunOptions options;
  options.threads = -1;
  EXPECT_NE(refusal(program, {{3, 4}}, options), "accepted");
}

// Transforms of the program's own, of the method, and within a loop: a group for each.
TEST(ExplainTransforms, AreGroupsWhereverTheyStand) {
  const auto transforms = [](const json& report) {
    int count = 0;
    for (const json& group : report["groups"]) count += group.contains("transform") ? 1 : 0;
    return count;
  };
  const auto explained = [](const std::string& text, Method method) {
    RunOptions options;
    options.method = method;
    return json::parse(Program::from_text(text).explain({{200, 300}}, options, ExplainFormat::json));
  };
  EXPECT_EQ(
      transforms(explained("parameter M, N; vector#2 float a[M,N]; b = ifft(fft(a)); return b.re;", Method::automatic)),
      2);
  EXPECT_EQ(
      transforms(explained("table float w[3,5] = {{1, 2, 3, 4, 5}, {5, 4, 9, 2, 1}, {1, 1, 2, 3, 3}};\n"
                           "stencil f(vector#2 float X) { return sum(i = 0..2, j = 0..4)(w[i,j] * X@[i-1,j-2]); }\n"
                           "parameter M, N; vector#2 float a[M,N]; return f(a:mirror);",
                           Method::whole)),
      3);
  // Both parts of the spectrum by one number: fields that run as rows of numbers.
  const json alike = explained(
      "stencil half(vector#2 complex F) { return struct complex(0.5f * F.re, 0.5f * F.im); }\n"
      "parameter M, N; vector#2 float a[M,N]; G = ifft(half(fft(a))); return r = G.re, F = half(fft(a));",
      Method::automatic);
  EXPECT_EQ(transforms(alike), 2);
  const json loop = explained(
      "stencil large(vector#2 float a) { return a > 0.5f; }\n"
      "parameter M, N; vector#2 float a[M,N]; u<0> = a;\n"
      "do t = 1..9\n  F<t> = ifft(fft(u<t-1>));\n  u<t> = F<t>.re;\nwhile (max(large(u<t>)) != 0);\nreturn u<9>;",
      Method::automatic);
  int all = 0;
  for (const json& section : loop["sections"]) all += transforms(section["report"]);
  EXPECT_EQ(all, 2) << loop.dump(1).substr(0, 400);
}

}  // namespace
}  // namespace tessera
