// Symbolic extents in one normal form.
//
// Every extent is a sum  c_1 * a_1 + ... + c_k * a_k + c  of atoms: a parameter, a floor division, a minimum, a maximum
// or a product of two extents that are not constant. Building an extent flattens its operands into such sums, adds,
// and rebuilds the sum in a fixed order (parameters by index, other atoms by a structural hash that does not depend on
// the graph), positive terms first. Equal affine extents are therefore the same SizeId, which is what the planner
// compares. A division by d first takes out what d divides: floor((d*q + r) / d) = q + floor(r / d).
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/division.hpp"
#include "ir/graph.hpp"
#include "ir/text/size_text.hpp"

namespace tessera::ir {
namespace {

[[noreturn]] void too_large() {
  throw Error(ErrorClass::compile, "an extent has a constant that does not fit 63 bits",
              {"extents are 64-bit signed integers"});
}

i64 checked_add(i64 a, i64 b) {
  i64 r = 0;
  if (__builtin_add_overflow(a, b, &r) || r == INT64_MIN) too_large();
  return r;
}
i64 checked_mul(i64 a, i64 b) {
  i64 r = 0;
  if (__builtin_mul_overflow(a, b, &r) || r == INT64_MIN) too_large();
  return r;
}

std::uint64_t mix(std::uint64_t h, std::uint64_t v) {
  h = (h ^ v) * 0x9e3779b97f4a7c15ULL;
  return h ^ (h >> 31);
}

}  // namespace

// The normal form and the way into and out of it.
struct SizeAlgebra {
  struct Sum {
    i64 constant = 0;
    std::vector<std::pair<SizeId, i64>> terms;  // atom, coefficient; sorted, no zeros
  };

  Graph& g;

  SizeId intern(const SizeNode& n) {
    auto [it, fresh] = g.size_index_.try_emplace(n, SizeId{static_cast<std::uint32_t>(g.sizes_.size())});
    if (!fresh) return it->second;
    std::uint64_t h = mix(static_cast<std::uint64_t>(n.op) + 1, static_cast<std::uint64_t>(n.value));
    h = mix(mix(h, g.size_hashes_[n.a.id]), g.size_hashes_[n.b.id]);
    g.sizes_.push_back(n);
    g.size_hashes_.push_back(h);
    return it->second;
  }

  bool before(SizeId a, SizeId b) const {
    const SizeNode &x = g.sizes_[a.id], &y = g.sizes_[b.id];
    const bool px = x.op == SizeOp::parameter, py = y.op == SizeOp::parameter;
    if (px != py) return px;
    if (px) return x.value < y.value;
    if (g.size_hashes_[a.id] != g.size_hashes_[b.id]) return g.size_hashes_[a.id] < g.size_hashes_[b.id];
    return a.id < b.id;
  }

  void normalise(Sum& s) const {
    std::sort(s.terms.begin(), s.terms.end(), [&](const auto& x, const auto& y) { return before(x.first, y.first); });
    std::size_t out = 0;
    for (const auto& [atom, c] : s.terms) {
      if (out > 0 && s.terms[out - 1].first == atom)
        s.terms[out - 1].second = checked_add(s.terms[out - 1].second, c);
      else
        s.terms[out++] = {atom, c};
    }
    s.terms.resize(out);
    std::erase_if(s.terms, [](const auto& t) { return t.second == 0; });
  }

  Sum sum_of(SizeId root) const {
    Sum s;
    std::vector<std::pair<SizeId, i64>> work{{root, 1}};
    while (!work.empty()) {
      const auto [id, c] = work.back();
      work.pop_back();
      const SizeNode& n = g.sizes_[id.id];
      if (n.op == SizeOp::constant) {
        s.constant = checked_add(s.constant, checked_mul(c, n.value));
      } else if (n.op == SizeOp::add || n.op == SizeOp::sub) {
        work.emplace_back(n.a, c);
        work.emplace_back(n.b, n.op == SizeOp::add ? c : -c);
      } else if (n.op == SizeOp::mul && g.sizes_[n.a.id].op == SizeOp::constant) {
        work.emplace_back(n.b, checked_mul(c, g.sizes_[n.a.id].value));
      } else {
        s.terms.emplace_back(id, c);
      }
    }
    normalise(s);
    return s;
  }

  Sum combine(const Sum& a, const Sum& b, i64 factor) const {
    Sum s = a;
    s.constant = checked_add(a.constant, checked_mul(b.constant, factor));
    for (const auto& [atom, c] : b.terms) s.terms.emplace_back(atom, checked_mul(c, factor));
    normalise(s);
    return s;
  }

  SizeId constant(i64 v) { return v == 0 ? SizeId{} : intern({SizeOp::constant, v, {}, {}}); }

  SizeId scaled(SizeId atom, i64 c) { return c == 1 ? atom : intern({SizeOp::mul, 0, constant(c), atom}); }

