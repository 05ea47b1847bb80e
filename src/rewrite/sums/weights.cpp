// Reading weights off expressions, and outer products off weights.
#include "rewrite/sums/weights.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "base/process/deadline.hpp"
#include "ir/build.hpp"

namespace tessera::rewrite {

using ir::ExprId;
using ir::ExprNode;
using ir::Graph;
using ir::Op;

namespace {

constexpr std::size_t most_pivots = 48;  // that are tried
constexpr i64 most_box = i64{1} << 22;   // entries of the box around all offsets

bool arithmetic(ElementType type) {
  return type == ElementType::i32 || type == ElementType::u32 || type == ElementType::f32 || type == ElementType::f64;
}

}  // namespace

LinearForms::LinearForms(const Graph& graph, Numbers numbers, ExprId body, i64& steps)
    : graph_(graph), numbers_(numbers), steps_(steps) {
  for (ExprId e : ir::postorder(graph, {body})) kinds_[e.id] = kind_of(e);
}

bool LinearForms::may_reorder(ElementType type) const {
  return arithmetic(type) && (!is_float(type) || numbers_ == Numbers::fast);
}

LinearForms::Kind LinearForms::kind_of(ExprId e) const {
  const ExprNode& node = graph_.node(e);
  if (node.op == Op::constant || node.op == Op::var) return Kind::number;
  if (ir::runs_over_extents(node)) return Kind::other;
  if (is_reduction(node.op))
    return node.op == Op::reduce_sum && may_reorder(node.type) && kind(node.args[0]) == Kind::linear ? Kind::linear
                                                                                                     : Kind::other;
  if (node.op == Op::access) return may_reorder(node.type) ? Kind::linear : Kind::other;
  if (node.args.empty() || node.op == Op::gather) return Kind::other;
  bool numbers = true;
  for (ExprId a : node.args) numbers = numbers && kind(a) == Kind::number;
  if (numbers) return Kind::number;
  if (!may_reorder(node.type)) return Kind::other;
  auto is = [&](std::size_t k, Kind wanted) { return kind(node.args[k]) == wanted; };
  bool yes = false;
  if (node.op == Op::convert) yes = graph_.node(node.args[0]).op == Op::access;
  if (node.op == Op::neg) yes = is(0, Kind::linear);
  if (node.op == Op::add || node.op == Op::sub) yes = is(0, Kind::linear) && is(1, Kind::linear);
  if (node.op == Op::mul)
    yes = (is(0, Kind::linear) && is(1, Kind::number)) || (is(0, Kind::number) && is(1, Kind::linear));
  if (node.op == Op::div) yes = is_float(node.type) && is(0, Kind::linear) && is(1, Kind::number);
  if (node.op == Op::shl) yes = is(0, Kind::linear) && is(1, Kind::number);
  return yes ? Kind::linear : Kind::other;
}

// What a number is for the current values of the variables.
std::optional<double> LinearForms::number(ExprId e, int depth) {
  const ExprNode& node = graph_.node(e);
  if (node.op == Op::constant) return ir::constant_value(graph_, e);
  if (--steps_ < 0 || depth > 64) return {};
  if (node.op == Op::var) {
    for (auto [id, value] : variables_)
      if (id == static_cast<std::uint32_t>(node.ivalue)) return static_cast<double>(value);
    return {};
  }
  if (node.op == Op::lookup) {
    const ir::Table& table = graph_.tables[static_cast<std::size_t>(node.ivalue)];
    i64 entry = 0;
    for (std::size_t d = 0; d < node.args.size(); ++d) {
      const auto at = number(node.args[d], depth + 1);
      if (!at) return {};
      entry = entry * table.extents[d] + std::clamp<i64>(static_cast<i64>(*at), 0, table.extents[d] - 1);
    }
    return table.values[static_cast<std::size_t>(entry)];
  }
  double operands[3] = {};
  for (std::size_t k = 0; k < node.args.size(); ++k) {
    auto v = number(node.args[k], depth + 1);
    if (!v) return {};
    if (k < 3) operands[k] = *v;
  }
  return ir::evaluate(node.op, node.type, graph_.node(node.args.back()).type, operands);
}

bool LinearForms::add_leaf(ExprId e, double weight) {
  const ExprNode& top = graph_.node(e);
  const ExprNode& node = top.op == Op::convert ? graph_.node(top.args[0]) : top;
  if (node.index.size() > 4) return false;
  Offset offset{};
  for (std::size_t d = 0; d < node.index.size(); ++d) {
    offset[d] = node.index[d].offset;
    for (auto [id, coefficient] : node.index[d].vars) {
      bool bound = false;
      for (auto [known, value] : variables_)
        if (known == id) offset[d] += coefficient * value, bound = true;
      if (!bound) return false;
    }
  }
  if (!sum_.leaf.valid()) {
    sum_.leaf = e;
  } else {
    const ExprNode& first_top = graph_.node(sum_.leaf);
    const ExprNode& first = first_top.op == Op::convert ? graph_.node(first_top.args[0]) : first_top;
    if (top.op != first_top.op || node.stage != first.stage || node.border != first.border) return false;
    for (std::size_t d = 0; d < node.index.size(); ++d)
      if (node.index[d].scale != first.index[d].scale || node.index[d].shift != first.index[d].shift) return false;
  }
  // Mostly in order.
  Weights& all = sum_.weights;
  if (ordered_ && !all.empty() && all.back().first == offset) {
    all.back().second += weight;
    return true;
  }
  ordered_ = ordered_ && (all.empty() || all.back().first < offset);
  all.emplace_back(offset, weight);
  if (!ordered_ && static_cast<i64>(all.size()) > 2 * most_terms) order_weights();
  return !ordered_ || static_cast<i64>(all.size()) <= most_terms;
}

// Those of one offset are added in the order in which they came.
void LinearForms::order_weights() {
  Weights& all = sum_.weights;
  const auto falls = [](const auto& a, const auto& b) { return a.first > b.first; };
  if (std::adjacent_find(all.begin(), all.end(), std::not_fn(falls)) == all.end()) {  // a kernel that is mirrored
    std::reverse(all.begin(), all.end());
  } else if (!ordered_) {
    std::vector<std::uint32_t> order(all.size());
    std::iota(order.begin(), order.end(), 0u);
    std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
      return all[a].first != all[b].first ? all[a].first < all[b].first : a < b;
    });
    Weights merged;
    for (const std::uint32_t k : order)
      if (!merged.empty() && merged.back().first == all[k].first)
        merged.back().second += all[k].second;
      else
        merged.push_back(all[k]);
    all = std::move(merged);
  }
  ordered_ = true;
}

