// Runs of programs with loops that test: how often they ran is told, they stop when they are asked to, parameters and
// schedules change nothing, and emitted files hold them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "tessera/program.hpp"

namespace tessera {
namespace {

const char* const spreading =
    "stencil step(vector#2 float U) { return max(i = -1..1, j = -1..1) (U@[i,j]); }\n"
    "stencil moved(vector#2 float A, vector#2 float B) { return A != B; }\n"
    "parameter M, N; vector#2 float image[M,N];\n"
    "u<0> = image; do t = 1..50 u<t> = step(u<t-1>:clamped); while (max(moved(u<t>, u<t-1>)) != 0);\n"
    "return u<50>;";

Array with_a_spot(i64 rows, i64 columns) {
  Array image(ElementType::f32, {rows, columns});
  image.as<float>()[0] = 1;
  return image;
}

TEST(LoopRuns, TellHowOftenTheyRan) {
  const Program program = Program::from_text(spreading);
  for (const i64 columns : {1, 9, 30, 80}) {
    std::vector<LoopEnd> ends;
    RunOptions options;
    options.on_loop_end = [&](const LoopEnd& e) { ends.push_back(e); };
    std::vector<Progress> steps;
    options.on_progress = [&](const Progress& p) { steps.push_back(p); };
    const Array image = with_a_spot(3, columns);
    const Array result = program.run({image}, options).at(0);
    ASSERT_EQ(ends.size(), 1U);
    EXPECT_EQ(ends[0].variable, "t");
    EXPECT_EQ(ends[0].most, 50);
    EXPECT_EQ(ends[0].iterations, std::min<i64>(50, std::max<i64>(columns - 1, 2) + 1));
    EXPECT_EQ(result.as<float>()[3 * columns - 1], columns <= 51 ? 1.0F : 0.0F);
    ASSERT_FALSE(steps.empty());
    EXPECT_EQ(steps.back().done, steps.back().total);
    for (std::size_t k = 1; k < steps.size(); ++k) EXPECT_LE(steps[k - 1].done, steps[k].done);
  }
}

TEST(LoopRuns, StopWhenTheyAreAsked) {
  const Program program = Program::from_text(
      "stencil f(vector#1 float U) { return 1 - U; } vector#1 float x[8]; u<0> = x;"
      "do t = 1..2000000000 u<t> = f(u<t-1>); while (1 > 0); return u<2000000000>;");
  std::atomic<bool> cancel = false;
  RunOptions options;
  options.cancel = &cancel;
  options.on_progress = [&](const Progress& p) { cancel = p.done > 1000; };
  try {
    program.run({Array(ElementType::f32, {8})}, options);
    FAIL() << "it was not stopped";
  } catch (const Error& e) {
    EXPECT_EQ(e.error_class(), ErrorClass::cancelled);
  }
}

TEST(LoopRuns, AreTheSameInEverySchedule) {
  const Program program = Program::from_text(spreading);
  const Array image = with_a_spot(40, 33);
  const Array expected = program.interpret({image}).at(0);
  for (const Schedule schedule : {Schedule::untiled, Schedule::tiled, Schedule::stream}) {
    RunOptions options;
    options.schedule = schedule;
    options.threads = 2;
    const Array got = program.run({image}, options).at(0);
    EXPECT_EQ(std::memcmp(got.data(), expected.data(), 40 * 33 * 4), 0);
  }
}

TEST(LoopRuns, AreExplainedByTheirSections) {
  const Program program = Program::from_text(spreading);
  using testing::HasSubstr;
  const std::string text = program.explain({{40, 30}});
  EXPECT_THAT(text, HasSubstr("the body of the loop over t: at most 50 times"));
  EXPECT_THAT(text, HasSubstr("carries u<t-1>"));
  const std::string json = program.explain({{40, 30}}, {}, ExplainFormat::json);
  EXPECT_THAT(json, HasSubstr("\"most\": 50"));
  EXPECT_THAT(json, HasSubstr("\"while\""));
  const std::string svg = program.explain({{40, 30}}, {}, ExplainFormat::svg);
  EXPECT_THAT(svg, HasSubstr("carries u&lt;t-1&gt;"));
  EXPECT_EQ(svg.find("<svg "), 0U);
}

}  // namespace
}  // namespace tessera
