// See passes.hpp.
#include "plan/passes/passes.hpp"

#include <algorithm>
#include <bit>

#include "analyze/expressions.hpp"
#include "ir/keyed.hpp"
#include "plan/groups/tile_groups.hpp"
#include "plan/passes/forms.hpp"

namespace tessera::plan {

using ir::ExprId;
using ir::Graph;
using ir::Stage;
using ir::StageId;
using ir::StageKind;

namespace {

// (Numbers that were chosen: no measurement of their own is on record.)
//
// Operations of one loop: more take the registers from each other, unless the loop saves computing the same twice.
constexpr double most_operations = 400, worth_sharing = 0.8;
// Operations of a point with which a block has four rows or two: without and with rows that neighbours share.
constexpr double four_rows = 40, two_rows = 100, four_shared_rows = 140, two_shared_rows = 300;
// A dense sum over many points: neighbouring rows share its loads, but no operation. Eight accumulators keep the
// multiply-adds from waiting for each other. Groups of several passes take only four rows a step.
constexpr int dense_rows = 8;
constexpr double least_dense_taps = 3, dense_share = 0.8;
constexpr std::size_t least_dense_terms = 20, least_looped_rows = 3;
// Of sums of bytes: so many registers for every chain of totals and its products.
constexpr int registers_of_chain = 8;

// A looped sum whose body reads several rows (windows.cpp): neighbouring rows of the result share them.
bool sums_rows(const Graph& graph, ExprId body) {
  for (ExprId e : ir::postorder(graph, {body})) {
    const ir::ExprNode& node = graph.node(e);
    if (node.op == ir::Op::reduce_sum && ir::accesses(graph, node.args[0]).size() >= least_looped_rows) return true;
  }
  return false;
}

bool same_rate(const StagePlan& a, const StagePlan& b) {
  for (std::size_t d = 0; d < a.rate.size(); ++d)
    if (a.rate[d].num != b.rate[d].num || a.rate[d].den != b.rate[d].den || a.rate[d].before != b.rate[d].before ||
        a.rate[d].after != b.rate[d].after)
      return false;
  return a.lag == b.lag && a.periodic == b.periodic;
}

// Stages on their way into passes.
class FindPasses {
 public:
  FindPasses(const GraphFacts& facts, const Set& set, const Layout& layout)
      : facts_(facts), graph_(facts.graph), tiles_(facts), set_(set), layout_(layout) {}

  std::vector<Pass> passes() {
    pass_of_.assign(set_.size(), 0);
    for (std::size_t i = 0; i < set_.size(); ++i) {
      // Pieces that stand inside a composed stage share a pass, that of the last one.
      std::vector<StageId> together{set_[i]};
      if (layout_.stages[i].home == Home::inside) {
        together = ir::sources(graph_, layout_.stages[i].whole);
        if (together.back() != set_[i]) continue;
      }
      add(together);
    }
    return std::move(list_);
  }

 private:
  const StagePlan& plan_of(StageId s) const { return layout_.stages[place_in(set_, s)]; }
  void add(const std::vector<StageId>& together);
  bool joins(std::size_t pass, StageId s) const;

