// See sections.hpp. A section keeps the expressions and extents of the whole graph and has stages of its own, as passes
// of plans do that rebuild a graph.
#include "ir/sections.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "ir/loops.hpp"
#include "ir/section_graph.hpp"

namespace tessera::ir {
namespace {

class Cut {
 public:
  explicit Cut(const Graph& g)
      : g_(g), in_(bodies(g)), level_(g.stage_count()), loop_level_(g.loops.size()), live_(g.stage_count()) {
    for (StageId s = 0; s < g.stage_count(); ++s) sources_.push_back(sources(g, s));
  }

  Sections run() {
    find_levels();
    find_live();
    find_crossing();
    for (std::size_t level = 0; level <= last_level_; ++level) {
      straight(level);
      for (std::uint32_t l = 0; l < g_.loops.size(); ++l)
        if (loop_level_[l] == level && alive(l)) body(l);
    }
    find_spent();
    return std::move(result_);
  }

 private:
  bool is_straight(StageId s) const {
    const StageKind kind = g_.stage(s).kind;
    return in_[s] == no_loop && (kind == StageKind::point || kind == StageKind::compose || kind == StageKind::fourier);
  }
  bool alive(std::uint32_t l) const { return live_[g_.loops[l].carried.front()]; }

  void find_levels() {
    for (StageId s = 0; s < g_.stage_count(); ++s) {
      const Stage& stage = g_.stage(s);
      std::size_t& own = stage.kind == StageKind::last ? loop_level_[stage.loop]
                         : in_[s] != no_loop           ? loop_level_[in_[s]]
                                                       : level_[s];
      for (const StageId p : sources_[s])
        if (in_[p] == no_loop) own = std::max(own, level_[p]);
      if (stage.kind == StageKind::last) level_[s] = own + 1;
    }
  }

  void find_live() {
    for (const Output& o : g_.outputs)
      for (const StageId s : o.stages) live_[s] = true;
    for (StageId s = static_cast<StageId>(g_.stage_count()); s-- > 0;)
      if (live_[s])
        for (const StageId p : sources_[s]) live_[p] = true;
    for (StageId s = 0; s < g_.stage_count(); ++s)
      if (live_[s] && is_straight(s)) last_level_ = std::max(last_level_, level_[s]);
    for (const Output& o : g_.outputs) last_level_ = std::max(last_level_, level_of(o));
  }

  std::size_t level_of(const Output& o) const {
    std::size_t level = 0;
    for (const StageId s : o.stages) level = std::max(level, level_[s]);
    return level;
  }

  std::size_t place(StageId s, std::string name) {
    const Stage& stage = g_.stage(s);
    result_.places.push_back({std::move(name), stage.type, stage.domain});
    return result_.places.size() - 1;
  }
  // What a section reads of others, but for the arguments of the whole.
  void cross(StageId s) {
    if (g_.stage(s).kind != StageKind::input && in_[s] == no_loop) lie_in_place(s);
  }
  void lie_in_place(StageId s) {
    if (!places_.contains(s)) places_[s] = place(s, g_.stage(s).name);
  }
  // A field of a struct begins in a place of its own.
  bool begins_in_place(StageId s) const {
    const Stage& stage = g_.stage(s);
    return stage.kind != StageKind::input || g_.arguments[stage.argument].format.is_struct();
  }

  void find_crossing() {
    for (StageId s = 0; s < g_.stage_count(); ++s) {
      if (!live_[s]) continue;
      const Stage& stage = g_.stage(s);
      if (stage.kind == StageKind::carried) {
        if (begins_in_place(stage.of)) lie_in_place(stage.of);
        continue;
      }
      for (const StageId p : sources_[s])
        if (in_[s] != no_loop || stage.kind == StageKind::last || level_[p] != level_[s]) cross(p);
      if (stage.kind == StageKind::last) cross(s);
    }
    for (const Output& o : g_.outputs)
      for (const StageId s : o.stages)
        if (level_[s] != level_of(o)) cross(s);
  }

