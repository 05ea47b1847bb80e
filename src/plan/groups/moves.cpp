// Stages that change their group once all merges are done; sums that are one march through an image, and reductions.
#include <algorithm>
#include <cstdio>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "base/process/deadline.hpp"
#include "plan/groups/groups.hpp"
#include "plan/groups/pieces.hpp"
#include "plan/groups/strips.hpp"
#include "rewrite/sums/chain.hpp"

namespace tessera::plan {

using ir::StageId;

namespace {

// The stages of a group that are read by `part` alone, and the part.
Set with_own_producers(const GraphFacts& facts, const Groups& groups, const Set& part) {
  Set result = part;
  for (const StageId s : part)
    for (const std::size_t e : facts.of(s).reads) {
      const StageId p = facts.edges[e].producer;
      if (groups.home[p] != groups.home[s] || facts.of(p).is_output || contains(result, p)) continue;
      if (std::all_of(facts.of(p).read_by.begin(), facts.of(p).read_by.end(),
                      [&](std::size_t k) { return contains(part, facts.edges[k].consumer); }))
        result.insert(std::lower_bound(result.begin(), result.end(), p), p);
    }
  return result;
}

// A part of one group that is computed in another.
struct Move {
  Set part, less, more;  // what moves, from where, to where
  Layout without, with;
  double left = 0, right = 0;  // nanoseconds
};

// What two groups are when a part of one is computed in the other; nothing where that is impossible or no gain.
std::optional<Move> try_move(const GraphFacts& facts, const Groups& groups, const Set& part, std::size_t from,
                             std::size_t to, double before) {
  Move m;
  m.part = part;
  std::set_difference(groups.sets[from].begin(), groups.sets[from].end(), part.begin(), part.end(),
                      std::back_inserter(m.less));
  std::merge(groups.sets[to].begin(), groups.sets[to].end(), part.begin(), part.end(), std::back_inserter(m.more));
  if (m.less.empty()) return {};
  m.without = layout(facts, m.less, leaving(facts, m.less));
  m.with = layout(facts, m.more, leaving(facts, m.more));
  if (!m.without.legal || !m.with.legal) return {};
  if (groups.in_strips[from] && !runs_in_strips(facts, m.less, m.without)) return {};
  if (groups.in_strips[to] && !runs_in_strips(facts, m.more, m.with)) return {};
  m.left = price(facts, m.less, m.without).nanoseconds, m.right = price(facts, m.more, m.with).nanoseconds;
  if (m.left + m.right >= before) return {};
  return m;
}

// Stages that lead to the last one, each of which only the next one reads, in groups that hold nothing else: as many as
// are a sum taken one dimension at a time. Nothing where there are none, or where one group has them all; unless `all`
// are wanted, nothing where a strip could have them.
Set chain_to(const GraphFacts& facts, const Groups& groups, StageId last, bool all) {
  Set chain{last};
  for (std::size_t rank = facts.graph.stage(last).domain.size(); chain.size() < rank;) {
    const StageId reader = chain.front();
    if (facts.of(reader).reads.empty()) break;
    const StageId p = facts.edges[facts.of(reader).reads.front()].producer;
    const auto others = [&](std::size_t e) {
      return facts.edges[e].producer != p || facts.edges[e].consumer != reader;
    };
    if (groups.home[p] < 0 || facts.of(p).is_output ||
        std::any_of(facts.of(reader).reads.begin(), facts.of(reader).reads.end(), others) ||
        std::any_of(facts.of(p).read_by.begin(), facts.of(p).read_by.end(), others))
      break;
    chain.insert(chain.begin(), p);
  }
  const auto apart = [&](const Set& set) {
    bool several = false;
    for (const StageId s : set) {
      const Set& group = groups.sets[static_cast<std::size_t>(groups.home[s])];
      if (!std::includes(set.begin(), set.end(), group.begin(), group.end())) return false;
      several |= groups.home[s] != groups.home[last];
    }
    return several;
  };
  for (; chain.size() > 1; chain.erase(chain.begin())) {
    if (!std::is_sorted(chain.begin(), chain.end()) || !apart(chain)) continue;
    const auto found = rewrite::sum_chain(facts.graph, facts.options.numbers, chain);
    if (!found || !rewrite::fits_device(*found)) continue;
    const Layout together = layout(facts, chain, leaving(facts, chain));
    if (together.legal && (all || !no_strip(facts, together).empty())) return chain;
  }
  return {};
}

// A set that takes no other stage in: the group of `last`, with what those of its stages have decided.
void put_together(const GraphFacts& facts, Groups& groups, const Set& set, StageId last, const std::string& why) {
  const int to = groups.home[last];
  for (const StageId from : set) {
    const auto g = static_cast<std::size_t>(groups.home[from]);
    if (groups.home[from] == to) continue;
    auto& reasons = groups.decisions[static_cast<std::size_t>(to)];
    reasons.insert(reasons.begin(), groups.decisions[g].begin(), groups.decisions[g].end());
    reasons.push_back({from, last, true, why});
    for (const StageId moved : groups.sets[g]) groups.home[moved] = to;
    groups.sets[g].clear();
  }
  groups.sets[static_cast<std::size_t>(to)] = set;
  groups.nanoseconds[static_cast<std::size_t>(to)] =
      price(facts, set, layout(facts, set, leaving(facts, set))).nanoseconds;
  groups.in_strips[static_cast<std::size_t>(to)] = false;
  groups.is_chain[static_cast<std::size_t>(to)] = true;
  groups.merged_until = std::max(groups.merged_until, last);
}

}  // namespace

// Merging binds a stage to what it reads before its consumers are looked at. A stage that only another group reads
// moves there when that saves its way through memory; in strips with as many of its own producers as make it cheapest,
// as an image of which every stage is small but the last.
void move_to_consumers(const GraphFacts& facts, Groups& groups) {
  for (StageId s = static_cast<StageId>(facts.stages.size()); s-- > 0;) {
    int a = groups.home[s];
    if (a < 0 || facts.of(s).is_output || facts.of(s).read_by.empty() ||
        groups.sets[static_cast<std::size_t>(a)].size() < 2)
      continue;
    int b = groups.home[facts.edges[facts.of(s).read_by.front()].consumer];
    bool one = a != b;
    for (std::size_t k : facts.of(s).read_by) one = one && groups.home[facts.edges[k].consumer] == b;
    if (!one || groups.is_chain[static_cast<std::size_t>(a)] || groups.is_chain[static_cast<std::size_t>(b)]) continue;
    const std::size_t from = static_cast<std::size_t>(a), to = static_cast<std::size_t>(b);
    if (groups.sets[to].size() >= Groups::most_stages) continue;
    base::reached_stage(facts.graph.stage(s).name);
    base::look_at_deadline();
    const double before = groups.nanoseconds[from] + groups.nanoseconds[to];
    std::optional<Move> best = try_move(facts, groups, {s}, from, to, before);
    for (Set part{s}; facts.plans_strips;) {
      Set more = with_own_producers(facts, groups, part);
      if (more == part || more.size() == groups.sets[from].size()) break;
      part = std::move(more);
      if (auto m = try_move(facts, groups, part, from, to, best ? best->left + best->right : before))
        best = std::move(m);
    }
    if (!best) continue;
    for (const StageId t : best->part) groups.home[t] = b;
    if (circular(facts, groups)) {
      for (const StageId t : best->part) groups.home[t] = a;
      continue;
    }
    char text[112];
    std::snprintf(text, sizeof text, "%.2f ms when computed where it is read, %.2f ms before (predicted)",
                  (best->left + best->right) * 1e-6, before * 1e-6);
    groups.decisions[to].push_back({s, best->more.back(), true, text});
    groups.sets[from] = std::move(best->less);
    groups.sets[to] = std::move(best->more);
    groups.nanoseconds[from] = best->left;
    groups.nanoseconds[to] = best->right;
    groups.in_strips[from] = runs_in_strips(facts, groups.sets[from], best->without);
    groups.in_strips[to] = runs_in_strips(facts, groups.sets[to], best->with);
  }
}

// A sum that is taken one dimension at a time and fits no strip is one kernel all the same, see rewrite/sums/chain.hpp:
// its operations are as many as before, and what lies between takes no way through memory. Those come before all
// merges, so that their ends are not merged with what is beside them; at the end come others that no strip has taken
// in.
void merge_chains(const GraphFacts& facts, Groups& groups, bool all) {
  for (StageId s = static_cast<StageId>(facts.stages.size()); s-- > 0;) {
    if (groups.home[s] < 0) continue;
    const Set chain = chain_to(facts, groups, s, all);
    if (chain.empty()) continue;
    put_together(facts, groups, chain, s, "sums along one dimension each, in one march through the image");
  }
}

// Those of one image, as far as none waits for what another one leads to.
void merge_pieces(const GraphFacts& facts, Groups& groups) {
  constexpr std::size_t most_stages = 16;              // of a block: their lanes share its memory
  std::map<std::optional<StageId>, StageId> of_image;  // the last reduction of an image
  for (StageId s = 0; s < facts.stages.size(); ++s) {
    const std::optional<StageId> lanes = groups.home[s] < 0 ? std::nullopt : lanes_of_total(facts, s);
    if (!lanes) continue;
    put_together(facts, groups, {*lanes, s}, s, "a reduction with its lanes");
    const auto [last, fresh] = of_image.try_emplace(image_in_pieces(facts.graph, *lanes), s);
    const StageId other = std::exchange(last->second, s);
    if (fresh || facts.graph.stage(s).domain != facts.graph.stage(other).domain) continue;
    Set both = groups.set(groups.home[other]);
    both.insert(both.end(), {*lanes, s});
    std::sort(both.begin(), both.end());
    if (both.size() <= most_stages && !reduction_pairs(facts.graph, both).empty() &&
        !creates_cycle(facts, groups, groups.home[other], groups.home[s]))
      put_together(facts, groups, both, s, "reductions that are read together");
  }
}

}  // namespace tessera::plan
