// See parts.hpp.
#include "rewrite/parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <climits>
#include <functional>
#include <map>
#include <set>
#include <tuple>

namespace tessera::rewrite {

using ir::ExprNode;
using ir::Graph;
using ir::Op;
using ir::Stage;
using ir::StageId;
using ir::StageKind;

namespace {

bool is_pair_of(const Format& format, ElementType type) {
  return format.fields.size() == 2 && format.fields[0].type == type && format.fields[1].type == type &&
         format.fields[0].offset == 0 && format.size() == 2 * size_of(type);
}

Format pair_of(ElementType type) {
  return Format::record(type == ElementType::f64 ? "tessera_pair_double" : "tessera_pair_float",
                        {{"re", type}, {"im", type}});
}

// "F" of "F.re".
std::string stem(const std::string& name) {
  const std::size_t dot = name.rfind('.');
  return dot == std::string::npos || dot == 0 ? name : name.substr(0, dot);
}

// "u_3_re" of "u<3>.re": emitted code calls arguments so.
std::string identifier(std::string name) {
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  return name;
}

// A part as a graph: what is computed there, and an argument for every array that it reads.
class PartGraph {
 public:
  struct Source {
    Place place;
    std::string name;
    Format format;
    std::uint32_t field = 0;
  };
  using Where = std::function<Source(StageId)>;

  // `inside`: is the stage computed here? `where`: what is not, in memory. Stages by their ids in `program`.
  PartGraph(const Graph& program, const std::function<bool(StageId)>& inside, Where where,
            const std::function<StageId(StageId)>& same)
      : program_(program), inside_(inside), where_(std::move(where)), same_(same) {}

  void make(const std::vector<ir::Output>& outputs, Step& step) {
    Graph& graph = step.part;
    graph = program_;
    graph.arguments.clear();
    graph.outputs.clear();
    graph.take_stages();
    std::set<StageId> wanted;
    for (const ir::Output& output : outputs)
      for (const StageId s : output.stages) want(wanted, same_(s));
    for (const StageId s : wanted) map_[s] = inside_(s) ? computed(graph, s) : read(graph, s);
    for (ir::Output output : outputs) {
      for (StageId& s : output.stages) s = map_.at(same_(s));
      graph.outputs.push_back(std::move(output));
    }
    step.inputs = std::move(inputs_);
  }

 private:
  void want(std::set<StageId>& wanted, StageId root) const {
    std::vector<StageId> open{root};
    while (!open.empty()) {
      const StageId s = open.back();
      open.pop_back();
      if (!wanted.insert(s).second || !inside_(s)) continue;
      for (const StageId from : ir::sources(program_, s)) open.push_back(same_(from));
    }
  }

  std::uint32_t argument(Graph& graph, const Place& place, const std::function<ir::Argument()>& made) {
    for (std::size_t k = 0; k < inputs_.size(); ++k)
      if (inputs_[k] == place) return static_cast<std::uint32_t>(k);
    inputs_.push_back(place);
    graph.arguments.push_back(made());
    return static_cast<std::uint32_t>(inputs_.size() - 1);
  }

  StageId read(Graph& graph, StageId s) {
    const Stage& from = program_.stage(s);
    const Source source = where_(s);
    Stage stage = ir::stage_like(from, StageKind::input);
    stage.field = source.field;
    stage.argument = argument(graph, source.place, [&] {
      if (source.place.kind == Place::Kind::argument) return program_.arguments[source.place.index];
      ir::Argument a;
      a.name = identifier(source.name);
      a.format = source.format;
      a.extents = from.domain;
      return a;
    });
    return graph.add(std::move(stage));
  }