  void straight(std::size_t level) {
    SectionGraph graph(g_, places_);
    std::vector<StageId> own, kept;
    std::vector<const Output*> outputs;
    for (StageId s = 0; s < g_.stage_count(); ++s)
      if (live_[s] && is_straight(s) && level_[s] == level) own.push_back(s);
    for (const auto& [s, where] : places_)
      if ((is_straight(s) || g_.stage(s).kind == StageKind::input) && level_[s] == level) kept.push_back(s);
    for (const Output& o : g_.outputs)
      if (level_of(o) == level) outputs.push_back(&o);
    if (kept.empty() && outputs.empty()) return;
    const auto needed = [&](StageId s) {
      if (!is_straight(s) || level_[s] != level) graph.input(s);
    };
    for (const StageId s : own)
      for (const StageId p : sources_[s]) needed(p);
    for (const StageId s : kept) needed(s);
    for (const Output* o : outputs)
      for (const StageId s : o->stages) needed(s);
    for (const StageId s : own) graph.compute(s);
    for (const Output* o : outputs)
      graph.output(o->name, o->format, o->stages, {false, static_cast<std::size_t>(o - g_.outputs.data())});
    for (const StageId s : kept) graph.output(g_.stage(s).name, g_.stage(s).type, {s}, {true, places_.at(s)});
    result_.sections.push_back(graph.finish());
  }

  void body(std::uint32_t l) {
    const Loop& loop = g_.loops[l];
    SectionGraph graph(g_, places_);
    std::vector<StageId> own, ends;
    for (StageId s = 0; s < g_.stage_count(); ++s) {
      const Stage& stage = g_.stage(s);
      if (live_[s] && stage.kind == StageKind::last && stage.loop == l) ends.push_back(s);
      if (live_[s] && in_[s] == l && stage.kind != StageKind::carried) own.push_back(s);
    }
    std::vector<Section::Carried> carried;
    for (const StageId s : loop.carried) {
      const StageId first = g_.stage(s).of;
      const Section::Value begins = begins_in_place(first) ? Section::Value{true, places_.at(first)}
                                                           : Section::Value{false, g_.stage(first).argument};
      carried.push_back({graph.carried(s, begins), {}, false});
    }
    const auto needed = [&](StageId s) {
      if (in_[s] != l) graph.input(s);
    };
    for (const StageId s : own)
      for (const StageId p : sources_[s]) needed(p);
    for (const StageId s : loop.next) needed(s);
    for (const StageId s : ends) needed(g_.stage(s).of);
    needed(loop.test);
    for (const StageId s : own) graph.compute(s);
    write(graph, loop, ends, carried);
    graph.section.test =
        graph.output("while", ElementType::boolean, {loop.test}, {true, place(loop.test, "while " + loop.name)});
    graph.section.loop = l;
    graph.section.most = loop.most;
    graph.section.carried = std::move(carried);
    result_.sections.push_back(graph.finish());
  }

  // What is next, in the place of the loop's end where that is read; then the other ends.
  void write(SectionGraph& graph, const Loop& loop, std::vector<StageId>& ends,
             std::vector<Section::Carried>& carried) {
    for (std::size_t k = 0; k < carried.size(); ++k) {
      const StageId next = loop.next[k];
      if (g_.stage(next).kind == StageKind::carried) continue;
      const auto end = std::find_if(ends.begin(), ends.end(), [&](StageId s) { return g_.stage(s).of == next; });
      const std::size_t to = end != ends.end() ? places_.at(*end) : place(next, g_.stage(next).name);
      if (end != ends.end()) ends.erase(end);
      carried[k].output = graph.output(g_.stage(next).name, g_.stage(next).type, {next}, {true, to});
    }
    for (const StageId s : ends)
      graph.output(g_.stage(s).name, g_.stage(s).type, {g_.stage(s).of}, {true, places_.at(s)});
  }

  void find_spent() {
    std::map<std::size_t, int> readers;
    for (const Section& section : result_.sections)
      for (const Section::Value& input : section.inputs)
        if (input.place) ++readers[input.index];
    for (Section& section : result_.sections)
      for (Section::Carried& c : section.carried) {
        const Section::Value& input = section.inputs[c.input];
        c.spent = input.place && readers[input.index] == 1;
      }
  }

  const Graph& g_;
  std::vector<std::uint32_t> in_;
  std::vector<std::vector<StageId>> sources_;
  std::vector<std::size_t> level_, loop_level_;
  std::vector<bool> live_;
  std::size_t last_level_ = 0;
  std::map<StageId, std::size_t> places_;  // of what crosses
  Sections result_;
};

}  // namespace

Sections sections(const Graph& g) {
  return Cut(g).run();
}

}  // namespace tessera::ir
