// Pipelines built in C++: the graphs, as text, that tests/python/test_twins.py builds in Python as well. Prints each as
// "== name", then the graph.
#include <cstdio>

#include "engine/program_impl.hpp"
#include "ir/graph.hpp"
#include "tessera/pipeline.hpp"

using namespace tessera;

namespace {

void show(const char* name, const Pipeline& p, const std::vector<Output>& outputs) {
  std::printf("== %s\n%s", name, ir::print(p.compile(outputs).impl().graph).c_str());
}

void blur() {
  Pipeline p;
  const auto image = p.input<float>("image", 2).clamped();
  const auto rows = p.stage("rows", (image.at(-1, 0) + image + image.at(1, 0)) / 3.0f).clamped();
  show("blur", p, {p.stage("blur", (rows.at(0, -1) + rows + rows.at(0, 1)) / 3.0f)});
}

void edges() {
  Pipeline p;
  const auto image = p.input<std::uint8_t>("image", 2).mirror();
  const auto amount = p.scalar<float>("amount");
  const auto weights = p.table<float>("weights", {3, 3}, {1, 2, 1, 2, 4, 2, 1, 2, 1});
  const auto sum =
      p.over({{-1, 1}, {-1, 1}}).sum([&](Offset i, Offset j) { return weights(i + 1, j + 1) * image.at(i, j); });
  const auto g = p.stage("g", sum / 16.0f).clamped();
  const auto strength = hypot(g.at(0, 1) - g.at(0, -1), g.at(1, 0) - g.at(-1, 0));
  show("edges", p, {{"edges", p.stage("edges1", saturate<std::uint8_t>(amount * strength))}, {"smooth", g}});
}

void unsharp() {
  Pipeline p;
  const auto image = p.input<double>("image", 3).wrap();
  const auto smooth = p.stage("smooth", (image.at(0, 0, -1) + 2 * image + image.at(0, 0, 1)) * 0.25);
  show("unsharp", p, {p.stage("sharp", image + 0.5 * (image - smooth))});
}

void choices() {
  Pipeline p;
  const auto a = p.input<std::uint8_t>("a", 1);
  const auto b = p.input<std::int16_t>("b", 1);
  const auto larger = select(a > b, a * 2, b - 1);
  show("choices", p, {p.stage("chosen", max(larger, (a & 15) << 2) + abs(b) % 7)});
}

void windows() {
  Pipeline p;
  const auto image = p.input<float>("image", 2).symmetric();
  const auto box = p.over({{-1, 1}, {-2, 2}});
  const auto middle = p.stage("middle", box.median([&](Offset i, Offset j) { return image.at(i, j); }));
  const auto most =
      box.max([&](Offset i, Offset j) { return image.at(i, j); });  // the order of calls is that of Python
  const auto least = box.min([&](Offset i, Offset j) { return image.at(2 * i, j + 1); });
  const auto span = p.stage("span", most - least);
  const auto any =
      p.stage("any", cast<std::uint8_t>(box.any([&](Offset i, Offset j) { return image.at(i, j) > 1.0f; })));
  show("windows", p, {{"middle", middle}, {"span", span}, {"any", any}});
}

void pyramid() {
  Pipeline p;
  const auto image = p.input<float>("image", 2).clamped();
  const auto even = image.every(2, 2);
  const auto half = p.stage("half", (even.at(0, 0) + even.at(0, 1) + even.at(1, 0) + even.at(1, 1)) / 4.0f);
  const auto twice = p.compose<float>("twice", {{half, {{0, 2}, {0, 2}}}, {half, {{1, 2}, {1, 2}}}});
  show("pyramid", p, {{"half", half}, {"twice", twice}});
}

void totals() {
  Pipeline p;
  const auto image = p.input<float>("image", 2);
  const auto mean = p.mean("mean", image);
  const auto most = p.max("most", image);
  show("totals", p, {{"flat", p.stage("flat", (image - mean.value) / most.value)}, {"mean", mean.image}});
}

void heat() {
  Pipeline p;
  const auto image = p.input<float>("image", 2);
  const auto end = p.repeat<float>("loop", 50, image, [&](const Image<float>& before) {
    const auto b = before.clamped();
    const auto next = p.stage("next", (b.at(-1, 0) + b.at(1, 0) + b.at(0, -1) + b.at(0, 1)) / 4.0f);
    const auto change = p.stage("change", abs(next - before));
    return Iteration<float>{next, p.max("gap", change).value > 0.05f};
  });
  show("heat", p, {end});
}

void spectra() {
  Pipeline p;
  const auto image = p.input<float>("image", 2);
  const auto spectrum = p.fft("spectrum", image, {1});
  const auto re = p.stage("re", spectrum["re"] * 0.5f), im = p.stage("im", spectrum["im"] * 0.5f);
  show("spectra", p, {p.ifft("back", Planes<float>{{"re", "im"}, {re, im}}, {1})["re"]});
}

void colours() {
  Pipeline p;
  const auto photo = p.input<std::uint8_t>("photo", 2, {"r", "g", "b"});
  const auto grey = p.stage("grey", (cast<float>(photo["r"]) + photo["g"] + photo["b"]) / 3.0f);
  Planes<std::uint8_t> turned{{"b", "g", "r"}, {photo["b"], photo["g"], photo["r"]}};
  show("colours", p, {{"grey", grey}, {"turned", turned}});
}

void places() {
  Pipeline p;
  const auto image = p.input<float>("image", 2).clamped();
  const auto flipped = p.stage("flipped", image.gather(p.coord(0), p.extent(1) - 1 - p.coord(1)) + 0.0f * image);
  show("places", p, {flipped});
}

void sizes() {
  Pipeline p;
  const Size m = p.size("M");
  const auto a = p.input<float>("a", std::vector<Size>{m}), b = p.input<float>("b", std::vector<Size>{m * 2 + 1});
  show("sizes", p, {p.stage("sum", a + b)});
}

void functions() {
  Pipeline p;
  const auto x = p.input<float>("x", 1);
  const auto y = exp(x) + log(x) * sin(x) - cos(x) / tan(x) + atan2(x, x) + pow(x, 2.5f);
  show("functions", p,
       {p.stage("y", y + floor(x) + ceil(x) + round(x) + trunc(x) + sqrt(x) + cbrt(x) + fmod(x, 2.0f))});
}

void canny() {
  Pipeline p;
  const auto image = p.input<std::uint8_t>("image", 2).mirror();
  const auto threshold = p.scalar<float>("threshold");
  const auto dx = p.stage("dx", image.at(0, 1) - image.at(0, -1)), dy = p.stage("dy", image.at(1, 0) - image.at(-1, 0));
  const auto m = p.stage("m", hypot(dx, dy)).clamped();
  const auto across = abs(dx) > abs(dy);
  const auto before = select(across, m.at(0, -1), m.at(-1, 0));
  const auto after = select(across, m.at(0, 1), m.at(1, 0));
  const auto before_less = m >= before;
  const auto after_less = m > after;
  const auto strong = m > threshold;
  const auto edge = p.stage("edge", before_less && after_less && strong);
  show("canny", p, {p.stage("marked", select(edge, 255, 0))});
}

// Python keeps the narrow type of what is picked.
void narrow() {
  Pipeline p;
  const auto a = p.input<std::uint8_t>("a", 2).symmetric();
  const auto window = p.over({{-1, 1}, {-1, 1}});
  const auto middle = cast<std::uint8_t>(window.median([&](Offset i, Offset j) { return a.at(i, j); }));
  const auto most = p.stage("most", cast<std::uint8_t>(max(middle, a)));
  const auto wide = p.stage("wide", !(most > 3) || most == a);
  show("narrow", p, {{"most", most}, {"wide", wide}});
}

void two() {
  Pipeline p;
  const auto image = p.input<float>("image", 2);
  const auto first = p.stage("first", image * 2.0f);
  const auto end = p.repeat<float>("steps", 5, {image, first}, [&](const std::vector<Image<float>>& before) {
    const auto sum = p.stage("sum", before[0] + before[1]);
    return Iterations<float>{{before[1], sum}, p.max("most", sum).value < 100.0f};
  });
  show("two", p, {{"a", end[0]}, {"b", end[1]}});
}

}  // namespace

int main() {
  blur();
  edges();
  unsharp();
  choices();
  windows();
  pyramid();
  totals();
  heat();
  spectra();
  colours();
  places();
  sizes();
  functions();
  canny();
  narrow();
  two();
}
