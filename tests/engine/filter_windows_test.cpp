// Windows of filters by name: any part of a result has the bits of the whole, of every filter, in every extent, with
// alpha, masks and borders that continue the image; and what is no part of a result is refused.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "data/element.hpp"
#include "tessera/filters.hpp"

namespace tessera {
namespace {

using testing::HasSubstr;

double noise(i64 i) {
  return static_cast<double>((i * 7919 + i / 911) % 251);
}

Array numbers(const Format& format, const Shape& shape, const std::function<double(i64)>& value) {
  Array a(format, shape);
  const i64 planes = format.is_struct() ? static_cast<i64>(format.fields.size()) : 1;
  const ElementType type = format.is_struct() ? format.fields[0].type : format.scalar;
  for (i64 i = 0; i < a.count() * planes; ++i)
    store_element(type, a.as<std::byte>() + static_cast<std::size_t>(i) * size_of(type), value(i));
  return a;
}

bool same(const Array& a, const Array& b) {
  return a.shape() == b.shape() && a.format() == b.format() &&
         std::memcmp(a.data(), b.data(), static_cast<std::size_t>(a.count()) * a.format().size()) == 0;
}

// The part from the middle on, parts at both ends, a point, and all.
std::vector<Region> parts_of(const Shape& shape) {
  std::vector<Region> parts(5);
  for (const i64 n : shape) {
    const i64 middle = n / 2;
    const i64 begins[] = {middle, 0, n - 1 - n / 5, middle, 0}, ends[] = {n - n / 4, 1 + n / 3, n, middle + 1, n};
    for (std::size_t k = 0; k < parts.size(); ++k) parts[k].begin.push_back(begins[k]), parts[k].end.push_back(ends[k]);
  }
  return parts;
}

void expect_parts(const Array& image, FilterRequest request, const RunOptions& run = {}) {
  SCOPED_TRACE(
      fmt::format("{} of {}, extent {}", request.name, to_string(image.shape()), static_cast<int>(request.extent)));
  const Array whole = filter(image, request, run);
  for (const Region& part : parts_of(whole.shape())) {
    request.region = part;
    const Array got = filter(image, request, run);
    EXPECT_TRUE(same(got, whole.region(part.begin, part.end).clone()))
        << "[" << to_string(part.begin) << ", " << to_string(part.end) << ")";
  }
}

std::string refusal(const auto& call) {
  try {
    call();
  } catch (const Error& e) {
    EXPECT_EQ(e.error_class(), ErrorClass::argument);
    return e.what();
  }
  return "nothing is refused";
}

TEST(FilterWindows, OfEveryFilterAndExtentAreThoseOfTheWhole) {
  const Array kernel = numbers(ElementType::f32, {5, 4}, [](i64 i) { return noise(i) / 100 - 1; });
  const Array image = numbers(ElementType::f32, {50, 63}, noise), bytes = numbers(ElementType::u8, {50, 63}, noise);
  for (const FilterInfo& info : filters()) {
    if (info.name.ends_with("pass")) continue;
    FilterRequest request{.name = info.name};
    if (info.name == "clahe" || info.name == "equalize" || info.name == "otsu") {  // they look at whole images
      request.region = {{10, 10}, {20, 20}};
      EXPECT_THAT(refusal([&] { filter(bytes, request); }), HasSubstr("has no windows")) << info.name;
      continue;
    }
    if (info.name == "convolve" || info.name == "correlate") request.tables = {{"kernel", kernel}};
    for (const Extent extent : {Extent::same, Extent::valid, Extent::full}) {
      request.extent = extent;
      expect_parts(image, request);
      if (extent == Extent::full) request.border = BorderMode::wrap;
      expect_parts(bytes, request);
    }
  }
}

TEST(FilterWindows, OfOtherRanksAndNumbers) {
  const Array line = numbers(ElementType::f32, {3000}, noise), volume = numbers(ElementType::u16, {9, 20, 31}, noise);
  const Array series = numbers(ElementType::f64, {3, 7, 8, 19}, noise);
  RunOptions exact;
  exact.numbers = Numbers::exact;
  for (const Array& image : {line, volume, series}) {
    expect_parts(image, {.name = "gaussian", .border = BorderMode::symmetric});
    expect_parts(image, {.name = "median", .border = BorderMode::clamp});
    expect_parts(image, {.name = "laplacian", .extent = Extent::full}, exact);
  }
}

// A constant that bytes do not hold, in every extent.
TEST(FilterWindows, OfWidenedImages) {
  const Array image = numbers(ElementType::u8, {40, 55}, noise);
  for (const Extent extent : {Extent::same, Extent::valid, Extent::full})
    for (const char* name : {"gaussian", "dilate"})
      expect_parts(image, {.name = name, .border = Border{BorderMode::constant, 300.5}, .extent = extent});
}

TEST(FilterWindows, OfColoursWithAlpha) {
  const Format rgba = Format::record(
      "rgba", {{"r", ElementType::f32}, {"g", ElementType::f32}, {"b", ElementType::f32}, {"a", ElementType::f32}});
  const Array image = numbers(rgba, {41, 60}, [](i64 i) { return i % 3 == 0 ? 0 : noise(i); });
  for (const Alpha alpha : {Alpha::weighted, Alpha::kept, Alpha::associated})
    for (const char* name : {"gaussian", "median", "bilateral", "sobel"})
      expect_parts(image, {.name = name, .extent = Extent::full, .alpha = alpha});
}

TEST(FilterWindows, OfImagesWithCertainties) {
  const Array image = numbers(ElementType::f32, {70, 91},
                              [](i64 i) { return i % 97 == 0 ? std::numeric_limits<double>::quiet_NaN() : noise(i); });
  const Array mask = numbers(ElementType::u8, {70, 91}, [](i64 i) { return i % 91 < 40 ? 0 : 1 + i % 2; });
  const Array line = numbers(ElementType::u8, {91}, [](i64 i) { return i < 40 ? 0 : 1; });
  for (const Extent extent : {Extent::same, Extent::valid, Extent::full})
    for (const BorderMode border : {BorderMode::mirror, BorderMode::wrap, BorderMode::none}) {
      if (border == BorderMode::none && extent == Extent::full) continue;
      expect_parts(image, {.name = "gaussian", .border = border, .extent = extent, .ignore_nan = true});
      expect_parts(image, {.name = "box", .border = border, .extent = extent, .mask = mask});
      expect_parts(image, {.name = "gaussian", .border = border, .extent = extent, .mask = line, .nodata = {7}});
    }
}

// Long sums, and methods whose rounding stands beside the whole window.
TEST(FilterWindows, OfLongSumsAreThoseOfTheMethod) {
  const Array image = numbers(ElementType::f32, {260, 300}, noise);
  const Array mask = numbers(ElementType::u8, {260, 300}, [](i64 i) { return i % 300 < 90 ? 0 : 1; });
  const Array kernel = numbers(ElementType::f32, {25, 25}, [](i64 i) { return noise(i) / 100 - 1; });
  for (const Method method : {Method::automatic, Method::transform, Method::direct}) {
    RunOptions run;
    run.method = method;
    expect_parts(image, {.name = "convolve", .tables = {{"kernel", kernel}}}, run);
    expect_parts(image, {.name = "convolve", .tables = {{"kernel", kernel}}, .mask = mask}, run);
  }
}

// Where whole results run in blocks, by what is known in each.
TEST(FilterWindows, OfBlocksAreThoseOfTheWhole) {
  const Shape shape = {600, 700};
  const Array image = numbers(ElementType::f32, shape, noise);
  const Array kernel = numbers(ElementType::f32, {15, 15}, [](i64 i) { return static_cast<double>(i * 31 % 17) - 3; });
  const Array mask = numbers(ElementType::u8, shape, [](i64 i) {
    const i64 y = i / 700, x = i % 700;
    return x + y < 400 ? 0 : x > 500 && x % 50 == 0 && y % 31 == 0 ? 60 : 200;
  });
  const Array holes = numbers(ElementType::f32, shape, [](i64 i) {
    return i % 700 > 610 && i / 700 % 77 == 5 ? std::numeric_limits<double>::quiet_NaN() : noise(i);
  });
  const auto expect = [&](const Array& of, FilterRequest request) {
    request.ignore_nan = &of == &holes;
    if (&of == &image) request.mask = mask;
    const Array whole = filter(of, request);
    for (const Region& part : std::vector<Region>{{{0, 0}, {40, 50}},
                                                  {{100, 290}, {330, 310}},
                                                  {{399, 255}, {400, 257}},
                                                  {{500, 400}, {whole.shape()[0], whole.shape()[1]}},
                                                  {{60, 511}, {70, 640}}}) {
      request.region = part;
      EXPECT_TRUE(same(filter(of, request), whole.region(part.begin, part.end).clone()))
          << request.name << " " << to_string(part.begin) << " to " << to_string(part.end);
    }
  };
  for (const Array* of : {&image, &holes})
    for (const Extent extent : {Extent::same, Extent::valid, Extent::full}) {
      expect(*of, {.name = "gaussian", .extent = extent});
      expect(*of, {.name = "gaussian", .border = BorderMode::wrap, .extent = extent});
      expect(*of, {.name = "convolve", .tables = {{"kernel", kernel}}, .extent = extent});
      expect(*of, {.name = "box", .numbers = {{"radius", 2}}, .border = BorderMode::clamp, .extent = extent});
    }
}

// What no block is looked at runs as any other filter: certainties that are halves, in sums that are not rounded away.
TEST(FilterWindows, OfHalvesAreThoseOfTheWhole) {
  const Array kernel = numbers(ElementType::f32, {15, 15}, [](i64 i) { return static_cast<double>(i * 31 % 17) - 3; });
  const Shape shape = {520, 610};
  const Array image = numbers(ElementType::f32, shape, noise);
  const Array mask = numbers(ElementType::f16, shape, [](i64 i) { return i % 610 < 200 ? 0.0 : 0.5; });
  const Array holes = numbers(ElementType::f16, shape,
                              [](i64 i) { return i % 97 == 5 ? std::numeric_limits<double>::quiet_NaN() : noise(i); });
  const FilterRequest of{.name = "convolve", .tables = {{"kernel", kernel}}, .type = ElementType::f64};
  FilterRequest masked = of, known = of;
  masked.mask = mask;
  known.ignore_nan = true;
  expect_parts(image, masked);
  expect_parts(holes, known);
}

// Numbers that lie where no number of the host may are scanned in a copy.
TEST(FilterWindows, OfNumbersThatDoNotLieWellAreThoseOfTheWhole) {
  const Array holes = numbers(ElementType::f32, {520, 610}, [](i64 i) {
    return i % 610 > 500 && i / 610 % 77 == 5 ? std::numeric_limits<double>::quiet_NaN() : noise(i);
  });
  std::vector<std::byte> room(static_cast<std::size_t>(holes.count()) * sizeof(float) + 1);
  std::memcpy(room.data() + 1, holes.data(), room.size() - 1);
  const Array odd = Array::borrow(room.data() + 1, ElementType::f32, holes.shape());
  const FilterRequest request{.name = "gaussian", .ignore_nan = true};
  EXPECT_TRUE(same(filter(odd, request), filter(holes, request)));
  expect_parts(odd, request);
}

// Blocks of lines and of volumes.
TEST(FilterWindows, OfBlocksOfOtherRanks) {
  for (const Shape& shape : {Shape{270000}, Shape{40, 70, 110}, Shape{5, 13, 65, 70}}) {
    const Array image = numbers(ElementType::f32, shape, noise);
    const Array mask =
        numbers(ElementType::u8, shape, [&](i64 i) { return i % shape.back() < shape.back() / 3 ? 0 : 9; });
    for (const char* name : {"gaussian", "box"}) expect_parts(image, {.name = name, .mask = mask});
  }
}

TEST(FilterWindows, AreRefusedWithASentence) {
  const Array image = numbers(ElementType::f32, {30, 40}, noise);
  const auto said = [&](const Region& region, Extent extent = Extent::same) {
    return refusal([&] { static_cast<void>(box(image, {.extent = extent, .region = region})); });
  };
  constexpr i64 most = std::numeric_limits<i64>::max(), least = std::numeric_limits<i64>::min();
  for (const Extent extent : {Extent::same, Extent::full}) {
    EXPECT_THAT(said({{0, 0}, {33, 40}}, extent), HasSubstr("is not within its shape"));
    EXPECT_THAT(said({{-1, 0}, {3, 40}}, extent), HasSubstr("is not within its shape"));
    EXPECT_THAT(said({{5, 5}, {5, 9}}, extent), HasSubstr("is not within its shape"));
    EXPECT_THAT(said({{9, 5}, {5, 9}}, extent), HasSubstr("is not within its shape"));
    EXPECT_THAT(said({{least, least}, {most, most}}, extent), HasSubstr("is not within its shape"));
    EXPECT_THAT(said({{most, 0}, {least, 1}}, extent), HasSubstr("is not within its shape"));
    EXPECT_THAT(said({{0}, {5}}, extent), HasSubstr("has 1 dimensions, expected 2"));
    EXPECT_THAT(said({{}, {5, 5}}, extent), HasSubstr("has a begin of 0 dimensions and an end of 2"));
  }
  EXPECT_THAT(said({{0, 0}, {29, 40}}, Extent::valid), HasSubstr("is not within its shape 28x38"));
  EXPECT_THAT(refusal([&] { static_cast<void>(lowpass(image, {.region = {{0, 0}, {2, 2}}})); }),
              HasSubstr("is a Fourier transform of a whole image"));
}

}  // namespace
}  // namespace tessera
