// See interval.hpp.
#include "ir/interval.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "ir/build.hpp"

namespace tessera::ir {
namespace {

class Intervals {
 public:
  Intervals(const Graph& graph, const std::vector<Var>& vars) : graph_(graph), vars_(vars) {}

  Interval of(ExprId e) {
    const auto known = found_.find(e);
    if (known != found_.end()) return known->second;
    constexpr int deep = 200;  // nothing is said of what is made of more
    if (depth_ >= deep) return all_of(graph_.node(e).type);
    ++depth_;
    const Interval made = made_of(graph_.node(e));
    --depth_;
    found_.emplace(e, made);
    return made;
  }

 private:
  static Interval all_of(ElementType type) {
    constexpr double infinite = std::numeric_limits<double>::infinity();
    if (type == ElementType::boolean) return {0, 1};
    if (is_float(type)) return {-infinite, infinite};
    return {static_cast<double>(integer_limits(type).lo), static_cast<double>(integer_limits(type).hi)};
  }
  // Integers that leave their type wrap.
  static Interval within(ElementType type, Interval made) {
    const Interval all = all_of(type);
    return made.lo >= all.lo && made.hi <= all.hi ? made : all;
  }
  static Interval around(Interval a, Interval b) { return {std::min(a.lo, b.lo), std::max(a.hi, b.hi)}; }

  Interval table_of(const ExprNode& n) const {
    const std::vector<double>& values = graph_.tables[static_cast<std::size_t>(n.ivalue)].values;
    if (values.empty()) return all_of(n.type);
    const auto [least, most] = std::minmax_element(values.begin(), values.end());
    return {*least, *most};
  }
  Interval variable(const ExprNode& n) const {
    for (const Var& v : vars_)
      if (static_cast<i64>(v.id) == n.ivalue && v.end == SizeId{})
        return {static_cast<double>(v.lo), static_cast<double>(v.hi)};
    return all_of(n.type);
  }
  // What is no number, and a float beyond the type, is a case of its own.
  Interval converted(const ExprNode& n) {
    const Interval from = of(n.args[0]), all = all_of(n.type);
    if (is_float(n.type)) return from;
    if (!is_float(graph_.node(n.args[0]).type)) return within(n.type, from);
    const bool fits = std::isfinite(from.lo) && std::isfinite(from.hi);
    return fits ? within(n.type, around({std::trunc(from.lo), std::trunc(from.hi)}, {0, 0})) : all;
  }
  Interval saturated(const ExprNode& n) {
    const Interval from = of(n.args[0]), all = all_of(n.type);
    if (is_float(n.type)) return from;
    return {std::clamp(std::min(std::floor(from.lo), 0.0), all.lo, all.hi),
            std::clamp(std::max(std::ceil(from.hi), 0.0), all.lo, all.hi)};
  }
  Interval product(Interval a, Interval b) const {
    const double all[] = {a.lo * b.lo, a.lo * b.hi, a.hi * b.lo, a.hi * b.hi};
    Interval r{all[0], all[0]};
    for (const double x : all) {
      if (std::isnan(x)) return all_of(ElementType::f64);
      r = around(r, {x, x});
    }
    return r;
  }
  Interval quotient(const ExprNode& n) {
    const Interval a = of(n.args[0]), b = of(n.args[1]);
    if (is_float(n.type) || b.lo < 1) return all_of(n.type);
    return around(around({std::trunc(a.lo / b.lo), std::trunc(a.hi / b.lo)}, {std::trunc(a.lo / b.hi), 0}),
                  {std::trunc(a.hi / b.hi), 0});
  }

  Interval made_of(const ExprNode& n) {
    const auto arg = [&](std::size_t k) { return of(n.args[k]); };
    switch (n.op) {
      case Op::constant: {
        const double value = is_float(n.type) ? n.fvalue : static_cast<double>(n.ivalue);
        return std::isnan(value) ? all_of(n.type) : Interval{value, value};
      }
      case Op::var:
        return variable(n);
      case Op::lookup:
        return table_of(n);
      case Op::convert:
        return converted(n);
      case Op::saturate:
        return saturated(n);
      case Op::neg:
        return within(n.type, {-arg(0).hi, -arg(0).lo});
      case Op::abs: {
        const Interval a = arg(0);
        const double least = a.lo > 0 ? a.lo : a.hi < 0 ? -a.hi : 0;
        return within(n.type, {least, std::max(-a.lo, a.hi)});
      }
      case Op::add:
        return within(n.type, {arg(0).lo + arg(1).lo, arg(0).hi + arg(1).hi});
      case Op::sub:
        return within(n.type, {arg(0).lo - arg(1).hi, arg(0).hi - arg(1).lo});
      case Op::mul:
        return within(n.type, product(arg(0), arg(1)));
      case Op::div:
        return quotient(n);
      // Of floats one may be no number, and the other one is taken.
      case Op::min:
        if (is_float(n.type)) return around(arg(0), arg(1));
        return {std::min(arg(0).lo, arg(1).lo), std::min(arg(0).hi, arg(1).hi)};
      case Op::max:
        if (is_float(n.type)) return around(arg(0), arg(1));
        return {std::max(arg(0).lo, arg(1).lo), std::max(arg(0).hi, arg(1).hi)};
      case Op::select:
        return around(arg(1), arg(2));
      case Op::bit_and:
        if (n.type != ElementType::boolean && arg(1).lo >= 0) return {0, arg(1).hi};
        return all_of(n.type);
      default:
        return all_of(n.type);
    }
  }

  const Graph& graph_;
  const std::vector<Var>& vars_;
  std::map<ExprId, Interval> found_;
  int depth_ = 0;
};

}  // namespace

Interval interval_of(const Graph& graph, ExprId e, const std::vector<Var>& vars) {
  return Intervals(graph, vars).of(e);
}

}  // namespace tessera::ir