  StageId computed(Graph& graph, StageId s) {
    Stage stage = program_.stage(s);
    for (ir::Piece& piece : stage.pieces)
      if (piece.stage) piece.stage = map_.at(same_(*piece.stage));
    if (stage.body.valid())
      stage.body = ir::rewrite(
          graph, stage.body,
          [&](ir::ExprId, const ExprNode& node) {
            ExprNode moved = node;
            if (reads_stage(node.op))
              moved.stage = map_.at(same_(node.stage));
            else if (node.op == Op::scalar)
              moved.ivalue = argument(graph, {Place::Kind::argument, static_cast<std::size_t>(node.ivalue)},
                                      [&] { return program_.arguments[static_cast<std::size_t>(node.ivalue)]; });
            else
              return ir::ExprId{};
            return graph.expr(std::move(moved));
          },
          memo_);
    return graph.add(std::move(stage));
  }

  const Graph& program_;
  const std::function<bool(StageId)>& inside_;
  Where where_;
  const std::function<StageId(StageId)>& same_;
  std::vector<Place> inputs_;
  std::map<StageId, StageId> map_;
  ir::RewriteMemo memo_;
};

class Cutter {
 public:
  explicit Cutter(const Graph& graph) : graph_(graph), same_(graph.stage_count()), live_(graph.stage_count()) {}

  Parts run() {
    unite();
    mark_live();
    order();
    find_given();
    int last = 0;
    for (StageId s = 0; s < graph_.stage_count(); ++s)
      if (live_[s]) last = std::max(last, is_transform(s) ? early_[s] + 1 : early_[s]);
    for (int phase = 0; phase <= last; ++phase) {
      part(phase);
      for (const Transform& t : transforms_)
        if (early_[t.stage] == phase) transform(t);
    }
    for (std::size_t k = 0; k < result_.steps.size(); ++k)
      for (const Place& p : result_.steps[k].inputs)
        if (p.kind == Place::Kind::between) result_.between[p.index].last = k;
    return std::move(result_);
  }

 private:
  struct Transform {
    StageId stage = 0;  // of either part
    std::optional<StageId> re, im;
    ir::Fourier how;  // sources by the ids that stand for them
  };

  bool is_transform(StageId s) const { return graph_.stage(s).kind == StageKind::fourier; }
  bool is_input(StageId s) const { return graph_.stage(s).kind == StageKind::input; }

  // Transforms of the same are one.
  void unite() {
    std::map<std::tuple<bool, bool, std::vector<int>, StageId, std::optional<StageId>>, StageId> known;
    for (StageId s = 0; s < graph_.stage_count(); ++s) {
      same_[s] = s;
      if (!is_transform(s)) continue;
      const ir::Fourier& f = graph_.stage(s).fourier;
      std::optional<StageId> im;
      if (f.im) im = same_[*f.im];
      same_[s] = known.try_emplace({f.inverse, f.imaginary, f.along, same_[f.re], im}, s).first->second;
    }
  }

  void mark_live() {
    for (const ir::Output& o : graph_.outputs)
      for (const StageId s : o.stages) live_[same_[s]] = true;
    for (StageId s = static_cast<StageId>(graph_.stage_count()); s-- > 0;)
      if (live_[s])
        for (const StageId from : ir::sources(graph_, s)) live_[same_[from]] = true;
    std::map<std::tuple<bool, std::vector<int>, StageId, std::optional<StageId>>, std::size_t> known;
    for (StageId s = 0; s < graph_.stage_count(); ++s) {
      if (!live_[s] || !is_transform(s)) continue;
      ir::Fourier f = graph_.stage(s).fourier;
      f.re = same_[f.re];
      if (f.im) f.im = same_[*f.im];
      const auto [at, fresh] = known.try_emplace({f.inverse, f.along, f.re, f.im}, transforms_.size());
      if (fresh) transforms_.push_back({s, {}, {}, f});
      (f.imaginary ? transforms_[at->second].im : transforms_[at->second].re) = s;
    }
  }

