// The standard layout: what it makes of a crowded text, that comments survive, that it is idempotent and keeps meaning.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "testing.hpp"

namespace tessera::lang::testing {
namespace {

const char* const crowded = R"(
// blur along the first index


stencil blurx(vector#2 float X){ // one
return (X@[-1,0]+X+X@[1,0])/3.0f;}
struct rgb{float r;float g,b;};
stencil pick(vector#2 rgb X)
{
  /* before */ a=X@[0,1].r;
  b = -a>=2?X.g:cast<float>(!a);   // behind
  // alone
  return struct rgb(a,b<3,X.b) ; }

import "x.forma";
function int half(int i){return i>>1;}
table float K[3,3]={{1,2,1},
{2,4,2},
   {1,2,1}};
table double g[k=-2..2]=exp(-k*k/2.0);
parameter M,N;parameter int r=1;
vector#2 float input[M,2*N];
float t;
u<0>=blurx(input:mirror);
for i=1..N-1 u<i>=pick(u<i-1>:[mirror,constant(0.5)],t+1); endfor
out=(@[(0,2),(0,1)]=u<2>;
// second piece
@[(1,2),(0,1)]=u<1>[0..,2..M-2].r;[0..2,0..3]=1.5;);
spread@[(-7,3),(5,2)]=out;
return o=out,p=spread; // end
)";

const char* const tidy = R"(// blur along the first index

stencil blurx(vector#2 float X) {  // one
  return (X@[-1,0] + X + X@[1,0])/3.0f;
}
struct rgb { float r; float g, b; };
stencil pick(vector#2 rgb X) {
  /* before */
  a = X@[0,1].r;
  b = -a >= 2 ? X.g : cast<float>(!a);   // behind
  // alone
  return struct rgb(a, b < 3, X.b);
}

import "x.forma";
function int half(int i) { return i >> 1; }
table float K[3,3] = {{1, 2, 1},
  {2, 4, 2},
   {1, 2, 1}};
table double g[k = -2..2] = exp(-k*k/2.0);
parameter M, N;
parameter int r = 1;
vector#2 float input[M,2*N];
float t;
u<0> = blurx(input:mirror);
for i = 1..N-1
  u<i> = pick(u<i-1>:[mirror,constant(0.5)], t + 1);
endfor
out = (
  @[(0,2),(0,1)] = u<2>;
  // second piece
  @[(1,2),(0,1)] = u<1>[0.., 2..M-2].r;
  [0..2, 0..3] = 1.5;
);
spread@[(-7,3),(5,2)] = out;
return o = out, p = spread;  // end
)";

TEST(Format, StandardLayout) {
  EXPECT_EQ(format_source(crowded, "a.forma"), tidy);
}

TEST(Format, Idempotent) {
  for (std::string text : {std::string(crowded), std::string(""), std::string("// only a comment"),
                           std::string("/* a\n  b */ /* c */ // d\n\n\n\n/* e */"),
                           std::string("a = f(x, // why\n  y, /* inline */ z\n, // odd\n w);\n/* last */ return a;"),
                           std::string("stencil f(/* none */) // x\n{ // y\n\n // z\n return 1; // w\n // v\n}\n"),
                           std::string("a = ( // piece\n @[(0,2)] = x; // one\n // two\n );\nreturn a;"),
                           std::string("for i = 1..2 // up\n // body\n a<i> = x; // in\nendfor // out\nreturn a<1>;"),
                           std::string("table float k[2] = { // first\n 1, // one\n 2 // two\n};\r\nreturn x;\r\n"),
                           std::string("a = b\n ;\nreturn\n a\n;")}) {
    const std::string once = format_source(text, "a.forma");
    EXPECT_EQ(format_source(once, "a.forma"), once) << text;
  }
}

TEST(Format, BlocksInExpressions) {
  const std::string text =
      "stencil f(vector#1 float X) {\n"
      "  for k = 0..3\n"
      "    z = z*z + X;\n"
      "  endfor\n"
      "  y = max(i = 0..2) {\n"
      "    q = X@[i];\n"
      "    // behind\n"
      "    return q*q;\n"
      "  } / 2;\n"
      "  return g(sum(i = -1..1) { d = X@[i] - y; return any(j = 0..1) { e = d + j; return e; }; }, X[2, 1]);\n"
      "}\n";
  EXPECT_EQ(format_source(text, "a"), text);
  const std::string line =
      "stencil g(vector#1 float X) { return 2 * sum(i = -1..1) { t = X@[i]; return t*t; } + 1; }\n";
  EXPECT_EQ(format_source(line, "a"), line);
  EXPECT_NE(format_source("stencil g(vector#1 float X){return sum(i=0..1){t=X@[i];return t;};}", "a")
                .find("sum(i = 0..1) { t = X@[i]; return t; };"),
            std::string::npos);
  EXPECT_EQ(format_source("t = max(x)>3?1<<2:u<0>;", "a"), "t = max(x) > 3 ? 1 << 2 : u<0>;\n");
}

std::string without_blanks(const std::string& s) {
  std::string out;
  for (char c : s)
    if (c != ' ' && c != '\n' && c != '\r' && c != '\t') out += c;
  return out;
}

TEST(Format, NamedPointsAndDimensions) {
  const std::string text =
      "stencil mul(vector#2 float A, vector#2 float B)[i, j] { return sum(k : A.1, l = 0..1) (A[i, k] * B[k, j]) + "
      "A.0; "
      "}\n";
  EXPECT_EQ(format_source(text, "a"), text);
  EXPECT_EQ(
      format_source("stencil mul(vector#2 float A,vector#2 float B) [ i,j ] {return sum(k:A .1,l=0..1) "
                    "(A[i,k]*B[k,j])+A .0;}",
                    "a"),
      "stencil mul(vector#2 float A, vector#2 float B)[i, j] { return sum(k : A.1, l = 0..1) (A[i, k]*B[k, j]) + A.0; "
      "}\n");
}

TEST(Format, ABodyStaysOnOneLineWhileItFits) {
  const std::string start = "stencil f(vector#1 float X) { return X";
  const std::string narrow = start + " + X; }\n";
  EXPECT_EQ(format_source(narrow, "a"), narrow);
  std::string wide = start;
  while (wide.size() < 117) wide += " + X";
  wide += "; }\n";
  const std::string broken = format_source(wide, "a");
  EXPECT_EQ(broken.substr(0, broken.find('\n')), "stencil f(vector#1 float X) {");
  EXPECT_EQ(format_source(broken, "a"), broken);
  EXPECT_EQ(format_source("x = ( @[(0,2)] = a; @[(1,2)] = b; );", "a"), "x = ( @[(0,2)] = a; @[(1,2)] = b; );\n");
  EXPECT_EQ(format_source("x = (\n @[(0,2)] = a; @[(1,2)] = b; );", "a"),
            "x = (\n  @[(0,2)] = a;\n  @[(1,2)] = b;\n);\n");
}

TEST(Format, NothingIsLost) {
  EXPECT_EQ(without_blanks(format_source(crowded, "a.forma")), without_blanks(crowded));
}

TEST(Format, KeepsTheMeaning) {
  const std::string program =
      "stencil f(vector#1 int X){a=-X- -X@[1];b=a>=2&&a>>1<9?a:-a;return b;}parameter N;vector#1 int x[N];"
      "g<0>=x;for i=1..2 g<i>=f(g<i-1>:wrap);endfor return g<2>;";
  const Array x = array<std::int32_t>({4}, {5, -2, 9, 4});
  EXPECT_EQ(run(format_source(program, "a"), {x}).values, run(program, {x}).values);
}

TEST(Format, DotsOfNeighboursStayApart) {
  const std::string text = "vector#1 float a[9];\nreturn p = a[2. ..], q = a[1.. .5];\n";
  EXPECT_EQ(format_source(text, "a.forma"), text);
  const std::string field = "return 1 .x;\n";
  EXPECT_EQ(format_source(field, "a.forma"), field);
  EXPECT_EQ(format_source("vector#1 float a[9];\nreturn a[ 2 .. 3 ];\n", "a.forma"),
            "vector#1 float a[9];\nreturn a[2..3];\n");
}

TEST(Format, FaultyTextIsAnError) {
  EXPECT_THROW(format_source("stencil f(", "a.forma"), Error);
  EXPECT_THROW(format_source(std::string("\0", 1), "a.forma"), Error);
}

// Every program that the project ships.
TEST(Format, ShippedPrograms) {
  namespace fs = std::filesystem;
  int count = 0;
  for (const char* folder : {"filters", "examples"}) {
    const fs::path root = fs::path(TESSERA_SOURCE_DIR) / folder;
    if (!fs::exists(root)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(root)) {
      if (entry.path().extension() != ".forma") continue;
      std::stringstream text;
      text << std::ifstream(entry.path()).rdbuf();
      const std::string formatted = format_source(text.str(), entry.path().string());
      EXPECT_EQ(format_source(formatted, "again"), formatted) << entry.path();
      ++count;
    }
  }
  EXPECT_GT(count, 0);
}

}  // namespace
}  // namespace tessera::lang::testing
