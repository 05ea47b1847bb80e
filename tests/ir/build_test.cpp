// Promotion, folding and the exact meaning of every operation on constants.
#include "ir/build.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace tessera::ir {
namespace {

using enum ElementType;

double eval(Op op, ElementType t, std::vector<double> x, std::optional<ElementType> operand = {}) {
  return evaluate(op, t, operand.value_or(t), x.data());
}

TEST(Evaluate, IntegersWrapAndDivideSafely) {
  EXPECT_EQ(eval(Op::add, i32, {2147483647, 1}), -2147483648.0);
  EXPECT_EQ(eval(Op::sub, u32, {0, 1}), 4294967295.0);
  EXPECT_EQ(eval(Op::mul, i32, {65536, 65536}), 0);
  EXPECT_EQ(eval(Op::mul, i32, {-2147483648.0, -2147483648.0}), 0);
  EXPECT_EQ(eval(Op::mul, u32, {4294967295.0, 4294967295.0}), 1);
  EXPECT_EQ(eval(Op::div, i32, {-7, 2}), -3);
  EXPECT_EQ(eval(Op::div, i32, {7, 0}), 0);
  EXPECT_EQ(eval(Op::div, i32, {-2147483648.0, -1}), -2147483648.0);
  EXPECT_EQ(eval(Op::rem, i32, {-7, 2}), -1);
  EXPECT_EQ(eval(Op::rem, i32, {-2147483648.0, -1}), 0);
  EXPECT_EQ(eval(Op::rem, u32, {7, 0}), 0);
  EXPECT_EQ(eval(Op::div, u32, {4294967295.0, 2}), 2147483647.0);
  EXPECT_EQ(eval(Op::neg, i32, {-2147483648.0}), -2147483648.0);
  EXPECT_EQ(eval(Op::neg, u32, {1}), 4294967295.0);
  EXPECT_EQ(eval(Op::abs, i32, {-5}), 5);
  EXPECT_EQ(eval(Op::abs, i32, {-2147483648.0}), -2147483648.0);
  EXPECT_EQ(eval(Op::min, i32, {-5, 3}), -5);
  EXPECT_EQ(eval(Op::max, u32, {4000000000.0, 3}), 4000000000.0);
}

TEST(Evaluate, BitsAndShifts) {
  EXPECT_EQ(eval(Op::bit_and, i32, {12, 10}), 8);
  EXPECT_EQ(eval(Op::bit_or, i32, {12, 10}), 14);
  EXPECT_EQ(eval(Op::bit_xor, i32, {-1, 10}), -11);
  EXPECT_EQ(eval(Op::bit_not, i32, {0}), -1);
  EXPECT_EQ(eval(Op::bit_not, u32, {0}), 4294967295.0);
  EXPECT_EQ(eval(Op::bit_not, boolean, {0}), 1);
  EXPECT_EQ(eval(Op::bit_and, boolean, {1, 1}), 1);
  EXPECT_EQ(eval(Op::bit_or, boolean, {0, 1}), 1);
  EXPECT_EQ(eval(Op::bit_xor, boolean, {1, 1}), 0);
  EXPECT_EQ(eval(Op::shl, i32, {1, 31}), -2147483648.0);
  EXPECT_EQ(eval(Op::shl, i32, {1, 33}), 2);
  EXPECT_EQ(eval(Op::shr, i32, {-8, 1}), -4);
  EXPECT_EQ(eval(Op::shr, u32, {4294967288.0, 1}), 2147483644.0);
  EXPECT_EQ(eval(Op::shr, i32, {-8, -31}), -4);
}

TEST(Evaluate, ConversionsWrapTruncateAndSaturate) {
  EXPECT_EQ(eval(Op::convert, u8, {300}, i32), 44);
  EXPECT_EQ(eval(Op::convert, u8, {-1}, i32), 255);
  EXPECT_EQ(eval(Op::convert, i16, {40000}, i32), -25536);
  EXPECT_EQ(eval(Op::convert, u32, {-1}, i32), 4294967295.0);
  EXPECT_EQ(eval(Op::convert, i32, {4294967295.0}, u32), -1);
  EXPECT_EQ(eval(Op::convert, i32, {-2.9}, f32), -2);
  EXPECT_EQ(eval(Op::convert, i32, {1e20}, f32), 2147483647.0);
  EXPECT_EQ(eval(Op::convert, u32, {1e20}, f32), 4294967295.0);
  EXPECT_EQ(eval(Op::convert, u32, {-5}, f64), 0);
  EXPECT_EQ(eval(Op::convert, u8, {1e20}, f32), 255);
  EXPECT_EQ(eval(Op::convert, u8, {300.7}, f32), 44);
  EXPECT_EQ(eval(Op::convert, i32, {NAN}, f32), 0);
  EXPECT_EQ(eval(Op::convert, boolean, {NAN}, f32), 1);
  EXPECT_EQ(eval(Op::convert, boolean, {0.5}, f32), 1);
  EXPECT_EQ(eval(Op::convert, boolean, {0}, i32), 0);
  EXPECT_EQ(eval(Op::convert, f32, {16777217}, i32), 16777216);
  EXPECT_EQ(eval(Op::convert, f32, {0.1}, f64), static_cast<double>(0.1f));
  EXPECT_EQ(eval(Op::convert, f16, {2049}, f32), 2048);
  EXPECT_EQ(eval(Op::convert, f16, {2051}, f32), 2052);
  EXPECT_EQ(eval(Op::convert, f16, {1e6}, f32), INFINITY);
  EXPECT_EQ(eval(Op::saturate, u8, {300}, i32), 255);
  EXPECT_EQ(eval(Op::saturate, u8, {-3}, i32), 0);
  EXPECT_EQ(eval(Op::saturate, u8, {2.5}, f32), 2);
  EXPECT_EQ(eval(Op::saturate, u8, {3.5}, f32), 4);
  EXPECT_EQ(eval(Op::saturate, i16, {-1e9}, f32), -32768);
  EXPECT_EQ(eval(Op::saturate, i32, {1e20}, f64), 2147483647.0);
  EXPECT_EQ(eval(Op::saturate, u8, {NAN}, f32), 0);
}

TEST(Evaluate, FloatsRoundToTheirType) {
  EXPECT_EQ(eval(Op::add, f32, {16777216, 1}), 16777216);
  EXPECT_EQ(eval(Op::add, f64, {16777216, 1}), 16777217);
  EXPECT_EQ(eval(Op::div, f32, {1, 3}), static_cast<double>(1.0f / 3.0f));
  EXPECT_EQ(eval(Op::div, f32, {1, 0}), INFINITY);
  EXPECT_EQ(eval(Op::sqrt, f32, {2}), static_cast<double>(std::sqrt(2.0f)));
  for (const Op op : {Op::min, Op::max}) {  // the order of operands says nothing
    EXPECT_EQ(eval(op, f32, {NAN, 1}), 1);
    EXPECT_EQ(eval(op, f32, {1, NAN}), 1);
    EXPECT_EQ(eval(op, f64, {-INFINITY, NAN}), -INFINITY);
    EXPECT_TRUE(std::isnan(eval(op, f64, {NAN, NAN})));
    EXPECT_EQ(std::signbit(eval(op, f32, {-0.0, 0.0})), op == Op::min);
    EXPECT_EQ(std::signbit(eval(op, f32, {0.0, -0.0})), op == Op::min);
  }
  EXPECT_EQ(eval(Op::round, f32, {-2.5}), -3);
  EXPECT_EQ(eval(Op::floor, f64, {-0.5}), -1);
  EXPECT_EQ(eval(Op::fmod, f32, {-5.5, 2}), -1.5);
  EXPECT_EQ(eval(Op::hypot, f32, {3, 4}), 5);
  EXPECT_EQ(eval(Op::lt, boolean, {NAN, 1}, f32), 0);
  EXPECT_EQ(eval(Op::le, boolean, {1, 1}, f32), 1);
  EXPECT_EQ(eval(Op::eq, boolean, {0.0, -0.0}, f32), 1);
  EXPECT_EQ(eval(Op::ne, boolean, {NAN, NAN}, f32), 1);
  EXPECT_EQ(eval(Op::select, f32, {1, 2, 3}), 2);
  EXPECT_EQ(eval(Op::select, f32, {0, 2, 3}), 3);
}

class Build : public ::testing::Test {
 protected:
  Build() {
    for (ElementType t : {boolean, u8, i16, u16, i32, u32, f16, f32, f64}) {
      Argument a;
      a.is_array = false;
      a.format = t;
      g.arguments.push_back(a);
    }
  }
  ExprId of(ElementType t) { return scalar(g, static_cast<std::size_t>(t)); }
  ElementType type(ExprId e) { return g.node(e).type; }
  double value(ExprId e) { return constant_value(g, e).value(); }
  Graph g;
};

TEST_F(Build, PromotionTable) {
  EXPECT_EQ(promote(u8, u8), i32);
  EXPECT_EQ(promote(boolean, i16), i32);
  EXPECT_EQ(promote(u32, i32), u32);
  EXPECT_EQ(promote(f16, u32), f32);
  EXPECT_EQ(promote(f16, f16), f32);
  EXPECT_EQ(promote(f32, f64), f64);
}

TEST_F(Build, OperationsHaveThePromotedType) {
  EXPECT_EQ(type(binary(g, Op::add, of(u8), of(u8))), i32);
  EXPECT_EQ(type(binary(g, Op::mul, of(u8), of(f16))), f32);
  EXPECT_EQ(type(binary(g, Op::lt, of(u8), of(f64))), boolean);
  EXPECT_EQ(type(g.node(binary(g, Op::lt, of(u8), of(f64))).args[0]), f64);
  EXPECT_EQ(type(binary(g, Op::bit_and, of(boolean), of(boolean))), boolean);
  EXPECT_EQ(type(binary(g, Op::add, of(boolean), of(boolean))), i32);
  EXPECT_EQ(type(binary(g, Op::shr, of(i32), of(u32))), i32);
  EXPECT_EQ(type(binary(g, Op::shl, of(u32), of(u8))), u32);
  EXPECT_EQ(type(binary(g, Op::pow, of(i32), of(i32))), f32);
  EXPECT_EQ(type(binary(g, Op::pow, of(i32), of(f64))), f64);
  EXPECT_EQ(g.node(binary(g, Op::rem, of(f32), of(i32))).op, Op::fmod);
  EXPECT_EQ(type(unary(g, Op::sqrt, of(u8))), f32);
  EXPECT_EQ(type(unary(g, Op::abs, of(u8))), i32);
  EXPECT_EQ(unary(g, Op::abs, of(u32)), of(u32));
  EXPECT_EQ(unary(g, Op::floor, of(u8)), of(u8));
  EXPECT_EQ(type(unary(g, Op::bit_not, of(boolean))), boolean);
  EXPECT_EQ(type(unary(g, Op::neg, of(f16))), f32);
  EXPECT_EQ(type(select(g, of(f32), of(u8), of(u16))), i32);
  EXPECT_EQ(type(select(g, of(i32), of(boolean), of(boolean))), boolean);
  EXPECT_EQ(type(truth(g, of(f32))), boolean);
  EXPECT_EQ(saturate(g, f32, of(i16)), convert(g, f32, of(i16)));
  EXPECT_EQ(g.node(saturate(g, u16, of(u8))).op, Op::convert);
}

TEST_F(Build, ConstantsFoldExactly) {
  const auto c = [&](ElementType t, double v) { return constant(g, t, v); };
  EXPECT_EQ(value(binary(g, Op::add, c(f32, 16777216), c(f32, 1))), 16777216);
  EXPECT_EQ(value(binary(g, Op::div, c(i32, 7), c(i32, 0))), 0);
  EXPECT_EQ(value(convert(g, u8, c(i32, 300))), 44);
  EXPECT_EQ(value(select(g, c(boolean, 1), c(i32, 4), c(f32, 2.5))), 4);
  EXPECT_EQ(value(constant(g, f32, 0.1)), static_cast<double>(0.1f));
  EXPECT_EQ(value(unary(g, Op::exp, c(i32, 0))), 1);
  EXPECT_EQ(select(g, of(boolean), of(f32), of(f32)), of(f32));
}

TEST_F(Build, IdentitiesAreExact) {
  const ExprId x = of(f32), i = of(i32);
  EXPECT_EQ(binary(g, Op::mul, x, constant(g, f32, 1)), x);
  EXPECT_EQ(binary(g, Op::sub, x, constant(g, f32, 0)), x);
  EXPECT_NE(binary(g, Op::add, x, constant(g, f32, 0)), x);  // -0 + 0 is 0
  EXPECT_NE(binary(g, Op::mul, x, constant(g, f32, 0)), constant(g, f32, 0));
  EXPECT_EQ(binary(g, Op::add, i, constant(g, i32, 0)), i);
  EXPECT_EQ(binary(g, Op::mul, i, constant(g, i32, 0)), constant(g, i32, 0));
  EXPECT_EQ(convert(g, u8, convert(g, i32, of(u8))), of(u8));
  EXPECT_EQ(convert(g, f64, convert(g, f32, of(f16))), convert(g, f64, of(f16)));
  // Not the same: through f64 a negative number saturates to 0, directly it wraps.
  EXPECT_NE(convert(g, u32, convert(g, f64, of(i32))), convert(g, u32, of(i32)));
  EXPECT_NE(convert(g, i32, convert(g, u8, of(i32))), of(i32));
}

// fold(convert(convert(x))) against the two conversions done one after the other.
TEST_F(Build, SkippedConversionsChangeNoValue) {
  const ElementType types[] = {boolean, u8, i16, u16, i32, u32, f16, f32, f64};
  const double values[] = {0,      1,          200,           255,          -1,  -200,  40000,
                           -32768, 2147483647, -2147483648.0, 4294967295.0, 0.5, -3.75, 1e30};
  for (ElementType a : types)
    for (ElementType b : types)
      for (ElementType c : types)
        for (double v : values) {
          const double x = eval(Op::convert, a, {v}, f64);
          const double want = eval(Op::convert, c, {eval(Op::convert, b, {x}, a)}, b);
          const ExprId e = convert(g, c, convert(g, b, of(a)));
          const ExprId folded = rewrite(
              g, e, [&](ExprId, const ExprNode& n) { return n.op == Op::scalar ? constant(g, a, x) : fold(g, n); });
          ASSERT_EQ(value(folded), want) << name_of(a) << " " << name_of(b) << " " << name_of(c) << " " << v;
        }
}

TEST_F(Build, RefusesWhatDoesNotApply) {
  EXPECT_THROW(binary(g, Op::bit_and, of(f32), of(i32)), Error);
  EXPECT_THROW(binary(g, Op::shl, of(i32), of(f32)), Error);
  EXPECT_THROW(unary(g, Op::bit_not, of(f64)), Error);
  EXPECT_THROW(reduce(g, Op::reduce_sum, {{0, 3, 1}}, of(f32)), Error);
  EXPECT_THROW(reduce(g, Op::reduce_sum, {{0, 0, max_window}}, of(f32)), Error);
  EXPECT_THROW(reduce(g, Op::reduce_sum, {}, of(f32)), Error);
  EXPECT_THROW(reduce(g, Op::reduce_sum, {{0, max_offset * 4, max_offset * 4}}, of(f32)), Error);
  try {
    binary(g, Op::bit_xor, of(i32), of(f64));
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.error_class(), ErrorClass::compile);
    EXPECT_EQ(e.message(), "'xor' takes integers, but the operand is double");
  }
}

