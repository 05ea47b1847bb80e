// Which sums are contractions. That their values stay is for the differential tests.
#include <gtest/gtest.h>

#include <algorithm>

#include "lang/compile.hpp"
#include "plan/plan.hpp"

namespace tessera {
namespace {

constexpr const char* two_images = "parameter M, K, N; vector#2 float a[M,K]; vector#2 float b[K,N]; ";

plan::Plan plan_of(const std::string& text, Numbers numbers = Numbers::fast, Schedule schedule = Schedule::automatic) {
  lang::CompileInput input;
  input.text = text;
  plan::Options options;
  options.schedule = schedule;
  options.numbers = numbers;
  machine::Machine core;
  core.contractions = true;
  return plan::make_plan(lang::compile(input).graph, options, core);
}

// Of the groups those that are contractions.
std::size_t contractions(const plan::Plan& p) {
  return static_cast<std::size_t>(std::count_if(p.groups.begin(), p.groups.end(), [&](const plan::Group& g) {
    return p.tiling(g.anchor).contraction && g.stages.size() == 1;
  }));
}

std::string product(const std::string& term) {
  return "stencil f(vector#2 float A, vector#2 float B)[i, j] { return " + term + "; } " + two_images;
}

TEST(Contractions, ProductsOfTwoImages) {
  for (const Numbers numbers : {Numbers::fast, Numbers::exact}) {
    const plan::Plan p = plan_of(product("sum(k : A.1) (A[i,k] * B[k,j])") + "return f(a, b);", numbers);
    EXPECT_EQ(p.groups.size(), 1u);
    EXPECT_EQ(contractions(p), 1u);
    EXPECT_EQ(p.remarks.size(), 1u);
    EXPECT_NE(p.remarks.front().find("'f' is a contraction of 'a' and 'b' over "), std::string::npos)
        << p.remarks.front();
  }
  EXPECT_EQ(contractions(plan_of(product("sum(k : A.1) (B[k,j] * A[i,k])") + "return f(a, b);")), 1u);
  EXPECT_EQ(contractions(plan_of(product("sum(k = 0..299) ((B[k,j] + 1) * A[i,k])") + "return f(a, b);")), 1u);
}

TEST(Contractions, WhatStandsAroundASumStaysInTheStage) {
  const plan::Plan p = plan_of(
      "stencil f(vector#2 float A, vector#2 float B, vector#1 float R)[i, j] {\n"
      "  return max(0.0f, 2 * sum(k : A.1) (A[i,k] * B[k,j]) + R[i] - j);\n}\n"
      "parameter M, K, N; vector#2 float a[M,K]; vector#2 float b[K,N]; vector#1 float r[M]; return f(a, b, r);");
  EXPECT_EQ(p.groups.size(), 1u);
  EXPECT_EQ(contractions(p), 1u);
}

TEST(Contractions, OthersGetAStageInFront) {
  for (const char* const term : {"sum(k : A.1) (A[i,k] * B[k,j]) + B[i,j+1]", "sum(k : A.1) (A[i,k] * B[k,j]) * A[j,i]",
                                 "sum(k : A.1) (A[i,k] * B[k,j]) + max(k : A.1) (A[i,k] - B[k,j])"}) {
    const plan::Plan p = plan_of(product(term) + "return f(a:clamped, b:clamped);");
    EXPECT_EQ(p.groups.size(), 2u) << term;
    EXPECT_EQ(contractions(p), 1u) << term;
  }
}

TEST(Contractions, NoOthers) {
  for (const char* const term : {
           "sum(k : A.1) (A[i,k] * A[j,k] * B[k,j])",  // three
           "sum(k : A.1) (A[i,k] + B[k,j])",           // no product
           "max(k : A.1) (A[i,k] * B[k,j])",           // no sum
           "sum(k : A.1) (A[i,k] * B[i,j])",           // an index that both have alone
           "sum(k = 0..2) (A[i,k] * B[k,j])",          // few terms
       })
    EXPECT_EQ(contractions(plan_of(product(term) + "return f(a:clamped, b:clamped);")), 0u) << term;
  const std::string text = product("sum(k : A.1) (A[i,k] * B[k,j])") + "return f(a, b);";
  EXPECT_EQ(contractions(plan_of(text, Numbers::fast, Schedule::stream)), 0u);
  const std::string few =
      "stencil f(vector#2 float A, vector#2 float B)[i, j] { return sum(k : A.1) (A[i,k] * B[k,j]); } "
      "parameter K, N; vector#2 float a[3,K]; vector#2 float b[K,N]; return f(a, b);";
  EXPECT_EQ(contractions(plan_of(few)), 0u);  // few rows
}

}  // namespace
}  // namespace tessera
