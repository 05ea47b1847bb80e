// Programs are planned anew for small images where that decides otherwise, and only there.
#include "engine/size_class.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "engine/program_impl.hpp"
#include "tessera/program.hpp"

namespace tessera {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

const char* const large_weights =
    "table float k[i = 0..40, j = 0..40] = (i * 7 + j * j * 3 + i * i * j * 5) % 13 * 0.002f; stencil f(vector#2 float "
    "X) { return sum(i = 0..40, j = 0..40) (k[i,j] * X@[i-20,j-20]); } parameter M, N; vector#2 float a[M,N]; return "
    "f(a:mirror);";
const char* const small_weights =
    "stencil f(vector#2 float X) { return X@[-1,0] + 2*X + X@[1,1]; } parameter M, N; vector#2 float a[M,N]; return "
    "f(a:mirror);";

rewrite::Tiling tiles_for(const Program& program, const std::vector<i64>& size) {
  const ir::Graph& graph = program.impl().graph;
  const plan::Plan plan = engine::cpu_plan(graph, {}, engine::size_class(graph, size));
  for (ir::StageId s = 0; s < plan.graph.stage_count(); ++s)
    if (plan.tiling(s).rows > 0) return plan.tiling(s);
  return {};
}

TEST(SizeClass, SmallImagesHaveTilesOfTheirOwn) {
  const Program program = Program::from_text(large_weights);
  const rewrite::Tiling large = tiles_for(program, {2160, 3840}), small = tiles_for(program, {100, 90});
  ASSERT_GT(large.rows, 0);
  ASSERT_GT(small.rows, 0);
  EXPECT_LT(small.wide, large.wide) << "a pair of tiles covers a row of the image";
  EXPECT_EQ(tiles_for(program, {1024, 5000}).columns, large.columns);
}

TEST(SizeClass, ClassesAreRoundedUp) {
  const Program program = Program::from_text(large_weights);
  const ir::Graph& graph = program.impl().graph;
  EXPECT_EQ(engine::size_class(graph, {100, 90}), (std::vector<i64>{128, 96}));
  EXPECT_EQ(engine::size_class(graph, {128, 65}), (std::vector<i64>{128, 96}));
  EXPECT_EQ(engine::size_class(graph, {1, 769}), (std::vector<i64>{8, 1024}));
  EXPECT_EQ(engine::size_class(graph, {9, 1024}), (std::vector<i64>{16, 3840}));
  EXPECT_EQ(engine::size_class(graph, {1024, 1024}), std::vector<i64>{});
}

TEST(SizeClass, DevicesAreFullLater) {
  const Program program = Program::from_text(large_weights);
  const ir::Graph& graph = program.impl().graph;
  const auto of = [&](i64 rows, i64 columns) {
    return engine::size_class(graph, {rows, columns}, engine::Where::device);
  };
  EXPECT_EQ(of(1024, 1025), (std::vector<i64>{1024, 1536}));
  EXPECT_EQ(of(100, 8192), (std::vector<i64>{128, 3840}));
  EXPECT_EQ(of(2160, 3840), std::vector<i64>{});
  EXPECT_EQ(of(8192, 8192), std::vector<i64>{});
}

TEST(SizeClass, DevicesTakeSmallImagesInFewerSteps) {
  const Program product = Program::from_text(
      "table float k[i = 0..8, j = 0..8] = (1 + i * i) * (3 + j); stencil f(vector#2 float X) { return sum(i = 0..8, "
      "j = 0..8) (k[i,j] * X@[i-4,j-4]); } parameter M, N; vector#2 float a[M,N]; return f(a:mirror);");
  RunOptions options;
  options.target = "cuda";
  const auto said = [&](const Shape& shape) { return product.explain({shape}, options); };
  // One dimension at a time moves less arithmetic, which a card that is not full does not care about.
  EXPECT_NE(said({1000, 1000}).find("decided for M = 1024, N = 1024"), std::string::npos) << said({1000, 1000});
  EXPECT_EQ(said({8192, 8192}).find("decided for M = 1024"), std::string::npos);
}

// Matrix units wait longer than a sum of few terms takes on a small image.
TEST(SizeClass, DevicesTakeSmallImagesOfBytesWithoutMatrixUnits) {
  const auto said = [](i64 side, const Shape& shape) {
    const Program program = Program::from_text(fmt::format(
        "table int k[i = 0..{0}, j = 0..{0}] = (i * 7 + j * j * 3 + i * i * j * 5) % 13 - 6; stencil f(vector#2 uint8 "
        "X) {{ return saturate<uint8>(sum(i = 0..{0}, j = 0..{0}) (k[i,j] * X@[i-4,j-4]) / 256); }} parameter M, N; "
        "vector#2 uint8 a[M,N]; return f(a:mirror);",
        side - 1));
    RunOptions options;
    options.target = "cuda";
    return program.explain({shape}, options);
  };
  EXPECT_THAT(said(9, {8192, 8192}), HasSubstr("taken: matrix"));
  EXPECT_THAT(said(9, {1000, 1000}), AllOf(HasSubstr("decided for M = 1024"), Not(HasSubstr("taken: matrix"))));
  EXPECT_THAT(said(15, {1000, 1000}), HasSubstr("taken: matrix"));
}

TEST(SizeClass, ProgramsWithoutAChoiceHaveOneCode) {
  const Program program = Program::from_text(small_weights);
  const auto code_for = [&](const std::vector<i64>& size) {
    return program.impl().executable({}, engine::size_class(program.impl().graph, size));
  };
  EXPECT_EQ(code_for({8, 8}), code_for({4000, 4000}));
}

TEST(SizeClass, ExplainSaysTheSizeThatWasDecidedFor) {
  const Program program = Program::from_text(large_weights);
  EXPECT_NE(program.explain({{100, 90}}).find("M = 128, N = 96"), std::string::npos) << program.explain({{100, 90}});
  EXPECT_EQ(program.explain({{5000, 4000}}).find("M = 128"), std::string::npos);
}

TEST(SizeClass, EveryClassGivesTheInterpretersValues) {
  const Program program = Program::from_text(large_weights);
  for (const Shape& shape : {Shape{17, 40}, Shape{130, 65}}) {
    Array image(ElementType::f32, shape);
    float* const values = static_cast<float*>(image.data());
    for (i64 i = 0; i < image.count(); ++i) values[i] = static_cast<float>(i * i % 251) / 251;
    const Array result = program.run({image}).front(), expected = program.interpret({image}).front();
    const float* const a = static_cast<const float*>(result.data());
    const float* const b = static_cast<const float*>(expected.data());
    for (i64 i = 0; i < image.count(); ++i) ASSERT_NEAR(a[i], b[i], 2e-4) << to_string(shape) << " at " << i;
  }
}

}  // namespace
}  // namespace tessera
