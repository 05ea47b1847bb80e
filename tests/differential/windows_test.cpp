// Windows of results: any tiling of a program of the zoo, of an example or of a filter by name into windows, each
// computed from no more of the inputs than Program::reads says, has the bits of the whole result, in `exact` numbers
// and in `fast` ones.
// TESSERA_TARGET=cuda says where, TESSERA_ZOO=sampling runs those programs alone whose names contain that,
// TESSERA_SEED=17 takes other tilings and other options of filters, TESSERA_TILINGS=200 so many of each program, and of
// filters every element type.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "data/element.hpp"
#include "engine/filters/filters.hpp"
#include "engine/program_impl.hpp"
#include "lang/compile.hpp"
#include "support/sample.hpp"
#include "values.hpp"
#include "zoo.hpp"

namespace tessera::differential {
namespace {

const char* said(const char* variable, const char* otherwise) {
  const char* const given = std::getenv(variable);
  return given != nullptr ? given : otherwise;
}

int tilings() {
  return std::atoi(said("TESSERA_TILINGS", "1"));
}

// Of an extent: the ends of one to three parts, some of them a point wide.
std::vector<i64> cuts_of(i64 extent, Random& random) {
  std::vector<i64> cuts{0, extent};
  const i64 parts = random.between(1, 3);
  for (i64 k = 1; k < parts; ++k) cuts.push_back(random.between(0, extent));
  if (extent > 2 && random.between(0, 3) == 0) {
    const i64 at = random.between(0, extent - 1);
    cuts.push_back(at), cuts.push_back(at + 1);
  }
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  return cuts;
}

std::vector<Region> tiling_of(const Shape& shape, Random& random) {
  std::vector<Region> all{{}};
  for (const i64 n : shape) {
    const std::vector<i64> cuts = cuts_of(n, random);
    std::vector<Region> next;
    for (const Region& r : all)
      for (std::size_t k = 0; k + 1 < cuts.size(); ++k) {
        next.push_back(r);
        next.back().begin.push_back(cuts[k]), next.back().end.push_back(cuts[k + 1]);
      }
    all = std::move(next);
  }
  return all;
}

std::string text_of(const Region& region) {
  std::string text;
  for (std::size_t d = 0; d < region.begin.size(); ++d)
    text += fmt::format("{}[{}, {})", d ? " x " : "", region.begin[d], region.end[d]);
  return text;
}

// Windows of the inputs, no larger than what is read.
std::vector<InputWindow> windows_of(const std::vector<Array>& inputs, const std::vector<Region>& reads) {
  std::vector<InputWindow> windows;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    if (reads[k].begin.empty()) {
      windows.push_back({inputs[k]});
      continue;
    }
    windows.push_back({inputs[k].region(reads[k].begin, reads[k].end).clone(), reads[k].begin, inputs[k].shape()});
  }
  return windows;
}

// A method may be one that the target has not for the sum.
std::vector<Array> run_whole(const Program& program, const std::vector<Array>& inputs, RunOptions& options) {
  try {
    return program.run(inputs, options);
  } catch (const Error& e) {
    if (e.error_class() != ErrorClass::argument || options.method == Method::automatic) throw;
    options.method = Method::automatic;
    return program.run(inputs, options);
  }
}

void check_tilings(const Program& program, const std::vector<Array>& inputs, RunOptions options, Random& random,
                   int tilings) {
  const Match match{.signed_zeros = true, .nans = options.numbers == Numbers::exact};
  const std::vector<Array> whole = run_whole(program, inputs, options);
  std::vector<Shape> shapes;
  for (const Array& a : inputs) shapes.push_back(a.shape());
  const std::vector<Locality> locality = program.locality();
  for (std::size_t o = 0; o < whole.size(); ++o) {
    if (!locality[o].global.empty()) continue;
    for (int t = 0; t < tilings; ++t)
      for (const Region& region : tiling_of(whole[o].shape(), random)) {
        SCOPED_TRACE(
            fmt::format("output {}, window {} of {}", o, text_of(region), tessera::to_string(whole[o].shape())));
        const std::vector<Region> reads = program.reads(o, region, shapes, options);
        std::vector<Region> wanted(whole.size());
        wanted[o] = region;
        const Array got = program.run_region(windows_of(inputs, reads), wanted, options).at(o);
        const Array expected = whole[o].region(region.begin, region.end).clone();
        ASSERT_EQ(expected.shape(), got.shape());
        const auto differs = difference(expected, got, match);
        ASSERT_FALSE(differs) << *differs;
      }
  }
}

TEST(Windows, OfZooProgramsAreThoseOfTheWhole) {
  const std::string target = said("TESSERA_TARGET", "cpu"), of = said("TESSERA_ZOO", "");
  const auto seed = static_cast<std::uint64_t>(std::strtoull(said("TESSERA_SEED", "1"), nullptr, 10));
  for (std::size_t i = 0; i < zoo().size(); ++i) {
    const ZooProgram& zoo_program = zoo()[i];
    if (!in_sample(i) || zoo_program.method == Method::whole || zoo_program.name.find(of) == std::string::npos)
      continue;
    SCOPED_TRACE(zoo_program.name);
    const Case c = zoo_case(i, false);
    const Program program = engine::make_program(c.graph, {});
    RunOptions options;
    options.target = target;
    options.threads = 2;
    options.method = zoo_program.method;
    const bool asked = zoo_program.method != Method::automatic;
    options.numbers = zoo_program.exact_only || (i % 2 == 1 && !asked) ? Numbers::exact : Numbers::fast;
    Random random(seed * 7919 + i);
    for (const std::size_t set : {std::size_t{3}, c.parameters.size() / 2, c.parameters.size() - 1}) {
      const std::vector<i64>& parameters = c.parameters[set];
      SCOPED_TRACE("parameters " + tessera::to_string(Shape(parameters.begin(), parameters.end())));
      std::vector<Array> inputs;
      for (const ir::Argument& a : c.graph.arguments) {
        Shape shape;
        for (const ir::SizeId n : a.extents) shape.push_back(c.graph.evaluate(n, parameters));
        inputs.emplace_back(a.format, shape);
        fill(a, inputs.back(), c.data, random);
      }
      try {
        program.output_shapes(inputs);
      } catch (const Error&) {
        continue;  // too small for the program
      }
      check_tilings(program, inputs, options, random, tilings());
      if (testing::Test::HasFatalFailure()) break;
    }
  }
}

TEST(Windows, OfExamplesAreThoseOfTheWhole) {
  const std::string target = said("TESSERA_TARGET", "cpu");
  const auto seed = static_cast<std::uint64_t>(std::strtoull(said("TESSERA_SEED", "1"), nullptr, 10));
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(TESSERA_SOURCE_DIR) + "/examples"))
    if (entry.path().extension() == ".forma") paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  ASSERT_GT(paths.size(), 10u);
  for (const auto& path : sample_of(paths)) {
    SCOPED_TRACE(path.string());
    const Program program = Program::from_file(path.string());
    const ir::Graph& graph = program.impl().graph;
    if (graph.stage_count() > 60) continue;  // those that take long to compile
    const std::vector<i64> extents = {67, 91, 12, 9};
    const std::vector<i64> parameters(extents.begin(),
                                      extents.begin() + static_cast<std::ptrdiff_t>(graph.parameters.size()));
    Random random(seed * 7919 + paths.size());
    std::vector<Array> inputs;
    for (const ir::Argument& a : graph.arguments) {
      Shape shape;
      for (const ir::SizeId n : a.extents) shape.push_back(graph.evaluate(n, parameters));
      inputs.emplace_back(a.format, shape);
      fill(a, inputs.back(), Data::smooth, random);
    }
    RunOptions options;
    options.target = target;
    for (const Numbers numbers : {Numbers::exact, Numbers::fast}) {
      options.numbers = numbers;
      check_tilings(program, inputs, options, random, tilings());
    }
  }
}

