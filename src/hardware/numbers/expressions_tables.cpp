// Expressions of one narrow value as tables, weighted means, and floats as floats: see expressions.hpp.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "hardware/numbers/curves.hpp"
#include "hardware/numbers/expressions.hpp"
#include "hardware/numbers/functions.hpp"
#include "ir/build.hpp"

namespace tessera::hardware {

using ir::ExprId;
using ir::ExprNode;
using ir::Op;

namespace {

constexpr int most_index = 10;      // bits of a value whose functions become tables
constexpr int widest_element = 40;  // of such a table

bool is_dear(Op op) {
  return ir::is_function(op) && op != Op::floor && op != Op::ceil && op != Op::trunc && op != Op::round;
}

// Does it say one of two things, or a whole number, where a value is beside a limit?
bool decides(const ir::Graph& graph, const ExprNode& node) {
  if (node.args.empty() || !is_float(graph.node(node.args.back()).type)) return false;
  if (!is_float(node.type)) return true;
  return node.op == Op::floor || node.op == Op::ceil || node.op == Op::trunc || node.op == Op::round;
}

double looked_up(const ir::Table& table, const double* at) {
  std::size_t index = 0;
  for (std::size_t d = 0; d < table.extents.size(); ++d) {
    const auto i = std::clamp<i64>(static_cast<i64>(at[d]), 0, table.extents[d] - 1);
    index = index * static_cast<std::size_t>(table.extents[d]) + static_cast<std::size_t>(i);
  }
  return table.values[index];
}

double evaluated(const ir::Graph& graph, const ExprNode& node, const double* a) {
  if (node.op == Op::constant) return is_float(node.type) ? node.fvalue : static_cast<double>(node.ivalue);
  if (node.op == Op::lookup) return looked_up(graph.tables[static_cast<std::size_t>(node.ivalue)], a);
  return ir::evaluate(node.op, node.type, graph.node(node.args.back()).type, a);
}

}  // namespace

// ---- tables --------------------------------------------------------------------------------------------------------

// The only value on which it depends that is known before it: itself where there are several, or where it is a leaf.
ExprId Expressions::source_of(ExprId e) const {
  const ExprNode& node = graph_.node(e);
  if (node.op == Op::constant) return {};
  if (node.args.empty()) return e;
  ExprId only;
  for (const ExprId a : node.args) {
    const ExprId source = known_.sources.at(a);
    if (!source.valid() || source == only) continue;
    if (only.valid()) return e;
    only = source;
  }
  return only;
}

bool Expressions::is_narrow(ExprId e) const {
  const ExprId source = known_.sources.at(e);
  if (!source.valid() || exact_) return false;
  const auto it = known_.values.find(source);
  return it != known_.values.end() && it->second.node.valid() && it->second.error == 0 &&
         netlist_.node(it->second.node).bits.width <= most_index;
}

bool Expressions::asks_for_table(ExprId e) const {
  const ExprNode& node = graph_.node(e);
  if (!is_narrow(e) || known_.sources.at(e) == e) return false;
  const auto has = [&](const auto& all) {
    return std::any_of(node.args.begin(), node.args.end(), [&](ExprId a) { return all.contains(a); });
  };
  if (has(known_.tabled) || has(known_.broken)) return true;
  if (!is_float(node.type) && !decides(graph_, node)) return false;
  if (is_dear(node.op)) return true;
  if (node.op == Op::div) return !ir::constant_value(graph_, node.args[1]);
  return decides(graph_, node) &&
         std::any_of(node.args.begin(), node.args.end(), [&](ExprId a) { return known_.values.at(a).error > 0; });
}

// Of every value of the source, in the order of its bits. What is below it is known where it was asked for before.
const std::vector<double>& Expressions::column(ExprId e, ExprId source) {
  const auto [it, fresh] = known_.columns.try_emplace({source, e});
  if (!fresh) return it->second;
  const Value& from = known_.values.at(source);
  const Bits bits = netlist_.node(from.node).bits;
  const ExprNode& node = graph_.node(e);
  std::vector<const std::vector<double>*> args;
  if (e != source)
    for (const ExprId a : node.args) args.push_back(&column(a, source));
  std::vector<double> values, given(args.size());
  for (i64 k = 0; k < i64{1} << bits.width; ++k) {
    for (std::size_t a = 0; a < args.size(); ++a) given[a] = (*args[a])[static_cast<std::size_t>(k)];
    const double raw = std::clamp(static_cast<double>(wrap(bits, k)), from.lo, from.hi);
    values.push_back(e == source ? std::ldexp(raw, -from.fraction) : evaluated(graph_, node, given.data()));
  }
  return it->second = std::move(values);
}

// What the interpreter makes of each value. Nothing where that is not finite, or wide.
std::optional<Value> Expressions::tabulated(ExprId e) {
  const ExprId source = known_.sources.at(e);
  const Value& from = known_.values.at(source);
  std::vector<double> values = column(e, source);
  for (const double v : values)
    if (!std::isfinite(v)) return {};
  double largest = 0;
  for (const double v : values) largest = std::max(largest, std::abs(v));
  int fraction = 0;
  double error = 0;
  if (is_float(graph_.node(e).type)) {
    const auto is_exact = [&](double v) { return std::ldexp(v, fraction) == std::trunc(std::ldexp(v, fraction)); };
    while (fraction < fraction_ && !std::all_of(values.begin(), values.end(), is_exact)) ++fraction;
    // Floats of the interpreter are a few units of their last place away from exact arithmetic.
    if (!std::all_of(values.begin(), values.end(), is_exact)) error = std::exp2(-fraction - 1) + largest * 5e-7;
  }
  if (std::ldexp(largest, fraction) > std::exp2(widest_element)) return {};
  for (double& v : values) v = std::round(std::ldexp(v, fraction));
  Value v = table_value(netlist_, make_, "values_of", values, from.node);
  v.fraction = fraction;
  v.error = error;
  return v;
}

// ---- weighted means ------------------------------------------------------------------------------------------------

namespace {

void terms_of(const ir::Graph& graph, ExprId sum, std::vector<ExprId>& terms) {
  const ExprNode& node = graph.node(sum);
  if (node.op != Op::add) {
    terms.push_back(sum);
    return;
  }
  for (const ExprId a : node.args) terms_of(graph, a, terms);
}

}  // namespace

// (w1 x1 + w2 x2 + ...) / (w1 + w2 + ...) with no w below 0 lies among the x; an error of w counts with the spread of
// the x alone: sum of dw (x - mean).
std::optional<Value> Expressions::mean(const ExprNode& division, const Value& above, const Value& below) {
  std::vector<ExprId> weights, products;
  terms_of(graph_, division.args[1], weights);
  terms_of(graph_, division.args[0], products);
  if (weights.size() < 2 || weights.size() != products.size()) return {};
  double lo = HUGE_VAL, hi = -HUGE_VAL;
  for (std::size_t k = 0; k < weights.size(); ++k) {
    const ExprNode& product = graph_.node(products[k]);
    if (product.op != Op::mul && products[k] != weights[k]) return {};
    double from = 1, to = 1;
    if (products[k] != weights[k]) {
      const bool first = product.args[0] == weights[k];
      if (!first && product.args[1] != weights[k]) return {};
      const Value& x = known_.values.at(product.args[first ? 1 : 0]);
      from = std::ldexp(x.lo, -x.fraction) - x.error, to = std::ldexp(x.hi, -x.fraction) + x.error;
    }
    if (known_.values.at(weights[k]).lo < 0) return {};
    lo = std::min(lo, from), hi = std::max(hi, to);
  }
  if (std::ldexp(below.lo, -below.fraction) - below.error <= 0) return {};
  const Value a = rounded(above, fraction_), b = rounded(below, fraction_);
  const double away = std::ldexp(b.lo, -b.fraction) - b.error;
  if (away <= 0) return {};
  const int up = fraction_ + b.fraction - a.fraction;
  if (netlist_.node(a.node).bits.width + up > 63) return {};
  const double error =
      (a.error + std::max(std::abs(lo), std::abs(hi)) * (b.error - below.error) + (hi - lo) * below.error) / away +
      std::exp2(-fraction_);
  const double least = std::floor(std::ldexp(lo - error, fraction_)),
               most = std::ceil(std::ldexp(hi + error, fraction_));
  Value q = make_.divide(make_.shift_left(a, up), b, std::max(std::abs(least), std::abs(most)));
  q.fraction = fraction_, q.error = error;
  q.lo = std::max(q.lo, least), q.hi = std::min(q.hi, most);
  q.node = make_.resized(q.node, bits_of(q.lo, q.hi));
  return q;
}

// ---- floats as floats ----------------------------------------------------------------------------------------------

Value Expressions::pattern(NodeId n, ElementType type) const {
  return {n, 0, std::exp2(8.0 * static_cast<double>(size_of(type))) - 1};
}

Value Expressions::float_constant(double v, ElementType type) {
  const Bits bits{false, static_cast<int>(size_of(type)) * 8};
  return pattern(make_.node(Signal::constant, bits, {}, pattern_of(v, type)), type);
}

Value Expressions::float_operation(const ExprNode& node, const std::vector<Value>& a) {
  const ElementType operands = graph_.node(node.args.back()).type;
  if (node.op == Op::convert && operands == node.type) return a[0];
  const i64 what = FloatOperation{static_cast<std::uint8_t>(node.op), node.type, operands}.value();
  std::vector<NodeId> args;
  for (const Value& v : a) args.push_back(v.node);
  const Signal signal = args.size() == 1 ? Signal::float_unary : Signal::float_binary;
  if (is_float(node.type)) {
    const Bits bits{false, static_cast<int>(size_of(node.type)) * 8};
    return pattern(make_.node(signal, bits, args, what), node.type);
  }
  const auto limits = ir::integer_limits(node.type);
  return {make_.node(signal, bits_of(limits.lo, limits.hi), args, what), limits.lo, limits.hi};
}

}  // namespace tessera::hardware
