// Windows of results: what a window reads, and what is refused. That windows have the values of the whole is shown in
// tests/differential.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "engine/program_impl.hpp"
#include "tessera/program.hpp"

namespace tessera {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Program two_dimensions(const std::string& stencil, const std::string& result) {
  return Program::from_text(stencil + "parameter M, N; vector#2 float a[M,N]; return " + result + ";");
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

TEST(Windows, LocalityIsTheHaloOfAllStages) {
  const Program p = two_dimensions(
      "stencil f(vector#2 float X) { return X@[-1,0] + X@[0,3]; } stencil g(vector#2 float X) { return X@[2,0] - X; } ",
      "g(f(a:mirror):clamped)");
  const Locality local = p.locality().at(0);
  EXPECT_EQ(local.global, "");
  ASSERT_EQ(local.inputs.size(), 1u);
  const Locality::Dimension rows = local.inputs[0].at(0), columns = local.inputs[0].at(1);
  EXPECT_EQ(rows.before, 1);
  EXPECT_EQ(rows.after, 2);
  EXPECT_EQ(columns.before, 0);
  EXPECT_EQ(columns.after, 3);
  EXPECT_EQ(rows.scale, 1);
  EXPECT_EQ(rows.divisor, 1);
  EXPECT_FALSE(rows.whole);
}

// What a coarse point spreads over depends on where in its step of 256 a point lies.
TEST(Windows, LocalityOfADeepPyramidHoldsAtEveryPoint) {
  const Program p = Program::from_text(R"(
    stencil down(vector#1 float X) { return X@[(0,2)] + X@[(-1,2)]; }
    stencil even(vector#1 float X) { return X + X@[1]; }
    stencil odd(vector#1 float X) { return X + X@[-1]; }
    vector up(vector#1 float X) { return ( @[(0,2)] = even(X:clamped); @[(1,2)] = odd(X:clamped); ); }
    parameter N; vector#1 float a[256*N];
    g<0> = a;
    for i = 1..8
      g<i> = down(g<i-1>:clamped);
    endfor
    r<8> = g<8>;
    for i = 7..0
      r<i> = up(r<i+1>);
    endfor
    return r = r<0>;)");
  const Locality::Dimension told = p.locality().at(0).inputs[0].at(0);
  ASSERT_FALSE(told.whole);
  ASSERT_EQ(told.scale, told.divisor);
  // Sums of what is not negative: a one reaches all points that read it.
  i64 before = 0, after = 0;
  Array image(ElementType::f32, {4096});
  for (i64 k = 2048; k < 2048 + 256; ++k) {
    image.as<float>()[k] = 1;
    const Array result = p.run({image}).at(0);
    image.as<float>()[k] = 0;
    for (i64 i = 0; i < result.count(); ++i)
      if (result.as<float>()[i] != 0) after = std::max(after, k - i), before = std::max(before, i - k);
  }
  EXPECT_EQ(told.before, before);
  EXPECT_EQ(told.after, after);
}

TEST(Windows, LocalityOfSamplesGoesWithTheirStep) {
  for (const std::string extent : {"N", "16*N"}) {
    const Program p = Program::from_text(
        "stencil f(vector#1 float X) { return X@[(-1,16)] + X@[(20,16)]; } "
        "stencil g(vector#1 float X) { return X@[-1]; } "
        "parameter N; vector#1 float a[" +
        extent + "]; return g(f(a:mirror):clamped);");
    const Locality::Dimension told = p.locality().at(0).inputs[0].at(0);
    EXPECT_EQ(told.scale, 16);
    EXPECT_EQ(told.divisor, 1);
    EXPECT_EQ(told.before, 17);
    EXPECT_EQ(told.after, 4);
    EXPECT_FALSE(told.whole);
  }
}

TEST(Windows, GlobalStagesAreNamed) {
  const Program p = Program::from_text(
      "stencil f(vector#2 float X, float m) { return X / m; } parameter M, N; vector#2 float a[M,N]; "
      "largest = max(a); b = f(a, largest); return b = b, c = f(a, 2);");
  const std::vector<Locality> all = p.locality();
  EXPECT_THAT(all[0].global, HasSubstr("reduces a whole image"));
  EXPECT_EQ(all[1].global, "");
  const Region part{{0, 0}, {2, 2}};
  const Array a(ElementType::f32, {8, 8});
  EXPECT_THAT(refusal([&] { p.run_region({{a}}, {part, {}}); }), HasSubstr("has no windows: stage"));
  const std::vector<Array> results = p.run_region({{a}}, {{}, part});
  EXPECT_TRUE(results[0].empty());
  EXPECT_THAT(results[1].shape(), ElementsAre(2, 2));
}

TEST(Windows, ReadTheirHaloAsFarAsTheImageGoes) {
  const Program p = two_dimensions("stencil f(vector#2 float X) { return X@[-2,0] + X@[1,-4]; } ", "f(a:mirror)");
  const std::vector<Shape> shapes = {{100, 100}};
  const Region inside = p.reads(0, {{50, 50}, {60, 70}}, shapes).at(0);
  EXPECT_THAT(inside.begin, ElementsAre(48, 46));
  EXPECT_THAT(inside.end, ElementsAre(61, 70));
  const Region corner = p.reads(0, {{0, 0}, {1, 1}}, shapes).at(0);
  EXPECT_THAT(corner.begin, ElementsAre(0, 0));
  EXPECT_THAT(corner.end, ElementsAre(3, 5));  // mirrored
}

TEST(Windows, OfWrappedImagesReadTheOtherEndWhereTheyMeetAnEdge) {
  const Program p = two_dimensions("stencil f(vector#2 float X) { return X@[-1,1]; } ", "f(a:wrap)");
  const Region edge = p.reads(0, {{0, 5}, {3, 9}}, {{40, 50}}).at(0);
  EXPECT_THAT(edge.begin, ElementsAre(0, 5));
  EXPECT_THAT(edge.end, ElementsAre(40, 10));
}

TEST(Windows, AreRefusedWithASentence) {
  const Program p = two_dimensions("stencil f(vector#2 float X) { return X@[0,1]; } ", "f(a:mirror)");
  const Array a(ElementType::f32, {10, 20}), part(ElementType::f32, {4, 20});
  const auto run = [&](const InputWindow& window, const std::vector<Region>& regions) {
    return refusal([&] { p.run_region({window}, regions); });
  };
  EXPECT_THAT(run({a}, {{{0, 0}, {11, 20}}}), HasSubstr("is not within its shape 10x20"));
  EXPECT_THAT(run({a}, {{{3, 0}, {3, 20}}}), HasSubstr("is not within its shape"));
  EXPECT_THAT(run({a}, {{{0}, {5}}}), HasSubstr("has 1 dimensions, expected 2"));
  EXPECT_THAT(run({a}, {{}}), HasSubstr("no window is wanted"));
  EXPECT_THAT(run({a}, {}), HasSubstr("0 windows were given, expected 1"));
  EXPECT_THAT(run({part, {2, 0}, {10, 20}}, {{{0, 0}, {4, 20}}}),
              HasSubstr("input 'a' has [2, 6) x [0, 20) of the whole, but the window reads [0, 4) x [0, 20)"));
  EXPECT_THAT(run({part, {8, 0}, {10, 20}}, {{{8, 0}, {9, 20}}}), HasSubstr("is not within a whole of 10x20"));
  EXPECT_THAT(run({part, {0}, {10, 20}}, {{{0, 0}, {4, 20}}}), HasSubstr("its place has 1 and its whole 2"));
  EXPECT_THAT(refusal([&] { p.reads(1, {{0, 0}, {1, 1}}, {{10, 20}}); }), HasSubstr("there is no output number 1"));
}

// The windows of two inputs are of one whole.
TEST(Windows, ThatContradictEachOtherAreRefused) {
  const Program p = Program::from_text(
      "stencil f(vector#2 float X, vector#2 float Y) { return X + Y; } parameter M, N; vector#2 float a[M,N]; "
      "vector#2 float b[M,N]; return f(a, b);");
  const Array part(ElementType::f32, {4, 4});
  EXPECT_THAT(refusal([&] { p.run_region({{part, {0, 0}, {10, 10}}, {part, {0, 0}, {10, 12}}}, {{{0, 0}, {4, 4}}}); }),
              HasSubstr("10"));
}

TEST(Windows, OfCoordinatesAreThoseOfTheWhole) {
  const Program p = two_dimensions(
      "stencil f(vector#2 float X) { return X + 100 * coord(0) + coord(1) + 10000 * extent(0); } ", "f(a)");
  const Array a(ElementType::f32, {30, 40});
  const Array part = p.run_region({{a}}, {{{7, 9}, {8, 11}}}).at(0);
  EXPECT_THAT(part.shape(), ElementsAre(1, 2));
  EXPECT_EQ(part.as<float>()[0], 300709.0F);
  EXPECT_EQ(part.as<float>()[1], 300710.0F);
}

// Of a program with a precise one, which methods that round take: it is told where its part lies, too.
TEST(Windows, OfCoordinatesAreOfThePreciseProgramWhereTheWholeIs) {
  const auto text = [](const std::string& type) {
    return "parameter type real = " + type +
           "; table real w[i = 0..14, j = 0..14] = 0.001 * (i * 31 % 17) - 0.003 * j; "
           "stencil f(vector#2 float X) { return cast<float>(coord(1) + (sum(i = -7..7, j = -7..7) "
           "(w[i+7, j+7] * cast<real>(X@[i,j])))); } "
           "parameter M, N; vector#2 float a[M,N]; return f(a:mirror);";
  };
  const Program fast = Program::from_text(text("float")), precise = Program::from_text(text("double"));
  const Program both =
      engine::make_program(fast.impl().graph, {}, {}, std::make_unique<const Program>(precise), {}, {});
  Array a(ElementType::f32, {200, 230});
  for (i64 i = 0; i < a.count(); ++i) a.as<float>()[i] = static_cast<float>((i * 7919 + i / 911) % 251) * 0.37F;
  RunOptions transformed;
  transformed.method = Method::transform;
  const Array one = fast.run({a}, transformed)[0], two = precise.run({a}, transformed)[0];
  ASSERT_FALSE(std::equal(one.as<float>(), one.as<float>() + one.count(), two.as<float>()));
  for (const Method method : {Method::automatic, Method::transform}) {
    RunOptions run;
    run.method = method;
    const Array whole = both.run({a}, run).at(0),
                other = (method == Method::transform ? precise : fast).run({a}, run)[0];
    for (const Region& part : {Region{{70, 9}, {99, 61}}, Region{{199, 229}, {200, 230}}, Region{{0, 0}, {200, 230}}}) {
      const Array got = both.run_region({{a}}, {part}, run).at(0);
      const Array wanted = whole.region(part.begin, part.end).clone(),
                  same = other.region(part.begin, part.end).clone();
      for (i64 i = 0; i < got.count(); ++i) {
        ASSERT_EQ(got.as<float>()[i], wanted.as<float>()[i]) << i;
        ASSERT_EQ(got.as<float>()[i], same.as<float>()[i]) << i;
      }
    }
  }
}

}  // namespace
}  // namespace tessera
