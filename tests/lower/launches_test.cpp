// What the host computes for a launch: as text, and in numbers against plain arithmetic.
#include "lower/host/launches.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "lower/launch_context.hpp"
#include "tessera/error.hpp"

namespace tessera::lower {
namespace {

using ir::host::LaunchValues;

struct Launches : testing::Test {
  Launches() {
    graph.parameters = {"h", "w"};
    height = graph.size_parameter(0);
    width = graph.size_parameter(1);
    kernel.domain = {height, width};
    kernel.arrays = {3, 5};
    using Kind = DeviceKernel::Integer::Kind;
    kernel.integers = {{Kind::size, width, 0, 0}, {Kind::offset, {}, 1, 0}, {Kind::stride, {}, 0, 0},
                       {Kind::blocks, {}, 0, 1},  {Kind::first, {}, 0, 0},  {Kind::last, {}, 0, 0}};
  }
  std::vector<i64> numbers(const ir::host::Launch& launch, const Here& here) const {
    const LaunchValues value(launch, here);
    std::vector<i64> all = {value(launch.grid)};
    for (const ir::host::Number& n : launch.integers) all.push_back(value(n));
    return all;
  }

  ir::Graph graph;
  ir::SizeId height, width;
  DeviceKernel kernel;
};

TEST_F(Launches, OfPointsAreBlocksAlongEveryDimension) {
  kernel.points = {8, 32};
  kernel.threads = {32, 8, 1};
  const ir::host::Launch launch = launch_of(kernel);
  EXPECT_EQ(print(launch, graph),
            "let b0 = ceil(rows / 8)\n"
            "let b1 = ceil(w / 32)\n"
            "grid b0 * b1\n"
            "integers w, offset 5, stride 3 0, b1, first, last\n");
  const Here here(graph, {100, 65}, 10, 27);
  EXPECT_EQ(numbers(launch, here), (std::vector<i64>{9, 65, -320, 3000, 3, 10, 27}));
}

TEST_F(Launches, OfStripsChooseAHeight) {
  kernel.points = {1, 128};
  kernel.threads = {32, 4, 1};
  kernel.strips = true;
  kernel.warm_up = 2;
  kernel.integers.push_back({DeviceKernel::Integer::Kind::strip, {}, 0, 0});
  const ir::host::Launch launch = launch_of(kernel);
  EXPECT_EQ(print(launch, graph),
            "let height = tsr_strip_height(rows, ceil(w / 128), at_once, 4, 2)\n"
            "let b0 = ceil(rows / (height * 4))\n"
            "let b1 = ceil(w / 128)\n"
            "grid b0 * b1\n"
            "integers w, offset 5, stride 3 0, b1, first, last, height\n");
  Here here(graph, {1000, 1000}, 0, 1000);
  here.at_once = 64;
  const std::vector<i64> all = numbers(launch, here);
  const i64 rows = all.back();
  EXPECT_GE(rows, 1);
  EXPECT_EQ(all.front(), (1000 + 4 * rows - 1) / (4 * rows) * 8);
}

TEST_F(Launches, OfFramesFillAList) {
  kernel.points = {1, 64};
  kernel.threads = {32, 4, 1};
  kernel.frame = DeviceKernel::Frame{};
  kernel.frame->height = 4;
  kernel.frame->top = 1;
  kernel.frame->left = 32;
  kernel.frame->bottom = height;
  kernel.frame->right = width;
  kernel.integers = {{DeviceKernel::Integer::Kind::frame, {}, 0, 2}, {DeviceKernel::Integer::Kind::frame, {}, 0, 3}};
  const ir::host::Launch launch = launch_of(kernel);
  EXPECT_EQ(print(launch, graph),
            "let blocks = tsr_frame(first, last, w, 1, h, 32, w, 4, 64, 4, 0, 0), fills 11\n"
            "grid blocks\n"
            "integers blocks 2, blocks 3\n");
  const Here here(graph, {100, 256}, 0, 100);
  EXPECT_EQ(numbers(launch, here), (std::vector<i64>{numbers(launch, here).front(), 1, 100}));
}

TEST_F(Launches, ProductsThatOverflowAreAsLargeAsANumberCanBe) {
  kernel.points = {1, 1};
  const ir::host::Launch launch = launch_of(kernel);
  const Here here(graph, {i64{1} << 40, i64{1} << 40}, 0, i64{1} << 40);
  EXPECT_EQ(numbers(launch, here).front(), std::numeric_limits<i64>::max());
}

TEST(HostFunctions, RefuseOtherNames) {
  std::vector<i64> none;
  EXPECT_THROW(host_function("tsr_none", {1}, none), Error);
}

}  // namespace
}  // namespace tessera::lower