bool LinearForms::add(ExprId root, double weight, int depth) {
  std::vector<std::pair<ExprId, double>> stack{{root, weight}};
  while (!stack.empty()) {
    auto [e, w] = stack.back();
    stack.pop_back();
    if (--steps_ < 0) return false;
    const ExprNode& node = graph_.node(e);
    if (node.op == Op::access || node.op == Op::convert) {
      if (!add_leaf(e, w)) return false;
    } else if (node.op == Op::reduce_sum) {
      if (depth > 4 || !add_window(node, w, depth)) return false;
    } else if (node.op == Op::neg) {
      stack.emplace_back(node.args[0], -w);
    } else if (node.op == Op::add || node.op == Op::sub) {
      stack.emplace_back(node.args[1], node.op == Op::add ? w : -w);
      stack.emplace_back(node.args[0], w);
    } else {
      std::size_t factor = node.op == Op::mul && kind(node.args[0]) == Kind::number ? 0 : 1;
      auto v = number(node.args[factor]);
      if (!v || !std::isfinite(*v)) return false;
      if (node.op == Op::shl) v = std::exp2(static_cast<double>(static_cast<i64>(*v) & 31));
      stack.emplace_back(node.args[1 - factor], node.op == Op::div ? w / *v : w * *v);
    }
  }
  return true;
}

bool LinearForms::add_window(const ExprNode& node, double weight, int depth) {
  std::size_t base = variables_.size();
  for (const ir::Var& v : node.vars) variables_.emplace_back(v.id, v.lo);
  for (;;) {
    base::count_towards_deadline();
    if (!add(node.args[0], weight, depth + 1)) return false;
    std::size_t k = node.vars.size();
    while (k > 0 && variables_[base + k - 1].second == node.vars[k - 1].hi) {
      variables_[base + k - 1].second = node.vars[k - 1].lo;
      --k;
    }
    if (k == 0) break;
    ++variables_[base + k - 1].second;
  }
  variables_.resize(base);
  return true;
}

