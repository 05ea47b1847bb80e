// The interpreter against results written by hand, from graphs written as text.
#include "ref/interpreter.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "data/half.hpp"
#include "ir/bind.hpp"
#include "ir/build.hpp"

namespace tessera::ref {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;

template <class T>
Array array_of(std::vector<T> values, Shape shape) {
  return Array::from(std::span<const T>(values), std::move(shape));
}

Array scalar_of(double v, ElementType t) {
  Array a(t, Shape{});
  switch (t) {
    case ElementType::f32:
      *a.as<float>() = static_cast<float>(v);
      break;
    case ElementType::i32:
      *a.as<std::int32_t>() = static_cast<std::int32_t>(v);
      break;
    default:
      *a.as<double>() = v;
      break;
  }
  return a;
}

template <class T>
std::vector<T> values_of(const Array& a) {
  return std::vector<T>(a.as<T>(), a.as<T>() + a.count());
}

std::vector<Array> run(const std::string& text, const std::vector<Array>& arguments) {
  const ir::Graph g = ir::parse_graph(text);
  ir::verify(g);
  std::vector<Shape> shapes;
  for (const Array& a : arguments) shapes.push_back(a.shape());
  return interpret(g, ir::bind_parameters(g, shapes), arguments);
}

// Pieces of 4096 elements, in which 64 sums take every 64th.
TEST(Reductions, AreTakenInOrder) {
  std::vector<float> in(10000);
  for (std::size_t k = 0; k < in.size(); ++k)
    in[k] = std::ldexp(static_cast<float>(k % 4097), static_cast<int>(k % 60));
  const auto in_lanes = [](const std::vector<double>& v) {
    double total = 0;
    for (std::size_t l = 0; l < 64; ++l) {
      double lane = 0;
      for (std::size_t k = l; k < v.size(); k += 64) lane += v[k];
      total += lane;
    }
    return total;
  };
  std::vector<double> pieces;
  for (std::size_t first = 0; first < in.size(); first += 4096) {
    const auto begin = in.begin() + static_cast<std::ptrdiff_t>(first);
    const auto end = in.begin() + static_cast<std::ptrdiff_t>(std::min(first + 4096, in.size()));
    pieces.push_back(in_lanes({begin, end}));
  }
  const auto out =
      run("parameter \"M\"\nparameter \"N\"\na0 = array \"a\" float [M, N]\ns0 = input \"a\" float [M, N] : "
          "a0 0\ns1 = point \"s\" double [1] 0..0 : (sum_of s0)\ns2 = point \"m\" double [1] 0..0 : (mean_of s0)\n"
          "s3 = point \"l\" double [3, 64] 0..0 0..0 : (sum_lanes s0 4096)\noutput \"s\" double : s1\n"
          "output \"m\" double : s2\noutput \"l\" double : s3\n",
          {array_of(in, {100, 100})});
  EXPECT_EQ(values_of<double>(out[0])[0], in_lanes(pieces));
  EXPECT_EQ(values_of<double>(out[1])[0], in_lanes(pieces) / 10000);
  double of_first_lane = 0;
  for (std::size_t k = 8192; k < in.size(); k += 64) of_first_lane += in[k];
  EXPECT_EQ(values_of<double>(out[2])[128], of_first_lane);
}

// One input of eight floats, one point stage over it.
std::vector<float> row(const std::string& body, std::vector<float> in = {1, 2, 3, 4, 5, 6, 7, 8},
                       const std::string& margins = "0..0") {
  const auto n = static_cast<i64>(in.size());
  return values_of<float>(
      run("parameter \"N\"\na0 = array \"a\" float [N]\nt0 = table \"k\" float [3] : 1 2 4\n"
          "t1 = table \"m\" int32 [2, 3] : 1 2 3 4 5 6\ns0 = input \"a\" float [N] : a0 0\n"
          "s1 = point \"f\" float [N] " +
              margins + " : " + body + "\noutput \"\" float : s1\n",
          {array_of(std::move(in), {n})})[0]);
}

TEST(Borders, EveryModeOnBothSides) {
  EXPECT_THAT(row("s0[i-2:clamped]"), ElementsAre(1, 1, 1, 2, 3, 4, 5, 6));
  EXPECT_THAT(row("s0[i+2:clamped]"), ElementsAre(3, 4, 5, 6, 7, 8, 8, 8));
  EXPECT_THAT(row("s0[i-2:mirror]"), ElementsAre(3, 2, 1, 2, 3, 4, 5, 6));
  EXPECT_THAT(row("s0[i+2:mirror]"), ElementsAre(3, 4, 5, 6, 7, 8, 7, 6));
  EXPECT_THAT(row("s0[i-2:symmetric]"), ElementsAre(2, 1, 1, 2, 3, 4, 5, 6));
  EXPECT_THAT(row("s0[i+2:symmetric]"), ElementsAre(3, 4, 5, 6, 7, 8, 8, 7));
  EXPECT_THAT(row("s0[i-2:wrap]"), ElementsAre(7, 8, 1, 2, 3, 4, 5, 6));
  EXPECT_THAT(row("s0[i+2:wrap]"), ElementsAre(3, 4, 5, 6, 7, 8, 1, 2));
  EXPECT_THAT(row("s0[i-2:constant(9)]"), ElementsAre(9, 9, 1, 2, 3, 4, 5, 6));
  EXPECT_THAT(row("s0[i+2:constant(-0.5)]"), ElementsAre(3, 4, 5, 6, 7, 8, -0.5, -0.5));
}

TEST(Borders, SmallerThanTheOffset) {
  EXPECT_THAT(row("s0[i+7:mirror]", {1, 2, 3}), ElementsAre(2, 1, 2));
  EXPECT_THAT(row("s0[i-7:symmetric]", {1, 2, 3}), ElementsAre(1, 1, 2));
  EXPECT_THAT(row("s0[i-7:wrap]", {1, 2, 3}), ElementsAre(3, 1, 2));
  EXPECT_THAT(row("s0[i-5:mirror]", {4}), ElementsAre(4));
  EXPECT_THAT(row("s0[i+5:wrap]", {4}), ElementsAre(4));
}

TEST(Borders, DifferPerDimensionAndPerAccess) {
  const Array out = run(R"(parameter "M"
parameter "N"
a0 = array "a" float [M, N]
s0 = input "a" float [M, N] : a0 0
s1 = point "f" float [M, N] 0..0 0..0 : (add s0[i-1:wrap, i+1:constant(100)] s0[i-1:clamped, i:clamped])
output "" float : s1
)",
                        {array_of<float>({1, 2, 3, 4, 5, 6}, {2, 3})})[0];
  EXPECT_THAT(values_of<float>(out), ElementsAre(6, 8, 103, 3, 5, 103));
}

