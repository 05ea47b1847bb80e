// Sums that are computed through Fourier transforms of tiles, and what runs beside them in one function with them.
//
//   for every pair of tiles:
//     what a sum reads is computed for the points of both tiles, on images continued by the border of the sum
//     (prologue.cpp)
//     the pair (pairs.cpp), whose results go to a ring that holds no more
//     passes over these: what reads sums at its own point
//
// Passes are those of any group (pass.cpp), on the region of a pair. Sums over planes march through these, two at a
// time (stack.cpp).
#include "lower/ways/stream/tiles/tiles.hpp"

#include <algorithm>
#include <functional>

#include "lower/ways/stream/group.hpp"
#include "lower/ways/stream/pass.hpp"
#include "lower/ways/stream/tiles/pairs.hpp"
#include "lower/ways/stream/tiles/prologue.hpp"

namespace tessera::lower {

using ir::StageId;
using ir::nest::integer;
using ir::nest::Value;

namespace {

class TileLoops {
 public:
  explicit TileLoops(TileFunction& tile)
      : tile_(tile),
        group_(tile.group),
        builder_(tile.builder),
        rank_(tile.group.rank),
        transforms_(tile.memory.transforms),
        wanted_(tile.regions[group_.pass_of(group_.planned.anchor)]),
        index_(rank_ - 1) {
    for (const PlacedTransform& t : transforms_) pairs_.emplace_back(tile, t, wanted_);
  }

  void compute() { outer_loop(0); }

 private:
  const PlacedTransform& shape() const { return transforms_.front(); }  // of all tiles
  bool stacked() const { return shape().stacked(); }
  // Stacks march through the planes of the last outer dimension.
  std::size_t loops() const { return stacked() ? rank_ - 3 : rank_ - 2; }

  void outer_loop(std::size_t dim);
  void row_of_tiles(const Value& left, const Value& right);
  void march(const Value& left, const Value& right);
  void pairs_of_row(const Value& left, const Value& right,
                    const std::function<void(const PairWriter&, const Value& tx, const Value& x0)>& pair);
  void begin_pair(const Value& x0);
  void epilogue();

