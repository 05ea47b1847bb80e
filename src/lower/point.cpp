// In which order a DAG of point operations is computed; see point.hpp.
#include "lower/point.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "base/process/deadline.hpp"
#include "ir/build.hpp"
#include "plan/passes/lanes.hpp"

namespace tessera::lower {

using ir::ExprId;
using ir::ExprNode;
using ir::Op;
using ir::nest::Lane;
using ir::nest::Value;

namespace {

// Loads in memory order: stage, then rows from the slowest dimension on, then columns.
std::vector<i64> memory_order(const ExprNode& node) {
  std::vector<i64> key{static_cast<i64>(node.stage)};
  for (const ir::Index& index : node.index) key.push_back(index.offset);
  return key;
}

// An access, converted or not.
const ExprNode* read_of(const ir::Graph& graph, ExprId e) {
  const ExprNode* node = &graph.node(e);
  if (node->op == Op::convert) node = &graph.node(node->args[0]);
  return node->op == Op::access ? node : nullptr;
}

// Sums of pairs that have a weight in common, as symmetric filters have: what they read in the order of their terms, by
// turns for all rows. Two elements far apart are then needed at a time, and in memory order half of all would be.
std::unordered_map<std::uint32_t, std::size_t> order_of_pairs(const ir::Graph& graph,
                                                              const std::vector<ExprId>& wanted) {
  std::unordered_map<std::uint32_t, std::size_t> place;
  std::size_t pairs = 0;
  for (ExprId root : wanted) {
    const std::vector<ExprId> order = ir::postorder(graph, {root});
    std::size_t reads = 0;
    for (ExprId e : order) {
      const ExprNode& n = graph.node(e);
      if (n.op == Op::access) {
        const auto [it, first] = place.try_emplace(e.id, reads);
        it->second = std::min(it->second, reads++);
      }
      if (n.op != Op::mul || !is_float(n.type)) continue;
      const ExprNode& sum = graph.node(n.args[0]);
      if ((sum.op == Op::add || sum.op == Op::sub) && graph.node(n.args[1]).op == Op::constant &&
          read_of(graph, sum.args[0]) && read_of(graph, sum.args[1]))
        ++pairs;
    }
  }
  if (pairs < 2 * wanted.size()) place.clear();
  return place;
}

void free_variables(const ir::Graph& graph, const std::vector<ExprId>& order,
                    std::unordered_map<std::uint32_t, std::set<std::uint32_t>>& free) {
  for (ExprId e : order) {
    const ExprNode& node = graph.node(e);
    std::set<std::uint32_t> vars;
    for (ExprId a : node.args)
      if (auto it = free.find(a.id); it != free.end()) vars.insert(it->second.begin(), it->second.end());
    if (node.op == Op::var) vars.insert(static_cast<std::uint32_t>(node.ivalue));
    for (const ir::Index& index : node.index)
      for (auto [var, coefficient] : index.vars) vars.insert(var);
    for (const ir::Var& v : node.vars) vars.erase(v.id);
    if (!vars.empty()) free[e.id] = std::move(vars);
  }
}

// What a reduction adds to its total at every turn of its loops.
std::vector<ExprId> addends_of(const ir::Graph& graph, ExprId reduction, bool chained) {
  const ExprNode& n = graph.node(reduction);
  std::vector<ExprId> found, stack{n.args[0]};
  while (!stack.empty()) {
    const ExprId e = stack.back();
    stack.pop_back();
    const ExprNode& part = graph.node(e);
    if (chained && n.op == Op::reduce_sum && part.op == Op::add && part.type == n.type && is_float(n.type)) {
      stack.push_back(part.args[1]);
      stack.push_back(part.args[0]);
    } else {
      found.push_back(e);
    }
  }
  return found;
}

// Halves are computed in floats by most machines, and rounded then.
bool is_fused(ElementType type) {
  return type == ElementType::f32 || type == ElementType::f64;
}

}  // namespace

std::optional<FusedSum> fused_of(const ir::Graph& graph, ExprId sum) {
  const ExprNode& n = graph.node(sum);
  if ((n.op != Op::add && n.op != Op::sub) || !is_fused(n.type)) return {};
  const auto divides = [&](const ExprNode& term) {  // which is a product with the inverse
    const std::optional<double> by = term.op == Op::div ? ir::constant_value(graph, term.args[1]) : std::nullopt;
    int exponent = 0;
    return by && std::abs(std::frexp(*by, &exponent)) == 0.5 && std::isnormal(1 / *by);
  };
  for (const std::size_t k : {std::size_t{1}, std::size_t{0}}) {
    const ExprNode& term = graph.node(n.args[k]);
    if (term.op != Op::mul && !divides(term)) continue;
    const bool minus = n.op == Op::sub;
    return FusedSum{.a = term.args[0],
                    .b = term.args[1],
                    .c = n.args[1 - k],
                    .minus_product = minus && k == 1,
                    .minus_c = minus && k == 0,
                    .divides = term.op == Op::div};
  }
  return {};
}

std::vector<ExprId> PointEmitter::operands_of(ExprId e) const {
  if (source_.fuses)
    if (const std::optional<FusedSum> f = fused_of(graph_, e)) return {f->a, f->b, f->c};
  return graph_.node(e).args;
}

Value PointEmitter::identity(const ExprNode& n, Lane lane) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  switch (n.op) {
    case Op::reduce_sum:
      return number(is_float(lane) ? -0.0 : 0, lane);
    case Op::reduce_prod:
      return number(1, lane);
    case Op::reduce_min:  // of a NaN and a number the number
      return number(is_float(lane) ? nan : ranges_.of(n.args[0]).hi, lane);
    case Op::reduce_max:
      return number(is_float(lane) ? nan : ranges_.of(n.args[0]).lo, lane);
    case Op::reduce_all:
      return number(-1, lane);
    default:
      return number(0, lane);
  }
}

