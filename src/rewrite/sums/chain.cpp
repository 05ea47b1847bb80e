// See chain.hpp.
#include "rewrite/sums/chain.hpp"

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "ir/build.hpp"
#include "rewrite/sums/weights.hpp"

namespace tessera::rewrite {

using ir::ExprId;
using ir::ExprNode;
using ir::Graph;
using ir::Op;
using ir::Stage;
using ir::StageId;

namespace {

constexpr i64 most_taps = 512;
// Of a thread with four columns: rows of an image, planes of a volume that wait, and taps along the other dimensions.
constexpr i64 most_rows = 40, most_planes = 31, most_taps_of_image = 64, most_taps_of_volume = 31;

// May a value be computed of the sum at the thread's own point alone, without its index?
bool computes_only(const ExprNode& node) {
  return node.op == Op::constant || node.op == Op::parameter || node.op == Op::scalar ||
         (!node.args.empty() && !is_reduction(node.op) && !is_lanes(node.op) && node.op != Op::gather &&
          node.op != Op::lookup);
}

// The one sum that everything else in the body is computed from; nothing where there is none.
ExprId only_sum(const Graph& graph, const LinearForms& forms, ExprId body) {
  ExprId sum;
  std::vector<ExprId> stack{body};
  std::unordered_set<std::uint32_t> seen;
  while (!stack.empty()) {
    const ExprId e = stack.back();
    stack.pop_back();
    if (!seen.insert(e.id).second) continue;
    if (forms.linear(e)) {
      if (sum.valid()) return {};
      sum = e;
      continue;
    }
    const ExprNode& node = graph.node(e);
    if (!computes_only(node)) return {};
    for (const ExprId a : node.args) stack.push_back(a);
  }
  return sum;
}

class ChainReader {
 public:
  ChainReader(const Graph& graph, Numbers numbers, const std::vector<StageId>& stages)
      : graph_(graph), numbers_(numbers), stages_(stages) {}

  std::optional<SumChain> read() {
    if (stages_.size() < 2) return {};
    chain_.last = stages_.back();
    const std::size_t rank = graph_.stage(chain_.last).domain.size();
    if (rank < 2 || rank > 3) return {};
    chain_.along.resize(rank);
    step_.assign(rank, stages_.size());
    for (std::size_t k = 0; k < stages_.size(); ++k)
      if (!add(k)) return {};
    if (!margins_fit()) return {};
    if (is_float(graph_.node(chain_.sum).type)) chain_.most = 0;
    return chain_;
  }

 private:
  bool add(std::size_t k) {
    const Stage& stage = graph_.stage(stages_[k]);
    const bool first = k == 0, last = k + 1 == stages_.size();
    if (stage.kind != ir::StageKind::point || stage.note > 0) return false;
    i64 steps = i64{1} << 16;
    LinearForms forms(graph_, numbers_, stage.body, steps);
    const ExprId sum = last ? only_sum(graph_, forms, stage.body) : stage.body;
    if (!sum.valid() || !forms.linear(sum) || graph_.node(sum).args.empty()) return false;
    const auto form = forms.expand(sum);
    if (!form || form->weights.empty()) return false;
    const ExprNode& top = graph_.node(form->leaf);
    const bool converted = top.op == Op::convert;
    const ExprNode& access = converted ? graph_.node(top.args[0]) : top;
    const ElementType type = graph_.node(sum).type;
    if (first) {
      chain_.source = access.stage;
      type_ = type;
    } else if (converted || access.stage != stages_[k - 1]) {
      return false;
    }
    if (type != type_ || (!last && stage.type != type_)) return false;
    if (stage.domain != graph_.stage(access.stage).domain) return false;
    for (const ir::Index& index : access.index)
      if (index.scale != 1 || graph_.constant(index.shift) != 0) return false;
    if (last) chain_.sum = sum;
    return moves(k, form->weights, access);
  }

