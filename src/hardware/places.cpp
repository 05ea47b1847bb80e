// All places, from the extents where they are known; else from either end, of images that are large enough.
#include "hardware/places.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/division.hpp"
#include "data/border.hpp"

namespace tessera::hardware {

namespace {
constexpr i64 most_overhang = 64;
}

i64 overhang(const Grids& grids, ir::StageId consumer, ir::StageId producer, std::size_t dimension, i64 scale) {
  i64 most = 0;
  for (const GridSample& s : grids.samples[dimension])
    most = std::max(most, scale * (s.points[consumer] - 1) - (s.points[producer] - 1));
  return most;
}

std::vector<Place> places_of(const ir::Graph& graph, const Grids& grids, ir::StageId consumer,
                             const ir::ExprNode& access, std::size_t dimension) {
  const BorderMode mode = access.border[dimension].mode;
  std::vector<Place> all;
  if (mode == BorderMode::none) return all;
  const auto d = static_cast<int>(dimension);
  const i64 offset = access.index[dimension].offset, scale = access.index[dimension].scale;
  const i64 n = grids.points(access.stage, d), rate = grids.extent(consumer, d).rate;
  const i64 over = overhang(grids, consumer, access.stage, dimension, scale);
  if (over > most_overhang)
    refuse(graph.stage(consumer), fmt::format("it goes on for {} {} behind the end of '{}'", over,
                                              d == 0 ? "rows" : "columns", graph.stage(access.stage).name));
  const i64 before = offset < 0 ? base::ceil_divide(-offset, scale) : 0;
  if (grids.frame.fixed) {
    const bool wide = mode == BorderMode::wrap && n > 2 * std::abs(offset);
    const auto enter = [&](i64 i) {
      const i64 to = map_index(mode, scale * i + offset, n);
      all.push_back({false, i * rate, to < 0 ? std::nullopt : std::optional<i64>(to - scale * i), wide && to >= 0, 0});
    };
    const i64 points = grids.points(consumer, d);
    const i64 behind = std::max(before, base::ceil_divide(n - offset, scale));
    for (i64 i = 0; i < std::min(before, points); ++i) enter(i);
    for (i64 i = behind; i < points; ++i) enter(i);
    return all;
  }
  const i64 beyond = std::max<i64>(0, offset + over), own = grids.extent(access.stage, d).rate;
  const i64 large = 4 * (std::abs(offset) + over) + 4;
  const auto enter = [&](bool from_end, i64 at, i64 index, i64 zero) {
    if (mode == BorderMode::wrap) {
      all.push_back({from_end, at, offset, true, from_end ? -1 : 1});
      return;
    }
    const i64 to = map_index(mode, index, large);
    all.push_back({from_end, at, to < 0 ? std::nullopt : std::optional<i64>(to - zero), false, 0});
  };
  for (i64 i = 0; i < before; ++i) enter(false, i * rate, scale * i + offset, scale * i);
  // The index lies b points beyond the last one: of the producer's rows of the frame, so many are left behind the
  // consumer's place.
  for (i64 b = 1; b <= beyond; ++b) enter(true, (offset - b + 1) * own - 1, large - 1 + b, large - 1 + b - offset);
  return all;
}

}  // namespace tessera::hardware
