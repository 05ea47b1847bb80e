// A point of a stage is evaluated once with the bounds of what it reads: products multiply them, sums and differences
// add them. What depends on no image and no coordinate (weights, their sums, indices of tables) is known exactly.
#include "ref/magnitude.hpp"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "ir/build.hpp"
#include "ref/program.hpp"

namespace tessera::ref {
namespace {

using ir::ExprNode;
using ir::Op;

struct Bound {
  double most = 0;
  std::optional<double> known;
};
using Found = std::optional<Bound>;  // nothing: no bound

Bound exactly(double v) {
  return {std::abs(v), v};
}

class Point {
 public:
  Point(const ir::Graph& g, const std::vector<i64>& parameters, const std::vector<double>& most,
        const std::vector<std::optional<double>>& stages, const ir::Stage& stage)
      : g_(g),
        parameters_(parameters),
        most_(most),
        stages_(stages),
        stage_(stage),
        code_(compile(g, stage.body)),
        slots_(code_.slot_count) {}

  std::optional<double> bound() {
    run(0);
    const Found& result = slots_[code_.blocks[0].back().result];
    return result && std::isfinite(result->most) ? std::optional(result->most) : std::nullopt;
  }

 private:
  void run(std::uint32_t block) {
    for (const Instruction& in : code_.blocks[block]) slots_[in.result] = value(in);
  }

  i64 extent(std::size_t d) const { return g_.evaluate(stage_.domain[d], parameters_); }

  Found value(const Instruction& in) {
    const ExprNode& n = g_.node(in.expr);
    const auto at = static_cast<std::size_t>(n.ivalue);
    switch (n.op) {
      case Op::constant:
        return exactly(is_float(n.type) ? n.fvalue : static_cast<double>(n.ivalue));
      case Op::extent:
        return exactly(static_cast<double>(extent(at)));
      case Op::parameter:
        return exactly(static_cast<double>(parameters_[at]));
      case Op::size:
        return exactly(static_cast<double>(g_.evaluate(ir::SizeId{static_cast<std::uint32_t>(n.ivalue)}, parameters_)));
      case Op::var:
        return exactly(static_cast<double>(vars_.at(static_cast<std::uint32_t>(n.ivalue))));
      case Op::coord:
        return Bound{static_cast<double>(extent(at)), {}};
      case Op::scalar:
        return Bound{most_[at], {}};
      case Op::access:
        return read(n);
      case Op::lookup:
        return entry(n, in);
      default:
        return ir::is_reduction(n.op) ? reduced(n, in) : computed(n, in);
    }
  }

  Found read(const ExprNode& n) const {
    if (!stages_[n.stage]) return {};
    double most = *stages_[n.stage];
    for (const Border& b : n.border)
      if (b.mode == BorderMode::constant) most = std::max(most, std::abs(b.value));
    return Bound{most, {}};
  }

  Found entry(const ExprNode& n, const Instruction& in) const {
    const ir::Table& table = g_.tables[static_cast<std::size_t>(n.ivalue)];
    i64 at = 0;
    for (std::size_t d = 0; d < table.extents.size(); ++d) {
      const Found& index = slots_[in.operands[d]];
      if (!index || !index->known) return {};
      at = at * table.extents[d] + std::clamp<i64>(static_cast<i64>(*index->known), 0, table.extents[d] - 1);
    }
    return exactly(table.values[static_cast<std::size_t>(at)]);
  }

  Found reduced(const ExprNode& n, const Instruction& in) {
    const bool sum = n.op == Op::reduce_sum;
    if (!sum && n.op != Op::reduce_min && n.op != Op::reduce_max && n.op != Op::reduce_median) return {};
    std::vector<i64> k;
    for (const ir::Var& v : n.vars) k.push_back(v.lo);
    Bound all = sum ? exactly(0) : Bound{};
    for (;;) {
      for (std::size_t d = 0; d < k.size(); ++d) vars_[n.vars[d].id] = k[d];
      run(in.block);
      const Found& term = slots_[in.operands[0]];
      if (!term) return {};
      all.most = sum ? all.most + term->most : std::max(all.most, term->most);
      all.known = all.known && term->known ? std::optional(*all.known + *term->known) : std::nullopt;
      std::size_t d = k.size();
      while (d > 0 && k[d - 1] == n.vars[d - 1].hi) --d, k[d] = n.vars[d].lo;
      if (d == 0) return all;
      ++k[d - 1];
    }
  }

  Found computed(const ExprNode& n, const Instruction& in) const {
    Bound of[3];
    bool known = !in.operands.empty() && in.operands.size() <= 3 && !ir::reads_stage(n.op);
    if (!known) return {};
    for (std::size_t k = 0; k < in.operands.size(); ++k) {
      if (!slots_[in.operands[k]]) return {};
      of[k] = *slots_[in.operands[k]];
      known = known && of[k].known;
    }
    if (known) {
      double operands[3] = {};
      for (std::size_t k = 0; k < in.operands.size(); ++k) operands[k] = *of[k].known;
      return exactly(ir::evaluate(n.op, n.type, g_.node(n.args.back()).type, operands));
    }
    switch (n.op) {
      case Op::convert:  // to an integer rounds by more than sums do
        if (!is_float(n.type) && is_float(g_.node(n.args[0]).type)) return {};
        return Bound{of[0].most, {}};
      case Op::neg:
      case Op::abs:
        return Bound{of[0].most, {}};
      case Op::add:
      case Op::sub:
        return Bound{of[0].most + of[1].most, {}};
      case Op::mul:
        return Bound{of[0].most * of[1].most, {}};
      case Op::div:
        if (!is_float(n.type) || !of[1].known) return {};
        return Bound{of[0].most / of[1].most, {}};
      case Op::min:
      case Op::max:
        return Bound{std::max(of[0].most, of[1].most), {}};
      default:
        return {};
    }
  }

  const ir::Graph& g_;
  const std::vector<i64>& parameters_;
  const std::vector<double>& most_;
  const std::vector<std::optional<double>>& stages_;
  const ir::Stage& stage_;
  Code code_;
  std::vector<Found> slots_;
  std::unordered_map<std::uint32_t, i64> vars_;
};

std::optional<double> composed(const ir::Stage& stage, const std::vector<std::optional<double>>& stages) {
  double most = 0;
  for (const ir::Piece& piece : stage.pieces) {
    if (piece.stage && !stages[*piece.stage]) return {};
    most = std::max(most, piece.stage ? *stages[*piece.stage] : std::abs(piece.value));
  }
  return most;
}

}  // namespace

std::vector<std::optional<double>> magnitudes(const ir::Graph& g, const std::vector<i64>& parameters,
                                              const std::vector<double>& most) {
  std::vector<std::optional<double>> stages(g.stage_count());
  for (ir::StageId s = 0; s < g.stage_count(); ++s) {
    const ir::Stage& stage = g.stage(s);
    if (stage.kind == ir::StageKind::input)
      stages[s] = most[stage.argument];
    else if (stage.kind == ir::StageKind::point)
      stages[s] = Point(g, parameters, most, stages, stage).bound();
    else if (stage.kind == ir::StageKind::compose)
      stages[s] = composed(stage, stages);
  }
  return stages;
}

}  // namespace tessera::ref
