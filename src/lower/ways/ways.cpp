// The tables of ways and the choice among their rows; see ways.hpp.
#include "lower/ways/ways.hpp"

#include <array>
#include <utility>

#include "lower/ways/chain/chain.hpp"
#include "lower/ways/contraction/contraction.hpp"
#include "lower/ways/keyed/keyed.hpp"
#include "lower/ways/large_tiles/large_tiles.hpp"
#include "lower/ways/march/march.hpp"
#include "lower/ways/matrix_units/matrix_units.hpp"
#include "lower/ways/pieces/pieces.hpp"
#include "lower/ways/points/points.hpp"
#include "lower/ways/shared_tiles/shared_tiles.hpp"
#include "lower/ways/stream/stream.hpp"
#include "lower/ways/stream/tiles/tiles.hpp"
#include "lower/ways/strips/strips.hpp"
#include "lower/ways/transform_tiles/transform_tiles.hpp"

namespace tessera::lower {

namespace {

constexpr double later_is_better = 1.05;

// A way that is asked later, against the best of those before.
bool is_better(const plan::WayAnswer& later, const plan::WayAnswer& best) {
  if (!best.fits()) return true;
  return !later.memory_binds && later.price > 0 && later.price < later_is_better * best.price;
}

template <class Program>
plan::GroupWay choose(std::span<const Way<Program>* const> table, plan::WayUnit unit, const WayQuestion& question) {
  plan::GroupWay way;
  way.unit = unit;
  for (const Way<Program>* one : table) {
    if (!one->is_asked(question.plan.options.schedule)) continue;
    way.asked.push_back(one->fit(question));
    const plan::WayAnswer& answer = way.asked.back();
    if (!answer.fits()) continue;
    if (way.asked.size() == 1 || is_better(answer, way.chosen())) way.taken = way.asked.size() - 1;
    if (one->settles) break;
  }
  return way;
}

template <class Program>
void choose_ways(plan::Plan& plan, std::span<const Way<Program>* const> table, plan::WayUnit unit, i64 most_shared) {
  RangesOnDemand ranges(plan.graph);
  const Interface interface = interface_of(plan);
  for (std::size_t g = 0; g < plan.groups.size(); ++g)
    plan.groups[g].way = choose(table, unit, {plan, interface, ranges, g, most_shared});
}

}  // namespace

std::span<const DeviceWay* const> device_ways() {
  static constexpr std::array<const DeviceWay*, 10> table = {
      &keyed, &matrix_units, &large_tiles, &transform_tiles, &pieces, &march, &strips, &chain, &shared_tiles, &points};
  return table;
}

std::span<const CoreWay* const> core_ways() {
  static constexpr std::array<const CoreWay*, 3> table = {&core_tiles, &core_contractions, &stream};
  return table;
}

void choose_device_ways(plan::Plan& plan, i64 most_shared) {
  choose_ways(plan, device_ways(), plan::WayUnit::instructions, most_shared);
}

void choose_core_ways(plan::Plan& plan) {
  choose_ways(plan, core_ways(), plan::WayUnit::nanoseconds, 0);
}

}  // namespace tessera::lower
