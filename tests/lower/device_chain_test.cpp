// Sums that are taken one dimension at a time, as one kernel: which ones are, and what a launch of them touches.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "lang/compile.hpp"
#include "lower/device.hpp"
#include "lower/ways/ways.hpp"
#include "rewrite/sums/chain.hpp"

namespace tessera::lower {
namespace {

plan::Plan planned(const std::string& text, Numbers numbers) {
  lang::CompileInput input;
  input.text = text;
  machine::Machine device;
  device.strip_registers = 200;
  device.columns_together = true;
  device.row_chains = true;
  device.load_price = 0.1, device.ring_price = 1, device.fold_price = 2;
  plan::Options options;
  options.numbers = numbers;
  return plan::make_plan(lang::compile(input).graph, options, device);
}
DeviceProgram lowered(const std::string& text, Numbers numbers = Numbers::fast, i64 most_shared = shared_of_block) {
  plan::Plan plan = planned(text, numbers);
  choose_device_ways(plan, most_shared);
  return lower_device(plan);
}

std::string image(int taps, const std::string& type = "float", const std::string& border = "clamped",
                  const std::string& more = "") {
  const char* weights = type == "float" ? "float w[i = 0..{0}] = i % 3 + 0.5f" : "int w[i = 0..{0}] = i + 1";
  return fmt::format(
      "table {}; stencil f(vector#2 {} X) {{ return sum(i = 0..{}, j = 0..{}) (w[i] * w[j] * X@[i-{},j-1]){}; }} "
      "parameter M, N; vector#2 {} a[M,N]; return f(a:{});",
      fmt::format(fmt::runtime(weights), taps - 1), type, taps - 1, taps - 1, taps / 2, more, type, border);
}

std::string volume(int taps) {
  return fmt::format(
      "table float w[i = 0..{0}] = i % 3 + 0.5f; stencil f(vector#3 float X) {{ return sum(i = 0..{0}, j = 0..{0}, "
      "k = 0..{0}) (w[i] * w[j] * w[k] * X@[i-{1},j-{1},k-{1}]); }} parameter L, M, N; vector#3 float a[L,M,N]; "
      "return f(a:clamped);",
      taps - 1, taps / 2);
}

TEST(DeviceChain, SumsOfVolumesAreOneKernel) {
  for (const int taps : {5, 9, 17, 31}) {
    const DeviceProgram program = lowered(volume(taps));
    ASSERT_EQ(program.kernels.size(), 1u) << taps;
    EXPECT_TRUE(program.kernels.front().marches) << taps;
    EXPECT_EQ(program.kernels.front().stages.size(), 3u) << taps;
    EXPECT_LE(program.kernels.front().shared_bytes, shared_of_block) << taps;
  }
}

TEST(DeviceChain, FloatsHaveOneOrderInExactNumbers) {
  for (const DeviceKernel& kernel : lowered(image(15), Numbers::exact).kernels) EXPECT_FALSE(kernel.marches);
  const DeviceProgram integers = lowered(image(15, "uint8"), Numbers::exact);
  ASSERT_EQ(integers.kernels.size(), 1u);
  EXPECT_TRUE(integers.kernels.front().marches) << "no order changes them";
}

// Weights of the rows are those of the columns: a constant beside the rows of sums has to be what the sums make of it.
TEST(DeviceChain, OneValueLiesBesideAnImage) {
  EXPECT_TRUE(lowered(image(15, "float", "constant(2)")).kernels.front().marches);
  const std::string apart =
      "table float w[i = 0..14] = i % 3 + 0.5f; stencil g(vector#2 float X) {{ return sum(j = 0..14) (w[j] * "
      "X@[0,j-7]); }} stencil f(vector#2 float X) {{ return sum(i = 0..14) (w[i] * X@[i-7,0]); }} parameter M, N; "
      "vector#2 float a[M,N]; return f(g(a:constant(2)):constant({}));";
  EXPECT_TRUE(lowered(fmt::format(fmt::runtime(apart), 2 * 22.5)).kernels.front().marches);
  for (const DeviceKernel& kernel : lowered(fmt::format(fmt::runtime(apart), 2)).kernels) EXPECT_FALSE(kernel.marches);
}

TEST(DeviceChain, WhatIsComputedOfTheSumComesWithIt) {
  const std::string body = " * 0.5f + 3";
  const DeviceProgram program = lowered(image(15, "float", "mirror", body));
  ASSERT_EQ(program.kernels.size(), 1u);
  EXPECT_TRUE(program.kernels.front().marches);
  for (const DeviceKernel& kernel : lowered(image(15, "float", "mirror", " * X")).kernels)
    EXPECT_FALSE(kernel.marches) << "reads the image as well";
}

TEST(DeviceChain, LittleSharedMemoryHasNone) {
  for (const DeviceKernel& kernel : lowered(image(15), Numbers::fast, 1024).kernels) EXPECT_FALSE(kernel.marches);
}

TEST(SumChain, KnowsWhatIntegersStayBelow) {
  const plan::Plan plan = planned(image(3, "uint8"), Numbers::fast);
  std::vector<ir::StageId> stages;
  for (ir::StageId s = 0; s < plan.graph.stage_count(); ++s)
    if (plan.graph.stage(s).kind == ir::StageKind::point) stages.push_back(s);
  const auto chain = rewrite::sum_chain(plan.graph, Numbers::fast, stages);
  ASSERT_TRUE(chain.has_value());
  EXPECT_EQ(chain->most, 255 * 6 * 6);
  ASSERT_EQ(chain->along.size(), 2u);
  EXPECT_EQ(chain->along[0].lo, -1);
  EXPECT_EQ(chain->along[1].lo, -1);
  EXPECT_EQ(chain->along[1].weights, (std::vector<double>{1, 2, 3}));
  EXPECT_FALSE(rewrite::sum_chain(plan.graph, Numbers::fast, {stages.back()}).has_value());
}

}  // namespace
}  // namespace tessera::lower
