// See device_tiles.hpp. Nanoseconds of a multiprocessor of an H200, a 132nd of the card.
#include "plan/device_tiles.hpp"

#include <algorithm>

namespace tessera::plan {

namespace {

// Of a result, and of a point of a tile, with one thread a row and with two; measured at 9 to 63 weights a side.
constexpr double of_result[] = {0.35, 0.31}, of_tile_point[] = {0.165, 0.28};
constexpr double of_doubles = 2.5;
// Of a term of a direct sum: written out, or in loops.
constexpr double of_term = 0.0061, of_looped_term = 0.038, least_direct = 0.27, most_written = 128;
constexpr double along_one_dimension = 0.006, kept = 0.25;

}  // namespace

ir::Stage::Tiling device_tile(const Tensor& w, ElementType number, int parts,
                              const std::array<std::optional<i64>, 2>& extents) {
  const i64 k0 = w.extent[w.rank - 2], k1 = w.extent[w.rank - 1];
  const i64 points = number == ElementType::f64 ? 32 : 64;
  const auto covering = [](i64 read, i64 results, std::optional<i64> extent) {
    if (!extent || *extent < 1) return static_cast<double>(read) / static_cast<double>(results);
    return static_cast<double>((*extent + results - 1) / results * read) / static_cast<double>(*extent);
  };
  ir::Stage::Tiling best;
  for (int p = 1; p <= parts; ++p) {
    ir::Stage::Tiling tile;
    tile.rows = 2 * points, tile.columns = p * points;
    tile.high = tile.rows - k0 + 1, tile.wide = tile.columns - k1 + 1;
    if (tile.high < 1 || tile.wide < 1) continue;
    const double repeated = covering(tile.rows, tile.high, extents[0]) * covering(tile.columns, tile.wide, extents[1]);
    tile.nanoseconds =
        (of_result[p - 1] + of_tile_point[p - 1] * repeated) * (number == ElementType::f64 ? of_doubles : 1);
    if (best.rows == 0 || tile.nanoseconds < best.nanoseconds) best = tile;
  }
  return best;
}

double device_direct(const Tensor& w, ElementType type) {
  double terms = 0;
  for (const double x : w.at) terms += x != 0;
  const std::size_t down = w.rank - 2, across = w.rank - 1;
  double best = std::max(least_direct, (terms <= most_written ? of_term : of_looped_term) * terms);
  const double apart = kept + along_one_dimension * static_cast<double>(w.extent[down] + w.extent[across]);
  if (w.extent[down] > 1 && w.extent[across] > 1 && apart < best && outer_product(w, type, {{down}, {across}}, 0))
    best = apart;
  return best * (type == ElementType::f64 ? 2 : 1);
}

}  // namespace tessera::plan
