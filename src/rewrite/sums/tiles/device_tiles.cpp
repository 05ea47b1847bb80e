// See device_tiles.hpp. Nanoseconds of a multiprocessor of an H200, a 132nd of the card.
#include "rewrite/sums/tiles/device_tiles.hpp"

#include <algorithm>

#include "base/division.hpp"

namespace tessera::rewrite {

namespace {

// Of a result, and of a point of a tile, with one thread a row and with two; measured at 9 to 63 weights a side.
constexpr double of_result[] = {0.35, 0.31}, of_tile_point[] = {0.165, 0.28};
constexpr double of_doubles = 1.2;
// Of a term of a direct sum: written out, of floats and of numbers that are converted first, or in loops. Doubles take
// twice as long; sums of many leave the registers, as rows above each other do.
constexpr double of_term = 0.0061, of_converted_term = 0.0092, of_looped_term = 0.06, least_direct = 0.27;
constexpr double most_written = 128, most_written_doubles = 64;
constexpr i64 rows_in_registers = 88;
constexpr double along_one_dimension = 0.006, kept = 0.25;
// One dimension at a time doubles take longer by this, and by this for each weight of the longer dimension.
constexpr double doubles_apart = 0.6, doubles_along = 0.14;

// What a run takes however small the image is, since each thread does its part of it: microseconds, of a direct sum and
// of its terms, of dimensions one by one and of the weights along the longer one, of tiles with one thread a row and
// with two, of large tiles.
constexpr double wait_direct = 4.5, wait_term = 0.1, wait_apart = 13.5, wait_along = 0.3;
constexpr double wait_of_tile[] = {14.5, 25.5}, wait_of_large_tile = 22;
constexpr i64 least_priced = 26;  // terms
double spread(double microseconds, double points) {
  constexpr double multiprocessors = 132;
  return microseconds * 1e3 * multiprocessors / std::max(points, 1.0);
}

// Large tiles: bytes that a number takes between the kernels, one way; those of a multiprocessor, a nanosecond; by how
// much times are longer, as measured at 31 to 255 weights a side, and once more where columns are of many points.
constexpr double bytes_between = 4, bandwidth = 30, longer = 1.28, long_columns = 1.45;
// Of a block: columns of 32 bytes at least.
constexpr i64 shared_bytes = i64{48} << 10, least_columns = 4;
constexpr i64 large_extents[] = {64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048};

// What tiles compute for a result: of an image without end, of one of this extent, and of one of a quarter of it.
struct Repeated {
  double endless = 1, assumed = 1, small = 1;

