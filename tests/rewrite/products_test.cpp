// Which windows of functions of images become weighted sums of a stage. That their values stay is for the differential
// tests.
#include <gtest/gtest.h>

#include <algorithm>

#include "support/programs.hpp"

namespace tessera {
namespace {

plan::Plan plan_of(const std::string& text, Numbers numbers = Numbers::fast, Method method = Method::automatic) {
  RunOptions options;
  options.numbers = numbers;
  options.method = method;
  std::vector<Shape> shapes = {{2160, 3840}};
  if (text.find(" b[M,N]") != std::string::npos) shapes.push_back(shapes.front());
  return planned({"test", text, shapes}, options).plan;
}

// The sum of a square window of `reach` around the point.
std::string window(const std::string& term, int reach, const std::string& border = "clamped",
                   const std::string& type = "float", const std::string& op = "sum") {
  const std::string r = std::to_string(reach);
  return "table float g[k = -9..9] = exp(-k*k/30.0); table float d[i = -9..9, j = -9..9] = exp(-(i+j)*(i-2*j)/300.0); "
         "stencil f(vector#2 " +
         type + " X, vector#2 " + type + " Y) { return " + op + "(i = -" + r + ".." + r + ", j = -" + r + ".." + r +
         ") (" + term + "); } parameter M, N; vector#2 " + type + " a[M,N]; vector#2 " + type +
         " b[M,N]; return f(a:" + border + ", b:" + border + ");";
}

// Operations a point, and the stages whose names end so.
double operations(const plan::Plan& p) {
  double n = 0;
  for (const plan::Group& g : p.groups) n += g.operations;
  return n;
}

bool says(const plan::Plan& p, const std::string& what) {
  return std::any_of(p.remarks.begin(), p.remarks.end(),
                     [&](const std::string& r) { return r.find(what) != std::string::npos; });
}

constexpr const char* of_its_own = "is a stage of its own";

void expect_named(const std::string& text, double most, Numbers numbers = Numbers::fast) {
  const plan::Plan p = plan_of(text, numbers);
  EXPECT_TRUE(says(p, of_its_own)) << text;
  EXPECT_LT(operations(p), most) << text;
}

void expect_as_written(const std::string& text, Numbers numbers = Numbers::fast) {
  EXPECT_FALSE(says(plan_of(text, numbers), of_its_own)) << text;
}

TEST(Products, AreSummedAsOneImage) {
  expect_named(window("X@[i,j] * X@[i,j]", 7), 60);
  expect_named(window("X@[i,j] * Y@[i,j]", 7), 60);
  expect_named(window("abs(X@[i,j] - Y@[i,j])", 7), 60);
  expect_named(window("(X@[i,j] - Y@[i,j]) * (X@[i,j] - Y@[i,j])", 7), 60);
  expect_named(window("Y@[i,j] > 0.5f ? X@[i,j] : 0", 7), 60);
  expect_named(window("X@[i,j] > 0.5f", 7), 60);
  expect_named(window("g[i+9] * g[j+9] * X@[i,j] * Y@[i,j]", 7), 70);
  expect_named(window("X@[i,j] * g[i+9] * Y@[i,j] * g[j+9] / 3", 7), 70);
  expect_named(window("X@[i,j] + Y@[i,j]", 7), 60);
}

TEST(Products, TakeNoMoreThanWhenTheyAreNamed) {
  const std::string named =
      "stencil p(vector#2 float X, vector#2 float Y) { return X * Y; } stencil f(vector#2 float P) { return sum(i = "
      "-7..7, j = -7..7) (P@[i,j]); } parameter M, N; vector#2 float a[M,N]; vector#2 float b[M,N]; return f(p(a, "
      "b):clamped);";
  EXPECT_EQ(operations(plan_of(window("X@[i,j] * Y@[i,j]", 7))), operations(plan_of(named)));
}

TEST(Products, WhateverTheBorder) {
  for (const char* border : {"clamped", "mirror", "symmetric", "wrap", "constant(3)", "[mirror,wrap]", "[none,clamped]",
                             "[constant(1),constant(2)]"})
    expect_named(window("X@[i,j] * Y@[i,j]", 7, border), 90);
}

TEST(Products, OfImagesThatAreContinuedDifferently) {
  std::string text = window("X@[i,j] * Y@[i,j]", 7);
  text.replace(text.find("b:clamped"), 9, "b:mirror");
  expect_named(text, 90);
}

TEST(Products, OfPlacesThatAreApart) {
  expect_named(window("X@[i,j] * X@[i,j+1]", 7), 90);
  expect_named(window("X@[i,j] * Y@[i+2,j-3]", 7, "wrap"), 90);
  expect_named(window("X@[i,j] * Y@[i+2,j-3]", 7, "none"), 90);
}

TEST(Products, FactorsThatStayStandBeforeTheSum) {
  const std::string text = window("X * Y@[i,j]", 7);
  EXPECT_LT(operations(plan_of(text)), 60);
}

TEST(Products, SumsOfSumsAndSumsOfSeveral) {
  expect_named(window("g[i+9] * X@[i,j] * Y@[i,j] + g[j+9] * X@[i,j] * X@[i,j]", 7), 140);
  expect_named(
      "stencil f(vector#2 float X) { return sum(i = -7..7) (2 * sum(j = -7..7) (X@[i,j] * X@[i,j])); } parameter M, N; "
      "vector#2 float a[M,N]; return f(a:clamped);",
      60);
}

TEST(Products, WrittenOut) {
  std::string terms;
  for (int i = -3; i <= 3; ++i)
    for (int j = -3; j <= 3; ++j) {
      const std::string at = "X@[" + std::to_string(i) + "," + std::to_string(j) + "]";
      terms += (terms.empty() ? "" : " + ") + at + " * " + at;
    }
  expect_named("stencil f(vector#2 float X) { return (" + terms +
                   ") / 49 - X; } parameter M, N; vector#2 float a[M,N]; return f(a:clamped);",
               50);
}

TEST(Products, IntegersInBothNumbers) {
  for (const Numbers numbers : {Numbers::fast, Numbers::exact}) {
    expect_named(window("X@[i,j] * Y@[i,j]", 7, "clamped", "uint8"), 60, numbers);
    expect_named(window("cast<int>(X@[i,j]) * Y@[i,j] * 3", 7, "constant(200)", "int16"), 80, numbers);
  }
}

TEST(Products, OfFloatsInExactNumbersKeepTheirOrder) {
  const plan::Plan p = plan_of(window("g[i+9] * X@[i,j] * Y@[i,j]", 7), Numbers::exact);
  EXPECT_FALSE(says(p, of_its_own));
  // Computed once a point, and added up in the order of the window.
  const plan::Plan dear = plan_of(window("sqrt(X@[i,j] * Y@[i,j])", 7), Numbers::exact);
  EXPECT_TRUE(says(dear, of_its_own));
  EXPECT_FALSE(says(dear, "one dimension at a time"));
}

TEST(Products, MinimaAndMaximaToo) {
  expect_named(window("abs(X@[i,j] - Y@[i,j])", 7, "mirror", "float", "max"), 40);
  expect_named(window("X@[i,j] > 0.5f", 7, "wrap", "float", "any"), 40);
}

TEST(Products, NotWhatDependsOnThePoint) {
  expect_as_written(window("(X@[i,j] - X) * (X@[i,j] - X)", 7));
  expect_as_written(window("coord(0) * X@[i,j] * Y@[i,j] > 0", 7));
  expect_as_written(window("pow(X@[i,j], i)", 7));
}

TEST(Products, NotWithoutGain) {
  expect_as_written(window("d[i+9,j+9] * X@[i,j] * Y@[i,j]", 1));
  expect_as_written(window("X@[i,j] * X@[j,i]", 7));
  EXPECT_FALSE(says(plan_of(window("X@[i,j] * Y@[i,j]", 7), Numbers::fast, Method::direct), of_its_own));
}

TEST(Products, AreSharedByStages) {
  const plan::Plan p = plan_of(
      "stencil f(vector#2 float X) { return sum(i=-7..7, j=-7..7) (X@[i,j]*X@[i,j]); } "
      "stencil g(vector#2 float X) { return sqrt(sum(i=-7..7, j=-7..7) (X@[i,j]*X@[i,j]) / 3); } "
      "parameter M, N; vector#2 float a[M,N]; return p = f(a:mirror), q = g(a:mirror);");
  std::size_t products = 0;
  for (ir::StageId s = 0; s < p.graph.stage_count(); ++s) {
    const std::string& name = p.graph.stage(s).name;
    products += name.size() > 5 && name.substr(name.size() - 5) == ".term" ? 1 : 0;
  }
  EXPECT_EQ(products, 1u);
}

TEST(Products, SayWhyNot) {
  const std::string uneven = "((i*i*5 + j*3) % 11 + (i*j) % 7) * ";
  EXPECT_TRUE(says(plan_of(window(uneven + "X@[i,j] * Y@[i,j]", 3)), "no method takes its sum for less"));
  std::string text = window("X@[i,j] * Y@[i,j]", 7, "none");
  text.replace(text.find("b:none"), 6, "b:wrap");
  EXPECT_TRUE(says(plan_of(text), "continued differently"));
}

}  // namespace
}  // namespace tessera
