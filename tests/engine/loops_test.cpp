// Runs of programs with loops that test: how often they ran is told, they stop when they are asked to, and they are
// explained. Pipelines have them as well.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tessera/pipeline.hpp"

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
      "do t = 1..1000000000 u<t> = f(u<t-1>); while (1 > 0); return u<1000000000>;");
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

TEST(LoopRuns, ArePartsOfPipelines) {
  Pipeline p;
  const auto image = p.input<float>("image", 2);
  const auto spread = p.repeat("t", 50, image.clamped(), [&](const Image<float>& u) {
    const auto next = p.stage("next", p.over({{-1, 1}, {-1, 1}}).max([&](Offset i, Offset j) { return u.at(i, j); }));
    const auto moved = p.max("moved", p.stage("change", next - u));
    return Iteration<float>{next, moved.value != 0};
  });
  const Program program = p.compile({p.stage("twice", 2 * spread)});
  i64 steps = 0;
  RunOptions options;
  options.on_loop_end = [&](const LoopEnd& end) { steps = end.iterations; };
  const Array given = with_a_spot(4, 6);
  const Array run = program.run({given}, options).at(0), oracle = program.interpret({given}).at(0);
  EXPECT_EQ(steps, 6);
  for (i64 k = 0; k < 24; ++k) {
    EXPECT_EQ(run.as<float>()[k], 2.0F);
    EXPECT_EQ(oracle.as<float>()[k], 2.0F);
  }
}

TEST(LoopRuns, OfPipelinesCarrySeveralImages) {
  Pipeline p;
  const auto x = p.input<float>("x", 1), y = p.input<float>("y", 1);
  const auto both = p.repeat("t", 3, std::vector{x, y}, [&](const std::vector<Image<float>>& u) {
    return Iterations<float>{{p.stage("sum", u[0] + u[1]), u[0]}, p.min("least", u[0]).value < 100};
  });
  const Array one = Array::from<float>(std::vector<float>{1, 2}, {2});
  const auto r = p.compile({{"a", both[0]}, {"b", both[1]}}).run({one, one});
  EXPECT_EQ(r[0].as<float>()[1], 10.0F);
  EXPECT_EQ(r[1].as<float>()[1], 6.0F);
}

TEST(LoopRuns, OfPipelinesSayWhatIsWrong) {
  const auto message = [](const std::function<void(Pipeline&, const Image<float>&)>& build) {
    Pipeline p;
    const auto x = p.input<float>("x", 1);
    try {
      build(p, x);
    } catch (const Error& e) {
      EXPECT_EQ(e.error_class(), ErrorClass::argument);
      return e.message();
    }
    return std::string("nothing was thrown");
  };
  using Images = std::vector<Image<float>>;
  EXPECT_EQ(message([](Pipeline& p, const auto& x) {
              p.repeat("t", 0, x, [&](const auto& u) { return Iteration<float>{u, p.max("m", u).value > 1}; });
            }),
            "loop 't' runs 0 times at most, expected at least 1");
  EXPECT_EQ(message([](Pipeline& p, const auto& x) {
              p.repeat("t", 9, x, [&](const auto& u) { return Iteration<float>{u, u > 1}; });
            }),
            "the test of loop 't' reads an image point by point, expected numbers that images come to");
  EXPECT_EQ(message([](Pipeline& p, const auto& x) {
              p.repeat("t", 9, x, [&](const auto& u) {
                return Iteration<float>{p.stage("less", u.every(2).at(0)), p.max("m", u).value > 1};
              });
            }),
            "loop 't' begins with 'x', but 'less' has other extents");
  EXPECT_EQ(message([](Pipeline& p, const auto& x) {
              p.repeat("t", 9, Images{x, x},
                       [&](const Images& u) { return Iterations<float>{{u[0]}, p.max("m", u[0]).value > 1}; });
            }),
            "loop 't' carries 2 images, but its body gives 1");
  EXPECT_EQ(message([](Pipeline& p, const auto& x) {
              p.repeat("t", 9, x, [&](const auto& u) {
                const auto inner = [&](const auto& v) { return Iteration<float>{v, p.max("m", v).value > 1}; };
                return Iteration<float>{p.repeat("s", 9, u, inner), p.max("n", u).value > 1};
              });
            }),
            "loop 's' stands in loop 't', expected one after the other");
  EXPECT_EQ(message([](Pipeline& p, const auto& x) {
              Images seen;
              p.repeat("t", 9, x, [&](const auto& u) {
                seen.push_back(u);
                return Iteration<float>{p.stage("next", u + 1), p.max("m", u).value > 1};
              });
              p.compile({p.stage("late", 2 * seen[0])});
            }),
            "an image of a loop's body is used outside of it");
}

}  // namespace
}  // namespace tessera
