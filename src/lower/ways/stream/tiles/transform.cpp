// See transform.hpp.
#include "lower/ways/stream/tiles/transform.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tessera::lower {

using ir::ExprNode;
using ir::StageId;
using ir::nest::integer;
using ir::nest::Lane;
using ir::nest::Value;

namespace {

// The border of a sum, on the images that its prologue reads.
void take_border(const StreamGroup& group, StageId tiled, StageId prologue) {
  ir::Graph& graph = group.graph;
  const rewrite::Convolution sum = rewrite::convolution_of(graph, group.stage(tiled), group.options.numbers).value();
  const ir::ExprId body = ir::rewrite(graph, group.stage(prologue).body, [&](ir::ExprId, const ExprNode& node) {
    if (node.op != ir::Op::access) return ir::ExprId{};
    ExprNode moved = node;
    const std::size_t lead = group.rank - node.index.size();
    for (std::size_t d = 0; d < node.index.size(); ++d) {
      const Border& border = sum.border[d + lead];
      const bool number = border.mode == BorderMode::constant || border.mode == BorderMode::none;
      moved.border[d] = number ? Border{BorderMode::clamp, 0} : border;
    }
    return graph.expr(std::move(moved));
  });
  graph.stage(prologue).body = body;
}

TileTransform transform_of(const StreamGroup& group, StageId number) {
  const ir::Stage& s = group.stage(number);
  TileTransform t;
  t.stage = number;
  t.prologue = prologue_of(group, number);
  t.kept = group.in_ring(number);
  t.sum = rewrite::convolution_of(group.graph, s, group.options.numbers).value();
  const rewrite::Tiling& tiling = group.plan.tiling(number);
  const bool doubles = tiling.number == ElementType::f64;
  const Lane lane = doubles ? Lane::f64 : Lane::f32;
  const int lanes = group.machine.vector_bytes / ir::nest::size_of(lane);
  t.tile = fft::plan_tile(tiling.rows, tiling.columns, {lane, lanes, false});
  const rewrite::Tensor& w = t.sum.weights;
  t.tile.grain = fft::grain_of(w.extent[group.rank - 1], lanes);
  t.rows = fft::tile_rows(t.tile);
  t.high = tiling.high;
  t.wide = tiling.wide;
  t.signal = rewrite::is_signal_tile(group.graph, s, tiling);
  t.reach = 2 * t.wide * (t.signal ? t.high : 1);
  t.rounded = !is_float(s.type);
  t.bytes = size_of(group.graph.stage(t.sum.source).type) == 1;
  t.function = "tsr_" + fft::name_of(t.tile) + (doubles ? "_f64" : "");
  t.weights_of_plane = w.extent[group.rank - 2] * w.extent[group.rank - 1];
  t.planes = tiling.planes;
  t.along = tiling.along;
  t.pairs = tiling.pairs;
  return t;
}

// The functions of its tiles, before those of the group.
void add_functions(const TileTransform& t, ir::nest::Module& module) {
  const bool there = std::any_of(module.functions.begin(), module.functions.end(), [&](const ir::nest::Function& f) {
    return f.name == t.function + (t.stacked() ? "_back" : "");
  });
  if (!there) {
    const std::size_t first = module.functions.size();
    t.stacked() ? fft::add_stack(module, t.tile, t.function) : fft::add_tile(module, t.tile, t.function);
    for (std::size_t f = first; f < module.functions.size(); ++f) module.functions[f].local = true;
  }
}

ir::Table table_of(std::string name, ElementType type, std::vector<double> values) {
  ir::Table t;
  t.name = std::move(name);
  t.type = type;
  t.extents = {static_cast<i64>(values.size())};
  if (type == ElementType::f32)
    for (double& v : values) v = static_cast<double>(static_cast<float>(v));
  t.values = std::move(values);
  return t;
}

// The spectrum of its weights; the weights, what they sum to, and whether all are of one sign.
void add_tables(const StreamGroup& group, TileTransform& t, ir::nest::Module& module) {
  const std::string& name = group.stage(t.stage).name;
  const ElementType number = t.sharp() ? ElementType::f64 : ElementType::f32;
  const rewrite::Tensor& w = t.sum.weights;
  const i64 k0 = w.extent[group.rank - 2], k1 = w.extent[group.rank - 1];
  t.spectrum = module.tables.size();
  std::vector<double> spectrum;
  for (auto plane = w.at.begin(); plane != w.at.end(); plane += k0 * k1) {
    const std::vector<double> of_plane = fft::tile_spectrum(t.tile, {plane, plane + k0 * k1}, k0, k1);
    spectrum.insert(spectrum.end(), of_plane.begin(), of_plane.end());
  }
  module.tables.push_back(table_of("spectrum of " + name, number, std::move(spectrum)));
  t.weights = module.tables.size();
  std::vector<double> weights = w.at;
  weights.push_back(
      std::accumulate(w.at.begin(), w.at.end(), 0.0, [](double a, double b) { return a + std::fabs(b); }));
  weights.push_back(std::all_of(w.at.begin(), w.at.end(), [](double v) { return v >= 0; }) ? 1 : 0);
  module.tables.push_back(table_of("weights of " + name, number, std::move(weights)));
  module.opaque.insert({t.spectrum, t.weights});
}

}  // namespace

std::optional<StageId> prologue_of(const StreamGroup& group, StageId tiled) {
  for (const plan::Edge& edge : group.edges)
    if (edge.consumer == tiled && group.contains(edge.producer)) return edge.producer;
  return {};
}

void take_borders(const StreamGroup& group) {
  for (const StageId s : group.tiled)
    if (const auto before = prologue_of(group, s)) take_border(group, s, *before);
}

std::vector<TileTransform> prepare_transforms(const StreamGroup& group, ir::nest::Module& module) {
  std::vector<TileTransform> transforms;
  for (const StageId s : group.tiled) {
    transforms.push_back(transform_of(group, s));
    add_functions(transforms.back(), module);
    add_tables(group, transforms.back(), module);
  }
  return transforms;
}

void shape_of_transform(const TileTransform& t, std::vector<Value>& extents, const std::vector<Value>& n,
                        const Value& threads, Builder& b) {
  const std::size_t rank = extents.size();
  if (t.signal) {
    const Value pairs = b.let("pairs", call_i64("tsr_ceil_div", {n.back(), integer(t.reach)}));
    extents[0] = integer(1);
    extents[1] = b.let("columns", call_i64("tsr_quotient", {pairs, threads * 4}) * t.reach);
    return;
  }
  Value strips = call_i64("tsr_ceil_div", {n[rank - 2], integer(t.high)});
  for (std::size_t d = 0; d + 2 < rank; ++d) {
    extents[d] = integer(1);
    if (!t.stacked() || d + 3 < rank) strips = strips * n[d];
  }
  extents[rank - 2] = integer(t.high);
  if (t.stacked()) {
    extents[rank - 1] = b.let("columns", min(n.back(), integer(2 * t.wide * t.pairs)));
    strips = strips * call_i64("tsr_ceil_div", {n.back(), max(extents[rank - 1], integer(1))});
    extents[rank - 3] = call_i64(
        "tsr_tile_rows", {n[rank - 3], b.let("strips", strips), threads, integer(4 * t.along), integer(2 * t.along)});
    return;
  }
  extents[rank - 1] = choose(less(b.let("strips", strips), threads * 4), min(n.back(), integer(2 * t.wide)), n.back());
}

}  // namespace tessera::lower
