// Programs cut at their transforms: which steps there are, what lies between them, and that every part is a whole
// graph.
#include "rewrite/parts.hpp"

#include <gtest/gtest.h>

#include "lang/compile.hpp"

namespace tessera::rewrite {
namespace {

Parts parts_of(const std::string& text) {
  lang::CompileInput input;
  input.text = text;
  Parts parts = cut(lang::compile(input).graph);
  for (const Step& step : parts.steps) {
    if (!step.is_part()) {
      EXPECT_EQ(step.inputs.size(), 1U);
      EXPECT_EQ(step.outputs.size(), 1U);
      continue;
    }
    ir::verify(step.part);
    EXPECT_FALSE(has_transforms(step.part));
    EXPECT_EQ(step.part.arguments.size(), step.inputs.size());
    EXPECT_EQ(step.part.outputs.size(), step.outputs.size());
  }
  return parts;
}

// "part transform part"
std::string kinds(const Parts& parts) {
  std::string text;
  for (const Step& step : parts.steps) {
    text += text.empty() ? "" : " ";
    text += step.is_part() ? "part" : step.from_real ? "real" : step.to_real ? "to_real" : "complex";
  }
  return text;
}

constexpr const char* kGain =
    "stencil gain(vector#2 complex F) { g = exp(-0.1f * coord(0)); return struct complex(g * F.re, g * F.im); } "
    "parameter M, N; ";

TEST(Parts, AFilterOfFrequenciesIsOnePart) {
  const Parts parts = parts_of(std::string(kGain) + "vector#2 float a[M,N]; b = ifft(gain(fft(a))); return b.re;");
  EXPECT_EQ(kinds(parts), "real part to_real");
  EXPECT_EQ(parts.between.size(), 2U);  // the spectrum, and what is made of it
  EXPECT_EQ(parts.between[0].last, 1U);
  EXPECT_EQ(parts.steps[0].inputs[0], (Place{Place::Kind::argument, 0}));
  EXPECT_EQ(parts.steps[2].outputs[0], (Place{Place::Kind::output, 0}));
}

TEST(Parts, ConversionsComeBeforeAndBehind) {
  const Parts parts =
      parts_of(std::string(kGain) +
               "stencil as_bytes(vector#2 float X) { return saturate<uint8>(X); } vector#2 uint8 a[M,N]; "
               "b = ifft(gain(fft(a))); return as_bytes(b.re);");
  EXPECT_EQ(kinds(parts), "part real part to_real part");
}

TEST(Parts, TransformsOfTheSameAreOne) {
  const Parts parts =
      parts_of("parameter M; vector#1 float a[M]; F = fft(a); G = fft(a); return F = F, G = G, r = G.re;");
  EXPECT_EQ(kinds(parts), "real part");
  // The first output is where the transform writes, the others are copies.
  EXPECT_EQ(parts.steps[0].outputs[0], (Place{Place::Kind::output, 0}));
  EXPECT_EQ(parts.steps[1].inputs, (std::vector<Place>{{Place::Kind::output, 0}}));
}

TEST(Parts, StagesAreComputedAsLateAsTheyCan) {
  // What is made of coordinates is folded into its reader; what two parts read is stored once, where it is first
  // needed.
  const Parts parts = parts_of(
      "stencil wave(vector#1 float X) { return sin(0.1f * coord(0)) + 0 * X; } stencil times(vector#1 float A, "
      "vector#1 "
      "float B) { return A * B; } parameter M; vector#1 float a[M]; float s; w = wave(a); F = fft(a); late = "
      "times(F.re, "
      "w); early = times(a, a); G = fft(early); return p = late, q = G, r = times(early, late);");
  EXPECT_EQ(kinds(parts), "part real real part");
  ASSERT_EQ(parts.steps[0].part.outputs.size(), 1U);
  EXPECT_EQ(parts.steps[0].part.stage(parts.steps[0].part.outputs[0].stages[0]).name, "early");
  EXPECT_EQ(parts.steps[0].inputs,
            (std::vector<Place>{{Place::Kind::argument, 0}}));  // not the scalar, which nobody reads
}

TEST(Parts, ScalarsAndParametersGoWhereTheyAreRead) {
  const Parts parts = parts_of(
      "stencil scaled(vector#1 complex F, float s, float m, int n) { return struct complex(F.re * s - m, F.im / n); } "
      "parameter N; float t; vector#1 float a[N]; float s; return scaled(fft(a), s, mean(a), N);");
  EXPECT_EQ(kinds(parts), "real part");
  // The spectrum, the image for its mean, and one scalar.
  EXPECT_EQ(parts.steps[1].inputs.size(), 3U);
  EXPECT_EQ(parts.steps[1].part.parameters, (std::vector<std::string>{"N"}));
}

TEST(Parts, PairsThatLieAsTransformsWantThemAreNotCopied) {
  EXPECT_EQ(kinds(parts_of("parameter M; vector#1 complex a[M]; return ifft(fft(a));")), "complex complex");
  EXPECT_EQ(kinds(parts_of("parameter M; vector#1 complex a[M]; b = struct complex(a.im, a.re); return fft(b);")),
            "part complex");
  EXPECT_EQ(kinds(parts_of("parameter M; vector#1 complex a[M]; return fft(a.im);")), "part real");
}

}  // namespace
}  // namespace tessera::rewrite
