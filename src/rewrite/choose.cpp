// Reductions that choose an element (reduce_pick) become comparisons and selections.
//
// Term by term, the least key so far, whether there is one, and the value that goes with it are kept:
//
//   take  = taken(q) and (none yet or key(q) < least)      of equal keys the first one stays
//   least = take ? key(q) : least
//   value = take ? value(q) : value
//
// Nodes are hash-consed: choices with one key have the same comparisons, and only selections of their own. Windows
// that are too long to be written out are gone through three times, each in loops: for the least key, for the place of
// the first element that has it, and for the value at that place.
#include "rewrite/choose.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <set>

#include "analyze/expressions.hpp"
#include "analyze/ranges.hpp"
#include "ir/build.hpp"
#include "ir/variables.hpp"
#include "rewrite/nans.hpp"
#include "rewrite/rebuild.hpp"

namespace tessera::rewrite {

using ir::ExprId;
using ir::ExprNode;
using ir::Graph;
using ir::Op;

namespace {

constexpr i64 most_written_terms = 1024;
constexpr std::size_t most_written_nodes = 20'000;

bool is_written(i64 terms, std::size_t nodes) {
  return terms <= most_written_terms && static_cast<std::size_t>(terms) * nodes <= most_written_nodes;
}

ExprId truth(Graph& graph, bool v) {
  return ir::constant(graph, ElementType::boolean, v ? 1 : 0);
}

ExprId negated(Graph& graph, ExprId e) {
  return ir::unary(graph, Op::bit_not, e);
}

// Of a key that comes and the least one so far: of a NaN and a number the number.
ExprId better(Graph& graph, ExprId key, ExprId least, bool numbers) {
  if (numbers) return ir::binary(graph, Op::lt, key, least);
  return ir::binary(graph, Op::bit_and, ir::binary(graph, Op::eq, key, key),
                    negated(graph, ir::binary(graph, Op::le, least, key)));
}

// A choice in loops.
class Passes {
 public:
  Passes(Graph& graph, const ExprNode& pick) : graph_(graph), pick_(pick) {}

  ExprId value() {
    const ElementType type = graph_.node(pick_.args[0]).type;
    const double worst = is_float(type) ? std::numeric_limits<double>::quiet_NaN() : ir::integer_limits(type).hi;
    const ExprId least = over(Op::reduce_min, [&](const Turn& turn) {
      return ir::select(graph_, part(1, turn), part(0, turn), ir::constant(graph_, type, worst));
    });
    const ExprId none = ir::constant(graph_, ElementType::i32, static_cast<double>(analyze::term_count(pick_)));
    const ExprId first = over(Op::reduce_min, [&](const Turn& turn) {
      ExprId equal = ir::binary(graph_, Op::eq, part(0, turn), least);
      if (is_float(type)) equal = ir::binary(graph_, Op::bit_or, equal, ir::binary(graph_, Op::ne, least, least));
      return ir::select(graph_, ir::binary(graph_, Op::bit_and, part(1, turn), equal), place(turn.vars), none);
    });
    // -0 changes no float that it is added to.
    const ExprId nothing = ir::constant(graph_, pick_.type, is_float(pick_.type) ? -0.0 : 0);
    const ExprId value = over(Op::reduce_sum, [&](const Turn& turn) {
      return ir::select(graph_, ir::binary(graph_, Op::eq, place(turn.vars), first), part(2, turn), nothing);
    });
    return ir::select(graph_, ir::binary(graph_, Op::lt, first, none), value, ir::constant(graph_, pick_.type, 0));
  }

 private:
  // Of one loop: its variables, and how those of the choice are called in it.
  struct Turn {
    std::vector<ir::Var> vars;
    ir::VariableNames names;
  };

  template <class Body>
  ExprId over(Op op, const Body& body) {
    Turn turn;
    turn.vars = ir::fresh_variables(graph_, pick_.vars, turn.names);
    const ExprId terms = body(turn);
    return ir::reduce(graph_, op, turn.vars, terms);
  }

  ExprId part(std::size_t k, const Turn& turn) { return ir::renamed(graph_, pick_.args[k], turn.names); }