  // Along one dimension, which none before it has moved along.
  bool moves(std::size_t k, const Weights& weights, const ExprNode& access) {
    const std::size_t rank = chain_.along.size();
    std::optional<std::size_t> moving;
    for (std::size_t d = 0; d < rank; ++d)
      for (const auto& [offset, weight] : weights)
        if (offset[d] != 0) {
          if (moving && *moving != d) return false;
          moving = d;
        }
    if (!moving || step_[*moving] < stages_.size()) return false;
    const i64 lo = weights.begin()->first[*moving], hi = weights.rbegin()->first[*moving];
    if (hi - lo >= most_taps) return false;
    SumChain::Along& along = chain_.along[*moving];
    along.lo = lo;
    along.weights.assign(static_cast<std::size_t>(hi - lo + 1), 0);
    double sum = 0, magnitudes = 0;
    for (const auto& [offset, weight] : weights) {
      if (!is_float(type_) && weight != std::trunc(weight)) return false;
      along.weights[static_cast<std::size_t>(offset[*moving] - lo)] = weight;
      sum += weight, magnitudes += std::abs(weight);
    }
    step_[*moving] = k;
    const Border& border = access.border[*moving];
    along.border = border.mode == BorderMode::none ? BorderMode::clamp : border.mode;
    if (border.mode == BorderMode::constant && !continues(border.value, k == 0)) return false;
    if (k == 0) chain_.most = largest(access.stage);
    chain_.most *= magnitudes;
    total_ *= sum;
    return true;
  }

  double largest(StageId s) const {
    const ElementType type = graph_.stage(s).type;
    if (is_float(type)) return HUGE_VAL;
    if (type == ElementType::boolean) return 1;
    const auto [lo, hi] = ir::integer_limits(type);
    return std::max(std::abs(static_cast<double>(lo)), std::abs(static_cast<double>(hi)));
  }

  // A constant beside an intermediate stage is what the sums so far make of one beside the source, which has to be one.
  bool continues(double value, bool first) {
    const ElementType from = graph_.stage(chain_.source).type;
    if (first) {
      chain_.before = ir::evaluate(Op::convert, from, ElementType::f64, &value);
      return std::isfinite(*chain_.before);
    }
    if (!chain_.before) chain_.before = total_ == 0 ? 0 : value / total_;
    const double expected = *chain_.before * total_;
    const double allowed = is_float(type_) ? 1e-6 * std::abs(value) : 0;
    const bool whole =
        is_float(from) || *chain_.before == ir::evaluate(Op::convert, from, ElementType::f64, &*chain_.before);
    return std::isfinite(expected) && whole && std::abs(expected - value) <= allowed;
  }

  // Results in the margins are 0. An intermediate one must be so there alone where the result is as well, and may not
  // be read from beside its own row.
  bool margins_fit() const {
    const Stage& last = graph_.stage(chain_.last);
    for (std::size_t k = 0; k + 1 < stages_.size(); ++k) {
      const Stage& stage = graph_.stage(stages_[k]);
      for (std::size_t d = 0; d < chain_.along.size(); ++d) {
        if (stage.margin_lo[d] == 0 && stage.margin_hi[d] == 0) continue;
        if (stage.margin_lo[d] > last.margin_lo[d] || stage.margin_hi[d] > last.margin_hi[d]) return false;
        if (step_[d] > k && step_[d] < stages_.size()) return false;
      }
    }
    return true;
  }

  const Graph& graph_;
  Numbers numbers_;
  const std::vector<StageId>& stages_;
  SumChain chain_;
  std::vector<std::size_t> step_;  // per dimension: the stage that moves along it; as many as there are: none
  ElementType type_ = ElementType::f32;
  double total_ = 1;  // of the weights so far
};

}  // namespace

bool fits_device(const SumChain& chain) {
  const bool image = chain.along.size() == 2;
  for (std::size_t d = 0; d < chain.along.size(); ++d) {
    const SumChain::Along& along = chain.along[d];
    const i64 most = d == 0 ? (image ? most_rows : most_planes) : image ? most_taps_of_image : most_taps_of_volume;
    if (static_cast<i64>(along.weights.size()) > most || std::max(-along.lo, along.hi()) > most) return false;
  }
  return true;
}

std::optional<SumChain> sum_chain(const Graph& graph, Numbers numbers, const std::vector<StageId>& stages) {
  return ChainReader(graph, numbers, stages).read();
}

}  // namespace tessera::rewrite