TEST_F(Build, AccessesAreCheckedAndNormalised) {
  Stage s;
  s.kind = StageKind::input;
  s.domain = {g.size(4), g.size(4)};
  s.type = u8;
  const StageId id = g.add(s);
  const ExprId a = access(g, id, {{0, 1, {}, {{3, 1}, {1, 2}, {3, 1}, {2, 0}}}, {}}, {{}, {}});
  EXPECT_EQ(type(a), u8);
  EXPECT_EQ(g.node(a).index[0].vars, (std::vector<std::pair<std::uint32_t, i64>>{{1, 2}, {3, 2}}));
  EXPECT_THROW(access(g, id, {{}}, {{}}), Error);
  EXPECT_THROW(access(g, id, {{max_offset + 1, 1, {}, {}}, {}}, {{}, {}}), Error);
  EXPECT_THROW(gather(g, id, {of(i32)}), Error);
  EXPECT_EQ(type(g.node(gather(g, id, {of(u8), of(f32)})).args[1]), i32);
}

TEST_F(Build, LookupsOfConstantsAreClampedAndFold) {
  g.tables.push_back({"t", f32, {2, 3}, {1, 2, 3, 4, 5, 6}});
  const auto at = [&](double i, double j) { return value(lookup(g, 0, {constant(g, i32, i), constant(g, i32, j)})); };
  EXPECT_EQ(at(1, 0), 4);
  EXPECT_EQ(at(-5, 9), 3);
  EXPECT_EQ(at(9, 9), 6);
  EXPECT_EQ(g.node(lookup(g, 0, {of(i32), constant(g, i32, 0)})).op, Op::lookup);
  EXPECT_THROW(lookup(g, 0, {of(i32)}), Error);
}