  // The part in which a stage can be computed at the earliest, the one in which it is, and the last that reads it.
  void order() {
    const std::size_t count = graph_.stage_count();
    early_.assign(count, 0);
    late_.assign(count, INT_MAX);
    int last = 0;
    for (StageId s = 0; s < count; ++s) {
      for (const StageId from : ir::sources(graph_, s)) early_[s] = std::max(early_[s], after(same_[from]));
      if (live_[s] && !is_transform(s)) last = std::max(last, early_[s]);
    }
    until_.assign(count, 0);
    for (const ir::Output& o : graph_.outputs)
      for (const StageId s : o.stages) late_[same_[s]] = last;
    for (StageId s = static_cast<StageId>(count); s-- > 0;) {
      if (!live_[s]) continue;
      if (is_transform(s)) late_[s] = early_[s];
      for (const StageId from : ir::sources(graph_, s)) {
        late_[same_[from]] = std::min(late_[same_[from]], late_[s]);
        until_[same_[from]] = std::max(until_[same_[from]], late_[s]);
      }
    }
    for (const ir::Output& o : graph_.outputs)
      for (const StageId s : o.stages) until_[same_[s]] = std::max(until_[same_[s]], phase_of(o));
  }

  // The first part that can read the stage, were it computed as early as possible.
  int after(StageId s) const { return is_transform(s) ? early_[s] + 1 : early_[s]; }
  // The part in which the stage is there to be stored.
  int stored(StageId s) const { return is_transform(s) ? early_[s] + 1 : is_input(s) ? 0 : late_[s]; }

  void part(int phase) {
    std::vector<ir::Output> outputs;
    std::vector<Place> places;
    const auto store = [&](Place place, ir::Output output) {
      for (std::size_t f = 0; f < output.stages.size(); ++f) {
        const StageId s = same_[output.stages[f]];
        if (!is_input(s)) place_.try_emplace(s, At{place, static_cast<std::uint32_t>(f)});
      }
      outputs.push_back(std::move(output));
      places.push_back(place);
    };
    const auto keep = [&](std::string name, Format format, std::vector<StageId> stages) {
      const Place place = between(std::move(name), format, stages);
      std::string own = fmt::format("between_{}", place.index);
      const auto taken = [&](const ir::Output& o) { return o.name == own; };
      while (std::any_of(graph_.outputs.begin(), graph_.outputs.end(), taken)) own += '_';
      store(place, {std::move(own), std::move(format), std::move(stages)});
      return place;
    };
    for (std::size_t o = 0; o < graph_.outputs.size(); ++o)
      if (given_[o] == nullptr && phase_of(graph_.outputs[o]) == phase)
        store({Place::Kind::output, o}, graph_.outputs[o]);
    for (const Transform& t : transforms_) {
      if (early_[t.stage] != phase) continue;
      const ElementType type = graph_.stage(t.stage).type;
      std::optional<Place> from = read_as_it_is(t, type);
      const std::string& name = graph_.stage(t.how.re).name;
      if (!from && t.how.im)
        from = keep(stem(name), pair_of(type), {t.how.re, *t.how.im});
      else if (!from)
        from = keep(name, type, {t.how.re});
      from_.emplace(t.stage, *from);
    }
    for (StageId s = 0; s < graph_.stage_count(); ++s)
      if (live_[s] && !is_input(s) && !is_transform(s) && late_[s] == phase && until_[s] > phase && !place_.contains(s))
        keep(graph_.stage(s).name, graph_.stage(s).type, {s});
    if (outputs.empty()) return;
    const std::function<bool(StageId)> inside = [&](StageId s) {
      return !is_input(s) && !is_transform(s) && late_[s] == phase;
    };
    const std::function<StageId(StageId)> same = [&](StageId s) { return same_[s]; };
    Step& step = result_.steps.emplace_back();
    PartGraph(graph_, inside, [&](StageId s) { return source(s); }, same).make(outputs, step);
    step.outputs = std::move(places);
  }

  int phase_of(const ir::Output& o) const {
    int phase = 0;
    for (const StageId s : o.stages) phase = std::max(phase, stored(same_[s]));
    return phase;
  }

  bool to_real(const Transform& t) const { return t.how.inverse && !t.im; }

