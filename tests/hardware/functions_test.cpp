// Functions of floats in fixed point: the worst error over many thousand arguments stays within the bound that the
// netlist states, and the bound is not much wider than the worst that was found.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>

#include "hardware/build.hpp"
#include "hardware/netlist/simulate.hpp"
#include "ref/interpreter.hpp"
#include "stream_programs.hpp"
#include "support/sample.hpp"
#include "tessera/error.hpp"

namespace tessera::hardware {
namespace {

constexpr i64 height = 64, width = 256;

struct Outcome {
  double worst = 0, bound = 0, largest = 0;
  int fraction = 0;
  std::vector<Decision> decisions;
  bool tables_alone = true;  // no operation but look-ups
};

// a is 0, 4, 8 ... 252 down the rows, b is 0 to 255 along them; both are images of floats (`type`), of bytes. `skip`
// says where the result is not compared.
Outcome outcome_of(const std::string& body, double error, double (*skip)(double a, double b) = nullptr,
                   const std::string& type = "float") {
  const std::string image = "vector#2 " + type + " ";
  const ir::Graph graph = graph_of("stencil f(" + image + "a, " + image + "b) { " + body + " }\nparameter M, N;\n" +
                                   image + "A[M, N];\n" + image + "B[M, N];\nreturn f(A, B);\n");
  StreamOptions options;
  options.height = height, options.width = width, options.error = error;
  options.inputs["A"] = options.inputs["B"] = {ElementType::u8, 0};
  Frames a(1), b(1);
  const bool doubles = type == "double";
  const ElementType element = doubles ? ElementType::f64 : ElementType::f32;
  Array as(element, {height, width}), bs(element, {height, width});
  const auto set = [&](Array& array, i64 k, i64 v) {
    if (doubles)
      array.as<double>()[k] = static_cast<double>(v);
    else
      array.as<float>()[k] = static_cast<float>(v);
  };
  for (i64 k = 0; k < height * width; ++k) {
    a[0].push_back(k / width * 4), b[0].push_back(k % width);
    set(as, k, a[0].back()), set(bs, k, b[0].back());
  }
  const Netlist netlist = build_netlist(make_stream(graph, options));
  const std::vector<Frames> got = netlist.inputs.size() == 2
                                      ? simulate(netlist, {a, b})
                                      : simulate(netlist, {netlist.inputs[0].name == "A" ? a : b});
  const std::vector<Array> expected = ref::interpret(graph, {height, width}, {as, bs});
  Outcome o;
  o.bound = netlist.results[0].port.error, o.fraction = netlist.results[0].port.fraction;
  o.decisions = netlist.decisions;
  for (std::uint32_t k = 0; k < netlist.size(); ++k) {
    const Signal op = netlist.node({k}).op;
    o.tables_alone &= op == Signal::table || op == Signal::input || op == Signal::resize || op == Signal::constant;
  }
  const ElementType given = expected[0].format().scalar;
  for (i64 k = 0; k < height * width; ++k) {
    const auto at = static_cast<std::size_t>(k);
    const double is = std::ldexp(static_cast<double>(got[0][0][at]), -o.fraction);
    const double should = given == ElementType::f64   ? expected[0].as<double>()[k]
                          : given == ElementType::f32 ? static_cast<double>(expected[0].as<float>()[k])
                                                      : expected[0].as<std::uint8_t>()[k];
    if (skip != nullptr && skip(static_cast<double>(a[0][at]), static_cast<double>(b[0][at])) != 0) continue;
    o.largest = std::max(o.largest, std::abs(should));
    o.worst = std::max(o.worst, std::abs(is - should));
  }
  return o;
}

constexpr double pessimism = 3;  // the bound over the worst that was found, at most

// Sixteen bits of argument, so that no table holds all: x runs evenly over the interval that is written beside it.
const char* const cases[] = {
    "return exp((a * 256 + b) / 8192 - 6);",  // -6 to 2
    "return exp2((a * 256 + b) / 8192 - 6);",
    "return exp(-(a * 256 + b) / 64);",      // -1024 to 0: a long tail of 0
    "return log((a * 256 + b + 1) / 256);",  // 1/256 to 256
    "return log2((a * 256 + b + 1) / 256);",
    "return log10((a * 256 + b + 1) / 256);",
    "return sin((a * 256 + b) / 4096 - 8);",  // -8 to 8
    "return cos((a * 256 + b) / 4096 - 8);",
    "return tan((a * 256 + b) / 32768 - 1);",  // -1 to 1
    "return asin((a * 256 + b) / 32768 - 1);",
    "return acos((a * 256 + b) / 32768 - 1);",
    "return atan((a * 256 + b) / 8192 - 4);",   // -4 to 4
    "return atan((a * 256 + b) / 256 - 128);",  // -128 to 128
    "return tanh((a * 256 + b) / 4096 - 8);",   // -8 to 8
    "return sinh((a * 256 + b) / 8192 - 4);",   // -4 to 4
    "return cosh((a * 256 + b) / 8192 - 4);",
    "return sqrt((a * 256 + b) / 256);",        // 0 to 256
    "return cbrt((a * 256 + b) / 256 - 128);",  // -128 to 128
    "return pow((a * 256 + b) / 256, 0.45f);",  // 0 to 256
    "return pow((a * 256 + b) / 256, 1.8f);",
    "return pow((a * 256 + b) / 256 + 1, -1.5f);",      // 1 to 257
    "return pow((a * 256 + b) / 16384 - 2, 3.0f);",     // -2 to 2
    "return pow((a * 256 + b) / 16384 + 1, b / 128);",  // 1 to 5, to the power of 0 to 2
    "return atan2(a - 128, b - 100);",
    "return hypot(a - 128, b - 100);",
    "return fmod((a * 256 + b) / 256 - 100, b / 64 + 1);",
    "return 1 / ((a * 256 + b) / 4096 + 1);",  // 1 to 17
    "return exp(0.3f * (a - b) / 100);",       // arguments with errors
    "return sin(0.3f * a - 0.7f * b);",
    "return log(0.3f * a + 0.7f * b + 0.1f);",  // least where the error counts most
    "return pow(0.3f * a + 0.7f * b + 1, 0.45f);",
    "return sqrt(0.3f * a + 0.7f * b + 1);",
    "return tanh(0.03f * a - 0.07f * b);",
};

TEST(Functions, StayWithinTheirBoundsWhichAreNotWide) {
  for (const char* const body : cases)
    for (const double error : {0.0, 2e-4}) {
      SCOPED_TRACE(body);
      const Outcome o = outcome_of(body, error);
      EXPECT_LE(o.bound, error > 0 ? error : std::exp2(-10) * std::max(1.0, 2 * o.largest));
      EXPECT_LE(o.worst, o.bound + 1e-6 * std::max(1.0, o.largest));
      EXPECT_LE(o.bound, pessimism * o.worst) << o.fraction;
    }
}

// However small an error is asked for, and however small or large the values are: it is kept, or refused.
TEST(Functions, KeepAnyErrorOrRefuseIt) {
  std::size_t kept = 0;
  const auto check = [&](const std::string& body, double error) {
    SCOPED_TRACE(body + fmt::format(" --error {}", error));
    try {
      const Outcome o = outcome_of(body, error, nullptr, "double");
      EXPECT_LE(o.bound, error > 0 ? error : std::max(o.bound, o.largest / 4));
      EXPECT_LE(o.worst, o.bound + 1e-14 * o.largest);
      ++kept;
    } catch (const Error& e) {
      EXPECT_EQ(e.error_class(), ErrorClass::argument) << e.message();
    }
  };
  const auto bodies = sample_of(cases);
  for (const std::string body : bodies) {
    for (const double error : {1e-6, 1e-8, 1e-10, 1e-12}) check(body, error);
    const std::string value = body.substr(7, body.size() - 8);
    for (const char* const scale : {"1e-4", "1e-8", "1e-12", "1e-16", "1e4", "1e8", "1e12", "1e16"})
      check("return (" + value + ") * " + scale + ";", 0);
    check("return hypot((" + value + ") * 700, b);", 1e-6);
    check("return (" + value + ") * (" + value + ") - (a * 256 + b) * (" + value + ");", 1e-7);
  }
  for (const double error : {1e-3, 1e-5, 1e-6, 1e-7, 1e-8})
    check("return hypot((a * 256 + b) * 0.3, (a * 256 + b + 1) * 0.7);", error);
  EXPECT_GT(kept, bodies.size() * 6);
}

// What depends on one narrow value is a table of what the interpreter gives, to the bit where it is whole.
TEST(Functions, OfOneByteAreTables) {
  for (const char* const body : {
           "return saturate<uint8>(pow(a / 255, 0.45f) * 255);",
           "return cast<uint8>(a > 3 ? 20 * log(a - 2) : a);",
           "return cast<uint8>(255 * sin(a * 0.003f) / (1 + a / 100));",
           "return cast<uint8>(b > 99.7f * 0.3f ? 1 : 3);",
       }) {
    SCOPED_TRACE(body);
    const Outcome o = outcome_of(body, 0);
    EXPECT_EQ(o.worst, 0);
    EXPECT_EQ(o.bound, 0);
    EXPECT_TRUE(o.tables_alone);
    EXPECT_TRUE(o.decisions.empty());
  }
  const Outcome o = outcome_of("return exp(-(a - 128) * (a - 128) / 1250);", 1e-4);
  EXPECT_TRUE(o.tables_alone);
  EXPECT_LE(o.worst, o.bound + 1e-6);
}

TEST(Functions, StagesThatDecideBetweenValuesWithErrorsAreNamed) {
  const Outcome exact = outcome_of("return atan2(a - 128, b - 100);", 0);
  EXPECT_TRUE(exact.decisions.empty());
  const Outcome angles = outcome_of("return atan2(0.3f * (a - 128), 0.3f * (b - 100));", 0, [](double a, double b) {
    return std::hypot(a - 128, b - 100) < 2 || (a == 128 && b < 100) ? 1.0 : 0.0;
  });
  ASSERT_EQ(angles.decisions.size(), 1U);
  EXPECT_EQ(angles.decisions[0].stage, "f");
  EXPECT_NE(angles.decisions[0].what.find("takes angles"), std::string::npos);
  EXPECT_LE(angles.worst, angles.bound + 1e-6);
  const Outcome compared = outcome_of("return 0.3f * a > 0.7f * b ? a : b;", 0);
  ASSERT_EQ(compared.decisions.size(), 1U);
  EXPECT_EQ(compared.decisions[0].what, "compares floats");
  EXPECT_GT(compared.decisions[0].error, 0);
}

TEST(Functions, WhatNoIntervalBoundsIsRefusedWithWhatToWrite) {
  const auto said = [](const std::string& body) -> std::string {
    try {
      outcome_of(body, 0);
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  };
  const auto expect = [&](const std::string& body, const std::string& reason, const std::string& help) {
    const std::string message = said(body);
    EXPECT_NE(message.find("stage 'f' cannot stream: "), std::string::npos) << message;
    EXPECT_NE(message.find("note: it stands in line "), std::string::npos) << message;
    EXPECT_NE(message.find(reason), std::string::npos) << message;
    EXPECT_NE(message.find("help: " + help), std::string::npos) << message;
  };
  expect("return log(a - b);", "the logarithm of floats that may be -255", "keep them above 0, as in log(max(x, 1))");
  expect("return log(a);", "the logarithm of floats that may be 0", "keep them above 0");
  expect("return exp(a + b);", "up to 2^735.8 is too large", "bound its argument, as in exp(min(x, 5))");
  expect("return sqrt(a - b);", "the square root of floats that may be negative", "keep them at 0 and above");
  expect("return pow(a - b, 0.4f);", "the power 0.4 of floats that may be negative", "keep them at 0 and above");
  expect("return pow(a + b, -0.4f);", "a negative power of floats that may be 0", "keep them above 0");
  expect("return pow(a * 256 + b + 1, 900.5f);", "is too large for fixed point", "bound its argument with min");
  expect("return pow(a * 256 + b + 1, b);", "bits of fraction; expected 36 at most", "bound its arguments");
  expect("return sin((a * 256 + b) * 1e12f);", "too large", "bound");
  expect("return tan((a * 256 + b) / 64);", "the tangent of floats from 0 to 1024, where it has a pole",
         "bound them with min and max");
  expect("return asin(a - b);", "the asin of floats from -255 to 255; expected -1 to 1", "bound them");
  expect("return fmod(a, b);", "a remainder of division by floats that may be 0", "keep the divisor away from 0");
  expect("return a / b;", "it divides by floats that may be 0", "keep the divisor away from 0");
}

TEST(Functions, FormatsHoldNumbersBeyondTheDigitsOfADouble) {
  EXPECT_EQ(bits_of(0, 255), (Bits{false, 8}));
  EXPECT_EQ(bits_of(0, 256), (Bits{false, 9}));
  EXPECT_EQ(bits_of(-128, 127), (Bits{true, 8}));
  EXPECT_EQ(bits_of(-1, 128), (Bits{true, 9}));
  EXPECT_EQ(bits_of(0, std::exp2(54)), (Bits{false, 55}));
  EXPECT_EQ(bits_of(-1, std::exp2(60)), (Bits{true, 62}));
}

TEST(Functions, ExamplesHoldTheirBounds) {
  for (const char* const name : {"sobel", "bilateral"}) {
    SCOPED_TRACE(name);
    std::ifstream file(std::string(TESSERA_SOURCE_DIR) + "/examples/" + name + ".forma");
    std::stringstream text;
    text << file.rdbuf();
    const ir::Graph graph = graph_of(text.str());
    StreamOptions options;
    options.height = 10, options.width = 24;
    options.inputs["image"] = {ElementType::u8, 0};
    const Netlist netlist = build_netlist(make_stream(graph, options));
    EXPECT_TRUE(netlist.decisions.empty());
    Frames image(1);
    Array array(ElementType::f32, {10, 24});
    std::uint64_t state = 3;
    for (i64 k = 0; k < 240; ++k) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      image[0].push_back(k < 40 ? 7 : static_cast<i64>(state >> 56));
      array.as<float>()[k] = static_cast<float>(image[0].back());
    }
    const std::vector<Frames> got = simulate(netlist, {image});
    const std::vector<Array> expected = ref::interpret(graph, {10, 24}, {array});
    for (std::size_t r = 0; r < got.size(); ++r) {
      const Port& port = netlist.results[r].port;
      EXPECT_LE(port.error, 0.26);
      for (i64 k = 0; k < 240; ++k) {
        const double is = std::ldexp(static_cast<double>(got[r][0][static_cast<std::size_t>(k)]), -port.fraction);
        ASSERT_NEAR(is, static_cast<double>(expected[r].as<float>()[k]), port.error + 1e-4) << r << " at " << k;
      }
    }
  }
}

}  // namespace
}  // namespace tessera::hardware