  const GraphFacts& facts_;
  const Graph& graph_;
  const TileGroups tiles_;
  const Set& set_;
  const Layout& layout_;
  std::vector<Pass> list_;
  std::vector<double> load_;          // operations, by pass
  std::vector<std::size_t> pass_of_;  // by place in the set
};

void FindPasses::add(const std::vector<StageId>& together) {
  const StageId s = together.back();
  const Stage& stage = graph_.stage(s);
  std::size_t earliest = 0;
  for (StageId t : together)
    for (std::size_t k : facts_.of(t).reads)
      if (const StageId p = facts_.edges[k].producer; contains(set_, p))
        earliest = std::max(earliest, pass_of_[place_in(set_, p)] + 1);
  std::size_t chosen = list_.size();
  if (stage.kind == StageKind::point && together.size() == 1 && !tiles_.belongs_to_tiles(s, set_))
    for (std::size_t p = earliest; p < list_.size() && chosen == list_.size(); ++p)
      if (joins(p, s)) chosen = p;
  if (chosen == list_.size()) {
    list_.push_back({});
    load_.push_back(0);
  }
  for (StageId t : together) {
    list_[chosen].stages.push_back(t);
    load_[chosen] += facts_.of(t).operations;
    pass_of_[place_in(set_, t)] = chosen;
  }
}

bool FindPasses::joins(std::size_t p, StageId s) const {
  const Pass& pass = list_[p];
  const StageId other = pass.stages.front();
  const Stage &mine = graph_.stage(s), &theirs = graph_.stage(other);
  const bool composes = graph_.stage(pass.stages.back()).kind == StageKind::compose;
  if (composes || tiles_.belongs_to_tiles(other, set_)) return false;
  if (ir::is_keyed(graph_, mine) || ir::is_keyed(graph_, theirs)) return false;
  const auto reduces = [&](const Stage& of) { return is_lanes(graph_.node(of.body).op); };
  if (theirs.domain != mine.domain || reduces(theirs) != reduces(mine) || !same_rate(plan_of(other), plan_of(s)))
    return false;
  if (facts_.of(s).quads.chains > 0 || facts_.of(other).quads.chains > 0) return false;
  const double load = load_[p] + facts_.of(s).operations;
  if (load < most_operations) return true;
  std::vector<ExprId> bodies{mine.body};
  for (StageId t : pass.stages) bodies.push_back(graph_.stage(t).body);
  return analyze::operation_count(graph_, bodies) < worth_sharing * load;
}

// What the stages of a pass do, as far as its block depends on it.
struct Work {
  std::vector<ExprId> roots;
  double operations = 0;
  double row_taps = 1;  // of what is read along the block
  bool loops = false;   // a reduction is left
};

Work work_of(const GraphFacts& facts, const Pass& pass) {
  const Graph& graph = facts.graph;
  Work work;
  for (StageId s : pass.stages) {
    const Stage& stage = graph.stage(s);
    if (stage.kind == StageKind::point) work.roots.push_back(stage.body);
    for (std::size_t k : facts.of(s).reads) {
      const Edge& edge = facts.edges[k];
      if (edge.dims.size() < 2) continue;
      const std::size_t from_end = stage.domain.size() - pass.along;
      if (edge.dims.size() < from_end) continue;
      const EdgeDimension& row = edge.dims[edge.dims.size() - from_end];
      if (!row.whole) work.row_taps = std::max(work.row_taps, static_cast<double>(row.raw_hi - row.raw_lo + 1));
    }
  }
  for (ExprId e : ir::postorder(graph, work.roots)) work.loops |= is_reduction(graph.node(e).op);
  work.operations = analyze::operation_count(graph, work.roots);
  return work;
}

// The dimension along which its blocks lie: one for all of its stages.
std::size_t along(const GraphFacts& facts, const Pass& pass, const Set& set, const Layout& layout) {
  const std::size_t rank = facts.graph.stage(pass.stages.front()).domain.size();
  std::size_t result = blocks_along(facts, pass.stages.front(), set.size());
  for (StageId s : pass.stages)
    if (blocks_along(facts, s, set.size()) != result) result = rank - 2;
  if (result == 0 && set.size() > 1 && layout.step < 4) result = rank - 2;
  return result;
}

// `stepping`: with other passes, a step at a time.
int rows_of_block(const GraphFacts& facts, const Work& work, const Pass& pass, bool stepping) {
  const Graph& graph = facts.graph;
  const StageId first = pass.stages.front();
  if (pass.form == PassForm::keyed) return 1;
  if (pass.form == PassForm::quads)
    return std::max(1, facts.machine.vector_registers / registers_of_chain / facts.of(first).quads.chains);
  if (!stepping && !pass.composes() && pass.stages.size() == 1 && work.row_taps >= least_dense_taps) {
    const ExprId body = graph.stage(first).body;
    const bool dense = !work.loops && work.operations <= four_shared_rows &&
                       facts.of(first).operations > dense_share * facts.of(first).alone;
    if (dense && ir::accesses(graph, body).size() >= least_dense_terms) return dense_rows;
    if (work.loops && sums_rows(graph, body)) return dense_rows;
  }
  if (pass.composes() || pass.form == PassForm::reduction) return 1;
  if (work.row_taps <= 1) return work.operations <= four_rows ? 4 : work.operations <= two_rows ? 2 : 1;
  if (work.loops) return 4;
  return work.operations <= four_shared_rows ? 4 : work.operations <= two_shared_rows ? 2 : 1;
}

}  // namespace

std::vector<Pass> passes_of(const GraphFacts& facts, const Set& set, const Layout& layout) {
  std::vector<Pass> list = FindPasses(facts, set, layout).passes();
  for (Pass& pass : list) {
    pass.along = along(facts, pass, set, layout);
    const Work work = work_of(facts, pass);
    const PassQuestion question{facts, set, layout, pass};
    const FormRow& form = form_of(question);
    pass.lanes = form.lanes(question);
    pass.form = form.form;
    i64 rows = rows_of_block(facts, work, pass, list.size() > 1 && pass.along == 0);
    for (StageId s : pass.stages)
      rows = std::min(rows, facts.graph.constant(facts.graph.stage(s).domain[pass.along]).value_or(rows));
    pass.rows = static_cast<int>(std::bit_floor(static_cast<std::uint64_t>(std::max<i64>(1, rows))));
  }
  return list;
}

}  // namespace tessera::plan
