// Extents in normal form, hash-consing, walkers.
#include "ir/graph.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "ir/build.hpp"

namespace tessera::ir {
namespace {

class Sizes : public ::testing::Test {
 protected:
  Sizes() { g.parameters = {"M", "N"}; }
  SizeId c(i64 v) { return g.size(v); }
  SizeId add(SizeId a, SizeId b) { return g.size_binary(SizeOp::add, a, b); }
  SizeId sub(SizeId a, SizeId b) { return g.size_binary(SizeOp::sub, a, b); }
  SizeId mul(SizeId a, SizeId b) { return g.size_binary(SizeOp::mul, a, b); }
  SizeId min(SizeId a, SizeId b) { return g.size_binary(SizeOp::min, a, b); }
  SizeId max(SizeId a, SizeId b) { return g.size_binary(SizeOp::max, a, b); }
  SizeId div(SizeId a, i64 d) { return g.size_floor_div(a, d); }

  Graph g;
  SizeId M = g.size_parameter(0), N = g.size_parameter(1);
};

TEST_F(Sizes, ConstantsFold) {
  EXPECT_EQ(g.size(0), SizeId{});
  EXPECT_EQ(g.constant(add(c(2), c(3))), 5);
  EXPECT_EQ(g.constant(mul(c(-2), c(3))), -6);
  EXPECT_EQ(g.constant(div(c(-7), 2)), -4);
  EXPECT_EQ(g.constant(min(c(2), c(3))), 2);
  EXPECT_EQ(g.constant(max(c(2), c(3))), 3);
  EXPECT_EQ(g.constant(M), std::nullopt);
}

TEST_F(Sizes, EqualAffineExtentsAreTheSame) {
  EXPECT_EQ(sub(add(M, c(1)), c(1)), M);
  EXPECT_EQ(add(M, N), add(N, M));
  EXPECT_EQ(sub(add(M, N), M), N);
  EXPECT_EQ(sub(M, M), SizeId{});
  EXPECT_EQ(add(M, M), mul(c(2), M));
  EXPECT_EQ(mul(add(M, c(1)), c(3)), add(mul(c(3), M), c(3)));
  EXPECT_EQ(mul(M, N), mul(N, M));
}

TEST_F(Sizes, DivisionTakesOutWhatItDivides) {
  EXPECT_EQ(div(mul(c(2), M), 2), M);
  EXPECT_EQ(div(add(mul(c(2), M), c(1)), 2), M);
  EXPECT_EQ(div(add(M, c(2)), 2), add(div(M, 2), c(1)));
  EXPECT_EQ(div(div(M, 2), 3), div(M, 6));
  EXPECT_EQ(div(M, 1), M);
  EXPECT_NE(mul(div(M, 2), c(2)), M);
}

TEST_F(Sizes, ExtremesOfAKnownDifferenceFold) {
  EXPECT_EQ(min(sub(M, c(1)), M), sub(M, c(1)));
  EXPECT_EQ(max(sub(M, c(1)), M), M);
  EXPECT_EQ(min(M, N), min(N, M));
  EXPECT_EQ(g.node(min(M, N)).op, SizeOp::min);
}

TEST_F(Sizes, TextIsInfix) {
  EXPECT_EQ(g.to_string(div(sub(M, c(1)), 2)), "(M-1)/2");
  EXPECT_EQ(g.to_string(sub(mul(c(2), M), add(N, c(3)))), "2*M-N-3");
  EXPECT_EQ(g.to_string(sub(c(1), M)), "1-M");
  EXPECT_EQ(g.to_string(min(M, add(N, c(1)))).substr(0, 4), "min(");
  EXPECT_EQ(g.to_string(mul(add(M, c(1)), N)).find("(M+1)") != std::string::npos, true);
  EXPECT_EQ(g.to_string(c(-3)), "-3");
}

TEST_F(Sizes, InequalitiesWhateverTheParameters) {
  const SizeId half = div(add(M, c(1)), 2);
  EXPECT_TRUE(at_most(g, M, mul(half, c(2))));
  EXPECT_FALSE(at_most(g, add(M, c(1)), mul(div(M, 2), c(2))));
  EXPECT_FALSE(at_most(g, M, mul(div(M, 2), c(2))));
  EXPECT_TRUE(at_most(g, mul(div(M, 2), c(2)), M));
  EXPECT_TRUE(at_most(g, min(M, N), M));
  EXPECT_FALSE(at_most(g, M, min(M, N)));
  EXPECT_TRUE(at_most(g, M, min(max(M, N), add(M, c(3)))));
  EXPECT_FALSE(at_most(g, M, N));
  // Of levels of a pyramid, each half of the finer one, rounded up: two points of a level cover one of the finer one.
  EXPECT_TRUE(at_most(g, half, mul(div(add(M, c(3)), 4), c(2))));
  EXPECT_FALSE(at_most(g, mul(div(add(M, c(3)), 4), c(2)), half));
  EXPECT_FALSE(at_most(g, half, mul(div(add(N, c(3)), 4), c(2))));
}

TEST_F(Sizes, QuotientsOfQuotientsAreQuotients) {
  const SizeId half = div(add(M, c(1)), 2);
  EXPECT_EQ(div(half, 3), div(add(M, c(1)), 6));
  EXPECT_EQ(div(add(half, c(1)), 2), div(add(M, c(3)), 4));
  EXPECT_EQ(div(sub(half, c(1)), 2), div(sub(M, c(1)), 4));
}

TEST_F(Sizes, InequalitiesHoldForRandomExtents) {
  std::mt19937 random(5);
  int known = 0;
  for (int round = 0; round < 300; ++round) {
    std::vector<SizeId> pool{M, N, c(3)};
    for (int k = 0; k < 8; ++k) {
      const SizeId a = pool[random() % pool.size()], b = pool[random() % pool.size()];
      const i64 d = 1 + static_cast<i64>(random() % 4);
      const SizeId made[] = {add(a, b), mul(a, c(d)), div(a, d), min(a, b), max(a, b)};
      pool.push_back(made[random() % 5]);
    }
    for (SizeId a : pool)
      for (SizeId b : pool) {
        if (!at_most(g, a, b)) continue;
        ++known;
        for (int k = 0; k < 5; ++k) {
          const std::vector<i64> p{static_cast<i64>(random() % 50), static_cast<i64>(random() % 50)};
          ASSERT_LE(g.evaluate(a, p), g.evaluate(b, p)) << g.to_string(a) << " <= " << g.to_string(b);
        }
      }
  }
  EXPECT_GT(known, 3000);
}

// Random extents against plain arithmetic on random parameters.
TEST_F(Sizes, NormalFormKeepsTheValue) {
  std::mt19937 random(3);
  for (int round = 0; round < 300; ++round) {
    const std::vector<i64> p{static_cast<i64>(random() % 50), static_cast<i64>(random() % 50)};
    std::vector<std::pair<SizeId, i64>> pool{{M, p[0]}, {N, p[1]}, {c(3), 3}, {c(-2), -2}};
    for (int k = 0; k < 12; ++k) {
      const auto [a, x] = pool[random() % pool.size()];
      const auto [b, y] = pool[random() % pool.size()];
      if (std::abs(x) > 10000 || std::abs(y) > 10000) continue;
      const i64 d = 1 + static_cast<i64>(random() % 4);
      switch (random() % 6) {
        case 0:
          pool.emplace_back(add(a, b), x + y);
          break;
        case 1:
          pool.emplace_back(sub(a, b), x - y);
          break;
        case 2:
          pool.emplace_back(mul(a, b), x * y);
          break;
        case 3:
          pool.emplace_back(min(a, b), std::min(x, y));
          break;
        case 4:
          pool.emplace_back(max(a, b), std::max(x, y));
          break;
        default:
          pool.emplace_back(div(a, d), x / d - (x % d < 0 ? 1 : 0));
          break;
      }
      ASSERT_EQ(g.evaluate(pool.back().first, p), pool.back().second) << g.to_string(pool.back().first);
    }
  }
}

TEST_F(Sizes, OverflowIsAnError) {
  const SizeId big = g.size(INT64_MAX);
  EXPECT_THROW(add(big, c(1)), Error);
  EXPECT_THROW(mul(big, c(2)), Error);
  EXPECT_THROW(div(M, 0), Error);
  EXPECT_THROW(g.evaluate(mul(M, N), {i64{1} << 40, i64{1} << 40}), Error);
  EXPECT_THROW(g.size_binary(SizeOp::floor_div, M, N), Error);
}

TEST_F(Sizes, TextOfSharedOperandsStaysShort) {
  SizeId s = M;
  for (int i = 0; i < 200; ++i) s = min(mul(s, s), add(max(s, N), s));
  EXPECT_LT(g.to_string(s).size(), 5000u);
}

TEST(Expressions, EqualNodesAreShared) {
  Graph g;
  const ExprId x = coord(g, 0), y = coord(g, 1);
  EXPECT_EQ(binary(g, Op::add, x, y), binary(g, Op::add, x, y));
  EXPECT_NE(binary(g, Op::add, x, y), binary(g, Op::sub, x, y));
  EXPECT_NE(constant(g, ElementType::f32, 0.0), constant(g, ElementType::f32, -0.0));
  EXPECT_EQ(constant(g, ElementType::f32, NAN), constant(g, ElementType::f32, -NAN));
}

// Building them is linear in their number: a quadratic hash table would run into the test's time limit.
TEST(Expressions, HalfAMillionAreBuilt) {
  Graph g;
  ExprId sum = coord(g, 0);
  for (int i = 0; i < 250'000; ++i)
    sum = binary(g, Op::add, sum, binary(g, Op::mul, sum, constant(g, ElementType::i32, i + 2)));
  EXPECT_GE(g.expr_count(), 500'000u);
}

TEST(Expressions, WalkersAreSafeOnDeepAndSharedGraphs) {
  Graph g;
  ExprId deep = coord(g, 0);
  for (int i = 0; i < 100'000; ++i) deep = binary(g, Op::bit_xor, deep, binary(g, Op::add, deep, coord(g, 1)));
  EXPECT_EQ(postorder(g, {deep}).size(), g.expr_count());
  int visited = 0;
  EXPECT_EQ(rewrite(g, deep, [&](ExprId, const ExprNode&) { return ++visited, ExprId{}; }), deep);
  EXPECT_EQ(visited, static_cast<int>(g.expr_count()));
}

TEST(Expressions, RewriteReplacesBottomUp) {
  Graph g;
  const ExprId x = coord(g, 0), y = coord(g, 1);
  const ExprId e = binary(g, Op::add, binary(g, Op::mul, x, y), x);
  const ExprId r = rewrite(
      g, e, [&](ExprId old, const ExprNode& n) { return old == x ? constant(g, ElementType::i32, 3) : fold(g, n); });
  EXPECT_EQ(
      r, binary(g, Op::add, binary(g, Op::mul, constant(g, ElementType::i32, 3), y), constant(g, ElementType::i32, 3)));
}

TEST(Expressions, SourcesAndAccessesAreFoundOnce) {
  Graph g = parse_graph(R"(
a0 = array "a" float [4]
s0 = input "a" float [4] : a0 0
s1 = point "b" float [4] 0..0 : (add s0[i:clamped] (gather s0 1))
s2 = point "c" float [4] 0..0 : (sum v0=-1..1 (add s1[i+v0:wrap] (mul s0[i] s1[i+v0:wrap])))
s3 = compose "d" float [8]
  piece s2 [0] [1] [4]
  piece 2 [4] [1] [4]
  piece s0 [2] [2] [2]
)");
  EXPECT_EQ(sources(g, 0), (std::vector<StageId>{}));
  EXPECT_EQ(sources(g, 1), (std::vector<StageId>{0}));
  EXPECT_EQ(sources(g, 2), (std::vector<StageId>{0, 1}));
  EXPECT_EQ(sources(g, 3), (std::vector<StageId>{0, 2}));
  EXPECT_EQ(accesses(g, g.stage(2).body).size(), 2u);
}

TEST(Expressions, OperandsMustExist) {
  Graph g;
  ExprNode n;
  n.op = Op::neg;
  n.args = {ExprId{7}};
  EXPECT_THROW(g.expr(n), Error);
}

TEST(Operations, TableIsConsistent) {
  for (int i = 0; i <= static_cast<int>(Op::reduce_all); ++i) {
    const Op op = static_cast<Op>(i);
    EXPECT_EQ(op_named(name_of(op)), op);
    EXPECT_EQ(is_reduction(op), i >= static_cast<int>(Op::reduce_sum));
  }
  EXPECT_EQ(op_named("nothing"), std::nullopt);
  EXPECT_EQ(arity_of(Op::select), 3);
  EXPECT_EQ(arity_of(Op::gather), -1);
}

}  // namespace
}  // namespace tessera::ir
