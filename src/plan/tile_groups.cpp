// Groups of sums that are taken through Fourier transforms of tiles (rewrite/sums/tiles.hpp), with what comes before
// and after.
//
//   a prologue computes what one of the sums reads, at every point from images at the same point: it is computed while
//   a pair of tiles is loaded, on the images continued by the border of the sum
//   sums whose tiles have one shape run pair by pair beside each other
//   what reads the sums at its own point is computed on the results of a pair, which lie in the cache
//
// So neither what goes in nor the sums go through memory. Results of tiles are never larger than their pair, so that
// nothing is computed twice but a prologue where tiles overlap.
#include <algorithm>
#include <cmath>

#include "plan/groups.hpp"
#include "rewrite/sums/tiles.hpp"

namespace tessera::plan {

using ir::ExprId;
using ir::ExprNode;
using ir::Op;
using ir::Stage;
using ir::StageId;
using ir::StageKind;

namespace {

bool same_shape(const rewrite::Tiling& a, const rewrite::Tiling& b) {
  return a.rows == b.rows && a.columns == b.columns && a.high == b.high && a.wide == b.wide && a.planes == b.planes &&
         a.along == b.along && a.pairs == b.pairs && a.number == b.number;
}

}  // namespace

bool Grouper::has_tiles(const Set& set) const {
  return rewrite::first_with_tiles(graph_, set).has_value();
}

// Is it computed while tiles are loaded?
bool Grouper::reads_before_tiles(StageId s, const Set& set) const {
  return std::any_of(read_by_[s].begin(), read_by_[s].end(), [&](std::size_t k) {
    const StageId reader = edges_[k].consumer;
    return graph_.stage(reader).note > 0 && std::binary_search(set.begin(), set.end(), reader);
  });
}

// Why the set cannot run tile by tile, or "".
std::string Grouper::no_tiles(const Set& set) const {
  const auto inside = [&](StageId s) { return std::binary_search(set.begin(), set.end(), s); };
  const auto named = [&](StageId s, const char* why) { return "'" + graph_.stage(s).name + "' " + why; };
  const StageId first = *rewrite::first_with_tiles(graph_, set);
  const Stage& shape = graph_.stage(first);
  const rewrite::Tiling& tiles = plan_.tiling(first);
  const std::string by_itself =
      "'" + shape.name + "' is computed " + (tiles.matrix ? "by matrix units" : "through Fourier transforms");
  if (plan_.device.columns_together || rewrite::is_signal_tile(graph_, shape, tiles)) return by_itself;
  for (const StageId s : set) {
    const Stage& stage = graph_.stage(s);
    const bool tile = stage.note > 0;
    if (stage.domain != shape.domain) return named(s, "has another extent than the transform's tiles");
    if (stage.kind != StageKind::point || is_lanes(graph_.node(stage.body).op) || is_whole(graph_.node(stage.body).op))
      return by_itself;
    if (tile && !same_shape(plan_.tiling(s), tiles)) return "their Fourier transforms have other tiles";
    // (A sum that leaves is stored by its tiles; one that is read here as well would be kept for that, and copied.)
    const bool kept =
        std::any_of(read_by_[s].begin(), read_by_[s].end(), [&](std::size_t k) { return inside(edges_[k].consumer); });
    if (tile && leaves_group(s, set) && (kept || leaves_as_field(s)))
      return named(s, "is computed through Fourier transforms, and read elsewhere");
    for (const std::size_t k : reads_[s]) {
      const Edge& edge = edges_[k];
      if (!inside(edge.producer)) continue;
      const Stage& producer = graph_.stage(edge.producer);
      if (tile) {
        bool alone = plan_.tiling(edge.producer).planes == 1 && plan_.tiling(s).planes == 1 &&
                     rewrite::is_prologue(graph_, producer);
        alone = alone && !leaves_group(edge.producer, set) && read_by_[edge.producer].size() == 1;
        for (const std::size_t of : reads_[edge.producer]) alone = alone && !inside(edges_[of].producer);
        if (!alone) return named(s, "reads it through Fourier transforms");
        continue;
      }
      for (const EdgeDimension& dim : edge.dims)
        if (!dim.own || dim.whole) return named(edge.producer, "is not read at the same point alone");
      if (edge.dims.size() != stage.domain.size()) return "their ranks differ";
    }
  }
  return "";
}

Grouper::Layout Grouper::layout_of_tiles(const Set& set) const {
  Layout result;
  result.anchor = set.back();
  for (const StageId s : set)
    if (leaves_group(s, set)) result.anchor = s;
  result.reason = no_tiles(set);
  result.legal = result.reason.empty();
  result.step = graph_.stage(result.anchor).domain.size() > 2 ? 1 : 4;
  for (const StageId s : set) {
    StagePlan p;
    p.lane = plan_.stages[s].lane;
    p.rate.assign(graph_.stage(s).domain.size(), {});
    p.periodic.assign(graph_.stage(s).domain.size(), false);
    bool kept = leaves_as_field(s);
    for (const std::size_t k : read_by_[s]) kept |= std::binary_search(set.begin(), set.end(), edges_[k].consumer);
    p.home = kept ? Home::ring : Home::array;
    p.also_array = kept && leaves_group(s, set);
    result.stages.push_back(std::move(p));
  }
  return result;
}

// Of a set that holds such sums.
Grouper::Price Grouper::price_of_tiles(const Set& set, const Layout& layout) const {
  constexpr double cycles_per_operation = 0.5, cycles_per_load = 0.5, cycles_of_ring = 3;
  Price price;
  const machine::Machine& device = plan_.device;
  double cycles = 0, repeated = 1;
  std::set<StageId> arrays;
  const auto of = [](i64 a, i64 b) { return static_cast<double>(a) * static_cast<double>(b); };
  for (std::size_t i = 0; i < set.size(); ++i) {
    const StageId s = set[i];
    const rewrite::Tiling& tile = plan_.tiling(s);
    bool before = false;  // a prologue: of a whole tile
    for (const std::size_t k : reads_[s])
      if (!std::binary_search(set.begin(), set.end(), edges_[k].producer)) arrays.insert(edges_[k].producer);
    for (const std::size_t k : read_by_[s]) {
      const rewrite::Tiling& reader = plan_.tiling(edges_[k].consumer);
      if (reader.rows == 0 || !std::binary_search(set.begin(), set.end(), edges_[k].consumer)) continue;
      before = true;
      repeated = of(reader.rows == 1 ? reader.high : reader.rows, reader.columns + reader.wide) /
                 of(reader.high, 2 * reader.wide);
    }
    if (leaves_group(s, set)) price.bytes += points(s) * ir::nest::size_of(plan_.stages[s].lane);
    if (tile.rows > 0) {
      // Two transforms of 5 n log2 n operations and a product, for two tiles of reals; a tile is more than its results.
      // Of a stack, forward for every volume, back once, and so many products.
      const double ways = 0.5 + 0.5 * static_cast<double>(tile.planes) / static_cast<double>(tile.along);
      const double each = 5 * std::log2(of(tile.rows, tile.columns)) * ways + 3 * static_cast<double>(tile.planes);
      const double more = of(tile.rows == 1 ? tile.high : tile.rows, tile.columns) / of(tile.high, tile.wide);
      price.operations += points(s) * each * more;
      cycles += points(s) * tile.nanoseconds * device.gigahertz;
      continue;
    }
    const double vectors = points(s) * work_bytes_[s] / device.vector_bytes;
    double turn = operations_[s] * cycles_per_operation;
    for (const std::size_t k : reads_[s]) turn += edges_[k].loads * cycles_per_load;
    if (layout.stages[i].home == Home::ring) turn += cycles_of_ring;
    price.operations += points(s) * operations_[s];
    cycles += vectors * turn * (before ? repeated : 1);
  }
  for (const StageId a : arrays) {
    const Stage& stage = graph_.stage(a);
    double bytes = ir::nest::size_of(plan_.stages[a].lane);
    if (stage.kind == StageKind::input && graph_.arguments[stage.argument].format.is_struct())
      bytes = static_cast<double>(graph_.arguments[stage.argument].format.size()) /
              static_cast<double>(graph_.arguments[stage.argument].format.fields.size());
    price.bytes += points(a) * bytes;
  }
  // Rows of tiles are shared among the cores.
  const double rows = std::max(32.0, extent(layout.anchor, 0) / std::max(2.0, 4.0 * device.threads));
  const double share = extent(layout.anchor, 0) / device.threads;
  const double idle =
      std::min(rows, std::max(32.0, share)) > 32
          ? std::clamp(std::min(rows, std::max(32.0, share)) / share, 1.0, static_cast<double>(device.threads))
          : 1;
  price.compute = cycles * idle / device.gigahertz;
  price.memory = price.bytes * std::sqrt(static_cast<double>(device.threads)) / device.bandwidth;
  price.nanoseconds = std::max(price.compute, price.memory) + 0.25 * std::min(price.compute, price.memory) + 200;
  return price;
}

}  // namespace tessera::plan
