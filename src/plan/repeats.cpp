// Stages that several groups compute, each for itself, where that takes less time than one of them storing the stage
// and the others reading it.
//
// After all merges a stage S that others read leaves its group as an array: its bytes are written once and read by
// every group that reads it. Such a group may compute S again, from arrays that are there anyway: with S a cone of
// stages is repeated, those on the ways from such arrays to S. A product of two inputs that the group reads as well
// costs one operation and no byte; an image that is doubled is computed from its quarter. Where every group outside
// repeats S, it is stored no more, and where nobody in its own group reads it either, it is computed there no more.
//
// Groups overlap meanwhile: a stage is a member of its own group and of those that repeat it, and `leaves_repeating`
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
#include <utility>

#include "plan/groups.hpp"
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
// A register tile of so many rows has a text of at most so many instructions
// (lower/ways/register_tiles/register_tiles.cpp).
constexpr i64 least_rows = 4;
constexpr double most_text = 5000;

void insert(Set& set, StageId s) {
  const auto at = std::lower_bound(set.begin(), set.end(), s);
  if (at == set.end() || *at != s) set.insert(at, s);
}

void erase(Set& set, StageId s) {
  const auto at = std::lower_bound(set.begin(), set.end(), s);
  if (at != set.end() && *at == s) set.erase(at);
}

}  // namespace

// Groups that a repetition changes: as they were, and what they become.
struct Grouper::Trial {
  struct Outcome {
    double nanoseconds = 0;
    bool in_strips = false;
  };
  std::map<int, Set> before;
  std::map<StageId, std::vector<int>> repeated_before;
  std::map<int, Outcome> after;
  double crowding = 0;  // nanoseconds that more registers are taken to cost
};

// Like leaves_group, where groups overlap. Copies are there for stages of their group and never leave it. Readers count
// in every group that computes them.
bool Grouper::leaves_repeating(StageId s, int own) const {
  if (group_of_[s] != own) return false;
  if (is_output_[s]) return true;
  const auto misses = [&](int group) { return group != own && !computes(group, s); };
  for (const std::size_t k : read_by_[s]) {
    const StageId c = edges_[k].consumer;
    if (computes(group_of_[c], c) && misses(group_of_[c])) return true;
    if (std::any_of(repeated_in_[c].begin(), repeated_in_[c].end(), misses)) return true;
  }
  return false;
}

Grouper::Shape Grouper::shape(const Set& set, const Layout& layout) const {
  const auto bytes = [&](StageId s) { return ir::nest::size_of(plan_.stages[s].lane); };
  Strip found = strip(set, layout);
  if (!found.why.empty()) return {};
  Shape shape;
  shape.is_strip = runs_in_strips(set, layout);
  found.look_ahead(-1);
  shape.columns = found.columns_for(plan_.device.strip_registers, bytes);
  shape.registers = found.registers(shape.columns, bytes);
  for (const StripRing& ring : found.rings) {
    if (ring.depth == 0) continue;
    const double columns = static_cast<double>(ring.columns(shape.columns));
    const double each = ring.memory ? 0.5 : instructions_[ring.stage];
    shape.text += static_cast<double>(ring.rows_of_tile(least_rows)) * columns * each;
  }
  return shape;
}

// What a group computes when it computes `s`, which it reads, itself: the stages between arrays and `s`. `together`
// with all else that it reads of the group of `s`, which must be more than that. Of pieces of one composed stage all
// are computed, or none. Nothing where that is impossible or too much.
std::optional<Set> Grouper::repeatable(StageId s, int group, bool together) const {
  Set part{s};
  for (const StageId t : together ? sets_[static_cast<std::size_t>(group_of_[s])] : Set{}) {
    const bool read = std::any_of(read_by_[t].begin(), read_by_[t].end(),
                                  [&](std::size_t k) { return computes(group, edges_[k].consumer); });
    if (!read || is_output_[t] || group_of_[t] != group_of_[s] || computes(group, t)) continue;
    if (t > s) return {};  // has been tried
    insert(part, t);
  }
  if (together && part.size() == 1) return {};
  for (const std::size_t k : read_by_[s]) {
    const StageId c = edges_[k].consumer;
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
    if (is_output_[t]) return {};
    for (const std::size_t k : reads_[t]) {
      const StageId p = edges_[k].producer;
      const int home = group_of_[p];
      if (home < 0 || computes(group, p) || std::binary_search(part.begin(), part.end(), p)) continue;
      // Pieces belong to what they fill, wherever they are stored.
      const bool piece = graph_.stage(t).kind == StageKind::compose;
      if (!piece && computes(home, p) && leaves_repeating(p, home)) continue;
      insert(part, p);
      open.push_back(p);
    }
    if (part.size() > most_repeated) return {};
  }
  return part;
}

// For every group that reads `s` and could compute it.
std::vector<Grouper::Repeat> Grouper::repeats_of(StageId s, bool together) const {
  std::set<int> groups;
  for (const std::size_t k : read_by_[s]) {
    const StageId c = edges_[k].consumer;
    if (computes(group_of_[c], c)) groups.insert(group_of_[c]);
    groups.insert(repeated_in_[c].begin(), repeated_in_[c].end());
  }
  std::vector<Repeat> result;
  for (const int group : groups) {
    if (computes(group, s) || !in_strips_[static_cast<std::size_t>(group)]) continue;
    if (auto part = repeatable(s, group, together)) result.push_back({group, std::move(*part)});
  }
  return result;
}

