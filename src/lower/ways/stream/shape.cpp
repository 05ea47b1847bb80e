// The shape of a tile: the same arithmetic as plan/passes/tiles.cpp, where its numbers come from; tests/explain
// compares the two.
//
// Columns: as many as let the rings fit the share of L2 that is theirs. Rows: a few tiles for every thread, high
// against the rows that a tile computes beyond its own.
#include "lower/ways/stream/shape.hpp"

#include <algorithm>

#include "lower/ways/stream/declared.hpp"
#include "plan/passes/tiles.hpp"

namespace tessera::lower {

using ir::StageId;
using ir::nest::integer;
using ir::nest::Lane;
using ir::nest::Value;
using ir::nest::variable;

namespace {

class TileExtents {
 public:
  TileExtents(const StreamGroup& group, const std::vector<Value>& n, Builder& builder)
      : group_(group), planned_(group.planned), rank_(group.rank), n_(n), builder_(builder), extents_(rank_) {}

  std::vector<Value> found(const std::vector<TileTransform>& transforms) {
    if (const auto pieces = plan::pieces_of_group(group_.graph, planned_)) return tile_a_piece(*pieces);
    find_columns();
    find_middle();
    find_rows();
    if (!transforms.empty())
      shape_of_transform(transforms.front(), extents_, n_, threads_, builder_);
    else if (const i64 points = plan::most_tile_points(planned_); points > 0)
      bound_points(points);
    return std::move(extents_);
  }

 private:
  std::vector<Value> tile_a_piece(i64 pieces);
  void find_columns();
  void find_middle();
  void find_rows();
  void bound_points(i64 most);

  bool rings() const { return planned_.ring_bytes_per_column > 0; }
  Value least_rows(i64 halos) const { return integer(std::max(plan::least_rows(rank_), halos * planned_.halo_rows)); }

  const StreamGroup& group_;
  const plan::Group& planned_;
  const std::size_t rank_;
  const std::vector<Value>& n_;
  Builder& builder_;
  const Value threads_ = variable("threads", index_type);
  std::vector<Value> extents_;
};

// Of elements that go into bins: whole rows, as many as make that many pieces.
std::vector<Value> TileExtents::tile_a_piece(i64 pieces) {
  extents_ = n_;
  extents_[0] = builder_.let("rows", call_i64("tsr_ceil_div", {n_[0], integer(pieces)}));
  return std::move(extents_);
}

void TileExtents::find_columns() {
  Value most = integer(plan::most_tile_columns(group_.machine, planned_, rank_));
  const auto signal = plan::signal_columns(group_.plan, planned_);
  if (signal) {
    const Value share = builder_.let(
        "share", call_i64("tsr_tile_rows",
                          {n_.back(), integer(1), threads_, integer(signal->least), integer(signal->smallest)}));
    most = rings() ? min(most, share) : share;
  }
  extents_[rank_ - 1] =
      rings() || signal
          ? builder_.let("columns", call_i64("tsr_balanced", {n_.back(), most, integer(plan::column_unit)}))
          : n_.back();
}

void TileExtents::find_middle() {
  const i64 per_column = std::max<i64>(1, static_cast<i64>(planned_.ring_bytes_per_column));
  const auto left = [&](const Value& budget, const Value& taken) {
    return builder_.let("budget", call_i64("tsr_quotient", {budget, taken}));
  };
  Value budget =
      rings() ? left(integer(plan::ring_budget(group_.machine)), extents_[rank_ - 1] * per_column) : integer(1 << 20);
  for (std::size_t d = rank_ - 1; d-- > 1;) {
    const i64 halo = d < planned_.ring_halo.size() ? planned_.ring_halo[d] : 0;
    extents_[d] = builder_.let(
        "extent",
        call_i64("tsr_balanced", {n_[d], max(budget - halo, integer(plan::least_middle)), integer(plan::middle_unit)}));
    budget = left(budget, extents_[d] + halo);
  }
}

void TileExtents::find_rows() {
  Value others = integer(1);
  for (std::size_t d = 1; d < rank_; ++d)
    others = others * call_i64("tsr_ceil_div", {n_[d], max(extents_[d], integer(1))});
  extents_[0] =
      builder_.let("rows", call_i64("tsr_tile_rows", {n_[0], others, threads_, least_rows(plan::halos_of_tile),
                                                      least_rows(plan::halos_of_low_tile)}));
}

// So that a run ends soon after it is cancelled.
void TileExtents::bound_points(i64 most) {
  const Value columns = extents_[rank_ - 1];
  Value between = integer(1);
  for (std::size_t d = 1; d + 1 < rank_; ++d) between = between * max(extents_[d], integer(1));
  const Value row = between * max(columns, integer(1));
  const Value wanted = call_i64("tsr_quotient", {integer(most / plan::row_unit), row}) * plan::row_unit;
  extents_[0] = builder_.let("rows", min(extents_[0], rings() ? max(wanted, least_rows(plan::halos_of_tile)) : wanted));
  if (rings()) return;
  const Value share =
      call_i64("tsr_quotient", {integer(most / plan::column_unit), max(extents_[0], integer(1)) * between}) *
      plan::column_unit;
  extents_[rank_ - 1] = builder_.let("columns", min(columns, share));
}

// Bytes of all results.
Value bytes_written(const Declared& declared) {
  Value written = integer(0);
  for (StageId s : declared.group.planned.results) {
    Value bytes = integer(declared.group.bytes(s));
    for (ir::SizeId d : plan::extents_of_array(declared.group.plan, s)) bytes = bytes * declared.extent(d);
    written = written + bytes;
  }
  return written;
}

}  // namespace

ir::nest::Function shape_function(const StreamGroup& group, const std::vector<PassBody>& bodies,
                                  const std::vector<TileTransform>& transforms) {
  ir::nest::Function f;
  f.name = group.name() + "_shape";
  f.parameters = {{"N", {Lane::i64, 1, true}, true, false},
                  {"threads", index_type, false, false},
                  {"T", {Lane::i64, 1, true}, false, false}};
  Builder b(f.body);
  Declared declared(group, b);
  declared.declare_extents(bodies);
  std::vector<Value> n;
  for (ir::SizeId d : group.stage(group.planned.anchor).domain) n.push_back(declared.extent(d));
  const std::vector<Value> extents = TileExtents(group, n, b).found(transforms);
  const auto put = [&](std::size_t at, const Value& v) {
    b.assign_element(tile_shape(), integer(static_cast<i64>(at)), v);
  };
  Value tiles = integer(1);
  for (std::size_t d = 0; d < group.rank; ++d) {
    put(d, max(extents[d], integer(1)));
    tiles = tiles * call_i64("tsr_ceil_div", {n[d], max(extents[d], integer(1))});
  }
  put(group.rank, tiles);
  // Stores go past the caches when what the group writes could not stay in them anyway.
  const Value stays = integer(plan::caches_of_results * group.machine.l2_bytes);
  put(group.rank + 1, group.transformed() ? integer(0) : convert(index_type, less(stays, bytes_written(declared))));
  return f;
}

}  // namespace tessera::lower
