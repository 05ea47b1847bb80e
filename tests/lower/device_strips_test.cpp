// Groups of stages that differ in size as strips: what is kept, which rows a launch touches, and what stays unfit.
#include <gtest/gtest.h>

#include "device/programs.hpp"
#include "lang/compile.hpp"
#include "lower/device.hpp"
#include "lower/ways/ways.hpp"
#include "plan/passes/strips.hpp"

namespace tessera::lower {
namespace {

struct Lowered {
  plan::Plan plan;
  DeviceProgram program;
};

Lowered lowered(const std::string& text) {
  lang::CompileInput input;
  input.text = text;
  machine::Machine device;
  device.strip_registers = 200;
  device.columns_together = true;
  device.load_price = 0.1, device.ring_price = 1, device.fold_price = 2;
  plan::Options options;
  options.numbers = Numbers::exact;
  Lowered result;
  result.plan = plan::make_plan(lang::compile(input).graph, options, device);
  choose_device_ways(result.plan);
  result.program = lower_device(result.plan);
  return result;
}

// Of an argument or output, by its position in the interface.
const DeviceKernel::Reach* reach(const DeviceKernel& kernel, const std::vector<DeviceKernel::Reach>& list,
                                 std::size_t array) {
  for (const DeviceKernel::Reach& r : list)
    if (kernel.arrays[r.array] == array) return &r;
  return nullptr;
}

TEST(DeviceStrips, MixedProgramsAreStripsAlone) {
  for (const char* text : mixed_sizes) {
    const Lowered l = lowered(text);
    EXPECT_LE(l.program.kernels.size(), 2u) << text;
    for (const DeviceKernel& kernel : l.program.kernels) {
      EXPECT_TRUE(kernel.strips) << text << kernel.why;
      EXPECT_LE(kernel.registers, 200);
    }
  }
}

TEST(DeviceStrips, RowsOfEveryArrayAreOfItsRate) {
  const Lowered l = lowered(halves);
  const DeviceKernel& kernel = l.program.kernels.front();
  const auto* read = reach(kernel, kernel.reads, 0);
  const auto* written = reach(kernel, kernel.writes, 1);
  ASSERT_TRUE(read != nullptr && written != nullptr);
  EXPECT_EQ(read->scale, 2);
  EXPECT_EQ(written->scale, 1);
  EXPECT_EQ(written->hi, 0);
  // Row i needs rows 2i - 2 to 2i + 2; what is loaded ahead besides is whole steps.
  EXPECT_LE(read->lo, -2);
  EXPECT_GE(read->lo, -8);
  EXPECT_GE(read->hi, 2);
  EXPECT_LE(read->hi, 10);
}

// A coarse row is written with two fine ones, and the last step writes a fine row that no coarse one belongs to.
TEST(DeviceStrips, TheDomainHoldsEveryRowOfEveryResult) {
  const Lowered l = lowered(fine_and_coarse);
  const DeviceKernel& kernel = l.program.kernels.front();
  for (const i64 m : {2, 3, 4, 5, 100, 101}) {
    EXPECT_EQ(l.plan.graph.evaluate(kernel.domain[0], {m, 64}), (m + 1) / 2) << m;
    EXPECT_EQ(l.plan.graph.evaluate(kernel.domain[1], {64, m}), (m + 1) / 2) << m;
  }
  const auto* fine = reach(kernel, kernel.writes, 1);
  const auto* coarse = reach(kernel, kernel.writes, 2);
  ASSERT_TRUE(fine != nullptr && coarse != nullptr);
  EXPECT_EQ(fine->scale, 2);
  EXPECT_EQ(fine->lo, 0);
  EXPECT_EQ(fine->hi, 1);
  EXPECT_EQ(coarse->scale, 1);
}

TEST(DeviceStrips, WhatStaysUnfitSaysWhy) {
  const auto why = [](const std::string& body) {
    const Lowered l = lowered(
        "parameter M, N;\nstencil next(vector#2 float X) { return X + X@[1,1]; }\n"
        "vector#2 float image[M,N];\n" +
        body);
    std::string text;
    for (const DeviceKernel& k : l.program.kernels) text += k.why;
    return text;
  };
  // A frame of a number around an image: pieces that overlap, with gaps between them and a number.
  EXPECT_EQ(why("return ( [0..M+3,0..N+3] = 1; [2..,3..] = next(image:clamped); );"),
            "it puts stages together other than in turns");
  EXPECT_EQ(why("return next(image:clamped);"), "");
}

// Rings of a stage read by one of half its size: two rows a step, two columns a column.
TEST(DeviceStrips, RingsAreOfTheirRates) {
  const Lowered l = lowered(halves);
  const plan::Group& group = l.plan.groups.front();
  ir::Graph graph = l.plan.graph;
  std::map<ir::StageId, plan::StripReads> reads;
  for (const ir::StageId s : group.stages) reads[s] = plan::strip_reads(graph, s);
  const plan::Strip strip = plan::strip_of(
      graph, group.stages, [&](ir::StageId s) -> const plan::StripReads& { return reads.at(s); },
      [&](ir::StageId s) { return s == group.stages.back(); },
      [&](ir::StageId s) -> const std::vector<plan::StagePlan::Rate>& { return l.plan.stages[s].rate; });
  ASSERT_EQ(strip.why, "");
  ASSERT_EQ(strip.rings.size(), 3u);  // rows, columns, the image
  const plan::StripRing &rows = strip.rings[0], &columns = strip.rings[1], &image = strip.rings[2];
  EXPECT_EQ(rows.rate, (std::array<i64, 2>{1, 2}));
  EXPECT_EQ(columns.rate, (std::array<i64, 2>{1, 1}));
  EXPECT_EQ(image.rate, (std::array<i64, 2>{2, 2}));
  EXPECT_EQ(columns.columns(4), 4);
  EXPECT_EQ(rows.columns(4), 8 + 2 + 1);  // the last column reads 2 * 3 + 2, the second beyond its own two
  EXPECT_EQ(image.columns(4), 8 + 2 + 1);
  EXPECT_EQ(image.depth, 5);
  EXPECT_EQ(image.oldest(), -2);
  EXPECT_EQ(image.lag + 1, 2);
  EXPECT_EQ(strip.start, -2);  // of rows -2 to 2, the last two are those of step 0
}

}  // namespace
}  // namespace tessera::lower
