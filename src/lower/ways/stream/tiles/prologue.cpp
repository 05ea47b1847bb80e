// What a sum reads that is computed through Fourier transforms, while its tiles are loaded.
//
// A point beyond the image is the same function of images beyond theirs, since all are read at the same point: those
// have the border of the sum (transform.cpp). But where that is a number.
#include "lower/ways/stream/tiles/prologue.hpp"

#include "lower/ways/stream/pass.hpp"

namespace tessera::lower {

using ir::StageId;
using ir::nest::integer;
using ir::nest::Value;

namespace {

// With the numbers of a constant border.
void fill_outside(const TileFunction& tile, const PlacedTransform& t, const std::vector<Value>& index, const Value& x,
                  const Value& width) {
  const StreamGroup& group = tile.group;
  Builder& b = tile.builder;
  const StageId s = *t.prologue;
  const Border &rows = t.sum.border[group.rank - 2], &columns = t.sum.border[group.rank - 1];
  const bool rows_end = rows.mode == BorderMode::constant, columns_end = columns.mode == BorderMode::constant;
  if (!rows_end && !columns_end) return;
  const std::vector<ir::SizeId>& domain = group.stage(s).domain;
  const Value high = tile.extent(domain[group.rank - 2]), wide = tile.extent(domain[group.rank - 1]);
  const i64 size = group.bytes(s);
  const auto fill = [&](const Value& row, const Value& from, const Value& to, const Border& border) {
    b.call("tsr_fill", {address(row, from * size), to - from, integer(size), integer(group.border_bits(border, s))});
  };
  const Value end = b.let("end", x + width);
  b.loop("i", integer(0), integer(t.rows), integer(1), [&](const Value& i) {
    std::vector<Value> at = index;
    at.back() = b.let("y", index.back() + i + t.sum.weights.lo[group.rank - 2]);
    const Value row = b.let("row", tile.row_at(s, at));
    const auto ends = [&] {
      if (!columns_end) return;
      fill(row, x, b.let("to", min(max(integer(0), x), end)), columns);
      fill(row, b.let("from", min(max(wide, x), end)), end, columns);
    };
    if (!rows_end) return ends();
    const Value inside = less(integer(-1), at.back()) & less(at.back(), high);
    b.branch(inside, ends, [&] { fill(row, x, end, rows); });
  });
}

}  // namespace

void compute_prologue(TileFunction& tile, const PlacedTransform& t, const std::vector<Value>& index, const Value& x0) {
  const StreamGroup& group = tile.group;
  Builder& b = tile.builder;
  const StageId s = *t.prologue;
  const std::size_t p = group.pass_of(s), across = group.rank - 1;
  const auto& lo = t.sum.weights.lo;
  Region& region = tile.regions[p];
  region.lo = index;
  region.hi.clear();
  for (const Value& i : index) region.hi.push_back(i + 1);
  region.lo.back() = b.let("lo", index.back() + lo[group.rank - 2]);
  region.hi.back() = b.let("hi", region.lo.back() + t.rows);
  const Value x = b.let("x", x0 + lo[across]);
  const Value second = less(x0 + t.wide, tile.extent(group.stage(t.stage).domain[across]));
  const Value width = b.let("width", choose(second, integer(t.wide), integer(0)) + t.tile.columns);
  region.lo.push_back(x);
  region.hi.push_back(b.let("hi", x + width));
  Ring& ring = tile.memory.rings.at(s);
  ring.base = b.let("ring", address(ring.first, x * -group.bytes(s)));
  tile.done[p] = region.lo[0];
  compute_rows(tile, p, region.hi[0]);
  tile.done[p] = region.hi[0];
  fill_outside(tile, t, index, x, width);
}

}  // namespace tessera::lower
