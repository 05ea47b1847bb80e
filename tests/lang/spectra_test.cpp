// fft and ifft of whole images: values that are known, types, dimensions, names that programs take for themselves, and
// what is refused.
#include <gtest/gtest.h>

#include <cmath>

#include "testing.hpp"

namespace tessera::lang::testing {
namespace {

// The first error, and what it advises.
std::string fault(const std::string& text) {
  const std::vector<Diagnostic> all = check_text(text);
  if (all.empty()) return "";
  std::string said = all[0].message;
  for (const std::string& note : all[0].notes) said += " | " + note;
  return said + (all[0].help.empty() ? "" : " | " + all[0].help);
}

void expect_near(const std::vector<double>& got, const std::vector<double>& expected, double tolerance = 1e-6) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t k = 0; k < got.size(); ++k) EXPECT_NEAR(got[k], expected[k], tolerance) << k;
}

TEST(Spectra, OfARow) {
  const Result r = run("vector#1 float x[4]; return fft(x);", {floats({1, 2, 3, 4})});
  EXPECT_EQ(r.type, "struct complex");
  expect_near(r.values, {10, 0, -2, 2, -2, 0, -2, -2});
}

TEST(Spectra, TheDefinitionForPrimesAndProducts) {
  for (const std::size_t n : {1U, 2U, 3U, 5U, 6U, 7U, 12U, 13U, 30U, 49U}) {
    std::vector<float> x;
    for (std::size_t j = 0; j < n; ++j) x.push_back(static_cast<float>((j * 7 + 3) % 11) - 4);
    const std::string extent = std::to_string(n);
    const std::vector<Result> r =
        run_all("vector#1 float x[" + extent + "]; F = fft(x); return F = F, b = ifft(F);", {floats(x)});
    std::vector<double> expected, back;
    for (std::size_t k = 0; k < n; ++k) {
      double re = 0, im = 0;
      for (std::size_t j = 0; j < n; ++j) {
        const double angle = -2 * M_PI * static_cast<double>(j * k) / static_cast<double>(n);
        re += static_cast<double>(x[j]) * std::cos(angle), im += static_cast<double>(x[j]) * std::sin(angle);
      }
      expected.insert(expected.end(), {re, im});
      back.insert(back.end(), {static_cast<double>(x[k]), 0});
    }
    expect_near(r[0].values, expected, 1e-4);
    expect_near(r[1].values, back, 1e-5);
  }
}

TEST(Spectra, DimensionsAreAllOrThoseThatAreNamed) {
  const Array x = floats({2, 2}, {1, 2, 3, 4});
  expect_near(run("vector#2 float x[2,2]; return fft(x);", {x}).values, {10, 0, -2, 0, -4, 0, 0, 0});
  expect_near(run("vector#2 float x[2,2]; return fft(x, 0);", {x}).values, {4, 0, 6, 0, -2, 0, -2, 0});
  expect_near(run("vector#2 float x[2,2]; return fft(x, 1);", {x}).values, {3, 0, -1, 0, 7, 0, -1, 0});
  expect_near(run("parameter d = 1; vector#2 float x[2,2]; return fft(x, d, 0);", {x}).values,
              run("vector#2 float x[2,2]; return fft(x);", {x}).values);
}

TEST(Spectra, IntegersAreFloatsAndDoublesStayDoubles) {
  const std::string row = " x[2]; F = fft(x); return F.re;";
  EXPECT_EQ(run("vector#1 uint8" + row, {array<std::uint8_t>({2}, {200, 100})}).values,
            (std::vector<double>{300, 100}));
  EXPECT_EQ(run("vector#1 uint8" + row, {array<std::uint8_t>({2}, {200, 100})}).type, "float");
  EXPECT_EQ(run("vector#1 double" + row, {array<double>({2}, {1e17, 1})}).type, "double");
  // Of a program that says so itself, also of floats.
  EXPECT_EQ(run("struct complex { double re; double im; } vector#1 float" + row, {floats({1, 2})}).type, "double");
}

