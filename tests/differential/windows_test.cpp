// Windows of results: any tiling of a program of the zoo into windows, each computed from no more of the inputs than
// Program::reads says, has the bits of the whole result, in `exact` numbers and in `fast` ones.
// TESSERA_TARGET=cuda says where, TESSERA_ZOO=sampling runs those programs alone whose names contain that,
// TESSERA_SEED=17 takes other tilings.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

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
  const int tilings = std::atoi(said("TESSERA_TILINGS", "1"));
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
        fill(inputs.back(), c.data, random);
      }
      try {
        program.output_shapes(inputs);
      } catch (const Error&) {
        continue;  // too small for the program
      }
      check_tilings(program, inputs, options, random, tilings);
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
      fill(inputs.back(), Data::smooth, random);
    }
    RunOptions options;
    options.target = target;
    for (const Numbers numbers : {Numbers::exact, Numbers::fast}) {
      options.numbers = numbers;
      check_tilings(program, inputs, options, random, 1);
    }
  }
}

}  // namespace
}  // namespace tessera::differential
