// Integer sums of bytes by matrix units: any weights, anchors, borders and extents against the interpreter, what the
// rest of a body makes of them, and when they are taken so. $TESSERA_TARGET=cuda runs them; else other ways are tested.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>

#include "support/sample.hpp"
#include "tessera/program.hpp"

namespace tessera {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

struct Sum {
  i64 k0 = 1, k1 = 1, a0 = 0, a1 = 0;
  std::string border = "clamped", rest = "S", more;
  std::vector<int> weights;

  std::string text() const {
    std::string rows;
    for (i64 i = 0; i < k0; ++i) {
      rows += i > 0 ? ", {" : "{";
      for (i64 j = 0; j < k1; ++j)
        rows += fmt::format("{}{}", j > 0 ? ", " : "", weights[static_cast<std::size_t>(i * k1 + j)]);
      rows += "}";
    }
    std::string body = rest;
    body.replace(body.find('S'), 1,
                 fmt::format("sum(i = 0..{}, j = 0..{}) (k[i,j] * X@[i-{},j-{}])", k0 - 1, k1 - 1, a0, a1));
    return fmt::format(
        "table int k[{},{}] = {{{}}}; stencil f(vector#2 uint8 X{}) {{ return {}; }} parameter M, N; vector#2 uint8 "
        "a[M,N]; {}return f(a{}{});",
        k0, k1, rows, more.empty() ? "" : ", vector#2 " + more + " Y", body,
        more.empty() ? "" : "vector#2 " + more + " b[M,N]; ", border.empty() ? "" : ":" + border,
        more.empty() ? "" : ", b");
  }
};

Sum random_sum(std::mt19937& random, i64 k0, i64 k1) {
  const auto below = [&](i64 n) { return static_cast<i64>(random() % static_cast<std::uint64_t>(n)); };
  Sum s;
  s.k0 = k0, s.k1 = k1, s.a0 = below(k0), s.a1 = below(k1);
  const bool has_signs = below(3) > 0;
  for (i64 k = 0; k < k0 * k1; ++k) s.weights.push_back(static_cast<int>(below(256)) - (has_signs ? 128 : 0));
  s.weights.front() = has_signs ? -128 : 255, s.weights.back() = has_signs ? 127 : 254;
  return s;
}

Array random_bytes(std::mt19937& random, const Format& format, i64 rows, i64 columns) {
  Array image(format, {rows, columns});
  auto* at = static_cast<std::uint8_t*>(image.data());
  for (std::size_t k = 0; k < static_cast<std::size_t>(image.count()) * format.size(); ++k)
    at[k] = static_cast<std::uint8_t>(random() & 255);
  return image;
}

bool on_cuda() {
  const char* target = std::getenv("TESSERA_TARGET");
  return target != nullptr && std::string(target) == "cuda";
}

RunOptions by_matrices() {
  RunOptions options;
  if (const char* target = std::getenv("TESSERA_TARGET")) options.target = target;
  if (on_cuda()) options.method = Method::matrix;
  return options;
}

bool same(const Array& a, const Array& b) {
  return a.shape() == b.shape() &&
         std::memcmp(a.data(), b.data(), static_cast<std::size_t>(a.count()) * a.format().size()) == 0;
}

void expect_as_interpreted(const Sum& s, std::mt19937& random, const std::vector<std::pair<i64, i64>>& extents) {
  SCOPED_TRACE(s.text());
  const Program program = Program::from_text(s.text());
  if (on_cuda()) {
    const std::vector<std::vector<i64>> shapes(program.inputs().size(), {64, 64});
    ASSERT_THAT(program.explain(shapes, by_matrices()), HasSubstr("by matrix units"));
  }
  for (const auto& [rows, columns] : extents) {
    std::vector<Array> images;
    for (const auto& input : program.inputs()) images.push_back(random_bytes(random, input.format, rows, columns));
    const Array expected = program.interpret(images).at(0), found = program.run(images, by_matrices()).at(0);
    ASSERT_TRUE(same(expected, found)) << rows << " x " << columns;
  }
}

// Both sizes of accumulation, even and odd, all that a band can be shifted by.
TEST(Matrices, AnyWeightsAnchorsAndBorders) {
  const char* borders[] = {"clamped",       "mirror", "wrap", "symmetric", "constant(7)", "[constant(10),constant(77)]",
                           "[mirror,wrap]", ""};
  const std::pair<i64, i64> sides[] = {{16, 16}, {1, 1}, {15, 15}, {9, 9}, {8, 16}, {16, 1}, {1, 16}, {7, 12}, {10, 3}};
  std::size_t round = 0;
  for (const auto& [k0, k1] : sides) {
    const std::size_t number = round++;
    if (!in_sample(number)) continue;
    std::mt19937 random(static_cast<unsigned>(20261123 + number));
    Sum s = random_sum(random, k0, k1);
    s.border = borders[number % 8];
    expect_as_interpreted(s, random, {{17, 40}, {k0, k1}, {45, 277}});
  }
}

TEST(Matrices, AnyExtents) {
  for (const char* border : sample_of({"mirror", "wrap"})) {
    std::mt19937 random(4);
    Sum s = random_sum(random, 11, 13);
    s.border = border, s.rest = "saturate<uint8>(S / 4096)";
    expect_as_interpreted(s, random,
                          {{1, 1}, {2, 3}, {3, 2}, {8, 16}, {9, 64}, {31, 249}, {33, 256}, {65, 264}, {40, 20}});
  }
}

// Anchors beside the weights.
TEST(Matrices, FarAnchors) {
  std::mt19937 random(8);
  for (const auto& [a0, a1] : {std::pair<i64, i64>{-3, 20}, {25, -9}, {0, 15}, {15, 0}, {6, 31}}) {
    Sum s = random_sum(random, 16, 15);
    s.a0 = a0, s.a1 = a1, s.border = "mirror";
    expect_as_interpreted(s, random, {{37, 90}});
  }
}

TEST(Matrices, WhatIsMadeOfTheSum) {
  std::mt19937 random(5);
  const std::pair<const char*, const char*> rests[] = {
      {"saturate<uint8>(S / 1000 + 100)", ""},   {"cast<uint16>(S)", ""}, {"0.5f * S", ""}, {"S - 3 * Y", "int16"},
      {"saturate<uint8>(S / 512 + Y)", "uint8"}, {"S + coord(1)", ""},    {"S > 9000", ""}};
  for (const auto& [rest, more] : rests) {
    Sum s = random_sum(random, 9, 7);
    s.rest = rest, s.more = more;
    expect_as_interpreted(s, random, {{20, 75}});
  }
}

// The sum at every place of an image of one byte: each weight once.
TEST(Matrices, EveryWeightCounts) {
  std::mt19937 random(6);
  Sum s = random_sum(random, 16, 16);
  s.border = "constant(0)";
  const Program program = Program::from_text(s.text());
  Array image(ElementType::u8, {40, 40});
  std::memset(image.data(), 0, 1600);
  image.as<std::uint8_t>()[20 * 40 + 20] = 1;
  const Array found = program.run({image}, by_matrices()).at(0);
  for (i64 i = 0; i < 16; ++i)
    for (i64 j = 0; j < 16; ++j)
      EXPECT_EQ(found.as<std::int32_t>()[(20 - i + s.a0) * 40 + 20 - j + s.a1],
                s.weights[static_cast<std::size_t>(i * 16 + j)])
          << i << " " << j;
}

TEST(Matrices, SlabsGiveTheSame) {
  if (!on_cuda()) GTEST_SKIP() << "slabs are of devices";
  std::mt19937 random(7);
  for (const char* border : {"mirror", "wrap"}) {
    Sum s = random_sum(random, 9, 9);
    s.border = border, s.rest = "saturate<uint8>(S / 4096)";
    const Program program = Program::from_text(s.text());
    const Array image = random_bytes(random, ElementType::u8, 300, 92);
    RunOptions options = by_matrices();
    options.device_memory = 2 * 300 * 92 * 70 / 100;
    EXPECT_TRUE(same(program.interpret({image}).at(0), program.run({image}, options).at(0))) << border;
  }
}

std::string explained(const Sum& s, Method method, const std::string& target = "cuda") {
  RunOptions options;
  options.target = target, options.method = method;
  return Program::from_text(s.text()).explain({{8192, 8192}}, options);
}

TEST(Matrices, AreTakenWhereTheyAreCheapest) {
  if (on_cuda()) GTEST_SKIP() << "a device compiles all that is explained";
  std::mt19937 random(9);
  for (const i64 k : {9, 15, 16}) {
    const Sum s = random_sum(random, k, k);
    EXPECT_THAT(explained(s, Method::automatic), HasSubstr("by matrix units")) << k;
    EXPECT_THAT(explained(s, Method::direct), Not(HasSubstr("by matrix units"))) << k;
    EXPECT_THAT(explained(s, Method::automatic, "opencl"), Not(HasSubstr("by matrix units"))) << k;
  }
  for (const i64 k : {3, 5, 7, 17}) {
    const Sum s = random_sum(random, k, k);
    EXPECT_THAT(explained(s, Method::automatic), Not(HasSubstr("by matrix units"))) << k;
  }
  EXPECT_THAT(explained(random_sum(random, 3, 3), Method::matrix), HasSubstr("by matrix units"));
  Sum large = random_sum(random, 9, 9);
  large.weights[40] = 300;
  EXPECT_THAT(explained(large, Method::automatic), Not(HasSubstr("by matrix units")));
}

TEST(Matrices, AreRefusedElsewhere) {
  std::mt19937 random(10);
  const Program program = Program::from_text(random_sum(random, 9, 9).text());
  const auto refusal = [&](const std::string& target) {
    RunOptions options;
    options.target = target, options.method = Method::matrix;
    try {
      (void)program.explain({{64, 64}}, options);
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  EXPECT_THAT(refusal("opencl"), HasSubstr("matrix units are of CUDA devices"));
  EXPECT_THAT(refusal("cpu"), HasSubstr("matrix units are of CUDA devices"));
  EXPECT_EQ(refusal("cuda"), "");
}

}  // namespace
}  // namespace tessera
