// The small rewriting passes: dead stages, rank lifting, struct fields.
#include "rewrite/rebuild.hpp"

#include <map>
#include <optional>
#include <tuple>

#include "ir/build.hpp"

namespace tessera::rewrite {

using ir::ExprId;
using ir::ExprNode;
using ir::Graph;
using ir::Op;
using ir::Stage;
using ir::StageId;
using ir::StageKind;

ExprId Rebuild::carry(ExprId body) {
  if (!body.valid()) return body;
  return ir::rewrite(
      graph_, body,
      [&](ExprId, const ExprNode& node) {
        if (!reads_stage(node.op)) return ExprId{};
        ExprNode moved = node;
        moved.stage = map_[node.stage];
        return graph_.expr(std::move(moved));
      },
      memo_);
}

Stage Rebuild::carry(const Stage& stage) {
  Stage moved = stage;
  moved.body = carry(stage.body);
  for (ir::Piece& piece : moved.pieces)
    if (piece.stage) piece.stage = map_[*piece.stage];
  return moved;
}

StageId Rebuild::keep(StageId old_id) {
  map_[old_id] = graph_.add(carry(old_[old_id]));
  return map_[old_id];
}

void Rebuild::finish() {
  for (ir::Output& output : graph_.outputs)
    for (StageId& s : output.stages) s = map_[s];
}

void remove_dead_stages(Graph& graph) {
  std::vector<bool> live(graph.stage_count());
  for (const ir::Output& output : graph.outputs)
    for (StageId s : output.stages) live[s] = true;
  for (StageId s = static_cast<StageId>(graph.stage_count()); s-- > 0;) {
    if (graph.stage(s).kind == StageKind::input) live[s] = true;
    if (!live[s]) continue;
    for (StageId p : ir::sources(graph, s)) live[p] = true;
  }
  Rebuild rebuild(graph);
  for (StageId s = 0; s < rebuild.old().size(); ++s)
    if (live[s]) rebuild.keep(s);
  rebuild.finish();
}

void merge_equal_stages(Graph& graph) {
  std::vector<bool> is_output(graph.stage_count());
  for (const ir::Output& output : graph.outputs)
    for (StageId s : output.stages) is_output[s] = true;
  // Stages with carried sources: equal ones agree in everything but their names.
  using Pieces = std::vector<
      std::tuple<std::optional<StageId>, double, std::vector<ir::SizeId>, std::vector<i64>, std::vector<ir::SizeId>>>;
  using Key =
      std::tuple<StageKind, ElementType, std::vector<ir::SizeId>, ExprId, std::vector<i64>, std::vector<i64>, Pieces>;
  std::map<Key, StageId> known;
  Rebuild rebuild(graph);
  for (StageId s = 0; s < rebuild.old().size(); ++s) {
    Stage stage = rebuild.carry(rebuild.old(s));
    if (stage.kind == StageKind::input) {
      rebuild.set(s, graph.add(std::move(stage)));
      continue;
    }
    Pieces pieces;
    for (const ir::Piece& piece : stage.pieces)
      pieces.emplace_back(piece.stage, piece.value, piece.start, piece.stride, piece.count);
    Key key{stage.kind, stage.type, stage.domain, stage.body, stage.margin_lo, stage.margin_hi, std::move(pieces)};
    auto at = known.find(key);
    if (at != known.end() && !is_output[s]) {
      rebuild.set(s, at->second);
      continue;
    }
    StageId now = graph.add(std::move(stage));
    rebuild.set(s, now);
    known.try_emplace(std::move(key), now);
  }
  rebuild.finish();
}

void shorten_functions(Graph& graph) {
  ir::RewriteMemo memo;
  for (StageId s = 0; s < graph.stage_count(); ++s) {
    if (graph.stage(s).kind != StageKind::point) continue;
    graph.stage(s).body = ir::rewrite(
        graph, graph.stage(s).body,
        [&](ExprId, const ExprNode& node) {
          if (node.op != Op::exp || node.type != ElementType::f32) return ExprId{};
          ExprNode shorter = node;
          shorter.op = Op::fast_exp;
          return graph.expr(std::move(shorter));
        },
        memo);
  }
}

Lifted lift_rank(Graph& graph) {
  std::vector<bool> flat(graph.stage_count());
  bool any = false;
  for (StageId s = 0; s < graph.stage_count(); ++s) {
    flat[s] = graph.stage(s).domain.size() == 1;
    any = any || flat[s];
  }
  if (!any) return {};
  Lifted lifted_arrays;
  for (const ir::Output& o : graph.outputs) lifted_arrays.outputs.push_back(flat[o.stages.front()]);
  ir::SizeId one = graph.size(1);
  for (ir::Argument& a : graph.arguments) {
    lifted_arrays.arguments.push_back(a.is_array && a.extents.size() == 1);
    if (lifted_arrays.arguments.back()) a.extents.insert(a.extents.begin(), one);
  }
  std::vector<Stage> stages = graph.take_stages();
  ir::RewriteMemo memos[2];  // a coordinate means another dimension in a lifted stage
  for (StageId s = 0; s < stages.size(); ++s) {
    Stage stage = stages[s];
    if (stage.kind == StageKind::point)
      stage.body = ir::rewrite(
          graph, stage.body,
          [&](ExprId, const ExprNode& node) {
            ExprNode lifted = node;
            if (node.op == Op::access && flat[node.stage]) {
              lifted.index.insert(lifted.index.begin(), ir::Index{});
              lifted.border.insert(lifted.border.begin(), Border{BorderMode::clamp, 0});
            } else if (node.op == Op::gather && flat[node.stage]) {
              lifted.args.insert(lifted.args.begin(), ir::constant(graph, ElementType::i32, 0));
            } else if ((node.op == Op::coord || node.op == Op::extent) && flat[s]) {
              ++lifted.ivalue;
            } else {
              return ExprId{};
            }
            return graph.expr(std::move(lifted));
          },
          memos[flat[s] ? 1 : 0]);
    if (flat[s]) {
      stage.domain.insert(stage.domain.begin(), one);
      if (stage.kind == StageKind::point) {
        stage.margin_lo.insert(stage.margin_lo.begin(), 0);
        stage.margin_hi.insert(stage.margin_hi.begin(), 0);
      }
      for (ir::Piece& piece : stage.pieces) {
        piece.start.insert(piece.start.begin(), graph.size(0));
        piece.stride.insert(piece.stride.begin(), 1);
        piece.count.insert(piece.count.begin(), one);
      }
    }
    graph.add(std::move(stage));
  }
  return lifted_arrays;
}

void separate_fields(Graph& graph) {
  bool any = false;
  for (const ir::Argument& a : graph.arguments) any |= a.is_array && a.format.is_struct();
  if (!any) return;
  Rebuild rebuild(graph);
  for (StageId s = 0; s < rebuild.old().size(); ++s) {
    StageId kept = rebuild.keep(s);
    const Stage& stage = rebuild.old(s);
    if (stage.kind != StageKind::input || !graph.arguments[stage.argument].format.is_struct()) continue;
    Stage copy = ir::stage_like(stage, StageKind::point);
    std::size_t rank = stage.domain.size();
    copy.margin_lo.assign(rank, 0);
    copy.margin_hi.assign(rank, 0);
    copy.body =
        ir::access(graph, kept, std::vector<ir::Index>(rank), std::vector<Border>(rank, {BorderMode::clamp, 0}));
    rebuild.set(s, graph.add(std::move(copy)));
  }
  rebuild.finish();
}

}  // namespace tessera::rewrite
