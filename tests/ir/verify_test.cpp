// One broken graph for each rule, and what the verifier says about it.
#include <gtest/gtest.h>

#include "ir/build.hpp"
#include "ir/graph.hpp"

namespace tessera::ir {
namespace {

constexpr const char* kHead = R"(parameter "M"
a0 = array "a" float [M, 8]
a1 = scalar "t" float
a2 = array "p" struct "pair" {"x" float 0, "y" uint8 4} [M]
t0 = table "k" float [3] : 1 2 1
s0 = input "a" float [M, 8] : a0 0
s1 = input "p" uint8 [M] : a2 1
)";

std::string verdict(const Graph& g) {
  try {
    verify(g);
  } catch (const Error& e) {
    EXPECT_EQ(e.error_class(), ErrorClass::internal);
    return e.message();
  }
  return "well formed";
}

std::string verdict(const std::string& lines) {
  return verdict(parse_graph(kHead + lines));
}

std::string point(const std::string& body, const std::string& type = "float") {
  return verdict("s2 = point \"f\" " + type + " [M, 8] 0..0 0..0 : " + body + "\n");
}

void expect_rule(const std::string& got, const std::string& rule) {
  EXPECT_NE(got.find(rule), std::string::npos) << "said: " << got << "\nexpected: " << rule;
}

TEST(Verify, ReductionsStandAlone) {
  const std::string head =
      "a0 = array \"a\" float [8, 9]\ns0 = input \"a\" float [8, 9] : a0 0\ns1 = point \"hi\" float [1] 0..0 : (max_of "
      "s0)\n";
  EXPECT_NO_THROW(verify(parse_graph(head + "s2 = point \"x\" float [4] 0..0 : (neg (value s1))\n")));
  for (const char* wrong :
       {"s2 = point \"x\" float [4] 0..0 : (max_of s0)\n", "s2 = point \"x\" float [1] 0..0 : (neg (max_of s0))\n",
        "s2 = point \"x\" float [4] 0..0 : (value s0)\n", "s2 = point \"x\" double [1] 0..0 : (max_of:double s0)\n",
        "s2 = point \"x\" float [2, 32] 0..0 0..0 : (max_lanes s0 4096)\n",
        "s2 = point \"x\" float [2, 64] 0..0 0..0 : (max_lanes s0 100)\n"})
    EXPECT_THROW(verify(parse_graph(head + wrong)), Error) << wrong;
}

TEST(Verify, ElementsThatGoIntoBins) {
  const std::string elements =
      "s2 = point \"e\" double [M, 8] 0..0 0..0 : (sum_into s0[i, i] (coord 0) (size {5}) (coord 1) (size {M}))\n";
  const auto after = [&](const std::string& lines) { return verdict(elements + lines); };
  EXPECT_EQ(after("s3 = point \"b\" float [5, M] 0..0 0..0 : (bins:float s2)\n"), "well formed");
  EXPECT_EQ(after("s3 = point \"b\" double [5] 0..0 : (partial s2 0 (coord 0))\n"), "well formed");
  EXPECT_EQ(print(parse_graph(kHead + elements)), print(parse_graph(print(parse_graph(kHead + elements)))));
  expect_rule(after("s3 = point \"b\" float [5, 8] 0..0 0..0 : (bins:float s2)\n"),
              "the domain of a stage of bins are the bins");
  expect_rule(after("s3 = point \"b\" float [5, M] 0..0 0..0 : (neg (bins:float s2))\n"), "is the body of a stage");
  expect_rule(after("s3 = point \"b\" double [M, 8] 0..0 0..0 : s2[i, i]\n"), "nothing else does");
  expect_rule(after("s3 = compose \"c\" double [M, 8]\n  piece s2 [0, 0] [1, 1] [M, 8]\n"), "are no image");
  expect_rule(after("output \"\" double : s2\n"), "are no image");
  expect_rule(point("(bins:float s0)"), "nothing else does");
  expect_rule(point("(sum_into s0[i, i] (coord 0))", "double"), "keys with their extents");
  expect_rule(point("(sum_into s0[i, i] s0[i, i] (size {5}))", "double"), "a key is int32");
  expect_rule(point("(sum_into:float s0[i, i] (coord 0) (size {5}))"), "the type of elements is another");
  expect_rule(point("(min_into s1[i] (coord 0) 5)", "uint8"), "its extent behind it");
}

TEST(Verify, AcceptsAWellFormedGraph) {
  EXPECT_EQ(verdict(""), "well formed");
  EXPECT_EQ(point("(sum v0=-1..1 (mul (lookup t0 (add v0 1)) s0[i+v0:clamped, i:wrap]))"), "well formed");
  EXPECT_EQ(point("(add s0[i, i] (convert:float s1[i:clamped]))"), "well formed");
  EXPECT_EQ(point("(add (sum v0=0..1 s0[v0:clamped, i]) (rmax v0=0..2 s0[v0:clamped, i]))"), "well formed");
}

TEST(Verify, NamesTheStage) {
  expect_rule(point("1"), "stage 'f' (2): the body is int32, the stage is float");
}

TEST(Verify, Types) {
  expect_rule(point("(add s0[i, i] 1)"), "the operands of 'add' have one type");
  expect_rule(point("(add:float (convert:uint8 s0[i, i]) (convert:uint8 s0[i, i]))"), "'add' does not apply to uint8");
  expect_rule(point("(min (convert:bool 1) (convert:bool 0))"), "'min' does not apply to bool");
  expect_rule(point("(max (convert:half 1) (convert:half 0))"), "'max' does not apply to half");
  expect_rule(point("(add:float 1 1)"), "'add' of int32 gives float");
  expect_rule(point("(lt:float 1 2)"), "'lt' of int32 gives float");
  expect_rule(point("(exp:float 1)"), "'exp' does not apply to int32");
  expect_rule(point("(rem 1f 2f)"), "'rem' does not apply to float");
  expect_rule(point("(shl 1f 2f)"), "'shl' does not apply to float");
  expect_rule(point("(and 1f 2f)"), "'and' does not apply to float");
  expect_rule(point("(neg (const:bool 1))"), "'neg' does not apply to bool");
  expect_rule(point("(select 1 2f 3f)"), "the condition of 'select' is bool");
  expect_rule(point("(select (const:bool 1) 2 3f)"), "the operands of 'select' have one type");
  expect_rule(point("(saturate:float 1)"), "'saturate' does not apply to float");
  expect_rule(point("(sum v0=0..1 (const:bool 1))"), "'sum' does not apply to bool");
  expect_rule(point("(any v0=0..1 1f)"), "'any' does not apply to float");
  expect_rule(point("(sum:float v0=0..1 1)"), "a reduction has the type of its body");
  expect_rule(point("(convert:float (const:uint8 300))"), "the constant 300 is no uint8");
  expect_rule(point("(coord:float 0)"), "'coord' is int32");
  expect_rule(point("(convert:float (access:int32 s0[i, i]))"), "an access has the type of the stage that it reads");
  expect_rule(point("(convert:float (scalar:int32 1))"), "'scalar' has the type of its argument");
  expect_rule(point("(convert:float (lookup:int32 t0 1))"), "'gather' and 'lookup' have the type of what they read");
  expect_rule(point("(lookup t0 1f)"), "the indices of 'gather' and 'lookup' are int32");
  expect_rule(point("(gather s0 1f 1f)"), "the indices of 'gather' and 'lookup' are int32");
}

TEST(Verify, Arity) {
  expect_rule(point("(add 1f)"), "'add' has 1 operands; expected 2");
  expect_rule(point("(lookup t0 1 2)"), "'lookup' has 2 indices; expected 1");
  expect_rule(point("(gather s0 1)"), "'gather' has 1 indices; expected 2");
  Graph g = parse_graph(kHead);
  ExprNode n;
  n.op = Op::neg;
  n.type = ElementType::i32;
  n.args = {coord(g, 0)};
  n.vars = {{0, 0, 1}};
  Stage s = g.stage(0);
  s.kind = StageKind::point;
  s.type = ElementType::i32;
  s.margin_lo = s.margin_hi = {0, 0};
  s.body = g.expr(n);
  g.add(s);
  expect_rule(verdict(g), "only a reduction has variables");
  n.vars.clear();
  n.index.resize(1);
  g.stage(2).body = g.expr(n);
  expect_rule(verdict(g), "only an access has indices and borders");
}

TEST(Verify, Indices) {
  expect_rule(point("(convert:float (coord 2))"), "dimension 2 does not exist; the rank is 2");
  expect_rule(point("(convert:float (extent -1))"), "dimension -1 does not exist");
  expect_rule(point("(convert:float (param 1))"), "parameter 1 does not exist");
  expect_rule(point("(scalar:float 9)"), "argument 9 does not exist");
  expect_rule(point("(scalar:float 0)"), "'scalar' names a scalar argument");
  expect_rule(point("(lookup:float t1 0)"), "table 1 does not exist");
}

TEST(Verify, Accesses) {
  expect_rule(point("s0[i]"), "an access to stage 0 has 1 indices and 1 borders; its rank is 2");
  expect_rule(point("s0[i, -1*i]"), "the scale of an access is not negative");
  expect_rule(point("s0[i, i+2000000000]"), "offsets and scales are at most 2^30");
  expect_rule(verdict("s2 = point \"f\" float [M] 0..0 : s0[i, i]\n"), "a dimension that the reading stage lacks");
  EXPECT_EQ(verdict("s2 = point \"f\" float [M] 0..0 : s0[3:clamped, i]\n"), "well formed");
  Graph g = parse_graph(std::string(kHead) + "s2 = point \"f\" float [M, 8] 0..0 0..0 : s0[i, i]\n");
  ExprNode n = g.node(g.stage(2).body);
  n.stage = 2;
  g.stage(2).body = g.expr(n);
  expect_rule(verdict(g), "it reads stage 2, which does not come before it");
  n.stage = 0;
  n.index[0].vars = {{1, 1}, {0, 1}};
  g.stage(2).body = g.expr(n);
  expect_rule(verdict(g), "the variables of an index are sorted, each once");
  n.index[0].vars = {{0, 0}};
  g.stage(2).body = g.expr(n);
  expect_rule(verdict(g), "coefficients other than 0");
}

TEST(Verify, Scopes) {
  expect_rule(point("(convert:float v0)"), "variable 0 is used outside of its reduction");
  expect_rule(point("s0[v3:clamped, i]"), "variable 3 is used outside of its reduction");
  expect_rule(point("(add (sum v0=0..1 s0[v0:clamped, i]) s0[v0:clamped, i])"), "variable 0 is used outside");
  expect_rule(point("(sum v0=0..1 (sum v0=0..1 s0[v0:clamped, i]))"), "variable 0 is bound again inside");
  expect_rule(point("(sum v0=0..1 v0=0..1 s0[v0:clamped, i])"), "variable 0 is bound again inside");
  expect_rule(point("(sum v0=1..0 s0[i, i])"), "variable 0 runs over the empty range 1..0");
  expect_rule(point("(sum v0=0..100000 v1=0..100000 s0[i, i])"), "a reduction runs over more than");
  expect_rule(point("(sum s0[i, i])"), "a reduction has at least one variable");
}

TEST(Verify, Stages) {
  expect_rule(verdict("s2 = input \"i\" float [M, 9] : a0 0\n"),
              "the domain of an input stage is that of its argument");
  expect_rule(verdict("s2 = input \"i\" int32 [M, 8] : a0 0\n"), "the type of an input stage is that of its field");
  expect_rule(verdict("s2 = input \"i\" float [M, 8] : a7 0\n"), "argument 7 does not exist");
  expect_rule(verdict("s2 = input \"i\" float [M, 8] : a1 0\n"), "an input stage reads an array argument");
  expect_rule(verdict("s2 = input \"i\" uint8 [M] : a2 2\n"), "field 2 does not exist");
  expect_rule(verdict("s2 = point \"f\" float [M, 8] 0..0 : s0[i, i]\n"), "there is one margin per dimension");
  expect_rule(verdict("s2 = point \"f\" float [M, 8] -1..0 0..0 : s0[i, i]\n"), "margins are not negative");
  expect_rule(verdict("s2 = point \"f\" float [M, 8] 0..0 0..0 :\n"), "a point stage has a body");
  expect_rule(verdict("s2 = compose \"f\" float []\n"), "the rank is 0; expected 1 to 4");
  expect_rule(verdict("s2 = compose \"f\" float [1, 1, 1, 1, 1]\n"), "the rank is 5; expected 1 to 4");
  expect_rule(verdict("s2 = compose \"f\" float [-1]\n"), "an extent is -1");
  Graph g = parse_graph(kHead);
  g.stage(0).body = coord(g, 0);
  expect_rule(verdict(g), "only a point stage has a body");
  g.stage(0).body = {};
  g.stage(0).margin_lo = {0};
  expect_rule(verdict(g), "only a point stage has margins");
  g.stage(0).margin_lo = {};
  g.stage(0).pieces.resize(1);
  expect_rule(verdict(g), "only a composed stage has pieces");
}

TEST(Verify, Pieces) {
  const auto piece = [](const std::string& p) {
    return verdict("s2 = compose \"c\" float [M, 8]\n  piece " + p + "\n");
  };
  EXPECT_EQ(piece("s0 [0, 0] [1, 2] [M, 4]"), "well formed");
  expect_rule(piece("s0 [0] [1, 2] [M, 4]"), "a piece has one start, stride and count per dimension");
  expect_rule(piece("s0 [0, 0] [1, 0] [M, 4]"), "the stride of a piece is 0; expected at least 1");
  expect_rule(piece("s0 [0, 0] [1, 1] [M, 9]"), "a piece takes 9 elements of 8");
  expect_rule(piece("s1 [0, 0] [1, 1] [1, M]"), "a piece has the type of the composed stage");
  expect_rule(verdict("s2 = compose \"c\" uint8 [M, 8]\n  piece s1 [0, 0] [1, 1] [2, M]\n"),
              "the count of a piece is 1");
  expect_rule(verdict("s2 = compose \"c\" float [M]\n  piece s0 [0] [1] [M]\n"), "a piece of rank 2 does not fit");
  expect_rule(verdict("s2 = compose \"c\" uint8 [M]\n  piece 0.5 [0] [1] [M]\n"),
              "the value 0.5 of a piece is no uint8");
  Graph g = parse_graph(std::string(kHead) + "s2 = compose \"c\" float [M, 8]\n  piece s0 [0, 0] [1, 1] [M, 8]\n");
  g.stage(2).pieces[0].stage = 2;
  expect_rule(verdict(g), "it reads stage 2, which does not come before it");
}

TEST(Verify, Outputs) {
  expect_rule(verdict("output \"o\" float : s7\n"), "stage 7 does not exist");
  expect_rule(verdict("output \"o\" float : s0 s0\n"), "2 stages for 1 fields");
  expect_rule(verdict("output \"o\" int32 : s0\n"), "a stage has the type of its field");
  expect_rule(verdict("output \"o\" struct \"p\" {\"x\" float 0, \"y\" uint8 4} : s0 s1\n"),
              "the stages of an output have one domain");
  expect_rule(verdict("output \"o\" float : s0\noutput \"o\" float : s0\n"), "two outputs have the same name");
}

TEST(Verify, ArgumentsAndTables) {
  const auto bad = [](const std::string& text) { return verdict(parse_graph(text)); };
  expect_rule(bad("a0 = scalar \"s\" struct \"p\" {\"x\" float 0}\n"), "a scalar is not a struct");
  expect_rule(bad("a0 = array \"s\" float []\n"), "the rank is 0");
  expect_rule(bad("t0 = table \"t\" float [2] : 1\n"), "1 values for 2 elements");
  expect_rule(bad("t0 = table \"t\" float [0] :\n"), "an extent is 0; expected at least 1");
  expect_rule(bad("t0 = table \"t\" uint8 [1] : 256\n"), "the value 256 is no uint8");
  Graph g;
  Argument a;
  a.extents = {SizeId{5}};
  g.arguments = {a};
  expect_rule(verdict(g), "extent 5 does not exist");
  g.arguments[0].extents = {g.size_parameter(0)};
  expect_rule(verdict(g), "parameter 0 does not exist");
}

}  // namespace
}  // namespace tessera::ir