  SizeId build(const Sum& s) {
    std::optional<SizeId> acc;
    for (const auto& [atom, c] : s.terms)
      if (c > 0) acc = acc ? intern({SizeOp::add, 0, *acc, scaled(atom, c)}) : scaled(atom, c);
    if (!acc)
      acc = constant(s.constant);
    else if (s.constant > 0)
      acc = intern({SizeOp::add, 0, *acc, constant(s.constant)});
    for (const auto& [atom, c] : s.terms)
      if (c < 0) acc = intern({SizeOp::sub, 0, *acc, scaled(atom, -c)});
    const bool placed =
        s.constant >= 0 || std::none_of(s.terms.begin(), s.terms.end(), [](auto& t) { return t.second > 0; });
    return placed ? *acc : intern({SizeOp::sub, 0, *acc, constant(-s.constant)});
  }

  SizeId product(SizeId a, SizeId b) {
    const Sum x = sum_of(a), y = sum_of(b);
    if (x.terms.empty()) return build(combine({}, y, x.constant));
    if (y.terms.empty()) return build(combine({}, x, y.constant));
    return before(b, a) ? intern({SizeOp::mul, 0, b, a}) : intern({SizeOp::mul, 0, a, b});
  }

  SizeId extreme(SizeOp op, SizeId a, SizeId b) {
    const Sum difference = combine(sum_of(a), sum_of(b), -1);
    if (difference.terms.empty()) return (difference.constant <= 0) == (op == SizeOp::min) ? a : b;
    return before(b, a) ? intern({op, 0, b, a}) : intern({op, 0, a, b});
  }