TEST(Borders, ConstantIsConvertedToTheProducersType) {
  const Array out = run(R"(a0 = array "a" uint8 [2]
s0 = input "a" uint8 [2] : a0 0
s1 = point "f" uint8 [2] 0..0 : s0[i-1:constant(300.7)]
output "" uint8 : s1
)",
                        {array_of<std::uint8_t>({7, 8}, {2})})[0];
  EXPECT_THAT(values_of<std::uint8_t>(out), ElementsAre(44, 7));
}

TEST(Accesses, MarginsLeaveZeros) {
  EXPECT_THAT(row("(add s0[i-1] s0[i+2])", {1, 2, 3, 4, 5, 6, 7, 8}, "1..2"), ElementsAre(0, 5, 7, 9, 11, 13, 0, 0));
  EXPECT_THAT(row("s0[i-3]", {1, 2, 3}, "3..0"), ElementsAre(0, 0, 0));
}

TEST(Accesses, ScaleShiftAndAbsoluteIndices) {
  EXPECT_THAT(row("s0[2*i+1:wrap]"), ElementsAre(2, 4, 6, 8, 2, 4, 6, 8));
  EXPECT_THAT(row("s0[3]"), ElementsAre(4, 4, 4, 4, 4, 4, 4, 4));
  EXPECT_THAT(row("s0[i+{N/2}:wrap]"), ElementsAre(5, 6, 7, 8, 1, 2, 3, 4));
  EXPECT_THAT(row("s0[{N-1}]"), ElementsAre(8, 8, 8, 8, 8, 8, 8, 8));
}