TEST_F(Build, ReductionsPromoteTheirBodies) {
  EXPECT_EQ(type(reduce(g, Op::reduce_sum, {{0, 0, 1}}, of(u8))), i32);
  EXPECT_EQ(type(reduce(g, Op::reduce_median, {{0, 0, 1}}, of(f16))), f32);
  EXPECT_EQ(type(reduce(g, Op::reduce_any, {{0, 0, 1}}, of(f32))), boolean);
}

TEST_F(Build, UnrollWritesTheTermsOut) {
  const ExprId v0 = var(g, 0), v1 = var(g, 1);
  const ExprId e =
      reduce(g, Op::reduce_sum, {{0, 0, 1}, {1, 0, 1}},
             binary(g, Op::add, binary(g, Op::mul, v0, constant(g, i32, 10)), binary(g, Op::mul, v1, of(i32))));
  const ExprId x = of(i32), ten = constant(g, i32, 10);
  const auto plus = [&](ExprId a, ExprId b) { return binary(g, Op::add, a, b); };
  const ExprId want = plus(plus(x, ten), plus(ten, x));
  EXPECT_EQ(unroll(g, e, 4), want);
  EXPECT_EQ(unroll(g, e, 3), std::nullopt);
  EXPECT_EQ(unroll(g, reduce(g, Op::reduce_median, {{0, 0, 1}}, of(f32)), 10), std::nullopt);
  EXPECT_EQ(step_of(Op::reduce_any), Op::bit_or);
  EXPECT_THROW(step_of(Op::reduce_median), Error);
  EXPECT_THROW(step_of(Op::add), Error);
}

TEST(Embeds, IsByValue) {
  EXPECT_TRUE(embeds(u8, i16));
  EXPECT_FALSE(embeds(i16, u32));
  EXPECT_TRUE(embeds(u16, f32));
  EXPECT_FALSE(embeds(i32, f32));
  EXPECT_TRUE(embeds(u32, f64));
  EXPECT_TRUE(embeds(u8, f16));
  EXPECT_FALSE(embeds(i16, f16));
  EXPECT_FALSE(embeds(f32, i32));
  EXPECT_TRUE(embeds(boolean, u8));
}

}  // namespace
}  // namespace tessera::ir
