// From what an image is passed to its gradient: reads at an offset become reads at the opposite one.
//
// A stage reads the image at u = s p + o + f(v), where p is its point, v are variables of windows. So the image is
// passed at u what the stage has at p = u - o - f(v), where s is 1; for other strides the stage is laid out with its
// stride first, zeros between. Where p is no point of the stage there is nothing. Reads beyond a border are gathered in
// an image that is larger by their reach, and folded back after that.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "adjoint/reverse.hpp"
#include "data/border.hpp"
#include "ir/build.hpp"
#include "ir/gather.hpp"
#include "ir/reductions.hpp"

namespace tessera::adjoint {

using ir::ExprId;
using ir::ExprNode;
using ir::Graph;
using ir::Index;
using ir::Op;
using ir::SizeId;
using ir::SizeOp;
using ir::StageId;

namespace {

// By how much the point moves along a dimension: - before - offset - shift - f(v).
struct Move {
  i64 offset = 0;
  SizeId shift;
  std::vector<std::pair<std::uint32_t, i64>> vars;
};

void add_vars(std::vector<std::pair<std::uint32_t, i64>>& to, const std::vector<std::pair<std::uint32_t, i64>>& from,
              i64 factor) {
  for (const auto& [v, c] : from) {
    const auto at = std::find_if(to.begin(), to.end(), [&, id = v](const auto& t) { return t.first == id; });
    if (at != to.end())
      at->second += factor * c;
    else
      to.emplace_back(v, factor * c);
  }
  std::erase_if(to, [](const auto& t) { return t.second == 0; });
  std::sort(to.begin(), to.end());
}

SizeId scaled(Graph& g, SizeId s, i64 factor) {
  return g.size_binary(SizeOp::mul, g.size(factor), s);
}

Index moved(Graph& g, Index i, const Move& m) {
  i.offset += i.scale * m.offset;
  add_vars(i.vars, m.vars, i.scale);
  if (i.scale != 0) i.shift = g.size_binary(SizeOp::add, i.shift, scaled(g, m.shift, i.scale));
  return i;
}

ExprId moved_coord(Graph& g, std::size_t d, const Move& m) {
  ExprId at = ir::coord(g, d);
  const auto add = [&](ExprId what) { at = ir::binary(g, Op::add, at, what); };
  if (m.offset != 0) add(ir::constant(g, ElementType::i32, static_cast<double>(m.offset)));
  if (g.constant(m.shift) != i64{0}) add(ir::extent_value(g, m.shift));
  for (const auto& [v, c] : m.vars)
    add(ir::binary(g, Op::mul, ir::constant(g, ElementType::i32, static_cast<double>(c)), ir::var(g, v)));
  return at;
}

bool folds(BorderMode mode) {
  return mode != BorderMode::none && mode != BorderMode::constant;
}

}  // namespace

// The least and the largest place that is read, beyond the image.
std::vector<Reverse::Reach> Reverse::reach_of(StageId image, const Contribution& c) {
  const ir::Stage &from = graph_.stage(c.from), &to = graph_.stage(image);
  std::vector<Reach> all(c.index.size());
  for (std::size_t d = 0; d < all.size(); ++d) {
    if (!folds(c.border[d].mode)) continue;
    const Index& i = c.index[d];
    if (graph_.constant(i.shift) != i64{0}) refuse(from, "it reads at a distance that depends on extents");
    i64 lo = i.offset, hi = i.offset;
    for (const auto& [v, factor] : i.vars)
      for (const ir::Var& var : c.vars)
        if (var.id == v) {
          lo += std::min(factor * var.lo, factor * var.hi);
          hi += std::max(factor * var.lo, factor * var.hi);
        }
    // The last point reads s (n - 1) + hi.
    if (!ir::at_most(graph_, scaled(graph_, from.domain[d], i.scale), to.domain[d]))
      refuse(from, fmt::format("it continues '{}', which may be smaller", to.name));
    all[d] = {std::max<i64>(0, -lo), std::max<i64>(0, hi - (i.scale - 1))};
  }
  return all;
}

// What the image is passed at a point of it, `before` points further on in each dimension.
ExprId Reverse::scattered(StageId image, const Contribution& c, const std::vector<i64>& before) {
  const ir::Stage from = graph_.stage(c.from), to = graph_.stage(image);
  const std::size_t rank = to.domain.size();
  if (from.domain.size() != rank) refuse(from, fmt::format("it reads '{}', which has fewer dimensions", to.name));
  std::vector<Move> moves(rank);
  std::vector<i64> strides(rank);
  for (std::size_t d = 0; d < rank; ++d) {
    const Index& i = c.index[d];
    if (i.scale < 1) refuse(from, fmt::format("it reads '{}' at one place for all points", to.name));
    moves[d] = {-before[d] - i.offset, scaled(graph_, i.shift, -1), {}};
    add_vars(moves[d].vars, i.vars, -1);
    strides[d] = i.scale;
  }
  // Gradients times numbers are 0 wherever gradients are.
  bool plain = true;
  for (const ExprId e : ir::postorder(graph_, {c.amount})) {
    const ExprNode& n = graph_.node(e);
    plain = plain && n.op != Op::coord && n.op != Op::gather && (n.op != Op::access || n.stage >= count_);
  }
  ExprId amount = c.amount;
  if (!plain && c.vars.empty()) {
    amount = own(
        point("passed_by_" + from.name, graph_.node(amount).type, from.domain, amount, from.margin_lo, from.margin_hi));
    plain = true;
  }
  const bool strided = std::any_of(strides.begin(), strides.end(), [](i64 s) { return s != 1; });
  if (!plain && strided) refuse(from, "it has a stride in a window whose weights vary from point to point");
  const auto laid_out = [&](StageId s) {
    ir::Stage wide;
    wide.kind = ir::StageKind::compose;
    wide.name = graph_.stage(s).name + "_apart";
    wide.type = graph_.stage(s).type;
    ir::Piece piece;
    piece.stage = s;
    for (std::size_t d = 0; d < rank; ++d) {
      wide.domain.push_back(scaled(graph_, from.domain[d], strides[d]));
      piece.start.push_back(graph_.size(0));
      piece.stride.push_back(strides[d]);
      piece.count.push_back(from.domain[d]);
    }
    wide.pieces.push_back(std::move(piece));
    return graph_.add(std::move(wide));
  };
  std::map<StageId, StageId> apart;
  const Border nothing{BorderMode::constant, 0};
  ExprId out = ir::rewrite(graph_, amount, [&](ExprId, const ExprNode& node) {
    if (node.op == Op::extent) return ir::extent_value(graph_, from.domain[static_cast<std::size_t>(node.ivalue)]);
    if (node.op == Op::coord) {
      const auto d = static_cast<std::size_t>(node.ivalue);
      return moved_coord(graph_, d, moves[d]);
    }
    if (node.op != Op::access) return ExprId{};
    ExprNode read = node;
    const bool gradient = read.stage >= count_;
    if (gradient && strided) {
      auto [at, fresh] = apart.try_emplace(read.stage, 0);
      if (fresh) at->second = laid_out(read.stage);
      read.stage = at->second;
    }
    const std::size_t lead = rank - read.index.size();
    for (std::size_t d = 0; d < read.index.size(); ++d) {
      read.index[d] = moved(graph_, read.index[d], moves[d + lead]);
      if (gradient)
        read.border[d] = nothing;
      else if (read.border[d].mode == BorderMode::none)
        read.border[d] = {BorderMode::clamp, 0};
    }
    return graph_.expr(std::move(read));
  });
  if (!plain) {  // where the stage has no point, what was read is no number of it
    ExprId inside = ir::constant(graph_, ElementType::boolean, 1);
    for (std::size_t d = 0; d < rank; ++d) {
      const ExprId at = moved_coord(graph_, d, moves[d]);
      const auto both = [&](ExprId e) { inside = ir::binary(graph_, Op::bit_and, inside, e); };
      both(ir::binary(graph_, Op::le, ir::constant(graph_, ElementType::i32, static_cast<double>(from.margin_lo[d])),
                      at));
      const ExprId end = ir::binary(graph_, Op::sub, ir::extent_value(graph_, from.domain[d]),
                                    ir::constant(graph_, ElementType::i32, static_cast<double>(from.margin_hi[d])));
      both(ir::binary(graph_, Op::lt, at, end));
    }
    out = ir::select(graph_, inside, out, ir::constant(graph_, graph_.node(out).type, 0));
  }
  return c.vars.empty() ? out : ir::reduce(graph_, Op::reduce_sum, c.vars, out);
}

// All that is passed to an image by reads with the same borders.
StageId Reverse::spread(StageId image, const std::vector<Contribution>& all) {
  const ir::Stage to = graph_.stage(image);
  const std::size_t rank = to.domain.size();
  std::vector<Reach> reach(rank);
  for (const Contribution& c : all) {
    const std::vector<Reach> own_reach = reach_of(image, c);
    for (std::size_t d = 0; d < rank; ++d)
      reach[d] = {std::max(reach[d].before, own_reach[d].before), std::max(reach[d].after, own_reach[d].after)};
  }
  std::vector<i64> before;
  std::vector<SizeId> domain = to.domain;
  for (std::size_t d = 0; d < rank; ++d) {
    before.push_back(reach[d].before);
    domain[d] = graph_.size_binary(SizeOp::add, domain[d], graph_.size(reach[d].before + reach[d].after));
  }
  ExprId sum;
  for (const Contribution& c : all) {
    const ExprId one = ir::convert(graph_, to.type, scattered(image, c, before));
    sum = sum.valid() ? ir::binary(graph_, Op::add, sum, one) : one;
  }
  StageId result = point("passed_to_" + to.name, to.type, domain, sum);
  for (std::size_t d = 0; d < rank; ++d)
    if (reach[d].before + reach[d].after > 0) result = folded(result, to, d, all[0].border[d].mode, reach[d]);
  return result;
}

StageId Reverse::gradient_of(StageId image) {
  std::map<std::vector<int>, std::vector<Contribution>> by_border;
  const std::vector<Contribution> reads = reads_[image];
  for (const Contribution& c : reads) {
    const std::vector<Reach> reach = reach_of(image, c);
    std::vector<int> modes;  // of dimensions in which it reads beyond the image
    for (std::size_t d = 0; d < reach.size(); ++d)
      modes.push_back(reach[d].before + reach[d].after > 0 ? static_cast<int>(c.border[d].mode) : 0);
    by_border[modes].push_back(c);
  }
  std::vector<ExprId> terms = terms_[image];
  std::vector<StageId> spreads;
  for (const auto& [modes, contributions] : by_border) spreads.push_back(spread(image, contributions));
  if (spreads.size() == 1 && terms.empty()) return spreads[0];
  const ir::Stage to = graph_.stage(image);
  ExprId sum;
  for (const StageId s : spreads) terms.push_back(own(s));
  for (ExprId t : terms) {
    t = ir::convert(graph_, to.type, t);
    sum = sum.valid() ? ir::binary(graph_, Op::add, sum, t) : t;
  }
  return point("passed_to_all_of_" + to.name, to.type, to.domain, sum);
}

}  // namespace tessera::adjoint
