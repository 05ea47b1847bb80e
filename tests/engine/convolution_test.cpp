// Weighted sums through Fourier transforms of tiles: any weights, borders, extents and types against the interpreter,
// and what has to hold besides.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <random>

#include "support/sample.hpp"
#include "tessera/program.hpp"

namespace tessera {
namespace {

struct Convolution {
  i64 k0 = 1, k1 = 1, a0 = 0, a1 = 0;
  std::string border, type = "float";
  std::vector<double> weights;

  std::string text() const {
    std::string rows;
    for (i64 i = 0; i < k0; ++i) {
      rows += i > 0 ? ", {" : "{";
      for (i64 j = 0; j < k1; ++j)
        rows += fmt::format("{}{:.9g}", j > 0 ? ", " : "", weights[static_cast<std::size_t>(i * k1 + j)]);
      rows += "}";
    }
    const char* number = type == "double" ? "double" : "float";
    return fmt::format(
        "table {0} k[{1},{2}] = {{{3}}}; stencil f(vector#2 {4} X) {{ return sum(i = 0..{5}, j = 0..{6}) (k[i,j] * "
        "X@[i-{7},j-{8}]); }} parameter M, N; vector#2 {4} a[M,N]; return f(a{9});",
        number, k0, k1, rows, type, k0 - 1, k1 - 1, a0, a1, border.empty() ? "" : ":" + border);
  }
};

Convolution random_convolution(std::mt19937& random, i64 most) {
  Convolution c;
  const auto below = [&](i64 n) { return static_cast<i64>(random() % static_cast<std::uint64_t>(n)); };
  c.k0 = 1 + below(most), c.k1 = 1 + below(most);
  c.a0 = below(c.k0 + 2), c.a1 = below(c.k1 + 2);
  const char* borders[] = {"clamped", "mirror", "wrap", "extend", "constant(0.5)", ""};
  c.border = borders[below(5 + (c.a0 < c.k0 && c.a1 < c.k1))];
  const char* types[] = {"float", "float", "double", "uint8", "int16"};
  c.type = types[below(5)];
  if (c.border == "constant(0.5)" && (c.type == "uint8" || c.type == "int16")) c.border = "constant(5)";
  for (i64 k = 0; k < c.k0 * c.k1; ++k) c.weights.push_back(static_cast<double>(below(2001) - 900) / 1000);
  return c;
}

Array random_image(std::mt19937& random, const Format& format, i64 rows, i64 columns) {
  Array image(format, {rows, columns});
  for (i64 k = 0; k < image.count(); ++k) {
    const double v = static_cast<double>(random() % 10001) / 10000 - 0.3;
    switch (format.scalar) {
      case ElementType::f64:
        image.as<double>()[k] = v;
        break;
      case ElementType::u8:
        image.as<std::uint8_t>()[k] = static_cast<std::uint8_t>(random() & 255);
        break;
      case ElementType::i16:
        image.as<std::int16_t>()[k] = static_cast<std::int16_t>(random() & 0xffff);
        break;
      default:
        image.as<float>()[k] = static_cast<float>(v);
    }
  }
  return image;
}

std::vector<double> numbers(const Array& a) {
  if (a.format().scalar == ElementType::f64) return {a.as<double>(), a.as<double>() + a.count()};
  return {a.as<float>(), a.as<float>() + a.count()};
}

double largest(const Array& image) {
  switch (image.format().scalar) {
    case ElementType::u8:
      return 255;
    case ElementType::i16:
      return 32768;
    default:
      return 1;
  }
}

// On $TESSERA_TARGET, where that is set.
RunOptions through_transforms() {
  RunOptions options;
  options.method = Method::transform;
  if (const char* target = std::getenv("TESSERA_TARGET")) options.target = target;
  return options;
}

bool same_bits(const Array& a, const Array& b) {
  return a.shape() == b.shape() &&
         std::memcmp(a.data(), b.data(), static_cast<std::size_t>(a.count()) * a.format().size()) == 0;
}

TEST(Convolution, AnyWeightsBordersExtentsAndTypes) {
  for (int round = 0; round < 16; ++round) {
    if (!in_sample(static_cast<std::size_t>(round))) continue;
    std::mt19937 random(20261122 + round);
    const Convolution c = random_convolution(random, round % 5 == 0 ? 40 : 12);
    SCOPED_TRACE(fmt::format("round {}: {} x {} of {}, anchor {} {}, border '{}'", round, c.k0, c.k1, c.type, c.a0,
                             c.a1, c.border));
    const Program program = Program::from_text(c.text());
    const bool explained =
        program.explain({{64, 64}}, through_transforms()).find("through Fourier transforms") != std::string::npos;
    ASSERT_TRUE(explained || c.k0 * c.k1 == 1);
    double sum = 0;
    for (const double w : c.weights) sum += std::abs(w);
    const i64 least = c.border.empty() ? std::max(c.k0, c.k1) : 1;
    for (const i64 rows : {least, least + 1, i64{37}, i64{150}}) {
      const i64 columns = rows == 37 ? 300 : least + static_cast<i64>(random() % 90);
      const Array image = random_image(random, program.inputs()[0].format, std::max(rows, least), columns);
      const Array expected = program.interpret({image}).at(0), found = program.run({image}, through_transforms()).at(0);
      const std::vector<double> e = numbers(expected), f = numbers(found);
      const double epsilon = expected.format().scalar == ElementType::f64 ? 0x1p-53 : 0x1p-24;
      // Of the transform, and of the interpreter's own sum.
      const double allowed =
          (2 * 2 * std::log2(96 * 96) + static_cast<double>(c.k0 * c.k1)) * epsilon * sum * largest(image);
      for (std::size_t k = 0; k < e.size(); ++k)
        ASSERT_NEAR(e[k], f[k], allowed) << "point " << k << " of " << rows << " x " << columns;
      RunOptions tiles = through_transforms();
      tiles.threads = 3;
      tiles.tile_rows = 1 + static_cast<i64>(random() % 50);
      tiles.tile_columns = 64;
      EXPECT_TRUE(same_bits(found, program.run({image}, tiles).at(0))) << "tiles of " << tiles.tile_rows << " rows";
    }
  }
}

// Slabs begin at rows of tiles, and ask for all that these read.
TEST(Convolution, SlabsOfDevicesGiveTheSameBits) {
  RunOptions options = through_transforms();
  if (options.target == "cpu") GTEST_SKIP() << "slabs are of devices";
  std::mt19937 random(5);
  Convolution c;
  c.k0 = 9, c.k1 = 7, c.a0 = 4, c.a1 = 3, c.border = "mirror";
  for (int k = 0; k < 63; ++k) c.weights.push_back(0.01 * (k + 1));
  const Program program = Program::from_text(c.text());
  const Array image = random_image(random, ElementType::f32, 500, 92);
  const Array whole = program.run({image}, options).at(0);
  options.device_memory = 2 * 500 * 92 * 4 * 85 / 100;
  EXPECT_TRUE(same_bits(whole, program.run({image}, options).at(0)));
}

// As far as the weights reach and no farther: through tiles of images, of rows, and of signals.
TEST(Convolution, WhatIsNotANumberStaysWhereItBelongs) {
  struct Shape {
    i64 k0, k1, rows, columns;
  };
  std::mt19937 random(3);
  for (const Shape& shape : {Shape{9, 7, 200, 333}, Shape{1, 63, 40, 2000}, Shape{1, 63, 1, 70000}}) {
    Convolution c;
    c.k0 = shape.k0, c.k1 = shape.k1, c.a0 = shape.k0 / 2, c.a1 = shape.k1 / 2, c.border = "mirror";
    for (int k = 0; k < 63; ++k) c.weights.push_back(0.01 * (k + 1));
    const Program program = Program::from_text(c.text());
    for (const float strange : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
      Array image = random_image(random, ElementType::f32, shape.rows, shape.columns);
      image.as<float>()[image.count() / 4 + shape.columns / 2] = strange;
      image.as<float>()[image.count() - 1] = strange;
      const Array expected = program.interpret({image}).at(0), found = program.run({image}, through_transforms()).at(0);
      for (i64 k = 0; k < expected.count(); ++k) {
        const float e = expected.as<float>()[k], f = found.as<float>()[k];
        if (std::isfinite(e))
          ASSERT_NEAR(e, f, 1e-4) << k;
        else
          ASSERT_TRUE(std::isnan(e) ? std::isnan(f) : e == f) << k << ": " << f;
      }
    }
  }
}

// A signal's parts are the rows of a tile: shorter than its weights, than a part, than a pair of tiles; any threads
// and tiles.
TEST(Convolution, Signals) {
  const std::pair<const char*, const char*> cases[] = {
      {"float", ":mirror"}, {"float", ""}, {"double", ":wrap"}, {"int16", ":constant(-5)"}, {"uint8", ":clamped"}};
  for (const auto& [type, border] : sample_of(cases)) {
    std::mt19937 random(17 + static_cast<unsigned>(std::strlen(border)));
    const i64 taps = 20 + static_cast<i64>(random() % 60), anchor = static_cast<i64>(random()) % taps;
    std::string values;
    for (i64 k = 0; k < taps; ++k)
      values += fmt::format("{}{}", k > 0 ? ", " : "", static_cast<double>(random() % 2001) / 1000 - 0.9);
    const std::string number = std::string(type) == "double" ? "double" : "float";
    const std::string text = fmt::format(
        "table {} k[{}] = {{{}}}; stencil f(vector#1 {} X) {{ return sum(i = 0..{}) (k[i] * X@[i-{}]); }} parameter N; "
        "vector#1 {} a[N]; return f(a{});",
        number, taps, values, type, taps - 1, anchor, type, border);
    SCOPED_TRACE(text);
    const Program program = Program::from_text(text);
    EXPECT_THAT(program.explain({{60000}}, through_transforms()), ::testing::ContainsRegex("fft 1x[0-9]+"));
    for (const i64 length : {i64{1}, taps + 1, i64{70001}}) {
      const Array row = random_image(random, program.inputs()[0].format, 1, length);
      Array image(program.inputs()[0].format, {length});
      std::memcpy(image.data(), row.data(), static_cast<std::size_t>(length) * row.format().size());
      const Array found = program.run({image}, through_transforms()).at(0);
      const std::vector<double> e = numbers(program.interpret({image}).at(0)), f = numbers(found);
      ASSERT_EQ(e.size(), f.size());
      const double epsilon = number == "double" ? 0x1p-53 : 0x1p-24;
      const double allowed = (4 * std::log2(4096) + static_cast<double>(taps)) * epsilon * static_cast<double>(taps) *
                             std::max(1.0, largest(image));
      for (std::size_t k = 0; k < e.size(); ++k) ASSERT_NEAR(e[k], f[k], allowed) << "point " << k << " of " << length;
      RunOptions three = through_transforms();
      three.threads = 3;
      EXPECT_TRUE(same_bits(found, program.run({image}, three).at(0))) << length;
      three.tile_columns = 1000;
      EXPECT_TRUE(same_bits(found, program.run({image}, three).at(0))) << length;
    }
  }
}

// Weights over planes and volumes, borders of each dimension, extents below and above those of weights and tiles.
TEST(Convolution, Volumes) {
  struct Case {
    std::vector<i64> weights, anchor, extents;
    std::string border, type;
  };
  const std::vector<Case> cases = {
      {{3, 3, 3}, {1, 1, 1}, {9, 40, 100}, ":clamped", "float"},
      {{5, 4, 6}, {2, 3, 0}, {20, 37, 70}, ":[mirror,wrap,clamped]", "float"},
      {{9, 5, 3}, {4, 2, 1}, {3, 90, 2}, ":[constant(0.5),mirror,constant(-2)]", "float"},
      {{2, 6, 5}, {0, 2, 2}, {7, 12, 130}, "", "float"},
      {{3, 2, 4}, {1, 0, 2}, {6, 33, 50}, ":[mirror,constant(3),wrap]", "double"},
      {{3, 5, 5}, {1, 2, 2}, {8, 50, 60}, ":constant(7)", "uint8"},
      {{3, 2, 3, 3}, {1, 1, 1, 1}, {5, 6, 20, 50}, ":[clamped,mirror,wrap,constant(1)]", "float"},
      {{1, 3, 3, 2}, {0, 2, 1, 1}, {3, 5, 40, 41}, ":[constant(0.25),constant(-1),clamped,mirror]", "float"},
  };
  const char* const names[] = {"t", "z", "y", "x"};
  for (const Case& c : sample_of(cases)) {
    std::mt19937 random(7);
    const std::size_t rank = c.weights.size();
    std::string bounds, loops, at, offsets, values, sizes;
    i64 terms = 1;
    for (std::size_t d = 0; d < rank; ++d) {
      const char* comma = d > 0 ? "," : "";
      const char* name = names[4 - rank + d];
      bounds += fmt::format("{}{}", comma, c.weights[d]);
      loops += fmt::format("{}{} = 0..{}", comma, name, c.weights[d] - 1);
      at += fmt::format("{}{}", comma, name);
      offsets += fmt::format("{}{}-{}", comma, name, c.anchor[d]);
      sizes += fmt::format("{}N{}", comma, d);
      terms *= c.weights[d];
    }
    std::function<void(std::size_t)> nested = [&](std::size_t d) {
      values += "{";
      for (i64 k = 0; k < c.weights[d]; ++k) {
        if (k > 0) values += ",";
        if (d + 1 < rank)
          nested(d + 1);
        else
          values += fmt::format("{}", static_cast<double>(static_cast<i64>(random() % 2001) - 900) / 1000);
      }
      values += "}";
    };
    nested(0);
    const std::string number = c.type == "double" ? "double" : "float";
    const std::string text = fmt::format(
        "table {} k[{}] = {}; stencil f(vector#{} {} X) {{ return sum({}) (k[{}] * X@[{}]); }} parameter {}; vector#{} "
        "{} a[{}]; return f(a{});",
        number, bounds, values, rank, c.type, loops, at, offsets, sizes, rank, c.type, sizes, c.border);
    SCOPED_TRACE(text);
    const Program program = Program::from_text(text);
    EXPECT_THAT(program.explain({c.extents}, through_transforms()), ::testing::ContainsRegex("fft [0-9]+x[0-9]+x"));
    i64 rows = 1;
    for (std::size_t d = 0; d + 1 < rank; ++d) rows *= c.extents[d];
    Array image(program.inputs()[0].format, c.extents);
    const Array flat = random_image(random, program.inputs()[0].format, rows, c.extents.back());
    std::memcpy(image.data(), flat.data(), static_cast<std::size_t>(flat.count()) * flat.format().size());
    for (const bool strange : {false, true}) {
      if (strange && c.type != "float") continue;
      if (strange) image.as<float>()[image.count() / 2] = std::numeric_limits<float>::quiet_NaN();
      const Array expected = program.interpret({image}).at(0), found = program.run({image}, through_transforms()).at(0);
      const std::vector<double> e = numbers(expected), f = numbers(found);
      const double epsilon = c.type == "double" ? 0x1p-53 : 0x1p-24;
      const double largest_there = std::max(7.0, largest(image));
      const double allowed =
          (4 * std::log2(96 * 96) + static_cast<double>(terms)) * epsilon * static_cast<double>(terms) * largest_there;
      for (std::size_t k = 0; k < e.size(); ++k) {
        if (std::isnan(e[k]))
          ASSERT_TRUE(std::isnan(f[k])) << "point " << k;
        else
          ASSERT_NEAR(e[k], f[k], allowed) << "point " << k;
      }
      RunOptions tiles = through_transforms();
      tiles.threads = 3;
      tiles.tile_rows = 2;
      tiles.tile_columns = 64;
      EXPECT_TRUE(same_bits(found, program.run({image}, tiles).at(0)));
    }
  }
}

// Of weights that barely allow tiles of floats, and of the first that do not; of images whose sums are the largest.
TEST(Convolution, IntegersAreExactUpToTheProof) {
  std::mt19937 random(11);
  for (const int most : {284, 4000}) {
    std::string rows;
    int left = most;
    for (int i = 0; i < 19; ++i) {
      rows += i > 0 ? ", {" : "{";
      for (int j = 0; j < 19; ++j) {
        const int w = std::min(left, most > 361 ? 1 + static_cast<int>(random() % 22) : 1);
        left -= w;
        rows += fmt::format("{}{}", j > 0 ? ", " : "", random() % 3 == 0 ? -w : w);
      }
      rows += "}";
    }
    const Program program = Program::from_text(fmt::format(
        "table int k[19,19] = {{{}}}; stencil f(vector#2 uint8 X) {{ return sum(i = 0..18, j = 0..18) (k[i,j] * "
        "X@[i-9,j-9]); }} parameter M, N; vector#2 uint8 a[M,N]; return f(a:mirror);",
        rows));
    for (const int kind : {0, 1}) {
      Array image(ElementType::u8, {60, 170});
      for (i64 k = 0; k < image.count(); ++k)
        image.as<std::uint8_t>()[k] = kind == 0 ? 255 : static_cast<std::uint8_t>(random() % 2 * 255);
      EXPECT_TRUE(same_bits(program.interpret({image}).at(0), program.run({image}, through_transforms()).at(0)))
          << most << ", image " << kind;
    }
  }
}

TEST(Convolution, LongSumsAreTakenTheCheapestWay) {
  const auto takes = [](i64 k0, i64 k1, Method method) {
    Convolution c;
    c.k0 = k0, c.k1 = k1, c.border = "clamped";
    std::mt19937 random(1);
    for (i64 k = 0; k < k0 * k1; ++k) c.weights.push_back(static_cast<double>(random() % 1000) / 1000);
    RunOptions options;
    options.method = method;
    const std::string text = Program::from_text(c.text()).explain({{2160, 3840}}, options);
    return text.find("is taken through Fourier transforms") != std::string::npos;
  };
  EXPECT_TRUE(takes(31, 31, Method::automatic));
  EXPECT_TRUE(takes(15, 15, Method::automatic));
  EXPECT_FALSE(takes(3, 3, Method::automatic));
  EXPECT_FALSE(takes(5, 5, Method::automatic));
  EXPECT_FALSE(takes(31, 31, Method::direct));
  EXPECT_TRUE(takes(3, 3, Method::transform));
}

TEST(Convolution, LongSumsOverVolumesToo) {
  const auto takes = [](int n, bool separable) {
    const std::string text = fmt::format(
        "table float k[l = 0..{0}, i = 0..{0}, j = 0..{0}] = {1}; stencil f(vector#3 float X) {{ return sum(l = "
        "0..{0}, "
        "i = 0..{0}, j = 0..{0}) (k[l,i,j] * X@[l,i,j]); }} parameter L, M, N; vector#3 float a[L,M,N]; return "
        "f(a:wrap);",
        n - 1, separable ? "(l + 1) * (i + 2) * (j + 1) * 0.01f" : "(l * 5 + i * 7 + j * l) % 11 * 0.01f");
    return Program::from_text(text).explain({{256, 256, 256}}).find("is taken through Fourier transforms") !=
           std::string::npos;
  };
  EXPECT_FALSE(takes(3, false));
  EXPECT_TRUE(takes(7, false));
  EXPECT_TRUE(takes(11, false));
  EXPECT_FALSE(takes(7, true));
  EXPECT_FALSE(takes(11, true));
}

// What `explain` says is what runs: the tile of a transform, and its operations.
TEST(Convolution, ExplainTellsTheTileOfATransform) {
  const std::string text =
      "table float k[i = 0..14, j = 0..14] = (i * 7 + j) % 11 * 0.01f; stencil f(vector#2 float X) { return sum(i = "
      "0..14, "
      "j = 0..14) (k[i,j] * X@[i-7,j-7]); } parameter M, N; vector#2 float a[M,N]; return f(a:clamped);";
  const Program program = Program::from_text(text);
  EXPECT_THAT(program.explain({{2160, 3840}}), ::testing::ContainsRegex("  1     fft [0-9]+x[0-9]+ +f "));
  RunOptions direct;
  direct.method = Method::direct;
  const std::string other = program.explain({{2160, 3840}}, direct);
  EXPECT_THAT(other, ::testing::HasSubstr("  1     8x"));
  EXPECT_THAT(other, ::testing::Not(::testing::HasSubstr("  fft ")));
}

// Tiles of one row are taken sixteen at a time, which parts of a signal fill.
TEST(Convolution, SignalsAreSummedUpUnlessLong) {
  const auto takes = [](int taps) {
    const std::string text = fmt::format(
        "table float k[i = 0..{0}] = (i * 7) % 11 * 0.01f; stencil f(vector#1 float X) {{ return sum(i = 0..{0}) (k[i] "
        "* "
        "X@[i]); }} parameter N; vector#1 float a[N]; return f(a:clamped);",
        taps - 1);
    return Program::from_text(text).explain({{1000000}}).find("is taken through Fourier transforms") !=
           std::string::npos;
  };
  EXPECT_FALSE(takes(15));
  EXPECT_TRUE(takes(60));
  EXPECT_TRUE(takes(3000));
}

// A transform that is asked for is refused, since it would not give the oracle's bits.
TEST(Convolution, ExactNumbersAreSummedUp) {
  Convolution c;
  c.k0 = 12, c.k1 = 12, c.border = "clamped";
  for (int k = 0; k < 144; ++k) c.weights.push_back(0.37 * k);
  const Program program = Program::from_text(c.text());
  std::mt19937 random(5);
  const Array image = random_image(random, ElementType::f32, 70, 90);
  RunOptions exact;
  exact.numbers = Numbers::exact;
  EXPECT_TRUE(same_bits(program.interpret({image}).at(0), program.run({image}, exact).at(0)));
  exact.method = Method::transform;
  EXPECT_THROW(program.run({image}, exact), Error);
}

}  // namespace
}  // namespace tessera
