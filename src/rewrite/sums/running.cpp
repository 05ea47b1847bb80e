// A sum of 63 equal neighbours is one of nine sums of seven: 16 additions in place of 63, if the sums of seven are kept
// in a row of their own. Nothing is ever subtracted, as running sums do, so that floats do not drift, a NaN reaches no
// farther than the window, and the order of additions depends on no tile. Sums of sums of sums serve the longest;
// pieces of equal weights within others are taken by the same blocks. The least or greatest of 63 is that of eight
// overlapping blocks of eight.
//
// A block belongs to the place of its first sample, before the border is applied: near the end of a row it is no sample
// of a row of blocks that is continued. So blocks are a stage that is longer than the image, by as many places as the
// window reaches, which reads the image through the border.
#include "rewrite/sums/running.hpp"

#include <algorithm>
#include <cmath>

#include "ir/build.hpp"

namespace tessera::rewrite {

using ir::ExprId;
using ir::ExprNode;
using ir::Op;

namespace {

constexpr double kept = 4;      // terms: what a row of blocks costs
constexpr double stored = 24;   // terms: what it costs to store the image and to read it again
constexpr i64 most_block = 64;  // of the longest blocks

struct Choice {
  double terms = 0;
  i64 block = 1;  // 1: samples alone
};

i64 pieces(i64 length, i64 block, bool overlapping) {
  return overlapping ? (length + block - 1) / block : length / block + length % block;
}

Choice choice(i64 length, bool overlapping);

Choice found(const std::vector<i64>& runs, i64 longest, double samples, bool overlapping) {
  Choice best{samples, 1};
  for (i64 m = 2; m <= std::min(longest / 2, most_block); ++m) {
    double terms = choice(m, overlapping).terms + kept;
    for (const i64 run : runs) terms += static_cast<double>(run < m ? run : pieces(run, m, overlapping));
    if (terms < best.terms) best = {terms, m};
  }
  return best;
}

Choice choice(i64 length, bool overlapping) {
  static thread_local std::map<std::pair<i64, bool>, Choice> known;
  const auto at = known.find({length, overlapping});
  if (at != known.end()) return at->second;
  return known[{length, overlapping}] = found({length}, length, static_cast<double>(length), overlapping);
}

// Neighbours of equal weight that is not zero: where they begin, and how many.
std::vector<std::pair<i64, i64>> runs_of(const std::vector<double>& weights) {
  std::vector<std::pair<i64, i64>> runs;
  for (std::size_t k = 0, end = 0; k < weights.size(); k = end) {
    for (end = k; end < weights.size() && weights[end] == weights[k];) ++end;
    if (weights[k] != 0) runs.emplace_back(static_cast<i64>(k), static_cast<i64>(end - k));
  }
  return runs;
}

Choice choice_of(const std::vector<std::pair<i64, i64>>& runs) {
  std::vector<i64> lengths;
  i64 longest = 0;
  double samples = 0;
  for (const auto& [at, length] : runs) {
    lengths.push_back(length);
    longest = std::max(longest, length);
    samples += static_cast<double>(length);
  }
  return found(lengths, longest, samples, false);
}

}  // namespace

double running_terms(const std::vector<double>& weights) {
  return choice_of(runs_of(weights)).terms;
}

bool worth_running(const std::vector<double>& weights, bool computed) {
  const auto terms = std::count_if(weights.begin(), weights.end(), [](double x) { return x != 0; });
  return running_terms(weights) + (computed ? stored : 0) < static_cast<double>(terms);
}

bool worth_running(i64 length, bool overlapping, bool computed) {
  return choice(length, overlapping).terms + (computed ? stored : 0) < static_cast<double>(length);
}

RunningWindow::RunningWindow(ir::Graph& graph, Op op, ExprId first, std::size_t dim, i64 length,
                             std::vector<ir::SizeId> domain, const ir::Stage& like)
    : graph_(graph), op_(op), first_(first), dim_(dim), length_(length), domain_(std::move(domain)), like_(like) {}

ExprId RunningWindow::sample(i64 at) const {
  return ir::rewrite(graph_, first_, [&](ExprId, const ExprNode& node) {
    if (node.op != Op::access) return ExprId{};
    ExprNode moved = node;
    moved.index[dim_].offset += at;
    return graph_.expr(std::move(moved));
  });
}

ExprId RunningWindow::combined(const std::vector<ExprId>& all) {
  ExprNode node;
  node.op = op_;
  node.type = graph_.node(first_).type;
  ExprId value = all[0];
  for (std::size_t k = 1; k < all.size(); ++k) {
    node.args = {value, all[k]};
    value = graph_.expr(node);
  }
  return value;
}

// The block of samples from `at` on.
ExprId RunningWindow::block(i64 length, i64 at) {
  if (length == 1) return sample(at);
  auto known = blocks_.find(length);
  if (known == blocks_.end()) {
    ir::Stage s;
    // Without a border nobody reads what is beyond the image.
    const ExprId body = ir::rewrite(graph_, combined(parts(length, 0)), [&](ExprId, const ExprNode& node) {
      if (node.op != Op::access || node.border[dim_].mode != BorderMode::none) return ExprId{};
      ExprNode clamped = node;
      clamped.border[dim_] = {BorderMode::clamp, 0};
      return graph_.expr(std::move(clamped));
    });
    s.name = like_.name + ".of" + std::to_string(length);
    s.type = graph_.node(first_).type;
    s.span = like_.span;
    s.domain = domain_;
    s.domain[dim_] = graph_.size_binary(ir::SizeOp::add, domain_[dim_], graph_.size(length_ - length));
    s.margin_lo.assign(s.domain.size(), 0);
    s.margin_hi.assign(s.domain.size(), 0);
    s.body = body;
    known = blocks_.emplace(length, graph_.add(std::move(s))).first;
  }
  std::vector<ir::Index> index(domain_.size());
  index[dim_].offset = at;
  return ir::access(graph_, known->second, std::move(index),
                    std::vector<Border>(domain_.size(), {BorderMode::clamp, 0}));
}

std::vector<ExprId> RunningWindow::parts(i64 length, i64 at) {
  const bool overlapping = op_ != Op::add;
  const i64 m = choice(length, overlapping).block;
  std::vector<ExprId> all;
  i64 k = 0;
  for (; k + m <= length; k += m) all.push_back(block(m, at + k));
  if (k < length && overlapping) all.push_back(block(m, at + length - m));
  for (; k < length && !overlapping; ++k) all.push_back(sample(at + k));
  return all;
}

ExprId RunningWindow::value() {
  return combined(parts(length_, 0));
}

std::vector<std::pair<ExprId, double>> RunningWindow::weighed(const std::vector<double>& weights) {
  const auto runs = runs_of(weights);
  const i64 m = choice_of(runs).block;
  std::vector<std::pair<ExprId, double>> terms;
  for (const auto& [begin, length] : runs) {
    const double weight = weights[static_cast<std::size_t>(begin)];
    i64 k = 0;
    for (; m > 1 && k + m <= length; k += m) terms.emplace_back(block(m, begin + k), weight);
    for (; k < length; ++k) terms.emplace_back(sample(begin + k), weight);
  }
  return terms;
}

}  // namespace tessera::rewrite
