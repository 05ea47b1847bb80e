// Radices of tiles, the order that their digits fall into, and the spectrum of weights in that order.
#include <algorithm>
#include <complex>

#include "fft/butterfly.hpp"
#include "fft/cpu/tile_line.hpp"
#include "fft/tables.hpp"

namespace tessera::fft {

namespace {

// Measured on squares of 64 to 512 points. A column's first radix is the number of rows of both images that are read
// side by side, a row's last one has its points, twice, and those of the spectrum in registers at a time.
double cost_of(const std::vector<i64>& radices, bool down) {
  double cost = 0;
  for (std::size_t i = 0; i < radices.size(); ++i) {
    const i64 r = radices[i];
    const bool first = i == 0, last = i + 1 == radices.size();
    if (down && first)
      cost += r == 4 ? 1 : r <= 6 ? 1.05 : r <= 8 ? 1.2 : 2;
    else if (down)
      cost += r <= 8 ? 1 : r <= 12 ? 1.6 : 2.1;
    else
      cost += r <= 8 ? 1 : r <= 12 ? 1.3 : last ? 3 : 1.4;
    if (last) cost += 0.001 * static_cast<double>(r);
  }
  return cost;
}

struct Choice {
  std::vector<i64> radices;
  double cost = 1e30;
};

void choose(i64 n, i64 largest, bool down, std::vector<i64>& radices, Choice& best) {
  if (n == 1) {
    const double cost = cost_of(radices, down);
    if (cost < best.cost) best = {radices, cost};
    return;
  }
  for (i64 r = largest; r > 1; --r) {
    if (n % r != 0 || !is_radix(r) || radices.size() == 5) continue;
    radices.push_back(r);
    choose(n / r, largest, down, radices, best);
    radices.pop_back();
  }
}

std::vector<i64> cheapest(i64 n, i64 largest, bool down) {
  Choice best;
  std::vector<i64> radices;
  choose(n, largest, down, radices, best);
  return best.radices;
}

Line line_of(const std::vector<i64>& radices, int lanes) {
  Line line;
  line.radices = radices;
  for (const i64 r : radices) line.n *= r;
  line.gap = line.first_step() % lanes == 0 ? 1 : 0;
  return line;
}

}  // namespace

bool is_tile_extent(i64 n, int lanes) {
  if (n < 4 || n > 8192 || n % lanes != 0) return false;
  for (const i64 p : {2, 3, 5, 7})
    while (n % p == 0) n /= p;
  return n == 1;
}

TilePlan plan_tile(i64 rows, i64 columns, ir::nest::Type vector) {
  // Points of 16 legs want 32 registers.
  const i64 largest = vector.lanes * ir::nest::size_of(vector.lane) >= 64 ? 16 : 8;
  return {rows, columns, rows == 1 ? std::vector<i64>{1} : cheapest(rows, largest, true),
          cheapest(columns, largest, false), vector};
}

i64 grain_of(i64 columns, int lanes) {
  i64 grain = 1;
  while (2 * grain <= lanes && 4 * grain - 1 <= columns) grain *= 2;
  return grain;
}

Line tile_column(const TilePlan& plan) {
  return line_of(plan.down, plan.vector.lanes);
}
Line tile_row(const TilePlan& plan) {
  return line_of(plan.across, plan.vector.lanes);
}

i64 digits_reversed(i64 place, const std::vector<i64>& radices) {
  i64 range = 1, frequency = 0;
  for (const i64 r : radices) range *= r;
  i64 left = range, weight = 1;
  for (const i64 r : radices) {
    left /= r;
    frequency += place / left * weight;
    place %= left;
    weight *= r;
  }
  return frequency;
}

std::vector<double> tile_spectrum(const TilePlan& plan, const std::vector<double>& weights, i64 k0, i64 k1) {
  using Number = Circle::Number;
  const auto rows = static_cast<std::size_t>(plan.rows), columns = static_cast<std::size_t>(plan.columns);
  const double scale = 1 / static_cast<double>(plan.rows * plan.columns);
  // Rows of weights; then every column of what they give. Conjugated, since the function correlates.
  std::vector<std::vector<Number>> across;
  const Circle row_circle(plan.columns), column_circle(plan.rows);
  for (i64 i = 0; i < k0; ++i) {
    std::vector<Number> row(columns);
    for (i64 j = 0; j < k1; ++j)
      row[static_cast<std::size_t>(j)] = scale * weights[static_cast<std::size_t>(i * k1 + j)];
    across.push_back(plain_transform(std::move(row), row_circle));
  }
  std::vector<double> spectrum(static_cast<std::size_t>(tile_spectrum_size(plan)));
  std::vector<i64> down(static_cast<std::size_t>(tile_rows(plan)));
  for (i64 p = 0; p < plan.rows; ++p) down[static_cast<std::size_t>(p)] = digits_reversed(p, plan.down);
  const i64 v = plan.vector.lanes;
  for (i64 q = 0; q < plan.columns; ++q) {
    const i64 frequency = digits_reversed(q, plan.across);
    std::vector<Number> column(rows);
    for (std::size_t i = 0; i < across.size(); ++i) column[i] = across[i][static_cast<std::size_t>(frequency)];
    column = plain_transform(std::move(column), column_circle);
    for (i64 p = 0; p < tile_rows(plan); ++p) {
      const Number h = std::conj(column[static_cast<std::size_t>(down[static_cast<std::size_t>(p)])]);
      const auto at = static_cast<std::size_t>((p / v * plan.columns + q) * 2 * v + p % v);
      spectrum[at] = h.real();
      spectrum[at + static_cast<std::size_t>(v)] = h.imag();
    }
  }
  return spectrum;
}

}  // namespace tessera::fft
