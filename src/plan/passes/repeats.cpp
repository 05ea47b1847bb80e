// Stages that several groups compute, each for itself, where that takes less time than one of them storing the stage
// and the others reading it.
//
// After all merges a stage S that others read leaves its group as an array: its bytes are written once and read by
// every group that reads it. Such a group may compute S again, from arrays that are there anyway: with S a cone of
// stages is repeated, those on the ways from such arrays to S. A product of two inputs that the group reads as well
// costs one operation and no byte; an image that is doubled is computed from its quarter. Where every group outside
// repeats S, it is stored no more, and where nobody in its own group reads it either, it is computed there no more.
//
// Groups overlap meanwhile: a stage is a member of its own group and of those that repeat it, and `leaving`
// is all that knows about it, so that layout, registers and price of a group with copies are those of a group with the
// stages themselves. Copies are made when everything is decided, each behind its original, which stands behind all
// that it reads. No circle can come about: what a copy reads is what its original reads, and the group of that came
// before its readers' already.
//
// Where rings are registers alone. On CPUs a repeated stage is a further ring or a pass over a row, whose price the
// model knows less well than that of a byte on a GPU, and memory is shared by fewer operations; nobody has measured it.
#include <algorithm>
#include <cstdio>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "plan/groups/groups.hpp"
#include "plan/groups/strips.hpp"
#include "rewrite/rebuild.hpp"

namespace tessera::plan {

using ir::Stage;
using ir::StageId;
using ir::StageKind;

namespace {

// Of one cone: more are no small thing to repeat, and cost time to try.
constexpr std::size_t most_repeated = 24;
// With which three blocks of 128 threads have room on a multiprocessor, twelve warps. Of many registers compilers make
// still more, so that each beyond `wide_strip_registers` counts as so much of the group's time.
constexpr int most_registers = 168;
constexpr double price_of_register = 0.01;
// Of the time of all groups: a stage whose way through memory takes less is not looked at. Half of a pyramid is small.
constexpr double least_share = 1e-5;
// Of a register tile's text: instructions (lower/ways/register_tiles/register_tiles.cpp).
constexpr double most_text = 5000;

void insert(Set& set, StageId s) {
  const auto at = std::lower_bound(set.begin(), set.end(), s);
  if (at == set.end() || *at != s) set.insert(at, s);
}

void erase(Set& set, StageId s) {
  const auto at = std::lower_bound(set.begin(), set.end(), s);
  if (at != set.end() && *at == s) set.erase(at);
}

// Groups that a repetition changes: as they were, and what they become.
struct Trial {
  struct Outcome {
    double nanoseconds = 0;
    bool in_strips = false;
  };
  std::map<int, Set> before;
  std::map<StageId, std::vector<int>> repeated_before;
  std::map<int, Outcome> after;
  double crowding = 0;  // nanoseconds that more registers are taken to cost
};

class RepeatStages {
 public:
  RepeatStages(const GraphFacts& facts, Groups& groups) : facts_(facts), graph_(facts.graph), groups_(groups) {}

  void repeat_stages();

 private:
  struct Repeat {
    int group = 0;  // that reads them
    Set part;       // what it computes itself
  };
  bool leaves(StageId, int own) const;
  std::vector<bool> leaving(const Set&) const;
  std::optional<Set> repeatable(StageId, int group, bool together) const;
  std::vector<Repeat> repeats_of(StageId, bool together) const;
  bool try_repeats(const std::vector<Repeat>&, StageId);
  bool attempt(const std::vector<Repeat>&, Trial&);
  bool measure(int group, Trial&);
  void drop_unread(std::set<std::pair<StageId, int>> maybe, Trial&);
  void put_back(const Trial&);
  int home(StageId s) const { return groups_.home[s]; }
  bool computes(int group, StageId s) const { return groups_.computes(group, s); }

