// Windows of results: what a window reads, and what is refused. That windows have the values of the whole is shown in
// tests/differential.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
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

void expect_part(const std::vector<Array>& got, const std::vector<Array>& whole, const std::vector<Region>& regions) {
  ASSERT_EQ(got.size(), whole.size());
  for (std::size_t o = 0; o < got.size(); ++o) {
    EXPECT_EQ(got[o].empty(), regions[o].begin.empty());
    if (got[o].empty()) continue;
    const Array wanted = whole[o].region(regions[o].begin, regions[o].end).clone();
    ASSERT_EQ(got[o].shape(), wanted.shape());
    EXPECT_EQ(std::memcmp(got[o].data(), wanted.data(), static_cast<std::size_t>(wanted.count()) * sizeof(float)), 0)
        << o;
  }
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
  constexpr i64 most = std::numeric_limits<i64>::max(), least = std::numeric_limits<i64>::min();
  for (const Shape& whole : {Shape{least, 20}, Shape{0, 20}, Shape{most, 20}, Shape{i64{1} << 40, i64{1} << 40}})
    EXPECT_THAT(run({part, {0, 0}, whole}, {{{0, 0}, {4, 20}}}), HasSubstr("the whole of input 'a' has shape"));
  EXPECT_THAT(run({part, {most, 0}, {10, 20}}, {{{0, 0}, {4, 20}}}), HasSubstr("is not within a whole of 10x20"));
  EXPECT_THAT(run({part, {least, 0}, {10, 20}}, {{{0, 0}, {4, 20}}}), HasSubstr("is not within a whole of 10x20"));
  EXPECT_THAT(refusal([&] { p.reads(0, {{0, 0}, {1, 1}}, {{most, most}}); }), HasSubstr("2^56 elements"));
  EXPECT_THAT(refusal([&] { p.reads(0, {{0, 0}, {1, 1}}, {{-3, 4}}); }), HasSubstr("at least 1"));
  EXPECT_THAT(refusal([&] { p.reads(0, {{0, 0}, {1, 1}}, {{3}}); }), HasSubstr("a"));
  EXPECT_THAT(refusal([&] { p.reads(0, {{0, 0}, {1, 1}}, {}); }), HasSubstr("input"));
  EXPECT_THAT(run({part, {0}, {10, 20}}, {{{0, 0}, {4, 20}}}), HasSubstr("its place has 1 and its whole 2"));
  EXPECT_THAT(refusal([&] { p.reads(1, {{0, 0}, {1, 1}}, {{10, 20}}); }), HasSubstr("there is no output number 1"));
}

// Of an image that no memory holds.
TEST(Windows, OfWholesThatNobodyHas) {
  const Program p = two_dimensions("stencil f(vector#2 float X) { return X@[0,1] + coord(0) % 1000; } ", "f(a:mirror)");
  const i64 n = i64{1} << 27, at = n - 5;
  const Region read = p.reads(0, {{at, at}, {at + 2, at + 3}}, {{n, n}}).at(0);
  EXPECT_THAT(read.begin, ElementsAre(at, at));
  EXPECT_THAT(read.end, ElementsAre(at + 2, at + 4));
  const Array part(ElementType::f32, {2, 4});
  const Array got = p.run_region({{part, read.begin, {n, n}}}, {{{at, at}, {at + 2, at + 3}}}).at(0);
  EXPECT_EQ(got.as<float>()[0], static_cast<float>(at % 1000));
}

// A part is written where it is asked for, whatever its strides are, and nowhere else.
TEST(Windows, IntoArraysOfAnyStrides) {
  const Program p = two_dimensions("stencil f(vector#2 float X) { return X@[-1,0] - X@[0,1]; } ", "f(a:clamped)");
  Array a(ElementType::f32, {60, 70});
  for (i64 i = 0; i < a.count(); ++i) a.as<float>()[i] = static_cast<float>(i * 7919 % 251);
  const Array whole = p.run({a}).at(0);
  std::vector<float> turned(60 * 70);  // columns lie together
  for (i64 y = 0; y < 60; ++y)
    for (i64 x = 0; x < 70; ++x) turned[static_cast<std::size_t>(x * 60 + y)] = a.as<float>()[y * 70 + x];
  const Array other = Array::borrow(turned.data(), ElementType::f32, {60, 70}, {4, 240});
  std::vector<float> room(400, -1);
  const Array into = Array::borrow(room.data() + 100, ElementType::f32, {3, 5}, {-40, 8});
  for (const Array& from : {a, other}) {
    std::fill(room.begin(), room.end(), -1.F);
    p.run_region_into({{from}}, {{{10, 20}, {13, 25}}}, {into});
    i64 written = 0;
    for (const float v : room) written += v != -1 ? 1 : 0;
    EXPECT_LE(written, 15);
    for (i64 y = 0; y < 3; ++y)
      for (i64 x = 0; x < 5; ++x)
        EXPECT_EQ(room[static_cast<std::size_t>(100 - 10 * y + 2 * x)], whole.as<float>()[(10 + y) * 70 + 20 + x]);
  }
  EXPECT_THAT(refusal([&] {
                p.run_region_into({{a}}, {{{10, 20}, {13, 25}}},
                                  {a.region(std::vector<i64>{50, 0}, std::vector<i64>{53, 5})});
              }),
              HasSubstr("output '1' shares memory with input 'a'"));
  const Program two = two_dimensions("stencil f(vector#2 float X) { return X@[0,1]; } ", "x = f(a), y = f(f(a))");
  EXPECT_THAT(refusal([&] { two.run_region_into({{a}}, {{{0, 0}, {3, 5}}, {{0, 0}, {3, 5}}}, {into, into}); }),
              HasSubstr("output 'y' shares memory with output 'x'"));
  EXPECT_THAT(refusal([&] { p.run_region_into({{a}}, {{{10, 20}, {13, 25}}}, {}); }),
              HasSubstr("but 0 arrays were given"));
  EXPECT_THAT(refusal([&] { p.run_region_into({{a}}, {{{10, 20}, {13, 25}}}, {Array()}); }),
              HasSubstr("but an array of shape"));
  EXPECT_THAT(refusal([&] { p.run_region({{Array()}}, {{{10, 20}, {13, 25}}}); }), HasSubstr("has no array"));
  EXPECT_THAT(refusal([&] { p.run_region({}, {{{10, 20}, {13, 25}}}); }), HasSubstr("0 were given"));
}

