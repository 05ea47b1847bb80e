// Rows of compose stages: pieces laid out with offsets and strides.
//
// Pieces that stand in the same rows and fill different phases of one column stride (the two halves of an upsampled
// row) are stored by one loop: its stores are interleaved and the compiler makes whole vectors of them.
#include <algorithm>

#include "ir/build.hpp"
#include "lower/vocabulary.hpp"
#include "lower/ways/stream/group.hpp"

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

}  // namespace

// The row of the whole that a row of a piece inside it is.
std::vector<Value> GroupLowering::written_index(StageId piece, const std::vector<Value>& index) const {
  const plan::StagePlan& p = plan_.stages[piece];
  std::vector<Value> at;
  for (std::size_t d = 0; d < index.size(); ++d) at.push_back(index[d] * p.stride[d] + p.start[d]);
  return at;
}

void GroupLowering::compose_row(std::size_t p, const std::vector<Value>& index) {
  StageId s = group_.passes[p].stages.front();
  const ir::Stage& composed = stage(s);
  const Region& region = regions_[p];
  const Value lo = region.lo[rank_ - 1], hi = region.hi[rank_ - 1];
  const Lane lane = memory_lane(s);
  const i64 size = ir::nest::size_of(lane);
  Value target = builder_->let("to", row_at(s, index));
  if (plan_.stages[s].filled) return finish_row(s, index, target);
  Value out = builder_->let("to", typed(s, target));
  builder_->call("tsr_zero", {address(target, lo * size), (hi - lo) * size});
  for (const std::vector<const ir::Piece*>& family : families(plan_.graph, composed.pieces)) {
    // Do the pieces have elements in this row?
    const ir::Piece& first_piece = *family.front();
    Value here = integer(1, flag_type);
    std::vector<Value> at;
    for (std::size_t d = 0; d + 1 < rank_; ++d) {
      Value offset = builder_->let("offset", index[d] - extent(first_piece.start[d]));
      Value j = offset;
      if (first_piece.stride[d] != 1) {
        j = builder_->let("j", call_i64("tsr_floor_div", {offset, integer(first_piece.stride[d])}));
        Value hit = equal(j * first_piece.stride[d], offset);
        here = here & hit;
      }
      Value inside = less(integer(-1), j) & less(j, extent(first_piece.count[d]));
      here = here & inside;
      at.push_back(j);
    }
    builder_->branch(here, [&] { store_family(family, at, out, lane, lo, hi, composed.type); });
  }
  finish_row(s, index, target);
}

void GroupLowering::store_family(const std::vector<const ir::Piece*>& family, const std::vector<Value>& at,
                                 const Value& out, Lane lane, const Value& lo, const Value& hi, ElementType type) {
  struct Part {
    Value start, first, last, in, constant;
    i64 stride = 1, step = 1, offset = 0;
  };
  std::vector<Part> parts;
  for (const ir::Piece* piece : family) {
    Part part;
    part.start = extent(piece->start.back());
    part.stride = piece->stride.back();
    part.first =
        builder_->let("first", max(integer(0), call_i64("tsr_ceil_div", {lo - part.start, integer(part.stride)})));
    part.last = builder_->let("last", min(extent(piece->count.back()),
                                          call_i64("tsr_floor_div", {hi - 1 - part.start, integer(part.stride)}) + 1));
    if (!piece->stage) {
      double v = ir::evaluate(Op::convert, type, ElementType::f64, &piece->value);
      part.constant =
          is_float(lane) ? ir::nest::real(v, {lane, 1, false}) : integer(static_cast<i64>(v), {lane, 1, false});
    } else {
      StageId from = *piece->stage;
      std::size_t lead = rank_ - stage(from).domain.size();
      std::vector<Value> row;
      for (std::size_t d = lead; d + 1 < rank_; ++d) {
        Value clamped = at[d];
        if (in_group(from)) {
          std::size_t q = pass_of(from);
          Value end = d == 0 ? done_[q] : regions_[q].hi[d - lead];
          clamped = builder_->let("row", call_i64("tsr_clamp", {at[d], regions_[q].lo[d - lead], end - 1}));
        }
        row.push_back(clamped);
      }
      part.in = builder_->let("from", typed(from, row_at(from, row)));
      part.step = element_step(from);
      part.offset = element_offset(from);
    }
    parts.push_back(std::move(part));
  }
  auto store = [&](const Part& part, const Value& j) {
    Value v = part.constant ? part.constant : convert({lane, 1, false}, load(part.in, j * part.step + part.offset, 1));
    builder_->store(out, part.start + j * part.stride, v);
  };
  Value first = parts.front().first, last = parts.front().last;
  if (parts.size() > 1) {
    for (const Part& part : parts) {
      first = max(first, part.first);
      last = min(last, part.last);
    }
    first = builder_->let("first", first);
    last = builder_->let("last", max(first, last));
    // The ends, where the pieces do not all have elements.
    for (const Part& part : parts) {
      builder_->loop("j", part.first, min(first, part.last), integer(1), [&](const Value& j) { store(part, j); });
      builder_->loop("j", max(last, part.first), part.last, integer(1), [&](const Value& j) { store(part, j); });
    }
  }
  builder_->loop("j", first, last, integer(1), [&](const Value& j) {
    for (const Part& part : parts) store(part, j);
  });
}

}  // namespace tessera::lower
