// Rows of compose stages: pieces laid out with offsets and strides.
//
// Pieces that stand in the same rows and fill different phases of one column stride (the two halves of an upsampled
// row) are stored by one loop: its stores are interleaved and the compiler makes whole vectors of them.
#include "lower/ways/stream/columns/compose.hpp"

#include <algorithm>
#include <utility>

#include "ir/build.hpp"
#include "lower/ways/stream/finish.hpp"

namespace tessera::lower {

using ir::Op;
using ir::StageId;
using ir::nest::integer;
using ir::nest::Lane;
using ir::nest::Value;

namespace {

// Runs of pieces that one loop stores: same rows, same column stride, different phases, each from a stage.
std::vector<std::vector<const ir::Piece*>> families(const ir::Graph& graph, const std::vector<ir::Piece>& pieces) {
  std::vector<std::vector<const ir::Piece*>> result;
  for (const ir::Piece& piece : pieces) {
    bool joins = false;
    if (!result.empty() && piece.stage && result.back().front()->stage && piece.stride.back() > 1) {
      const ir::Piece& first = *result.back().front();
      joins = first.stride == piece.stride;
      for (std::size_t d = 0; d + 1 < piece.start.size(); ++d)
        joins = joins && first.start[d] == piece.start[d] && first.count[d] == piece.count[d];
      auto phase = graph.constant(piece.start.back());
      joins = joins && phase;
      for (const ir::Piece* other : result.back()) {
        auto taken = graph.constant(other->start.back());
        joins = joins && taken && (*taken - *phase) % piece.stride.back() != 0;
      }
    }
    if (joins)
      result.back().push_back(&piece);
    else
      result.push_back({&piece});
  }
  return result;
}

// Do the pieces of a family have elements in this row of the whole? And in which of theirs.
std::pair<Value, std::vector<Value>> place_in_family(const TileFunction& tile, const ir::Piece& piece,
                                                     const std::vector<Value>& index) {
  const StreamGroup& group = tile.group;
  Builder& b = tile.builder;
  Value here = integer(1, flag_type);
  std::vector<Value> at;
  for (std::size_t d = 0; d + 1 < group.rank; ++d) {
    Value offset = b.let("offset", index[d] - tile.extent(piece.start[d]));
    Value j = offset;
    if (piece.stride[d] != 1) {
      j = b.let("j", call_i64("tsr_floor_div", {offset, integer(piece.stride[d])}));
      Value hit = equal(j * piece.stride[d], offset);
      here = here & hit;
    }
    Value inside = less(integer(-1), j) & less(j, tile.extent(piece.count[d]));
    here = here & inside;
    at.push_back(j);
  }
  return {here, at};
}

// A piece in one row of the whole: its elements from `first` to `last` stand at start + stride * j.
struct PlacedPiece {
  Value start, first, last, in, constant;
  i64 stride = 1, step = 1, offset = 0;
};

// `at`: its row; `lo`, `hi`: columns of the whole `s`.
PlacedPiece placed_piece(const TileFunction& tile, const ir::Piece& piece, const std::vector<Value>& at, StageId s,
                         const Value& lo, const Value& hi) {
  const StreamGroup& group = tile.group;
  Builder& b = tile.builder;
  const Lane lane = group.memory_lane(s);
  PlacedPiece placed;
  placed.start = tile.extent(piece.start.back());
  placed.stride = piece.stride.back();
  placed.first = b.let("first", max(integer(0), call_i64("tsr_ceil_div", {lo - placed.start, integer(placed.stride)})));
  placed.last = b.let("last", min(tile.extent(piece.count.back()),
                                  call_i64("tsr_floor_div", {hi - 1 - placed.start, integer(placed.stride)}) + 1));
  if (!piece.stage) {
    double v = ir::evaluate(Op::convert, group.stage(s).type, ElementType::f64, &piece.value);
    placed.constant =
        is_float(lane) ? ir::nest::real(v, {lane, 1, false}) : integer(static_cast<i64>(v), {lane, 1, false});
  } else {
    StageId from = *piece.stage;
    std::size_t lead = group.rank - group.stage(from).domain.size();
    std::vector<Value> row;
    for (std::size_t d = lead; d + 1 < group.rank; ++d) {
      Value clamped = at[d];
      if (group.contains(from)) {
        std::size_t q = group.pass_of(from);
        Value end = d == 0 ? tile.done[q] : tile.regions[q].hi[d - lead];
        clamped = b.let("row", call_i64("tsr_clamp", {at[d], tile.regions[q].lo[d - lead], end - 1}));
      }
      row.push_back(clamped);
    }
    placed.in = b.let("from", group.typed(from, tile.row_at(from, row)));
    placed.step = group.element_step(from);
    placed.offset = group.element_offset(from);
  }
  return placed;
}

void store_family(Builder& b, const std::vector<PlacedPiece>& pieces, const Value& out) {
  auto store = [&](const PlacedPiece& piece, const Value& j) {
    Value v = piece.constant ? piece.constant
                             : convert({out->type.lane, 1, false}, load(piece.in, j * piece.step + piece.offset, 1));
    b.store(out, piece.start + j * piece.stride, v);
  };
  Value first = pieces.front().first, last = pieces.front().last;
  if (pieces.size() > 1) {
    for (const PlacedPiece& piece : pieces) {
      first = max(first, piece.first);
      last = min(last, piece.last);
    }
    first = b.let("first", first);
    last = b.let("last", max(first, last));
    // The ends, where the pieces do not all have elements.
    for (const PlacedPiece& piece : pieces) {
      b.loop("j", piece.first, min(first, piece.last), integer(1), [&](const Value& j) { store(piece, j); });
      b.loop("j", max(last, piece.first), piece.last, integer(1), [&](const Value& j) { store(piece, j); });
    }
  }
  b.loop("j", first, last, integer(1), [&](const Value& j) {
    for (const PlacedPiece& piece : pieces) store(piece, j);
  });
}

}  // namespace

std::vector<Value> written_index(const StreamGroup& group, StageId piece, const std::vector<Value>& index) {
  const plan::StagePlan& p = group.plan_of(piece);
  std::vector<Value> at;
  for (std::size_t d = 0; d < index.size(); ++d) at.push_back(index[d] * p.stride[d] + p.start[d]);
  return at;
}

void compose_row(const PassOfTile& of, const std::vector<Value>& index) {
  const TileFunction& tile = of.tile;
  const StreamGroup& group = tile.group;
  Builder& b = tile.builder;
  StageId s = of.pass.stages.front();
  const ir::Stage& composed = group.stage(s);
  const Region& region = of.region();
  const Value lo = region.lo[group.rank - 1], hi = region.hi[group.rank - 1];
  const i64 size = group.bytes(s);
  Value target = b.let("to", tile.row_at(s, index));
  if (group.plan_of(s).filled) return finish_row(tile, s, index, target);
  Value out = b.let("to", group.typed(s, target));
  b.call("tsr_zero", {address(target, lo * size), (hi - lo) * size});
  for (const std::vector<const ir::Piece*>& family : families(group.graph, composed.pieces)) {
    const auto [here, at] = place_in_family(tile, *family.front(), index);
    b.branch(here, [&, at = at] {
      std::vector<PlacedPiece> pieces;
      for (const ir::Piece* piece : family) pieces.push_back(placed_piece(tile, *piece, at, s, lo, hi));
      store_family(b, pieces, out);
    });
  }
  finish_row(tile, s, index, target);
}

}  // namespace tessera::lower
