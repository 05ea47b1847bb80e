// Filters with certainties that run block by block, without these where all is equally certain: against the same
// program in one piece, and against the filter without.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

#include "data/element.hpp"
#include "engine/filters/filters.hpp"
#include "tessera/filters.hpp"

namespace tessera {
namespace {

const double nan = std::numeric_limits<double>::quiet_NaN();

double load(const Array& a, i64 i) {
  return load_element(a.format().scalar, a.as<std::byte>() + static_cast<std::size_t>(i) * a.format().size());
}

Array numbers(ElementType type, const Shape& shape, const std::function<double(i64)>& value) {
  Array a(type, shape);
  for (i64 i = 0; i < a.count(); ++i)
    store_element(type, a.as<std::byte>() + static_cast<std::size_t>(i) * a.format().size(), value(i));
  return a;
}

double noise(i64 i) {
  return static_cast<double>((i * 7919 + i / 911) % 256);
}

bool same(const Array& a, const Array& b) {
  return a.shape() == b.shape() &&
         std::memcmp(a.data(), b.data(), static_cast<std::size_t>(a.count()) * a.format().size()) == 0;
}

RunOptions in_one_piece() {
  RunOptions run;
  run.schedule = Schedule::untiled;
  return run;
}
RunOptions threads(int count) {
  RunOptions run;
  run.threads = count;
  return run;
}

// In one piece: other schedules than the automatic one know no blocks.
void expect_near_whole(const Array& image, FilterRequest request, double allowed) {
  const Array whole = filter(image, request, in_one_piece()), one = filter(image, request, threads(1));
  ASSERT_EQ(one.shape(), whole.shape());
  i64 unknown = 0;
  for (i64 i = 0; i < one.count(); ++i) {
    const double w = load(whole, i), r = load(one, i);
    unknown += std::isnan(w);
    if (std::isnan(w)) {
      ASSERT_TRUE(std::isnan(r)) << i << ": " << r;
    } else {
      ASSERT_NEAR(r, w, allowed) << i;
    }
  }
  if (is_float(one.format().scalar)) {
    EXPECT_GT(unknown, 0);
  }
  EXPECT_TRUE(same(one, filter(image, request, threads(3))));
}

// Nothing is known in one corner, all equally in another; between them a border and, in places, a hole.
Array corners(ElementType type, const Shape& shape, double most) {
  const i64 columns = shape.back(), n = shape.size() == 1 ? columns : shape[shape.size() - 2] * columns;
  return numbers(type, shape, [&](i64 i) {
    const i64 at = i % n, y = at / columns, x = at % columns;
    if (shape.size() == 1) return x < columns / 3 ? 0 : x == columns / 2 ? most / 2 : most;
    if (x + 3 * y < columns) return is_float(type) && x % 5 == 0 ? nan : 0.0;
    return x > 9 * columns / 10 && y % 31 == 0 ? most / 4 : most;
  });
}

TEST(Certainty, BlocksAreTheProgramInOnePiece) {
  const Shape images = {520, 511}, volume = {37, 70, 110}, series = {5, 13, 65, 70}, line = {270000};
  const Array kernel = numbers(ElementType::f32, {5, 3}, [](i64 i) { return static_cast<double>(i % 5) - 1; });
  struct Case {
    const char* name;
    Shape shape;
    ElementType type, mark;
    double most;
    BorderMode border;
    Extent extent;
  };
  const Case cases[] = {
      {"gaussian", images, ElementType::f32, ElementType::u8, 255, BorderMode::mirror, Extent::same},
      {"box", images, ElementType::f32, ElementType::f32, 0.5, BorderMode::wrap, Extent::same},
      {"convolve", images, ElementType::f32, ElementType::boolean, 1, BorderMode::clamp, Extent::valid},
      {"correlate", images, ElementType::f64, ElementType::i16, 300, BorderMode::constant, Extent::full},
      {"box", images, ElementType::u8, ElementType::u16, 4000, BorderMode::symmetric, Extent::same},
      {"gaussian", images, ElementType::f32, ElementType::i32, 7, BorderMode::none, Extent::same},
      {"gaussian", volume, ElementType::f32, ElementType::u8, 1, BorderMode::mirror, Extent::same},
      {"box", series, ElementType::f32, ElementType::f64, 1, BorderMode::clamp, Extent::same},
      {"gaussian", line, ElementType::f32, ElementType::u8, 1, BorderMode::mirror, Extent::same}};
  for (const Case& c : cases) {
    SCOPED_TRACE(
        fmt::format("{} {} {} border {}", c.name, to_string(c.shape), name_of(c.mark), static_cast<int>(c.border)));
    FilterRequest request;
    request.name = c.name;
    request.border = Borders(c.border);
    request.extent = c.extent;
    if (request.name == "convolve" || request.name == "correlate") request.tables = {{"kernel", kernel}};
    request.mask = corners(c.mark, c.shape, c.most);
    const Array image = numbers(c.type, c.shape, noise);
    // (Means of bytes that lie between two of them are rounded to either.)
    expect_near_whole(image, request, c.type == ElementType::u8 ? 1 : 2e-3);
  }
}

TEST(Certainty, NumbersThatAreNotFinite) {
  const Shape shape = {600, 500};
  const Array image = numbers(ElementType::f32, shape, [&](i64 i) {
    const i64 y = i / 500, x = i % 500;
    if (y < 150) return nan;
    return x == 480 && y % 7 == 0 ? -HUGE_VAL : noise(i);
  });
  expect_near_whole(image, {.name = "gaussian", .ignore_nan = true}, 1e-3);
  expect_near_whole(image, {.name = "box", .mask = corners(ElementType::u8, shape, 9), .ignore_nan = true}, 1e-3);
}

// Where all is known the bits are those of the filter without a mask, also in long sums, through tiles.
TEST(Certainty, EquallyCertainIsTheFilterItself) {
  const Array image = numbers(ElementType::f32, {700, 1100}, noise);
  const Array kernel = numbers(ElementType::f32, {15, 15}, [](i64 i) { return static_cast<double>(i * 31 % 17) - 3; });
  const auto hole = [&](ElementType type, double most) {
    return numbers(type, {700, 1100}, [&](i64 i) { return i == 350 * 1100 + 20 ? 0 : most; });
  };
  const auto expect_plain = [&](const FilterRequest& plain, ElementType type, double most) {
    SCOPED_TRACE(plain.name);
    FilterRequest request = plain;
    request.mask = hole(type, most);
    const Array result = filter(image, request), expected = filter(image, plain);
    i64 others = 0, alike = 0;
    for (i64 i = 0; i < result.count(); ++i) {
      (load(result, i) == load(expected, i) ? alike : others) += 1;
      if (i % 1100 >= 600) {
        ASSERT_EQ(load(result, i), load(expected, i)) << i;
      }
    }
    EXPECT_GT(others, 4);
    EXPECT_GT(alike, others);
  };
  expect_plain({.name = "gaussian"}, ElementType::u8, 200);
  expect_plain({.name = "box", .numbers = {{"radius", 4}}}, ElementType::f32, 0.25);
  expect_plain({.name = "convolve", .tables = {{"kernel", kernel}}}, ElementType::u8, 1);
}

// What is kept as it is, is kept where nothing is known.
TEST(Certainty, AlphaIsKept) {
  const Format format = Format::record(
      "rgba", {{"r", ElementType::u8}, {"g", ElementType::u8}, {"b", ElementType::u8}, {"a", ElementType::u8}});
  Array image(format, {520, 600});
  for (i64 i = 0; i < 4 * image.count(); ++i) image.as<std::uint8_t>()[i] = static_cast<std::uint8_t>(noise(i));
  const Array mask = corners(ElementType::u8, {520, 600}, 255);
  const Array result = box(image, {.mask = mask, .alpha = Alpha::kept}), alpha = result.field("a").clone(),
              wanted = image.field("a").clone();
  EXPECT_TRUE(same(alpha, wanted));
  const Array red = box(image.field("r").clone(), {.mask = mask}), field = result.field("r").clone();
  for (i64 i = 0; i < red.count(); ++i) ASSERT_EQ(load(red, i), load(field, i)) << i;
}

// Certainties far below the largest one are certainties, in long sums too: where they are equal the result is that of
// the filter without, in blocks and in one piece.
TEST(Certainty, LittleBesideTheLargestCounts) {
  const Array image = numbers(ElementType::f32, {600, 600}, noise);
  const Array mask = numbers(ElementType::f32, {600, 600}, [](i64 i) { return i / 600 < 300 ? 1e-7 : 1.0; });
  const Array result = gaussian(image, {.sigma = 5, .mask = mask}),
              whole = gaussian(image, {.sigma = 5, .mask = mask, .run = in_one_piece()}),
              plain = gaussian(image, {.sigma = 5});
  for (i64 i = 0; i < result.count(); ++i) {
    ASSERT_FALSE(std::isnan(load(result, i))) << i;
    ASSERT_NEAR(load(result, i), load(whole, i), 1e-2) << i;
    if (i / 600 < 280) {
      ASSERT_NEAR(load(result, i), load(plain, i), 1e-2) << i;
    }
  }
}

TEST(Certainty, ExplainSaysWhereBlocksRun) {
  FilterRequest request;
  request.name = "gaussian";
  request.mask = Array(ElementType::u8, {4, 4});
  const auto made = engine::make_filter(request, ElementType::f32, 2);
  const auto told = [&](i64 rows, const RunOptions& options) {
    return made->program.explain({{rows, 900}, {rows, 900}}, options).find("equal certainties") != std::string::npos;
  };
  EXPECT_TRUE(told(700, {}));
  EXPECT_FALSE(told(70, {}));
  EXPECT_FALSE(told(700, in_one_piece()));
  RunOptions exact;
  exact.numbers = Numbers::exact;
  EXPECT_FALSE(told(700, exact));
}

}  // namespace
}  // namespace tessera
