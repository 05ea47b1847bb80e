// See large_tile.hpp.
#include "fft/device/large_tile.hpp"

#include <algorithm>

#include "fft/tables.hpp"

namespace tessera::fft {

namespace {

constexpr i64 most_lines = 128;
// Columns of a block are as few threads as let another block in, which loads while the first one computes: 64 bytes
// wide at least, unless it were the only one.
constexpr i64 few_threads = 256, wide_lines = 8;
constexpr i64 threads_at_once = 512;  // of a multiprocessor: 128 registers each

DeviceLine shaped(const LargeTile& tile, i64 points, i64 extent, bool across) {
  LineShape shape = shape_of(points, tile.number, across, most_lines);
  while (across && shape.lines > wide_lines && shape.lines * shape.threads > few_threads) shape.lines /= 2;
  DeviceLine line;
  line.type = tile.number;
  line.points = points;
  line.radices = shape.radices;
  line.threads = shape.threads;
  line.lines = shape.lines;
  line.blocks_at_once = std::max<i64>(1, threads_at_once / (shape.lines * shape.threads));
  line.dimensions = {{extent, 0, 0}};
  line.from.beside = line.to.beside = across;
  return line;
}

}  // namespace

DeviceLine rows_of(const LargeTile& tile) {
  DeviceLine line = shaped(tile, tile.pairs(), tile.rows, false);
  line.dimensions.front().to = tile.columns;
  line.from.halves = true;
  return line;
}

DeviceLine columns_of(const LargeTile& tile) {
  DeviceLine line = shaped(tile, tile.rows, tile.pairs(), true);
  line.dimensions.front().from = line.dimensions.front().to = 2;
  line.from.leg = line.to.leg = tile.columns;
  line.to.count = tile.high;
  line.convolved = 1;
  return line;
}

DeviceLine back_of(const LargeTile& tile) {
  DeviceLine line = shaped(tile, tile.pairs(), tile.high, false);
  line.dimensions.front().from = tile.columns;
  line.from.exchanged = line.to.swapped = true;
  line.to.halves = true;
  return line;
}

std::vector<double> large_tile_spectrum(const LargeTile& tile, const std::vector<double>& weights, i64 k0, i64 k1) {
  using Number = Circle::Number;
  const i64 n = tile.pairs(), rows = tile.rows;
  const double scale = 1 / static_cast<double>(n * rows);
  const Circle row_circle(n), column_circle(rows), quarter(4 * n);
  std::vector<std::vector<Number>> across;
  for (i64 i = 0; i < k0; ++i) {
    std::vector<Number> row(static_cast<std::size_t>(n));
    for (i64 j = 0; j < k1; ++j) {  // the second half is multiplied by -i
      const double w = scale * weights[static_cast<std::size_t>(i * k1 + j)];
      row[static_cast<std::size_t>(j % n)] += quarter(j % n) * (j < n ? Number(w) : Number(0, -w));
    }
    across.push_back(plain_transform(std::move(row), row_circle));
  }
  std::vector<double> spectrum(static_cast<std::size_t>(2 * n * rows));
  for (i64 q = 0; q < n; ++q) {
    std::vector<Number> column(static_cast<std::size_t>(rows));
    for (i64 i = 0; i < k0; ++i)
      column[static_cast<std::size_t>(i)] = across[static_cast<std::size_t>(i)][static_cast<std::size_t>(q)];
    column = plain_transform(std::move(column), column_circle);
    for (i64 k = 0; k < rows; ++k) {
      const Number h = column[static_cast<std::size_t>(k)];
      spectrum[static_cast<std::size_t>(2 * (k * n + q))] = h.real();
      spectrum[static_cast<std::size_t>(2 * (k * n + q) + 1)] = -h.imag();
    }
  }
  return spectrum;
}

}  // namespace tessera::fft
