// See prices.hpp.
#include "plan/groups/prices.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "ir/keyed.hpp"
#include "plan/groups/strips.hpp"
#include "plan/groups/tile_groups.hpp"
#include "plan/groups/volumes.hpp"
#include "plan/passes/tiles.hpp"

namespace tessera::plan {

using ir::StageId;

namespace {

// Of sums of bytes (rewrite/sums/bytes.hpp): a product of four takes its loads from those of its neighbours.
constexpr double loads_of_a_product = 0.3;
// Of a warp on a device, whose cycle is a turn of one of four: tiles use eight tenths of the turns.
constexpr double cycles_per_instruction = 1.25;
// Rows of a register block, which share what neighbouring rows read of the same columns.
constexpr double block_rows = 4;

// Of the roofline: what is shorter, memory or computing, hides behind the other one but for a quarter; to begin a group
// takes 200 ns. Chosen, as are the numbers below: no measurement of their own is on record.
constexpr double not_hidden = 0.25, nanoseconds_to_begin = 200;

// Bands are cut as tiles of images are (tiles.hpp).
constexpr double least_rows_of_band = least_rows(2), least_bands = 2;

// Merging one stage at a time sees only what the next one adds. Halos grow with the square of a chain's length, so that
// past a fifth of all work the chain is better cut and begun anew.
constexpr double most_redundant = 1.2, price_of_redundancy = 4;
// Rings that force tiles of so few columns, or of so few rows of a volume's plane, are no rings worth having.
constexpr double least_width = 256, price_of_narrow = 4, least_rows_of_plane = 4, price_of_low = 2;

double load_price(const GraphFacts& facts, const Edge& edge, const Layout& layout) {
  const StageFacts& consumer = facts.of(edge.consumer);
  if (consumer.quads.chains > 0) return loads_of_a_product * consumer.quads.products;
  if (edge.dims.size() < 2 || layout.stages.empty()) return edge.loads;
  const EdgeDimension& row = edge.dims[edge.dims.size() - 2];
  double taps = static_cast<double>(row.raw_hi - row.raw_lo + 1);
  double shared = (taps + block_rows - 1) / (block_rows * taps);
  return std::max(1.0, edge.loads * std::min(1.0, shared));
}

// Rings that do not fit their share of L2 force narrower tiles, whose halos are computed twice. How often a point then
// is computed.
double redundancy_of_rings(const GraphFacts& facts, const Layout& layout, const Price& price) {
  const std::size_t rank = facts.graph.stage(layout.anchor).domain.size();
  const double columns = facts.extent(layout.anchor, rank - 1);
  double middle = 1, middle_halo = 0;
  for (std::size_t d = 1; d + 1 < rank; ++d) {
    middle *= facts.extent(layout.anchor, d);
    double halo = 0;
    for (const StagePlan& stage : layout.stages)
      halo = std::max(halo, static_cast<double>(stage.rate[d].after - stage.rate[d].before));
    middle_halo = std::max(middle_halo, halo);
  }
  const double budget = ring_share * static_cast<double>(facts.machine.l2_bytes);
  const double ring = price.ring_bytes_per_column * columns * middle;
  if (ring <= budget || price.ring_bytes_per_column <= 0) return 1;
  if (rank > 2) {
    const double rows = std::max(1.0, std::floor(budget / (price.ring_bytes_per_column * columns)));
    return (1 + middle_halo / rows) * (rows < least_rows_of_plane ? price_of_low : 1);
  }
  const double width = budget / price.ring_bytes_per_column;
  return (1 + static_cast<double>(price.halo_columns) / std::max(1.0, width)) *
         (width < least_width ? price_of_narrow : 1);
}

}  // namespace

void roofline(Price& price, double compute, const machine::Machine& machine) {
  price.compute = compute;
  // Cores share the memory: each gets less than it had alone.
  price.memory = price.bytes * std::sqrt(static_cast<double>(machine.threads)) / machine.bandwidth;
  price.nanoseconds =
      std::max(price.compute, price.memory) + not_hidden * std::min(price.compute, price.memory) + nanoseconds_to_begin;
}

Band band_of(const GraphFacts& facts, StageId anchor, double halo_rows) {
  const double extent = facts.extent(anchor, 0), threads = facts.machine.threads;
  const double share = extent / threads;
  Band band;
  band.rows = std::max(
      {least_rows_of_band, extent / std::max(least_bands, tiles_of_core * threads), halos_of_tile * halo_rows});
  // Lower tiles rather than idle cores.
  if (band.rows > share) band.rows = std::max({least_rows_of_band, share, halos_of_low_tile * halo_rows});
  if (band.rows > least_rows_of_band) band.idle = std::clamp(band.rows / share, 1.0, threads);
  return band;
}

std::vector<StageId> arrays_of(const GraphFacts& facts, const Set& set) {
  std::set<StageId> arrays;
  for (const StageId s : set)
    for (const std::size_t k : facts.of(s).reads)
      if (!contains(set, facts.edges[k].producer)) arrays.insert(facts.edges[k].producer);
  return {arrays.begin(), arrays.end()};
}

Price price(const GraphFacts& facts, const Set& set, const Layout& layout) {
  if (const TileGroups tiles(facts); tiles.has_tiles(set)) return tiles.price_of_tiles(set, layout);
  if (sums_planes(facts, layout)) return price_of_volume(facts, set, layout);
  Price price;
  const machine::Machine& machine = facts.machine;
  double cycles = 0, ring_cycles = 0, keyed_cycles = 0;  // no element goes into its bin twice
  std::optional<i64> pieces;
  for (std::size_t i = 0; i < set.size(); ++i) {
    const StageFacts& own = facts.of(set[i]);
    const StagePlan& stage = layout.stages[i];
    const StagePlan::Rate &row = stage.rate[0], &column = stage.rate.back();
    const double bytes = facts.element_bytes(set[i]), vectors = own.points * own.work_bytes / machine.vector_bytes;
    price.operations += own.points * own.operations;
    const auto keyed = ir::keyed_of(facts.graph, facts.graph.stage(set[i]));
    if (keyed) pieces = ir::pieces_of(facts.graph, *keyed);
    (keyed ? keyed_cycles : cycles) += vectors * (facts.plans_strips ? own.instructions * cycles_per_instruction
                                                                     : own.operations * cycles_per_operation);
    for (std::size_t k : own.reads) cycles += vectors * load_price(facts, facts.edges[k], layout) * cycles_per_load;
    if (stage.home == Home::ring) {
      ring_cycles += vectors * cycles_of_ring;
      const double depth = stage.depth > 0 ? static_cast<double>(stage.depth) : rows_of_whole_ring;
      price.ring_bytes_per_column +=
          depth * bytes * (static_cast<double>(column.num) / static_cast<double>(column.den));
    }
    if (layout.leaves[i]) price.bytes += own.stored * bytes;
    price.halo_rows = std::max(price.halo_rows, row.after - row.before);
    price.halo_columns = std::max(price.halo_columns, column.after - column.before);
  }
  for (StageId a : arrays_of(facts, set)) price.bytes += facts.of(a).stored * facts.loaded_bytes(a);
  const double halo = static_cast<double>(price.halo_rows);
  Band band = band_of(facts, layout.anchor, halo);
  if (pieces) band = {std::max(1.0, facts.extent(layout.anchor, 0) / static_cast<double>(*pieces)), 1};
  double redundant = redundancy_of_rings(facts, layout, price);
  redundant *= 1 + halo / band.rows;
  redundant *= band.idle;
  const double all = (cycles + ring_cycles) * redundant * repetition(facts, layout) + keyed_cycles;
  roofline(price, all / machine.gigahertz, machine);
  if (redundant > most_redundant) price.nanoseconds *= 1 + price_of_redundancy * (redundant - most_redundant);
  return price;
}

}  // namespace tessera::plan