  TileFunction& tile_;
  const StreamGroup& group_;
  Builder& builder_;
  const std::size_t rank_;
  const std::vector<PlacedTransform>& transforms_;
  const Region wanted_;  // of all sums, of this tile
  std::vector<PairWriter> pairs_;
  std::vector<Value> index_;
};

void TileLoops::outer_loop(std::size_t d) {
  if (d < loops()) {
    builder_.loop("z", wanted_.lo[d], wanted_.hi[d], integer(1), [&](const Value& i) {
      index_[d] = i;
      outer_loop(d + 1);
    });
    return;
  }
  const std::size_t down = rank_ - 2, across = rank_ - 1;
  const Value first = builder_.let("first", call_i64("tsr_floor_div", {wanted_.lo[down], integer(shape().high)}));
  const Value last = call_i64("tsr_ceil_div", {wanted_.hi[down], integer(shape().high)});
  builder_.loop("ty", first, last, integer(1), [&](const Value& ty) {
    index_[down] = builder_.let("y0", ty * shape().high);
    for (const PairWriter& pair : pairs_)
      if (!pair.transform().prologue) pair.rows_of_tiles(index_);
    const i64 reach = shape().reach;
    const Value left = builder_.let("left", call_i64("tsr_floor_div", {wanted_.lo[across], integer(reach)}));
    const Value right = builder_.let("right", call_i64("tsr_ceil_div", {wanted_.hi[across], integer(reach)}));
    stacked() ? march(left, right) : row_of_tiles(left, right);
  });
}

void TileLoops::row_of_tiles(const Value& left, const Value& right) {
  pairs_of_row(left, right, [&](const PairWriter& pair, const Value&, const Value& x0) {
    if (pair.transform().prologue) compute_prologue(tile_, pair.transform(), index_, x0);
    pair.pair_of_tiles(index_, x0);
    if (group_.fused()) pair.margins_of_tiles(index_);
  });
}

// Through planes, two at a time.
void TileLoops::march(const Value& left, const Value& right) {
  const std::size_t along = loops();
  builder_.loop("z", wanted_.lo[along], wanted_.hi[along], integer(2), [&](const Value& z) {
    index_[along] = z;
    const Value since = builder_.let("since", z - wanted_.lo[along]);
    const auto margins_of_second = [&](const PairWriter& pair) {
      index_[along] = builder_.let("z", z + 1);
      builder_.branch(less(index_[along], wanted_.hi[along]), [&] { pair.margins_of_tiles(index_); });
      index_[along] = z;
    };
    pairs_of_row(left, right, [&](const PairWriter& pair, const Value& tx, const Value& x0) {
      pair.pair_of_stacks(index_, since, tx - left, x0);
      if (!group_.fused()) return;
      pair.margins_of_tiles(index_);
      margins_of_second(pair);
    });
    if (!group_.fused()) margins_of_second(pairs_.back());
  });
}

// (A group that is not fused has one sum.)
void TileLoops::pairs_of_row(const Value& left, const Value& right,
                             const std::function<void(const PairWriter&, const Value&, const Value&)>& compute) {
  builder_.loop("tx", left, right, integer(1), [&](const Value& tx) {
    const Value x0 = builder_.let("x0", tx * shape().reach);
    if (group_.fused()) begin_pair(x0);
    for (const PairWriter& pair : pairs_) compute(pair, tx, x0);
    if (group_.fused()) epilogue();
  });
  if (!group_.fused()) pairs_.back().margins_of_tiles(index_);
}

// The regions of all passes and the places of their rings, for one pair of tiles.
void TileLoops::begin_pair(const Value& x0) {
  Region pair;
  for (std::size_t d = 0; d + 2 < rank_; ++d) {
    const bool marched = stacked() && d + 3 == rank_;
    pair.lo.push_back(index_[d]);
    pair.hi.push_back(marched ? builder_.let("hi", min(index_[d] + 2, wanted_.hi[d])) : index_[d] + 1);
  }
  Region own = pair;
  const Value ends[2] = {index_.back() + shape().high, x0 + 2 * shape().wide};
  pair.lo.insert(pair.lo.end(), {index_.back(), x0});
  for (std::size_t k = 0; k < 2; ++k) {
    const std::size_t d = rank_ - 2 + k;
    own.lo.push_back(builder_.let("lo", max(pair.lo[d], wanted_.lo[d])));
    own.hi.push_back(builder_.let("hi", min(ends[k], wanted_.hi[d])));
    pair.hi.push_back(own.hi.back());
  }
  // (Rings are those of whole tiles.)
  const std::size_t count = group_.passes().size();
  for (std::size_t p = 0; p < count; ++p)
    tile_.regions[p] = group_.is_tiled(p) && group_.in_ring(group_.pass(p).stages.front()) ? pair : own;
  for (auto& [s, region] : tile_.own) region = own;
  tile_.done.assign(count, {});
  for (std::size_t p = 0; p < count; ++p) tile_.done[p] = tile_.regions[p].hi[0];
  for (auto& [s, ring] : tile_.memory.rings)
    ring.base = builder_.let("ring", address(ring.first, x0 * -group_.bytes(s)));
}

// What reads the sums, on the results of a pair.
void TileLoops::epilogue() {
  for (std::size_t p = 0; p < group_.passes().size(); ++p) {
    const StageId front = group_.pass(p).stages.front();
    const auto before = [&](const PlacedTransform& t) { return t.prologue == front; };
    if (group_.is_tiled(p) || std::any_of(transforms_.begin(), transforms_.end(), before)) continue;
    tile_.done[p] = tile_.regions[p].lo[0];
    compute_rows(tile_, p, tile_.regions[p].hi[0]);
    tile_.done[p] = tile_.regions[p].hi[0];
  }
}

bool has_tiles(const WayQuestion& q) {
  const std::vector<plan::Pass>& passes = q.plan.groups[q.group].passes;
  return std::any_of(passes.begin(), passes.end(), [&](const plan::Pass& pass) {
    return pass.form == plan::PassForm::tiles && !q.plan.tiling(pass.stages.front()).contraction;
  });
}

}  // namespace

const CoreWay core_tiles = {
    "transform tiles", [](Schedule) { return true; },
    [](const WayQuestion& q) {
      return has_tiles(q) ? accepted(core_tiles, nullptr, nanoseconds_of_result(q))
                          : of_another_kind(core_tiles, "it has no sum that is taken through Fourier transforms");
    },
    [](const WayQuestion& q, const plan::WayAnswer&, const std::string& name, Lowered& into) {
      lower_group(q, name, [](TileFunction& tile) { TileLoops(tile).compute(); }, into);
    },
    true};

}  // namespace tessera::lower