TEST(Accesses, OutsideWithoutABorderIsAnInternalError) {
  try {
    row("s0[i+1]");
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.error_class(), ErrorClass::internal);
    EXPECT_EQ(e.message(), "'f' reads 'a' at index 8 of dimension 0, outside of 0..7, without a border");
  }
}

TEST(Accesses, LowerRankIsAlignedAtTheEnd) {
  const Array out = run(R"(a0 = array "a" float [2]
s0 = input "a" float [2] : a0 0
s1 = point "f" float [3, 2] 0..0 0..0 : (add s0[i] (convert:float (mul 10 (coord 0))))
output "" float : s1
)",
                        {array_of<float>({1, 2}, {2})})[0];
  EXPECT_THAT(values_of<float>(out), ElementsAre(1, 2, 11, 12, 21, 22));
}

TEST(Accesses, GathersAndLookupsAreClamped) {
  EXPECT_THAT(row("(gather s0 (sub (coord 0) 4))"), ElementsAre(1, 1, 1, 1, 1, 2, 3, 4));
  EXPECT_THAT(row("(gather s0 (convert:int32 (mul s0[i] 3f)))", {0, 1, 2}), ElementsAre(0, 2, 2));
  EXPECT_THAT(row("(lookup t0 (coord 0))", {0, 0, 0, 0}), ElementsAre(1, 2, 4, 4));
  EXPECT_THAT(row("(convert:float (lookup t1 (coord 0) (sub 2 (coord 0))))", {0, 0, 0}), ElementsAre(3, 5, 4));
}

TEST(Leaves, CoordinatesExtentsParametersScalars) {
  const Array out = run(R"(parameter "M"
parameter "N"
a0 = array "a" float [M, N]
a1 = scalar "t" float
a2 = scalar "k" int32
s0 = point "f" double [M, N] 0..0 0..0 : (add (convert:double (add (mul 1000 (coord 0)) (add (mul 100 (coord 1)) (add (mul 10 (extent 0)) (param 1))))) (convert:double (add (scalar 1) (convert:float (scalar 2)))))
output "" double : s0
)",
                        {array_of<float>({0, 0, 0, 0, 0, 0}, {2, 3}), scalar_of(0.25, ElementType::f32),
                         scalar_of(7, ElementType::i32)})[0];
  EXPECT_THAT(values_of<double>(out), ElementsAre(30.25, 130.25, 230.25, 1030.25, 1130.25, 1230.25));
}

TEST(Reductions, SumRunsInOrderFromTheFirstTerm) {
  EXPECT_THAT(row("(sum v0=-1..1 (mul (lookup t0 (add v0 1)) s0[i+v0:clamped]))", {1, 2, 3}),
              ElementsAre(1 + 2 + 8, 1 + 4 + 12, 2 + 6 + 12));
  // 2^24 + 1 + 1 rounds twice from the left; starting with 1 + 1 it would be exact.
  EXPECT_THAT(row("(sum v0=0..2 s0[v0])", {16777216, 1, 1}), ElementsAre(16777216, 16777216, 16777216));
  EXPECT_TRUE(std::signbit(row("(sum v0=0..0 (neg s0[i]))", {0})[0]));
}

TEST(Reductions, EveryKind) {
  EXPECT_THAT(row("(prod v0=0..2 s0[v0])", {2, 3, 4}), ElementsAre(24, 24, 24));
  EXPECT_THAT(row("(rmin v0=-1..1 s0[i+v0:clamped])", {3, 1, 2}), ElementsAre(1, 1, 1));
  EXPECT_THAT(row("(rmax v0=-1..1 s0[i+v0:clamped])", {3, 1, 2}), ElementsAre(3, 3, 2));
  EXPECT_THAT(row("(median v0=-1..1 s0[i+v0:clamped])", {9, 1, 5, 2}), ElementsAre(9, 5, 2, 2));
  EXPECT_THAT(row("(median v0=0..3 s0[v0])", {9, 1, 5, 2}), ElementsAre(2, 2, 2, 2));
  EXPECT_THAT(row("(convert:float (any v0=0..1 (lt s0[i+v0:clamped] 2f)))", {3, 1, 2}), ElementsAre(1, 1, 0));
  EXPECT_THAT(row("(convert:float (all v0=0..1 (lt s0[i+v0:clamped] 3f)))", {3, 1, 2}), ElementsAre(0, 1, 1));
}

