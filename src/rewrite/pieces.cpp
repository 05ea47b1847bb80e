// Composed stages that their pieces cover: each piece is then computed right into the rows of the whole.
#include <algorithm>
#include <set>

#include "ir/build.hpp"
#include "rewrite/rebuild.hpp"

namespace tessera::rewrite {

using ir::Graph;
using ir::Stage;
using ir::StageId;
using ir::StageKind;

namespace {

// How often each stage is read: by point stages, as a piece, as an output.
std::vector<int> readers_of(const Graph& graph) {
  std::vector<int> readers(graph.stage_count());
  for (StageId s = 0; s < graph.stage_count(); ++s) {
    if (graph.stage(s).kind == StageKind::point)
      for (StageId p : ir::sources(graph, s)) ++readers[p];
    for (const ir::Piece& piece : graph.stage(s).pieces)  // twice by one stage is no private piece either
      if (piece.stage) ++readers[*piece.stage];
  }
  for (const ir::Output& output : graph.outputs)
    for (StageId s : output.stages) ++readers[s];
  return readers;
}

// A piece that can be computed right into the whole: a point stage without margins that nothing else reads.
bool goes_inside(const Stage& piece, int readers) {
  const auto none = [](const std::vector<i64>& margin) {
    return std::all_of(margin.begin(), margin.end(), [](i64 m) { return m == 0; });
  };
  return piece.kind == StageKind::point && readers == 1 && none(piece.margin_lo) && none(piece.margin_hi);
}

}  // namespace

bool tiled_by_pieces(Graph& graph, const Stage& composed) {
  if (composed.kind != StageKind::compose) return false;
  i64 phases = 1;
  std::set<std::vector<i64>> starts;
  for (const ir::Piece& piece : composed.pieces) {
    if (!piece.stage || piece.stride != composed.pieces.front().stride) return false;
    const Stage& source = graph.stage(*piece.stage);
    if (source.type != composed.type || source.domain.size() != composed.domain.size()) return false;
    std::vector<i64> at;
    phases = 1;
    for (std::size_t d = 0; d < composed.domain.size(); ++d) {
      const i64 stride = piece.stride[d];
      const auto start = graph.constant(piece.start[d]);
      const bool shuffles = d + 1 < composed.domain.size() ? stride <= 4 : stride == 1 || stride == 2 || stride == 4;
      if (!start || *start < 0 || *start >= stride || !shuffles) return false;
      const ir::SizeId reached = graph.size_binary(ir::SizeOp::mul, piece.count[d], graph.size(stride));
      const ir::SizeId end = graph.size_binary(ir::SizeOp::add, reached, piece.start[d]);
      if (!ir::at_most(graph, composed.domain[d], end)) return false;
      at.push_back(*start);
      phases *= stride;
    }
    starts.insert(at);
  }
  return phases > 1 && static_cast<i64>(starts.size()) == phases && static_cast<i64>(composed.pieces.size()) == phases;
}

std::vector<bool> fillable_by_pieces(Graph& graph) {
  const std::vector<int> readers = readers_of(graph);
  std::vector<bool> fillable;
  for (StageId s = 0; s < graph.stage_count(); ++s) {
    const Stage& composed = graph.stage(s);
    fillable.push_back(tiled_by_pieces(graph, composed) &&
                       std::all_of(composed.pieces.begin(), composed.pieces.end(), [&](const ir::Piece& piece) {
                         return goes_inside(graph.stage(*piece.stage), readers[*piece.stage]);
                       }));
  }
  return fillable;
}

void separate_pieces(Graph& graph) {
  const std::vector<int> readers = readers_of(graph);
  std::vector<bool> tiled;
  for (StageId s = 0; s < graph.stage_count(); ++s) tiled.push_back(tiled_by_pieces(graph, graph.stage(s)));
  Rebuild rebuild(graph);
  for (StageId s = 0; s < rebuild.old().size(); ++s) {
    Stage stage = rebuild.carry(rebuild.old(s));
    for (std::size_t k = 0; k < stage.pieces.size() && tiled[s]; ++k) {
      const StageId old_source = *rebuild.old(s).pieces[k].stage, source = *stage.pieces[k].stage;
      const Stage& from = graph.stage(source);
      if (goes_inside(from, readers[old_source])) continue;
      Stage copy;
      copy.name = from.name;
      copy.type = from.type;
      copy.domain = from.domain;
      copy.span = from.span;
      const std::size_t rank = copy.domain.size();
      copy.margin_lo.assign(rank, 0);
      copy.margin_hi.assign(rank, 0);
      copy.body =
          ir::access(graph, source, std::vector<ir::Index>(rank), std::vector<Border>(rank, {BorderMode::clamp, 0}));
      stage.pieces[k].stage = graph.add(std::move(copy));
    }
    rebuild.set(s, graph.add(std::move(stage)));
  }
  rebuild.finish();
}

}  // namespace tessera::rewrite
