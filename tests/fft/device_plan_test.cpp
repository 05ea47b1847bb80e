// Plans of transforms on devices: which kernels, what a block is given, what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fft/device/plan.hpp"
#include "tessera/error.hpp"

namespace tessera::fft {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Le;

TEST(DevicePlan, RowsAndColumnsThatFitABlockAreAKernelEach) {
  const DevicePlan plan = plan_on_device({.extents = {1024, 1024}});
  ASSERT_EQ(plan.phases.size(), 2U);
  EXPECT_EQ(plan.chunk, 0);
  for (const DevicePhase& phase : plan.phases) {
    ASSERT_EQ(phase.steps.size(), 1U);
    EXPECT_EQ(phase.steps[0].line.points, 1024);
  }
  EXPECT_FALSE(plan.phases[0].steps[0].line.from.beside);
  EXPECT_TRUE(plan.phases[1].steps[0].line.from.beside);
  // Pieces of a sector of memory at least.
  EXPECT_GE(plan.phases[1].steps[0].line.lines, 4);
}

TEST(DevicePlan, LongColumnsGoInTwoHalvesInPlace) {
  const DevicePlan two = plan_on_device({.extents = {8192, 8192}});
  ASSERT_EQ(two.phases.size(), 2U);
  EXPECT_TRUE(two.permutes);
  EXPECT_EQ(two.whole + two.chunk, 0);
  EXPECT_EQ(two.phases[0].steps.size(), 1U);
  ASSERT_EQ(two.phases[1].steps.size(), 2U);
  EXPECT_EQ(two.phases[1].steps[0].line.points * two.phases[1].steps[1].line.points, 8192);

  const DevicePlan one = plan_on_device({.extents = {8192, 8192}}, {.pairs = true});
  ASSERT_EQ(one.phases[1].steps.size(), 1U);
  const DeviceStep& step = one.phases[1].steps[0];
  ASSERT_TRUE(step.second.has_value());
  EXPECT_EQ(step.line.threads * step.line.lines, step.second->threads * step.second->lines);
  EXPECT_EQ(step.line.lines, step.second->lines * step.order.finer);
  // Every block of either half has a ticket.
  EXPECT_GE(step.order.strips() * step.order.first_items, blocks_of(step.line, 0));
  EXPECT_GE(step.order.strips() * step.order.second_items, blocks_of(*step.second, 0));
}

TEST(DevicePlan, LongRowsGoInFourStepsByChunks) {
  const DevicePlan plan = plan_on_device({.batch = {100}, .extents = {65536}}, {.chunk_bytes = i64{4} << 20});
  ASSERT_EQ(plan.phases.size(), 1U);
  EXPECT_EQ(plan.phases[0].steps.size(), 2U);
  EXPECT_EQ(plan.phases[0].counted.extent, 100);
  EXPECT_EQ(plan.phases[0].chunk, 8);
  EXPECT_EQ(plan.chunk * 4, i64{4} << 20);
}

TEST(DevicePlan, OnlyTransformsToRealValuesNeedAnArrayBetweenPasses) {
  EXPECT_EQ(plan_on_device({.extents = {64, 64}}).whole, 0);
  EXPECT_EQ(plan_on_device({.transform = Transform::real_to_complex, .extents = {64, 64}}).whole, 0);
  // 33 pairs in rows of 48.
  EXPECT_EQ(plan_on_device({.transform = Transform::complex_to_real, .extents = {64, 64}}).whole, 2 * 48 * 64);
}

TEST(DevicePlan, RealRowsAreHalvedWherePairsCanBeRead) {
  EXPECT_EQ(plan_on_device({.transform = Transform::real_to_complex, .batch = {3}, .extents = {20}})
                .phases[0]
                .steps[0]
                .line.points,
            10);
  EXPECT_EQ(
      plan_on_device({.transform = Transform::real_to_complex, .batch = {3}, .extents = {20}, .from_strides = {21}})
          .phases[0]
          .steps[0]
          .line.points,
      20);
  EXPECT_EQ(plan_on_device({.transform = Transform::complex_to_real, .batch = {3}, .extents = {21}})
                .phases[0]
                .steps[0]
                .line.points,
            21);
}

TEST(DevicePlan, BlocksHoldNoMoreThanTheyHave) {
  for (const i64 n : {2, 30, 97, 360, 1009, 2187, 4096, 6144, 12288})
    for (const ElementType type : {ElementType::f32, ElementType::f64})
      for (const Transform t : {Transform::forward, Transform::real_to_complex}) {
        const DevicePlan plan = plan_on_device({.transform = t, .type = type, .extents = {n, n}});
        for (const DevicePhase& phase : plan.phases)
          for (const DeviceStep& step : phase.steps) {
            EXPECT_LE(step.line.threads * step.line.lines, 1024) << plan.description;
            EXPECT_THAT(step.line.radices, Each(Le(32))) << plan.description;
            i64 product = 1;
            for (const i64 r : step.line.radices) product *= r;
            EXPECT_EQ(product, step.line.points) << plan.description;
          }
      }
}

TEST(DevicePlan, SharedMemoryIsThatOfAnyDevice) {
  for (const i64 n : {12, 97, 1000, 2048, 3000, 12288})
    for (const DevicePhase& phase : plan_on_device({.extents = {n, n}}).phases)
      for (const DeviceStep& step : phase.steps)
        EXPECT_LE(write_line(step.line, "line").shared_bytes, shared_of_line) << n;
}

TEST(DevicePlan, LinesThatAreTooLongAreRefused) {
  for (const i64 n : {i64{1} << 30, i64{1000000007}}) {
    try {
      plan_on_device({.extents = {n}});
      ADD_FAILURE() << n;
    } catch (const Error& e) {
      EXPECT_EQ(e.error_class(), ErrorClass::device);
      EXPECT_THAT(e.message(), HasSubstr("points along a dimension"));
    }
  }
}

}  // namespace
}  // namespace tessera::fft