// Outputs beside transforms and loops, of images that these read as well, or that stand between.
TEST(Windows, OfOutputsBesideTransformsAndLoops) {
  const std::string stencils =
      "stencil f(vector#2 float X) { return 0.3f * X@[-1,0] + 0.2f * X@[0,3] + 0.1f * X + 0.01f * coord(1); } "
      "stencil g(vector#2 complex F) { return struct complex(F.re * 0.5f, F.im * coord(0) / extent(0)); } "
      "stencil plus(vector#2 float X, vector#2 float Y) { return X + 0.3f * Y@[1,1]; } "
      "stencil halved(vector#2 float X) { return X@[(0,2),(0,2)] + 0.7f * X@[(1,2),(0,2)]; } "
      "stencil change(vector#2 float X, vector#2 float Y) { return abs(X - Y); } "
      "table float w[i = 0..8, j = 0..8] = 0.01f * (i * 31 % 7) - 0.003f * j; "
      "stencil long(vector#2 float X) { return sum(i = -4..4, j = -4..4) (w[i+4, j+4] * X@[i,j]); } "
      "parameter M, N; vector#2 float a[2*M,2*N]; vector#2 float b[2*M,2*N]; ";
  struct Case {
    const char* text;
    std::vector<bool> local;
  };
  const Case cases[] = {
      {"s = f(a:mirror); t = long(s:clamped); F = fft(s); u = ifft(g(F)); "
       "return slow = u.re, local = t, both = plus(t, u.re:wrap), half = halved(t:mirror), first = s;",
       {false, true, false, true, true}},
      {"s = f(a:wrap); F = fft(b); u = ifft(g(F)); v = plus(s, b:mirror); G = fft(v); "
       "return slow = plus(u.re, v:clamped), local = long(v:mirror), other = G.re;",
       {false, true, false}},
      {"s = f(a:mirror); x<0> = s; do t = 1..4 x<t> = f(x<t-1>:clamped); while (max(change(x<t>, x<t-1>)) > 0.5); "
       "t = plus(s, b:mirror); F = fft(t); "
       "return end = plus(x<4>, t:clamped), local = t, second = halved(f(t:symmetric):clamped), re = F.re;",
       {false, true, true, false}},
  };
  const auto filled = [](i64 by) {
    Array a(ElementType::f32, {80, 94});
    for (i64 i = 0; i < a.count(); ++i) a.as<float>()[i] = static_cast<float>(i * by % 251) * 0.11F;
    return a;
  };
  const std::vector<Array> inputs = {filled(7919), filled(104729)};
  const std::vector<Shape> shapes = {{80, 94}, {80, 94}};
  for (const Case& c : cases)
    for (const Numbers numbers : {Numbers::exact, Numbers::fast}) {
      SCOPED_TRACE(c.text);
      const Program p = Program::from_text(stencils + c.text);
      RunOptions run;
      run.numbers = numbers;
      const std::vector<Array> whole = p.run(inputs, run);
      const std::vector<Locality> locality = p.locality();
      ASSERT_EQ(c.local.size(), whole.size());
      std::vector<Region> together(whole.size());
      for (std::size_t o = 0; o < whole.size(); ++o) {
        EXPECT_EQ(locality[o].global.empty(), c.local[o]) << o;
        std::vector<Region> alone(whole.size());
        alone[o] = {{20, 30}, {22, 41}};
        if (!c.local[o]) {
          EXPECT_THAT(refusal([&] { p.run_region({{inputs[0]}, {inputs[1]}}, alone, run); }),
                      HasSubstr("has no windows"));
          continue;
        }
        together[o] = {{static_cast<i64>(o), 3}, {static_cast<i64>(7 + o), 44}};
        for (const Region& part :
             {alone[o], Region{{0, 0}, {1, 1}}, Region{{39, 40}, {40, 47}}, Region{{0, 17}, {40, 18}}}) {
          const std::vector<Region> reads = p.reads(o, part, shapes, run);
          alone[o] = part;
          std::vector<InputWindow> windows;
          for (std::size_t k = 0; k < 2; ++k)
            windows.push_back({inputs[k].region(reads[k].begin, reads[k].end).clone(), reads[k].begin, shapes[k]});
          const std::vector<Array> got = p.run_region(windows, alone, run);
          expect_part(got, whole, alone);
          EXPECT_TRUE(o == 1 || got[1].empty());
        }
        // A part and its halo are what is read.
        const Region read = p.reads(o, {{20, 20}, {21, 21}}, shapes, run).at(0);
        EXPECT_LE((read.end[0] - read.begin[0]) * (read.end[1] - read.begin[1]), 900) << o;
      }
      expect_part(p.run_region({{inputs[0]}, {inputs[1]}}, together, run), whole, together);
    }
}

