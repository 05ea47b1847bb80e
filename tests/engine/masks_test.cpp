// Filters of images whose points are not all known, against plain loops: masks, NaN, both, every rank, borders,
// extents, channels and types; long windows, whose sums are rounded; what cannot be used.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include "data/border.hpp"
#include "data/element.hpp"
#include "engine/filters/filters.hpp"

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

void each(const Shape& extents, const std::function<void(const std::vector<i64>&)>& visit) {
  std::vector<i64> at(extents.size(), 0);
  for (;;) {
    visit(at);
    std::size_t d = extents.size();
    while (d > 0 && ++at[d - 1] == extents[d - 1]) at[--d] = 0;
    if (d == 0) return;
  }
}

// sum(w c x) sum(|w|) / sum(|w| c) with the weights from `lo` on; c is 0 where `known` says so, or outside of a
// constant border.
std::vector<double> plain(const Array& image, const Array& weights, std::vector<i64> lo, Border border, Extent extent,
                          const std::function<double(i64)>& certainty) {
  Shape shape = image.shape();
  std::vector<i64> begin(shape.size(), 0);
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const i64 before = -lo[d], after = lo[d] + weights.shape()[d] - 1;
    if (extent == Extent::valid) begin[d] = before, shape[d] -= before + after;
    if (extent == Extent::full) begin[d] = -after, shape[d] += before + after;
  }
  std::vector<double> result;
  each(shape, [&](const std::vector<i64>& at) {
    double sum = 0, share = 0, all = 0;
    i64 k = 0;
    each(weights.shape(), [&](const std::vector<i64>& step) {
      const double w = load(weights, k++);
      all += std::abs(w);
      i64 flat = 0;
      for (std::size_t d = 0; d < at.size(); ++d) {
        const i64 i = map_index(border.mode, begin[d] + at[d] + lo[d] + step[d], image.shape()[d]);
        if (i < 0) return;
        flat = flat * image.shape()[d] + i;
      }
      const double c = certainty(flat);
      if (!(c > 0)) return;
      sum += w * c * load(image, flat);
      share += std::abs(w) * c;
    });
    result.push_back(share > 0 ? sum / share * all : nan);
  });
  return result;
}

void expect_near(const Array& result, const std::vector<double>& wanted, double allowed) {
  ASSERT_EQ(result.count(), static_cast<i64>(wanted.size()));
  for (i64 i = 0; i < result.count(); ++i) {
    const double w = wanted[static_cast<std::size_t>(i)], r = load(result, i);
    if (std::isnan(w))
      ASSERT_TRUE(is_float(result.format().scalar) ? std::isnan(r) : r == 0) << i << ": " << r;
    else
      ASSERT_NEAR(r, w, allowed) << i;
  }
}

TEST(MaskedFilters, AreWhatPlainLoopsGive) {
  std::mt19937 random(11);
  const Border borders[] = {{BorderMode::mirror, 0},
                            {BorderMode::clamp, 0},
                            {BorderMode::constant, 0},
                            {BorderMode::wrap, 0},
                            {BorderMode::symmetric, 0}};
  const ElementType types[] = {ElementType::f32, ElementType::u8, ElementType::f64, ElementType::i16, ElementType::f32};
  const ElementType marks[] = {ElementType::u8, ElementType::f32, ElementType::boolean, ElementType::i16};
  const Shape shapes[] = {{31}, {11, 12}, {6, 5, 7}, {4, 5, 4, 6}};
  std::size_t turn = 0;
  for (int rank = 1; rank <= 4; ++rank) {
    for (const bool convolving : {false, true}) {
      for (const Border& border : borders) {
        const ElementType type = types[turn % std::size(types)], mark = marks[turn % std::size(marks)];
        const Extent extent = turn % 3 == 0 ? Extent::same : turn % 3 == 1 ? Extent::valid : Extent::full;
        const bool masked = turn % 4 != 2 || !is_float(type), ignore = is_float(type) && turn % 4 != 1;
        ++turn;
        SCOPED_TRACE(fmt::format("rank {}, {}, border {}, extent {}, {} {}{}", rank, name_of(type),
                                 static_cast<int>(border.mode), static_cast<int>(extent), masked ? "mask of " : "",
                                 name_of(mark), ignore ? ", ignore_nan" : ""));
        const Shape& shape = shapes[rank - 1];
        const Array image = numbers(type, shape, [&](i64 i) {
          if (is_float(type) && i % 7 == 2) return i % 2 == 0 ? nan : HUGE_VAL;
          return static_cast<double>(random() % 100);
        });
        const Array mask = numbers(mark, shape, [&](i64 i) {  // a hole at the beginning
          if (is_float(type) && !ignore && i % 7 == 2) return 0.0;
          if (mark == ElementType::boolean) return random() % 2 != 0 ? 1.0 : 0.0;
          return i < 5 ? mark == ElementType::f32 ? nan : 0 : static_cast<double>(random() % 3);
        });
        Shape extents;
        std::vector<i64> lo;
        for (int d = 0; d < rank; ++d) {
          extents.push_back(1 + static_cast<i64>(random() % 3));
          lo.push_back(convolving ? (extents.back() - 1) / 2 - (extents.back() - 1) : -((extents.back() - 1) / 2));
        }
        const Array kernel =
            numbers(ElementType::f64, extents, [&](i64) { return static_cast<double>(random() % 9) - 3; });
        Array weights = kernel.clone();
        if (convolving) std::reverse(weights.as<double>(), weights.as<double>() + weights.count());
        const auto wanted = plain(image, weights, lo, border, extent, [&](i64 i) {
          if (ignore && !std::isfinite(load(image, i))) return 0.0;
          return masked ? load(mask, i) : 1.0;
        });
        FilterRequest request{.name = convolving ? "convolve" : "correlate",
                              .tables = {{"kernel", kernel}},
                              .border = Borders(border),
                              .extent = extent,
                              .type = is_float(type) ? ElementType::f64 : ElementType::i32,
                              .ignore_nan = ignore};
        if (masked) request.mask = mask;
        const auto made = engine::make_filter(request, type, rank);
        std::vector<Array> inputs = {made->input(image)};
        if (masked) inputs.push_back(made->input(mask));
        const Array result = made->program.interpret(inputs).at(0);
        expect_near(result, wanted, is_float(type) ? 1e-3 : 0.51);
        if (rank == 2) expect_near(filter(image, request), wanted, is_float(type) ? 1e-3 : 0.51);
      }
    }
  }
}

