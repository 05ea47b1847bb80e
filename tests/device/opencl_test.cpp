// Programs on an OpenCL device, through the public interface, against the interpreter. What random programs cannot
// show: views of larger images, images below every halo, targets and devices that are none.
#include "support/opencl.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "device/programs.hpp"
#include "tessera/tessera.hpp"

namespace tessera {
namespace {

using ::testing::HasSubstr;

Array random_image(i64 rows, i64 columns) {
  Array image(ElementType::f32, {rows, columns});
  std::minstd_rand random(7);
  for (i64 k = 0; k < image.count(); ++k) image.as<float>()[k] = static_cast<float>(random() % 1000) / 1000;
  return image;
}

Array region(const Array& image, const std::vector<i64>& begin, const std::vector<i64>& end) {
  return image.region(begin, end);
}

RunOptions on_opencl(Schedule schedule = Schedule::automatic) {
  RunOptions options;
  options.target = "opencl";
  options.numbers = Numbers::exact;
  options.schedule = schedule;
  return options;
}

class OpenCl : public ::testing::Test {
 protected:
  void SetUp() override {
    if (cannot_run(no_opencl())) return;
  }
  static void agrees(const Program& program, const Array& image, Schedule schedule) {
    SCOPED_TRACE(to_string(image.shape()));
    const std::vector<Array> expected = program.interpret({image}), got = program.run({image}, on_opencl(schedule));
    ASSERT_EQ(got.size(), expected.size());
    for (std::size_t o = 0; o < got.size(); ++o) {
      ASSERT_EQ(got[o].shape(), expected[o].shape());
      for (i64 k = 0; k < got[o].count(); ++k)
        ASSERT_EQ(got[o].as<float>()[k], expected[o].as<float>()[k]) << "output " << o << ", element " << k;
    }
  }
};

TEST_F(OpenCl, SizesFromOnePointOn) {
  const Program program = Program::from_text(two_stages);
  for (const auto& [rows, columns] : {std::pair{1, 1}, {1, 300}, {300, 1}, {3, 5}, {13, 17}, {40, 131}, {129, 257}})
    for (const Schedule schedule : {Schedule::automatic, Schedule::untiled})
      agrees(program, random_image(rows, columns), schedule);
}

// Stages of different sizes in one strip: extents of every kind, also such that a fine result has a row more than its
// coarse one has twice.
TEST_F(OpenCl, StagesOfDifferentSizes) {
  for (const char* text : mixed_sizes) {
    const Program program = Program::from_text(text);
    SCOPED_TRACE(text);
    for (const auto& [rows, columns] :
         {std::pair{2, 2}, {2, 300}, {300, 2}, {4, 6}, {16, 16}, {34, 50}, {64, 130}, {128, 258}, {150, 1034}})
      agrees(program, random_image(rows, columns), Schedule::automatic);
    if (text == mosaic) continue;  // takes even extents alone
    for (const auto& [rows, columns] : {std::pair{3, 5}, {17, 31}, {33, 71}, {40, 131}, {129, 257}, {151, 1031}})
      agrees(program, random_image(rows, columns), Schedule::automatic);
  }
}

// The coarse levels of an image are smaller than what their readers reach for: down to one point.
TEST_F(OpenCl, LevelsOfAFewPoints) {
  const Program program = Program::from_text(coarse);
  for (const auto& [rows, columns] : {std::pair{64, 64}, {65, 95}, {96, 127}, {130, 79}, {80, 300}, {350, 97}})
    agrees(program, random_image(rows, columns), Schedule::automatic);
}

// The same slab after slab: every row of every result is written, with rows of its inputs that are there.
TEST_F(OpenCl, StagesOfDifferentSizesInSlabs) {
  for (const char* text : mixed_sizes) {
    const Program program = Program::from_text(text);
    SCOPED_TRACE(text);
    for (const auto& [rows, columns] : {std::pair{128, 66}, {130, 34}, {257, 67}}) {
      if (text == mosaic && rows % 2 == 1) continue;
      const Array image = random_image(rows, columns);
      const std::vector<Array> expected = program.interpret({image});
      for (const i64 bytes : {i64{30000}, i64{60000}}) {
        RunOptions options = on_opencl();
        options.device_memory = bytes;
        const std::vector<Array> got = program.run({image}, options);
        for (std::size_t o = 0; o < got.size(); ++o)
          for (i64 k = 0; k < got[o].count(); ++k)
            ASSERT_EQ(got[o].as<float>()[k], expected[o].as<float>()[k]) << bytes << " " << o << " " << k;
      }
    }
  }
}

TEST_F(OpenCl, ViewsOfLargerImages) {
  const Program program = Program::from_text(two_stages);
  const Array whole = random_image(90, 200);
  agrees(program, region(whole, {3, 5}, {83, 166}), Schedule::automatic);
  std::vector<Array> large{random_image(100, 210), random_image(100, 210)}, parts;
  const std::vector<Array> before{large[0].clone(), large[1].clone()};
  for (const Array& image : large) parts.push_back(region(image, {4, 7}, {94, 207}));
  program.run_into({whole}, parts, on_opencl());
  const std::vector<Array> expected = program.interpret({whole});
  for (std::size_t o = 0; o < 2; ++o)
    for (i64 y = 0; y < 100; ++y)
      for (i64 x = 0; x < 210; ++x) {
        const bool inside = y >= 4 && y < 94 && x >= 7 && x < 207;
        const float want = inside ? expected[o].as<float>()[(y - 4) * 200 + x - 7] : before[o].as<float>()[y * 210 + x];
        ASSERT_EQ(large[o].as<float>()[y * 210 + x], want) << o << " " << y << " " << x;
      }
}

TEST_F(OpenCl, StopsWhenCancelled) {
  const std::atomic<bool> cancel = true;
  RunOptions options = on_opencl();
  options.cancel = &cancel;
  try {
    Program::from_text(two_stages).run({random_image(64, 64)}, options);
    FAIL() << "it ran";
  } catch (const Error& e) {
    EXPECT_EQ(e.error_class(), ErrorClass::cancelled);
  }
}

TEST(Targets, ThatAreNone) {
  const Program program = Program::from_text(two_stages);
  RunOptions options;
  options.target = "abacus";
  try {
    program.run({random_image(4, 4)}, options);
    FAIL() << "it ran";
  } catch (const Error& e) {
    EXPECT_EQ(e.error_class(), ErrorClass::argument);
    EXPECT_THAT(e.message(), HasSubstr("there is no target 'abacus'"));
  }
  options.target = "opencl";
  options.device = 1000;
  try {
    program.run({random_image(4, 4)}, options);
    FAIL() << "it ran";
  } catch (const Error& e) {
    EXPECT_EQ(e.error_class(), ErrorClass::device);
  }
}

}  // namespace
}  // namespace tessera