  const GraphFacts& facts_;
  const ir::Graph& graph_;
  Groups& groups_;
  std::map<int, RegisterTile> tiles_;  // by set, of those that have been asked for
};

// Like plan::leaving, where groups overlap. Copies are there for stages of their group and never leave it. Readers
// count in every group that computes them.
bool RepeatStages::leaves(StageId s, int own) const {
  if (home(s) != own) return false;
  if (facts_.of(s).is_output) return true;
  const auto misses = [&](int group) { return group != own && !computes(group, s); };
  for (const std::size_t k : facts_.of(s).read_by) {
    const StageId c = facts_.edges[k].consumer;
    if (computes(home(c), c) && misses(home(c))) return true;
    if (std::any_of(groups_.repeated[c].begin(), groups_.repeated[c].end(), misses)) return true;
  }
  return false;
}

// (The last stage of a set is no copy: those stand before the stages that they are there for.)
std::vector<bool> RepeatStages::leaving(const Set& set) const {
  std::vector<bool> result;
  for (const StageId s : set) result.push_back(leaves(s, home(set.back())));
  return result;
}

// What a group computes when it computes `s`, which it reads, itself: the stages between arrays and `s`. `together`
// with all else that it reads of the group of `s`, which must be more than that. Of pieces of one composed stage all
// are computed, or none. Nothing where that is impossible or too much.
std::optional<Set> RepeatStages::repeatable(StageId s, int group, bool together) const {
  Set part{s};
  for (const StageId t : together ? groups_.set(home(s)) : Set{}) {
    const bool read = std::any_of(facts_.of(t).read_by.begin(), facts_.of(t).read_by.end(),
                                  [&](std::size_t k) { return computes(group, facts_.edges[k].consumer); });
    if (!read || facts_.of(t).is_output || home(t) != home(s) || computes(group, t)) continue;
    if (t > s) return {};  // has been tried
    insert(part, t);
  }
  if (together && part.size() == 1) return {};
  for (const std::size_t k : facts_.of(s).read_by) {
    const StageId c = facts_.edges[k].consumer;
    if (graph_.stage(c).kind != StageKind::compose || !computes(group, c)) continue;
    for (const ir::Piece& piece : graph_.stage(c).pieces)
      if (piece.stage && graph_.stage(*piece.stage).kind != StageKind::input && !computes(group, *piece.stage)) {
        if (*piece.stage > s) return {};  // has been tried
        insert(part, *piece.stage);
      }
  }
  std::vector<StageId> open(part.begin(), part.end());
  while (!open.empty()) {
    const StageId t = open.back();
    open.pop_back();
    if (facts_.of(t).is_output) return {};
    for (const std::size_t k : facts_.of(t).reads) {
      const StageId p = facts_.edges[k].producer;
      const int owner = home(p);
      if (owner < 0 || computes(group, p) || contains(part, p)) continue;
      // Pieces belong to what they fill, wherever they are stored.
      const bool piece = graph_.stage(t).kind == StageKind::compose;
      if (!piece && computes(owner, p) && leaves(p, owner)) continue;
      insert(part, p);
      open.push_back(p);
    }
    if (part.size() > most_repeated) return {};
  }
  return part;
}

// For every group that reads `s` and could compute it.
std::vector<RepeatStages::Repeat> RepeatStages::repeats_of(StageId s, bool together) const {
  std::set<int> groups;
  for (const std::size_t k : facts_.of(s).read_by) {
    const StageId c = facts_.edges[k].consumer;
    if (computes(home(c), c)) groups.insert(home(c));
    groups.insert(groups_.repeated[c].begin(), groups_.repeated[c].end());
  }
  std::vector<Repeat> result;
  for (const int group : groups) {
    if (computes(group, s) || !groups_.is_strip(group)) continue;
    if (auto part = repeatable(s, group, together)) result.push_back({group, std::move(*part)});
  }
  return result;
}

// Takes a stage out of a group where nobody reads it any more, and then what it alone has read.
void RepeatStages::drop_unread(std::set<std::pair<StageId, int>> maybe, Trial& trial) {
  while (!maybe.empty()) {
    const auto [s, group] = *std::prev(maybe.end());
    maybe.erase(std::prev(maybe.end()));
    if (group < 0 || !computes(group, s)) continue;
    Set& set = groups_.set(group);
    trial.before.try_emplace(group, set);
    const bool read = std::any_of(facts_.of(s).read_by.begin(), facts_.of(s).read_by.end(),
                                  [&, own = group](std::size_t k) { return computes(own, facts_.edges[k].consumer); });
    if (read || leaves(s, group)) continue;
    erase(set, s);
    trial.repeated_before.try_emplace(s, groups_.repeated[s]);
    std::erase(groups_.repeated[s], group);
    for (const std::size_t k : facts_.of(s).reads) {
      const StageId p = facts_.edges[k].producer;
      maybe.insert({p, group});
      maybe.insert({p, home(p)});
    }
  }
}

// Lets groups repeat stages and asks for the prices. False where a group would be none, or no strip, or one whose
// threads have fewer columns or too many registers. The sets are those of the trial afterwards, whatever the answer is.
bool RepeatStages::attempt(const std::vector<Repeat>& repeats, Trial& trial) {
  std::set<std::pair<StageId, int>> maybe;
  for (const auto& [group, part] : repeats) {
    Set& set = groups_.set(group);
    if (!tiles_.contains(group)) tiles_[group] = register_tile(facts_, set, layout(facts_, set, leaving(set)));
    trial.before.try_emplace(group, set);
  }
  for (const auto& [group, part] : repeats)
    for (const StageId s : part) {
      trial.repeated_before.try_emplace(s, groups_.repeated[s]);
      insert(groups_.set(group), s);
      groups_.repeated[s].push_back(group);
      maybe.insert({s, home(s)});
    }
  drop_unread(std::move(maybe), trial);
  return std::all_of(trial.before.begin(), trial.before.end(),
                     [&](const auto& was) { return measure(was.first, trial); });
}

bool RepeatStages::measure(int group, Trial& trial) {
  const Set& set = groups_.set(group);
  Trial::Outcome& after = trial.after[group];
  if (set.empty()) return true;
  const Layout found = layout(facts_, set, leaving(set));
  if (!found.legal) return false;
  const RegisterTile now = register_tile(facts_, set, found);
  after.in_strips = now.is_strip || (now.registers > 0 && now.registers <= most_registers && now.text <= most_text);
  if (groups_.is_strip(group) && !after.in_strips) return false;
  after.nanoseconds = price(facts_, set, found).nanoseconds;
  const auto then = tiles_.find(group);
  if (then == tiles_.end()) return true;
  const RegisterTile& was = then->second;
  if (now.columns < was.columns || now.registers > std::max(was.registers, most_registers)) return false;
  if (now.text > std::max(was.text, most_text)) return false;
  const int more = std::max(now.registers, wide_strip_registers) - std::max(was.registers, wide_strip_registers);
  trial.crowding += price_of_register * more * after.nanoseconds;
  return true;
}

void RepeatStages::put_back(const Trial& trial) {
  for (const auto& [group, set] : trial.before) groups_.set(group) = set;
  for (const auto& [s, groups] : trial.repeated_before) groups_.repeated[s] = groups;
}

// Consumers come before producers: what a group repeats may lead it to read what it can repeat as well.
void RepeatStages::repeat_stages() {
  groups_.repeated.assign(facts_.stages.size(), {});
  double total = 0;
  for (std::size_t g = 0; g < groups_.sets.size(); ++g) total += groups_.sets[g].empty() ? 0 : groups_.nanoseconds[g];
  for (StageId s = static_cast<StageId>(facts_.stages.size()); s-- > 0;) {
    if (home(s) < 0 || facts_.of(s).is_output) continue;
    const double bytes = facts_.of(s).points * facts_.element_bytes(s);
    const double most = bytes * static_cast<double>(1 + facts_.of(s).read_by.size()) / facts_.machine.bandwidth;
    if (most < least_share * total) continue;
    if (const std::vector<Repeat> together = repeats_of(s, true); together.size() == 1 && try_repeats(together, s))
      continue;
    std::vector<Repeat> all = repeats_of(s, false), cheaper;
    // What a group gains by itself; what is stored no more is gained by all of them.
    if (all.size() > 1) {
      std::vector<Repeat> possible;
      for (Repeat& r : all) {
        Trial alone;
        const bool can = attempt({r}, alone);
        put_back(alone);
        if (!can) continue;
        if (alone.after.at(r.group).nanoseconds < groups_.price(r.group)) cheaper.push_back(r);
        possible.push_back(std::move(r));
      }
      all = std::move(possible);
    }
    if (!try_repeats(all, s) && cheaper.size() < all.size()) try_repeats(cheaper, s);
  }
}

bool RepeatStages::try_repeats(const std::vector<Repeat>& repeats, StageId s) {
  if (repeats.empty()) return false;
  Trial trial;
  const bool can = attempt(repeats, trial);
  double before = 0, after = 0;
  for (const auto& [group, outcome] : trial.after) {
    before += groups_.price(group);
    after += outcome.nanoseconds;
  }
  if (!can || after + trial.crowding >= before) {
    put_back(trial);
    return false;
  }
  char text[112];
  std::snprintf(text, sizeof text, "%.2f ms when repeated where it is read, %.2f ms before (predicted)", after * 1e-6,
                before * 1e-6);
  for (const Repeat& r : repeats) {
    const std::size_t group = static_cast<std::size_t>(r.group);
    groups_.decisions[group].push_back({s, groups_.sets[group].back(), true, text});
  }
  for (const auto& [group, outcome] : trial.after) {
    groups_.price(group) = outcome.nanoseconds;
    groups_.in_strips[static_cast<std::size_t>(group)] = outcome.in_strips;
    tiles_.erase(group);
  }
  return true;
}

}  // namespace

void repeat_stages(const GraphFacts& facts, Groups& groups) {
  RepeatStages(facts, groups).repeat_stages();
}

bool repeats(const ir::Graph& graph, const Grouping& grouping) {
  std::vector<int> times(graph.stage_count());
  for (const Set& set : grouping.sets)
    for (const StageId s : set) ++times[s];
  for (StageId s = 0; s < times.size(); ++s)
    if (times[s] != (graph.stage(s).kind == StageKind::input ? 0 : 1)) return true;
  return false;
}

void copy_repeated(ir::Graph& graph, Grouping& grouping) {
  const std::vector<Stage> old = graph.take_stages();
  const std::size_t count = grouping.sets.size();
  std::vector<std::vector<int>> groups(old.size());
  for (std::size_t g = 0; g < count; ++g)
    for (const StageId s : grouping.sets[g]) groups[s].push_back(static_cast<int>(g));
  std::vector<StageId> now(old.size());                // that others read
  std::vector<std::map<StageId, StageId>> own(count);  // by set
  std::vector<ir::RewriteMemo> memos(count);
  const auto read_in = [&](int group, StageId s) {
    const auto& there = own[static_cast<std::size_t>(group)];
    const auto at = there.find(s);
    return at == there.end() ? now[s] : at->second;
  };
  for (StageId s = 0; s < old.size(); ++s) {
    if (old[s].kind == StageKind::input) now[s] = graph.add(old[s]);
    // Where its own group computes it no more, the first copy stands for it in what is told.
    const bool at_home = std::count(groups[s].begin(), groups[s].end(), grouping.home[s]) > 0;
    const int shown = at_home || groups[s].empty() ? grouping.home[s] : groups[s].front();
    for (const int group : groups[s]) {
      Stage stage = old[s];
      const auto moved = [&](ir::ExprId, const ir::ExprNode& node) {
        if (!reads_stage(node.op)) return ir::ExprId{};
        ir::ExprNode carried = node;
        carried.stage = read_in(group, node.stage);
        return graph.expr(std::move(carried));
      };
      if (stage.body.valid())
        stage.body = ir::rewrite(graph, stage.body, moved, memos[static_cast<std::size_t>(group)]);
      for (ir::Piece& piece : stage.pieces)
        if (piece.stage) piece.stage = read_in(group, *piece.stage);
      const StageId added = graph.add(std::move(stage));
      own[static_cast<std::size_t>(group)][s] = added;
      if (group == shown) now[s] = added;
    }
  }
  for (ir::Output& output : graph.outputs)
    for (StageId& s : output.stages) s = now[s];
  std::vector<int> home(graph.stage_count(), -1);
  for (std::size_t g = 0; g < count; ++g) {
    for (Decision& d : grouping.decisions[g]) {
      d.a = read_in(static_cast<int>(g), d.a);
      d.b = read_in(static_cast<int>(g), d.b);
    }
    for (StageId& s : grouping.sets[g]) {
      s = own[g].at(s);
      home[s] = static_cast<int>(g);
    }
  }
  grouping.home = std::move(home);
}

}  // namespace tessera::plan