  SizeId divided(SizeId a, i64 d) {
    if (d == 1) return a;
    const Sum s = sum_of(a);
    Sum whole, rest;
    whole.constant = base::floor_divide(s.constant, d);
    rest.constant = s.constant % d + (s.constant % d < 0 ? d : 0);
    for (const auto& [atom, c] : s.terms) {
      if (c % d == 0)
        whole.terms.emplace_back(atom, c / d);
      else
        rest.terms.emplace_back(atom, c);
    }
    if (rest.terms.empty()) return build(whole);
    SizeId inner;
    i64 both = 0, added = 0;
    const bool lone = rest.terms.size() == 1 && rest.terms[0].second == 1;
    const SizeNode only = g.sizes_[rest.terms[0].first.id];
    if (lone && only.op == SizeOp::floor_div && !__builtin_mul_overflow(only.value, d, &both) &&
        !__builtin_mul_overflow(only.value, rest.constant, &added))
      // floor((floor(x / c) + k) / d) = floor((x + c * k) / (c * d))
      inner = divided(build(combine(sum_of(only.a), sum_of(constant(added)), 1)), both);
    else
      inner = intern({SizeOp::floor_div, d, build(rest), {}});
    return build(combine(sum_of(inner), whole, 1));
  }
};

SizeId Graph::size(i64 value) {
  if (value == INT64_MIN) too_large();
  return SizeAlgebra{*this}.constant(value);
}

SizeId Graph::size_parameter(std::uint32_t index) {
  return SizeAlgebra{*this}.intern({SizeOp::parameter, index, {}, {}});
}

SizeId Graph::size_binary(SizeOp op, SizeId a, SizeId b) {
  SizeAlgebra algebra{*this};
  switch (op) {
    case SizeOp::add:
      return algebra.build(algebra.combine(algebra.sum_of(a), algebra.sum_of(b), 1));
    case SizeOp::sub:
      return algebra.build(algebra.combine(algebra.sum_of(a), algebra.sum_of(b), -1));
    case SizeOp::mul:
      return algebra.product(a, b);
    case SizeOp::min:
    case SizeOp::max:
      return algebra.extreme(op, a, b);
    case SizeOp::floor_div:
      if (auto d = constant(b)) return size_floor_div(a, *d);
      throw Error(ErrorClass::compile, "an extent can be divided by a constant only");
    case SizeOp::constant:
    case SizeOp::parameter:
      break;
  }
  throw Error(ErrorClass::internal, "size_binary takes an operation of two extents");
}

SizeId Graph::size_floor_div(SizeId a, i64 divisor) {
  if (divisor <= 0)
    throw Error(ErrorClass::compile, fmt::format("an extent is divided by {}; expected a positive number", divisor));
  return SizeAlgebra{*this}.divided(a, divisor);
}

std::optional<i64> Graph::constant(SizeId s) const {
  if (sizes_[s.id].op != SizeOp::constant) return std::nullopt;
  return sizes_[s.id].value;
}

namespace {

// The sizes below s, s included: operands first, left to right, each once. The order depends on the structure alone.
std::vector<SizeId> below(const Graph& g, SizeId s) {
  struct Frame {
    SizeId id;
    int next = 0;
  };
  std::vector<SizeId> found;
  std::set<SizeId> seen{s};
  std::vector<Frame> stack{{s}};
  while (!stack.empty()) {
    Frame& top = stack.back();
    const SizeNode& n = g.node(top.id);
    const int operands = n.op == SizeOp::constant || n.op == SizeOp::parameter ? 0 : n.op == SizeOp::floor_div ? 1 : 2;
    if (top.next == operands) {
      found.push_back(top.id);
      stack.pop_back();
      continue;
    }
    const SizeId child = top.next++ == 0 ? n.a : n.b;
    if (seen.insert(child).second) stack.push_back({child});
  }
  return found;
}

i64 apply(const SizeNode& n, i64 a, i64 b) {
  i64 r = 0;
  bool over = false;
  switch (n.op) {
    case SizeOp::add:
      over = __builtin_add_overflow(a, b, &r);
      break;
    case SizeOp::sub:
      over = __builtin_sub_overflow(a, b, &r);
      break;
    case SizeOp::mul:
      over = __builtin_mul_overflow(a, b, &r);
      break;
    case SizeOp::floor_div:
      return base::floor_divide(a, n.value);
    case SizeOp::min:
      return std::min(a, b);
    case SizeOp::max:
      return std::max(a, b);
    case SizeOp::constant:
    case SizeOp::parameter:
      break;
  }
  if (over)
    throw Error(ErrorClass::argument, fmt::format("an extent computed from {} and {} does not fit 63 bits", a, b));
  return r;
}

}  // namespace

i64 Graph::evaluate(SizeId s, const std::vector<i64>& parameters) const {
  const SizeNode& top = sizes_[s.id];
  const auto leaf = [&](const SizeNode& n) {
    if (n.op == SizeOp::constant) return n.value;
    if (static_cast<std::size_t>(n.value) >= parameters.size())
      throw Error(ErrorClass::internal,
                  fmt::format("an extent needs parameter {}, but {} are bound", n.value, parameters.size()));
    return parameters[static_cast<std::size_t>(n.value)];
  };
  if (top.op == SizeOp::constant || top.op == SizeOp::parameter) return leaf(top);
  std::map<SizeId, i64> value;
  for (SizeId id : below(*this, s)) {
    const SizeNode& n = sizes_[id.id];
    const bool is_leaf = n.op == SizeOp::constant || n.op == SizeOp::parameter;
    value[id] = is_leaf ? leaf(n) : apply(n, value[n.a], n.op == SizeOp::floor_div ? 0 : value[n.b]);
  }
  return value[s];
}

std::string SizePrinter::operand(SizeId id, int least) const {
  const Part& p = parts_.at(id);
  return p.strength < least ? "(" + p.text + ")" : p.text;
}

SizePrinter::Part SizePrinter::part(const SizeNode& n) const {
  switch (n.op) {
    case SizeOp::constant:
      return {std::to_string(n.value), n.value < 0 ? 1 : 3};
    case SizeOp::parameter:
      return {parameter_(static_cast<std::size_t>(n.value)), 3};
    case SizeOp::add:
      return {operand(n.a, 1) + "+" + operand(n.b, 1), 1};
    case SizeOp::sub: {
      // (M+1)/2-1 is the normal form of (M-1)/2; show the shorter one.
      const SizeNode& left = g_.node(n.a);
      if (g_.constant(n.b) == 1 && left.op == SizeOp::floor_div && g_.node(left.a).op == SizeOp::add) {
        const SizeNode& inner = g_.node(left.a);
        const auto c = g_.constant(inner.b);
        if (c && *c < left.value)
          return {fmt::format("({}-{})/{}", operand(inner.a, 1), left.value - *c, left.value), 2};
      }
      return {operand(n.a, 1) + "-" + operand(n.b, 2), 1};
    }
    case SizeOp::mul:
      return {operand(n.a, 2) + "*" + operand(n.b, 3), 2};
    case SizeOp::floor_div:
      return {operand(n.a, 3) + "/" + std::to_string(n.value), 2};
    case SizeOp::min:
    case SizeOp::max:
      return {fmt::format("{}({}, {})", n.op == SizeOp::min ? "min" : "max", operand(n.a, 1), operand(n.b, 1)), 3};
  }
  return {};
}

std::string SizePrinter::text(SizeId s) {
  for (SizeId id : below(g_, s)) {
    if (parts_.contains(id)) continue;
    Part p = part(g_.node(id));
    if (p.text.size() > limit_) p = {shorten_(p.text), 3};
    parts_.emplace(id, std::move(p));
  }
  return parts_.at(s).text;
}

std::string Graph::to_string(SizeId s) const {
  const auto name = [&](std::size_t i) { return i < parameters.size() ? parameters[i] : fmt::format("${}", i); };
  return SizePrinter(*this, name, 400, [](const std::string&) { return std::string("..."); }).text(s);
}

}  // namespace tessera::ir