std::optional<LinearForms::Sum> LinearForms::expand(ExprId e) {
  sum_ = {};
  ordered_ = true;
  variables_.clear();
  if (!add(e, 1, 0)) return {};
  order_weights();
  if (static_cast<i64>(sum_.weights.size()) > most_terms) return {};
  // Whole numbers that wrap: a weight that is none of the type would become another one.
  if (const ElementType type = graph_.node(e).type; !is_float(type)) {
    const auto limits = ir::integer_limits(type);
    for (const auto& [at, weight] : sum_.weights)
      if (weight < limits.lo || weight > limits.hi) return {};
  }
  std::erase_if(sum_.weights, [](const auto& term) { return term.second == 0; });
  return std::move(sum_);
}

std::optional<Tensor> tensor_of(const Weights& weights, const std::vector<ir::Index>& index, ElementType type) {
  Tensor w;
  w.rank = index.size();
  Offset hi{};
  w.lo.fill(ir::max_offset * 4);
  hi.fill(-ir::max_offset * 4);
  for (const auto& [offset, weight] : weights) {
    if (!std::isfinite(weight)) return {};
    if (!is_float(type) && (std::fabs(weight) > 0x1p31 || std::trunc(weight) != weight)) return {};
    for (std::size_t d = 0; d < w.rank; ++d) w.lo[d] = std::min(w.lo[d], offset[d]), hi[d] = std::max(hi[d], offset[d]);
  }
  double count = 1;
  for (std::size_t d = 0; d < w.rank; ++d) {
    w.extent[d] = hi[d] - w.lo[d] + 1;
    w.scale[d] = index[d].scale;
    count *= static_cast<double>(w.extent[d]);
  }
  if (count > static_cast<double>(most_box)) return {};
  w.at.resize(static_cast<std::size_t>(w.count()));
  for (const auto& [offset, weight] : weights) {
    i64 entry = 0;
    for (std::size_t d = 0; d < w.rank; ++d) entry += (offset[d] - w.lo[d]) * w.step(d);
    w.at[static_cast<std::size_t>(entry)] = weight;
  }
  return w;
}

// ---- outer products ------------------------------------------------------------------------------------------------

namespace {

double greatest_divisor(const std::vector<double>& weights) {
  i64 g = 0;
  for (double w : weights) g = std::gcd(g, static_cast<i64>(w));
  return static_cast<double>(g);
}

// The power of two that makes all weights integers that `bits` bits hold.
std::optional<double> dyadic_scale(const std::vector<double>& weights, int bits) {
  double scale = 1;
  for (double w : weights)
    while (std::trunc(w * scale) != w * scale) {
      scale *= 2;
      if (scale > 0x1p60) return {};
    }
  for (double w : weights)
    if (std::fabs(w) * scale > std::exp2(bits)) return {};
  return scale;
}

// Brings what belongs to every `stride`-th place of an order there; what lies between, somewhere between.
template <class Less>
void place_every(std::vector<i64>& all, std::size_t begin, std::size_t end, std::size_t stride, const Less& less) {
  std::size_t middle = (begin + end) / 2 / stride * stride;
  if (middle < begin) middle += stride;
  if (middle >= end) return;
  const auto at = [&](std::size_t k) { return all.begin() + static_cast<std::ptrdiff_t>(k); };
  base::look_at_deadline();
  std::nth_element(at(begin), at(middle), at(end), less);
  place_every(all, begin, middle, stride, less);
  place_every(all, middle + 1, end, stride, less);
}

double sum_of_magnitudes(const std::vector<double>& values) {
  double sum = 0;
  for (const double v : values) sum += std::fabs(v);
  return sum;
}

struct Search {
  const Tensor& w;
  ElementType type;
  std::vector<std::vector<std::size_t>> sides;  // dimensions of each factor
  std::optional<double> integers;               // the scale that makes all weights integers
  double weight = sum_of_magnitudes(w.at);

