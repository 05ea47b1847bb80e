// See matrix.hpp. Nanoseconds of a multiprocessor of an H200, a 132nd of the card.
#include "rewrite/sums/matrix.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <unordered_map>

#include "analyze/expressions.hpp"
#include "ir/build.hpp"
#include "rewrite/sums/bytes.hpp"
#include "rewrite/sums/tiles/device_tiles.hpp"

namespace tessera::rewrite {

using ir::ExprId;
using ir::ExprNode;
using ir::Graph;
using ir::Op;
using ir::Stage;
using ir::StageId;
using ir::StageKind;

namespace {

constexpr double least_terms = 26;  // fewer are not looked at: they are done while the bytes come
// Of a point, more where it is no byte, of a row of weights; microseconds of an image however small.
constexpr double of_point = 0.12, of_wide = 0.2, of_row = 0.0066, wait = 17;
constexpr double most_rest = 24;  // operations: they are written out for 16 points
constexpr i64 columns_of_block = 256, most_rows = 128, least_rows = 32;
constexpr double many_points = i64{1} << 24, few_points = i64{1} << 21;  // what blocks are high for, and low for

std::optional<MatrixSum> matrix_sum(const Graph& graph, const Stage& stage, WeighedBytes found) {
  const ExprNode& access = graph.node(found.access);
  const std::size_t rank = stage.domain.size();
  if (rank < 2 || graph.stage(access.stage).domain != stage.domain) return {};
  for (const ir::Index& index : access.index)
    if (index.scale != 1 || index.shift != ir::SizeId{}) return {};
  auto weights = tensor_of(found.weights, access.index, ElementType::i32);
  if (!weights) return {};
  for (std::size_t d = 0; d < rank; ++d) {
    const bool moves = d + 2 >= rank;
    if (weights->extent[d] > (moves ? most_matrix_weights : 1) || (!moves && weights->lo[d] != 0)) return {};
    if (std::abs(weights->lo[d]) > (i64{1} << 20)) return {};
  }
  const auto [least, most] = std::minmax_element(weights->at.begin(), weights->at.end());
  const bool has_signs = *least >= -128 && *most <= 127, has_none = *least >= 0 && *most <= 255;
  if (!has_signs && !has_none) return {};
  return MatrixSum{found.sum, access.stage, access.border, std::move(*weights), !has_signs};
}

// Whether what a body makes of its sums may be written out for every point.
bool rest_allows(const Graph& graph, const Stage& stage, const std::set<std::uint32_t>& sums) {
  std::vector<ExprId> stack{stage.body};
  std::set<std::uint32_t> seen;
  double operations = 0;
  while (!stack.empty()) {
    const ExprId e = stack.back();
    stack.pop_back();
    if (sums.contains(e.id) || !seen.insert(e.id).second) continue;
    const ExprNode& node = graph.node(e);
    if (is_reduction(node.op) || is_whole(node.op) || is_lanes(node.op) || ir::is_function(node.op)) return false;
    const bool divides = node.op == Op::div || node.op == Op::rem;
    if (node.op == Op::gather || (divides && graph.node(node.args[1]).op != Op::constant)) return false;
    if (node.op == Op::access &&
        !std::all_of(node.index.begin(), node.index.end(), [](const ir::Index& index) { return index.vars.empty(); }))
      return false;
    ++operations;
    for (const ExprId a : node.args) stack.push_back(a);
  }
  return operations <= most_rest;
}

double terms_of(const Tensor& w) {
  return static_cast<double>(std::count_if(w.at.begin(), w.at.end(), [](double x) { return x != 0; }));
}

}  // namespace

std::optional<MatrixSum> matrix_sum_of(const Graph& graph, const Stage& stage) {
  if (stage.kind != StageKind::point) return {};
  i64 steps = i64{1} << 22;
  std::vector<WeighedBytes> sums = sums_of_bytes(graph, stage.body, steps);
  // Of several the longest one; the others are terms of the rest.
  const auto longest = std::max_element(sums.begin(), sums.end(), [](const WeighedBytes& a, const WeighedBytes& b) {
    return a.weights.size() < b.weights.size();
  });
  if (longest == sums.end() || !rest_allows(graph, stage, {longest->sum.id})) return {};
  return matrix_sum(graph, stage, std::move(*longest));
}

bool MatrixSums::worth(const Stage& stage, const MatrixSum& sum, ElementType result, SumChoice& choice) const {
  const Tensor& w = sum.weights;
  const double points = points_of(graph_, stage, assumed_);
  const double terms = terms_of(w);
  const ElementType from = graph_.stage(sum.source).type;
  constexpr double multiprocessors = 132;
  choice.stage = stage.name;
  choice.extents.assign(w.extent.begin(), w.extent.begin() + static_cast<std::ptrdiff_t>(w.rank));
  choice.prices = {{Method::direct, device_direct(w, ElementType::i32, from, points)}};
  if (const auto apart = device_apart(w, ElementType::i32, points))
    choice.prices.push_back({Method::separable, *apart});
  const double price = of_point + (size_of(result) > 1 ? of_wide : 0) +
                       of_row * static_cast<double>(w.extent[w.rank - 2]) +
                       wait * 1e3 * multiprocessors / std::max(points, 1.0);
  const bool cheapest = std::all_of(choice.prices.begin(), choice.prices.end(),
                                    [&](const SumChoice::Price& p) { return price < p.nanoseconds; });
  choice.prices.push_back({Method::matrix, price});
  choice.taken = Method::matrix;
  return method_ == Method::matrix || (method_ == Method::automatic && terms >= least_terms && cheapest);
}

Tiling MatrixSums::tiling(const Stage& stage, double nanoseconds) const {
  const double points = points_of(graph_, stage, assumed_);
  Tiling tile;
  tile.matrix = true;
  tile.rows = tile.high = points >= many_points ? most_rows : points >= few_points ? most_rows / 2 : least_rows;
  tile.columns = tile.wide = columns_of_block;
  tile.nanoseconds = nanoseconds;
  return tile;
}

void MatrixSums::take(Stage& stage, bool alone, std::vector<std::string>& remarks) {
  if (!device_.matrices || (method_ != Method::automatic && method_ != Method::matrix)) return;
  std::unordered_map<std::uint32_t, ExprId> instead;
  const auto chosen = [&](const SumChoice& choice, const Tensor& w) {
    const double price = choice.prices.back().nanoseconds;
    remarks.push_back(fmt::format("'{}' sums {} bytes by matrix units, {:.2g} ns a point (predicted)", stage.name,
                                  static_cast<i64>(terms_of(w)), price));
    choices_.push_back(choice);
    return tilings_.add(tiling(stage, price));
  };
  SumChoice choice;
  if (alone)
    if (const auto whole = matrix_sum_of(graph_, stage); whole && worth(stage, *whole, stage.type, choice)) {
      stage.note = chosen(choice, whole->weights);
      return;
    }
  for (WeighedBytes& found : sums_of_bytes(graph_, stage.body, steps_left_)) {
    const ExprId e = found.sum;
    const auto sum = matrix_sum(graph_, stage, std::move(found));
    if (!sum || !worth(stage, *sum, graph_.node(e).type, choice)) continue;
    Stage part;
    part.kind = StageKind::point;
    part.name = stage.name + ".sum";
    part.type = graph_.node(e).type;
    part.domain = stage.domain;
    part.span = stage.span;
    part.margin_lo = stage.margin_lo;
    part.margin_hi = stage.margin_hi;
    part.body = e;
    part.note = chosen(choice, sum->weights);
    const std::size_t rank = part.domain.size();
    instead[e.id] = ir::access(graph_, graph_.add(std::move(part)), std::vector<ir::Index>(rank),
                               std::vector<Border>(rank, {BorderMode::clamp, 0}));
  }
  if (instead.empty()) return;
  stage.body = ir::rewrite(graph_, stage.body, [&](ExprId old, const ExprNode&) {
    auto it = instead.find(old.id);
    return it == instead.end() ? ExprId{} : it->second;
  });
}

}  // namespace tessera::rewrite
