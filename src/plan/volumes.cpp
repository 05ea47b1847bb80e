// What groups of volumes cost on vector cores, and along which dimension their passes have blocks.
//
// (Of programs in which a stage sums over planes. Others are priced as images are: relaxations of ten steps, whose
// every stage reads all neighbours, took 1.6 times as long in the groups that these prices found.)
//
// In an image every stage of a group has nearly the same halo, a few rows of hundreds. Tiles of volumes are small along
// each dimension, so a stage is priced with the halo that it has itself: the first pass of a Gaussian of 17 taps on
// tiles of 24 rows is 40 rows high, the other two are 24. Planes are larger than caches: what reads nine planes of an
// array takes eight from L3, unless the tile is a band of rows whose planes stay in L2.
#include <algorithm>
#include <cmath>
#include <map>

#include "plan/groups.hpp"
#include "plan/tiles.hpp"

namespace tessera::plan {

using ir::Stage;
using ir::StageId;
using ir::StageKind;

namespace {

constexpr double cycles_per_operation = 0.5;
constexpr double cycles_per_load = 0.5, cycles_per_far_load = 1;  // from L1, from L2
constexpr double cycles_of_ring = 3;                              // a vector that is stored in one and read again
constexpr double far_bytes_a_nanosecond = 32;                     // from L3
constexpr double block = 4;

double taps(const EdgeDimension& dim) {
  return dim.whole ? 1 : static_cast<double>(dim.raw_hi - dim.raw_lo + 1);
}

}  // namespace

bool Grouper::sums_planes(const Layout& layout) const {
  const Stage& anchor = graph_.stage(layout.anchor);
  return any_sums_planes_ && anchor.domain.size() > 2;
}

// In a group of several passes, whichever it may be.
bool Grouper::sums_planes(StageId s) const {
  return graph_.stage(s).domain.size() > 2 && blocks_along(s, {}) == 0;
}

// Rows of a block share what they read of the same rows: so do planes, in sums that read several planes but one row of
// each. In groups that is worth four planes a step only where there are many.
std::size_t Grouper::blocks_along(StageId s, const Set& set) const {
  const std::size_t rank = graph_.stage(s).domain.size();
  const std::size_t rows = rank < 2 ? 0 : rank - 2;
  if (rank <= 2 || plan_.device.columns_together || graph_.stage(s).kind != StageKind::point) return rows;
  double most = set.size() == 1 ? 2 : 4;
  std::size_t along = rows;
  for (std::size_t k : reads_[s]) {
    const Edge& edge = edges_[k];
    if (edge.dims.size() != rank) continue;
    if (taps(edge.dims[rows]) > 1) return rows;
    for (std::size_t d = 0; d < rows; ++d)
      if (edge.dims[d].mul == 1 && edge.dims[d].div == 1 && taps(edge.dims[d]) > most) {
        most = taps(edge.dims[d]);
        along = d;
      }
  }
  return along;
}

Grouper::Price Grouper::price_of_volume(const Set& set, const Layout& layout) const {
  Price price;
  const machine::Machine& device = plan_.device;
  const std::size_t rank = graph_.stage(layout.anchor).domain.size();
  // Rings first: they decide the tile.
  std::vector<double> halo(rank);
  for (std::size_t i = 0; i < set.size(); ++i) {
    const StagePlan& stage = layout.stages[i];
    const StagePlan::Rate &row = stage.rate[0], &column = stage.rate.back();
    price.halo_rows = std::max(price.halo_rows, row.after - row.before);
    price.halo_columns = std::max(price.halo_columns, column.after - column.before);
    if (stage.home != Home::ring) continue;
    const double depth = stage.depth > 0 ? static_cast<double>(stage.depth) : 64;
    double bytes = depth * ir::nest::size_of(plan_.stages[set[i]].lane);
    for (std::size_t d = 1; d < rank; ++d)
      bytes *= static_cast<double>(stage.rate[d].num) / static_cast<double>(stage.rate[d].den);
    price.ring_bytes_per_column += bytes;
    for (std::size_t d = 0; d < rank; ++d)
      halo[d] += bytes * static_cast<double>(stage.rate[d].after - stage.rate[d].before);
  }
  for (std::size_t d = 0; d < rank; ++d)
    price.ring_halo.push_back(
        price.ring_bytes_per_column > 0 ? static_cast<i64>(halo[d] / price.ring_bytes_per_column + 0.999) : 0);
  Group group;
  group.anchor = layout.anchor;
  group.ring_bytes_per_column = price.ring_bytes_per_column;
  group.ring_halo = price.ring_halo;
  group.halo_rows = price.halo_rows;
  const TileShape tile = tile_shape(plan_, group, plan_.options.parameters, device.threads);
  double section = 1.5;  // of a tile across planes; other arrays go through the caches as well
  for (std::size_t d = 1; d < rank; ++d) section *= static_cast<double>(tile.extents[d]);

  double cycles = 0, least = 0, far_bytes = 0;
  std::map<StageId, std::pair<double, double>> arrays;  // how often a tile takes each, how many planes are read at once
  for (std::size_t i = 0; i < set.size(); ++i) {
    const StageId s = set[i];
    const StagePlan& stage = layout.stages[i];
    double again = 1;  // with what other tiles compute as well
    for (std::size_t d = 0; d < rank; ++d) {
      const StagePlan::Rate& r = stage.rate[d];
      const double own = static_cast<double>(tile.extents[d] * r.num) / static_cast<double>(r.den);
      if (tile.counts[d] > 1) again *= 1 + static_cast<double>(r.after - r.before) / std::max(1.0, own);
    }
    const double vectors = points(s) * work_bytes_[s] / device.vector_bytes;
    const std::size_t along = blocks_along(s, set);
    double each = operations_[s] * cycles_per_operation;
    for (std::size_t k : reads_[s]) {
      const Edge& edge = edges_[k];
      const bool inside = std::binary_search(set.begin(), set.end(), edge.producer);
      double loads = edge.loads, planes = 1;
      if (edge.dims.size() == rank) {
        const double n = taps(edge.dims[along]);
        loads = std::max(1.0, loads * std::min(1.0, (n + block - 1) / (block * n)));
        planes = taps(edge.dims[0]);
      }
      each += loads * (inside && planes > 1 ? cycles_per_far_load : cycles_per_load);
      if (inside) continue;
      auto& [often, deep] = arrays[edge.producer];
      often = std::max(often, again);
      deep = std::max(deep, along == 0 ? (planes + block - 1) / block : planes);
    }
    if (stage.home == Home::ring) each += cycles_of_ring;
    price.operations += points(s) * operations_[s] * again;
    cycles += vectors * each * again;
    least += vectors * each;
    if (leaves_group(s, set)) price.bytes += points(s) * ir::nest::size_of(plan_.stages[s].lane);
  }
  for (const auto& [a, reads] : arrays) {
    const Stage& stage = graph_.stage(a);
    double bytes = ir::nest::size_of(plan_.stages[a].lane);
    if (stage.kind == StageKind::input && graph_.arguments[stage.argument].format.is_struct())
      bytes = static_cast<double>(graph_.arguments[stage.argument].format.size()) /
              static_cast<double>(graph_.arguments[stage.argument].format.fields.size());
    const auto [often, deep] = reads;
    price.bytes += points(a) * bytes;
    const bool stays = deep * section * bytes < static_cast<double>(device.l2_bytes);
    far_bytes += points(a) * bytes * (often * (stays ? 1 : deep) - 1);
  }
  // Tiles that are too few leave cores idle.
  const double tiles = static_cast<double>(tile.tiles), threads = device.threads;
  const double idle = std::clamp(threads / tiles, 1.0, threads);
  price.compute = (cycles / device.gigahertz + far_bytes / far_bytes_a_nanosecond) * idle;
  price.memory = price.bytes * std::sqrt(threads) / device.bandwidth;  // cores share it
  price.nanoseconds = std::max(price.compute, price.memory) + 0.25 * std::min(price.compute, price.memory) + 200;
  // As of images: merging sees only what the next stage adds, and halos grow faster than chains do.
  const double redundant = least > 0 ? cycles / least : 1;
  if (redundant > 1.5) price.nanoseconds *= 1 + 4 * (redundant - 1.5);
  return price;
}

}  // namespace tessera::plan