TEST(Reductions, SeveralVariablesAndNesting) {
  // first variable outermost: 1000*v0 + v1 as digits of a running number would show; order is seen through rounding.
  EXPECT_THAT(row("(convert:float (sum v0=0..1 v1=0..2 (add (mul 10 v0) v1)))", {0}), ElementsAre(36));
  EXPECT_THAT(row("(convert:float (sum v0=1..3 (prod v1=1..2 (add v0 v1))))", {0}), ElementsAre(2 * 3 + 3 * 4 + 4 * 5));
  EXPECT_THAT(row("(sum v0=0..1 (mul s0[i] (rmax v1=0..2 s0[v1])))", {1, 2, 3}), ElementsAre(6, 12, 18));
  EXPECT_THAT(row("(add (sum v0=0..1 s0[v0]) (sum v0=1..2 s0[v0]))", {1, 2, 3}), ElementsAre(8, 8, 8));
  EXPECT_THAT(row("(sum v0=-1..1 v1=-1..1 s0[i+v0-2*v1:clamped])", {0, 1, 2, 3, 4, 5, 6, 7, 8}).at(4), 36);
}

TEST(Types, EveryElementTypeIsStoredAndConverted) {
  for (const std::string type : {"bool", "uint8", "int16", "uint16", "int32", "uint32", "half", "float", "double"}) {
    const Array out =
        run("a0 = array \"a\" double [3]\ns0 = input \"a\" double [3] : a0 0\n"
            "s1 = point \"f\" " +
                type + " [3] 0..0 : (convert:" + type +
                " s0[i])\n"
                "s2 = point \"g\" double [3] 0..0 : (convert:double s1[i])\noutput \"x\" double : s2\noutput \"y\" " +
                type + " : s1\n",
            {array_of<double>({0, 1.5, 100}, {3})})[0];
    const std::vector<double> want = type == "bool" ? std::vector<double>{0, 1, 1}
                                     : type == "half" || type == "float" || type == "double"
                                         ? std::vector<double>{0, 1.5, 100}
                                         : std::vector<double>{0, 1, 100};
    EXPECT_THAT(values_of<double>(out), ElementsAreArray(want)) << type;
  }
}

TEST(Types, HalvesAreLoadedAndRounded) {
  Array a(ElementType::f16, {2});
  a.as<std::uint16_t>()[0] = float_to_half(0.333f);
  a.as<std::uint16_t>()[1] = float_to_half(2048);
  const Array out = run(R"(a0 = array "a" half [2]
s0 = input "a" half [2] : a0 0
s1 = point "f" half [2] 0..0 : (convert:half (add (convert:float s0[i]) 1f))
output "" half : s1
)",
                        {a})[0];
  EXPECT_EQ(half_to_float(out.as<std::uint16_t>()[0]),
            half_to_float(float_to_half(half_to_float(float_to_half(0.333f)) + 1)));
  EXPECT_EQ(half_to_float(out.as<std::uint16_t>()[1]), 2048);
}

TEST(Types, FloatRoundsAfterEveryOperation) {
  const float a = 0.1f, b = 3.3f, c = -0.33f;
  EXPECT_EQ(row("(add (mul s0[0] s0[1]) s0[2])", {a, b, c})[0], [&] {
    volatile float product = a * b;
    volatile float sum = product + c;
    return sum;
  }());
}

