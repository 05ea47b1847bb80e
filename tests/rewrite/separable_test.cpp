// Which weighted sums are taken one dimension at a time. That their values stay is for the differential tests.
#include <gtest/gtest.h>

#include <algorithm>

#include "lang/compile.hpp"
#include "support/programs.hpp"

namespace tessera {
namespace {

struct Split {
  std::size_t passes = 0;  // stages that the window became, beside its own
  double operations = 0;   // a point
};

Split split(const std::string& text, Numbers numbers = Numbers::fast) {
  RunOptions options;
  options.numbers = numbers;
  plan::Plan p = planned({"test", text, {{2160, 3840}}}, options).plan;
  Split s;
  for (ir::StageId k = 0; k < p.graph.stage_count(); ++k)
    s.passes += p.graph.stage(k).name.find('.') != std::string::npos ? 1 : 0;
  for (const plan::Group& g : p.groups) s.operations += g.operations;
  return s;
}

std::string window(const std::string& type, const std::string& tables, const std::string& weight, int reach,
                   const std::string& border = "clamped") {
  std::string r = std::to_string(reach);
  return tables + " stencil f(vector#2 " + type + " X) { return sum(i = -" + r + ".." + r + ", j = -" + r + ".." + r +
         ") (" + weight + " * X@[i,j]); } parameter M, N; vector#2 " + type + " a[M,N]; return f(a:" + border + ");";
}

const std::string gauss = "table float g[k = -6..6] = exp(-k*k/9.0);";
const std::string binomial = "table int g[5] = {1, 4, 6, 4, 1};";

TEST(SeparableSums, LargeWindows) {
  Split s = split(window("float", gauss, "g[i+6]*g[j+6]", 6));
  EXPECT_EQ(s.passes, 1u);
  EXPECT_LT(s.operations, 80);
  EXPECT_EQ(split(window("float", gauss, "g[i+6]*g[j+6]", 6), Numbers::exact).passes, 0u);
}

TEST(SeparableSums, EqualWeightsAreMultipliedOnce) {
  const std::string uneven = "table float g[k = -6..6] = exp(k/9.0);";
  const Split even = split(window("float", gauss, "g[i+6]*g[j+6]", 6));
  const Split odd = split(window("float", uneven, "g[i+6]*g[j+6]", 6));
  EXPECT_EQ(even.passes, odd.passes);
  EXPECT_LT(even.operations, 0.85 * odd.operations);
}

TEST(SeparableSums, ATermBesideTheProduct) {
  Split s = split(window("float", gauss, "((i == 0 && j == 0 ? 2 : 0) - g[i+6]*g[j+6])", 6));
  EXPECT_EQ(s.passes, 1u);
  EXPECT_LT(s.operations, 84);
}

TEST(SeparableSums, IntegersInBothNumbers) {
  EXPECT_EQ(split(window("uint8", binomial, "g[i+2]*g[j+2]", 2)).passes, 1u);
  EXPECT_EQ(split(window("uint8", binomial, "g[i+2]*g[j+2]", 2), Numbers::exact).passes, 1u);
  EXPECT_EQ(split(window("uint8", binomial, "g[i+2]*g[j+2]", 2, "constant(3)")).passes, 1u);
}

TEST(SeparableSums, WrittenOut) {
  EXPECT_EQ(split("stencil f(vector#2 uint8 X) { return 3 * (X@[-2,-2] + X@[-2,0] + X@[-2,2] + X@[0,-2] + X + X@[0,2] "
                  "+ X@[2,-2] + X@[2,0] + X@[2,2]); } parameter M, N; vector#2 uint8 a[M,N]; return f(a:clamped);")
                .operations,
            split("stencil h(vector#2 uint8 X) { return X@[0,-2] + X + X@[0,2]; } stencil f(vector#2 int X) { return "
                  "(X@[-2,0] + X + X@[2,0]) * 3; } parameter M, N; vector#2 uint8 a[M,N]; return "
                  "f(h(a:clamped):clamped);")
                .operations);
}

TEST(SeparableSums, NotWithoutStructureOrGain) {
  EXPECT_EQ(split(window("float", gauss, "exp(-0.1f*(i*j))", 3)).passes, 0u);
  EXPECT_EQ(split(window("float", gauss, "(g[i+6]*g[j+6] + 0.001f*i*j)", 3)).passes, 0u);
  EXPECT_EQ(split(window("float", gauss, "g[i+6]*g[j+6]", 1)).passes, 0u);
  EXPECT_EQ(split("stencil f(vector#2 float X, vector#2 float Y) { return sum(i=-3..3, j=-3..3) (X@[i,j] + Y@[i,j+i]); "
                  "} parameter M, N; vector#2 float a[M,N]; return f(a:clamped, a:mirror);")
                .passes,
            0u);
}

TEST(SeparableSums, PassesAreShared) {
  // The same window twice, once at half its weight: its first pass exists once.
  Split s = split(gauss +
                  "stencil f(vector#2 float X) { return sum(i=-6..6, j=-6..6) (g[i+6]*g[j+6]*X@[i,j]); }"
                  "stencil s(vector#2 float X) { return 4 - 0.5f * sum(i=-6..6, j=-6..6) (g[i+6]*g[j+6]*X@[i,j]); }"
                  "parameter M, N; vector#2 float a[M,N]; return p = f(a:clamped), q = s(a:clamped);");
  EXPECT_EQ(s.passes, 1u);
}

}  // namespace
}  // namespace tessera
