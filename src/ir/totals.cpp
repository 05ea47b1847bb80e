// See totals.hpp.
#include "ir/totals.hpp"

#include <algorithm>
#include <map>

#include "ir/section_graph.hpp"

namespace tessera::ir {
namespace {

bool is_total(const Graph& g, StageId s) {
  const Stage& stage = g.stage(s);
  return stage.kind == StageKind::point && is_whole(g.node(stage.body).op);
}

class Cut {
 public:
  Cut(const Graph& g, OutputsAre outputs) : g_(g), level_(g.stage_count()), live_(g.stage_count()) {
    for (const Output& o : g.outputs)
      for (const StageId s : o.stages) live_[s] = true;
    for (auto s = static_cast<StageId>(g.stage_count()); s-- > 0;)
      if (live_[s])
        for (const StageId p : sources(g, s)) live_[p] = true;
    for (StageId s = 0; s < g.stage_count(); ++s) {
      for (const StageId p : sources(g, s)) level_[s] = std::max(level_[s], level_[p]);
      if (is_total(g, s)) ++level_[s];
      if (live_[s]) last_ = std::max(last_, level_[s]);
      if (live_[s] && is_total(g, s)) {
        places_[s] = result_.places.size();
        result_.places.push_back({g.stage(s).name, g.stage(s).type, g.stage(s).domain});
      }
    }
    for (std::size_t level = 0; level <= last_; ++level) sections_of(level, outputs);
  }

  Totals result() { return std::move(result_); }

 private:
  struct Wanted {
    std::vector<std::size_t> outputs;                // of the graph
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
    for (std::size_t o = 0; o < g_.outputs.size(); ++o)
      if ((outputs == OutputsAre::last ? last_ : level_of(g_.outputs[o])) == level)
        wanted(g_.stage(g_.outputs[o].stages.front()).domain).outputs.push_back(o);
    for (const auto& [extents, of] : by_extents) section(of);
  }

  void section(const Wanted& wanted) {
    SectionGraph graph(g_, places_);
    std::vector<bool> needed(g_.stage_count());
    for (const std::size_t o : wanted.outputs)
      for (const StageId s : g_.outputs[o].stages) needed[s] = true;
    for (const auto& [image, totals] : wanted.totals) needed[image] = true;
    const auto given = [&](StageId s) { return g_.stage(s).kind == StageKind::input || is_total(g_, s); };
    for (auto s = static_cast<StageId>(g_.stage_count()); s-- > 0;)
      if (needed[s] && !given(s))
        for (const StageId p : sources(g_, s)) needed[p] = true;
    for (StageId s = 0; s < g_.stage_count(); ++s)
      if (needed[s] && given(s)) graph.input(s);
    for (StageId s = 0; s < g_.stage_count(); ++s)
      if (needed[s] && !given(s)) graph.compute(s);
    ReducedSection made;
    for (const std::size_t o : wanted.outputs) {
      graph.output(g_.outputs[o].name, g_.outputs[o].format, g_.outputs[o].stages, {false, o});
      made.is_reduced.push_back(false);
    }
    for (const auto& [image, totals] : wanted.totals) {
      const std::size_t output =
          graph.output(g_.stage(image).name, g_.stage(image).type, {image}, {true, places_.at(totals.front())});
      for (const StageId t : totals) made.reductions.push_back({output, g_.node(g_.stage(t).body).op, places_.at(t)});
      made.is_reduced.push_back(true);
    }
    made.section = graph.finish();
    result_.sections.push_back(std::move(made));
  }

  const Graph& g_;
  std::vector<std::size_t> level_;
  std::vector<bool> live_;
  std::size_t last_ = 0;
  std::map<StageId, std::size_t> places_;
  Totals result_;
};

}  // namespace

bool has_totals(const Graph& g) {
  for (StageId s = 0; s < g.stage_count(); ++s)
    if (is_total(g, s)) return true;
  return false;
}

Totals totals(const Graph& g, OutputsAre outputs) {
  return Cut(g, outputs).result();
}

}  // namespace tessera::ir
