// Solving extents for parameters: repeated substitution.
//
// Each round looks for an extent that is affine in exactly one unknown parameter, c * P + rest, with a rest that is
// known; then P = (n - rest) / c. Rounds repeat until nothing new is found, so that `a[M], b[M+N]` binds both. Every
// extent is then evaluated and compared, which also refuses a P that does not divide.
#include "ir/bind.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/division.hpp"

namespace tessera::ir {
namespace {

struct Binding {
  std::optional<i64> value;
  std::string from;  // the argument that gave it
};

// coefficient * unknown + constant, under the parameters that are known; nothing when it is not of this form.
struct Affine {
  i64 coefficient = 0;
  i64 constant = 0;
  std::optional<std::uint32_t> unknown;
};

class Binder {
 public:
  Binder(const Graph& g, const std::vector<Shape>& shapes) : g_(g), shapes_(shapes), bindings_(g.parameters.size()) {}

  std::vector<i64> run() {
    if (shapes_.size() != g_.arguments.size())
      throw Error(ErrorClass::argument,
                  fmt::format("{} inputs are given, the program takes {}", shapes_.size(), g_.arguments.size()));
    for (std::size_t a = 0; a < shapes_.size(); ++a) check_rank(a);
    while (find_one()) {
    }
    for (std::size_t p = 0; p < bindings_.size(); ++p)
      if (!bindings_[p].value) refuse_unknown(p);
    std::vector<i64> values;
    for (const Binding& b : bindings_) values.push_back(*b.value);
    for (std::size_t a = 0; a < shapes_.size(); ++a) check_extents(a, values);
    for (const Requirement& r : g_.requirements) check(r, values);
    return values;
  }

 private:
  void check_rank(std::size_t a) const {
    const Argument& argument = g_.arguments[a];
    if (!argument.is_array) return;
    if (shapes_[a].size() != argument.extents.size())
      throw Error(ErrorClass::argument,
                  fmt::format("input '{}' has {} dimensions ({}), the program takes {} ({})", argument.name,
                              shapes_[a].size(), shapes_[a].empty() ? "a scalar" : to_string(shapes_[a]),
                              argument.extents.size(), declared(argument)));
  }

  std::string declared(const Argument& a) const {
    std::string text;
    for (SizeId s : a.extents) text += (text.empty() ? "" : " x ") + g_.to_string(s);
    return text;
  }

  bool find_one() {
    for (std::size_t a = 0; a < shapes_.size(); ++a) {
      const Argument& argument = g_.arguments[a];
      if (!argument.is_array) continue;
      for (std::size_t d = 0; d < argument.extents.size(); ++d) {
        const auto form = affine(argument.extents[d]);
        if (!form || !form->unknown || form->coefficient == 0) continue;
        i64 rest = 0;
        if (__builtin_sub_overflow(shapes_[a][d], form->constant, &rest)) continue;
        if (rest % form->coefficient != 0)
          throw Error(ErrorClass::argument,
                      fmt::format("input '{}' is {}, but no whole {} makes extent {} ({}) {}", argument.name,
                                  to_string(shapes_[a]), g_.parameters[*form->unknown], d,
                                  g_.to_string(argument.extents[d]), shapes_[a][d]),
                      {}, nearest(*form, shapes_[a][d]));
        bindings_[*form->unknown] = {rest / form->coefficient, argument.name};
        return true;
      }
    }
    return false;
  }

  // The largest extent below `extent` that a positive value of the unknown makes; nothing to say if there is none.
  static std::string nearest(const Affine& form, i64 extent) {
    i64 lower = 0;
    if (form.coefficient <= 0 || __builtin_sub_overflow(extent, form.constant, &lower)) return "";
    lower = lower / form.coefficient * form.coefficient;
    return lower > 0 ? fmt::format("{} fits", lower + form.constant) : "";
  }

  static std::optional<i64> add(i64 a, i64 b, bool minus) {
    i64 r = 0;
    if (minus ? __builtin_sub_overflow(a, b, &r) : __builtin_add_overflow(a, b, &r)) return std::nullopt;
    return r;
  }
  static std::optional<i64> multiply(i64 a, i64 b) {
    i64 r = 0;
    if (__builtin_mul_overflow(a, b, &r)) return std::nullopt;
    return r;
  }

  // Operands have smaller ids than their users: one ascending pass over the extents below `s` sees operands first.
  std::optional<Affine> affine(SizeId s) const {
    std::set<SizeId> below;
    std::vector<SizeId> work{s};
    while (!work.empty()) {
      const SizeId id = work.back();
      work.pop_back();
      if (!below.insert(id).second) continue;
      const SizeNode& n = g_.node(id);
      if (n.op == SizeOp::constant || n.op == SizeOp::parameter) continue;
      work.push_back(n.a);
      if (n.op != SizeOp::floor_div) work.push_back(n.b);
    }
    std::map<SizeId, std::optional<Affine>> form;
    for (SizeId id : below) form[id] = step(g_.node(id), form);
    return form[s];
  }

