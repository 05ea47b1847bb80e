// Programs with Fourier transforms, run: every kind of transform in every rank against the interpreter, to 2 eps log2 n
// of the length of what comes out; threads, views, repeated runs; filters of frequencies; pipelines; what is said of
// them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "data/element.hpp"
#include "engine/program_impl.hpp"
#include "tessera/filters.hpp"
#include "tessera/pipeline.hpp"

namespace tessera {
namespace {

Array noise(const Format& format, const Shape& shape) {
  std::mt19937 random(7);
  Array a(format, shape);
  const ElementType type = format.is_struct() ? format.fields[0].type : format.scalar;
  const auto count = a.count() * static_cast<i64>(format.size() / size_of(type));
  for (i64 i = 0; i < count; ++i)
    store_element(type, static_cast<std::byte*>(a.data()) + static_cast<std::size_t>(i) * size_of(type),
                  static_cast<double>(random() % 2001) / 1000 - 1);
  return a;
}

std::vector<double> numbers(const Array& a) {
  const Array dense = a.contiguous() ? a : a.clone();
  const ElementType type = a.format().is_struct() ? a.format().fields[0].type : a.format().scalar;
  std::vector<double> all;
  for (std::size_t i = 0; i < static_cast<std::size_t>(a.count()) * a.format().size() / size_of(type); ++i)
    all.push_back(load_element(type, static_cast<const std::byte*>(dense.data()) + i * size_of(type)));
  return all;
}

// Of arrays that transforms gave directly.
void expect_close(const Array& got, const Array& expected) {
  ASSERT_EQ(got.shape(), expected.shape());
  const std::vector<double> g = numbers(got), e = numbers(expected);
  double error = 0, length = 0;
  for (std::size_t i = 0; i < g.size(); ++i) error += (g[i] - e[i]) * (g[i] - e[i]), length += e[i] * e[i];
  const ElementType type = got.format().is_struct() ? got.format().fields[0].type : got.format().scalar;
  const double eps = type == ElementType::f64 ? 2.3e-16 : 1.2e-7;
  const double doublings = std::max(1.0, std::log2(static_cast<double>(got.count())));
  EXPECT_LE(std::sqrt(error), 2 * eps * doublings * std::sqrt(length) + 1e-30);
}

void check(const Program& program, const std::vector<Array>& inputs) {
  const std::vector<Array> got = program.run(inputs), expected = program.interpret(inputs);
  for (std::size_t o = 0; o < got.size(); ++o) {
    SCOPED_TRACE(fmt::format("output {}, shape {}", o, to_string(got[o].shape())));
    expect_close(got[o], expected[o]);
  }
}

const std::vector<Shape>& shapes() {
  static const std::vector<Shape> all = {{1},          {2},          {3},         {16},      {17},      {96},
                                         {101},        {1, 1},       {1, 7},      {7, 1},    {2, 3},    {16, 16},
                                         {33, 20},     {31, 37},     {64, 100},   {1, 1, 1}, {2, 3, 5}, {8, 9, 10},
                                         {17, 16, 33}, {1, 2, 1, 3}, {3, 4, 5, 6}};
  return all;
}

std::string extents(std::size_t rank) {
  std::string text;
  for (std::size_t d = 0; d < rank; ++d) text += fmt::format("{}n{}", d > 0 ? "," : "", d);
  return text;
}

Program program(std::size_t rank, const std::string& type, const std::string& statements) {
  const std::string n = extents(rank);
  return Program::from_text(fmt::format("parameter {0}; vector#{1} {2} a[{0}]; {3}", n, rank, type, statements));
}

TEST(Spectra, EveryKindInEveryRank) {
  for (const Shape& shape : shapes()) {
    const Array real = noise(ElementType::f32, shape);
    const Array pairs = noise(Format::record("complex", {{"re", ElementType::f32}, {"im", ElementType::f32}}), shape);
    check(program(shape.size(), "float", "return F = fft(a), b = ifft(a);"), {real});
    check(program(shape.size(), "complex", "b = ifft(a); return F = fft(a), b = b;"), {pairs});
    check(program(shape.size(), "complex", "b = ifft(a); return b.re;"), {pairs});
    check(program(shape.size(), "float", "b = ifft(a); return b.re;"), {real});
  }
}

TEST(Spectra, AnyDimensions) {
  const Array a = noise(ElementType::f64, {3, 5, 4, 6});
  for (const char* along : {"0", "1", "2", "3", "0,3", "1,2", "2,3", "0,1,2", "1,2,3", "0,1,3", "0,1,2,3"})
    check(program(4, "double", fmt::format("F = fft(a, {0}); b = ifft(F, {0}); return F = F, b = b.re;", along)), {a});
}

RunOptions on_threads(int threads) {
  RunOptions options;
  options.threads = threads;
  return options;
}

TEST(Spectra, ThreadsAndRunsLeaveNoTraceInTheBits) {
  const Program p = program(2, "float",
                            "stencil f(vector#2 complex F) { return struct complex(F.re / 2, F.im * 3); } b = "
                            "ifft(f(fft(a))); return b = b.re, F = fft(a);");
  const Array a = noise(ElementType::f32, {120, 98});
  const std::vector<Array> first = p.run({a}, on_threads(1));
  for (const int threads : {1, 2, 3}) {
    const std::vector<Array> again = p.run({a}, on_threads(threads));
    for (std::size_t o = 0; o < again.size(); ++o)
      EXPECT_EQ(std::memcmp(again[o].data(), first[o].data(),
                            static_cast<std::size_t>(again[o].count()) * again[o].format().size()),
                0);
  }
}

TEST(Spectra, ViewsAreReadAndWritten) {
  const Program p = program(2, "float", "b = ifft(fft(a)); return F = fft(a), b = b.re;");
  const Array large = noise(ElementType::f32, {50, 60});
  const Array in = large.region(std::vector<i64>{3, 5}, std::vector<i64>{33, 45});
  const std::vector<Array> expected = p.interpret({in.clone()});
  std::vector<Array> whole, views;
  for (const Array& e : expected) {
    whole.emplace_back(e.format(), Shape{40, 50});
    std::memset(whole.back().data(), 0x5a, static_cast<std::size_t>(whole.back().count()) * e.format().size());
    views.push_back(whole.back().region(std::vector<i64>{1, 2}, std::vector<i64>{31, 42}));
  }
  p.run_into({in}, views);
  for (std::size_t o = 0; o < views.size(); ++o) {
    expect_close(views[o], expected[o]);
    EXPECT_EQ(*static_cast<const unsigned char*>(whole[o].data()), 0x5a);
  }
}

TEST(Spectra, ProgressGrowsToItsEndAndRunsAreInterrupted) {
  const Program p = program(2, "float", "b = ifft(fft(a)); return b.re;");
  i64 last = -1, total = 0;
  RunOptions options;
  options.on_progress = [&](const Progress& now) {
    EXPECT_GE(now.done, last);
    last = now.done, total = now.total;
  };
  p.run({noise(ElementType::f32, {40, 40})}, options);
  EXPECT_EQ(last, total);
  const std::atomic<bool> cancel = true;
  RunOptions stopped;
  stopped.cancel = &cancel;
  EXPECT_THROW(p.run({noise(ElementType::f32, {40, 40})}, stopped), Error);
}

TEST(Spectra, FiltersOfFrequencies) {
  const Array image = noise(ElementType::f32, {37, 52});
  const std::vector<double> all = numbers(image), low = numbers(lowpass(image, {.cutoff = 0.2})),
                            high = numbers(highpass(image, {.cutoff = 0.2}));
  double sum = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_NEAR(low[i] + high[i], all[i], 1e-5);
    sum += high[i];
  }
  EXPECT_NEAR(sum, 0, 1e-3);  // there is no frequency 0 left
  // One wave passes by its gain: 5 of 40 points are 0.125 cycles a point.
  Array wave(ElementType::f64, {40});
  for (i64 i = 0; i < 40; ++i) wave.as<double>()[i] = std::sin(2 * M_PI * 5 * static_cast<double>(i) / 40);
  for (const double order : {1.0, 2.0, 4.0})
    for (const double cutoff : {0.05, 0.125, 0.3}) {
      const double gain = 1 / (1 + std::pow(0.125 / cutoff, 2 * order));
      const Array got = lowpass(wave, {.cutoff = cutoff, .order = order});
      const Array band = bandpass(wave, {.low = cutoff, .high = 2 * cutoff, .order = order});
      const double upper = 1 / (1 + std::pow(0.125 / (2 * cutoff), 2 * order));
      for (i64 i = 0; i < 40; ++i) {
        EXPECT_NEAR(got.as<double>()[i], gain * wave.as<double>()[i], 1e-6);
        EXPECT_NEAR(band.as<double>()[i], upper * (1 - gain) * wave.as<double>()[i], 1e-6);
      }
    }
  EXPECT_EQ(lowpass(noise(ElementType::u8, {5, 6})).format(), Format(ElementType::u8));
  EXPECT_EQ(highpass(noise(ElementType::u8, {5, 6})).format(), Format(ElementType::f32));
  EXPECT_EQ(bandpass(noise(ElementType::f32, {3, 4, 5, 6}), {.low = {0.1, 0.2, 0.3, 0.4}, .high = 0.5}).shape(),
            (Shape{3, 4, 5, 6}));
  const auto message = [&](const FilterRequest& request) {
    try {
      filter(image, request);
    } catch (const Error& e) {
      return e.message();
    }
    return std::string("nothing was thrown");
  };
  EXPECT_EQ(message({.name = "highpass", .numbers = {{"cutoff", 0.0}}}),
            "cutoff 0 cannot be used, expected 0.000001 to 1000000 cycles a point");
  EXPECT_EQ(message({.name = "lowpass", .border = BorderMode::wrap}),
            "filter 'lowpass' takes no border: its image is continued periodically");
}

TEST(Spectra, InLoopsWithATest) {
  const Program p = program(2, "float", R"(
stencil damped(vector#2 complex F) { return struct complex(F.re / 2, F.im / 3); }
u<0> = a;
do t = 1..5
  F<t> = damped(fft(u<t-1>));
  b<t> = ifft(F<t>);
  u<t> = b<t>.re;
while (max(u<t>) > 0.1f);
return u<5>;
)");
  check(p, {noise(ElementType::f32, {11, 12})});
}

TEST(Spectra, OfPipelines) {
  Pipeline p;
  const auto image = p.input<float>("image", 2);
  const auto F = p.fft("F", image);
  const auto half = p.stage("half", F["re"] * 0.5f), other = p.stage("other", F["im"] * 0.5f);
  const auto back = p.ifft("back", Planes<float>{{"re", "im"}, {half, other}});
  const Program program = p.compile({{"F", F}, {"back", back["re"]}});
  const Array a = noise(ElementType::f32, {21, 34});
  check(program, {a});
  const std::vector<double> b = numbers(program.run({a}).at(1)), x = numbers(a);
  for (std::size_t i = 0; i < b.size(); ++i) EXPECT_NEAR(b[i], x[i] / 2, 1e-5);
  const auto message = [](const std::function<void()>& build) {
    try {
      build();
    } catch (const Error& e) {
      return e.message();
    }
    return std::string("nothing was thrown");
  };
  EXPECT_EQ(message([&] { p.fft("G", image, {2}); }), "'G' transforms along dimension 2, expected 0 to 1");
  EXPECT_EQ(message([&] { p.fft("G", image, {1, 1}); }), "'G' names dimension 1 twice");
  EXPECT_EQ(message([&] { p.fft("G", image.every(2, 2)); }), "'G' transforms a use of 'image' with a stride");
}

TEST(Spectra, ExplainShowsTransformsAsGroups) {
  const Program p = program(2, "uint8",
                            "stencil f(vector#2 complex F) { return struct complex(F.re / 2, F.im * 3); } b = "
                            "ifft(f(fft(a))); return b.re;");
  const std::string text = p.explain({{100, 200}});
  EXPECT_NE(text.find("in 4 groups"), std::string::npos) << text;
  EXPECT_NE(text.find("transform  forward real to complex, along dimensions 0, 1, on the cores of the host"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("transform  inverse complex to real"), std::string::npos) << text;
  EXPECT_NE(p.explain({{100, 200}}, {}, ExplainFormat::json).find("\"transform\": \"inverse complex to real"),
            std::string::npos);
  EXPECT_NE(p.explain({{100, 200}}, {}, ExplainFormat::svg).find("TRANSFORM"), std::string::npos);
  // Transforms alone are explained as well: 256 KiB of floats become twice as many.
  const std::string alone = program(1, "float", "return fft(a);").explain({{65536}});
  EXPECT_NE(alone.find("1 group"), std::string::npos) << alone;
  EXPECT_NE(alone.find("; 768 KiB of it compulsory"), std::string::npos) << alone;
}

}  // namespace
}  // namespace tessera