TEST(Spectra, AComplexThatNobodyDeclaredIsAsWideAsWhatItIsMadeOf) {
  const std::string stencil =
      "stencil turned(vector#1 complex F) { return F.re > 0 ? struct complex(F.im, F.re) : F; } ";
  const std::string row = " x[3]; b = turned(fft(x)); return struct complex(b.im, b.re);";
  EXPECT_EQ(run(stencil + "vector#1 double" + row, {array<double>({3}, {1, 2, 3})}).values.size(), 6U);
  expect_near(run(stencil + "vector#1 float" + row, {floats({1, 0, 0})}).values, {1, 0, 1, 0, 1, 0});
  // An input of the program is one of floats.
  const Result r = run("vector#1 complex x[1]; return x;",
                       {Array(Format::record("complex", {{"re", ElementType::f32}, {"im", ElementType::f32}}), {1})});
  EXPECT_EQ(r.values, (std::vector<double>{0, 0}));
}

TEST(Spectra, NamesThatProgramsTakeForThemselves) {
  EXPECT_EQ(run("stencil fft(vector#1 float X) { return 2 * X; } vector#1 float x[2]; return fft(x);", {floats({1, 2})})
                .values,
            (std::vector<double>{2, 4}));
  expect_near(run("vector#1 float x[2]; fft = fft(x); return fft.re;", {floats({1, 2})}).values, {3, -1});
  EXPECT_EQ(run("struct complex { float a; } stencil f(vector#1 float X) { return struct complex(X); } vector#1 float "
                "x[1]; return f(x);",
                {floats({1})})
                .values,
            (std::vector<double>{1}));
}

TEST(Spectra, Faults) {
  const std::string row = "vector#1 float x[4]; ";
  EXPECT_EQ(fault(row + "return fft();"),
            "fft transforms an image: expected one between the parentheses | write fft(a), or fft(a, 0) for one of its "
            "dimensions");
  EXPECT_EQ(fault(row + "return fft(3);"), "fft transforms an image, found the scalar '3'");
  EXPECT_EQ(fault(row + "return fft(x, 1);"), "there is no dimension 1: expected 0 to 0");
  EXPECT_EQ(fault(row + "return ifft(x, -1);"), "there is no dimension -1: expected 0 to 0");
  EXPECT_EQ(fault("vector#2 float x[4,4]; return fft(x, 1, 1);"), "dimension 1 is named twice");
  EXPECT_EQ(fault(row + "return fft(x:wrap);"),
            "a boundary mode has no meaning here: a transform continues its image periodically");
  EXPECT_EQ(fault("struct rgb { float r; float g; float b; } vector#2 rgb p[4,4]; return fft(p);"),
            "fft takes an image of numbers or of struct complex { float re; float im; }, but 'p' is a vector#2 struct "
            "rgb | choose a field: fft(p.r)");
  EXPECT_EQ(fault("struct pair { float re; double im; } vector#2 pair p[4,4]; return ifft(p);"),
            "ifft takes an image of numbers or of struct complex { float re; float im; }, but 'p' is a vector#2 struct "
            "pair | choose a field: ifft(p.re)");
  EXPECT_EQ(fault("struct complex { float x; float y; } " + row + "return fft(x);"),
            "fft gives images of struct 'complex', which this program declares with other fields: expected struct "
            "complex { float re; float im; } | it is declared at line 1");
  EXPECT_EQ(fault("struct complex { float re; float im; } vector#1 double x[4]; return fft(x);"),
            "fft of doubles gives doubles, but this program's struct 'complex' has fields of float | declare struct "
            "complex { double re; double im; }, or none: there is one");
  EXPECT_EQ(
      fault("stencil f(vector#1 float X) { return fft(X); } " + row + "return f(x);"),
      "unknown function 'fft' | 'fft' transforms whole images, outside of stencils | write F = fft(a); and pass F "
      "to the stencil");
  EXPECT_EQ(fault("stencil f(vector#1 float X) { return X; } " + row + "return f(fft(x));").substr(0, 55),
            "argument 'X' of 'f' is a vector#1 float, but 'fft(x)' i");
}

}  // namespace
}  // namespace tessera::lang::testing