TEST(Structs, FieldsAreReadAndAssembled) {
  const Format in = Format::record("px", {{"r", ElementType::u8}, {"g", ElementType::f32}});
  Array a(in, {2});
  for (int i = 0; i < 2; ++i) {
    auto* p = static_cast<std::byte*>(a.data()) + static_cast<std::size_t>(i) * in.size();
    *reinterpret_cast<std::uint8_t*>(p) = static_cast<std::uint8_t>(10 + i);
    *reinterpret_cast<float*>(p + in.fields[1].offset) = 0.5f + static_cast<float>(i);
  }
  const Array out = run(R"(a0 = array "p" struct "px" {"r" uint8 0, "g" float 4} [2]
s0 = input "r" uint8 [2] : a0 0
s1 = input "g" float [2] : a0 1
s2 = point "x" double [2] 0..0 : (convert:double (add (convert:float s0[i]) s1[i]))
s3 = point "y" int16 [2] 0..0 : (convert:int16 s0[i])
output "" struct "out" {"y" int16 0, "x" double 8} : s3 s2
)",
                        {a})[0];
  ASSERT_EQ(out.format().size(), 16u);
  for (int i = 0; i < 2; ++i) {
    const auto* p = static_cast<const std::byte*>(out.data()) + i * 16;
    EXPECT_EQ(*reinterpret_cast<const std::int16_t*>(p), 10 + i);
    EXPECT_EQ(*reinterpret_cast<const double*>(p + 8), 10.5 + 2 * i);
  }
}

TEST(Inputs, StridedViewsAreRead) {
  Array whole = array_of<float>({1, 2, 3, 4, 5, 6}, {2, 3});
  const Array column = whole.region(std::vector<i64>{0, 1}, std::vector<i64>{2, 3});
  const Array out =
      run("a0 = array \"a\" float [2, 2]\ns0 = input \"a\" float [2, 2] : a0 0\noutput \"\" float : s0\n", {column})[0];
  EXPECT_THAT(values_of<float>(out), ElementsAre(2, 3, 5, 6));
}

std::vector<float> composed(const std::string& domain, const std::string& pieces) {
  return values_of<float>(
      run("parameter \"N\"\na0 = array \"a\" float [N]\na1 = array \"b\" float [2, 2]\n"
          "s0 = input \"a\" float [N] : a0 0\ns1 = input \"b\" float [2, 2] : a1 0\n"
          "s2 = compose \"c\" float " +
              domain + "\n" + pieces + "output \"\" float : s2\n",
          {array_of<float>({1, 2, 3}, {3}), array_of<float>({5, 6, 7, 8}, {2, 2})})[0]);
}

TEST(Compose, PiecesStridesOffsetsAndBackground) {
  EXPECT_THAT(composed("[2*N+1]", "  piece s0 [1] [2] [N]\n"), ElementsAre(0, 1, 0, 2, 0, 3, 0));
  EXPECT_THAT(composed("[N+2]", "  piece s0 [0] [1] [N]\n  piece 9 [1] [1] [2]\n"), ElementsAre(1, 9, 9, 0, 0));
  EXPECT_THAT(composed("[N+2]", "  piece 9 [1] [1] [2]\n  piece s0 [0] [1] [N]\n"), ElementsAre(1, 2, 3, 0, 0));
  EXPECT_THAT(composed("[4]", "  piece s0 [-1] [1] [N]\n"), ElementsAre(2, 3, 0, 0));
  EXPECT_THAT(composed("[4]", "  piece s0 [-3] [2] [N]\n"), ElementsAre(0, 3, 0, 0));
  EXPECT_THAT(composed("[4]", "  piece s0 [3] [1] [N]\n  piece 7 [9] [1] [1]\n  piece 8 [0] [1] [0]\n"),
              ElementsAre(0, 0, 0, 1));
  EXPECT_THAT(composed("[2, N]", "  piece s0 [1, 0] [1, 1] [1, N]\n"), ElementsAre(0, 0, 0, 1, 2, 3));
  EXPECT_THAT(
      composed("[2, 2, 2]", "  piece s1 [1, 0, 0] [1, 1, 1] [1, 2, 2]\n  piece s0 [0, 1, 0] [1, 1, 1] [1, 1, 2]\n"),
      ElementsAre(0, 0, 1, 2, 5, 6, 7, 8));
  EXPECT_THAT(composed("[2]", "  piece 4 [1-4611686018427387904] [1] [4611686018427387904]\n"), ElementsAre(4, 0));
}

