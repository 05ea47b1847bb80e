// The standard filters on images whose answer is known: constants, a ramp, a single bright point.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <numeric>
#include <sstream>

#include "ir/bind.hpp"
#include "ref/interpreter.hpp"
#include "testing.hpp"

namespace tessera::lang::testing {
namespace {

namespace fs = std::filesystem;

Compiled filter(const std::string& name, const Parameters& parameters = {}, const Array& kernel = {},
                const std::string& table = "kernel") {
  const fs::path path = fs::path(TESSERA_SOURCE_DIR) / "filters" / (name + ".forma");
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  CompileInput in;
  in.text = text.str();
  in.file_name = name + ".forma";
  in.imports_relative_to = path.parent_path().string();
  in.parameters = parameters;
  if (!kernel.empty()) in.tables.emplace(table, kernel);
  Compiled c = compile(in);
  ir::verify(c.graph);
  return c;
}

constexpr i64 rows = 12, columns = 14;

Array image(const std::function<double(i64, i64)>& f) {
  Array a(ElementType::f32, {rows, columns});
  for (i64 i = 0; i < rows; ++i)
    for (i64 j = 0; j < columns; ++j) a.as<float>()[i * columns + j] = static_cast<float>(f(i, j));
  return a;
}
Array flat(double v) {
  return image([=](i64, i64) { return v; });
}
Array speck() {
  return image([](i64 i, i64 j) { return i == 6 && j == 7 ? 100 : 0; });
}
Array ramp() {
  return image([](i64 i, i64 j) { return static_cast<double>(3 * i + 4 * j); });
}

std::vector<Array> outputs(const Compiled& c, const Array& in) {
  return ref::interpret(c.graph, ir::bind_parameters(c.graph, {in.shape()}), {in});
}
std::vector<double> values(const Array& a) {
  std::vector<double> v;
  for (i64 i = 0; i < a.count(); ++i)
    v.push_back(a.format() == Format(ElementType::u8) ? a.as<std::uint8_t>()[i] : a.as<float>()[i]);
  return v;
}
double inner(const Array& a, i64 i = 6, i64 j = 7) {
  return values(a).at(static_cast<std::size_t>(i * columns + j));
}

TEST(Filters, AFlatImageStaysFlat) {
  const std::vector<std::pair<std::string, double>> expected = {
      {"gaussian", 7}, {"box", 7},        {"median", 7},  {"sobel", 0},    {"laplacian", 0},
      {"unsharp", 7},  {"morphology", 7}, {"dilate", 7},  {"erode", 7},    {"bilateral", 7},
      {"harris", 0},   {"canny", 0},      {"pyramid", 7}, {"threshold", 0}};
  for (const auto& [name, value] : expected)
    for (double v : values(outputs(filter(name), flat(7)).at(0))) EXPECT_NEAR(v, value, 1e-5) << name;
}

TEST(Filters, TheGaussianKeepsTheSumAndFollowsSigma) {
  for (double sigma : {0.6, 0.8, 1.0}) {
    const std::vector<double> v = values(outputs(filter("gaussian", {{"sigma", sigma}}), speck()).at(0));
    EXPECT_NEAR(std::accumulate(v.begin(), v.end(), 0.0), 100, 1e-3);
    const auto at = [&](i64 i, i64 j) { return v[static_cast<std::size_t>(i * columns + j)]; };
    EXPECT_NEAR(at(7, 7) / at(6, 7), std::exp(-1 / (2 * sigma * sigma)), 1e-5);
    EXPECT_NEAR(at(6, 8), at(7, 7), 1e-5);
  }
}

TEST(Filters, Windows) {
  EXPECT_NEAR(inner(outputs(filter("box"), speck()).at(0), 7, 8), 100.0 / 9, 1e-5);
  EXPECT_EQ(inner(outputs(filter("box", {{"radius", 2}}), speck()).at(0), 8, 9), 4);
  EXPECT_EQ(inner(outputs(filter("median"), speck()).at(0)), 0);
  EXPECT_EQ(inner(outputs(filter("median"), ramp()).at(0)), 3 * 6 + 4 * 7);
  EXPECT_EQ(inner(outputs(filter("dilate", {{"radius", 3}}), speck()).at(0), 9, 4), 100);
  EXPECT_EQ(inner(outputs(filter("dilate", {{"radius", 3}}), speck()).at(0), 10, 4), 0);
  EXPECT_EQ(inner(outputs(filter("erode"), speck()).at(0)), 0);
  EXPECT_EQ(inner(outputs(filter("erode"), ramp()).at(0)), 3 * 5 + 4 * 6);
  const std::vector<Array> m = outputs(filter("morphology"), speck());
  ASSERT_EQ(m.size(), 3U);
  EXPECT_EQ(inner(m[0]), 0);
  EXPECT_EQ(inner(m[1]), 100);
  EXPECT_EQ(inner(m[2], 7, 7), 100);
}

TEST(Filters, Derivatives) {
  EXPECT_NEAR(inner(outputs(filter("sobel"), ramp()).at(0)), 5, 1e-5);
  EXPECT_EQ(inner(outputs(filter("laplacian"), ramp()).at(0)), 0);
  EXPECT_EQ(inner(outputs(filter("laplacian"), speck()).at(0)), -400);
  EXPECT_NEAR(inner(outputs(filter("unsharp"), ramp()).at(0)), 3 * 6 + 4 * 7, 1e-3);
  EXPECT_GT(inner(outputs(filter("unsharp"), speck()).at(0)), 150);
}

TEST(Filters, Features) {
  const Array corner = image([](i64 i, i64 j) { return i >= 6 && j >= 7 ? 100 : 0; });
  const Array edge = image([](i64, i64 j) { return j >= 7 ? 100 : 0; });
  EXPECT_GT(inner(outputs(filter("harris", {{"sigma", 0.7}}), corner).at(0)), 1000);
  EXPECT_LT(inner(outputs(filter("harris", {{"sigma", 0.7}}), edge).at(0)), -1000);
  const Array thin = outputs(filter("canny", {{"sigma", 0.7}}), edge).at(0);
  // The step lies between columns 6 and 7: one of them carries the whole edge.
  EXPECT_GT(inner(thin, 6, 6) + inner(thin, 6, 7), 20);
  EXPECT_EQ(inner(thin, 6, 5) + inner(thin, 6, 8), 0);
  EXPECT_EQ(inner(outputs(filter("threshold"), ramp()).at(0), 11, 13), 0);
  EXPECT_EQ(inner(outputs(filter("threshold", {{"level", 46}}), ramp()).at(0)), 255);
  EXPECT_NEAR(inner(outputs(filter("bilateral", {{"range", 1}}), edge).at(0), 6, 6), 0, 1e-3);
  EXPECT_NEAR(inner(outputs(filter("bilateral", {{"range", 1}}), edge).at(0), 6, 7), 100, 1e-3);
}

TEST(Filters, Sizes) {
  const std::vector<Array> p = outputs(filter("pyramid"), ramp());
  EXPECT_EQ(p.at(0).shape(), (Shape{6, 7}));
  EXPECT_EQ(p.at(1).shape(), (Shape{12, 14}));
  EXPECT_NEAR(inner(p[1]), 3 * 6 + 4 * 7, 1e-4);
}

TEST(Filters, ColourAndVolume) {
  Array x(Format::record("rgb", {{"r", ElementType::f32}, {"g", ElementType::f32}, {"b", ElementType::f32}}), {1, 2});
  for (int i = 0; i < 6; ++i) x.as<float>()[i] = i < 3 ? 10.0F : static_cast<float>(i);
  const Array y = outputs(filter("grey"), x).at(0);
  EXPECT_NEAR(y.as<float>()[0], 10, 1e-5);
  EXPECT_NEAR(y.as<float>()[1], 0.2126 * 3 + 0.7152 * 4 + 0.0722 * 5, 1e-5);
  Array volume(ElementType::f32, {5, 5, 5});
  std::fill_n(volume.as<float>(), 125, 2.0F);
  for (double v : values(outputs(filter("gaussian3d"), volume).at(0))) EXPECT_NEAR(v, 2, 1e-5);
}

TEST(Filters, WeightsFromOutside) {
  const Array weights = floats({1, 3}, {1, 10, 100});
  EXPECT_EQ(inner(outputs(filter("correlate", {}, weights), speck()).at(0), 6, 6), 10000);
  EXPECT_EQ(inner(outputs(filter("convolve", {}, weights), speck()).at(0), 6, 6), 100);
  EXPECT_EQ(inner(outputs(filter("convolve", {{"anchor_x", 0}}, weights), speck()).at(0), 6, 7), 100);
}

TEST(Filters, AreCompiledIn) {
  // No folder and no import path: a program of an installed library.
  const char* text = R"(
import "harris.forma";
parameter M, N;
vector#2 float photo[M,N];
return harris(photo);
)";
  const Compiled c = compile_text(text, {{"sigma", 0.7}});
  EXPECT_EQ(values(outputs(c, speck()).at(0)), values(outputs(filter("harris", {{"sigma", 0.7}}), speck()).at(0)));
}

TEST(Filters, AreInTheStandardLayout) {
  int count = 0;
  for (const auto& entry : fs::directory_iterator(fs::path(TESSERA_SOURCE_DIR) / "filters")) {
    std::stringstream text;
    text << std::ifstream(entry.path()).rdbuf();
    EXPECT_EQ(format_source(text.str(), entry.path().string()), text.str());
    const std::string name = entry.path().stem().string();
    ++count;
    // Declarations alone are made to be imported.
    const bool weighted = name.ends_with("convolve") || name.ends_with("correlate");
    const bool shaped = name.starts_with("footprint_");
    if (name != "window" && name != "kernel" && name != "frequency" && name != "masked" && name != "footprint")
      filter(name, {}, weighted || shaped ? floats({1, 3}, {1, 2, 1}) : Array(), shaped ? "footprint" : "kernel");
  }
  EXPECT_GE(count, 14);
}

}  // namespace
}  // namespace tessera::lang::testing