  // The number of the element, in order.
  ExprId place(const std::vector<ir::Var>& vars) {
    const auto number = [&](i64 v) { return ir::constant(graph_, ElementType::i32, static_cast<double>(v)); };
    ExprId at = number(0);
    for (const ir::Var& v : vars) {
      at = ir::binary(graph_, Op::mul, at, number(v.hi - v.lo + 1));
      at = ir::binary(graph_, Op::add, at, ir::binary(graph_, Op::sub, ir::var(graph_, v.id), number(v.lo)));
    }
    return at;
  }

  Graph& graph_;
  const ExprNode pick_;
};

// Keys that are windows themselves: a stage for each element, which several choices read, and whose sums are taken as
// any others.
class KeyStages {
 public:
  KeyStages(Graph& graph, const ir::Stage& reader, std::map<std::pair<ExprId, ir::StageId>, ExprId>& known,
            ir::StageId of)
      : graph_(graph), reader_(reader), known_(known), of_(of) {}

  ExprId value(ExprId key, ElementType narrow) {
    const auto [at, fresh] = known_.try_emplace({key, of_});
    if (!fresh) return at->second;
    ir::Stage stage = ir::stage_like(reader_, ir::StageKind::point);
    const ElementType type = graph_.node(key).type;
    stage.name = fmt::format("{}.key{}", reader_.name, known_.size());
    stage.type = narrow;
    stage.body = ir::convert(graph_, narrow, key);
    stage.margin_lo = reader_.margin_lo;
    stage.margin_hi = reader_.margin_hi;
    const std::size_t rank = stage.domain.size();
    const ir::StageId made = graph_.add(std::move(stage));
    const std::vector<Border> borders(rank, {BorderMode::none, 0});
    return at->second = ir::convert(graph_, type, ir::access(graph_, made, std::vector<ir::Index>(rank), borders));
  }

 private:
  Graph& graph_;
  const ir::Stage& reader_;
  std::map<std::pair<ExprId, ir::StageId>, ExprId>& known_;
  ir::StageId of_;  // stages of equal extents and margins
};

// The narrowest type that holds a key.
ElementType narrowest(analyze::Range range, ElementType type) {
  if (is_float(type)) return type;
  for (const ElementType t : {ElementType::u8, ElementType::u16, ElementType::i16})
    if (analyze::contains(analyze::full_range(t), range)) return t;
  return type;
}

bool holds_window(const Graph& graph, ExprId e) {
  for (const ExprId part : ir::postorder(graph, {e}))
    if (is_reduction(graph.node(part).op)) return true;
  return false;
}

using KeyOf = std::function<ExprId(ExprId)>;

ExprId written(Graph& graph, const ExprNode& pick, const KeyOf& key_of) {
  const ExprNode n = pick;
  const bool numbers = surely_number(graph, n.args[0]);
  ExprId least, value = ir::constant(graph, n.type, 0), some = truth(graph, false);
  ir::VariableValues at = ir::first_values(n.vars);
  do {
    const ExprId taken = ir::substitute(graph, n.args[1], at);
    if (ir::constant_value(graph, taken) != 0.0) {
      const ExprId key = key_of(ir::substitute(graph, n.args[0], at));
      ExprId take = taken;
      if (least.valid())
        take = ir::binary(graph, Op::bit_and, taken,
                          ir::binary(graph, Op::bit_or, negated(graph, some), better(graph, key, least, numbers)));
      least = least.valid() ? ir::select(graph, take, key, least) : key;
      value = ir::select(graph, take, ir::substitute(graph, n.args[2], at), value);
      some = ir::binary(graph, Op::bit_or, some, taken);
    }
  } while (ir::next_values(at, n.vars));
  return value;
}

class Choices {
 public:
  Choices(Graph& graph, std::vector<std::string>& remarks)
      : graph_(graph), remarks_(remarks), narrow_(narrow_keys(graph)), rebuild_(graph) {}

  void run() {
    for (ir::StageId s = 0; s < rebuild_.old().size(); ++s) {
      ir::Stage stage = rebuild_.carry(rebuild_.old(s));
      if (stage.kind == ir::StageKind::point) stage.body = without_choices(stage, s);
      rebuild_.set(s, graph_.add(std::move(stage)));
    }
    rebuild_.finish();
  }