void PointEmitter::reductions(const std::vector<ExprId>& together, Values& known, const Vars& vars) {
  std::vector<Value> totals;
  std::vector<Lane> lanes;
  std::vector<ExprId> bodies;                // once each
  std::vector<std::vector<ExprId>> addends;  // of each total
  const auto joins = [&](ExprId sum, ExprId addend) {
    return source_.fuses && graph_.node(sum).op == Op::reduce_sum && is_fused(graph_.node(sum).type) &&
           graph_.node(addend).op == Op::mul;
  };
  for (ExprId e : together) {
    const ExprNode& n = graph_.node(e);
    Lane lane = n.type == ElementType::boolean ? ir::nest::mask_lane(Lane::i32)
                : is_float(n.type)             ? ir::nest::lane_of(n.type)
                                               : working_lane(e);
    if (n.op == Op::reduce_prod && !is_float(n.type)) lane = n.type == ElementType::u32 ? Lane::u32 : Lane::i32;
    lanes.push_back(lane);
    totals.push_back(builder_.var("total", identity(n, lane)));
    addends.push_back(addends_of(graph_, e, source_.chained));
    for (ExprId a : addends.back()) {
      if (!std::count(bodies.begin(), bodies.end(), a)) bodies.push_back(a);
      if (joins(e, a)) addends_.insert(a.id);
    }
  }
  const std::vector<ir::Var> over = graph_.node(together.front()).vars;
  Vars inner = vars;
  std::function<void(std::size_t)> nest = [&](std::size_t k) {
    if (k < over.size()) {
      const Value end = over[k].end == ir::SizeId{} ? ir::nest::integer(over[k].hi + 1) : source_.extent(over[k].end);
      builder_.loop("w", ir::nest::integer(over[k].lo), end, ir::nest::integer(1), [&](Value w) {
        inner[over[k].id] = w;
        nest(k + 1);
      });
      return;
    }
    Values local = known;
    auto finish = [&](ExprId body, Value v) {
      for (std::size_t t = 0; t < together.size(); ++t) {
        const auto times = std::count(addends[t].begin(), addends[t].end(), body);
        if (times == 0) continue;
        const Op step = ir::step_of(graph_.node(together[t]).op);
        const Value term = as(v, lanes[t]);
        // (What the loop does not move was multiplied before it.)
        const bool fuses = joins(together[t], body) && term->kind == ir::nest::Kind::operation;
        for (auto k = times; k > 0; --k)
          builder_.assign(totals[t],
                          fuses ? ir::nest::fused(term->args[0], term->args[1], totals[t])
                                : ir::nest::operation(step, {lanes[t], source_.lanes, false}, {totals[t], term}));
      }
    };
    emit_block(bodies, local, inner, finish);
  };
  nest(0);
  for (std::size_t t = 0; t < together.size(); ++t) known[together[t].id] = builder_.let("v", totals[t]);
}

