// See size_class.hpp.
#include "engine/size_class.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <tuple>
#include <utility>

#include "analyze/assumed.hpp"

namespace tessera::engine {
namespace {

// Where tiles cover what there is within some percent, whatever their extents; where a device is full.
constexpr i64 large = 1024, large_on_device = 4096;
constexpr std::array<i64, 17> classes{
    8, 16, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, large, 1536, 2048, 3072, large_on_device};

// What is known of sums whose best method depends on the size: by which one, in which tiles.
auto decisions(const plan::Plan& plan) {
  std::vector<std::tuple<std::string, Method, std::size_t>> sums;
  for (const rewrite::SumChoice& c : plan.sums) sums.emplace_back(c.stage, c.taken, c.rank);
  std::vector<std::tuple<std::string, i64, i64, i64>> tiles;
  for (ir::StageId i = 0; i < plan.graph.stage_count(); ++i) {
    const rewrite::Tiling& tile = plan.tiling(i);
    tiles.emplace_back(plan.graph.stage(i).name, tile.rows, tile.columns, tile.pairs);
  }
  return std::make_pair(std::move(sums), std::move(tiles));
}

// Tiles of transforms and matrix units take a time however small the image is.
bool has_choice(const plan::Plan& plan) {
  return std::any_of(plan.sums.begin(), plan.sums.end(), [](const rewrite::SumChoice& c) {
    return std::any_of(c.prices.begin(), c.prices.end(), [](const rewrite::SumChoice::Price& p) {
      return p.method == Method::transform || p.method == Method::matrix;
    });
  });
}

}  // namespace

std::vector<i64> size_class(const ir::Graph& graph, const std::vector<i64>& parameters, Where where) {
  const i64 most = where == Where::device ? large_on_device : large;
  const std::vector<i64> usual = analyze::assumed_parameters(graph);
  std::vector<i64> rounded = usual;
  for (std::size_t k = 0; k < parameters.size(); ++k)
    if (parameters[k] < std::min(most, usual[k]))
      rounded[k] = std::min(usual[k], *std::lower_bound(classes.begin(), classes.end(), parameters[k]));
  return rounded == usual ? std::vector<i64>{} : rounded;
}

plan::Plan plan_for_class(const ir::Graph& graph, plan::Options how, const machine::Machine& device,
                          const std::vector<i64>& of_class) {
  how.parameters.clear();
  plan::Plan general = plan::make_plan(graph, how, device);
  if (of_class.empty() || !has_choice(general)) return general;
  how.parameters = of_class;
  plan::Plan small = plan::make_plan(graph, how, device);
  return decisions(small) == decisions(general) ? general : small;
}

}  // namespace tessera::engine