// ---- filters by name ----

struct FilterCase {
  FilterInfo info;
  int rank = 2;
  ElementType type = ElementType::f32;
};

// Of every filter and rank one type, or all where many tilings are asked for.
std::vector<FilterCase> filter_cases(std::uint64_t seed) {
  constexpr std::array types = {ElementType::boolean, ElementType::u8,  ElementType::i16,
                                ElementType::u16,     ElementType::i32, ElementType::u32,
                                ElementType::f16,     ElementType::f32, ElementType::f64};
  std::vector<FilterCase> cases;
  Random random(seed);
  for (const FilterInfo& info : filters()) {
    const bool in_frequency =
        std::none_of(info.options.begin(), info.options.end(), [](const auto& o) { return o.type == "border"; });
    if (in_frequency) continue;  // no part of these can be had alone
    for (const int rank : info.ranks) {
      const ElementType chosen = random.pick(types);
      for (const ElementType type : types)
        if (type == chosen || tilings() > 1) cases.push_back({info, rank, type});
    }
  }
  return cases;
}

Array weights_of(int rank, Random& random) {
  Shape shape;
  for (int d = 0; d < rank; ++d) shape.push_back(random.between(1, rank > 2 ? 3 : 7));
  if (rank == 2 && random.chance(30)) shape = {21, 19};
  Array weights(ElementType::f32, shape);
  for (i64 i = 0; i < weights.count(); ++i) weights.as<float>()[i] = static_cast<float>(random.between(-8, 9)) / 8;
  return weights;
}

