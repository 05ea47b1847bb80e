// Which register tiles compute two values in a register, and what of it `explain` hears.
#include <gtest/gtest.h>

#include "lang/compile.hpp"
#include "lower/device.hpp"
#include "lower/ways/ways.hpp"

namespace tessera::lower {
namespace {

struct Abilities {
  bool shuffles = true, minima = true;
};

DeviceProgram lowered(const std::string& body, const std::string& type, Abilities abilities) {
  lang::CompileInput input;
  input.text = body + "\nparameter M, N;\nvector#2 " + type + " image[M,N];\nreturn f(image:clamped);";
  machine::Machine device;
  device.strip_registers = 200;
  device.columns_together = true;
  device.load_price = 0.1, device.ring_price = 1, device.fold_price = 2;
  device.shuffles = abilities.shuffles, device.minima = abilities.minima;
  plan::Plan plan = plan::make_plan(lang::compile(input).graph, {}, device);
  choose_device_ways(plan);
  return lower_device(plan);
}

int values(const std::string& body, const std::string& type = "uint8", Abilities abilities = {}) {
  const DeviceProgram program = lowered(body, type, abilities);
  EXPECT_EQ(program.kernels.size(), 1u) << body;
  EXPECT_TRUE(program.kernels.front().frame.has_value()) << body;
  return program.kernels.front().values;
}

const char* const smooth =
    "stencil f(vector#2 uint8 X) { return cast<uint8>((X@[0,-1] + 2 * X + X@[0,1] + X@[1,0] * 4) >> 3); }";
const char* const most = "stencil f(vector#2 uint8 X) { return max(j = -1..1, i = -1..1) ( X@[j,i] ); }";

TEST(Twins, SumsThatHalfARegisterHolds) {
  EXPECT_EQ(values(smooth), 2);
  EXPECT_EQ(values("stencil f(vector#2 uint8 X) { return cast<uint16>(X@[0,1] * 128 + X@[1,0] * 129); }"), 2);
  EXPECT_EQ(values("stencil f(vector#2 uint8 X) { return cast<int16>((X@[0,1] - X@[1,0]) * 128); }"), 2);
}

TEST(Twins, NothingThatIsWider) {
  EXPECT_EQ(values("stencil f(vector#2 uint8 X) { return X@[0,1] * 128 + X@[1,0] * 130; }"), 1);
  EXPECT_EQ(values("stencil f(vector#2 uint8 X) { return X@[0,1] * 129 - X@[1,0] * 128; }"), 1);
  EXPECT_EQ(values("stencil f(vector#2 float X) { return X@[0,1] + X@[1,0]; }", "float"), 1);
  EXPECT_EQ(values("stencil f(vector#2 uint16 X) { return cast<uint16>(X@[0,1] + X@[1,0]); }", "uint16"), 1);
}

TEST(Twins, MinimaWhereTheDeviceHasThem) {
  EXPECT_EQ(values(most), 2);
  EXPECT_EQ(values(most, "uint8", {true, false}), 1);
  EXPECT_EQ(values(smooth, "uint8", {false, false}), 2) << "sums need no instruction of their own";
}

TEST(Twins, HalveTheInstructions) {
  const DeviceKernel two = lowered(most, "uint8", {}).kernels.front();
  const DeviceKernel one = lowered(most, "uint8", {true, false}).kernels.front();
  EXPECT_LT(two.operations, 0.6 * one.operations);
  EXPECT_EQ(two.columns, 16);
  EXPECT_EQ(one.columns, 8);
  EXPECT_EQ(two.points.back(), 32 * 16);
}

}  // namespace
}  // namespace tessera::lower
