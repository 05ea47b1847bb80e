// How tiles of registers and the frame around them divide an image: every point is computed, by tiles only inside.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "lang/compile.hpp"
#include "lower/device.hpp"
#include "lower/launch_context.hpp"
#include "lower/ways/ways.hpp"

namespace tessera::lower {
namespace {

struct Rows {
  i64 first, last;
};

// What the kernel's text does with the integers of tsr_frame, one warp after the other.
void covers(const DeviceKernel& kernel, const ir::Graph& graph, i64 m, i64 n, Rows rows) {
  SCOPED_TRACE(testing::Message() << m << " x " << n << ", rows " << rows.first << " to " << rows.last);
  std::array<i64, frame_integers> f{};
  const i64 blocks = frame(kernel, graph, {m, n}, rows.first, rows.last, f);
  const DeviceKernel::Frame& frame = *kernel.frame;
  const i64 width = kernel.points.back(), warps = kernel.threads[1];
  ASSERT_TRUE(f[10] >= 1 && f[10] <= frame.height);
  std::vector<int> count(static_cast<std::size_t>(m * n));
  const auto computes = [&](i64 y, i64 x) {
    ASSERT_TRUE(y >= rows.first && y < rows.last && x >= 0 && x < n) << y << ", " << x;
    ++count[static_cast<std::size_t>(y * n + x)];
  };
  for (i64 warp = 0; warp < f[0] * warps; ++warp) {
    i64 number = warp, y0 = rows.first, y1 = f[2], x0 = 0, x1 = n;
    if (number >= f[6]) number -= f[6], y0 = f[3], y1 = rows.last;
    if (warp >= f[6] && number >= f[7]) number -= f[7], y0 = f[2], y1 = f[3], x1 = f[4];
    if (warp >= f[6] + f[7] && number >= f[8]) number -= f[8], x0 = f[5], x1 = n;
    const i64 across = std::max<i64>((x1 - x0 + 31) / 32, 1);
    for (i64 y = y0 + number / across * f[10]; y < std::min(y0 + (number / across + 1) * f[10], y1); ++y)
      for (i64 x = x0 + number % across * 32; x < std::min(x0 + (number % across + 1) * 32, x1); ++x) computes(y, x);
  }
  for (const int c : count) ASSERT_LE(c, 1) << "the frame computes a point twice";
  const i64 bottom = graph.evaluate(frame.bottom, {m, n}), right = graph.evaluate(frame.right, {m, n});
  for (i64 warp = 0; warp < (blocks - f[0]) * warps; ++warp) {
    const i64 tile = warp / warps, first = f[2] + (tile / f[1] * warps + warp % warps) * frame.height;
    if (first >= f[3]) continue;
    const i64 y0 = std::min(first, f[3] - frame.height), x0 = std::min(f[4] + tile % f[1] * width, f[5] - width);
    ASSERT_TRUE(y0 >= frame.top && y0 + frame.height <= bottom && x0 >= frame.left && x0 + width <= right);
    ASSERT_EQ(x0 % (width % 32 == 0 ? 32 : 8), 0);
    for (i64 y = y0; y < y0 + frame.height; ++y)
      for (i64 x = x0; x < x0 + width; ++x) computes(y, x);
  }
  for (i64 y = rows.first; y < rows.last; ++y)
    for (i64 x = 0; x < n; ++x) ASSERT_GE(count[static_cast<std::size_t>(y * n + x)], 1) << y << ", " << x;
}

plan::Plan plan_of(const std::string& text, bool shuffles) {
  lang::CompileInput input;
  input.text = text;
  machine::Machine device;
  device.strip_registers = 200;
  device.columns_together = true;
  device.shuffles = shuffles;
  device.load_price = 0.1, device.ring_price = 1, device.fold_price = 2;
  return plan::make_plan(lang::compile(input).graph, {}, device);
}

// The same of a volume: what one row of its planes looks like, and how rows follow each other.
void covers_volume(const DeviceKernel& kernel, const ir::Graph& graph, i64 k, i64 m, i64 n, Rows planes) {
  SCOPED_TRACE(testing::Message() << k << " x " << m << " x " << n << ", planes " << planes.first << " to "
                                  << planes.last);
  std::array<i64, frame_integers> f{};
  const i64 blocks = frame(kernel, graph, {k, m, n}, planes.first, planes.last, f), groups = f[9];
  const DeviceKernel::Frame& frame = *kernel.frame;
  const i64 width = kernel.points.back();
  ASSERT_EQ(groups, (m + kernel.threads[1] - 1) / kernel.threads[1]);
  ASSERT_EQ(f[0] % groups, 0);
  std::vector<int> count(static_cast<std::size_t>(k * n));
  const auto computes = [&](i64 z, i64 x) {
    ASSERT_TRUE(z >= planes.first && z < planes.last && x >= 0 && x < n) << z << ", " << x;
    ++count[static_cast<std::size_t>(z * n + x)];
  };
  ASSERT_EQ(f[6], f[1] > 0 ? 0 : f[6]) << "tiles begin at the first plane";
  const i64 first = f[1] > 0 ? f[5] : 0, z_end = f[1] > 0 ? f[3] : planes.first;
  for (i64 z = planes.first; z < (f[1] > 0 ? z_end : planes.last); ++z)
    for (i64 x = first; x < n; ++x) computes(z, x);  // the frame
  for (i64 tile = 0; tile < (blocks - f[0]) / groups; ++tile) {
    const i64 z0 = std::min(f[2] + tile / f[1] * frame.height, f[3] - frame.height);
    const i64 x0 = std::min(f[4] + tile % f[1] * width, f[5] - width);
    ASSERT_EQ(x0 % frame.sides, 0);
    ASSERT_TRUE(x0 + width == n || n % frame.sides != 0 || x0 + width < n);
    for (i64 z = z0; z < z0 + frame.height; ++z)
      for (i64 x = x0; x < x0 + width; ++x) computes(z, x);
  }
  for (i64 z = planes.first; z < planes.last; ++z)
    for (i64 x = 0; x < n; ++x) ASSERT_GE(count[static_cast<std::size_t>(z * n + x)], 1) << z << ", " << x;
}

class FrameTest : public testing::TestWithParam<bool> {};

TEST_P(FrameTest, EveryPointIsComputedAndTilesLieInside) {
  plan::Plan plan = plan_of(
      "parameter M, N;\nstencil far(vector#2 float X) { return X@[-3,-5] * X@[2,1] + abs(X@[0,-2] - X@[1,-1]) * "
      "X@[1,0] + min(X, X@[0,1]); }\n"
      "vector#2 float image[M,N];\nreturn far(far(image:mirror):clamped);",
      GetParam());
  choose_device_ways(plan);
  const DeviceProgram program = lower_device(plan);
  ASSERT_EQ(program.kernels.size(), 1u);
  const DeviceKernel& kernel = program.kernels.front();
  ASSERT_TRUE(kernel.frame.has_value());
  EXPECT_EQ(kernel.points.back() < 32 * kernel.columns, GetParam()) << "threads exchange where they can";
  EXPECT_GE(kernel.frame->top, 6);
  EXPECT_GE(kernel.frame->left, 10);
  EXPECT_EQ(kernel.frame->left % 32, 0);
  std::mt19937 random(3);
  const auto up_to = [&](i64 most) { return std::uniform_int_distribution<i64>(1, most)(random); };
  for (int k = 0; k < 300; ++k) {
    const i64 m = up_to(90), n = up_to(700), first = up_to(m) - 1;
    covers(kernel, plan.graph, m, n, {0, m});
    covers(kernel, plan.graph, m, n, {first, first + up_to(m - first)});
    if (HasFatalFailure()) return;
  }
}

TEST_P(FrameTest, TilesOfVolumesReachTheSides) {
  plan::Plan plan = plan_of(
      "parameter K, M, N;\nstencil near(vector#3 float X) { return X@[-1,0,0] + X@[0,1,0] * X@[0,-1,0] + X@[0,0,1]; }\n"
      "vector#3 float image[K,M,N];\nreturn near(near(image:clamped):clamped);",
      GetParam());
  choose_device_ways(plan);
  const DeviceProgram program = lower_device(plan);
  ASSERT_EQ(program.kernels.size(), 1u) << "both stages in one";
  const DeviceKernel& kernel = program.kernels.front();
  ASSERT_TRUE(kernel.frame.has_value()) << kernel.why;
  EXPECT_EQ(kernel.frame->sides, kernel.columns);
  EXPECT_EQ(kernel.frame->left, 0);
  EXPECT_EQ(kernel.frame->top, 0);
  std::mt19937 random(5);
  const auto up_to = [&](i64 most) { return std::uniform_int_distribution<i64>(1, most)(random); };
  for (int t = 0; t < 300; ++t) {
    const i64 k = up_to(60), m = up_to(9), n = up_to(400) * (t % 2 == 0 ? 1 : 4), first = up_to(k) - 1;
    covers_volume(kernel, plan.graph, k, m, n, {0, k});
    covers_volume(kernel, plan.graph, k, m, n, {first, first + up_to(k - first)});
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Exchange, FrameTest, testing::Bool());

}  // namespace
}  // namespace tessera::lower