Array row(std::vector<float> values) {
  const auto n = static_cast<i64>(values.size());
  return Array::from<float>(std::span<const float>(values), {n});
}

TEST(MaskedFilters, TheFunctions) {
  const float gap = std::numeric_limits<float>::quiet_NaN();
  const Array x = row({1, gap, 5, gap, gap, gap, 7});
  expect_near(box(x, {.ignore_nan = true}), {1, 3, 5, 5, nan, 7, 7}, 1e-5);
  expect_near(box(x, {.border = BorderMode::clamp, .mask = row({1, 0, 3, 0, 0, 0, 1})}), {1, 4, 5, 5, nan, 7, 7}, 1e-5);
  // Certainties have no unit, and certainty everywhere is the filter itself, whatever its weights sum to.
  const Array whole = row({4, 8, 1, 9, 3, 5, 7}), k = row({-1, 3, 4});
  for (const float certainty : {1.0F, 1e-3F, 255.0F}) {
    const Array all = row(std::vector<float>(7, certainty));
    const Array expected = convolve(whole, k), result = convolve(whole, k, {.mask = all});
    for (i64 i = 0; i < 7; ++i) EXPECT_NEAR(load(result, i), load(expected, i), 1e-4);
    const Array smooth = gaussian(whole, {.mask = all}), usual = gaussian(whole);
    for (i64 i = 0; i < 7; ++i) EXPECT_NEAR(load(smooth, i), load(usual, i), 1e-5);
  }
  // What lies inside of the image.
  expect_near(box(row({3, 6, 9}), {.border = Border{BorderMode::constant, 0}, .ignore_nan = true}), {4.5, 6, 7.5},
              1e-5);
  // No weights at all.
  expect_near(correlate(whole, row({0, 0, 0}), {.ignore_nan = true}), std::vector<double>(7, nan), 0);
}

TEST(MaskedFilters, OneMaskIsForAllChannels) {
  const Format rgba = Format::record(
      "rgba", {{"r", ElementType::u8}, {"g", ElementType::u8}, {"b", ElementType::u8}, {"a", ElementType::u8}});
  Array image(rgba, {6, 9});
  for (i64 i = 0; i < 4 * image.count(); ++i) image.as<std::uint8_t>()[i] = static_cast<std::uint8_t>(i * 37);
  const Array mask = numbers(ElementType::boolean, {6, 9}, [](i64 i) { return i % 3 == 0 ? 1.0 : 0.0; });
  const Array result = gaussian(image, {.mask = mask, .alpha = Alpha::kept});
  ASSERT_EQ(result.format(), rgba);
  for (const char* name : {"r", "g", "b"}) {
    const Array alone = gaussian(image.field(name).clone(), {.mask = mask}), field = result.field(name).clone();
    for (i64 i = 0; i < alone.count(); ++i) ASSERT_EQ(load(field, i), load(alone, i)) << name << ' ' << i;
  }
  const Array kept = result.field("a").clone(), alpha = image.field("a").clone();
  for (i64 i = 0; i < kept.count(); ++i) ASSERT_EQ(load(kept, i), load(alpha, i));
}

