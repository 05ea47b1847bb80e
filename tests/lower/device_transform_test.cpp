// Sums through Fourier transforms of the tiles of blocks: whatever the weights, a block has what it needs.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "lang/compile.hpp"
#include "lower/device.hpp"
#include "lower/ways/ways.hpp"
#include "machine/machines.hpp"
#include "plan/plan.hpp"

namespace tessera::lower {
namespace {

// A dense sum of rows x columns weights that are no outer product, through transforms.
DeviceProgram lowered(int rows, int columns, const std::string& from, const std::string& number) {
  lang::CompileInput input;
  input.text = fmt::format(
      "table {3} k[i = 0..{0}, j = 0..{1}] = (i * 7 + j * 3 + i * j) % 11 + 1; stencil f(vector#2 {2} X) {{ return "
      "sum(i = "
      "0..{0}, j = 0..{1}) (k[i,j] * X@[i-{4},j-{5}]); }} parameter M, N; vector#2 {2} a[M,N]; return f(a:mirror);",
      rows - 1, columns - 1, from, number, rows / 2, columns / 2);
  plan::Options how;
  how.method = Method::transform;
  machine::Abilities cuda = machine::abilities_of_target("cuda");
  cuda.buffers = false;  // no tiles that are larger than a block
  plan::Plan plan = plan::make_plan(lang::compile(input).graph, how, machine::device(cuda));
  choose_device_ways(plan);
  return lower_device(plan);
}

TEST(DeviceTransforms, BlocksHaveTheirSharedMemory) {
  int tiles = 0;
  for (const auto& [from, number] : {std::pair{"float", "float"}, {"double", "double"}, {"uint8", "int"}})
    for (const int rows : {1, 2, 3, 5, 8, 9, 17, 33})
      for (const int columns : {1, 2, 9, 21, 33, 48, 63}) {
        if (rows * columns < 21) continue;
        SCOPED_TRACE(fmt::format("{} x {} of {}", rows, columns, from));
        for (const DeviceKernel& kernel : lowered(rows, columns, from, number).kernels) {
          EXPECT_LE(kernel.shared_bytes, shared_of_block);
          tiles += kernel.shared_bytes > 0 && !kernel.marches && !kernel.strips;
        }
      }
  EXPECT_GT(tiles, 60);
}

}  // namespace
}  // namespace tessera::lower
