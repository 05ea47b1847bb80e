// Pipelines built from C++: the values they give, the graphs they share with the language, and what they refuse.
#include "tessera/pipeline.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>

#include "engine/program_impl.hpp"
#include "ir/graph.hpp"
#include "tessera/program.hpp"

namespace tessera {
namespace {

Array floats(Shape shape, const std::vector<float>& values) {
  return Array::from<float>(values, std::move(shape));
}

Array ramp(Shape shape) {
  Array a(ElementType::f32, std::move(shape));
  for (i64 i = 0; i < a.count(); ++i) a.as<float>()[i] = static_cast<float>((i * 37) % 101) - 20;
  return a;
}

template <class T>
std::vector<T> values(const Array& a) {
  EXPECT_TRUE(a.contiguous());
  EXPECT_EQ(a.format(), Format(detail::element_of<T>::value));
  return {a.as<T>(), a.as<T>() + a.count()};
}

// Compiled and interpreted, which have to agree.
std::vector<Array> both(const Program& program, const std::vector<Array>& inputs) {
  std::vector<Array> run = program.run(inputs), expected = program.interpret(inputs);
  for (std::size_t k = 0; k < run.size(); ++k) {
    EXPECT_EQ(run[k].shape(), expected[k].shape());
    if (run[k].format() != Format(ElementType::f32)) {
      EXPECT_EQ(std::memcmp(run[k].data(), expected[k].data(),
                            run[k].format().size() * static_cast<std::size_t>(run[k].count())),
                0);
      continue;
    }
    for (i64 i = 0; i < run[k].count(); ++i)
      EXPECT_NEAR(run[k].as<float>()[i], expected[k].as<float>()[i], 1e-4) << "output " << k << " element " << i;
  }
  return run;
}

std::string message(const std::function<void()>& build) {
  try {
    build();
  } catch (const Error& e) {
    EXPECT_EQ(e.error_class(), ErrorClass::argument) << e.what();
    return e.message();
  }
  return "nothing was thrown";
}

TEST(Pipeline, BlurIsTheProgramOfTheLanguage) {
  Pipeline p;
  const auto image = p.input<float>("image", 2).clamped();
  const auto rows = p.stage("rows", (image.at(-1, 0) + image + image.at(1, 0)) / 3).clamped();
  const auto blur = p.stage("blur", (rows.at(0, -1) + rows + rows.at(0, 1)) / 3);
  const Program built = p.compile({blur});
  const Program text = Program::from_text(R"(
stencil a(vector#2 float X) { return (X@[-1,0] + X + X@[1,0]) / 3; }
stencil b(vector#2 float X) { return (X@[0,-1] + X + X@[0,1]) / 3; }
parameter M, N;
vector#2 float image[M,N];
rows = a(image:clamped);
blur = b(rows:clamped);
return blur;
)");
  ir::Graph same = text.impl().graph;
  for (ir::Argument& a : same.arguments) a.span = {};  // a pipeline has no source text
  for (ir::StageId i = 0; i < same.stage_count(); ++i) same.stage(i).span = {};
  EXPECT_EQ(ir::print(built.impl().graph), ir::print(same));
  const Array x = ramp({23, 41});
  EXPECT_EQ(values<float>(both(built, {x})[0]), values<float>(text.run({x})[0]));
}

TEST(Pipeline, WindowsAndTables) {
  Pipeline p;
  const auto x = p.input<float>("x", 2);
  const auto k = p.table<float>("k", {3, 3}, {1, 0, 0, 0, 2, 0, 0, 0, 4});
  const auto w = p.over({{-1, 1}, {-1, 1}});
  const auto conv = p.stage("conv", w.sum([&](Offset i, Offset j) { return k(i + 1, j + 1) * x.at(i, j); }));
  const auto most = p.stage("most", w.max([&](Offset i, Offset j) { return x.clamped().at(i, j); }));
  const auto middle = p.stage("middle", p.over({{-1, 1}}).median([&](Offset j) { return x.mirror().at(0, j); }));
  const auto weighted = p.stage("weighted", p.over({{-1, 1}}).sum([&](Offset j) { return j * x.wrap().at(0, 2 * j); }));
  const auto some = p.stage("some", p.over({{-1, 1}}).any([&](Offset j) { return x.clamped().at(0, j) > 8; }));
  const Program program =
      p.compile({{"conv", conv}, {"most", most}, {"middle", middle}, {"weighted", weighted}, {"some", some}});
  const auto r = both(program, {floats({3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9})});
  EXPECT_EQ(values<float>(r[0]), (std::vector<float>{0, 0, 0, 0, 1 + 10 + 36, 0, 0, 0, 0}));
  EXPECT_EQ(values<float>(r[1]), (std::vector<float>{5, 6, 6, 8, 9, 9, 8, 9, 9}));
  EXPECT_EQ(values<float>(r[2]), (std::vector<float>{2, 2, 2, 5, 5, 5, 8, 8, 8}));
  EXPECT_EQ(values<float>(r[3]), (std::vector<float>{1, -2, 1, 1, -2, 1, 1, -2, 1}));
  EXPECT_EQ(r[4].format(), Format(ElementType::boolean));
  EXPECT_EQ(std::vector<int>(r[4].as<std::uint8_t>(), r[4].as<std::uint8_t>() + 9),
            (std::vector<int>{0, 0, 0, 0, 0, 0, 0, 1, 1}));
}

TEST(Pipeline, WholeImagesAreReduced) {
  Pipeline p;
  const auto x = p.input<float>("x", 2);
  const auto b = p.input<std::uint8_t>("b", 2);
  const auto lo = p.min("lo", x), hi = p.max("hi", x);
  const auto all = p.sum("all", b), middle = p.mean("middle", b);
  const auto scaled = p.stage("scaled", (x - lo.value) / (hi.value - lo.value));
  const auto above = p.mean("above", p.stage("more", select(b > middle.value, 1.0, 0.0)));
  const Program program = p.compile(
      {{"scaled", scaled}, {"hi", hi.image}, {"all", all.image}, {"middle", middle.image}, {"above", above.image}});
  const std::vector<std::uint8_t> bytes = {255, 0, 1, 4, 255, 85};
  const auto r = both(program, {floats({2, 3}, {-1, 0, 1, 2, 3, 1}), Array::from<std::uint8_t>(bytes, {2, 3})});
  EXPECT_EQ(values<float>(r[0]), (std::vector<float>{0, 0.25, 0.5, 0.75, 1, 0.5}));
  EXPECT_EQ(r[1].shape(), Shape{1});
  EXPECT_EQ(values<float>(r[1]), std::vector<float>{3});
  EXPECT_EQ(values<double>(r[2]), std::vector<double>{600});
  EXPECT_EQ(values<double>(r[3]), std::vector<double>{100});
  EXPECT_EQ(values<double>(r[4]), std::vector<double>{2.0 / 6});
  EXPECT_THROW(p.max("far", x.every(2, 2)), Error);
}

TEST(Pipeline, NumbersMadeOfTotalsAreResults) {
  Pipeline p;
  const auto x = p.input<float>("x", 2);
  const auto k = p.scalar<float>("k");
  const auto lo = p.min("lo", x), hi = p.max("hi", x);
  const auto range = p.stage("range", k * (hi.value - lo.value));
  const Program program = p.compile({{"range", range}});
  const auto r = both(program, {floats({2, 3}, {-1, 0, 1, 2, 3, 1}), scalar(2)});
  EXPECT_EQ(r[0].shape(), Shape{1});
  EXPECT_EQ(values<float>(r[0]), std::vector<float>{8});
  // What depends on a point has no extents without an image.
  EXPECT_EQ(message([&] { p.stage("s", hi.value * p.coord(0)); }),
            "stage 's' reads no image at an offset, so that its extents are not known");
  EXPECT_EQ(message([&] { p.stage("s", hi.value + x.gather(p.coord(0), p.coord(1))); }),
            "stage 's' reads no image at an offset, so that its extents are not known");
}

TEST(Pipeline, TypesFollowCpp) {
  Pipeline p;
  const auto b = p.input<std::uint8_t>("b", 1);
  const auto u = p.input<std::uint32_t>("u", 1);
  const auto f = p.input<float>("f", 1);
  const auto d = p.input<double>("d", 1);
  static_assert(std::same_as<decltype(b + b), Value<std::int32_t>>);
  static_assert(std::same_as<decltype(b + u), Value<std::uint32_t>>);
  static_assert(std::same_as<decltype(b * 0.5f), Value<float>>);
  static_assert(std::same_as<decltype(f + d), Value<double>>);
  static_assert(std::same_as<decltype(f * 0.5), Value<double>>);
  static_assert(std::same_as<decltype(f < 1), Value<bool>>);
  static_assert(std::same_as<decltype(sqrt(b)), Value<float>>);
  static_assert(std::same_as<decltype(floor(b)), Value<std::int32_t>>);
  static_assert(std::same_as<decltype(min(f, b)), Value<float>>);
  static_assert(std::same_as<decltype(select(f < 0, 1, b)), Value<std::int32_t>>);
  static_assert(std::same_as<decltype(b << 2), Value<std::int32_t>>);
  static_assert(!detail::Integral<Value<float>>);
  const auto r = both(p.compile({{"sum", p.stage("sum", b + b)},
                                 {"narrow", p.stage("narrow", cast<std::uint8_t>(b + b))},
                                 {"clipped", p.stage("clipped", saturate<std::uint8_t>(f * 100.0f))},
                                 {"bits", p.stage("bits", ((u ^ 1U) & ~b) | (b << 1))},
                                 {"chosen", p.stage("chosen", select(f > 0 && !(d == 2.0), -f, abs(f) + 1))},
                                 {"real", p.stage("real", hypot(f, d) + pow(f, 2))},
                                 {"rest", p.stage("rest", b % 7 - b / 2)},
                                 {"whole", p.stage("whole", min(round(f), floor(d)))}}),
                      {Array::from<std::uint8_t>(std::vector<std::uint8_t>{200, 3}, {2}),
                       Array::from<std::uint32_t>(std::vector<std::uint32_t>{7, 8}, {2}), floats({2}, {1.5F, -2.5F}),
                       Array::from<double>(std::vector<double>{2, 0.25}, {2})});
  EXPECT_EQ(values<std::int32_t>(r[0]), (std::vector<std::int32_t>{400, 6}));
  EXPECT_EQ(values<std::uint8_t>(r[1]), (std::vector<std::uint8_t>{144, 6}));
  EXPECT_EQ(values<std::uint8_t>(r[2]), (std::vector<std::uint8_t>{150, 0}));
  EXPECT_EQ(values<std::uint32_t>(r[3]), (std::vector<std::uint32_t>{(6U & ~200U) | 400U, (9U & ~3U) | 6U}));
  EXPECT_EQ(values<float>(r[4]), (std::vector<float>{2.5F, 3.5F}));
  EXPECT_NEAR(values<double>(r[5])[0], 2.5 + 2.25, 1e-6);
  EXPECT_EQ(values<std::int32_t>(r[6]), (std::vector<std::int32_t>{4 - 100, 3 - 1}));
  EXPECT_EQ(values<double>(r[7]), (std::vector<double>{2, -3}));
}

TEST(Pipeline, EveryFunctionComputesWhatItsNameSays) {
  Pipeline p;
  const auto x = p.input<double>("x", 1);
  const std::vector<std::pair<Image<double>, double (*)(double)>> functions = {
      {p.stage("a", sqrt(x)), std::sqrt},   {p.stage("b", exp(x)), std::exp},     {p.stage("c", log(x)), std::log},
      {p.stage("d", sin(x)), std::sin},     {p.stage("e", cos(x)), std::cos},     {p.stage("f", tan(x)), std::tan},
      {p.stage("g", asin(x)), std::asin},   {p.stage("h", acos(x)), std::acos},   {p.stage("i", atan(x)), std::atan},
      {p.stage("j", sinh(x)), std::sinh},   {p.stage("k", cosh(x)), std::cosh},   {p.stage("l", tanh(x)), std::tanh},
      {p.stage("m", exp2(x)), std::exp2},   {p.stage("n", log2(x)), std::log2},   {p.stage("o", log10(x)), std::log10},
      {p.stage("q", cbrt(x)), std::cbrt},   {p.stage("r", floor(x)), std::floor}, {p.stage("s", ceil(x)), std::ceil},
      {p.stage("t", round(x)), std::round}, {p.stage("u", trunc(x)), std::trunc}, {p.stage("v", abs(-x)), std::fabs}};
  std::vector<Output> outputs;
  for (std::size_t k = 0; k < functions.size(); ++k) outputs.emplace_back("o" + std::to_string(k), functions[k].first);
  const auto r = p.compile(outputs).run({Array::from<double>(std::vector<double>{0.3, 0.75}, {2})});
  for (std::size_t k = 0; k < functions.size(); ++k) {
    EXPECT_NEAR(r[k].as<double>()[0], functions[k].second(0.3), 1e-12) << k;
    EXPECT_NEAR(r[k].as<double>()[1], functions[k].second(0.75), 1e-12) << k;
  }
}

TEST(Pipeline, StridesComposeAndGather) {
  Pipeline p;
  const auto x = p.input<float>("x", 1);
  const auto even = p.stage("even", x.every(2).at(0)), odd = p.stage("odd", x.every(2).at(1));
  const auto woven = p.compose<float>("woven", {{odd, {{0, 2}}}, {even, {{1, 2}}}});
  const auto stacked = p.compose<float>("stacked", {{even, {0, 0}}, {odd, {1, 0}}});
  const auto reversed = p.stage("reversed", x.gather(p.extent(0) - 1 - p.coord(0)) + 0 * x);
  const auto r = both(p.compile({{"even", even}, {"woven", woven}, {"stacked", stacked}, {"reversed", reversed}}),
                      {floats({6}, {1, 2, 3, 4, 5, 6})});
  EXPECT_EQ(values<float>(r[0]), (std::vector<float>{1, 3, 5}));
  EXPECT_EQ(values<float>(r[1]), (std::vector<float>{2, 1, 4, 3, 6, 5}));
  EXPECT_EQ(r[2].shape(), (Shape{2, 3}));
  EXPECT_EQ(values<float>(r[2]), (std::vector<float>{1, 3, 5, 2, 4, 6}));
  EXPECT_EQ(values<float>(r[3]), (std::vector<float>{6, 5, 4, 3, 2, 1}));
}

TEST(Pipeline, AbsolutePlacesObeyTheBorder) {
  Pipeline p;
  const auto x = p.input<float>("x", 1);
  const auto left = [&](const char* name, const Image<float>& image) {
    return p.stage(name, image.gather(p.coord(0) - 2) + 0 * x);
  };
  const auto r = both(p.compile({{"wrap", left("wrap", x.borders({{BorderMode::wrap, 0}}))},
                                 {"mirror", left("mirror", x.borders({{BorderMode::mirror, 0}}))},
                                 {"nine", left("nine", x.borders({{BorderMode::constant, 9}}))},
                                 {"edge", left("edge", x)}}),
                      {floats({4}, {1, 2, 3, 4})});
  EXPECT_EQ(values<float>(r[0]), (std::vector<float>{3, 4, 1, 2}));
  EXPECT_EQ(values<float>(r[1]), (std::vector<float>{3, 2, 1, 2}));
  EXPECT_EQ(values<float>(r[2]), (std::vector<float>{9, 9, 1, 2}));
  EXPECT_EQ(values<float>(r[3]), (std::vector<float>{1, 1, 1, 2}));
}

TEST(Pipeline, BordersBelongToUses) {
  Pipeline p;
  const auto x = p.input<float>("x", 1);
  const auto none = p.stage("none", x.at(-1) + x.at(2));
  const auto mixed = p.stage("mixed", x.wrap().at(-1) * 100 + x.clamped().at(-1) * 10 + x.constant(7).at(-1));
  const auto far = p.stage("far", x.mirror().at(2) * 10 + x.symmetric().at(2));
  const auto r = both(p.compile({{"none", none}, {"mixed", mixed}, {"far", far}}), {floats({4}, {1, 2, 3, 4})});
  EXPECT_EQ(values<float>(r[0]), (std::vector<float>{0, 1 + 4, 0, 0}));
  EXPECT_EQ(values<float>(r[1]), (std::vector<float>{417, 111, 222, 333}));
  EXPECT_EQ(values<float>(r[2]), (std::vector<float>{33, 44, 34, 23}));
  Pipeline q;
  const auto y = q.input<float>("y", 2);
  const auto turned = q.stage("turned", y.borders({{BorderMode::clamp}, {BorderMode::wrap}}).at(1, 1));
  EXPECT_EQ(values<float>(both(q.compile({turned}), {floats({2, 2}, {1, 2, 3, 4})})[0]),
            (std::vector<float>{4, 3, 4, 3}));
}

TEST(Pipeline, PlanesScalarsAndSizes) {
  Pipeline p;
  const auto photo = p.input<std::uint8_t>("photo", 2, {"r", "g", "b"});
  const auto amount = p.scalar<float>("amount");
  const auto luma = p.stage("luma", 0.25f * photo["r"] + 0.5f * photo["g"] + 0.25f * photo["b"]);
  Planes<std::uint8_t> out{{"r", "g", "b"}, {}};
  for (const std::string& c : photo.names)
    out.images.push_back(p.stage(c, saturate<std::uint8_t>(luma + amount * (photo[c] - luma))));
  const Program program = p.compile({{"result", out}});
  ASSERT_EQ(program.inputs().size(), 2U);
  EXPECT_EQ(program.inputs()[0].extents, "M x N");
  EXPECT_EQ(program.inputs()[0].format.name(), "struct rgb");
  Array x(program.inputs()[0].format, {1, 2});
  const std::vector<std::uint8_t> pixels = {100, 200, 0, 8, 8, 8};
  std::copy(pixels.begin(), pixels.end(), x.as<std::uint8_t>());
  const Array grey = program.interpret({x, scalar(0)}).at(0), same = program.interpret({x, scalar(1)}).at(0);
  EXPECT_EQ(std::vector<int>(grey.as<std::uint8_t>(), grey.as<std::uint8_t>() + 6),
            (std::vector<int>{125, 125, 125, 8, 8, 8}));
  EXPECT_EQ(std::vector<int>(same.as<std::uint8_t>(), same.as<std::uint8_t>() + 6),
            (std::vector<int>{100, 200, 0, 8, 8, 8}));
  const Array run = program.run({x, scalar(0.5)}).at(0), expected = program.interpret({x, scalar(0.5)}).at(0);
  EXPECT_EQ(std::memcmp(run.data(), expected.data(), 6), 0);
}

TEST(Pipeline, SizesBindThroughShapes) {
  Pipeline p;
  const Size m = p.size("M");
  const auto x = p.input<float>("x", {2 * m + 1});
  const auto y = p.input<float>("y", {m});
  const Program program = p.compile({p.stage("s", x.every(2).at(1) + y)});
  EXPECT_EQ(program.inputs()[0].extents, "2*M+1");
  EXPECT_EQ(values<float>(both(program, {floats({5}, {1, 2, 3, 4, 5}), floats({2}, {10, 20})})[0]),
            (std::vector<float>{12, 24}));
  EXPECT_THROW(program.run({floats({4}, {1, 2, 3, 4}), floats({2}, {10, 20})}), Error);
  // Inputs by rank share their trailing extents, and a lower rank is repeated.
  Pipeline q;
  const auto a = q.input<float>("a", 2), b = q.input<float>("b", 1);
  const Program sum = q.compile({q.stage("s", a + b)});
  EXPECT_EQ(values<float>(both(sum, {floats({2, 2}, {1, 2, 3, 4}), floats({2}, {10, 20})})[0]),
            (std::vector<float>{11, 22, 13, 24}));
}

TEST(Pipeline, CompilesAgainWithOtherOutputs) {
  Pipeline p;
  const auto x = p.input<float>("x", 1);
  const auto twice = p.stage("twice", x * 2), thrice = p.stage("thrice", x * 3);
  EXPECT_EQ(values<float>(p.compile({twice}).run({floats({1}, {5})})[0]), std::vector<float>{10});
  EXPECT_EQ(values<float>(p.compile({thrice}).run({floats({1}, {5})})[0]), std::vector<float>{15});
}

TEST(Pipeline, HandlesOutliveThePipeline) {
  auto image = [] {
    Pipeline p;
    return p.input<float>("x", 2).clamped();
  }();
  EXPECT_EQ(image.rank(), 2);
  EXPECT_NO_THROW(image.at(0, 1) + image);
}

TEST(Pipeline, Refusals) {
  Pipeline p, other;
  const auto x = p.input<float>("x", 2);
  const auto y = other.input<float>("y", 2);
  EXPECT_EQ(message([&] { x.at(1); }), "'x' has 2 dimensions, but is read at 1 offset");
  EXPECT_EQ(message([&] { x + y; }), "the expression mixes values of two pipelines");
  EXPECT_EQ(message([&] { p.stage("s", y + 1); }), "the expression mixes values of two pipelines");
  EXPECT_EQ(message([&] { p.input<float>("x", 2); }), "two inputs are called 'x'");
  EXPECT_EQ(message([&] { p.input<float>("z", 5); }), "an input has rank 5, expected 1 to 4");
  EXPECT_EQ(message([&] { p.input<float>("z", std::vector<Size>{0}); }),
            "input 'z' has an extent of 0, expected at least 1");
  EXPECT_EQ(message([&] { p.input<float>("a b", 2); }), "an input is called 'a b', expected letters, digits and '_'");
  EXPECT_EQ(message([&] { p.stage("s", p.coord(0) + 1); }),
            "stage 's' reads no image at an offset, so that its extents are not known");
  EXPECT_EQ(message([&] { p.stage("s", x + p.coord(2)); }), "stage 's' has 2 dimensions, but asks for dimension 2");
  EXPECT_EQ(message([&] { p.over({{-1, 1}}).sum([&](Offset i, Offset j) { return x.at(i, j); }); }),
            "the window has 1 range, but the function takes 2 offsets");
  EXPECT_EQ(message([&] { p.over({{1, -1}}).sum([&](Offset i) { return x.at(i, 0); }); }),
            "'sum' runs over the empty range 1..-1");
  EXPECT_EQ(message([&] {
              std::vector<Value<float>> kept;
              p.over({{-1, 1}}).sum([&](Offset i) {
                kept.push_back(x.at(i, 0));
                return x.at(i, 0);
              });
              p.stage("s", kept[0]);
            }),
            "stage 's' uses a window variable outside of its window");
  EXPECT_EQ(message([&] { x.every(2, 0); }), "'x' is read with stride 0, expected 1 to 2^30");
  EXPECT_EQ(message([&] { x.borders({{BorderMode::wrap}}); }), "'x' has 2 dimensions, but 1 border modes are given");
  const auto bytes = p.input<std::uint8_t>("bytes", 1);
  EXPECT_EQ(message([&] { p.stage("s", bytes.constant(300).at(1)); }),
            "border constant(300) is no value of uint8, the type of 'bytes': expected a whole number from 0 to 255");
  EXPECT_EQ(message([&] { p.stage("s", bytes.constant(-1).gather(bytes.at(0))); }),
            "border constant(-1) is no value of uint8, the type of 'bytes': expected a whole number from 0 to 255");
  EXPECT_EQ(message([&] { p.table<float>("k", {2, 2}, {1, 2, 3}); }), "table 'k' is 2x2, but 3 values are given");
  EXPECT_EQ(message([&] { p.compile({}); }), "the pipeline has no output");
  EXPECT_EQ(message([&] { p.compile({x, x}); }), "two outputs have no name");
  EXPECT_EQ(message([&] { p.compile({{"a", x}, {"a", x}}); }), "two outputs are called 'a'");
  EXPECT_EQ(message([&] { p.compile({x.every(2, 2)}); }), "the output is a use of 'x' with a stride");
  EXPECT_EQ(message([&] { p.compose<float>("c", {}); }), "stage 'c' is composed of no pieces");
  EXPECT_EQ(message([&] { p.compose<float>("c", {{x, {0}}}); }),
            "a piece of stage 'c' has rank 2 and 1 places, expected 1 places");
  EXPECT_EQ(message([&] { (p.size("Q") / 0); }), "an extent is divided by 0, expected a positive number");
  EXPECT_EQ(message([&] { x.at(1 << 30, 0) + x.at((1 << 30) + 1, 0); }),
            "the offset 1073741825 of an access to 'x' is out of range");
}

}  // namespace
}  // namespace tessera
