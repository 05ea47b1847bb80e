// See totals.hpp.
#include "ir/totals.hpp"

#include <algorithm>
#include <map>

#include "ir/keyed.hpp"
#include "ir/reductions.hpp"
#include "ir/section_graph.hpp"

namespace tessera::ir {
namespace {

bool is_total(const Graph& g, StageId s) {
  const Stage& stage = g.stage(s);
  return stage.kind == StageKind::point && is_whole(g.node(stage.body).op);
}

std::vector<bool> live_stages(const Graph& g) {
  std::vector<bool> live(g.stage_count());
  for (const Output& o : g.outputs)
    for (const StageId s : o.stages) live[s] = true;
  for (auto s = static_cast<StageId>(g.stage_count()); s-- > 0;)
    if (live[s])
      for (const StageId p : sources(g, s)) live[p] = true;
  return live;
}

class Cut {
 public:
  Cut(const Graph& g, OutputsAre outputs, const std::vector<StageId>& stored)
      : g_(g), level_(g.stage_count()), live_(live_stages(g)), stored_(g.stage_count()) {
    for (const StageId s : stored) stored_[s] = true;
    for (StageId s = 0; s < g.stage_count(); ++s) {
      for (const StageId p : sources(g, s)) level_[s] = std::max(level_[s], level_[p] + (stored_[p] ? 1 : 0));
      if (is_total(g, s)) ++level_[s];
      if (live_[s]) last_ = std::max(last_, level_[s]);
    }
    for (StageId s = 0; s < g.stage_count(); ++s) {
      stored_[s] = stored_[s] && level_[s] < last_;  // nobody reads what the last sections make
      if (live_[s] && (is_total(g, s) || stored_[s])) {
        places_[s] = result_.places.size();
        result_.places.push_back({g.stage(s).name, g.stage(s).type, g.stage(s).domain});
      }
    }
    for (std::size_t level = 0; level <= last_; ++level) sections_of(level, outputs);
  }

  Totals result() { return std::move(result_); }

 private:
  struct Wanted {
    std::vector<std::size_t> outputs;  // of the graph
    std::vector<StageId> stored;
    std::map<StageId, std::vector<StageId>> totals;  // by the image that they reduce
  };

  std::size_t level_of(const Output& o) const {
    std::size_t level = 0;
    for (const StageId s : o.stages) level = std::max(level, level_[s]);
    return level;
  }

  void sections_of(std::size_t level, OutputsAre outputs) {
    std::vector<std::pair<std::vector<SizeId>, Wanted>> by_extents;
    const auto wanted = [&](const std::vector<SizeId>& extents) -> Wanted& {
      for (auto& [known, of] : by_extents)
        if (known == extents) return of;
      return by_extents.emplace_back(extents, Wanted{}).second;
    };
    for (StageId s = 0; s < g_.stage_count(); ++s) {
      if (!live_[s] || !is_total(g_, s) || level_[s] != level + 1) continue;
      const StageId image = g_.node(g_.stage(s).body).stage;
      wanted(g_.stage(image).domain).totals[image].push_back(s);
    }
    for (StageId s = 0; s < g_.stage_count(); ++s)
      if (live_[s] && stored_[s] && level_[s] == level) wanted(g_.stage(s).domain).stored.push_back(s);
    for (std::size_t o = 0; o < g_.outputs.size(); ++o)
      if ((outputs == OutputsAre::last ? last_ : level_of(g_.outputs[o])) == level)
        wanted(g_.stage(g_.outputs[o].stages.front()).domain).outputs.push_back(o);
    for (const auto& [extents, of] : by_extents) section(of, level);
  }

  void section(const Wanted& wanted, std::size_t level) {
    SectionGraph graph(g_, places_);
    std::vector<bool> needed(g_.stage_count());
    for (const std::size_t o : wanted.outputs)
      for (const StageId s : g_.outputs[o].stages) needed[s] = true;
    for (const StageId s : wanted.stored) needed[s] = true;
    for (const auto& [image, totals] : wanted.totals) needed[image] = true;
    const auto given = [&](StageId s) {
      return g_.stage(s).kind == StageKind::input || is_total(g_, s) || (stored_[s] && level_[s] < level);
    };
    for (auto s = static_cast<StageId>(g_.stage_count()); s-- > 0;)
      if (needed[s] && !given(s))
        for (const StageId p : sources(g_, s)) needed[p] = true;
    for (StageId s = 0; s < g_.stage_count(); ++s)
      if (needed[s] && given(s)) graph.input(s);
    for (StageId s = 0; s < g_.stage_count(); ++s)
      if (needed[s] && !given(s)) graph.compute(s);
    ReducedSection made;
    for (const std::size_t o : wanted.outputs)
      graph.output(g_.outputs[o].name, g_.outputs[o].format, g_.outputs[o].stages, {false, o});
    for (const StageId s : wanted.stored) graph.output(g_.stage(s).name, g_.stage(s).type, {s}, {true, places_.at(s)});
    for (const auto& [image, totals] : wanted.totals) {
      const std::size_t output =
          graph.output(g_.stage(image).name, g_.stage(image).type, {image}, {true, places_.at(totals.front())});
      for (const StageId t : totals) made.reductions.push_back({output, g_.node(g_.stage(t).body).op, places_.at(t)});
    }
    made.section = graph.finish();
    result_.sections.push_back(std::move(made));
  }

  const Graph& g_;
  std::vector<std::size_t> level_;
  std::vector<bool> live_, stored_;
  std::size_t last_ = 0;
  std::map<StageId, std::size_t> places_;
  Totals result_;
};

}  // namespace

Totals totals(const Graph& g, OutputsAre outputs, const std::vector<StageId>& stored) {
  return Cut(g, outputs, stored).result();
}

std::vector<StageId> stored_for(const Graph& g, std::size_t parts) {
  constexpr std::size_t most = 4;
  const std::vector<bool> live = live_stages(g);
  // Of every stage, the last one that reads it.
  std::vector<StageId> last(g.stage_count());
  std::size_t all = 0;
  for (StageId s = 0; s < g.stage_count(); ++s) {
    if (!live[s]) continue;
    all += g.stage(s).kind == StageKind::input ? 0 : 1;
    for (const StageId p : sources(g, s)) last[p] = s;
  }
  for (const Output& o : g.outputs)
    for (const StageId s : o.stages) last[s] = static_cast<StageId>(g.stage_count());
  // Behind each stage: what lies before and is read after.
  std::vector<StageId> stored, open;
  std::size_t done = 0, next = 1;
  for (StageId s = 0; s < g.stage_count() && next < parts; ++s) {
    if (!live[s] || g.stage(s).kind == StageKind::input) continue;
    std::erase_if(open, [&](StageId p) { return last[p] <= s; });
    open.push_back(s);
    ++done;
    const bool images =
        std::ranges::none_of(open, [&](StageId p) { return is_single(g, g.stage(p)) || is_keyed(g, g.stage(p)); });
    if (!images || open.size() > most || done * parts < next * all || done == all) continue;
    stored.insert(stored.end(), open.begin(), open.end());
    while (done * parts >= next * all) ++next;
  }
  std::ranges::sort(stored);
  const auto twice = std::ranges::unique(stored);
  stored.erase(twice.begin(), twice.end());
  return stored;
}

}  // namespace tessera::ir