  // Entries of the tensor that differ from the pivot in the dimensions of one side alone.
  std::vector<double> through(i64 pivot, const std::vector<std::size_t>& dims) const {
    i64 count = 1, base = pivot;
    for (std::size_t d : dims) count *= w.extent[d], base -= w.index(d, pivot) * w.step(d);
    std::vector<double> line(static_cast<std::size_t>(count));
    for (i64 k = 0; k < count; ++k) {
      i64 entry = base, rest = k;
      for (std::size_t i = dims.size(); i-- > 0;) {
        entry += rest % w.extent[dims[i]] * w.step(dims[i]);
        rest /= w.extent[dims[i]];
      }
      line[static_cast<std::size_t>(k)] = w.at[static_cast<std::size_t>(entry)];
    }
    return line;
  }

  std::size_t place(const std::vector<std::size_t>& dims, i64 entry) const {
    i64 k = 0;
    for (std::size_t d : dims) k = k * w.extent[d] + w.index(d, entry);
    return static_cast<std::size_t>(k);
  }

  // The outer product through the pivot, and what it leaves over; at most `most` terms.
  std::optional<Product> at(i64 pivot, std::size_t most) const {
    base::look_at_deadline();
    double middle = w.at[static_cast<std::size_t>(pivot)];
    if (middle == 0) return {};
    Product p;
    p.scale = middle;
    for (const std::vector<std::size_t>& dims : sides) {
      std::vector<double> line = through(pivot, dims);
      double unit = middle;
      if (integers) {
        for (double& x : line) x *= *integers;
        unit = greatest_divisor(line);
        if (line[place(dims, pivot)] < 0) unit = -unit;
      }
      for (double& x : line) x /= unit;
      if (integers) p.scale /= line[place(dims, pivot)];
      p.factors.push_back({dims, std::move(line)});
    }
    if (integers && std::trunc(p.scale * *integers) != p.scale * *integers) return {};
    const double close = type == ElementType::f64 ? 1e-14 : 2e-6;
    for (i64 entry = 0; entry < w.count(); ++entry) {
      double x = w.at[static_cast<std::size_t>(entry)], guess = p.scale;
      for (const Product::Factor& f : p.factors) guess *= f.weights[place(f.dims, entry)];
      if (integers ? guess == x : std::fabs(guess - x) <= close * std::fabs(x)) continue;
      if (p.extra.size() == most) return {};
      // A term that cancels most of what the product says would lose digits.
      if (is_float(type) && std::fabs(guess) > 4 * weight) return {};
      if (!is_float(type) && std::fabs(guess) > 0x1p31) return {};
      p.extra.emplace_back(w.offset(entry), x - guess);
    }
    return p;
  }

  std::optional<Product> best(std::size_t most_extra) const {
    // Pivots: the greatest weight, where roundings matter least, and some of the rest.
    std::vector<i64> order(w.at.size());
    std::iota(order.begin(), order.end(), 0);
    const std::size_t stride = std::max<std::size_t>(1, order.size() / most_pivots);
    place_every(order, 0, order.size(), stride, [&](i64 a, i64 b) {
      const double x = std::fabs(w.at[static_cast<std::size_t>(a)]), y = std::fabs(w.at[static_cast<std::size_t>(b)]);
      return x != y ? x > y : a < b;
    });
    std::optional<Product> found;
    for (std::size_t k = 0; k < order.size() && (most_extra > 0 || k == 0); k += stride) {
      auto p = at(order[k], found ? found->extra.size() - 1 : most_extra);
      if (p) found = std::move(p);
      if (found && found->extra.empty()) break;
    }
    return found;
  }
};

}  // namespace

std::optional<Product> outer_product(const Tensor& w, ElementType type,
                                     const std::vector<std::vector<std::size_t>>& sides, std::size_t most_extra) {
  Search search{w, type, sides, 1};
  if (!is_float(type)) return search.best(most_extra);
  search.integers = dyadic_scale(w.at, type == ElementType::f64 ? 50 : 24);
  if (search.integers)
    if (auto p = search.best(most_extra)) return p;
  search.integers = {};
  return search.best(most_extra);
}

}  // namespace tessera::rewrite
