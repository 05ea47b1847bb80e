// The terms of sums: weights, factors that do not move with the window, and functions of images at one place of it.
//
//   sum(i, j) (K[i,j] * X@[i,j] * Y@[i,j] * Z)   is   Z * sum(i, j) (K[i,j] * f@[i,j])   with   f = X * Y
//
// A product is cut into its factors: numbers are weights, what reads nothing that moves stands before the sum, and the
// rest is a function of images. Where all of these are read at one distance from the point, the function can be moved
// to the point itself, and functions that are the same at different places are the same expression then, for a window
// as for a sum that is written out. Of floats in `exact` numbers nothing is taken apart: a term is what stands there.
#include "rewrite/sums/terms.hpp"

#include <algorithm>
#include <unordered_set>

#include "analyze/expressions.hpp"
#include "ir/build.hpp"

namespace tessera::rewrite {

using ir::ExprId;
using ir::ExprNode;
using ir::Graph;
using ir::Op;

namespace {

constexpr std::int32_t most_nodes = 256;  // of a term
constexpr std::size_t most_addends = std::size_t{1} << 14;

}  // namespace

TermReader::TermReader(Graph& graph, Numbers numbers, ExprId body)
    : graph_(graph), numbers_(numbers), order_(ir::postorder(graph, {body})) {
  for (const ExprId e : order_) facts_[e.id] = facts_of(e);
}

bool TermReader::may_reorder(ElementType type) const {
  if (is_float(type)) return numbers_ == Numbers::fast && type != ElementType::f16;
  return type == ElementType::i32 || type == ElementType::u32;
}

TermReader::Facts TermReader::facts_of(ExprId e) const {
  const ExprNode& node = graph_.node(e);
  Facts f;
  f.size = 1;
  f.number = node.op == Op::constant || node.op == Op::var || (!node.args.empty() && node.op != Op::gather);
  f.movable = node.op != Op::coord && node.op != Op::extent && node.op != Op::var && !is_reduction(node.op) &&
              !is_whole(node.op) && !is_lanes(node.op);
  f.reads = node.op == Op::access;
  if (node.op == Op::var) f.variables.push_back(static_cast<std::uint32_t>(node.ivalue));
  for (const ir::Index& index : node.index)
    for (const auto& [id, coefficient] : index.vars) f.variables.push_back(id);
  for (const ExprId a : node.args) {
    const Facts& arg = facts(a);
    f.number = f.number && arg.number;
    f.movable = f.movable && arg.movable;
    f.reads |= arg.reads;
    f.variables.insert(f.variables.end(), arg.variables.begin(), arg.variables.end());
    f.size = std::min(most_nodes + 1, f.size + arg.size);
  }
  std::sort(f.variables.begin(), f.variables.end());
  f.variables.erase(std::unique(f.variables.begin(), f.variables.end()), f.variables.end());
  for (const ir::Var& v : node.vars) std::erase(f.variables, v.id);
  f.number = f.number && !is_reduction(node.op);
  const auto arg = [&](std::size_t k) -> const Facts& { return facts(node.args[k]); };
  f.linear = node.op == Op::access || (node.op == Op::convert && graph_.node(node.args[0]).op == Op::access) ||
             (node.op == Op::neg && arg(0).linear);
  if (node.op == Op::add || node.op == Op::sub) f.linear = arg(0).linear && arg(1).linear;
  if (node.op == Op::mul) f.linear = (arg(0).linear && arg(1).number) || (arg(0).number && arg(1).linear);
  if (node.op == Op::div) f.linear = is_float(node.type) && arg(0).linear && arg(1).number;
  return f;
}

// Of one image: weights are read off it as it is.
bool TermReader::is_weighted_image(ExprId e) const {
  if (!facts(e).linear) return false;
  const std::vector<ExprId> reads = ir::accesses(graph_, e);
  return std::all_of(reads.begin(), reads.end(),
                     [&](ExprId a) { return graph_.node(a).stage == graph_.node(reads[0]).stage; });
}

// Does a sum go on below this node?
bool TermReader::is_link(ExprId e) const {
  const ExprNode& node = graph_.node(e);
  if (!may_reorder(node.type)) return false;
  if (node.op == Op::add || node.op == Op::sub || node.op == Op::neg) return true;
  if (node.op == Op::mul) return facts(node.args[0]).number || facts(node.args[1]).number;
  return node.op == Op::div && is_float(node.type) && facts(node.args[1]).number;
}

TermReader::Factors TermReader::factors(ExprId e, bool window) const {
  Factors f;
  std::vector<ExprId> stack{e};
  while (!stack.empty()) {
    const ExprId at = stack.back();
    stack.pop_back();
    const ExprNode& node = graph_.node(at);
    const Facts& known = facts(at);
    const bool is_still = window && !known.moves() && !known.number;
    if (known.number) {
      f.weights.push_back(at);
    } else if (is_still) {
      f.still.push_back(at);
    } else if (node.op == Op::mul) {
      stack.push_back(node.args[1]);
      stack.push_back(node.args[0]);
    } else if (node.op == Op::neg) {
      f.negative = !f.negative;
      stack.push_back(node.args[0]);
    } else if (node.op == Op::div && is_float(node.type) && facts(node.args[1]).number) {
      f.over.push_back(node.args[1]);
      stack.push_back(node.args[0]);
    } else if (node.op == Op::div && is_float(node.type) && window && !facts(node.args[1]).moves()) {
      f.under.push_back(node.args[1]);
      stack.push_back(node.args[0]);
    } else {
      f.moving.push_back(at);
    }
  }
  return f;
}

void TermReader::multiply(Addend& by, const Factors& f) {
  by.negative = by.negative != f.negative;
  const auto append = [](std::vector<ExprId>& to, const std::vector<ExprId>& from) {
    to.insert(to.end(), from.begin(), from.end());
  };
  append(by.weights, f.weights);
  append(by.over, f.over);
  append(by.still, f.still);
  append(by.under, f.under);
}

// The function moved to the point, where all that it reads is read at one distance.
std::optional<PointTerm> TermReader::term_of(ExprId written) {
  PointTerm term;
  term.written = written;
  const std::vector<ExprId> reads = ir::accesses(graph_, written);
  for (const ExprId e : reads)
    if (const std::vector<ir::Index>& index = graph_.node(e).index; index.size() > term.at.size()) term.at = index;
  if (term.at.empty()) return {};
  for (const ExprId e : reads) {
    const std::vector<ir::Index>& index = graph_.node(e).index;
    const std::size_t lead = term.at.size() - index.size();
    for (std::size_t d = 0; d < index.size(); ++d) {
      const ir::Index& place = term.at[d + lead];
      if (index[d].scale < 1 || index[d].scale != place.scale || index[d].vars != place.vars) return {};
      if (index[d].shift != ir::SizeId{}) return {};
    }
  }
  const ExprNode& top = graph_.node(written);
  term.sample = top.op == Op::access || (top.op == Op::convert && graph_.node(top.args[0]).op == Op::access);
  term.point = ir::rewrite(graph_, written, [&](ExprId, const ExprNode& node) {
    if (node.op != Op::access) return ExprId{};
    ExprNode moved = node;
    const std::size_t lead = term.at.size() - node.index.size();
    for (std::size_t d = 0; d < node.index.size(); ++d) {
      moved.index[d] = {};
      moved.index[d].offset = node.index[d].offset - term.at[d + lead].offset;
    }
    return graph_.expr(std::move(moved));
  });
  return term;
}

std::optional<PointTerm> TermReader::term_of(const Factors& f) {
  std::int32_t size = 0;
  for (const ExprId e : f.moving) {
    if (!facts(e).movable) return {};
    size += facts(e).size;
    if (size > most_nodes) return {};
  }
  ExprId product;
  for (const ExprId e : f.moving) product = product.valid() ? ir::binary(graph_, Op::mul, product, e) : e;
  return product.valid() ? term_of(product) : std::nullopt;
}

// The terms of a sum. False: one of them cannot be told.
bool TermReader::read(Part root, bool window, std::vector<Addend>& addends) {
  std::vector<Part> stack{std::move(root)};
  while (!stack.empty()) {
    Part part = std::move(stack.back());
    stack.pop_back();
    if (addends.size() + stack.size() > most_addends) return false;
    const ExprNode& node = graph_.node(part.e);
    if (node.op == Op::add || node.op == Op::sub) {
      Part second = part;
      second.e = node.args[1];
      second.by.negative = second.by.negative != (node.op == Op::sub);
      part.e = node.args[0];
      stack.push_back(std::move(second));
      stack.push_back(std::move(part));
      continue;
    }
    const Factors f = factors(part.e, window);
    const bool link = f.moving.size() == 1 && f.moving[0] != part.e && is_link(f.moving[0]);
    auto term = link && (!window || is_weighted_image(f.moving[0])) ? std::nullopt : term_of(f);
    if (link && !term) {
      multiply(part.by, f);
      part.e = f.moving[0];
      stack.push_back(std::move(part));
      continue;
    }
    if (window && !term) return false;
    Addend addend = std::move(part.by);
    if (term) {
      multiply(addend, f);
      addend.term = std::move(*term);
    } else {  // stays as it is, behind its weights
      addend.term.written = part.e;
    }
    addends.push_back(std::move(addend));
  }
  return true;
}

std::optional<WindowSum> TermReader::window(ExprId root) {
  const ExprNode node = graph_.node(root);
  if (ir::runs_over_extents(node)) return {};
  WindowSum sum;
  sum.root = root;
  sum.op = node.op;
  sum.vars = node.vars;
  ExprId body = node.args[0];
  Addend by;
  const bool takes_apart = node.op == Op::reduce_sum && may_reorder(node.type);
  // A sum of sums is a sum.
  while (takes_apart) {
    const Factors f = factors(body, true);
    if (f.moving.size() != 1 || graph_.node(f.moving[0]).op != Op::reduce_sum) break;
    const ExprNode& inner = graph_.node(f.moving[0]);
    if (ir::runs_over_extents(inner)) break;
    multiply(by, f);
    sum.vars.insert(sum.vars.end(), inner.vars.begin(), inner.vars.end());
    body = inner.args[0];
  }
  ExprNode all = node;
  all.vars = sum.vars;
  if (analyze::term_count(all) > ir::max_window) return {};
  if (!facts(body).moves()) return {};
  // As a whole, where nothing but its place moves with the window; an image at the point itself does not.
  const bool linear = takes_apart && is_weighted_image(body);
  if (linear && by.still.empty() && by.under.empty()) return {};
  if (!linear && facts(body).movable && facts(body).size <= most_nodes)
    if (auto term = term_of(body)) {
      by.term = std::move(*term);
      if (by.term.sample) return {};
      sum.addends.push_back(std::move(by));
      return sum;
    }
  if (!takes_apart || !read({body, by}, true, sum.addends)) return {};
  const bool something = std::any_of(sum.addends.begin(), sum.addends.end(), [](const Addend& a) {
    return !a.term.sample || !a.still.empty() || !a.under.empty();
  });
  return something ? std::optional(std::move(sum)) : std::nullopt;
}

std::optional<WindowSum> TermReader::written_out(ExprId root) {
  WindowSum sum;
  sum.root = root;
  if (!read({root, {}}, false, sum.addends)) return {};
  // A function that is read at one place alone is a term as others.
  std::unordered_map<std::uint32_t, std::size_t> places;
  for (const Addend& a : sum.addends)
    if (a.term.point.valid() && !a.term.sample) ++places[a.term.point.id];
  const bool many = std::any_of(places.begin(), places.end(), [](const auto& p) { return p.second > 2; });
  return many ? std::optional(std::move(sum)) : std::nullopt;
}

std::vector<WindowSum> TermReader::sums() {
  // Of links, those that are not below another one; of windows all.
  std::unordered_set<std::uint32_t> below;
  for (const ExprId e : order_) {
    const ExprNode& node = graph_.node(e);
    if (is_link(e) || (node.op == Op::reduce_sum && may_reorder(node.type)))
      for (const ExprId a : node.args) below.insert(a.id);
  }
  std::vector<WindowSum> found;
  for (const ExprId e : order_) {
    std::optional<WindowSum> sum;
    if (is_reduction(graph_.node(e).op))
      sum = window(e);
    else if (is_link(e) && !below.contains(e.id) && facts(e).reads)
      sum = written_out(e);
    if (sum) found.push_back(std::move(*sum));
  }
  return found;
}

}  // namespace tessera::rewrite
