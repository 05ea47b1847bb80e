// The text form: text in, the same text out; and errors that say where.
#include <gtest/gtest.h>

#include "ir/build.hpp"
#include "ir/graph.hpp"

namespace tessera::ir {
namespace {

constexpr const char* kEverything = R"(parameter "M"
parameter "N"
a0 = array "img" float [M, N]
span "file.forma" 3 5 7 "  vector#2 float img[M,N]; \"x\" \\ \x09"
a1 = array "photo" struct "rgb" {"r" uint8 0, "g" int16 2} [2*M, N/2+1]
a2 = scalar "gain" double
t0 = table "k" float [3] : 1 0.1 -inf
t1 = table "l" uint32 [2, 1] : 4294967295 0
s0 = input "img" float [M, N] : a0 0
s1 = input "photo" int16 [2*M, N/2+1] : a1 1
$0 = (mul s0[i, i-1] 2f)
s2 = point "blur" float [M, N] 0..0 1..2 : (add $0 (add $0 s0[i:clamped, 2*i+{M/2}-1:constant(0.5)]))
s3 = point "all" float [M, N] 0..0 0..0 : (sum v0=-1..1 v1=-2..2 (mul (lookup t0 v0) s2[i+v0:mirror, i-3*v1+{M}:wrap]))
span "" 9 1 4 "all"
s4 = point "leaves" double [M, N] 0..0 0..0 : (add (convert:double (add (coord 0) (mul (extent 1) (param 1)))) (scalar 2))
s5 = point "types" uint8 [(M-1)/2] 0..0 : (saturate:uint8 (select (lt -3 (coord 0)) nand 1e-300d))
s6 = point "gathered" float [M] 0..0 : (gather s0 (coord 0) (convert:int32 (const:half 0.5)))
s7 = point "flag" bool [M] 0..0 : (and (const:bool 1) (any v2=0..3 (eq s6[v2:symmetric] -0f)))
s8 = compose "both" float [2*M, max(M, N)]
  piece s2 [0, 0] [2, 1] [M, N]
  piece s6 [M-1, 1] [1, 3] [1, M]
  piece -0.5 [0, 0] [1, 1] [1, N]
s9 = point "least" float [1] 0..0 : (min_of s0)
s10 = point "middle" double [1] 0..0 : (mean_of s1)
s11 = point "bends" double [M] 0..0 : (add (mul (value s10) (size {M*N})) (convert:double (value s9)))
s12 = point "lanes" int32 [(M*N+4095)/4096, 64] 0..0 0..0 : (sum_lanes s1 4096)
s13 = point "more" float [1, 64] 0..0 0..0 : (max_lanes s0 0)
s14 = fourier "F.re" float [M, N] : re forward [0, 1] s0
s15 = fourier "F.im" float [M, N] : im forward [0, 1] s0
s16 = fourier "back" float [M, N] : re inverse [1] s14 s15
output "first" struct "pair" {"a" float 0, "b" float 4} : s2 s3
output "second" bool : s7
)";

TEST(Text, EverythingPrintsAsItWasRead) {
  const Graph g = parse_graph(kEverything);
  EXPECT_EQ(print(g), kEverything);
  verify(g);
  EXPECT_EQ(g.stage(2).margin_hi, (std::vector<i64>{0, 2}));
  EXPECT_EQ(g.arguments[0].span.column, 5);
  EXPECT_EQ(g.arguments[0].span.text, "  vector#2 float img[M,N]; \"x\" \\ \t");
  EXPECT_EQ(g.stage(3).span.line, 9);
  EXPECT_EQ(g.tables[0].values[1], static_cast<double>(0.1f));
  EXPECT_EQ(g.arguments[1].format, Format::record("rgb", {{"r", ElementType::u8}, {"g", ElementType::i16}}));
}

TEST(Text, ExtentsOfReductionsAndRequirements) {
  const std::string text =
      "parameter \"M\"\nparameter \"N\"\na0 = array \"a\" float [M, N]\ns0 = input \"a\" float [M, N] : a0 0\n"
      "s1 = point \"s\" float [N] 0..0 : (sum v0=0..<{M} v1=0..2 (gather s0 v0 (add (coord 0) v1)))\n"
      "require 1 <= M \"there is a row\"\nrequire M = N \"rows are columns\"\noutput \"\" float : s1\n";
  const Graph g = parse_graph(text);
  verify(g);
  EXPECT_EQ(print(g), text);
  EXPECT_TRUE(runs_over_extents(g.node(g.stage(1).body)));
  EXPECT_EQ(g.evaluate(g.node(g.stage(1).body).vars[0].end, {7, 9}), 7);
  EXPECT_EQ(g.requirements.size(), 2u);
}

TEST(Text, DeepAndSharedExpressionsStaySmall) {
  Graph g;
  ExprId e = coord(g, 0);
  for (int i = 0; i < 3000; ++i) e = binary(g, Op::bit_xor, e, binary(g, Op::add, e, coord(g, 1)));
  for (int i = 0; i < 3000; ++i) e = unary(g, Op::bit_not, binary(g, Op::add, e, constant(g, ElementType::i32, i)));
  Stage s;
  s.name = "deep";
  s.type = ElementType::i32;
  s.domain = {g.size(4), g.size(4)};
  s.margin_lo = s.margin_hi = {0, 0};
  s.body = e;
  g.add(s);
  const std::string text = print(g);
  EXPECT_LT(text.size(), 400'000u);
  const Graph back = parse_graph(text);
  EXPECT_EQ(print(back), text);
  verify(back);
}

TEST(Text, LongExtentsGetLines) {
  Graph g;
  g.parameters = {"M", "min", "z1", "a b"};
  SizeId s = g.size_parameter(0);
  for (int i = 0; i < 60; ++i)
    s = g.size_binary(SizeOp::min, g.size_binary(SizeOp::mul, s, s),
                      g.size_binary(SizeOp::max, s, g.size_parameter(1 + i % 3)));
  Stage stage;
  stage.name = "x";
  stage.domain = {s};
  stage.kind = StageKind::compose;
  g.add(stage);
  const std::string text = print(g);
  EXPECT_LT(text.size(), 20'000u);
  EXPECT_NE(text.find("z0 = "), std::string::npos);
  EXPECT_NE(text.find("$3"), std::string::npos);
  EXPECT_EQ(print(parse_graph(text)), text);
}

TEST(Text, NodesAreTheSameAfterReading) {
  const Graph g = parse_graph(kEverything), h = parse_graph(print(g));
  ASSERT_EQ(g.stage_count(), h.stage_count());
  for (StageId s = 0; s < g.stage_count(); ++s) {
    const auto a = postorder(g, {g.stage(s).body}), b = postorder(h, {h.stage(s).body});
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
      EXPECT_EQ(g.node(a[i]).op, h.node(b[i]).op);
      EXPECT_EQ(g.node(a[i]).type, h.node(b[i]).type);
      EXPECT_EQ(g.node(a[i]).index, h.node(b[i]).index);
    }
  }
}

std::string error_of(std::string_view text) {
  try {
    parse_graph(text);
  } catch (const Error& e) {
    EXPECT_EQ(e.error_class(), ErrorClass::compile);
    return e.message();
  }
  return "";
}

TEST(Text, ErrorsSayLineAndExpectation) {
  EXPECT_EQ(error_of("parameter M"), "stage graph, line 1, column 11: expected '\"', got 'M'");
  EXPECT_EQ(error_of("\nwhat"), "stage graph, line 2, column 1: expected an item, got 'what'");
  EXPECT_EQ(error_of("s0 = point \"x\" float [4] 0..0 : (foo 1)"),
            "stage graph, line 1, column 34: expected an operation, got 'foo 1)'");
  EXPECT_EQ(error_of("parameter \"M\"\ns0 = compose \"c\" float [M]\ns1 = point \"x\" float [M] 0..0 : s0[i-{M}]"),
            "stage graph, line 3, column 38: expected 'i', a variable, an integer or an extent in braces, got '{M}]'");
  EXPECT_EQ(error_of("s1 = point \"x\" float [4] 0..0 : 1"),
            "stage graph, line 1, column 3: expected 's0', the next in order, got ' = point \"x\" float [4] 0..0 : 1'");
}

TEST(Text, NoInputCrashes) {
  const std::string text = kEverything;
  for (std::size_t cut = 0; cut < text.size(); ++cut) {
    for (const std::string& broken :
         {text.substr(0, cut), text.substr(0, cut) + "((" + text.substr(cut + 1),
          text.substr(0, cut) + "9" + text.substr(cut), text.substr(0, cut) + text.substr(cut + 1)}) {
      try {
        const Graph g = parse_graph(broken);
        try {
          verify(g);
        } catch (const Error& e) {
          ASSERT_EQ(e.error_class(), ErrorClass::internal);
        }
        print(g);
      } catch (const Error&) {
      }
    }
  }
  const std::string nested(100'000, '(');
  EXPECT_THROW(parse_graph("z0 = " + nested), Error);
  EXPECT_THROW(parse_graph("$0 = " + nested), Error);
  std::string negations;
  for (int i = 0; i < 1000; ++i) negations += "(neg ";
  EXPECT_THROW(parse_graph("$0 = " + negations), Error);
}

}  // namespace
}  // namespace tessera::ir