TEST(Compose, MoreThanTheSourceHasIsAnInternalError) {
  EXPECT_THROW(composed("[8]", "  piece s0 [0] [1] [N+1]\n"), Error);
}

TEST(Graphs, StagesChainAndOutputsKeepTheirOrder) {
  const auto out = run(R"(parameter "N"
a0 = array "a" float [N]
s0 = input "a" float [N] : a0 0
s1 = point "d" float [N] 1..1 : (sub s0[i+1] s0[i-1])
s2 = point "e" float [N] 0..0 : (add s1[i-1:mirror] s1[i+1:mirror])
s3 = point "half" float [N/2] 0..0 : s0[2*i]
output "e" float : s2
output "d" float : s1
output "half" float : s3
)",
                       {array_of<float>({1, 4, 9, 16, 25}, {5})});
  EXPECT_THAT(values_of<float>(out[0]), ElementsAre(16, 12, 24, 12, 32));
  EXPECT_THAT(values_of<float>(out[1]), ElementsAre(0, 8, 12, 16, 0));
  EXPECT_THAT(values_of<float>(out[2]), ElementsAre(1, 9));
}

std::string message_of(const std::string& text, const std::vector<Array>& arguments,
                       const std::vector<i64>& parameters = {}) {
  try {
    interpret(ir::parse_graph(text), parameters, arguments);
  } catch (const Error& e) {
    EXPECT_EQ(e.error_class(), ErrorClass::argument);
    return e.message();
  }
  return "";
}

TEST(Errors, ArgumentsThatDoNotFit) {
  const std::string text = "a0 = array \"a\" float [3]\ns0 = input \"a\" float [3] : a0 0\noutput \"\" float : s0\n";
  EXPECT_EQ(message_of(text, {}), "0 inputs are given, the program takes 1");
  EXPECT_EQ(message_of(text, {array_of<double>({1, 2, 3}, {3})}), "input 'a' is of double, the program takes float");
  EXPECT_EQ(message_of(text, {array_of<float>({1, 2}, {2})}), "input 'a' is 2, the program takes 3");
  EXPECT_EQ(message_of(text, {scalar_of(1, ElementType::f32)}), "input 'a' is a scalar, the program takes 3");
}

TEST(Errors, EmptyAndNegativeExtents) {
  const std::string head = "parameter \"N\"\na0 = array \"a\" float [N]\ns0 = input \"a\" float [N] : a0 0\n";
  const std::vector<Array> empty{Array(ElementType::f32, {0})};
  EXPECT_EQ(message_of(head + "s1 = compose \"c\" float [N-2]\n", empty, {0}),
            "'c' has the extent N-2 = -2; the inputs are too small");
  EXPECT_EQ(message_of(head + "s1 = point \"f\" float [3] 0..0 : s0[i:clamped]\n", empty, {0}),
            "'f' reads 'a', which is empty (0)");
  const auto out = interpret(
      ir::parse_graph(head +
                      "s1 = point \"f\" float [2] 0..0 : s0[i:constant(3)]\n"
                      "s2 = point \"g\" float [N] 0..0 : s0[i]\noutput \"f\" float : s1\noutput \"g\" float : s2\n"),
      {0}, empty);
  EXPECT_THAT(values_of<float>(out[0]), ElementsAre(3, 3));
  EXPECT_EQ(out[1].count(), 0);
  EXPECT_EQ(message_of("s0 = compose \"c\" float [100000, 100000, 100000]\n", {}).substr(0, 3), "'c'");
}

