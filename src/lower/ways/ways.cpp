// The table of ways and the choice among them; see ways.hpp.
#include "lower/ways/ways.hpp"

#include <array>
#include <utility>

#include "lower/ways/chain/chain.hpp"
#include "lower/ways/large_tiles/large_tiles.hpp"
#include "lower/ways/march/march.hpp"
#include "lower/ways/matrix_units/matrix_units.hpp"
#include "lower/ways/pieces/pieces.hpp"
#include "lower/ways/points/points.hpp"
#include "lower/ways/shared_tiles/shared_tiles.hpp"
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

plan::GroupWay choose(const WayQuestion& question) {
  plan::GroupWay way;
  for (const Way* one : ways()) {
    if (!one->is_asked(question.plan.options.schedule)) continue;
    way.asked.push_back(one->fit(question));
    const plan::WayAnswer& answer = way.asked.back();
    if (!answer.fits()) continue;
    if (way.asked.size() == 1 || is_better(answer, way.chosen())) way.taken = way.asked.size() - 1;
    if (one->settles) break;
  }
  return way;
}

}  // namespace

plan::WayAnswer refused(const Way& way, std::string why) {
  plan::WayAnswer answer;
  answer.way = way.name;
  answer.why = std::move(why);
  return answer;
}

plan::WayAnswer of_another_kind(const Way& way, std::string why) {
  plan::WayAnswer answer = refused(way, std::move(why));
  answer.other_kind = true;
  return answer;
}

plan::WayAnswer accepted(const Way& way, std::shared_ptr<const plan::WayShape> shape, double price) {
  plan::WayAnswer answer;
  answer.way = way.name;
  answer.price = price;
  answer.shape = std::move(shape);
  return answer;
}

std::span<const Way* const> ways() {
  static constexpr std::array<const Way*, 9> table = {&matrix_units, &large_tiles, &transform_tiles, &pieces, &march,
                                                      &strips,       &chain,       &shared_tiles,    &points};
  return table;
}

void choose_ways(plan::Plan& plan, i64 most_shared) {
  analyze::Ranges ranges(plan.graph);
  const Interface fused = interface_of(plan);
  for (std::size_t g = 0; g < plan.groups.size(); ++g)
    plan.groups[g].way = choose({plan, fused, ranges, g, most_shared});
}

}  // namespace tessera::lower
