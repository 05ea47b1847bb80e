// Columns of a tile: as many as let the rings fit the share of L2 that is theirs. Rows: a few tiles for every thread,
// high against the rows that a tile computes beyond its own.
#include "plan/passes/tiles.hpp"

#include <algorithm>

#include "base/division.hpp"
#include "ir/keyed.hpp"
#include "rewrite/sums/contraction.hpp"
#include "rewrite/sums/tiles/tiles.hpp"

namespace tessera::plan {

namespace {

using base::ceil_divide, base::round_up;

i64 quotient(i64 a, i64 b) {
  return b < 1 ? a : std::max<i64>(1, a / b);
}

// Equal parts of at most `most`, each a multiple of `unit`.
i64 balanced(i64 n, i64 most, i64 unit) {
  i64 parts = ceil_divide(n, most);
  return std::max<i64>(1, parts > 1 ? round_up(ceil_divide(n, parts), unit) : n);
}

i64 balanced_rows(i64 n, i64 others, i64 threads, i64 least, i64 smallest) {
  i64 wanted = threads > 1 ? tiles_of_core * threads : 1;
  i64 parts = std::max<i64>(1, (wanted + others - 1) / std::max<i64>(1, others));
  i64 rows = std::max(ceil_divide(n, parts), least);
  if (ceil_divide(n, rows) * others < threads)
    rows = std::max(ceil_divide(n, ceil_divide(threads, std::max<i64>(1, others))), smallest);
  rows = round_up(rows, row_unit);
  return rows > n ? std::max<i64>(1, n) : rows;
}

}  // namespace

i64 most_tile_points(const Group& group) {
  // Some hundred operations a nanosecond: a fifth of a second on a core. Tiles of fewer operations a point than that
  // are as short anyhow.
  constexpr double operations = 2e10, few = 2000;
  return group.operations < few ? 0 : std::max<i64>(1, static_cast<i64>(operations / group.operations));
}

i64 most_tile_columns(const machine::Machine& device, const Group& group, std::size_t rank) {
  const i64 budget = ring_budget(device);
  const i64 per_column = std::max<i64>(1, static_cast<i64>(group.ring_bytes_per_column));
  const i64 most = std::max(least_columns, budget / per_column / column_unit * column_unit);
  if (rank != 3 || group.ring_halo.empty()) return most;
  // A volume's tile has rows as well. Where few of them would fit and many are computed twice, it is made narrow.
  constexpr i64 columns_of_ends = 16;  // what the ends of a row cost
  const i64 section = budget / per_column, halo = group.ring_halo[1], ends = columns_of_ends + group.ring_halo[2];
  if (section / least_columns - halo >= halos_of_low_tile * halo) return most;
  i64 columns = column_unit;
  while (columns < least_columns && columns * columns * halo < section * ends) columns += column_unit;
  return columns;
}

std::optional<SignalColumns> signal_columns(const Plan& plan, const Group& group) {
  const std::vector<ir::SizeId>& domain = plan.graph.stage(group.anchor).domain;
  if (domain.size() != 2 || plan.graph.constant(domain[0]).value_or(5) > 4) return {};
  constexpr i64 least = 8192, smallest = 2048;  // a row's setup is little against so many columns
  return SignalColumns{std::max(least, halos_of_tile * group.halo_columns),
                       std::max(smallest, halos_of_low_tile * group.halo_columns)};
}

std::optional<i64> pieces_of_group(const ir::Graph& graph, const Group& group) {
  for (const ir::StageId s : group.stages)
    if (const auto keyed = ir::keyed_of(graph, graph.stage(s))) return ir::pieces_of(graph, *keyed);
  return {};
}

TileShape tile_shape(const Plan& plan, const Group& group, const std::vector<i64>& parameters, i64 threads, i64 rows,
                     i64 columns) {
  const ir::Graph& graph = plan.graph;
  std::vector<i64> n;
  for (ir::SizeId d : graph.stage(group.anchor).domain) n.push_back(graph.evaluate(d, parameters));
  const std::size_t rank = n.size();
  const i64 budget = ring_budget(plan.device);
  const i64 per_column = std::max<i64>(1, static_cast<i64>(group.ring_bytes_per_column));
  const bool rings = group.ring_bytes_per_column > 0;
  TileShape shape;
  shape.extents.resize(rank);
  i64 most = rings ? most_tile_columns(plan.device, group, rank) : std::max<i64>(1, n.back());
  if (const auto signal = signal_columns(plan, group))
    most = std::min(most, balanced_rows(n.back(), 1, threads, signal->least, signal->smallest));
  shape.extents[rank - 1] = balanced(n.back(), most, column_unit);
  i64 row_budget = rings ? quotient(budget, shape.extents[rank - 1] * per_column) : 1 << 20;
  for (std::size_t d = rank - 1; d-- > 1;) {
    const i64 halo = d < group.ring_halo.size() ? group.ring_halo[d] : 0;
    shape.extents[d] = balanced(n[d], std::max(row_budget - halo, least_middle), middle_unit);
    row_budget = quotient(row_budget, shape.extents[d] + halo);
  }
  i64 others = 1;
  for (std::size_t d = 1; d < rank; ++d) others *= ceil_divide(n[d], std::max<i64>(1, shape.extents[d]));
  const i64 least = std::max(least_rows(rank), halos_of_tile * group.halo_rows);
  const i64 smallest = std::max(least_rows(rank), halos_of_low_tile * group.halo_rows);
  shape.extents[0] = balanced_rows(n[0], others, threads, least, smallest);
  const auto tiled = rewrite::first_with_tiles(graph, group.stages);
  if (const i64 points = most_tile_points(group); points > 0 && !tiled) {
    i64 row = 1;
    for (std::size_t d = 1; d < rank; ++d) row *= std::max<i64>(1, shape.extents[d]);
    const i64 wanted = row_unit * quotient(points / row_unit, row);
    shape.extents[0] = std::min(shape.extents[0], rings ? std::max(wanted, least) : wanted);
    if (!rings) {
      i64& across = shape.extents[rank - 1];
      const i64 others_of_column = shape.extents[0] * (row / std::max<i64>(1, across));
      across = std::min(across, column_unit * quotient(points / column_unit, std::max<i64>(1, others_of_column)));
    }
  }
  if (tiled && plan.tiling(*tiled).contraction) {
    shape.extents = rewrite::contraction_extents(plan.tiling(*tiled), n, threads);
  } else if (tiled) {  // rows of tiles of transforms
    const rewrite::Tiling& tile = plan.tiling(*tiled);
    const bool stacked = tile.planes > 1, signal = rewrite::is_signal_tile(graph, graph.stage(*tiled), tile);
    i64 strips = ceil_divide(n[rank - 2], tile.high);
    for (std::size_t d = 0; d + (stacked ? 3 : 2) < rank; ++d) strips *= n[d];
    std::fill(shape.extents.begin(), shape.extents.end() - 2, 1);
    shape.extents[rank - 2] = tile.high;
    shape.extents[rank - 1] =
        stacked || strips < 4 * threads ? std::min(n.back(), 2 * tile.wide * tile.pairs) : n.back();
    const i64 results = 2 * tile.wide * tile.high;  // of a pair, of a signal
    if (signal) {
      shape.extents[0] = 1;
      shape.extents[1] = results * quotient(ceil_divide(n.back(), results), 4 * threads);
    }
    if (stacked)
      shape.extents[rank - 3] = balanced_rows(n[rank - 3], strips * ceil_divide(n.back(), shape.extents[rank - 1]),
                                              threads, 4 * tile.along, 2 * tile.along);
  }
  const auto pieces = pieces_of_group(graph, group);
  if (pieces) {
    shape.extents = n;
    shape.extents[0] = ceil_divide(n[0], *pieces);
  }
  if (rows > 0 && !pieces) shape.extents[0] = rows;
  if (columns > 0 && !pieces) shape.extents[rank - 1] = round_up(columns, column_unit);
  for (std::size_t d = 0; d < rank; ++d) {
    shape.extents[d] = std::max<i64>(1, shape.extents[d]);
    shape.counts.push_back(ceil_divide(n[d], shape.extents[d]));
    shape.tiles *= shape.counts.back();
  }
  double written = 0;
  for (ir::StageId s : group.results) {
    double bytes = ir::nest::size_of(plan.stages[s].lane);
    for (ir::SizeId d : extents_of_array(plan, s)) bytes *= static_cast<double>(graph.evaluate(d, parameters));
    written += bytes;
  }
  shape.streaming = written > static_cast<double>(caches_of_results * plan.device.l2_bytes) && !tiled;
  return shape;
}

RingShape ring_shape(const Plan& plan, ir::StageId s, const TileShape& tile) {
  const StagePlan& p = plan.stages[s];
  const std::size_t rank = tile.extents.size();
  const auto tiled = rewrite::first_with_tiles(plan.graph, plan.groups[static_cast<std::size_t>(p.group)].stages);
  bool read_by_tiles = false;
  for (const ir::StageId t : plan.groups[static_cast<std::size_t>(p.group)].stages) {
    const std::vector<ir::StageId> reads = ir::sources(plan.graph, t);
    read_by_tiles |= plan.graph.stage(t).note > 0 && std::find(reads.begin(), reads.end(), s) != reads.end();
  }
  auto span = [&](std::size_t d) {
    // Of a pair of tiles: what these read or what they give, two planes of it where planes are marched through.
    if (tiled && d + 2 < rank) return d + 3 == rank && plan.tiling(*tiled).planes > 1 ? i64{2} : i64{1};
    if (tiled && read_by_tiles)
      return d + 1 == rank ? plan.tiling(*tiled).wide + plan.tiling(*tiled).columns : plan.tiling(*tiled).rows;
    if (tiled) return d + 1 == rank ? 2 * plan.tiling(*tiled).wide : plan.tiling(*tiled).high;
    const StagePlan::Rate& r = p.rate[d];
    return ceil_divide(tile.extents[d] * r.num, r.den) + (r.after - r.before + 8);
  };
  const i64 size = ir::nest::size_of(p.lane);
  RingShape ring;
  ring.columns = span(rank - 1);
  ring.row_bytes = round_up((ring.columns + p.pad_hi + p.reach) * size + round_up(p.pad_lo * size, 64), 64) | 64;
  for (std::size_t d = rank - 1; d-- > 1;) ring.middle *= span(d);
  ring.rows = p.depth > 0 ? p.depth : span(0);
  ring.bytes = ring.row_bytes * ring.middle * ring.rows;
  return ring;
}

}  // namespace tessera::plan