// Options as they come, all of which the filter takes.
FilterRequest request_of(const FilterCase& c, Random& random) {
  FilterRequest request{.name = c.info.name};
  request.extent = random.pick(std::array{Extent::same, Extent::same, Extent::valid, Extent::full});
  const bool masked = c.info.takes_mask && random.chance(40);
  for (int d = 0; d < c.rank; ++d) {
    BorderMode mode = random.pick(std::array{BorderMode::clamp, BorderMode::mirror, BorderMode::symmetric,
                                             BorderMode::wrap, BorderMode::constant, BorderMode::none});
    if (mode == BorderMode::none && request.extent == Extent::full) mode = BorderMode::mirror;
    request.border.modes.push_back({mode, 0});
  }
  if (random.chance(40)) request.border = {};
  const bool small = c.rank > 2;
  for (const FilterOption& option : c.info.options) {
    if (option.name == "kernel") request.tables = {{"kernel", weights_of(c.rank, random)}};
    if (option.name == "footprint" && random.chance(50)) request.tables = {{"footprint", weights_of(c.rank, random)}};
    if (option.name == "radius")
      request.numbers.insert_or_assign("radius", static_cast<double>(random.between(0, small ? 1 : 3)));
    if (option.name == "sigma")
      request.numbers.insert_or_assign("sigma", small ? 0.7 : 0.4 * static_cast<double>(random.between(1, 9)));
  }
  if (masked)
    request.mask =
        Array(random.pick(std::array{ElementType::u8, ElementType::f32}), Shape(static_cast<std::size_t>(c.rank), 1));
  request.ignore_nan = c.info.takes_mask && is_float(c.type) && random.chance(20);
  request.alpha = random.pick(std::array{Alpha::weighted, Alpha::kept, Alpha::associated});
  return request;
}

Format format_of(const FilterCase& c, Random& random) {
  if (c.rank != 2 || !random.chance(40)) return c.type;
  const std::vector<std::vector<std::string>> all = {{"r", "g", "b"}, {"y", "a"}, {"r", "g", "b", "a"}};
  std::vector<std::pair<std::string, ElementType>> fields;
  for (const std::string& name : random.pick(all)) fields.emplace_back(name, c.type);
  return Format::record("pixel", fields);
}

TEST(Windows, OfFiltersByNameAreThoseOfTheWhole) {
  const std::string target = said("TESSERA_TARGET", "cpu"), of = said("TESSERA_ZOO", "");
  const auto seed = static_cast<std::uint64_t>(std::strtoull(said("TESSERA_SEED", "1"), nullptr, 10));
  const std::vector<FilterCase> cases = filter_cases(seed);
  ASSERT_GT(cases.size(), 30u);
  const Shape shapes[] = {{2000}, {67, 91}, {10, 24, 41}, {8, 9, 11, 14}};
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const FilterCase& c = cases[i];
    if (!in_sample(i) || c.info.name.find(of) == std::string::npos) continue;
    Random random(seed * 7919 + i);
    const FilterRequest request = request_of(c, random);
    const Format format = format_of(c, random);
    SCOPED_TRACE(fmt::format("{} of rank {}, {}, extent {}, seed {}", c.info.name, c.rank, format.name(),
                             static_cast<int>(request.extent), seed));
    const auto filter = engine::make_filter(request, format, c.rank);
    std::vector<Array> inputs;
    for (const Parameter& input : filter->program.inputs()) {
      inputs.emplace_back(input.format, filter->input_shape(shapes[c.rank - 1]));
      fill(inputs.back(), Data::smooth, random);
      if (input.name != "mask") continue;
      for (i64 k = 0; k < inputs.back().count(); ++k)
        if (k % 41 < 20)
          store_element(input.format.scalar, inputs.back().as<std::byte>() + k * static_cast<i64>(input.format.size()),
                        0);
    }
    RunOptions options;
    options.target = target;
    options.threads = 2;
    options.numbers = random.pick(std::array{Numbers::fast, Numbers::exact});
    check_tilings(filter->program, inputs, options, random, tilings());
  }
}

}  // namespace
}  // namespace tessera::differential
