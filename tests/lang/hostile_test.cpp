// Input that is made to hurt: nesting, unrolling, tables and bytes that a compiler has to end with a sentence.
#include <gtest/gtest.h>

#include "testing.hpp"

namespace tessera::lang::testing {
namespace {

std::string repeated(const std::string& s, int n) {
  std::string out;
  for (int i = 0; i < n; ++i) out += s;
  return out;
}
std::string message_of(const std::string& program) {
  const std::vector<Diagnostic> d = check_text(program);
  return d.size() == 1 ? d[0].message : std::to_string(d.size()) + " findings";
}
// With limits that are reached within milliseconds.
std::string limited_message_of(const std::string& program) {
  CompileInput in;
  in.text = program;
  in.limits.stages = 1000;
  in.limits.expressions = 20'000;
  in.limits.steps = 100'000;
  const std::vector<Diagnostic> d = check(in);
  return d.size() == 1 ? d[0].message : std::to_string(d.size()) + " findings";
}
std::string stencil(const std::string& body) {
  return "stencil f(vector#1 float X) { " + body + " }\nvector#1 float x[5];\nreturn f(x);";
}

TEST(Hostile, DeepNesting) {
  const std::string deep = "nested more than 200 levels deep";
  EXPECT_EQ(message_of(stencil("return " + repeated("(", 1000) + "X" + repeated(")", 1000) + ";")), deep);
  EXPECT_EQ(message_of(stencil("return " + repeated("-", 100000) + "X;")), deep);
  EXPECT_EQ(message_of(stencil("return " + repeated("abs(", 1000) + "X" + repeated(")", 1000) + ";")), deep);
  EXPECT_EQ(message_of(stencil("return " + repeated("X ? X : ", 1000) + "X;")), deep);
  EXPECT_EQ(message_of(stencil("return " + repeated("X[", 1000) + "X;")), deep);
  EXPECT_EQ(message_of(stencil("return " + repeated("sum(i=0..1)(", 1000) + "X;")), deep);
  EXPECT_EQ(message_of("return " + repeated("f(", 100000)), deep);
  EXPECT_EQ(message_of("return " + repeated("([..]=", 1000)), deep);
  EXPECT_EQ(message_of(repeated("for i = 1..2 ", 1000)), deep);
  EXPECT_EQ(message_of("return u<" + repeated("(", 1000) + "0" + repeated(")", 1000) + ">;"), deep);
  EXPECT_EQ(message_of("return u" + repeated("<u", 1000)),
            "expected ';' after the returned image, found the end of the text");
  EXPECT_EQ(message_of(stencil("return " + repeated("sum(i=0..1){ return ", 1000) + "X;")), deep);
  EXPECT_EQ(message_of(stencil(repeated("for i = 1..2 ", 1000))), deep);
  EXPECT_EQ(message_of("table float k[1] = " + repeated("{", 1000)), "expected at most four levels of '{', found '{'");
  EXPECT_NE(message_of(stencil("return X" + repeated(".r", 10000) + ";")).find("nested more than"), std::string::npos);
  EXPECT_NE(message_of("vector#1 float x[5]; return x" + repeated("[0..]", 10000) + ";").find("nested more than"),
            std::string::npos);
  EXPECT_TRUE(check_text(stencil("return " + repeated("(", 150) + "X" + repeated(")", 150) + ";")).empty());
}

TEST(Hostile, LongChainsAreFine) {
  EXPECT_TRUE(check_text(stencil("return X" + repeated(" + X@[1]", 5000) + ";")).empty());
  EXPECT_EQ(message_of(stencil("return X" + repeated(" + X@[1]", 20500) + ";")),
            "one expression chains more than 20,000 operations");
  EXPECT_EQ(message_of("parameter M; vector#1 float x[M" + repeated("*M", 3000) + "]; return x;"),
            "an extent of the program has more than 1000 terms");
}

TEST(Hostile, Unrolling) {
  const std::string head = "stencil f(vector#1 float X, float k) { return X + k; }\nvector#1 float x[5];\nu<0> = x;\n";
  EXPECT_EQ(limited_message_of(head + "for i = 1..1000000\n u<i> = f(u<i-1>, i);\nendfor\nreturn u<1>;"),
            "the loop takes 1,000,000 steps: expected at most 1,000, since loops are unrolled");
  EXPECT_EQ(
      limited_message_of(head + "for i = 1..100\n for j = 1..100\n  u<100*i+j> = f(x, 100*i+j);\n endfor\nendfor\n"
                                "return x;"),
      "the program unrolls to more than 1,000 stages");
  EXPECT_EQ(limited_message_of(head + repeated("for i = 1..1000\n", 1) + "for j = 1..1000\nendfor\nendfor\nreturn x;"),
            "the program unrolls to more than 100,000 steps");
  EXPECT_EQ(limited_message_of(head + "for i = -1000000000..1000000000\nendfor\nreturn x;"),
            "the loop takes 2,000,000,001 steps: expected at most 1,000, since loops are unrolled");
}

TEST(Hostile, ExplodingFunctions) {
  std::string vectors =
      "stencil add(vector#1 float A, vector#1 float B) { return A + B; }\n"
      "vector v0(vector#1 float X) { return add(X, X); }\n";
  std::string scalars = "function float s0(float x) { return x + 1; }\n";
  for (int i = 1; i < 60; ++i) {
    const std::string a = std::to_string(i), b = std::to_string(i - 1);
    vectors += "vector v" + a + "(vector#1 float X) { return add(v" + b + "(X), v" + b + "(X)); }\n";
    scalars += "function float s" + a + "(float x) { return s" + b + "(x) * s" + b + "(x); }\n";
  }
  EXPECT_EQ(limited_message_of(vectors + "vector#1 float x[5]; return v59(x);"),
            "the program unrolls to more than 100,000 steps");
  EXPECT_EQ(
      limited_message_of(scalars + "stencil f(vector#1 float X) { return s59(X); }\nvector#1 float x[5]; return f(x);"),
      "the program unrolls to more than 100,000 steps");
  std::string chain = "function float s0(float x) { return x; }\n";
  for (int i = 1; i < 700; ++i)
    chain += "function float s" + std::to_string(i) + "(float x) { return s" + std::to_string(i - 1) + "(x); }\n";
  EXPECT_NE(message_of(chain + "vector#1 float x[5]; return x;").find("nested more than"), std::string::npos);
}

TEST(Hostile, SharedSubexpressionsStaySmall) {
  std::string body;
  for (int i = 1; i < 2000; ++i)
    body += "a" + std::to_string(i) + " = " +
            (i == 1 ? "X + X" : "a" + std::to_string(i - 1) + " + a" + std::to_string(i - 1)) + ";\n";
  EXPECT_TRUE(check_text(stencil(body + "return a1999;")).empty());
}

TEST(Hostile, Tables) {
  EXPECT_EQ(message_of("table float k[3000,2000] = {1};\nvector#1 float x[5]; return x;"),
            "table 'k' has more than 4,194,304 elements");
  EXPECT_EQ(
      limited_message_of("table float k[i = 0..1000000] = sum(j = 0..1000) ( 0 );\nvector#1 float x[5]; return x;"),
      "the program unrolls to more than 100,000 steps");
  EXPECT_EQ(message_of("table float k[i = 0..2] = 1.0 * i / 0.0 - 1.0 * i / 0.0;\nvector#1 float x[5]; return x;"),
            "table 'k' has no number at index 0: expected a defined value");
}

TEST(Hostile, Bytes) {
  EXPECT_EQ(message_of(std::string("\x7f"
                                   "ELF\0\1\2",
                                   7)),
            "the file is not Forma text: byte 0x7f at offset 0 is no character of UTF-8 text");
  EXPECT_EQ(message_of("stencil \xff\xfe"),
            "the file is not Forma text: byte 0xff at offset 8 is no character of UTF-8 text");
  EXPECT_EQ(message_of("// \xc3\n"), "the file is not Forma text: byte 0xc3 at offset 3 is no character of UTF-8 text");
  EXPECT_TRUE(check_text("// \xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\nvector#1 float x[5]; return x;").empty());
  CompileInput in;
  in.text = std::string(2000, ' ');
  in.limits.text_bytes = 1000;
  const std::vector<Diagnostic> d = check(in);
  ASSERT_EQ(d.size(), 1U);
  EXPECT_NE(d[0].message.find("expected at most"), std::string::npos);
}

// Parsing takes memory for every node, long before anything is evaluated: also of functions that nobody calls.
TEST(Hostile, NodesOfTheText) {
  std::string sum = "1";
  for (int i = 0; i < 600; ++i) sum += "+1";
  CompileInput in;
  in.text = "function float f(float x) { return x * (" + sum + "); }\nvector#1 float x[5]; return x;";
  in.limits.syntax_nodes = 2000;
  EXPECT_TRUE(check(in).empty());
  in.limits.syntax_nodes = 1000;
  const std::vector<Diagnostic> d = check(in);
  ASSERT_EQ(d.size(), 1U);
  EXPECT_EQ(d[0].message, "the text has more than 1,000 operations and numbers");
  EXPECT_NE(d[0].help.find("--table"), std::string::npos);
}

TEST(Hostile, ErrorsAreOfClassCompile) {
  try {
    compile_text("return x;");
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.error_class(), ErrorClass::compile);
    EXPECT_EQ(e.diagnostics().size(), 1U);
    EXPECT_EQ(e.message(), "unknown image 'x'");
  }
}

}  // namespace
}  // namespace tessera::lang::testing
