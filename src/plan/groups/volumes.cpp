// What groups of volumes cost on vector cores.
//
// (Of programs in which a stage sums over planes. Others are priced as images are: relaxations of ten steps, whose
// every stage reads all neighbours, took 1.6 times as long in the groups that these prices found.)
//
// In an image every stage of a group has nearly the same halo, a few rows of hundreds. Tiles of volumes are small along
// each dimension, so a stage is priced with the halo that it has itself: the first pass of a Gaussian of 17 taps on
// tiles of 24 rows is 40 rows high, the other two are 24. Planes are larger than caches: what reads nine planes of an
// array takes eight from L3, unless the tile is a band of rows whose planes stay in L2.
#include "plan/groups/volumes.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "plan/passes/tiles.hpp"

namespace tessera::plan {

using ir::StageId;

namespace {

constexpr double cycles_per_far_load = 1;      // from L2, where those of prices.hpp come from L1
constexpr double far_bytes_a_nanosecond = 32;  // from L3
constexpr double block = 4;                    // rows, or planes
// Other arrays go through the caches as well as the section of a tile.
constexpr double others_in_cache = 1.5;
// As of images (prices.cpp): merging sees only what the next stage adds, and halos grow faster than chains do.
constexpr double most_redundant = 1.5, price_of_redundancy = 4;

double taps(const EdgeDimension& dim) {
  return dim.whole ? 1 : static_cast<double>(dim.raw_hi - dim.raw_lo + 1);
}

// How far rings reach beyond a tile, by their bytes; these decide the tile.
void add_rings(const GraphFacts& facts, const Set& set, const Layout& layout, Price& price) {
  const std::size_t rank = facts.graph.stage(layout.anchor).domain.size();
  std::vector<double> halo(rank);
  for (std::size_t i = 0; i < set.size(); ++i) {
    const StagePlan& stage = layout.stages[i];
    const StagePlan::Rate &row = stage.rate[0], &column = stage.rate.back();
    price.halo_rows = std::max(price.halo_rows, row.after - row.before);
    price.halo_columns = std::max(price.halo_columns, column.after - column.before);
    if (stage.home != Home::ring) continue;
    const double depth = stage.depth > 0 ? static_cast<double>(stage.depth) : rows_of_whole_ring;
    double bytes = depth * facts.element_bytes(set[i]);
    for (std::size_t d = 1; d < rank; ++d)
      bytes *= static_cast<double>(stage.rate[d].num) / static_cast<double>(stage.rate[d].den);
    price.ring_bytes_per_column += bytes;
    for (std::size_t d = 0; d < rank; ++d)
      halo[d] += bytes * static_cast<double>(stage.rate[d].after - stage.rate[d].before);
  }
  for (std::size_t d = 0; d < rank; ++d)
    price.ring_halo.push_back(
        price.ring_bytes_per_column > 0 ? static_cast<i64>(halo[d] / price.ring_bytes_per_column + 0.999) : 0);
}

// How often a point of a stage is computed, by its own tile and by others.
double repetition(const StagePlan& stage, const TileShape& tile) {
  double again = 1;
  for (std::size_t d = 0; d < tile.extents.size(); ++d) {
    const StagePlan::Rate& r = stage.rate[d];
    const double own = static_cast<double>(tile.extents[d] * r.num) / static_cast<double>(r.den);
    if (tile.counts[d] > 1) again *= 1 + static_cast<double>(r.after - r.before) / std::max(1.0, own);
  }
  return again;
}

// How tiles take an array.
struct Taken {
  double often = 0;   // a point of it
  double planes = 0;  // that are read at once
};

// Cycles of a vector of a stage that is computed `again` times; what it takes of arrays.
double cycles_of(const GraphFacts& facts, const Set& set, std::size_t i, const StagePlan& stage, double again,
                 std::map<StageId, Taken>& arrays) {
  const StageFacts& own = facts.of(set[i]);
  const std::size_t rank = facts.graph.stage(set[i]).domain.size();
  const std::size_t along = blocks_along(facts, set[i], set.size());
  double each = own.operations * cycles_per_operation;
  for (std::size_t k : own.reads) {
    const Edge& edge = facts.edges[k];
    const bool inside = contains(set, edge.producer);
    double loads = edge.loads, planes = 1;
    if (edge.dims.size() == rank) {
      const double n = taps(edge.dims[along]);
      loads = std::max(1.0, loads * std::min(1.0, (n + block - 1) / (block * n)));
      planes = taps(edge.dims[0]);
    }
    each += loads * (inside && planes > 1 ? cycles_per_far_load : cycles_per_load);
    if (inside) continue;
    Taken& taken = arrays[edge.producer];
    taken.often = std::max(taken.often, again);
    taken.planes = std::max(taken.planes, along == 0 ? (planes + block - 1) / block : planes);
  }
  return stage.home == Home::ring ? each + cycles_of_ring : each;
}

}  // namespace

bool sums_planes(const GraphFacts& facts, const Layout& layout) {
  return facts.sums_planes && facts.graph.stage(layout.anchor).domain.size() > 2;
}

bool sums_planes(const GraphFacts& facts, StageId s) {
  constexpr std::size_t of_several = 0;  // whichever the group may be
  return facts.graph.stage(s).domain.size() > 2 && blocks_along(facts, s, of_several) == 0;
}

Price price_of_volume(const GraphFacts& facts, const Set& set, const Layout& layout) {
  Price price;
  const machine::Machine& machine = facts.machine;
  add_rings(facts, set, layout, price);
  Group group;
  group.anchor = layout.anchor;
  group.ring_bytes_per_column = price.ring_bytes_per_column;
  group.ring_halo = price.ring_halo;
  group.halo_rows = price.halo_rows;
  const TileShape tile = tile_shape(facts.plan, group, facts.options.parameters, machine.threads);
  double section = others_in_cache;  // of a tile across planes
  for (std::size_t d = 1; d < tile.extents.size(); ++d) section *= static_cast<double>(tile.extents[d]);

  double cycles = 0, least = 0, far_bytes = 0;
  std::map<StageId, Taken> arrays;
  for (std::size_t i = 0; i < set.size(); ++i) {
    const StageFacts& own = facts.of(set[i]);
    const double again = repetition(layout.stages[i], tile);
    const double vectors = own.points * own.work_bytes / machine.vector_bytes;
    const double each = cycles_of(facts, set, i, layout.stages[i], again, arrays);
    price.operations += own.points * own.operations * again;
    cycles += vectors * each * again;
    least += vectors * each;
    if (layout.leaves[i]) price.bytes += own.points * facts.element_bytes(set[i]);
  }
  for (const auto& [a, taken] : arrays) {
    const double bytes = facts.loaded_bytes(a), points = facts.of(a).points;
    price.bytes += points * bytes;
    const bool stays = taken.planes * section * bytes < static_cast<double>(machine.l2_bytes);
    far_bytes += points * bytes * (taken.often * (stays ? 1 : taken.planes) - 1);
  }
  // Tiles that are too few leave cores idle.
  const double tiles = static_cast<double>(tile.tiles), threads = machine.threads;
  const double idle = std::clamp(threads / tiles, 1.0, threads);
  roofline(price, (cycles / machine.gigahertz + far_bytes / far_bytes_a_nanosecond) * idle, machine);
  const double redundant = least > 0 ? cycles / least : 1;
  if (redundant > most_redundant) price.nanoseconds *= 1 + price_of_redundancy * (redundant - most_redundant);
  return price;
}

}  // namespace tessera::plan