 private:
  // Of every choice, by its variables.
  static std::map<std::uint32_t, ElementType> narrow_keys(const Graph& graph) {
    std::map<std::uint32_t, ElementType> found;
    analyze::Ranges ranges(graph);
    for (ir::StageId s = 0; s < graph.stage_count(); ++s) {
      if (graph.stage(s).kind != ir::StageKind::point) continue;
      for (const ExprId e : ir::postorder(graph, {graph.stage(s).body})) {
        const ExprNode& n = graph.node(e);
        if (n.op == Op::reduce_pick)
          found.emplace(n.vars[0].id, narrowest(ranges.of(n.args[0]), graph.node(n.args[0]).type));
      }
    }
    return found;
  }

  // The first stage of these extents and margins.
  ir::StageId like(const ir::Stage& stage, ir::StageId s) {
    for (const ir::StageId t : with_keys_) {
      const ir::Stage& other = rebuild_.old(t);
      if (other.domain == stage.domain && other.margin_lo == stage.margin_lo && other.margin_hi == stage.margin_hi)
        return t;
    }
    with_keys_.push_back(s);
    return s;
  }

  ExprId without_choices(const ir::Stage& stage, ir::StageId s) {
    std::map<ExprId, bool> told;
    return ir::rewrite(graph_, stage.body, [&](ExprId, const ExprNode& node) {
      if (node.op != Op::reduce_pick) return ExprId{};
      const ExprNode pick = node;
      const i64 terms = analyze::term_count(pick);
      const bool windows = holds_window(graph_, pick.args[0]);
      const bool write = is_written(terms, ir::postorder(graph_, pick.args).size());
      if (told.emplace(pick.args[0], true).second)
        remarks_.push_back(
            !write ? fmt::format("the choice of '{}' goes three times through its {} elements", stage.name, terms)
                   : fmt::format("the choice of '{}' is taken as {} comparisons and selections{}", stage.name, terms,
                                 windows ? ", each key a stage of its own" : ""));
      if (!write) return Passes(graph_, pick).value();
      if (!windows || !free_of_variables(pick)) return written(graph_, pick, [](ExprId key) { return key; });
      KeyStages keys(graph_, stage, keys_, like(stage, s));
      const ElementType narrow =
          narrow_.contains(pick.vars[0].id) ? narrow_.at(pick.vars[0].id) : graph_.node(pick.args[0]).type;
      return written(graph_, pick, [&](ExprId key) { return keys.value(key, narrow); });
    });
  }

  // Does the key know no variables of windows around the choice?
  bool free_of_variables(const ExprNode& pick) const {
    std::set<std::uint32_t> bound, read;
    const auto binds = [&](const ExprNode& n) {
      for (const ir::Var& v : n.vars) bound.insert(v.id);
    };
    binds(pick);
    for (const ExprId e : ir::postorder(graph_, {pick.args[0]})) {
      const ExprNode& n = graph_.node(e);
      binds(n);
      if (n.op == Op::var) read.insert(static_cast<std::uint32_t>(n.ivalue));
      for (const ir::Index& index : n.index)
        for (const auto& [id, coefficient] : index.vars) read.insert(id);
    }
    return std::ranges::includes(bound, read);
  }

  Graph& graph_;
  std::vector<std::string>& remarks_;
  const std::map<std::uint32_t, ElementType> narrow_;
  Rebuild rebuild_;
  std::map<std::pair<ExprId, ir::StageId>, ExprId> keys_;
  std::vector<ir::StageId> with_keys_;
};

}  // namespace

void take_choices(Graph& graph, std::vector<std::string>& remarks) {
  for (ir::StageId s = 0; s < graph.stage_count(); ++s) {
    if (graph.stage(s).kind != ir::StageKind::point) continue;
    for (const ExprId e : ir::postorder(graph, {graph.stage(s).body}))
      if (graph.node(e).op == Op::reduce_pick) return Choices(graph, remarks).run();
  }
}

}  // namespace tessera::rewrite
