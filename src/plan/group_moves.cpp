// Groups of devices whose threads keep rows in registers (strips.hpp), and stages that change their group once all
// merges are done.
#include <algorithm>
#include <cstdio>

#include "base/deadline.hpp"
#include "plan/groups.hpp"
#include "rewrite/sums/chain.hpp"

namespace tessera::plan {

using ir::StageId;
using ir::StageKind;

bool Grouper::plans_strips() const {
  return plan_.device.strip_registers > 0 && plan_.options.schedule == Schedule::automatic;
}

const Strip& Grouper::strip(const Set& set, const Layout& layout) const {
  if (layout.strip) return *layout.strip;
  Strip& strip = layout.strip.emplace(strip_of(
      graph_, set, [&](StageId s) -> const StripReads& { return strip_reads_[s]; },
      [&](StageId s) { return leaves_group(s, set); },
      [&](StageId s) -> const std::vector<StagePlan::Rate>& {
        return layout.stages[static_cast<std::size_t>(std::lower_bound(set.begin(), set.end(), s) - set.begin())].rate;
      }));
  if (strip.why.empty()) strip.look_ahead(1);
  return strip;
}

// As a register tile whose threads exchange columns (lower/ways/register_tiles/register_tiles.hpp): with room in the
// registers, in the warp for threads that store nothing, and in the instruction cache.
bool Grouper::fits_exchanging(const Strip& strip, const std::function<int(StageId)>& bytes) const {
  constexpr int most_registers = 130;  // twelve warps of them; more steps of a relaxation took longer for want of warps
  constexpr i64 v = 4, height = 8, most_idle = 8;
  constexpr double most_text = 4000;
  if (!plan_.device.shuffles) return false;
  const Strip exchanged = strip.exchanged();
  if (exchanged.registers(v, bytes) > most_registers) return false;
  double text = 0;
  for (const StripRing& ring : strip.rings)
    if (!ring.memory && ring.depth > 0)
      text += static_cast<double>(ring.rows_of_tile(height) * ring.own(v)) * operations_[ring.stage];
  const auto [left, right] = strip.without_neighbours(v);
  return left + right <= most_idle && text <= most_text;
}

std::string Grouper::no_strip(const Set& set, const Layout& layout) const {
  const Strip& found = strip(set, layout);
  if (!found.why.empty()) return "they would be no strip, since " + found.why;
  const auto bytes = [&](StageId s) { return ir::nest::size_of(plan_.stages[s].lane); };
  const int limit = plan_.device.strip_registers, needed = found.registers(found.columns_for(limit, bytes), bytes);
  if (needed <= limit || fits_exchanging(found, bytes)) return "";
  return "together their rows need " + std::to_string(needed) + " registers a thread";
}

// With the columns that a thread of a register tile has, which are fewer than a strip might keep: as many of the finest
// stage as one access holds. So a halo over two reductions is more than half of what a thread computes, unless threads
// of a warp exchange it; those at its ends then store nothing, and shuffles cost what they cost.
double Grouper::repetition(const Set& set, const Layout& layout) const {
  constexpr i64 threads_of_warp = 32, least_threads = 20;
  constexpr double worth_exchange = 0.87;
  if (!plans_strips()) return 1;
  const Strip& found = strip(set, layout);
  if (!found.why.empty() || (found.finest == 1 && !found.has_slices())) return 1;
  int widest = 0;
  for (const StripRing& ring : found.rings) widest = std::max(widest, ir::nest::size_of(plan_.stages[ring.stage].lane));
  const i64 v = std::max<i64>(widest <= 2 ? 8 : 4, found.finest) / found.finest;
  const auto operations = [&](StageId s) { return instructions_[s]; };
  const double together = found.repetition(v, operations);
  if (!plan_.device.shuffles) return together;
  const auto [left, right] = found.without_neighbours(v);
  const i64 threads = threads_of_warp - left - right;
  if (threads < least_threads) return together;
  const double whole_warp = static_cast<double>(threads_of_warp) / static_cast<double>(threads);
  return std::min(together, found.exchanged().repetition(v, operations) * whole_warp / worth_exchange);
}

// Copies alone gain nothing by it.
bool Grouper::runs_in_strips(const Set& set, const Layout& layout) const {
  const auto computes = [&](StageId s) { return graph_.stage(s).kind == StageKind::point; };
  return plans_strips() && std::any_of(set.begin(), set.end(), computes) && no_strip(set, layout).empty();
}

// What is no strip runs stage by stage: so no strip may become a part of it, but a piece that then is computed right
// into its whole.
std::string Grouper::breaks_strips(int a, int b, const Set& merged, const Layout& together) const {
  if (!plans_strips() || (!in_strips_[a] && !in_strips_[b])) return "";
  const std::string why = no_strip(merged, together);
  if (why.empty()) return "";
  for (const StageId whole : sets_[b])
    for (const ir::Piece& piece : graph_.stage(whole).pieces)
      if (fillable_[whole] && sets_[a] == Set{*piece.stage}) return "";
  return why;
}

// The stages of a group that are read by `part` alone, and the part.
Set Grouper::with_own_producers(const Set& part) const {
  Set result = part;
  for (const StageId s : part)
    for (const std::size_t e : reads_[s]) {
      const StageId p = edges_[e].producer;
      if (group_of_[p] != group_of_[s] || is_output_[p] || std::binary_search(result.begin(), result.end(), p))
        continue;
      if (std::all_of(read_by_[p].begin(), read_by_[p].end(),
                      [&](std::size_t k) { return std::binary_search(part.begin(), part.end(), edges_[k].consumer); }))
        result.insert(std::lower_bound(result.begin(), result.end(), p), p);
    }
  return result;
}

// What two groups are when a part of one is computed in the other; nothing where that is impossible or no gain.
std::optional<Grouper::Move> Grouper::move(const Set& part, std::size_t from, std::size_t to, double before) const {
  Move m;
  m.part = part;
  std::set_difference(sets_[from].begin(), sets_[from].end(), part.begin(), part.end(), std::back_inserter(m.less));
  std::merge(sets_[to].begin(), sets_[to].end(), part.begin(), part.end(), std::back_inserter(m.more));
  if (m.less.empty()) return {};
  m.without = layout(m.less), m.with = layout(m.more);
  if (!m.without.legal || !m.with.legal) return {};
  if (in_strips_[from] && !runs_in_strips(m.less, m.without)) return {};
  if (in_strips_[to] && !runs_in_strips(m.more, m.with)) return {};
  m.left = price(m.less, m.without).nanoseconds, m.right = price(m.more, m.with).nanoseconds;
  if (m.left + m.right >= before) return {};
  return m;
}

// Merging binds a stage to what it reads before its consumers are looked at. A stage that only another group reads
// moves there when that saves its way through memory; in strips with as many of its own producers as make it cheapest,
// as an image of which every stage is small but the last.
void Grouper::move_to_consumers() {
  for (StageId s = static_cast<StageId>(graph_.stage_count()); s-- > 0;) {
    int a = group_of_[s];
    if (a < 0 || is_output_[s] || read_by_[s].empty() || sets_[static_cast<std::size_t>(a)].size() < 2) continue;
    int b = group_of_[edges_[read_by_[s].front()].consumer];
    bool one = a != b;
    for (std::size_t k : read_by_[s]) one = one && group_of_[edges_[k].consumer] == b;
    if (!one || is_chain_[static_cast<std::size_t>(a)] || is_chain_[static_cast<std::size_t>(b)]) continue;
    const std::size_t from = static_cast<std::size_t>(a), to = static_cast<std::size_t>(b);
    if (sets_[to].size() >= most_stages) continue;
    base::reached_stage(graph_.stage(s).name);
    base::look_at_deadline();
    const double before = price_of_[from] + price_of_[to];
    std::optional<Move> best = move({s}, from, to, before);
    for (Set part{s}; plans_strips();) {
      Set more = with_own_producers(part);
      if (more == part || more.size() == sets_[from].size()) break;
      part = std::move(more);
      if (auto m = move(part, from, to, best ? best->left + best->right : before)) best = std::move(m);
    }
    if (!best) continue;
    for (const StageId t : best->part) group_of_[t] = b;
    if (circular()) {
      for (const StageId t : best->part) group_of_[t] = a;
      continue;
    }
    char text[112];
    std::snprintf(text, sizeof text, "%.2f ms when computed where it is read, %.2f ms before (predicted)",
                  (best->left + best->right) * 1e-6, before * 1e-6);
    decisions_[to].push_back({s, best->more.back(), true, text});
    sets_[from] = std::move(best->less);
    sets_[to] = std::move(best->more);
    price_of_[from] = best->left;
    price_of_[to] = best->right;
    in_strips_[from] = runs_in_strips(sets_[from], best->without);
    in_strips_[to] = runs_in_strips(sets_[to], best->with);
  }
}

// Stages that lead to the last one, each of which only the next one reads, in groups that hold nothing else: as many as
// are a sum taken one dimension at a time. Nothing where there are none, or where one group has them all; unless `all`
// are wanted, nothing where a strip could have them.
Set Grouper::chain_to(StageId last, bool all) const {
  Set chain{last};
  for (std::size_t rank = graph_.stage(last).domain.size(); chain.size() < rank;) {
    const StageId reader = chain.front();
    if (reads_[reader].empty()) break;
    const StageId p = edges_[reads_[reader].front()].producer;
    const auto others = [&](std::size_t e) { return edges_[e].producer != p || edges_[e].consumer != reader; };
    if (group_of_[p] < 0 || is_output_[p] || std::any_of(reads_[reader].begin(), reads_[reader].end(), others) ||
        std::any_of(read_by_[p].begin(), read_by_[p].end(), others))
      break;
    chain.insert(chain.begin(), p);
  }
  const auto apart = [&](const Set& set) {
    bool several = false;
    for (const StageId s : set) {
      const Set& group = sets_[static_cast<std::size_t>(group_of_[s])];
      if (!std::includes(set.begin(), set.end(), group.begin(), group.end())) return false;
      several |= group_of_[s] != group_of_[last];
    }
    return several;
  };
  for (; chain.size() > 1; chain.erase(chain.begin())) {
    if (!std::is_sorted(chain.begin(), chain.end()) || !apart(chain)) continue;
    const auto found = rewrite::sum_chain(graph_, plan_.options.numbers, chain);
    if (!found || !rewrite::fits_device(*found)) continue;
    const Layout together = layout(chain);
    if (together.legal && (all || !no_strip(chain, together).empty())) return chain;
  }
  return {};
}

// A sum that is taken one dimension at a time and fits no strip is one kernel all the same, see rewrite/sums/chain.hpp:
// its operations are as many as before, and what lies between takes no way through memory. Those come before all
// merges, so that their ends are not merged with what is beside them; at the end come others that no strip has taken
// in.
void Grouper::merge_chains(bool all) {
  for (StageId s = static_cast<StageId>(graph_.stage_count()); s-- > 0;) {
    if (group_of_[s] < 0) continue;
    const Set chain = chain_to(s, all);
    if (chain.empty()) continue;
    const int to = group_of_[s];
    for (const StageId from : chain) {
      const auto g = static_cast<std::size_t>(group_of_[from]);
      if (group_of_[from] == to) continue;
      auto& reasons = decisions_[static_cast<std::size_t>(to)];
      reasons.insert(reasons.begin(), decisions_[g].begin(), decisions_[g].end());
      reasons.push_back({from, s, true, "sums along one dimension each, in one march through the image"});
      for (const StageId moved : sets_[g]) group_of_[moved] = to;
      sets_[g].clear();
    }
    sets_[static_cast<std::size_t>(to)] = chain;
    price_of_[static_cast<std::size_t>(to)] = price(chain, layout(chain)).nanoseconds;
    in_strips_[static_cast<std::size_t>(to)] = false;
    is_chain_[static_cast<std::size_t>(to)] = true;
    merged_until_ = std::max(merged_until_, s);
  }
}

}  // namespace tessera::plan
