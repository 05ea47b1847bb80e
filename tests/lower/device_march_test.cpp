// Weighted sums over volumes as kernels that march: which ones do, and what a launch of them touches.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "lang/compile.hpp"
#include "lower/device.hpp"
#include "lower/ways/ways.hpp"

namespace tessera::lower {
namespace {

DeviceProgram lowered(const std::string& text, Numbers numbers = Numbers::fast, i64 most_shared = shared_of_block) {
  lang::CompileInput input;
  input.text = text;
  machine::Machine device;
  device.strip_registers = 200;
  device.columns_together = true;
  device.load_price = 0.1, device.ring_price = 1, device.fold_price = 2;
  plan::Options options;
  options.numbers = numbers;
  plan::Plan plan = plan::make_plan(lang::compile(input).graph, options, device);
  choose_device_ways(plan, most_shared);
  return lower_device(plan);
}

// Of 3 x 3 x 3 weights that are no product.
std::string sum(const std::string& body, const std::string& border = "clamped") {
  return fmt::format(
      "table float w[i = 0..2, j = 0..2, k = 0..2] = (i * 5 + j * 3 + k * 7) % 11 * 0.05f - 0.2f; stencil f(vector#3 "
      "float X) {{ return {}; }} parameter K, M, N; vector#3 float a[K,M,N]; return f(a:{});",
      body, border);
}
const std::string dense = "sum(i = 0..2, j = 0..2, k = 0..2) (w[i,j,k] * X@[i-1,j-1,k-1])";

TEST(DeviceMarch, OthersDoNot) {
  EXPECT_FALSE(lowered(sum(dense), Numbers::exact).kernels.front().marches) << "another order";
  EXPECT_FALSE(lowered(sum("X@[-1,0,0] + X@[1,0,0] + X@[0,1,0] + X@[0,0,-1] - 4*X")).kernels.front().marches)
      << "few terms";
  EXPECT_FALSE(lowered(sum(dense + " * X")).kernels.front().marches) << "no weighted sum";
  EXPECT_FALSE(lowered(sum(dense), Numbers::fast, 1024).kernels.front().marches) << "little shared memory";
}

TEST(DeviceMarch, APlaneHasOneConstantBesideIt) {
  EXPECT_TRUE(lowered(sum(dense, "[constant(1), constant(2), constant(2)]")).kernels.front().marches);
  EXPECT_FALSE(lowered(sum(dense, "[constant(1), constant(2), constant(3)]")).kernels.front().marches);
}

}  // namespace
}  // namespace tessera::lower