  Repeated(i64 read, i64 results, i64 extent) {
    const auto covering = [&](i64 n) {
      return static_cast<double>((n + results - 1) / results * read) / static_cast<double>(n);
    };
    endless = static_cast<double>(read) / static_cast<double>(results);
    assumed = covering(std::max<i64>(extent, 1)), small = covering(std::max<i64>(extent / 4, 1));
  }
};

// Bytes that a block has in shared memory: half of the tile at a time, and its ranges.
i64 shared_of_tile(const Tiling& tile, i64 weight_rows, ElementType number, bool ranged) {
  const i64 numbers = tile.rows / 2 * (tile.columns + 1);
  const i64 besides = ranged ? ranges_of_tile(tile.rows, weight_rows).numbers(tile.columns) : 0;
  return (numbers + besides) * (number == ElementType::f64 ? 8 : 4);
}

}  // namespace

TileRanges ranges_of_tile(i64 rows, i64 weight_rows) {
  const i64 band = (weight_rows + 1) / 2;
  return {band, base::ceil_divide(rows, band)};
}

double points_of(const ir::Graph& graph, const ir::Stage& stage, const std::vector<i64>& parameters) {
  double points = 1;
  for (const ir::SizeId size : stage.domain) points *= static_cast<double>(graph.evaluate(size, parameters));
  return points;
}

Tiling large_device_tile(const Tensor& w, ElementType number, const std::array<i64, 2>& assumed, double points) {
  const i64 k0 = w.extent[w.rank - 2], k1 = w.extent[w.rank - 1];
  const double bytes = number == ElementType::f64 ? 2 : 1;  // in those of floats
  const double wait = spread(wait_of_large_tile, points);
  Tiling best;
  double least = 0;  // what it costs for images of any size; the price is that of large ones
  for (const i64 rows : large_extents)
    for (const i64 columns : large_extents) {
      Tiling tile;
      tile.large = true, tile.number = number;
      tile.rows = rows, tile.columns = columns;
      tile.high = rows - k0 + 1, tile.wide = columns - k1 + 1;
      if (tile.high < 1 || tile.wide < 1) continue;
      if (rows * least_columns * (number == ElementType::f64 ? 8 : 4) > shared_bytes) continue;
      const double kept = static_cast<double>(tile.high) / static_cast<double>(rows);
      // The image, written, read; then of the rows that are kept written, read; results.
      const double moved = bytes_between * (3 + 2 * kept) * (rows > 768 ? long_columns : 1);
      const Repeated down(rows, tile.high, assumed[0]), across(columns, tile.wide, assumed[1]);
      const double large = (down.endless * across.endless + down.assumed * across.assumed) / 2;
      const double cost = bytes_between + moved * (2 * large + down.small * across.small) / 3;
      tile.nanoseconds = (bytes_between + moved * large) * bytes / bandwidth * longer + wait;
      if (best.rows == 0 || cost < least) best = tile, least = cost;
    }
  return best;
}

Tiling device_tile(const Tensor& w, ElementType number, bool ranged, int parts,
                   const std::array<std::optional<i64>, 2>& extents, double points) {
  const i64 k0 = w.extent[w.rank - 2], k1 = w.extent[w.rank - 1];
  const i64 column = number == ElementType::f64 ? 32 : 64;  // of a thread
  const auto covering = [](i64 read, i64 results, std::optional<i64> extent) {
    if (!extent || *extent < 1) return static_cast<double>(read) / static_cast<double>(results);
    return static_cast<double>((*extent + results - 1) / results * read) / static_cast<double>(*extent);
  };
  Tiling best;
  for (int p = 1; p <= parts; ++p) {
    Tiling tile;
    tile.rows = 2 * column, tile.columns = p * column;
    tile.high = tile.rows - k0 + 1, tile.wide = tile.columns - k1 + 1;
    if (tile.high < 1 || tile.wide < 1 || shared_of_tile(tile, k0, number, ranged) > shared_bytes) continue;
    const double repeated = covering(tile.rows, tile.high, extents[0]) * covering(tile.columns, tile.wide, extents[1]);
    tile.nanoseconds =
        (of_result[p - 1] + of_tile_point[p - 1] * repeated) * (number == ElementType::f64 ? of_doubles : 1) +
        spread(wait_of_tile[p - 1], points);
    if (best.rows == 0 || tile.nanoseconds < best.nanoseconds) best = tile;
  }
  return best;
}

double device_direct(const Tensor& w, ElementType type, ElementType from, double points) {
  const bool doubles = type == ElementType::f64;
  double terms = 0;
  for (const double x : w.at) terms += x != 0;
  const bool written = terms <= (doubles ? most_written_doubles : most_written) &&
                       w.extent[w.rank - 2] * (doubles ? 2 : 1) <= rows_in_registers;
  const double term = !written ? of_looped_term : is_float(from) ? of_term : of_converted_term;
  return std::max(least_direct, term * terms) * (doubles ? 2 : 1) + spread(wait_direct + wait_term * terms, points);
}

std::optional<double> device_apart(const Tensor& w, ElementType type, double points) {
  const std::size_t down = w.rank - 2, across = w.rank - 1;
  const i64 high = w.extent[down], wide = w.extent[across];
  if (high < 2 || wide < 2 || w.count() > high * wide || !outer_product(w, type, {{down}, {across}}, 0)) return {};
  const auto longest = static_cast<double>(std::max(high, wide));
  const double full = kept + along_one_dimension * static_cast<double>(high + wide);
  return full * (type == ElementType::f64 ? doubles_apart + doubles_along * longest : 1) +
         spread(wait_apart + wait_along * longest, points);
}

bool waits_for_dimensions(const Tensor& w, ElementType type, ElementType from, double points) {
  constexpr double few = i64{1} << 22;
  if (points > few || w.count() < least_priced) return false;
  const std::optional<double> apart = device_apart(w, type, points);
  return apart && device_direct(w, type, from, points) < *apart;
}

}  // namespace tessera::rewrite