  // The transform whose result, as it lies, is the output. The first output that is one gets it.
  void find_given() {
    given_.assign(graph_.outputs.size(), nullptr);
    std::set<const Transform*> taken;
    for (std::size_t o = 0; o < graph_.outputs.size(); ++o) {
      const ir::Output& output = graph_.outputs[o];
      const StageId re = same_[output.stages[0]];
      for (const Transform& t : transforms_) {
        if (t.re != re) continue;
        const bool fits = to_real(t) ? !output.format.is_struct()
                                     : output.stages.size() == 2 && t.im == same_[output.stages[1]] &&
                                           is_pair_of(output.format, graph_.stage(re).type);
        if (fits && taken.insert(&t).second) given_[o] = &t;
      }
    }
  }

  // An array that holds just what the transform reads.
  std::optional<Place> read_as_it_is(const Transform& t, ElementType type) const {
    const auto re = find(t.how.re);
    if (!re) return {};
    const Format format = format_of(re->place);
    if (!t.how.im) return format.is_struct() ? std::nullopt : std::optional(re->place);
    const auto im = find(*t.how.im);
    if (!im || im->place != re->place || re->field != 0 || im->field != 1 || !is_pair_of(format, type)) return {};
    return re->place;
  }

  struct At {
    Place place;
    std::uint32_t field = 0;
  };

  std::optional<At> find(StageId s) const {
    const Stage& stage = graph_.stage(s);
    if (is_input(s)) return At{{Place::Kind::argument, stage.argument}, stage.field};
    const auto at = place_.find(s);
    return at == place_.end() ? std::nullopt : std::optional(at->second);
  }

  Format format_of(const Place& place) const {
    if (place.kind == Place::Kind::argument) return graph_.arguments[place.index].format;
    return place.kind == Place::Kind::output ? graph_.outputs[place.index].format : result_.between[place.index].format;
  }

  PartGraph::Source source(StageId s) const {
    const auto at = find(s);
    if (!at) throw Error(ErrorClass::internal, fmt::format("stage '{}' lies nowhere", graph_.stage(s).name));
    const std::string& name = graph_.stage(s).name;
    const Format format = format_of(at->place);
    return {at->place, format.is_struct() ? stem(name) : name, format, at->field};
  }

  Place between(std::string name, Format format, const std::vector<StageId>& stages) {
    result_.between.push_back({std::move(name), std::move(format), graph_.stage(stages[0]).domain, stages, 0});
    return {Place::Kind::between, result_.between.size() - 1};
  }

  void transform(const Transform& t) {
    const Stage& stage = graph_.stage(t.stage);
    Step& step = result_.steps.emplace_back();
    ir::host::Transform& made = step.transform;
    made.inverse = t.how.inverse;
    made.from_real = !t.how.im;
    made.to_real = to_real(t);
    made.type = stage.type;
    made.along = t.how.along;
    made.domain = stage.domain;
    made.name = made.to_real ? stage.name : stem(stage.name);
    step.inputs = {from_.at(t.stage)};
    for (const auto& s : {t.re, t.im})
      if (s) step.stages.push_back(*s);
    std::optional<Place> to;
    for (std::size_t o = 0; o < graph_.outputs.size() && !to; ++o)
      if (given_[o] == &t) to = Place{Place::Kind::output, o};
    if (!to) {
      const Format pair = pair_of(made.type);
      to = between(made.name, made.to_real ? Format(made.type) : pair, step.stages);
    }
    step.outputs = {*to};
    if (t.re) place_.emplace(*t.re, At{*to, 0});
    if (t.im) place_.emplace(*t.im, At{*to, 1});
  }

  const Graph& graph_;
  Parts result_;
  std::vector<StageId> same_;  // the stage that stands for each
  std::vector<bool> live_;
  std::vector<int> early_, late_, until_;
  std::vector<Transform> transforms_;
  std::vector<const Transform*> given_;  // of every output: the transform that writes it
  std::map<StageId, At> place_;          // of what steps stored
  std::map<StageId, Place> from_;        // of a transform, by its stage
};

}  // namespace

bool has_transforms(const Graph& graph) {
  for (StageId s = 0; s < graph.stage_count(); ++s)
    if (graph.stage(s).kind == StageKind::fourier) return true;
  return false;
}

Parts cut(const Graph& graph) {
  return Cutter(graph).run();
}

}  // namespace tessera::rewrite
