// Plans, tables and the texts of passes and moves, without running them.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <set>
#include <string>

#include "emit/c/c.hpp"
#include "fft/butterfly.hpp"
#include "fft/cpu/moves.hpp"
#include "fft/cpu/passes.hpp"
#include "fft/plan.hpp"
#include "fft/tables.hpp"
#include "run/cpu/compiler.hpp"
#include "support/sample.hpp"

namespace tessera::fft {
namespace {

using ir::nest::Lane;
using ir::nest::Type;

i64 points_of(const Node& node) {
  switch (node.kind) {
    case Node::Kind::sequence: {
      i64 n = 1;
      for (const i64 r : node.radices) n *= r;
      return n;
    }
    case Node::Kind::split:
      return points_of(*node.first) * points_of(*node.second);
    case Node::Kind::rader:
      return points_of(*node.first) + 1;
    case Node::Kind::bluestein:
      return points_of(*node.first) >= 2 * node.n - 1 ? node.n : 0;
  }
  return 0;
}

TEST(FftPlan, EveryTreeHasItsPoints) {
  for (i64 n = 1; n <= 5000; ++n) {
    if (!in_sample(static_cast<std::size_t>(n))) continue;
    ASSERT_EQ(points_of(*plan_transform(n, {})), n) << n;
  }
}

TEST(FftPlan, FewRegistersMeanSmallRadices) {
  for (i64 n = 1; n <= 1000; ++n) {
    const auto node = plan_transform(n, {.largest_radix = 8, .l1_points = 64});
    for (const i64 r : node->radices) EXPECT_TRUE(r <= 8 || r % 2 == 1) << to_string(*node);
  }
}

TEST(FftPlan, FactorsOfLongRows) {
  EXPECT_EQ(balanced_factors(65536, 16), (std::pair<i64, i64>{256, 256}));
  EXPECT_EQ(balanced_factors(10007, 16).first, 1);
  EXPECT_EQ(balanced_factors(15 * 17, 16).first, 1);
  for (const i64 m : smooth_lengths(1000)) {
    EXPECT_GE(m, 1000);
    EXPECT_LT(m, 1200);
  }
}

TEST(FftTables, AreGoodToTheLastBits) {
  for (const i64 n : {1, 2, 3, 8, 12, 1000, 4099, 65536, 1000003}) {
    const Circle circle(n);
    for (i64 k = 0; k < n; k += 1 + n / 1000) {
      const long double angle =
          2 * std::numbers::pi_v<long double> * static_cast<long double>(k) / static_cast<long double>(n);
      EXPECT_NEAR(cosine(k, n), static_cast<double>(std::cos(angle)), 2e-16);
      EXPECT_NEAR(sine(k, n), static_cast<double>(std::sin(angle)), 2e-16);
      EXPECT_NEAR(circle(k).real(), static_cast<double>(std::cos(angle)), 5e-16);
      EXPECT_NEAR(circle(k).imag(), static_cast<double>(-std::sin(angle)), 5e-16);
    }
  }
  EXPECT_EQ(cosine(1, 4), 0);
  EXPECT_EQ(sine(3, 4), -1);
}

// Every text is a well-formed nest that reads back, and compiles, for every width of vectors.
void check(const ir::nest::Module& module, bool compiled) {
  ASSERT_NO_THROW(ir::nest::verify(module));
  const std::string text = ir::nest::print(module);
  EXPECT_EQ(ir::nest::print(ir::nest::parse_module(text)), text);
  if (!compiled) return;
  EXPECT_NO_THROW(run::cpu::load({.source = emit::print_c(module), .name = "fft_text"}));
}

const Type widths[] = {
    {Lane::f32, 4, false}, {Lane::f32, 8, false}, {Lane::f32, 16, false}, {Lane::f64, 2, false}, {Lane::f64, 8, false}};

TEST(FftTexts, Passes) {
  for (const Type& vector : widths)
    for (const i64 radix : {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16})
      for (const Twiddles twiddles : {Twiddles::none, Twiddles::inner, Twiddles::all})
        check(pass_module({.radix = radix, .twiddles = twiddles}, vector), vector.lanes == 8 && radix < 6);
  for (const Type& vector : widths)
    for (const End from : {End::points, End::turned, End::columns, End::exchanged})
      for (const End to : {End::points, End::turned, End::columns, End::exchanged})
        for (const bool streaming : {false, true})
          check(
              pass_module({.radix = 4, .from = from, .to = to, .streaming = streaming, .fetching = streaming}, vector),
              vector.lanes == 4);
}

TEST(FftTexts, Moves) {
  for (const Type& vector : widths)
    for (int move = 0; move <= static_cast<int>(Move::lane_twiddles); ++move)
      check(move_module(static_cast<Move>(move), vector), vector.lanes <= 4);
}

TEST(FftTexts, NamesTellThemApart) {
  std::set<std::string> names;
  std::size_t count = 0;
  for (const i64 radix : {0, 1, 16})
    for (const Twiddles twiddles : {Twiddles::none, Twiddles::inner, Twiddles::all})
      for (const End from : {End::points, End::turned, End::columns, End::exchanged})
        for (const End to : {End::points, End::turned, End::columns, End::exchanged})
          for (const bool streaming : {false, true})
            for (const bool fetching : {false, true}) {
              names.insert(name_of(Pass{radix, from, to, twiddles, streaming, fetching}));
              ++count;
            }
  for (int move = 0; move <= static_cast<int>(Move::lane_twiddles); ++move) {
    names.insert(name_of(static_cast<Move>(move)));
    ++count;
  }
  EXPECT_EQ(names.size(), count);
}

}  // namespace
}  // namespace tessera::fft
