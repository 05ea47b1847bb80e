// See explain_sizes.hpp. What is assumed is an extent for every dimension of an input; the parameters that make it
// stand for the other inputs too, so that a program on an image [M, N] and one of half its size [M/2, N/2] is explained
// for two that fit together.
#include "cli/options/explain_sizes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <set>

#include "base/text.hpp"
#include "cli/options/options.hpp"
#include "engine/program_impl.hpp"
#include "ir/graph.hpp"
#include "tessera/error.hpp"

namespace tessera::cli {
namespace {

// Values of run-time parameters as they become known.
class Parameters {
 public:
  explicit Parameters(const ir::Graph& graph) : graph_(graph), values_(graph.parameters.size(), 1) {}

  // Chooses values of parameters that are not known so that these extents come near to those wanted.
  void fit(const std::vector<ir::SizeId>& extents, const Shape& wanted) {
    for (std::size_t d = 0; d < std::min(extents.size(), wanted.size()); ++d) {
      const auto open = unknown(extents[d]);
      if (open.size() == 1) set(*open.begin(), extents[d], wanted[d]);
    }
  }
  // Where an extent has several parameters, all but the first become `value`.
  void close(const std::vector<ir::SizeId>& extents, i64 value) {
    for (const ir::SizeId extent : extents)
      for (auto open = unknown(extent); open.size() > 1; open = unknown(extent)) {
        known_.insert(*open.rbegin());
        values_[*open.rbegin()] = value;
      }
  }
  std::optional<Shape> shape(const std::vector<ir::SizeId>& extents) const {
    Shape shape;
    for (const ir::SizeId extent : extents) {
      if (!unknown(extent).empty()) return std::nullopt;
      shape.push_back(graph_.evaluate(extent, values_));
      if (shape.back() < 1) return std::nullopt;
    }
    return shape;
  }

 private:
  std::set<std::size_t> unknown(ir::SizeId extent) const {
    std::set<std::size_t> found;
    std::vector<ir::SizeId> work = {extent};
    while (!work.empty()) {
      const ir::SizeNode& n = graph_.node(work.back());
      work.pop_back();
      if (n.op == ir::SizeOp::constant) continue;
      if (n.op == ir::SizeOp::parameter) {
        if (!known_.contains(static_cast<std::size_t>(n.value))) found.insert(static_cast<std::size_t>(n.value));
        continue;
      }
      work.push_back(n.a);
      if (n.op != ir::SizeOp::floor_div) work.push_back(n.b);
    }
    return found;
  }

  // The least value that makes the largest extent of at most `wanted`: extents grow with their parameters.
  void set(std::size_t parameter, ir::SizeId extent, i64 wanted) {
    const auto at = [&](i64 value) {
      values_[parameter] = value;
      return graph_.evaluate(extent, values_);
    };
    const auto last_where = [&](const auto& holds) {  // of a value that is at least 1
      i64 least = 1, most = 2;
      while (most < (i64{1} << 40) && holds(at(most))) most *= 2;
      while (most - least > 1) {
        const i64 middle = least + (most - least) / 2;
        (holds(at(middle)) ? least : most) = middle;
      }
      return least;
    };
    const i64 reached = at(last_where([&](i64 n) { return n <= wanted; }));
    const i64 below = last_where([&](i64 n) { return n < reached; });
    values_[parameter] = at(below) < reached ? below + 1 : below;
    known_.insert(parameter);
  }

