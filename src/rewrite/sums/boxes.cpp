// Weights that no tile of a transform holds well are cut into boxes, which are sums of their own: K x K points in a
// tile of T x T give (T - K + 1)^2 results, so a tile has to be some four times as large as the weights, and caches
// bound the tile. Of p x q boxes each takes a smaller tile, all of one shape, pair by pair in one group, and their sums
// are added. The boxes share no weight, so what is not finite reaches as far as in the whole sum; all read the image by
// its border.
#include <algorithm>
#include <cmath>

#include "ir/build.hpp"
#include "rewrite/sums/tiles/tiles.hpp"

namespace tessera::rewrite {

using ir::ExprId;
using ir::Graph;
using ir::Op;
using ir::Stage;

namespace {

constexpr i64 least_cut = i64{1} << 12;  // weights, of which fewer always lie in one tile well
constexpr i64 most_boxes = 16;
constexpr double of_addition = 0.35;  // a point, of each box's sum: there, back and added
constexpr double worth = 0.9;         // of the price in one piece

// The k-th of `count` parts of n, as equal as can be.
i64 begin_of(i64 n, i64 count, i64 k) {
  return n * k / count;
}

i64 longest(i64 n, i64 count) {
  return (n + count - 1) / count;
}

// Of planes every box has two at least: those of one plane are no stacks.
bool may_cut(const Tensor& w, std::size_t d, i64 count) {
  return count == 1 || (d + 2 < w.rank ? w.extent[d] / count >= 2 : w.extent[d] >= count);
}

// Loops over a table of the weights in a box.
ExprId sum_of_box(Graph& graph, const Stage& stage, const Convolution& sum, const Offset& first, const Offset& extent) {
  const Tensor& w = sum.weights;
  ir::Table table;
  table.name = stage.name + "_weights";
  table.type = stage.type;
  Tensor box;
  box.rank = w.rank, box.extent = extent;
  std::vector<ir::Index> index(w.rank);
  std::vector<ir::Var> vars;
  std::vector<ExprId> at;
  for (std::size_t d = 0; d < w.rank; ++d) {
    index[d].offset = w.lo[d] + first[d];
    if (extent[d] == 1) continue;
    vars.push_back({graph.new_var(), 0, extent[d] - 1});
    index[d].vars = {{vars.back().id, 1}};
    at.push_back(ir::var(graph, vars.back().id));
    table.extents.push_back(extent[d]);
  }
  for (i64 k = 0; k < box.count(); ++k) {
    i64 entry = 0;
    for (std::size_t d = 0; d < w.rank; ++d) entry += (first[d] + box.index(d, k)) * w.step(d);
    const double x = w.at[static_cast<std::size_t>(entry)];
    table.values.push_back(stage.type == ElementType::f32 ? static_cast<double>(static_cast<float>(x)) : x);
  }
  graph.tables.push_back(std::move(table));
  const ExprId weight = ir::lookup(graph, graph.tables.size() - 1, std::move(at));
  const ExprId value = ir::convert(graph, stage.type, ir::access(graph, sum.source, std::move(index), sum.border));
  return ir::reduce(graph, Op::reduce_sum, std::move(vars), ir::binary(graph, Op::mul, weight, value));
}

}  // namespace

// The counts of boxes along each dimension that cost least.
std::optional<TransformedSums::Cut> TransformedSums::cut_of(const Stage& stage, const Convolution& sum,
                                                            double whole) const {
  const Tensor& w = sum.weights;
  if (w.count() < least_cut) return {};
  Convolution part{sum.source, sum.border, w};
  double all = 0;
  for (const double x : w.at) all += std::fabs(x);
  part.weights.at = {all};  // no box has more, which decides the numbers that tiles of integers take
  std::optional<Cut> best;
  double least = worth * whole;
  Offset counts{1, 1, 1, 1};
  for (;;) {
    // The next one, as a number whose digits go to most_boxes.
    std::size_t d = w.rank;
    while (d > 0 && counts[d - 1] == most_boxes) counts[--d] = 1;
    if (d == 0) return best;
    ++counts[d - 1];
    i64 boxes = 1;
    bool possible = true;
    for (std::size_t k = 0; k < w.rank; ++k) {
      boxes *= counts[k];
      possible = possible && boxes <= most_boxes && may_cut(w, k, counts[k]);
      part.weights.extent[k] = longest(w.extent[k], counts[k]);
    }
    if (!possible) continue;
    const Tiling tiles = tiles_of(stage, part);
    if (tiles.rows == 0) continue;
    const double price = static_cast<double>(boxes) * (tiles.nanoseconds + of_addition);
    if (price < least) least = price, best = Cut{counts, tiles, price};
  }
}

// The boxes as stages in tiles; none where one of them cannot be, such as sums of integers that rounding would not
// find.
std::vector<Stage> TransformedSums::boxes_of(const Stage& stage, const Convolution& sum, const Cut& cut) {
  const Tensor& w = sum.weights;
  const std::size_t tables = graph_.tables.size();  // without those of boxes
  std::vector<Stage> boxes;
  Offset at{};
  for (;;) {
    Offset first{}, extent{1, 1, 1, 1};
    for (std::size_t d = 0; d < w.rank; ++d) {
      first[d] = begin_of(w.extent[d], cut.counts[d], at[d]);
      extent[d] = begin_of(w.extent[d], cut.counts[d], at[d] + 1) - first[d];
    }
    Stage box = stage;
    box.name = stage.name + ".box";
    box.body = sum_of_box(graph_, stage, sum, first, extent);
    const auto found = convolution_of(graph_, box, numbers_);
    const bool empty = !found && std::all_of(graph_.tables.back().values.begin(), graph_.tables.back().values.end(),
                                             [](double x) { return x == 0; });
    if (!empty) {
      if (!found || tiles_of(box, *found, cut.tiles.number).rows == 0 || !fits(box, *found, cut.tiles)) {
        graph_.tables.resize(tables);
        return {};
      }
      box.note = tilings_.add(cut.tiles.planes > 1 ? tiles_of(box, *found) : cut.tiles);
      boxes.push_back(std::move(box));
    }
    std::size_t d = w.rank;
    while (d > 0 && at[d - 1] + 1 == cut.counts[d - 1]) at[--d] = 0;
    if (d == 0) return boxes;
    ++at[d - 1];
  }
}

}  // namespace tessera::rewrite
