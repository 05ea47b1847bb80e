// See sections.hpp. A section keeps the expressions and extents of the whole graph and has stages of its own, as passes
// of plans do that rebuild a graph.
#include "ir/sections.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "ir/loops.hpp"

namespace tessera::ir {
namespace {

// One section's graph: the wanted stages, inputs for what they read of other sections.
class SectionGraph {
 public:
  SectionGraph(const Graph& whole, const std::map<StageId, std::size_t>& places) : whole_(whole), places_(places) {
    graph_ = whole;
    graph_.take_stages();
    graph_.arguments.clear();
    graph_.outputs.clear();
    graph_.loops.clear();
  }

  // Inputs come first, since topological order has them before their readers.
  void input(StageId s) {
    if (map_.contains(s)) return;
    const Stage& stage = whole_.stage(s);
    if (stage.kind == StageKind::input) {
      Stage copy = stage;
      copy.argument = argument(stage.argument);
      map_[s] = graph_.add(std::move(copy));
    } else {
      map_[s] = image(s, {true, places_.at(s)});
    }
  }
  // A carried image, which begins as `first`.
  std::size_t carried(StageId s, Section::Value first) {
    map_[s] = image(s, first);
    return section.inputs.size() - 1;
  }
  void compute(StageId s) {
    Stage stage = whole_.stage(s);
    if (stage.body.valid())
      stage.body = rewrite(graph_, stage.body, [&](ExprId, const ExprNode& node) { return moved(node); }, memo_);
    for (Piece& piece : stage.pieces)
      if (piece.stage) piece.stage = map_.at(*piece.stage);
    if (stage.kind == StageKind::fourier) {
      stage.fourier.re = map_.at(stage.fourier.re);
      if (stage.fourier.im) stage.fourier.im = map_.at(*stage.fourier.im);
    }
    map_[s] = graph_.add(std::move(stage));
  }
  std::size_t output(std::string name, Format format, const std::vector<StageId>& stages, Section::Value to) {
    while (!names_.insert(name).second) name += "'";
    Output o{std::move(name), std::move(format), {}};
    for (const StageId s : stages) o.stages.push_back(map_.at(s));
    graph_.outputs.push_back(std::move(o));
    section.outputs.push_back(to);
    return section.outputs.size() - 1;
  }
  Section finish() {
    section.graph = std::move(graph_);
    return std::move(section);
  }

  Section section;

 private:
  std::uint32_t argument(std::size_t of_whole) {
    const auto [known, fresh] = arguments_.try_emplace(of_whole, static_cast<std::uint32_t>(graph_.arguments.size()));
    if (fresh) {
      graph_.arguments.push_back(whole_.arguments[of_whole]);
      section.inputs.push_back({false, of_whole});
    }
    return known->second;
  }

  StageId image(StageId s, Section::Value from) {
    const Stage& stage = whole_.stage(s);
    Argument a;
    a.name = stage.name;
    a.format = stage.type;
    a.extents = stage.domain;
    a.span = stage.span;
    Stage input;
    input.kind = StageKind::input;
    input.name = stage.name;
    input.type = stage.type;
    input.domain = stage.domain;
    input.span = stage.span;
    input.argument = static_cast<std::uint32_t>(graph_.arguments.size());
    graph_.arguments.push_back(std::move(a));
    section.inputs.push_back(from);
    return graph_.add(std::move(input));
  }

  ExprId moved(const ExprNode& node) {
    if (node.op != Op::scalar && !reads_stage(node.op)) return {};
    ExprNode copy = node;
    if (node.op == Op::scalar)
      copy.ivalue = argument(static_cast<std::size_t>(node.ivalue));
    else
      copy.stage = map_.at(node.stage);
    return graph_.expr(std::move(copy));
  }

  const Graph& whole_;
  const std::map<StageId, std::size_t>& places_;
  Graph graph_;
  std::map<StageId, StageId> map_;
  std::map<std::size_t, std::uint32_t> arguments_;
  std::set<std::string> names_;
  RewriteMemo memo_;
};

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