// Takes a stage out of a group where nobody reads it any more, and then what it alone has read.
void Grouper::drop_unread(std::set<std::pair<StageId, int>> maybe, Trial& trial) {
  while (!maybe.empty()) {
    const auto [s, group] = *std::prev(maybe.end());
    maybe.erase(std::prev(maybe.end()));
    if (group < 0 || !computes(group, s)) continue;
    Set& set = sets_[static_cast<std::size_t>(group)];
    trial.before.try_emplace(group, set);
    const bool read = std::any_of(read_by_[s].begin(), read_by_[s].end(),
                                  [&, own = group](std::size_t k) { return computes(own, edges_[k].consumer); });
    if (read || leaves_repeating(s, group)) continue;
    erase(set, s);
    trial.repeated_before.try_emplace(s, repeated_in_[s]);
    std::erase(repeated_in_[s], group);
    for (const std::size_t k : reads_[s]) {
      const StageId p = edges_[k].producer;
      maybe.insert({p, group});
      maybe.insert({p, group_of_[p]});
    }
  }
}

// Lets groups repeat stages and asks for the prices. False where a group would be none, or no strip, or one whose
// threads have fewer columns or too many registers. The sets are those of the trial afterwards, whatever the answer is.
bool Grouper::attempt(const std::vector<Repeat>& repeats, Trial& trial) {
  std::set<std::pair<StageId, int>> maybe;
  for (const auto& [group, part] : repeats) {
    Set& set = sets_[static_cast<std::size_t>(group)];
    if (!shapes_.contains(group)) shapes_[group] = shape(set, layout(set));
    trial.before.try_emplace(group, set);
  }
  for (const auto& [group, part] : repeats)
    for (const StageId s : part) {
      trial.repeated_before.try_emplace(s, repeated_in_[s]);
      insert(sets_[static_cast<std::size_t>(group)], s);
      repeated_in_[s].push_back(group);
      maybe.insert({s, group_of_[s]});
    }
  drop_unread(std::move(maybe), trial);
  for (const auto& [group, before] : trial.before) {
    const Set& set = sets_[static_cast<std::size_t>(group)];
    Trial::Outcome& after = trial.after[group];
    if (set.empty()) continue;
    const Layout found = layout(set);
    if (!found.legal) return false;
    const Shape now = shape(set, found);
    after.in_strips = now.is_strip || (now.registers > 0 && now.registers <= most_registers && now.text <= most_text);
    if (in_strips_[static_cast<std::size_t>(group)] && !after.in_strips) return false;
    after.nanoseconds = price(set, found).nanoseconds;
    const auto then = shapes_.find(group);
    if (then == shapes_.end()) continue;
    const Shape& was = then->second;
    if (now.columns < was.columns || now.registers > std::max(was.registers, most_registers)) return false;
    if (now.text > std::max(was.text, most_text)) return false;
    const int more = std::max(now.registers, wide_strip_registers) - std::max(was.registers, wide_strip_registers);
    trial.crowding += price_of_register * more * after.nanoseconds;
  }
  return true;
}

void Grouper::put_back(const Trial& trial) {
  for (const auto& [group, set] : trial.before) sets_[static_cast<std::size_t>(group)] = set;
  for (const auto& [s, groups] : trial.repeated_before) repeated_in_[s] = groups;
}

// Consumers come before producers: what a group repeats may lead it to read what it can repeat as well.
void Grouper::repeat_stages() {
  repeated_in_.assign(graph_.stage_count(), {});
  double total = 0;
  for (std::size_t g = 0; g < sets_.size(); ++g) total += sets_[g].empty() ? 0 : price_of_[g];
  for (StageId s = static_cast<StageId>(graph_.stage_count()); s-- > 0;) {
    if (group_of_[s] < 0 || is_output_[s]) continue;
    const double bytes = points(s) * ir::nest::size_of(plan_.stages[s].lane);
    const double most = bytes * static_cast<double>(1 + read_by_[s].size()) / plan_.device.bandwidth;
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
        if (alone.after.at(r.group).nanoseconds < price_of_[static_cast<std::size_t>(r.group)]) cheaper.push_back(r);
        possible.push_back(std::move(r));
      }
      all = std::move(possible);
    }
    if (!try_repeats(all, s) && cheaper.size() < all.size()) try_repeats(cheaper, s);
  }
}

bool Grouper::try_repeats(const std::vector<Repeat>& repeats, StageId s) {
  if (repeats.empty()) return false;
  Trial trial;
  const bool can = attempt(repeats, trial);
  double before = 0, after = 0;
  for (const auto& [group, outcome] : trial.after) {
    before += price_of_[static_cast<std::size_t>(group)];
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
    decisions_[group].push_back({s, sets_[group].back(), true, text});
  }
  for (const auto& [group, outcome] : trial.after) {
    price_of_[static_cast<std::size_t>(group)] = outcome.nanoseconds;
    in_strips_[static_cast<std::size_t>(group)] = outcome.in_strips;
    shapes_.erase(group);
  }
  return true;
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
