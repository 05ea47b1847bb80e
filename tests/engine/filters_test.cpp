// Filters by name against plain loops: all of them that have a closed form, ranks, borders, types and extents, by the
// interpreter; the compiled code against the interpreter; options that cannot be used.
#include "engine/filters/filters.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <thread>

#include "data/border.hpp"
#include "data/element.hpp"
#include "support/sample.hpp"

namespace tessera {
namespace {

std::size_t offset_of(const Array& a, i64 i) {
  return static_cast<std::size_t>(i) * a.format().size();
}

double load(const Array& a, i64 i) {
  return load_element(a.format().scalar, static_cast<const std::byte*>(a.data()) + offset_of(a, i));
}

void store(const Array& a, i64 i, double v) {
  store_element(a.format().scalar, static_cast<std::byte*>(a.data()) + offset_of(a, i), v);
}

Array random_image(std::mt19937& random, ElementType type, const Shape& shape) {
  Array a(type, shape);
  for (i64 i = 0; i < a.count(); ++i)
    store(a, i, static_cast<double>(random() % (type == ElementType::boolean ? 2 : 100)));
  return a;
}

// What is known of a window: its offsets from `lo`, its extents, a weight per element, and what is made of its values.
struct Window {
  std::vector<i64> lo, extents;
  std::vector<double> weights;
  std::function<double(std::vector<double>)> reduce;  // of values times weights
};

// In row-major order; `visit` gets an index.
void each(const std::vector<i64>& extents, const std::function<void(const std::vector<i64>&)>& visit) {
  std::vector<i64> at(extents.size(), 0);
  for (;;) {
    visit(at);
    std::size_t d = extents.size();
    while (d > 0 && ++at[d - 1] == extents[d - 1]) at[--d] = 0;
    if (d == 0) return;
  }
}

double value_at(const Array& image, const std::vector<i64>& index, const std::vector<Border>& borders) {
  i64 flat = 0;
  for (std::size_t d = 0; d < index.size(); ++d) {
    const i64 i = map_index(borders[d].mode, index[d], image.shape()[d]);
    if (i < 0) return borders[d].value;
    flat = flat * image.shape()[d] + i;
  }
  return load(image, flat);
}

std::vector<double> reference(const Array& image, const Window& w, const std::vector<Border>& borders, Extent extent,
                              Shape& shape) {
  std::vector<i64> begin(image.shape().size());
  shape = image.shape();
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const i64 before = -w.lo[d], after = w.lo[d] + w.extents[d] - 1;
    if (extent == Extent::valid) begin[d] = before, shape[d] -= before + after;
    if (extent == Extent::full) begin[d] = -after, shape[d] += before + after;
  }
  std::vector<double> result;
  each(shape, [&](const std::vector<i64>& at) {
    std::vector<double> values;
    each(w.extents, [&](const std::vector<i64>& k) {
      std::vector<i64> index(at.size());
      for (std::size_t d = 0; d < at.size(); ++d) index[d] = begin[d] + at[d] + w.lo[d] + k[d];
      values.push_back(w.weights[values.size()] * value_at(image, index, borders));
    });
    result.push_back(w.reduce(std::move(values)));
  });
  return result;
}

double sum_of(const std::vector<double>& v) {
  double sum = 0;
  for (double x : v) sum += x;
  return sum;
}

Window box_window(int rank, i64 radius, std::function<double(std::vector<double>)> reduce) {
  const auto n = static_cast<std::size_t>(rank);
  Window w{std::vector<i64>(n, -radius), std::vector<i64>(n, 2 * radius + 1), {}, std::move(reduce)};
  w.weights.assign(static_cast<std::size_t>(element_count(w.extents)), 1.0);
  return w;
}

// The window that a request asks for.
Window window_of(const FilterRequest& request, int rank) {
  const std::string& name = request.name;
  if (name == "box") return box_window(rank, 1, [](auto v) { return sum_of(v) / static_cast<double>(v.size()); });
  if (name == "erode") return box_window(rank, 1, [](auto v) { return *std::min_element(v.begin(), v.end()); });
  if (name == "dilate") return box_window(rank, 1, [](auto v) { return *std::max_element(v.begin(), v.end()); });
  if (name == "median")
    return box_window(rank, 1, [](auto v) {
      std::sort(v.begin(), v.end());
      return v[v.size() / 2];
    });
  if (name == "gaussian") {
    const double sigma = 0.7;
    Window w = box_window(rank, 3, sum_of);
    double all = 0;
    for (int k = -3; k <= 3; ++k) all += std::exp(-k * k / (2 * sigma * sigma));
    std::size_t i = 0;
    each(w.extents, [&](const std::vector<i64>& at) {
      for (const i64 k : at)
        w.weights[i] *= std::exp(-static_cast<double>((k - 3) * (k - 3)) / (2 * sigma * sigma)) / all;
      ++i;
    });
    return w;
  }
  const Array& kernel = request.tables.at("kernel");
  Window w{{}, kernel.shape(), {}, sum_of};
  for (i64 i = 0; i < kernel.count(); ++i) w.weights.push_back(load(kernel, i));
  const bool turned = name == "convolve";
  if (turned) std::reverse(w.weights.begin(), w.weights.end());
  for (const i64 n : kernel.shape()) w.lo.push_back(turned ? (n - 1) / 2 - (n - 1) : -((n - 1) / 2));
  return w;
}

FilterRequest random_request(std::mt19937& random, const std::string& name, int rank) {
  FilterRequest request{.name = name};
  if (name == "gaussian") request.numbers = {{"sigma", 0.7}, {"truncate", 4.2}};
  if (name == "convolve" || name == "correlate") {
    Shape shape;
    for (int d = 0; d < rank; ++d) shape.push_back(1 + static_cast<i64>(random() % (rank > 2 ? 3 : 5)));
    Array kernel(ElementType::f64, shape);
    for (i64 i = 0; i < kernel.count(); ++i)
      kernel.as<double>()[i] = static_cast<double>(random() % 9) / 8 / static_cast<double>(kernel.count());
    request.tables = {{"kernel", kernel}};
  }
  return request;
}

TEST(NamedFilters, AreWhatPlainLoopsGive) {
  std::mt19937 random;
  const ElementType types[] = {ElementType::u8,  ElementType::f32,     ElementType::i16,
                               ElementType::u16, ElementType::i32,     ElementType::u32,
                               ElementType::f16, ElementType::boolean, ElementType::f64};
  const Border modes[] = {{BorderMode::clamp, 0},
                          {BorderMode::mirror, 0},
                          {BorderMode::symmetric, 0},
                          {BorderMode::wrap, 0},
                          {BorderMode::constant, 1}};
  const Shape shapes[] = {{9}, {7, 8}, {7, 3, 8}, {7, 7, 2, 7}};
  std::size_t turn = 0;
  for (const std::string name : {"box", "erode", "dilate", "median", "gaussian", "convolve", "correlate"}) {
    for (int rank = 1; rank <= 4; ++rank) {
      for (const Border& mode : modes) {
        for (const Extent extent : {Extent::same, Extent::valid, Extent::full}) {
          if (rank > 1 && turn++ % static_cast<std::size_t>(rank) != 0) continue;  // the slow ones
          const ElementType type = types[turn++ % std::size(types)];
          if (!in_sample(turn / 2)) continue;
          random.seed(turn);
          Shape shape = shapes[rank - 1];
          if (extent == Extent::valid) shape = Shape(static_cast<std::size_t>(rank), rank == 4 ? 7 : 8);
          if (name == "gaussian" && rank == 4) shape = {extent == Extent::valid ? 7 : 2, 7, 7, 7};
          FilterRequest request = random_request(random, name, rank);
          request.extent = extent;
          request.border = Borders(mode);
          SCOPED_TRACE(fmt::format("{} {} {} border {} extent {}", name, name_of(type), to_string(shape),
                                   static_cast<int>(mode.mode), static_cast<int>(extent)));
          const Array image = random_image(random, type, shape);
          const auto made = engine::make_filter(request, type, rank);
          const Array result = made->program.interpret({made->input(image)}).at(0);
          const std::vector<Border> borders(static_cast<std::size_t>(rank), mode);
          Shape expected_shape;
          const std::vector<double> expected =
              reference(image, window_of(request, rank), borders, extent, expected_shape);
          const ElementType stored = type == ElementType::boolean ? ElementType::u8 : type;
          ASSERT_EQ(result.format(), Format(stored));
          ASSERT_EQ(result.shape(), expected_shape);
          for (i64 i = 0; i < result.count(); ++i) {
            const double wanted = expected[static_cast<std::size_t>(i)];
            const double allowed = is_float(stored) ? (stored == ElementType::f16 ? 0.05 : 1e-4) : 0.5001;
            ASSERT_NEAR(load(result, i), wanted, allowed) << i;
          }
        }
      }
    }
  }
}

TEST(NamedFilters, CompiledCodeAgreesWithTheInterpreter) {
  std::mt19937 random(5);
  for (const FilterInfo& info : filters()) {
    for (const int rank : info.ranks) {
      if (rank == 4 && info.name != "gaussian" && info.name != "correlate") continue;
      const Format format =
          rank == 2 ? Format::record("rgb", {{"r", ElementType::u8}, {"g", ElementType::u8}, {"b", ElementType::u8}})
                    : Format(ElementType::f32);
      const Shape shape = rank == 1   ? Shape{70}
                          : rank == 2 ? Shape{19, 37}
                          : rank == 3 ? Shape{7, 8, 19}
                                      : Shape{4, 5, 6, 17};
      FilterRequest request = random_request(random, info.name, rank);
      request.extent = rank == 1 ? Extent::full : Extent::same;
      const bool has_border = std::any_of(info.options.begin(), info.options.end(),
                                          [](const FilterOption& o) { return o.type == "border"; });
      if (rank == 3 && has_border) request.border = Borders(BorderMode::wrap);
      SCOPED_TRACE(fmt::format("{} of rank {}", info.name, rank));
      Array image(format, shape);
      if (format.is_struct())
        for (i64 i = 0; i < 3 * image.count(); ++i) image.as<std::uint8_t>()[i] = static_cast<std::uint8_t>(random());
      else
        image = random_image(random, ElementType::f32, shape);
      const auto made = engine::make_filter(request, format, rank);
      const std::vector<Array> input = {made->input(image)};
      const Array expected = made->program.interpret(input).at(0), result = made->program.run(input).at(0);
      ASSERT_EQ(result.shape(), expected.shape());
      ASSERT_EQ(result.format(), expected.format());
      EXPECT_EQ(result.format().is_struct(), format.is_struct());
      const bool bytes = format.is_struct() && result.format().fields[0].type == ElementType::u8;
      const i64 count = static_cast<i64>(result.format().size()) * result.count() / (bytes ? 1 : 4);
      for (i64 i = 0; i < count; ++i) {
        const double a = bytes ? result.as<std::uint8_t>()[i] : static_cast<double>(result.as<float>()[i]);
        const double b = bytes ? expected.as<std::uint8_t>()[i] : static_cast<double>(expected.as<float>()[i]);
        ASSERT_NEAR(a, b, bytes ? 1 : 1e-4 * std::max(1e3, std::abs(b))) << i;
      }
    }
  }
}

// Windows of hundreds of rows, many times larger than the image: rows are found by loops, ends are patched by loops.
TEST(NamedFilters, LongWindows) {
  std::mt19937 random(9);
  const Borders modes[] = {Borders(BorderMode::mirror), Borders(Border{BorderMode::constant, 3}),
                           Borders(BorderMode::wrap)};
  for (const Shape& shape : {Shape{7, 9}, Shape{3, 4, 5}}) {
    const Array image = random_image(random, ElementType::f32, shape);
    for (const Borders& border : modes) {
      for (const bool around : {false, true}) {  // the loops of a bilateral share their rows
        if (around && shape.size() > 2) continue;
        const FilterRequest request{.name = around ? "bilateral" : "gaussian",
                                    .numbers = {{"sigma", around ? PerAxis{60, 1} : PerAxis(40)}},
                                    .border = border};
        const auto made = engine::make_filter(request, ElementType::f32, static_cast<int>(shape.size()));
        const Array expected = made->program.interpret({image}).at(0);
        RunOptions direct;
        direct.method = Method::direct;
        const Array result = made->program.run({image}, direct).at(0);
        for (i64 i = 0; i < image.count(); ++i) ASSERT_NEAR(load(result, i), load(expected, i), 1e-3) << i;
      }
    }
  }
}

// Boxes of more points than sums are looked at term by term: taken by blocks along each dimension, whatever the border.
TEST(NamedFilters, BoxesOfAnySize) {
  constexpr i64 radius = 190, length = 2 * radius + 1;
  std::mt19937 random(11);
  const Shape shape{5, 9};
  const Array image = random_image(random, ElementType::f32, shape);
  const Border modes[] = {{BorderMode::mirror, 0}, {BorderMode::constant, 3}, {BorderMode::wrap, 0}};
  for (const Border& border : sample_of(modes)) {
    const FilterRequest request{.name = "box", .numbers = {{"radius", PerAxis(radius)}}, .border = Borders(border)};
    const auto made = engine::make_filter(request, ElementType::f32, 2);
    const Array result = made->program.run({image}).at(0);
    std::vector<double> rows(static_cast<std::size_t>((shape[0] + 2 * radius) * shape[1]));
    for (std::size_t k = 0; k < rows.size(); ++k) {
      const i64 y = static_cast<i64>(k) / shape[1] - radius, x = static_cast<i64>(k) % shape[1];
      for (i64 d = -radius; d <= radius; ++d) rows[k] += value_at(image, {y, x + d}, {border, border});
    }
    for (i64 i = 0; i < image.count(); ++i) {
      double sum = 0;
      for (i64 d = 0; d < length; ++d) sum += rows[static_cast<std::size_t>(i + d * shape[1])];
      ASSERT_NEAR(load(result, i), sum / (length * length), 1e-4) << i;
    }
    const std::string plan = made->program.explain({{600, 600}});
    EXPECT_THAT(plan, testing::HasSubstr("result.of")) << plan;  // and not 381 terms
  }
}

Array row(std::vector<float> values) {
  const auto n = static_cast<i64>(values.size());
  return Array::from<float>(std::span<const float>(values), {n});
}
std::vector<float> floats(const Array& a) {
  return {a.as<float>(), a.as<float>() + a.count()};
}

TEST(NamedFilters, TheFunctions) {
  const Array x = row({1, 2, 4, 8});
  EXPECT_EQ(floats(gaussian(x, {.sigma = 0})), floats(x));
  EXPECT_EQ(floats(dilate(x, {.radius = 2, .border = BorderMode::wrap})), (std::vector<float>{8, 8, 8, 8}));
  EXPECT_EQ(floats(erode(x, {.extent = Extent::valid})), (std::vector<float>{1, 2}));
  EXPECT_EQ(floats(median(x, {.border = Border{BorderMode::constant, 9}})), (std::vector<float>{2, 2, 4, 8}));
  EXPECT_EQ(floats(laplacian(x)), (std::vector<float>{2, 1, 2, -8}));
  EXPECT_EQ(floats(sobel(x)), (std::vector<float>{0, 1.5, 3, 0}));
  EXPECT_EQ(floats(convolve(x, row({1, 10}), {.extent = Extent::full})), (std::vector<float>{1, 12, 24, 48, 80}));
  EXPECT_EQ(floats(correlate(x, row({1, 10}), {.extent = Extent::full})), (std::vector<float>{10, 21, 42, 84, 8}));
  EXPECT_EQ(floats(correlate(x, row({1, 10}), {.anchor = 1, .border = BorderMode::clamp})),
            (std::vector<float>{11, 21, 42, 84}));
  EXPECT_EQ(floats(convolve(x, row({0, 0, 0, 0, 0, 0, 1}), {.border = BorderMode::wrap})),
            (std::vector<float>{2, 4, 8, 1}));  // weights that the image does not hold
  EXPECT_EQ(floats(dilate(x, {.border = Border{BorderMode::constant, 2.25}, .extent = Extent::full})),
            (std::vector<float>{2.25, 2.25, 4, 8, 8, 8}));
  const Array whole = box(x, {.extent = Extent::valid, .type = ElementType::u16});
  EXPECT_EQ(whole.as<std::uint16_t>()[0], 2);
  EXPECT_EQ(whole.as<std::uint16_t>()[1], 5);
  EXPECT_EQ(unsharp(x, {.amount = 0}).as<float>()[2], 4);
  EXPECT_NEAR(static_cast<double>(bilateral(x, {.range = 0.01}).as<float>()[1]), 2, 1e-6);
  const Array flat(ElementType::u8, {9, 9});
  EXPECT_EQ(canny(flat).format(), Format(ElementType::f32));
  EXPECT_EQ(harris(flat, {.type = ElementType::f64}).format(), Format(ElementType::f64));
}

TEST(NamedFilters, SigmaOfEachAxis) {
  Array image(ElementType::f32, {5, 5});
  image.as<float>()[12] = 1;
  const Array across = gaussian(image, {.sigma = {0, 1}, .border = Border{BorderMode::constant, 0}});
  EXPECT_EQ(across.as<float>()[7], 0);
  EXPECT_NEAR(static_cast<double>(across.as<float>()[13] / across.as<float>()[12]), std::exp(-0.5), 1e-5);
}

// One whose values are not those of the image's type, for filters that compute and for those that choose.
TEST(NamedFilters, ConstantsBeyondTheType) {
  Array image(ElementType::u8, {5});
  for (i64 i = 0; i < 5; ++i) image.as<std::uint8_t>()[i] = 10;
  const auto ends = [&](double k, Extent extent, auto filter) {
    const Array result = filter(image, Border{BorderMode::constant, k}, extent);
    const auto* v = result.template as<std::uint8_t>();
    return std::vector<int>{v[0], v[result.count() / 2]};
  };
  const auto mean = [](const Array& a, Border b, Extent e) { return box(a, {.border = b, .extent = e}); };
  const auto least = [](const Array& a, Border b, Extent e) { return erode(a, {.border = b, .extent = e}); };
  const auto most = [](const Array& a, Border b, Extent e) { return dilate(a, {.border = b, .extent = e}); };
  EXPECT_EQ(ends(300, Extent::same, mean), (std::vector<int>{107, 10}));
  EXPECT_EQ(ends(-20, Extent::same, mean), (std::vector<int>{0, 10}));
  EXPECT_EQ(ends(11.5, Extent::same, mean), (std::vector<int>{10, 10}));
  EXPECT_EQ(ends(300, Extent::same, least), (std::vector<int>{10, 10}));
  EXPECT_EQ(ends(-1, Extent::same, most), (std::vector<int>{10, 10}));
  EXPECT_EQ(ends(300, Extent::same, most), (std::vector<int>{255, 10}));
  EXPECT_EQ(ends(70, Extent::full, mean), (std::vector<int>{50, 10}));
  EXPECT_EQ(ends(310, Extent::full, mean), (std::vector<int>{210, 10}));
  EXPECT_EQ(ends(9.5, Extent::full, least), (std::vector<int>{10, 10}));
  Array half(ElementType::f16, {3});
  const Array smooth = gaussian(half, {.border = Border{BorderMode::constant, 1e5}, .type = ElementType::f32});
  EXPECT_GT(smooth.as<float>()[0], 3e4F);
}

TEST(NamedFilters, ArithmeticInDouble) {
  Array image(ElementType::f32, {9});
  for (i64 i = 0; i < 9; ++i) image.as<float>()[i] = 1e6F + static_cast<float>(i * i);
  const Array result = box(image, {.type = ElementType::f64, .arithmetic = ElementType::f64});
  EXPECT_EQ(result.as<double>()[4], (3e6 + 9 + 16 + 25) / 3);
  EXPECT_EQ(sobel(image, {.arithmetic = ElementType::f64}).format(), Format(ElementType::f64));
  EXPECT_EQ(fwhm({4, 2}).values[0], 2 * fwhm(2).values[0]);
  EXPECT_NEAR(fwhm(1).values[0], 0.42466, 1e-5);
}

// A transparent neighbour takes nothing of a colour and gives nothing of its own.
TEST(NamedFilters, ColoursCountByAlpha) {
  const Format ga = Format::record("ga", {{"g", ElementType::u8}, {"a", ElementType::u8}});
  Array image(ga, {6});
  const std::uint8_t pixels[] = {200, 255, 200, 255, 200, 255, 17, 0, 99, 0, 50, 0};
  std::copy(std::begin(pixels), std::end(pixels), image.as<std::uint8_t>());
  const auto values = [](const Array& a) {
    return std::vector<int>(a.as<std::uint8_t>(), a.as<std::uint8_t>() + 2 * a.count());
  };
  using Values = std::vector<int>;
  EXPECT_EQ(values(box(image)), (Values{200, 255, 200, 255, 200, 170, 200, 85, 0, 0, 0, 0}));
  EXPECT_EQ(values(dilate(image)), (Values{200, 255, 200, 255, 200, 255, 200, 255, 0, 0, 0, 0}));
  EXPECT_EQ(values(erode(image)), (Values{200, 255, 200, 255, 0, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(values(median(image)), (Values{200, 255, 200, 255, 200, 255, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(values(box(image, {.alpha = Alpha::kept})), (Values{200, 255, 200, 255, 139, 255, 105, 0, 55, 0, 83, 0}));
  EXPECT_EQ(values(box(image, {.alpha = Alpha::associated})),
            (Values{200, 255, 200, 255, 139, 170, 105, 85, 55, 0, 83, 0}));
  Array twice(ElementType::f32, {3}), step(ElementType::f32, {3});
  for (i64 i = 0; i < 3; ++i) twice.as<float>()[i] = 2.0F / 3, step.as<float>()[i] = static_cast<float>(1 - i);
  EXPECT_EQ(values(correlate(image, twice)), (Values{255, 255, 255, 255, 255, 170, 255, 85, 0, 0, 0, 0}));
  const Array slope = correlate(image, step, {.type = ElementType::f32});  // a measure, which has no alpha of its own
  EXPECT_EQ(slope.as<float>()[4], 183);
  EXPECT_EQ(slope.as<float>()[5], 255);
  Array mask(ElementType::u8, {6});
  mask.as<std::uint8_t>()[2] = mask.as<std::uint8_t>()[3] = 1;
  EXPECT_EQ(values(box(image, {.mask = mask})), (Values{0, 0, 200, 255, 200, 128, 200, 128, 0, 0, 0, 0}));
}

TEST(NamedFilters, AlphaIsKept) {
  const Format rgba = Format::record(
      "rgba", {{"r", ElementType::u8}, {"g", ElementType::u8}, {"b", ElementType::u8}, {"a", ElementType::u8}});
  Array image(rgba, {5, 5});
  for (i64 i = 0; i < 100; ++i) image.as<std::uint8_t>()[i] = static_cast<std::uint8_t>(i * 7);
  const Array smooth = gaussian(image, {.alpha = Alpha::kept});
  EXPECT_EQ(smooth.format(), rgba);
  const Array slope = sobel(image);
  EXPECT_EQ(slope.format().fields[3].type, ElementType::f32);
  for (i64 i = 3; i < 100; i += 4) {
    EXPECT_EQ(smooth.as<std::uint8_t>()[i], image.as<std::uint8_t>()[i]);
    EXPECT_EQ(slope.as<float>()[i], static_cast<float>(image.as<std::uint8_t>()[i]));
  }
  EXPECT_NE(smooth.as<std::uint8_t>()[0], image.as<std::uint8_t>()[0]);
  // Names that are words of the language.
  const Array odd(Format::record("float", {{"for", ElementType::f32}, {"2nd", ElementType::f32}}), {4, 4});
  EXPECT_EQ(box(odd).format(), odd.format());
}

TEST(NamedFilters, ASecondCallCompilesNothing) {
  const FilterRequest request{.name = "box", .numbers = {{"radius", 2}}};
  const auto first = engine::make_filter(request, ElementType::u8, 2);
  EXPECT_EQ(engine::make_filter(request, ElementType::u8, 2), first);
  EXPECT_NE(engine::make_filter(request, ElementType::u8, 3), first);
  FilterRequest other = request;
  other.extent = Extent::valid;
  EXPECT_NE(engine::make_filter(other, ElementType::u8, 2), first);
  EXPECT_EQ(first->before, (std::vector<i64>{2, 2}));
  // From several threads.
  const Array image(ElementType::u8, {9, 9});
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) threads.emplace_back([&, t] { EXPECT_EQ(box(image, {.radius = t % 2}).count(), 81); });
  for (std::thread& t : threads) t.join();
}

// The message of the error, "" where there is none.
std::string refused(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& e) {
    EXPECT_EQ(e.error_class(), ErrorClass::argument) << e.what();
    return e.message();
  }
  return "";
}

TEST(NamedFilters, RefuseWhatCannotBeUsed) {
  const Array x(ElementType::f32, {4, 5}), k(ElementType::f32, {3, 3});
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(refused([&] { gaussian(x, {.sigma = -1}); }), "sigma -1 cannot be used, expected 0 to 5000 points");
  EXPECT_EQ(refused([&] { gaussian(x, {.sigma = nan}); }), "sigma nan cannot be used, expected 0 to 5000 points");
  EXPECT_EQ(refused([&] { gaussian(x, {.sigma = 1e9}); }),
            "sigma 1000000000 cannot be used, expected 0 to 5000 points");
  EXPECT_EQ(refused([&] { gaussian(x, {.sigma = 4000, .truncate = 100}); }),
            "sigma 4000 with truncate 100 reaches 400000 points, expected at most 50000");
  EXPECT_EQ(refused([&] { gaussian(x, {.sigma = {1, 2, 3}}); }),
            "sigma has 3 numbers, expected one, or 2 for an image of rank 2");
  EXPECT_EQ(refused([&] { box(x, {.radius = 1.5}); }), "radius 1.5 cannot be used, expected a whole number");
  EXPECT_EQ(refused([&] { bilateral(x, {.range = 0}); }), "range 0 cannot be used, expected 1e-30 to 1e30");
  EXPECT_EQ(refused([&] { bilateral(x, {.range = 1e31}); }), "range 1e+31 cannot be used, expected 1e-30 to 1e30");
  EXPECT_EQ(refused([&] { harris(x, {.k = nan}); }), "k nan cannot be used, expected a finite number");
  EXPECT_EQ(refused([&] { bandpass(x, {.low = 0.3, .high = 0.1}); }),
            "low 0.3 lies above high 0.1, which leaves no band between them");
  EXPECT_EQ(refused([&] { bandpass(x, {.low = {0.1, 0.4}, .high = 0.2}); }),
            "low 0.4 lies above high 0.2, which leaves no band between them");
  EXPECT_EQ(refused([&] { filter(x, {.name = "bandpass", .numbers = {{"low", 0.3}}}); }),
            "low 0.3 lies above high 0.2, which leaves no band between them");
  EXPECT_EQ(refused([&] { convolve(x, Array(ElementType::f32, {3})); }),
            "kernel has rank 1 (3), but the image has rank 2");
  EXPECT_EQ(refused([&] { convolve(x, Array(ElementType::f32, {0, 3})); }),
            "kernel is empty, expected at least one weight");
  EXPECT_EQ(refused([&] { convolve(x, Array()); }), "kernel is empty, expected at least one weight");
  EXPECT_EQ(refused([&] { gaussian(Array(ElementType::f32, {0, 4})); }),
            "the image has shape 0x4; every extent must be at least 1");
  EXPECT_EQ(refused([&] { convolve(x, Array(ElementType::f32, {3000, 2000})); }),
            "kernel has 6,000,000 weights (3000x2000), expected at most 4,194,304");
  for (const double v : {nan, static_cast<double>(INFINITY)}) {
    k.as<float>()[4] = static_cast<float>(v);
    EXPECT_EQ(refused([&] { correlate(x, k); }), "kernel holds a weight that is no finite number, such as NaN");
  }
  k.as<float>()[4] = 0;
  EXPECT_EQ(refused([&] { convolve(x, k, {.anchor = {1, 3}}); }),
            "anchor 3 is outside of the weights, expected 0 to 2 in dimension 1");
  EXPECT_EQ(refused([&] { convolve(x, k, {.anchor = 3e6}); }),
            "anchor 3000000 is outside of the weights, expected 0 to 2 in dimension 0");
  EXPECT_EQ(refused([&] { convolve(x, Array(ElementType::f32, {5, 3}), {.extent = Extent::valid}); }),
            "no point of an image of 4x5 has its window inside: it takes 5 points in dimension 0");
  EXPECT_EQ(refused([&] { convolve(x, k, {.border = BorderMode::none, .extent = Extent::full}); }),
            "border none gives the full extent no values");
  EXPECT_EQ(refused([&] {
              box(x, {.border = Borders{{BorderMode::wrap, 0}, {BorderMode::wrap, 0}, {BorderMode::wrap, 0}}});
            }),
            "border has 3 modes, expected one, or 2 for an image of rank 2");
  EXPECT_EQ(refused([&] { box(x, {.border = Border{BorderMode::constant, 1e40}}); }),
            "border constant(1e+40) cannot be used: the filter computes in float, expected a finite number, at most "
            "3.4028e+38");
  EXPECT_EQ(refused([&] { box(x, {.border = Border{BorderMode::constant, nan}}); }),
            "border constant(nan) cannot be used: the filter computes in float, expected a finite number, at most "
            "3.4028e+38");
  EXPECT_EQ(refused([&] { box(x, {.arithmetic = ElementType::f16}); }),
            "arithmetic half cannot be used, expected float or double");
  EXPECT_EQ(refused([&] { canny(Array(ElementType::f32, {4})); }),
            "filter 'canny' takes images of rank 2, got one of rank 1");
  EXPECT_EQ(refused([&] { box(Array(ElementType::f32, {1, 1, 1, 1, 1})); }),
            "filter 'box' takes images of rank 1, 2, 3 or 4, got one of rank 5");
  EXPECT_EQ(refused([&] { box(Array()); }), "filter 'box' is given no image");
  EXPECT_EQ(
      refused([&] { box(Array(Format::record("two", {{"x", ElementType::u8}, {"y", ElementType::f32}}), {4, 4})); }),
      "a filter takes fields of one type, struct two has uint8 x and float y");
  EXPECT_THAT(refused([&] { filter(x, {.name = "boxx"}); }), testing::StartsWith("there is no filter 'boxx'"));
  EXPECT_EQ(refused([&] { filter(x, {.name = "box", .numbers = {{"sigma", 1}}}); }),
            "filter 'box' has no option 'sigma', expected radius");
  EXPECT_EQ(refused([&] { filter(x, {.name = "convolve"}); }),
            "filter 'convolve' needs kernel: the weights: a .npy or image file of the rank of the image");
}

}  // namespace
}  // namespace tessera