// One of fewer dimensions is that of every slice, and of every volume of a series.
TEST(MaskedFilters, AMaskOfASliceIsForAllSlices) {
  const Shape shape = {2, 3, 9, 11};
  const Array image = numbers(ElementType::f32, shape, [](i64 i) { return static_cast<double>(i * 7919 % 256); });
  const auto known = [](i64 i) { return i % 5 == 0 || i % 7 == 3 ? 0.0 : 200.0; };
  for (const std::size_t rank : {2, 3}) {
    const Shape own(shape.end() - static_cast<std::ptrdiff_t>(rank), shape.end());
    const Array part = numbers(ElementType::u8, own, known);
    const Array all = numbers(ElementType::u8, shape, [&](i64 i) { return known(i % part.count()); });
    for (const Extent extent : {Extent::same, Extent::full}) {
      const Array result = box(image, {.mask = part, .extent = extent});
      const Array expected = box(image, {.mask = all, .extent = extent});
      ASSERT_EQ(result.shape(), expected.shape());
      for (i64 i = 0; i < result.count(); ++i) {
        const double wanted = load(expected, i), got = load(result, i);
        ASSERT_TRUE(got == wanted || (std::isnan(got) && std::isnan(wanted))) << rank << ' ' << i << ' ' << got;
      }
    }
  }
}

// Long sums go through Fourier transforms, which leave a little where nothing is known.
TEST(MaskedFilters, NothingStaysNothingInLongSums) {
  const i64 rows = 80, columns = 90;
  const Array mask = numbers(ElementType::u8, {rows, columns}, [&](i64 i) {
    const i64 y = i / columns, x = i % columns;
    return y >= 20 && y < 60 && x >= 30 && x < 80 ? 0.0 : 255.0;
  });
  const Array image =
      numbers(ElementType::f32, {rows, columns}, [&](i64 i) { return static_cast<double>(i * 7919 % 256); });
  const Array kernel = numbers(ElementType::f32, {11, 11}, [](i64 i) { return static_cast<double>(i * 31 % 17) + 1; });
  const auto wanted =
      plain(image, kernel, {-5, -5}, {BorderMode::mirror, 0}, Extent::same, [&](i64 i) { return load(mask, i); });
  for (const Method method : {Method::transform, Method::direct}) {
    ConvolveOptions options{.mask = mask};
    options.run.method = method;
    expect_near(correlate(image, kernel, options), wanted, method == Method::transform ? 20 : 1);
  }
}

std::string refused(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& e) {
    EXPECT_EQ(e.error_class(), ErrorClass::argument) << e.what();
    return e.message();
  }
  return "";
}

TEST(MaskedFilters, RefuseWhatCannotBeUsed) {
  const Array x(ElementType::f32, {4, 5}), m(ElementType::u8, {4, 5});
  EXPECT_EQ(refused([&] { box(x, {.mask = Array(ElementType::u8, {5, 4})}); }),
            "mask has shape 5x4, expected that of the image, 4x5");
  EXPECT_EQ(refused([&] { box(Array(ElementType::f32, {3, 4, 5}), {.mask = Array(ElementType::u8, {3, 5})}); }),
            "mask has shape 3x5, expected that of the image, 3x4x5, or of its last dimensions, as 4x5");
  EXPECT_EQ(refused([&] { filter(x, {.name = "median", .mask = m}); }),
            "filter 'median' has no option mask, the filters that have are box, convolve, correlate and gaussian");
  EXPECT_EQ(refused([&] { filter(x, {.name = "sobel", .ignore_nan = true}); }),
            "filter 'sobel' has no option ignore_nan, the filters that have are box, convolve, correlate and gaussian");
  const Array colours(Format::record("two", {{"x", ElementType::u8}, {"y", ElementType::u8}}), {4, 5});
  EXPECT_EQ(refused([&] { box(x, {.mask = colours}); }), "mask has elements of struct two, expected numbers");
  EXPECT_EQ(refused([&] { gaussian(x, {.border = Border{BorderMode::constant, 3}, .ignore_nan = true}); }),
            "border constant(3) cannot be used with ignore_nan, expected constant(0)");
  EXPECT_EQ(refused([&] { box(m, {.ignore_nan = true, .extent = Extent::full}); }),
            "ignore_nan cannot continue an image of uint8, which has no NaN, expected the extent same or valid");
  EXPECT_EQ(refused([&] { convolve(x, Array(ElementType::u8, {1024, 1024}), {.mask = m}); }),
            "kernel has 1,048,576 weights (1024x1024), expected at most 524,288 with a mask");
}

}  // namespace
}  // namespace tessera
