// Groups of sums that are taken through Fourier transforms of tiles (rewrite/sums/tiles/tiles.hpp), with what comes
// before and after.
//
//   a prologue computes what one of the sums reads, at every point from images at the same point: it is computed while
//   a pair of tiles is loaded, on the images continued by the border of the sum
//   sums whose tiles have one shape run pair by pair beside each other
//   what reads the sums at its own point is computed on the results of a pair, which lie in the cache
//
// So neither what goes in nor the sums go through memory. Results of tiles are never larger than their pair, so that
// nothing is computed twice but a prologue where tiles overlap.
#include "plan/groups/tile_groups.hpp"

#include <algorithm>
#include <cmath>

#include "ir/keyed.hpp"
#include "rewrite/sums/tiles/tiles.hpp"

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

bool TileGroups::has_tiles(const Set& set) const {
  return rewrite::first_with_tiles(graph_, set).has_value();
}

// Is it computed while tiles are loaded?
bool TileGroups::reads_before_tiles(StageId s, const Set& set) const {
  return std::any_of(facts_.of(s).read_by.begin(), facts_.of(s).read_by.end(), [&](std::size_t k) {
    const StageId reader = edges_[k].consumer;
    return graph_.stage(reader).note > 0 && std::binary_search(set.begin(), set.end(), reader);
  });
}

bool TileGroups::belongs_to_tiles(StageId s, const Set& set) const {
  return graph_.stage(s).note > 0 || reads_before_tiles(s, set);
}

// Why the set cannot run tile by tile, or "".
std::string TileGroups::no_tiles(const Set& set, const std::vector<bool>& leaves) const {
  const auto inside = [&](StageId s) { return std::binary_search(set.begin(), set.end(), s); };
  const auto leaves_group = [&](StageId s) { return leaves[place_in(set, s)]; };
  const auto named = [&](StageId s, const char* why) { return "'" + graph_.stage(s).name + "' " + why; };
  const StageId first = *rewrite::first_with_tiles(graph_, set);
  const Stage& shape = graph_.stage(first);
  const rewrite::Tiling& tiles = facts_.plan.tiling(first);
  const std::string by_itself = "'" + shape.name + "' is computed " +
                                (tiles.contraction ? "as a contraction"
                                 : tiles.matrix    ? "by matrix units"
                                                   : "through Fourier transforms");
  if (tiles.contraction || facts_.machine.columns_together || rewrite::is_signal_tile(graph_, shape, tiles))
    return by_itself;
  for (const StageId s : set) {
    const Stage& stage = graph_.stage(s);
    const bool tile = stage.note > 0;
    if (stage.domain != shape.domain) return named(s, "has another extent than the transform's tiles");
    if (stage.kind != StageKind::point || is_lanes(graph_.node(stage.body).op) || is_whole(graph_.node(stage.body).op))
      return by_itself;
    if (ir::is_keyed(graph_, stage)) return named(s, "puts elements into bins");
    if (tile && !same_shape(facts_.plan.tiling(s), tiles)) return "their Fourier transforms have other tiles";
    // (A sum that leaves is stored by its tiles; one that is read here as well would be kept for that, and copied.)
    const bool kept = std::any_of(facts_.of(s).read_by.begin(), facts_.of(s).read_by.end(),
                                  [&](std::size_t k) { return inside(edges_[k].consumer); });
    if (tile && leaves_group(s) && (kept || facts_.of(s).is_field))
      return named(s, "is computed through Fourier transforms, and read elsewhere");
    for (const std::size_t k : facts_.of(s).reads) {
      const Edge& edge = edges_[k];
      if (!inside(edge.producer)) continue;
      const Stage& producer = graph_.stage(edge.producer);
      if (tile) {
        bool alone = facts_.plan.tiling(edge.producer).planes == 1 && facts_.plan.tiling(s).planes == 1 &&
                     rewrite::is_prologue(graph_, producer);
        alone = alone && !leaves_group(edge.producer) && facts_.of(edge.producer).read_by.size() == 1;
        for (const std::size_t of : facts_.of(edge.producer).reads) alone = alone && !inside(edges_[of].producer);
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

Layout TileGroups::layout_of_tiles(const Set& set, std::vector<bool> leaves) const {
  Layout result;
  result.anchor = set.back();
  result.leaves = std::move(leaves);
  for (std::size_t i = 0; i < set.size(); ++i)
    if (result.leaves[i]) result.anchor = set[i];
  result.reason = no_tiles(set, result.leaves);
  result.legal = result.reason.empty();
  result.step = graph_.stage(result.anchor).domain.size() > 2 ? 1 : 4;
  for (const StageId s : set) {
    StagePlan p;
    p.lane = facts_.of(s).lane;
    p.rate.assign(graph_.stage(s).domain.size(), {});
    p.periodic.assign(graph_.stage(s).domain.size(), false);
    bool kept = facts_.of(s).is_field;
    for (const std::size_t k : facts_.of(s).read_by)
      kept |= std::binary_search(set.begin(), set.end(), edges_[k].consumer);
    p.home = kept ? Home::ring : Home::array;
    p.also_array = kept && result.leaves[result.stages.size()];
    result.stages.push_back(std::move(p));
  }
  return result;
}

// Of a set that holds such sums.
Price TileGroups::price_of_tiles(const Set& set, const Layout& layout) const {
  Price price;
  const machine::Machine& device = facts_.machine;
  double cycles = 0, repeated = 1;
  const auto of = [](i64 a, i64 b) { return static_cast<double>(a) * static_cast<double>(b); };
  for (std::size_t i = 0; i < set.size(); ++i) {
    const StageId s = set[i];
    const rewrite::Tiling& tile = facts_.plan.tiling(s);
    bool before = false;  // a prologue: of a whole tile
    for (const std::size_t k : facts_.of(s).read_by) {
      const rewrite::Tiling& reader = facts_.plan.tiling(edges_[k].consumer);
      if (reader.rows == 0 || !std::binary_search(set.begin(), set.end(), edges_[k].consumer)) continue;
      before = true;
      repeated = of(reader.rows == 1 ? reader.high : reader.rows, reader.columns + reader.wide) /
                 of(reader.high, 2 * reader.wide);
    }
    if (layout.leaves[i]) price.bytes += points(s) * facts_.element_bytes(s);
    if (tile.contraction) {
      price.operations += points(s) * facts_.of(s).operations;
      cycles += points(s) * tile.nanoseconds * device.gigahertz;
      continue;
    }
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
    const double vectors = points(s) * facts_.of(s).work_bytes / device.vector_bytes;
    double turn = facts_.of(s).operations * cycles_per_operation;
    for (const std::size_t k : facts_.of(s).reads) turn += edges_[k].loads * cycles_per_load;
    if (layout.stages[i].home == Home::ring) turn += cycles_of_ring;
    price.operations += points(s) * facts_.of(s).operations;
    cycles += vectors * turn * (before ? repeated : 1);
  }
  for (const StageId a : arrays_of(facts_, set)) price.bytes += points(a) * facts_.loaded_bytes(a);
  // Rows of tiles are shared among the cores.
  const double idle = band_of(facts_, layout.anchor, 0).idle;
  roofline(price, cycles * idle / device.gigahertz, device);
  return price;
}

}  // namespace tessera::plan