void PointEmitter::emit_block(const std::vector<ExprId>& wanted, Values& known, const Vars& vars,
                              const std::function<void(ExprId, Value)>& made) {
  std::vector<ExprId> all = ir::postorder(graph_, wanted);
  std::unordered_map<std::uint32_t, std::set<std::uint32_t>> loose;
  bool any_reduction = false;
  for (ExprId e : all) any_reduction |= is_reduction(graph_.node(e).op);
  if (any_reduction) free_variables(graph_, all, loose);

  // What a node waits for: its arguments, or, for a reduction, the parts of its body that its variables do not move.
  auto inputs_of = [&](ExprId e) {
    const ExprNode& n = graph_.node(e);
    std::vector<ExprId> inputs;
    if (!is_reduction(n.op)) {
      inputs = operands_of(e);
    } else {
      std::set<std::uint32_t> seen;
      std::vector<ExprId> stack{n.args[0]};
      while (!stack.empty()) {
        ExprId x = stack.back();
        stack.pop_back();
        if (!seen.insert(x.id).second) continue;
        bool moves = false;
        if (auto it = loose.find(x.id); it != loose.end())
          for (const ir::Var& v : n.vars) moves |= it->second.contains(v.id);
        // Parts moved by variables of inner reductions alone belong to those reductions.
        bool bound_inside = false;
        if (auto it = loose.find(x.id); it != loose.end())
          for (std::uint32_t v : it->second) bound_inside |= !vars.contains(v);
        if (!moves && !bound_inside) {
          inputs.push_back(x);
          continue;
        }
        for (ExprId a : graph_.node(x).args) stack.push_back(a);
      }
    }
    std::erase_if(inputs, [&](ExprId x) { return free(x) || known.contains(x.id); });
    std::sort(inputs.begin(), inputs.end());
    inputs.erase(std::unique(inputs.begin(), inputs.end()), inputs.end());
    return inputs;
  };

  std::set<std::uint32_t> is_wanted;
  for (ExprId e : wanted) is_wanted.insert(e.id);
  auto report = [&](ExprId e) {
    if (is_wanted.contains(e.id)) made(e, known.at(e.id));
  };
  std::unordered_map<std::uint32_t, int> waits;
  std::unordered_map<std::uint32_t, std::vector<ExprId>> users;
  std::vector<ExprId> ready, loads, stack;
  for (ExprId e : wanted) {
    if (known.contains(e.id))
      report(e);
    else if (free(e))
      known[e.id] = constant(e), report(e);
    else if (waits.try_emplace(e.id, -1).second)
      stack.push_back(e);
  }
  while (!stack.empty()) {
    ExprId e = stack.back();
    stack.pop_back();
    std::vector<ExprId> inputs = inputs_of(e);
    base::count_towards_deadline();
    waits[e.id] = static_cast<int>(inputs.size());
    for (ExprId a : inputs) {
      users[a.id].push_back(e);
      if (waits.try_emplace(a.id, -1).second) stack.push_back(a);
    }
    if (inputs.empty()) (graph_.node(e).op == Op::access ? loads : ready).push_back(e);
  }
  const auto place = any_reduction ? decltype(order_of_pairs(graph_, wanted)){} : order_of_pairs(graph_, wanted);
  std::sort(loads.begin(), loads.end(), [&](ExprId a, ExprId b) {
    if (!place.empty() && place.at(a.id) != place.at(b.id)) return place.at(a.id) < place.at(b.id);
    auto ka = memory_order(graph_.node(a)), kb = memory_order(graph_.node(b));
    return ka != kb ? ka < kb : a < b;
  });
  std::sort(ready.begin(), ready.end());

  std::vector<ExprId> pending;  // reductions whose inputs are there
  auto settle = [&](ExprId first) {
    std::vector<ExprId> work{first};
    while (!work.empty()) {
      ExprId e = work.back();
      work.pop_back();
      if (is_reduction(graph_.node(e).op) && !known.contains(e.id)) {
        pending.push_back(e);
        continue;
      }
      if (!known.contains(e.id)) known[e.id] = node(e, known, vars);
      report(e);
      std::vector<ExprId>& next = users[e.id];
      std::sort(next.begin(), next.end(), [](ExprId a, ExprId b) { return b < a; });
      for (ExprId u : next)
        if (--waits[u.id] == 0) work.push_back(u);
    }
  };
  for (ExprId e : ready) settle(e);
  for (ExprId e : loads) settle(e);
  while (!pending.empty()) {
    std::vector<ExprId> together, later;
    const std::vector<ir::Var> over = graph_.node(pending.front()).vars;
    for (ExprId e : pending) (graph_.node(e).vars == over ? together : later).push_back(e);
    pending = later;
    reductions(together, known, vars);
    for (ExprId e : together) settle(e);
  }
}

void PointEmitter::emit(const std::vector<ExprId>& roots, const std::function<void(std::size_t, Value)>& finished,
                        Values known) {
  low_ = plan::LowBits(graph_, roots);
  std::vector<ExprId> once;  // rows of a block may compute the same, a constant say
  for (ExprId e : roots)
    if (!std::count(once.begin(), once.end(), e)) once.push_back(e);
  emit_block(once, known, {}, [&](ExprId e, Value v) {
    for (std::size_t k = 0; k < roots.size(); ++k)
      if (roots[k] == e) finished(k, v);
  });
}

}  // namespace tessera::lower
