// See reductions.hpp.
#include "rewrite/reductions.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "ir/build.hpp"
#include "ir/reductions.hpp"
#include "rewrite/rebuild.hpp"

namespace tessera::rewrite {

using ir::ExprId;
using ir::Graph;
using ir::Op;
using ir::Stage;
using ir::StageId;

namespace {

class Reductions {
 public:
  explicit Reductions(Graph& graph) : graph_(graph), rebuild_(graph) {}

  void run() {
    for (StageId s = 0; s < rebuild_.old().size(); ++s) {
      const Stage& stage = rebuild_.old(s);
      const bool whole = stage.body.valid() && is_whole(graph_.node(stage.body).op);
      if (whole)
        rebuild_.set(s, reduced(stage));
      else
        rebuild_.keep(s);
    }
    rebuild_.finish();
  }

 private:
  // A copy of a field, say, need not be made.
  StageId behind_copies(StageId s) const {
    for (;;) {
      const Stage& stage = graph_.stage(s);
      if (stage.kind != ir::StageKind::point) return s;
      const ir::ExprNode& node = graph_.node(stage.body);
      const auto zero = [](i64 margin) { return margin == 0; };
      const bool copy =
          node.op == Op::access && graph_.stage(node.stage).domain == stage.domain &&
          std::all_of(node.index.begin(), node.index.end(), [](const ir::Index& i) { return i == ir::Index{}; }) &&
          std::all_of(stage.margin_lo.begin(), stage.margin_lo.end(), zero) &&
          std::all_of(stage.margin_hi.begin(), stage.margin_hi.end(), zero);
      if (!copy) return s;
      s = node.stage;
    }
  }

  StageId add(const Stage& of, std::vector<ir::SizeId> domain, const std::string& what, ExprId body) {
    Stage stage;
    stage.name = of.name + what;
    stage.span = of.span;
    stage.type = graph_.node(body).type;
    stage.margin_lo.assign(domain.size(), 0);
    stage.margin_hi.assign(domain.size(), 0);
    stage.domain = std::move(domain);
    stage.body = body;
    return graph_.add(std::move(stage));
  }

  StageId lanes(const Stage& of, Op op, StageId source, i64 piece, ir::SizeId pieces) {
    const auto [known, fresh] = lanes_.try_emplace({op, source, piece}, 0);
    if (fresh)
      known->second =
          add(of, {pieces, graph_.size(ir::lanes_of_piece)}, ": lanes", ir::lanes(graph_, op, source, piece));
    return known->second;
  }

  // The lanes of a row, one after the other.
  ExprId together(Op op, StageId lanes, ExprId row) {
    const ir::Var l{graph_.new_var(), 0, ir::lanes_of_piece - 1};
    ExprId lane = ir::gather(graph_, lanes, {row, ir::var(graph_, l.id)});
    if (op == Op::lanes_sum) lane = ir::convert(graph_, ElementType::f64, lane);
    const Op reduction = op == Op::lanes_sum ? Op::reduce_sum : op == Op::lanes_min ? Op::reduce_min : Op::reduce_max;
    return ir::reduce(graph_, reduction, {l}, lane);
  }

  StageId reduced(const Stage& old) {
    const ir::ExprNode whole = graph_.node(old.body);
    const Op op = ir::lanes_of(whole.op);
    const StageId source = behind_copies(rebuild_.map(whole.stage));
    const ir::SizeId count = ir::count_of(graph_, graph_.stage(source)), one = graph_.size(1);
    const ir::SizeId pieces = graph_.size_floor_div(
        graph_.size_binary(ir::SizeOp::add, count, graph_.size(ir::elements_of_piece - 1)), ir::elements_of_piece);
    const ExprId first = ir::constant(graph_, ElementType::i32, 0);
    StageId last = 0;
    if (const auto n = graph_.constant(count); n && *n <= ir::elements_of_piece) {
      last = lanes(old, op, source, 0, one);
    } else {
      const StageId of_pieces = lanes(old, op, source, ir::elements_of_piece, pieces);
      const auto [list, fresh] = lists_.try_emplace(of_pieces, 0);
      if (fresh) {
        const ElementType type = op == Op::lanes_sum ? ElementType::f64 : graph_.stage(of_pieces).type;
        const ExprId total = ir::convert(graph_, type, together(op, of_pieces, ir::coord(graph_, 1)));
        list->second = add(old, {one, pieces}, ": pieces", total);
      }
      last = lanes(old, op, list->second, 0, one);
    }
    ExprId total = together(op, last, first);
    if (whole.op == Op::whole_mean) total = ir::binary(graph_, Op::div, total, ir::size_value(graph_, count));
    Stage stage = old;
    stage.body = ir::convert(graph_, old.type, total);
    return graph_.add(std::move(stage));
  }

  Graph& graph_;
  Rebuild rebuild_;
  std::map<std::tuple<Op, StageId, i64>, StageId> lanes_;
  std::map<StageId, StageId> lists_;
};

}  // namespace

void take_reductions_apart(Graph& graph) {
  for (StageId s = 0; s < graph.stage_count(); ++s) {
    const ExprId body = graph.stage(s).body;
    if (!body.valid() || !is_whole(graph.node(body).op)) continue;
    Reductions(graph).run();
    return remove_dead_stages(graph);
  }
}

}  // namespace tessera::rewrite