  const ir::Graph& graph_;
  std::vector<i64> values_;
  std::set<std::size_t> known_;
};

std::vector<Shape> named_shapes(const Program& program, const std::vector<std::string>& sizes,
                                std::vector<Shape>& by_position) {
  const auto& inputs = program.inputs();
  std::vector<Shape> shapes(inputs.size());
  std::vector<std::string> names;
  for (const Parameter& p : inputs)
    if (p.is_array) names.push_back(p.name);
  for (const std::string& size : sizes) {
    const auto [name, text] = cut_name(size);
    if (name.empty()) {
      by_position.push_back(parse_shape(text, "--size"));
      continue;
    }
    const auto found =
        std::find_if(inputs.begin(), inputs.end(), [&](const Parameter& p) { return p.is_array && p.name == name; });
    if (found == inputs.end())
      throw Error(
          ErrorClass::argument,
          fmt::format("--size names {}, the array inputs are: {}", base::quoted(name), base::list_of(names, "and")), {},
          base::did_you_mean(name, names));
    shapes[static_cast<std::size_t>(found - inputs.begin())] = parse_shape(text, "--size");
  }
  return shapes;
}

void check_rank(const Parameter& p, const Shape& shape) {
  if (static_cast<int>(shape.size()) == p.rank) return;
  throw Error(ErrorClass::argument, fmt::format("--size {} has rank {}, expected rank {} for input '{}' [{}]",
                                                to_string(shape), shape.size(), p.rank, p.name, p.extents));
}

}  // namespace

Shape assumed_shape(int rank) {
  switch (rank) {
    case 1:
      return {1'000'000};
    case 2:
      return {1080, 1920};
    case 3:
      return {256, 256, 256};
    default:
      return rank == 4 ? Shape{16, 128, 128, 128} : Shape(static_cast<std::size_t>(std::max(rank, 0)), 16);
  }
}

Shape stated_shape(const Parameter& p) {
  Shape shape;
  for (std::string_view part : base::split(p.extents, 'x')) {
    const auto extent = base::parse_integer(base::trim(part));
    if (!extent) return {};
    shape.push_back(*extent);
  }
  return static_cast<int>(shape.size()) == p.rank ? shape : Shape{};
}

InputShapes input_shapes(const Program& program, const std::vector<std::string>& sizes) {
  const auto& inputs = program.inputs();
  const ir::Graph& graph = program.impl().graph;
  std::vector<Shape> by_position;
  InputShapes result{named_shapes(program, sizes, by_position), {}};
  std::vector<Shape>& shapes = result.shapes;
  std::size_t next = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Parameter& p = inputs[i];
    if (!p.is_array) continue;
    if (shapes[i].empty()) shapes[i] = stated_shape(p);
    for (std::size_t k = 0; k < i && shapes[i].empty(); ++k)
      if (inputs[k].is_array && inputs[k].extents == p.extents) shapes[i] = shapes[k];
    if (shapes[i].empty() && next < by_position.size()) shapes[i] = by_position[next++];
    if (!shapes[i].empty()) check_rank(p, shapes[i]);
  }
  if (next < by_position.size())
    throw Error(ErrorClass::argument,
                fmt::format("--size {} is one too many for this program", to_string(by_position[next])));
  Parameters parameters(graph);
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (!shapes[i].empty()) parameters.fit(graph.arguments[i].extents, shapes[i]);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].is_array || !shapes[i].empty()) continue;
    const std::vector<ir::SizeId>& extents = graph.arguments[i].extents;
    if (const auto known = parameters.shape(extents)) shapes[i] = *known;
    for (const Shape& s : by_position)
      if (shapes[i].empty() && static_cast<int>(s.size()) == inputs[i].rank) shapes[i] = s;
    const bool assumed = shapes[i].empty();
    if (assumed) {
      const Shape usual = assumed_shape(inputs[i].rank);
      parameters.close(extents, usual.back());
      parameters.fit(extents, usual);
      shapes[i] = parameters.shape(extents).value_or(usual);
      result.assumed.push_back(fmt::format("{} {}", inputs[i].name, fmt::join(shapes[i], " x ")));
    } else {
      parameters.fit(extents, shapes[i]);
    }
  }
  return result;
}

std::string note_of_assumed(const std::vector<std::string>& assumed) {
  if (assumed.empty()) return "";
  return fmt::format("extents are assumed: {}; --size gives others", fmt::join(assumed, ", "));
}

}  // namespace tessera::cli