  std::optional<Affine> step(const SizeNode& n, const std::map<SizeId, std::optional<Affine>>& form) const {
    if (n.op == SizeOp::constant) return Affine{0, n.value, {}};
    if (n.op == SizeOp::parameter) {
      const auto p = static_cast<std::uint32_t>(n.value);
      if (p >= bindings_.size()) return std::nullopt;
      if (bindings_[p].value) return Affine{0, *bindings_[p].value, {}};
      return Affine{1, 0, p};
    }
    const auto& left = form.at(n.a);
    if (!left) return std::nullopt;
    const Affine& x = *left;
    if (n.op == SizeOp::floor_div) {
      if (x.unknown) return std::nullopt;
      return Affine{0, base::floor_divide(x.constant, n.value), {}};
    }
    const auto& right = form.at(n.b);
    if (!right) return std::nullopt;
    const Affine& y = *right;
    switch (n.op) {
      case SizeOp::add:
      case SizeOp::sub: {
        const bool minus = n.op == SizeOp::sub;
        if (x.unknown && y.unknown && *x.unknown != *y.unknown) return std::nullopt;
        const auto c = add(x.coefficient, y.coefficient, minus), k = add(x.constant, y.constant, minus);
        if (!c || !k) return std::nullopt;
        return Affine{*c, *k, x.unknown ? x.unknown : y.unknown};
      }
      case SizeOp::mul: {
        if (x.unknown && y.unknown) return std::nullopt;
        const Affine &factor = x.unknown ? y : x, &other = x.unknown ? x : y;
        const auto c = multiply(other.coefficient, factor.constant), k = multiply(other.constant, factor.constant);
        if (!c || !k) return std::nullopt;
        return Affine{*c, *k, other.unknown};
      }
      case SizeOp::min:
      case SizeOp::max:
        if (x.unknown || y.unknown) return std::nullopt;
        return Affine{0, n.op == SizeOp::min ? std::min(x.constant, y.constant) : std::max(x.constant, y.constant), {}};
      default:
        return std::nullopt;
    }
  }

  [[noreturn]] void refuse_unknown(std::size_t p) const {
    std::vector<std::string> notes;
    for (const Argument& a : g_.arguments)
      if (a.is_array) notes.push_back(fmt::format("input '{}' is declared as {}", a.name, declared(a)));
    throw Error(
        ErrorClass::argument,
        fmt::format("parameter {} is not determined by the shapes of the inputs", g_.parameters[p]), notes,
        fmt::format("declare an input with an extent {}, or set the parameter when compiling", g_.parameters[p]));
  }

  // The parameters below an extent.
  std::set<std::uint32_t> parameters_of(SizeId s) const {
    std::set<std::uint32_t> found;
    std::set<SizeId> seen;
    std::vector<SizeId> work{s};
    while (!work.empty()) {
      const SizeId id = work.back();
      work.pop_back();
      if (!seen.insert(id).second) continue;
      const SizeNode& n = g_.node(id);
      if (n.op == SizeOp::parameter) found.insert(static_cast<std::uint32_t>(n.value));
      if (n.op == SizeOp::constant || n.op == SizeOp::parameter) continue;
      work.push_back(n.a);
      if (n.op != SizeOp::floor_div) work.push_back(n.b);
    }
    return found;
  }

  void check_extents(std::size_t a, const std::vector<i64>& values) const {
    const Argument& argument = g_.arguments[a];
    if (!argument.is_array) return;
    for (std::size_t d = 0; d < argument.extents.size(); ++d) {
      const SizeId s = argument.extents[d];
      const i64 expected = g_.evaluate(s, values);
      if (expected == shapes_[a][d]) continue;
      const std::string given = fmt::format("input '{}' is {}", argument.name, to_string(shapes_[a]));
      if (g_.node(s).op == SizeOp::parameter) {
        const auto p = static_cast<std::size_t>(g_.node(s).value);
        throw Error(ErrorClass::argument, fmt::format("{}, but parameter {} is already {} (from input '{}')", given,
                                                      g_.parameters[p], values[p], bindings_[p].from));
      }
      std::vector<std::string> notes;
      for (std::uint32_t p : parameters_of(s))
        notes.push_back(
            fmt::format("parameter {} is {} (from input '{}')", g_.parameters[p], values[p], bindings_[p].from));
      throw Error(ErrorClass::argument,
                  g_.constant(s)
                      ? fmt::format("{}, but extent {} must be {}", given, d, expected)
                      : fmt::format("{}, but extent {} must be {} = {}", given, d, g_.to_string(s), expected),
                  notes);
    }
  }

  void check(const Requirement& r, const std::vector<i64>& values) const {
    const i64 a = g_.evaluate(r.a, values), b = g_.evaluate(r.b, values);
    if (r.at_most ? a <= b : a == b) return;
    std::vector<std::string> notes;
    std::set<std::uint32_t> parameters = parameters_of(r.a);
    parameters.merge(parameters_of(r.b));
    for (std::uint32_t p : parameters)
      notes.push_back(
          fmt::format("parameter {} is {} (from input '{}')", g_.parameters[p], values[p], bindings_[p].from));
    throw Error(ErrorClass::argument, fmt::format("{}: here {} and {}", r.what, a, b), notes);
  }

  const Graph& g_;
  const std::vector<Shape>& shapes_;
  std::vector<Binding> bindings_;
};

}  // namespace

std::vector<i64> bind_parameters(const Graph& g, const std::vector<Shape>& shapes) {
  return Binder(g, shapes).run();
}

}  // namespace tessera::ir
