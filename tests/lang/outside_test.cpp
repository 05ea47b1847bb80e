// What comes from outside: borders, types and tables, what is said where they do not fit, and what comments describe.
#include <gtest/gtest.h>

#include <cmath>

#include "testing.hpp"

namespace tessera::lang::testing {
namespace {

using Values = std::vector<double>;

CompileInput input(const std::string& text) {
  CompileInput in;
  in.text = text;
  in.file_name = "test.forma";
  return in;
}

Values run_input(const CompileInput& in, const std::vector<Array>& arrays) {
  return run_compiled(compile(in), arrays).at(0).values;
}

// The only error.
std::string fault(const CompileInput& in) {
  const std::vector<Diagnostic> all = check(in);
  EXPECT_EQ(all.size(), 1U) << (all.empty() ? "" : all.back().render());
  return all.empty() ? "" : all[0].message;
}

const char* const left = R"(
stencil left(vector#1 float X) { return X@[-1]; }
parameter border edge = mirror;
vector#1 float x[4];
return left(x:edge);
)";

TEST(Outside, BorderParameters) {
  const std::vector<Array> x = {floats({1, 2, 3, 4})};
  CompileInput in = input(left);
  EXPECT_EQ(run_input(in, x), (Values{2, 1, 2, 3}));
  in.borders["edge"] = {{BorderMode::wrap, 0}};
  EXPECT_EQ(run_input(in, x), (Values{4, 1, 2, 3}));
  in.borders["edge"] = {{BorderMode::constant, 9}};
  EXPECT_EQ(run_input(in, x), (Values{9, 1, 2, 3}));
  in.borders["edge"] = {{BorderMode::none, 0}};
  EXPECT_EQ(run_input(in, x), (Values{0, 1, 2, 3}));
}

TEST(Outside, BorderParametersInLists) {
  const char* text = R"(
parameter float fill = 4;
parameter border across = constant(2 * fill), down = clamped, both = [down, across];
stencil corner(vector#2 float X) { return 10 * X@[-1,0] + X@[0,-1]; }
vector#2 float x[2,2];
return a = corner(x:[down, across]), b = corner(x:both), c = corner(x:across), d = corner(x:[wrap, down]);
)";
  const auto r = run_all(text, {floats({2, 2}, {1, 2, 3, 4})});
  EXPECT_EQ(r[0].values, (Values{18, 21, 18, 23}));
  EXPECT_EQ(r[1].values, r[0].values);
  EXPECT_EQ(r[2].values, (Values{88, 81, 18, 23}));
  EXPECT_EQ(r[3].values, (Values{31, 41, 13, 23}));
}

TEST(Outside, FaultsOfBorders) {
  CompileInput in = input(left);
  in.parameters["edge"] = 3;
  EXPECT_EQ(fault(in), "parameter 'edge' is set to 3: expected a boundary mode such as mirror");
  in = input(left);
  in.borders["egde"] = {{BorderMode::wrap, 0}};
  EXPECT_EQ(fault(in), "the program has no parameter 'egde' that is a boundary mode");
  in = input(left);
  in.borders["edge"] = {{BorderMode::wrap, 0}, {BorderMode::wrap, 0}};
  EXPECT_EQ(fault(in), "'edge' holds 2 modes for argument 'X' of rank 1: expected 1");
  in = input(left);
  in.borders["edge"] = {};
  EXPECT_EQ(fault(in), "parameter 'edge' is set to 0 modes: expected 1 to 4");
  in = input(left);
  in.borders["edge"] = {{BorderMode::constant, std::nan("")}};
  EXPECT_EQ(fault(in), "parameter 'edge' is set to a mode whose value is not finite");
  const std::string rest = "stencil f(vector#1 float X) { return X@[1]; } vector#1 float x[4]; ";
  EXPECT_EQ(fault(input("parameter border edge = mirorr; " + rest + "return f(x:edge);")),
            "unknown boundary mode 'mirorr'");
  EXPECT_EQ(fault(input("parameter border edge = edge; " + rest + "return f(x:edge);")),
            "parameter 'edge' depends on itself");
  EXPECT_EQ(fault(input("parameter border edge; " + rest + "return f(x:edge);")),
            "expected '=' after a boundary mode's name, and the mode, found ';'");
  EXPECT_EQ(fault(input("parameter border edge = wrap; " + rest + "return f(x:edge(3));")),
            "parameter 'edge' takes no value here");
  EXPECT_EQ(fault(input("parameter border edge = wrap; table float k[1] = {edge}; " + rest + "return f(x:edge);")),
            "'edge' is a boundary mode: expected a value");
  EXPECT_EQ(fault(input("parameter border edge = [wrap,mirror]; " + rest + "return f(x:[edge]);")),
            "parameter 'edge' holds 2 modes: expected one, in a list of modes");
  EXPECT_EQ(fault(input("parameter float border = 2; " + rest + "return f(x:border);")),
            "unknown boundary mode 'border'");
}

TEST(Outside, ChainsOfBordersEnd) {
  std::string text = "stencil f(vector#1 float X) { return X@[1]; }\nvector#1 float x[4];\n";
  for (int i = 0; i < 5000; ++i)
    text += "parameter border e" + std::to_string(i) + " = e" + std::to_string(i + 1) + ";\n";
  EXPECT_EQ(fault(input(text + "parameter border e5000 = wrap;\nreturn f(x:e0);")),
            "expressions and calls are nested more than 600 levels deep");
}

TEST(Outside, TypeParameters) {
  const char* text = R"(
parameter type real = float, stored = uint8;
table real third[1] = {0.1};
function real half_of(real a) { return a / 2; }
stencil f(vector#1 stored X) { return saturate<stored>(half_of(X) + 0 * third[0]); }
stencil g(vector#1 stored X) { return third[0] * X; }
vector#1 stored x[2];
return a = f(x), b = g(x);
)";
  CompileInput in = input(text);
  const auto bytes = run_compiled(compile(in), {array<std::uint8_t>({2}, {5, 255})});
  EXPECT_EQ(bytes[0].type, "uint8");
  EXPECT_EQ(bytes[0].values, (Values{2, 128}));
  EXPECT_EQ(bytes[1].type, "float");
  in.types["real"] = ElementType::f64;
  in.types["stored"] = ElementType::i16;
  const auto words = run_compiled(compile(in), {array<std::int16_t>({2}, {-5, 300})});
  EXPECT_EQ(words[0].type, "int16");
  EXPECT_EQ(words[1].type, "double");
  EXPECT_EQ(words[1].values, (Values{-0.5, 30}));
  in.types["reel"] = ElementType::f64;
  EXPECT_EQ(fault(in), "the program has no parameter 'reel' that is a type");
  EXPECT_EQ(fault(input("parameter type real = flaot; stencil f(vector#1 real X) { return X; } vector#1 float x[2];"
                        "return f(x);")),
            "parameter 'real' is the type 'flaot': expected a basic type such as float");
  EXPECT_EQ(fault(input("parameter type real = float; stencil f(vector#1 float X) { return X * real; }"
                        "vector#1 float x[2]; return f(x);")),
            "'real' is a type: expected a value");
}

const char* const weighted = R"(
parameter H, W;
table float K[H,W];
stencil f(vector#2 float X) { return sum(i = 0..H-1, j = 0..W-1) (K[i,j] * X@[i,j]); }
parameter M, N;
vector#2 float x[M,N];
return f(x:constant(0));
)";

TEST(Outside, Tables) {
  CompileInput in = input(weighted);
  const std::vector<Array> x = {floats({2, 3}, {1, 2, 3, 4, 5, 6})};
  in.tables["K"] = floats({1, 2}, {10, 1});
  EXPECT_EQ(run_input(in, x), (Values{12, 23, 30, 45, 56, 60}));
  in.tables["K"] = array<std::uint8_t>({2, 1}, {10, 1});
  EXPECT_EQ(run_input(in, x), (Values{14, 25, 36, 40, 50, 60}));
  in.tables["K"] = floats({1, 1, 2}, {10, 1});  // a slow extent of 1 more
  EXPECT_EQ(run_input(in, x), (Values{12, 23, 30, 45, 56, 60}));
  in.tables["K"] = floats({2}, {10, 1});  // and one less
  EXPECT_EQ(run_input(in, x), (Values{12, 23, 30, 45, 56, 60}));
  const float spread[] = {10, 0, 1, 0};
  in.tables["K"] = Array::borrow(const_cast<float*>(spread), ElementType::f32, {1, 2}, {16, 8});
  EXPECT_EQ(run_input(in, x), (Values{12, 23, 30, 45, 56, 60}));
  in.parameters["W"] = 2;
  EXPECT_EQ(run_input(in, x), (Values{12, 23, 30, 45, 56, 60}));
}

TEST(Outside, FaultsOfTables) {
  CompileInput in = input(weighted);
  EXPECT_EQ(fault(in), "table 'K' has no values: expected them from outside");
  const auto given = [&](const Array& a) {
    in.tables["K"] = a;
    return fault(in);
  };
  EXPECT_EQ(given(floats({2, 1, 1}, {1, 2})), "table 'K' has 2 dimensions, but an array of shape 2x1x1 is given");
  EXPECT_EQ(given(Array(ElementType::f32, {0, 3})),
            "table 'K' is given an empty array of shape 0x3: expected at least one element");
  EXPECT_EQ(given(Array(Format::record("rgb", {{"r", ElementType::f32}}), {1, 1})),
            "table 'K' is given elements of struct rgb: expected numbers");
  EXPECT_EQ(given(floats({1, 2}, {1, std::nanf("")})),
            "table 'K' is given nan as element 1: expected finite numbers of float");
  EXPECT_EQ(given(array<double>({1, 1}, {1e300})),
            "table 'K' is given 1e+300 as element 0: expected finite numbers of float");
  EXPECT_EQ(given(Array(ElementType::u8, {4096, 2048})), "table 'K' has more than 4,194,304 elements");
  in.parameters["H"] = 3;
  EXPECT_EQ(given(floats({1, 2}, {1, 2})),
            "table 'K' has the extent 3 in dimension 0, but an array of shape 1x2 is given");
  in = input(weighted);
  in.tables["K"] = in.tables["k"] = floats({1, 1}, {1});
  EXPECT_EQ(fault(in), "the program has no table 'k' without values");
  in = input(
      "parameter n; table int16 a[n]; table float b[n]; stencil f(vector#1 float X) { return X + a[0] + b[0]; }"
      "vector#1 float x[2]; return f(x);");
  in.tables["a"] = floats({2}, {1, 2});
  in.tables["b"] = floats({3}, {1, 2, 3});
  EXPECT_EQ(fault(in), "'n' is 2 already, but table 'b' is given the extent 3 there");
  in.tables["a"] = floats({3}, {1, 2.5F, 3});
  EXPECT_EQ(fault(in), "table 'a' is given 2.5 as element 1, which is no value of int16");
}

TEST(Outside, WhatCommentsDescribe) {
  const ProgramText text = describe(input(R"(// A filter for tests
// of comments.
//
// With a reference.

parameter float sigma = 1.5,
    other = 2 * sigma;  // of both
// not this one

// the border
// of the image
parameter border edge = [mirror, constant(1)];
parameter type real = float;
/* weights */
table real K[3];
parameter M, N;  // extents
stencil f(vector#2 real X, float a) { return X + a; }
vector#2 float x[M,N];
return f(x, 1);
)"));
  EXPECT_EQ(text.description, "A filter for tests of comments.");
  std::vector<std::string> lines;
  for (const DeclarationText& p : text.parameters)
    lines.push_back(p.name + "|" + p.type + "|" + p.value + "|" + p.description);
  EXPECT_EQ(lines,
            (std::vector<std::string>{"sigma|float|1.5|of both", "other|float|2 * sigma|of both",
                                      "edge|border|[mirror, constant(1)]|the border of the image", "real|type|float|",
                                      "M|int||extents", "N|int||extents", "K|table||weights"}));
  ASSERT_EQ(text.functions.size(), 1U);
  EXPECT_EQ(text.functions[0].arguments, (std::vector<std::pair<std::string, int>>{{"real", 2}, {"float", 0}}));
  EXPECT_EQ(describe(input("// only this\nparameter r = 1;\n")).parameters.at(0).description, "");
  EXPECT_THROW(describe(input("parameter = ;")), Error);
}

TEST(Outside, ValuesAsText) {
  EXPECT_EQ(parse_borders("[mirror, constant(-1.5)]", "-p"),
            (std::vector<Border>{{BorderMode::mirror, 0}, {BorderMode::constant, -1.5}}));
  EXPECT_EQ(text_of(parse_borders("constant( 2 )", "-p")[0]), "constant(2)");
  for (const char* wrong : {"", "mirror(2)", "constant", "constant()", "constant(nan)", "constant(1", "mirror,,wrap",
                            "wrap,wrap,wrap,wrap,wrap", "replicate", "["})
    EXPECT_THROW(parse_borders(wrong, "-p"), Error) << wrong;
}

TEST(Outside, Layout) {
  const std::string text =
      "parameter border edge = [mirror, constant(0)], other = edge;\n"
      "parameter type real = float;\n"
      "table real K[H,W];\n";
  EXPECT_EQ(format_source(text, "test.forma"), text);
  EXPECT_EQ(
      format_source(
          "parameter  border edge=[mirror,constant( 0 )] ,other=edge;parameter type real=float;table real K[H, W] ;",
          "test.forma"),
      text);
}

}  // namespace
}  // namespace tessera::lang::testing
