// The rules of calculus: what an operation passes on to its operands.
#include <fmt/format.h>

#include <algorithm>
#include <numbers>

#include "adjoint/reverse.hpp"
#include "data/element.hpp"
#include "ir/build.hpp"
#include "ir/reductions.hpp"

namespace tessera::adjoint {

using ir::ExprId;
using ir::ExprNode;
using ir::Graph;
using ir::Op;

namespace {

// Expressions of one type as arithmetic.
struct Arithmetic {
  Graph& g;
  ElementType type;

  ExprId number(double v) const { return ir::constant(g, type, v); }
  ExprId add(ExprId a, ExprId b) const { return ir::binary(g, Op::add, a, b); }
  ExprId sub(ExprId a, ExprId b) const { return ir::binary(g, Op::sub, a, b); }
  ExprId mul(ExprId a, ExprId b) const { return ir::binary(g, Op::mul, a, b); }
  ExprId div(ExprId a, ExprId b) const { return ir::binary(g, Op::div, a, b); }
  ExprId less(ExprId a, ExprId b) const { return ir::binary(g, Op::lt, a, b); }
  ExprId neg(ExprId a) const { return ir::unary(g, Op::neg, a); }
  ExprId call(Op op, ExprId a) const { return ir::unary(g, op, a); }
  ExprId square(ExprId a) const { return mul(a, a); }
  ExprId where(ExprId condition, ExprId a, ExprId b) const { return ir::select(g, condition, a, b); }
};

// Of an operation of one operand x with the value e: what it passes on of `amount`; invalid where there is no rule.
ExprId of_one(const Arithmetic& m, Op op, ExprId x, ExprId e, ExprId amount) {
  const ExprId one = m.number(1);
  switch (op) {
    case Op::neg:
      return m.neg(amount);
    case Op::abs:
      return m.where(m.less(x, m.number(0)), m.neg(amount), m.where(m.less(m.number(0), x), amount, m.number(0)));
    case Op::sqrt:
      return m.div(m.mul(amount, m.number(0.5)), e);
    case Op::exp:
      return m.mul(amount, e);
    case Op::exp2:
      return m.mul(amount, m.mul(e, m.number(std::numbers::ln2)));
    case Op::log:
      return m.div(amount, x);
    case Op::log2:
      return m.div(amount, m.mul(x, m.number(std::numbers::ln2)));
    case Op::log10:
      return m.div(amount, m.mul(x, m.number(std::numbers::ln10)));
    case Op::sin:
      return m.mul(amount, m.call(Op::cos, x));
    case Op::cos:
      return m.neg(m.mul(amount, m.call(Op::sin, x)));
    case Op::tan:
      return m.mul(amount, m.add(one, m.square(e)));
    case Op::asin:
      return m.div(amount, m.call(Op::sqrt, m.sub(one, m.square(x))));
    case Op::acos:
      return m.neg(m.div(amount, m.call(Op::sqrt, m.sub(one, m.square(x)))));
    case Op::atan:
      return m.div(amount, m.add(one, m.square(x)));
    case Op::sinh:
      return m.mul(amount, m.call(Op::cosh, x));
    case Op::cosh:
      return m.mul(amount, m.call(Op::sinh, x));
    case Op::tanh:
      return m.mul(amount, m.sub(one, m.square(e)));
    case Op::cbrt:
      return m.div(amount, m.mul(m.number(3), m.square(e)));
    default:
      return {};
  }
}

// The same of a and b.
std::pair<ExprId, ExprId> of_two(const Arithmetic& m, Op op, ExprId a, ExprId b, ExprId e, ExprId amount) {
  const ExprId zero = m.number(0);
  switch (op) {
    case Op::add:
      return {amount, amount};
    case Op::sub:
      return {amount, m.neg(amount)};
    case Op::mul:
      return {m.mul(amount, b), m.mul(amount, a)};
    case Op::div:
      return {m.div(amount, b), m.neg(m.div(m.mul(amount, e), b))};
    case Op::min:
    case Op::max: {
      const ExprId first = op == Op::min ? ir::binary(m.g, Op::le, a, b) : ir::binary(m.g, Op::le, b, a);
      return {m.where(first, amount, zero), m.where(first, zero, amount)};
    }
    case Op::pow:
      return {m.mul(amount, m.mul(b, ir::binary(m.g, Op::pow, a, m.sub(b, m.number(1))))),
              m.mul(amount, m.mul(e, m.call(Op::log, a)))};
    case Op::atan2: {
      const ExprId length = m.add(m.square(a), m.square(b));
      return {m.div(m.mul(amount, b), length), m.neg(m.div(m.mul(amount, a), length))};
    }
    case Op::hypot: {
      const ExprId flat = ir::binary(m.g, Op::eq, e, zero);
      return {m.where(flat, zero, m.div(m.mul(amount, a), e)), m.where(flat, zero, m.div(m.mul(amount, b), e))};
    }
    case Op::fmod:
      return {amount, m.neg(m.mul(amount, m.call(Op::trunc, m.div(a, b))))};
    default:
      return {};
  }
}

// The expression with other variables, in offsets, too.
ExprId renamed(Graph& g, ExprId root, const std::map<std::uint32_t, std::uint32_t>& fresh) {
  return ir::rewrite(g, root, [&](ExprId, const ExprNode& node) {
    ExprNode own = node;
    if (own.op == Op::var)
      if (const auto at = fresh.find(static_cast<std::uint32_t>(own.ivalue)); at != fresh.end())
        own.ivalue = at->second;
    for (ir::Index& i : own.index) {
      for (auto& [v, factor] : i.vars)
        if (const auto at = fresh.find(v); at != fresh.end()) v = at->second;
      std::sort(i.vars.begin(), i.vars.end());
    }
    return g.expr(std::move(own));
  });
}

bool is_step(Op op) {
  return op == Op::floor || op == Op::ceil || op == Op::round || op == Op::trunc;
}

}  // namespace

bool Reverse::is_active(ExprId root) {
  for (const ExprId e : ir::postorder(graph_, {root})) {
    if (active_expressions_.contains(e)) continue;
    const ExprNode& n = graph_.node(e);
    bool active = ir::reads_stage(n.op) && active_.contains(n.stage);
    if (n.op == Op::scalar) active = is_float(graph_.arguments[static_cast<std::size_t>(n.ivalue)].format.scalar);
    for (const ExprId a : n.args) active = active || active_expressions_.at(a);
    active_expressions_[e] = active;
  }
  return active_expressions_.at(root);
}

void Reverse::pass_on(ir::StageId s, ir::StageId gradient) {
  const ir::Stage stage = graph_.stage(s);
  // Outside of the margins the stage is 0, whatever it reads.
  ir::StageId own_gradient = gradient;
  const auto any = [](const std::vector<i64>& m) {
    return std::any_of(m.begin(), m.end(), [](i64 v) { return v > 0; });
  };
  if (any(stage.margin_lo) || any(stage.margin_hi))
    own_gradient = point(graph_.stage(gradient).name + "_inside", graph_.stage(gradient).type, stage.domain,
                         own(gradient), stage.margin_lo, stage.margin_hi);
  const ElementType type = graph_.node(stage.body).type;
  walk(s, stage.body, ir::convert(graph_, type, own(own_gradient)), {});
}

void Reverse::walk(ir::StageId s, ExprId root, ExprId amount, const std::vector<ir::Var>& vars) {
  std::map<ExprId, ExprId> amounts{{root, amount}};
  const std::vector<ExprId> order = ir::postorder(graph_, {root});
  // Users come before their operands. Below a reduction another walk goes.
  for (auto e = order.rbegin(); e != order.rend(); ++e)
    if (const auto found = amounts.find(*e); found != amounts.end() && is_active(*e))
      derive(s, *e, found->second, amounts, vars);
}

void Reverse::derive(ir::StageId s, ExprId e, ExprId amount, std::map<ExprId, ExprId>& amounts,
                     const std::vector<ir::Var>& vars) {
  const ExprNode n = graph_.node(e);
  const ir::Stage& stage = graph_.stage(s);
  const auto give = [&](ExprId to, ExprId part) {
    if (!is_active(to)) return;
    auto [at, fresh] = amounts.try_emplace(to, part);
    if (!fresh) at->second = ir::binary(graph_, Op::add, at->second, part);
  };
  switch (n.op) {
    case Op::access:
      reads_[n.stage].push_back({s, n.index, n.border, vars, amount});
      return;
    case Op::scalar:
    case Op::value:
    case Op::whole_sum:
    case Op::whole_mean: {
      if (!vars.empty()) amount = ir::reduce(graph_, Op::reduce_sum, vars, amount);
      const ir::StageId passed =
          point("passed_by_" + stage.name, n.type, stage.domain, amount, stage.margin_lo, stage.margin_hi);
      if (n.op == Op::scalar || n.op == Op::value) {
        const ExprId all = ir::value(graph_, total(passed, "passed_by_all_of_" + stage.name));
        if (n.op == Op::scalar)
          scalar_terms_[static_cast<std::uint32_t>(n.ivalue)].push_back(all);
        else
          terms_[n.stage].push_back(all);
        return;
      }
      ExprId each = ir::value(graph_, passed);
      if (n.op == Op::whole_mean)
        each = ir::binary(graph_, Op::div, each, ir::size_value(graph_, ir::count_of(graph_, graph_.stage(n.stage))));
      terms_[n.stage].push_back(each);
      return;
    }
    case Op::convert:
      if (!is_float(graph_.node(n.args[0]).type))
        refuse(stage, fmt::format("it takes {} that come from inputs of floats", name_of(graph_.node(n.args[0]).type)));
      return give(n.args[0], ir::convert(graph_, graph_.node(n.args[0]).type, amount));
    case Op::select: {
      const ExprId zero = ir::constant(graph_, n.type, 0);
      give(n.args[1], ir::select(graph_, n.args[0], amount, zero));
      return give(n.args[2], ir::select(graph_, n.args[0], zero, amount));
    }
    case Op::reduce_sum: {
      // Variables of its own: what is passed on may hold the window itself, around which its variables mean others.
      std::vector<ir::Var> all = vars;
      std::map<std::uint32_t, std::uint32_t> fresh;
      for (const ir::Var& v : n.vars) {
        fresh[v.id] = graph_.new_var();
        all.push_back({fresh[v.id], v.lo, v.hi, v.end});
      }
      return walk(s, renamed(graph_, n.args[0], fresh), amount, all);
    }
    default:
      break;
  }
  if (is_step(n.op)) return;
  const Arithmetic m{graph_, n.type};
  if (n.args.size() == 1 && is_float(n.type)) {
    const ExprId part = of_one(m, n.op, n.args[0], e, amount);
    if (part.valid()) return give(n.args[0], part);
  }
  if (n.args.size() == 2 && is_float(n.type)) {
    const auto [a, b] = of_two(m, n.op, n.args[0], n.args[1], e, amount);
    if (a.valid()) {
      give(n.args[0], a);
      return give(n.args[1], b);
    }
  }
  refuse(stage, fmt::format("it has {} of inputs of floats", ir::name_of(n.op)));
}

}  // namespace tessera::adjoint