// A sum through transforms of tiles, of an image that two parts before it put together: what a tile reaches beyond the
// part is computed as well.
TEST(Windows, OfTilesBesideTransformsAreThoseOfTheWhole) {
  const Program p = Program::from_text(
      "stencil f(vector#2 float X) { return 0.3f * X@[-1,0] + 0.2f * X@[0,3] + 0.5f * X; } "
      "table float w[i = 0..32, j = 0..32] = 0.01f * ((i * 31 + j * 17) % 7) - 0.003f * j + 0.001f * i; "
      "stencil long(vector#2 float X) { return sum(i = -16..16, j = -16..16) (w[i+16,j+16] * X@[i,j]); } "
      "parameter M, N; vector#2 float a[M,N]; vector#2 float b[M,N]; "
      "s = f(a:mirror); t = f(b:mirror); F = fft(s); G = fft(t); "
      "c = ( [0..,0..] = s; [M..,0..] = t; ); y = long(c:mirror); "
      "return y = y, re = f(F.re:clamped), im = f(G.im:clamped);");
  std::vector<Array> inputs;
  for (const i64 by : {7919, 104729}) {
    inputs.emplace_back(ElementType::f32, Shape{300, 400});
    for (i64 i = 0; i < inputs.back().count(); ++i)
      inputs.back().as<float>()[i] = static_cast<float>(i * by % 251) * 0.11F;
  }
  std::vector<Progress> told;
  RunOptions run;
  const std::vector<Array> whole = p.run(inputs, run);
  run.on_progress = [&](const Progress& now) { told.push_back(now); };
  for (const Region& part : {Region{{256, 0}, {270, 400}}, Region{{0, 0}, {14, 30}}, Region{{590, 380}, {600, 400}}}) {
    const std::vector<Region> regions = {part, {}, {}};
    told.clear();
    expect_part(p.run_region({{inputs[0]}, {inputs[1]}}, regions, run), whole, regions);
    for (std::size_t k = 0; k < told.size(); ++k)
      EXPECT_TRUE(told[k].total == told[0].total && (k == 0 || told[k].done >= told[k - 1].done)) << k;
  }
}

// A last tile goes beyond the image, and what the border puts there decides how the others round.
TEST(Windows, OfTilesBeyondTheImageAreThoseOfTheWhole) {
  for (const std::string border : {"wrap", "mirror", "symmetric", "clamped"})
    for (const bool along : {false, true})
      for (const i64 n : {582, 587, 592, 637, 1100}) {
        const std::string index = along ? "[0,i]" : "[i,0]";
        const Program p = Program::from_text(
            "table float w[i = 0..40] = 0.01f + 0.001f * ((i * 31) % 7); "
            "stencil long(vector#2 float X) { return sum(i = -20..20) (w[i+20] * X@" +
            index +
            "); } "
            "parameter M, N; vector#2 float a[M,N]; return long(a:" +
            border + ");");
        const Array image(ElementType::f32, {700, n});
        for (i64 i = 0; i < image.count(); ++i) image.as<float>()[i] = static_cast<float>(i * 7919 % 251) * 0.11F;
        RunOptions run;
        run.method = Method::transform;
        const std::vector<Array> whole = p.run({image}, run);
        for (const Region& part :
             {Region{{300, n - 8}, {310, n}}, Region{{690, 0}, {700, 9}}, Region{{695, n - 3}, {700, n}}}) {
          SCOPED_TRACE(border + " " + index + " " + std::to_string(n));
          const std::vector<Region> read = {p.reads(0, part, {image.shape()}, run)};
          expect_part(p.run_region({{image}}, {part}, run), whole, {part});
          const Array cut = image.region(read[0].begin, read[0].end);
          expect_part(p.run_region({{cut, read[0].begin, image.shape()}}, {part}, run), whole, {part});
        }
      }
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
