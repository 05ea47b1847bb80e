// See strips.hpp.
#include "plan/groups/strips.hpp"

#include <algorithm>
#include <functional>

namespace tessera::plan {

using ir::StageId;
using ir::StageKind;

namespace {

std::function<int(StageId)> bytes_of(const GraphFacts& facts) {
  return [&facts](StageId s) { return ir::nest::size_of(facts.of(s).lane); };
}

// As a register tile whose threads exchange columns (lower/ways/register_tiles/register_tiles.hpp): with room in the
// registers, in the warp for threads that store nothing, and in the instruction cache.
bool fits_exchanging(const GraphFacts& facts, const Strip& strip) {
  constexpr int most_registers = 130;  // twelve warps of them; more steps of a relaxation took longer for want of warps
  constexpr i64 v = 4, height = 8, most_idle = 8;
  constexpr double most_text = 4000;
  if (!facts.machine.shuffles) return false;
  const Strip exchanged = strip.exchanged();
  if (exchanged.registers(v, bytes_of(facts)) > most_registers) return false;
  double text = 0;
  for (const StripRing& ring : strip.rings)
    if (!ring.memory && ring.depth > 0)
      text += static_cast<double>(ring.rows_of_tile(height) * ring.own(v)) * facts.of(ring.stage).operations;
  const auto [left, right] = strip.without_neighbours(v);
  return left + right <= most_idle && text <= most_text;
}

}  // namespace

std::string no_strip(const GraphFacts& facts, const Layout& layout) {
  const Strip& found = layout.strip.value();
  if (!found.why.empty()) return "they would be no strip, since " + found.why;
  const auto bytes = bytes_of(facts);
  const int limit = facts.machine.strip_registers, needed = found.registers(found.columns_for(limit, bytes), bytes);
  if (needed <= limit || fits_exchanging(facts, found)) return "";
  return "together their rows need " + std::to_string(needed) + " registers a thread";
}

// With the columns that a thread of a register tile has, which are fewer than a strip might keep: as many of the finest
// stage as one access holds. So a halo over two reductions is more than half of what a thread computes, unless threads
// of a warp exchange it; those at its ends then store nothing, and shuffles cost what they cost.
double repetition(const GraphFacts& facts, const Layout& layout) {
  constexpr i64 threads_of_warp = 32, least_threads = 20;
  constexpr double worth_exchange = 0.87;
  if (!facts.plans_strips) return 1;
  const Strip& found = layout.strip.value();
  if (!found.why.empty() || (found.finest == 1 && !found.has_slices())) return 1;
  int widest = 0;
  for (const StripRing& ring : found.rings) widest = std::max(widest, ir::nest::size_of(facts.of(ring.stage).lane));
  const i64 v = std::max<i64>(widest <= 2 ? 8 : 4, found.finest) / found.finest;
  const auto operations = [&](StageId s) { return facts.of(s).instructions; };
  const double together = found.repetition(v, operations);
  if (!facts.machine.shuffles) return together;
  const auto [left, right] = found.without_neighbours(v);
  const i64 threads = threads_of_warp - left - right;
  if (threads < least_threads) return together;
  const double whole_warp = static_cast<double>(threads_of_warp) / static_cast<double>(threads);
  return std::min(together, found.exchanged().repetition(v, operations) * whole_warp / worth_exchange);
}

bool runs_in_strips(const GraphFacts& facts, const Set& set, const Layout& layout) {
  const auto computes = [&](StageId s) { return facts.graph.stage(s).kind == StageKind::point; };
  return facts.plans_strips && std::any_of(set.begin(), set.end(), computes) && no_strip(facts, layout).empty();
}

RegisterTile register_tile(const GraphFacts& facts, const Set& set, const Layout& layout) {
  constexpr double load = 0.5;  // instructions of one value of an array
  const auto bytes = bytes_of(facts);
  Strip found = layout.strip.value();
  if (!found.why.empty()) return {};
  RegisterTile tile;
  tile.is_strip = runs_in_strips(facts, set, layout);
  found.look_ahead(-1);
  tile.columns = found.columns_for(facts.machine.strip_registers, bytes);
  tile.registers = found.registers(tile.columns, bytes);
  for (const StripRing& ring : found.rings) {
    if (ring.depth == 0) continue;
    const double columns = static_cast<double>(ring.columns(tile.columns));
    const double each = ring.memory ? load : facts.of(ring.stage).instructions;
    tile.text += static_cast<double>(ring.rows_of_tile(RegisterTile::rows)) * columns * each;
  }
  return tile;
}

}  // namespace tessera::plan