TEST(Scale, DeepExpressionsAndLargeStagesAreFine) {
  ir::Graph g;
  ir::Stage s;
  s.name = "deep";
  s.type = ElementType::i32;
  s.domain = {g.size(2)};
  s.margin_lo = s.margin_hi = {0};
  ir::ExprId e = ir::coord(g, 0);
  for (int i = 0; i < 100'000; ++i)
    e = ir::binary(g, ir::Op::bit_xor, e, ir::binary(g, ir::Op::add, e, ir::coord(g, 0)));
  s.body = e;
  g.add(s);
  g.outputs.push_back({"", ElementType::i32, {0}});
  ir::verify(g);
  EXPECT_EQ(interpret(g, {}, {})[0].as<std::int32_t>()[0], 0);
}

TEST(Scale, AHundredByAHundredPointsOfManyTerms) {
  std::string body = "s0[i, i]";
  double expected = 1;
  for (int i = 0; i < 24; ++i) {
    body = "(add " + body + " (mul s0[i, i] " + std::to_string(i) + ".5f))";
    expected += i + 0.5;
  }
  Array ones(ElementType::f32, {100, 100});
  std::fill_n(ones.as<float>(), 10000, 1.0f);
  const auto results =
      run("a0 = array \"a\" float [100, 100]\ns0 = input \"a\" float [100, 100] : a0 0\n"
          "s1 = point \"f\" float [100, 100] 0..0 0..0 : " +
              body + "\noutput \"\" float : s1\n",
          {ones});
  for (int k = 0; k < 10000; ++k) ASSERT_EQ(results[0].as<float>()[k], expected);
}

// Every operation of constants through a whole graph gives what folding gives.
TEST(Operations, InterpretedAndFoldedValuesAgree) {
  using ir::Op;
  ir::Graph g;
  ir::Argument a;
  a.is_array = false;
  a.format = ElementType::f64;
  for (int i = 0; i < 2; ++i) g.arguments.push_back(a);
  const double pairs[][2] = {{0, 0}, {1, -2}, {-3.75, 2.5}, {1e10, 3}, {-7, 0}, {255, 8}, {0.3, 0.7}};
  std::vector<std::pair<ir::ExprId, std::string>> bodies;
  for (ElementType t : {ElementType::i32, ElementType::u32, ElementType::f32, ElementType::f64, ElementType::boolean,
                        ElementType::u8}) {
    const ir::ExprId x = ir::convert(g, t, ir::scalar(g, 0)), y = ir::convert(g, t, ir::scalar(g, 1));
    for (int k = static_cast<int>(Op::convert); k <= static_cast<int>(Op::select); ++k) {
      const Op op = static_cast<Op>(k);
      const std::string name = std::string(ir::name_of(op)) + " of " + std::string(name_of(t));
      try {
        if (op == Op::convert || op == Op::saturate)
          bodies.emplace_back(ir::saturate(g, ElementType::i16, x), name);
        else if (op == Op::select)
          bodies.emplace_back(ir::select(g, ir::binary(g, Op::lt, x, y), y, x), name);
        else
          bodies.emplace_back(ir::arity_of(op) == 1 ? ir::unary(g, op, x) : ir::binary(g, op, x, y), name);
      } catch (const Error& e) {
        EXPECT_EQ(e.error_class(), ErrorClass::compile) << name;
      }
    }
  }
  for (auto& [body, name] : bodies) {
    ir::Stage s;
    s.name = name;
    s.type = ElementType::f64;
    s.domain = {g.size(1)};
    s.margin_lo = s.margin_hi = {0};
    s.body = ir::convert(g, ElementType::f64, body);
    g.outputs.push_back({name, ElementType::f64, {g.add(s)}});
  }
  for (std::size_t i = 0; i < g.outputs.size(); ++i) g.outputs[i].name += std::to_string(i);
  ir::verify(g);
  for (const auto& p : pairs) {
    const auto out = interpret(g, {}, {scalar_of(p[0], ElementType::f64), scalar_of(p[1], ElementType::f64)});
    ir::Graph folded = g;
    for (std::size_t i = 0; i < out.size(); ++i) {
      const ir::ExprId e =
          ir::rewrite(folded, g.stage(static_cast<ir::StageId>(i)).body, [&](ir::ExprId, const ir::ExprNode& n) {
            return n.op == Op::scalar ? ir::constant(folded, n.type, p[n.ivalue]) : ir::fold(folded, n);
          });
      const double want = ir::constant_value(folded, e).value(), got = *out[i].as<double>();
      EXPECT_TRUE(got == want || (std::isnan(got) && std::isnan(want)))
          << g.outputs[i].name << " of " << p[0] << ", " << p[1] << ": " << got << ", folded " << want;
    }
  }
}

}  // namespace
}  // namespace tessera::ref
