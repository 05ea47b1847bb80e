// A weighted sum that is computed through Fourier transforms of tiles.
//
//   for every row of tiles:
//     a pointer to every row of the image that they read: borders of rows are settled here
//     for every pair of tiles side by side:
//       rows that lie in the image as the tile wants them are read where they lie; others are copied, continued by
//       their border, and converted
//       the function of the pair: forward, times the spectrum of the weights, back (fft/cpu/tile.hpp)
//       (of volumes: the pairs of several planes forward, the sum of their products back, see stack.cpp)
//       a pair with a result that is not finite is summed up directly: NaN spreads as far as the weights reach
//
// Tiles lie at multiples of their results from the origin of the image, whatever part of it is computed: so a point is
// the same in every region and with any number of threads. A tile is computed as a whole, by the same text, whatever is
// wanted of it; the rest goes aside.
#include "lower/ways/stream/tiles/pairs.hpp"

#include <algorithm>

#include "lower/ways/stream/finish.hpp"
#include "lower/ways/stream/tiles/ranges.hpp"

namespace tessera::lower {

using ir::StageId;
using ir::nest::integer;
using ir::nest::Lane;
using ir::nest::Value;

void PairWriter::rows_of_tiles(const Index& index) const {
  const PlacedTransform& t = t_;
  const rewrite::Convolution& sum = t.sum;
  const std::vector<ir::SizeId>& domain = group_.stage(sum.source).domain;
  const std::size_t down = rank_ - 2;
  builder_.loop("i", integer(0), integer(t.rows), integer(1), [&](const Value& i) {
    std::vector<Value> at = index;
    if (t_.stacked()) std::fill(at.begin(), at.end(), integer(0));
    const BorderMode mode = sum.border[down].mode;
    const Value n = tile_.extent(domain[down]);
    Value r = builder_.let("row", t.signal ? integer(0) : index[down] + i + sum.weights.lo[down]);
    if (mode != BorderMode::none && mode != BorderMode::clamp)
      r = builder_.let("row", call_i64("tsr_map", {integer(static_cast<i64>(mode)), r, n}));
    at[down] = builder_.let("row", call_i64("tsr_clamp", {r, integer(0), n - 1}));
    const Value row = builder_.let("from", tile_.row_at(sum.source, at));
    if (mode != BorderMode::constant) return builder_.call("tsr_set_row", {t.bases, i, row});
    builder_.branch(
        less(r, integer(0)), [&] { builder_.call("tsr_no_row", {t.bases, i}); },
        [&] { builder_.call("tsr_set_row", {t.bases, i, row}); });
  });
}

void PairWriter::pair_of_tiles(const Index& index, const Value& x0) const {
  const PlacedTransform& t = t_;
  const Value arguments = builder_.let("n", convert({Lane::i64, 1, true}, t.arguments));
  PairedTile parts[2];
  for (i64 p = 0; p < 2; ++p) {
    parts[p] = part_of(p, index, x0);
    load_tile(parts[p], index, x0, nullptr);
    place_results(parts[p], index);
    builder_.store(arguments, integer(2 * p), parts[p].high);
    builder_.store(arguments, integer(2 * p + 1), parts[p].wide);
  }
  builder_.store(arguments, integer(4), integer(t.reach));
  builder_.call(t.function, {rows_of(t.from), rows_of(t.to), t.table(t.spectrum), t.numbers_at(t.numbers), arguments});
  finish_pair(parts, index, x0, RangeCheck(*this).doubtful_pair());
}

// Sums up directly what is not finite; copies what was stored aside.
void PairWriter::finish_pair(const PairedTile (&parts)[2], const Index& index, const Value& x0,
                             const Value& doubtful) const {
  const PlacedTransform& t = t_;
  // One result tells: a number that is not finite is in all of the frequencies.
  Value finite = integer(1, flag_type);
  for (const PairedTile& part : parts) finite = finite & is_finite(part);
  const Value spoilt = builder_.let("spoilt", equal(finite, 0));
  if (doubtful) builder_.branch(finite & doubtful, [&] { RangeCheck(*this).narrow_ranges(parts, index, x0); });
  for (const PairedTile& part : parts) {
    builder_.branch(part.wanted & spoilt, [&] {
      clear_results(part);
      if (!t_.stacked()) return sum_directly(part, integer(0));
      each_plane(
          [&](const Value& volume, const Value& along) {
            const ReadPlane plane = plane_at(index, volume, along);
            load_tile(part, index, x0, &plane);
            sum_directly(part, (volume * t.along + along) * t.weights_of_plane);
          },
          integer(0), t.along);
    });
    copy_results(part, index);
  }
}

// (Rows of tiles of one row are tiles of their own.)
Value PairWriter::is_finite(const PairedTile& part) const {
  Value fine = builder_.var("finite", integer(1, flag_type));
  const Value some = t_.tile.rows == 1 ? part.high : choose(part.there, integer(1), integer(0));
  builder_.loop("i", integer(0), builder_.let("some", some), integer(1), [&](const Value& i) {
    const Value row = ir::nest::call("tsr_row", bytes_pointer, {t_.to, i + part.number * t_.rows});
    const Value v = builder_.let("v", load(t_.numbers_at(row), integer(0), 1));
    const Value difference = v - v;
    const Value same = equal(difference, ir::nest::real(0, v->type));
    builder_.assign(fine, fine & same);
  });
  return fine;
}

PairedTile PairWriter::part_of(i64 number, const Index& index, const Value& x0) const {
  const PlacedTransform& t = t_;
  const std::size_t down = rank_ - 2, across = rank_ - 1;
  PairedTile part;
  part.number = number;
  part.x = builder_.let("x", x0 + number * t.wide);
  const Region& region = wanted_;
  const std::vector<ir::SizeId>& domain = group_.stage(t.stage).domain;
  const Value n = tile_.extent(domain[across]);
  part.there = builder_.let("there", less(part.x, n));
  if (t.signal) return part_of_signal(part);
  const auto here = [&](const Value& results) { return choose(part.there, results, integer(0)); };
  part.high = builder_.let("high", here(min(tile_.extent(domain[down]) - index[down], integer(t.high))));
  part.wide = builder_.let("wide", here(min(n - part.x, integer(t.wide))));
  part.r0 = builder_.let("r0", max(region.lo[down] - index[down], integer(0)));
  part.r1 = builder_.let("r1", min(region.hi[down] - index[down], part.high));
  part.c0 = builder_.let("c0", max(region.lo[across] - part.x, integer(0)));
  part.c1 = builder_.let("c1", min(region.hi[across] - part.x, part.wide));
  part.wanted = builder_.let("wanted", less(part.c0, part.c1) & less(part.r0, part.r1));
  const Value all_rows = equal(part.r0, 0) & equal(part.r1, part.high);
  const Value all_columns = equal(part.c0, 0) & equal(part.c1, part.wide);
  // (A ring has room for whole tiles.)
  part.whole = t.kept ? part.wanted : builder_.let("whole", part.wanted & (all_rows & all_columns));
  return part;
}

// Its rows are parts of the signal, one behind the other.
PairedTile PairWriter::part_of_signal(PairedTile part) const {
  const PlacedTransform& t = t_;
  const std::size_t across = rank_ - 1;
  const Value n = tile_.extent(group_.stage(t.stage).domain[across]);
  const auto here = [&](const Value& results) { return choose(part.there, results, integer(0)); };
  const Value left = n - part.x + (2 * t.wide - 1);
  part.high = builder_.let("high", here(min(call_i64("tsr_floor_div", {left, integer(2 * t.wide)}), integer(t.high))));
  part.wide = builder_.let("wide", here(integer(t.wide)));
  part.r0 = part.c0 = integer(0);
  part.r1 = part.high, part.c1 = part.wide;
  const Value end = builder_.let("end", part.x + t.ahead(part.high) - t.wide);
  part.wanted = builder_.let("wanted", part.there & (less(part.x, wanted_.hi[across]) & less(wanted_.lo[across], end)));
  const Value all = less(wanted_.lo[across], part.x + 1) & less(part.x + (t.reach - t.wide - 1), wanted_.hi[across]);
  part.whole = builder_.let("whole", part.wanted & all);
  return part;
}

// The rows of a tile: where they lie, or copies of them. A second tile beyond the image reads those of the first; one
// that is not wanted is read as well, so that the other one has the same roundings in every part of the image.
void PairWriter::load_tile(const PairedTile& part, const Index& index, const Value& x0, const ReadPlane* plane) const {
  const PlacedTransform& t = t_;
  const StageId source = t.sum.source;
  const Lane memory = group_.memory_lane(source);
  const i64 size = ir::nest::size_of(memory), columns = t.tile.columns;
  const bool native = memory == t.lane();
  const Border& border = t.sum.border.back();
  const Value n = tile_.extent(group_.stage(source).domain.back());
  const Value first = builder_.let("x", choose(part.there, part.x, x0) + t.sum.weights.lo[rank_ - 1]);
  const auto lies_inside = [&](const Value& x) {
    return builder_.let("inside", less(integer(-1), x) & less(x + (columns - 1), n));
  };
  Value x = first, inside = t.signal ? Value() : lies_inside(x);
  builder_.loop("i", integer(0), integer(t.rows), integer(1), [&](const Value& i) {
    if (t.signal) {  // (Parts behind its end are the first one once more.)
      x = builder_.let("x", first + choose(less(i, part.high), t.ahead(i), integer(0)));
      inside = lies_inside(x);
    }
    Value row_base;
    if (t.prologue) {
      std::vector<Value> at = index;
      at.back() = index.back() + i + t.sum.weights.lo[rank_ - 2];
      row_base = tile_.row_at(source, at);
    } else {
      row_base = ir::nest::call("tsr_row", bytes_pointer, {t.bases, i});
    }
    const Value base = builder_.let("base", plane == nullptr ? row_base : address(row_base, plane->offset));
    const Value place = builder_.let("place", i + part.side() * t.rows);
    const Value own = builder_.let("own", address(t.loaded, place * t.row_bytes()));
    const auto take = [&](const Value& row) { builder_.call("tsr_set_row", {t.from, place, row}); };
    const auto converted = [&](const Value& row) {
      const Value from = builder_.let("from", group_.typed(source, row));
      const Value to = builder_.let("to", t.numbers_at(own));
      builder_.loop("c", integer(0), integer(columns), integer(1),
                    [&](const Value& c) { builder_.store(to, c, convert({t.lane(), 1, false}, load(from, c, 1))); });
    };
    const auto patched = [&](const Value& to) {
      // The next plane is asked for; rows that are read where they lie do so themselves.
      for (i64 line = 0; plane != nullptr && line < columns * size; line += 64)
        builder_.call("tsr_prefetch", {base, x * size + plane->next + line});
      builder_.call("tsr_patch", {to, base, ir::nest::call("tsr_nowhere", bytes_pointer, {}), x, integer(columns), n,
                                  integer(static_cast<i64>(border.mode)), integer(1), integer(size),
                                  integer(group_.border_bits(border, source))});
    };
    const auto at_once = [&] {
      const Value here = builder_.let("here", address(base, x * size));
      native ? take(here) : converted(here);
    };
    const auto row = [&] {
      if (t.prologue) return at_once();
      builder_.branch(inside, at_once, [&] {
        patched(native ? own : t.raw);
        if (!native) converted(t.raw);
        if (native) take(own);
      });
    };
    if (!native) take(own);
    const Border& rows = t.sum.border[rank_ - 2];
    const bool planes_end = plane != nullptr && plane->outside != nullptr, rows_end = rows.mode == BorderMode::constant;
    if (t.prologue || (!rows_end && !planes_end)) return row();
    Value there = rows_end ? ir::nest::call("tsr_is_row", flag_type, {row_base}) : integer(1, flag_type);
    Value bits = integer(rows_end ? group_.border_bits(rows, source) : 0);
    if (planes_end) {
      there = choose(plane->outside, integer(0), convert(index_type, there));
      bits = choose(plane->outside, plane->bits, bits);
    }
    builder_.branch(convert(flag_type, there), row, [&] {
      const Value to = native ? own : t.raw;
      builder_.call("tsr_fill", {to, integer(columns), integer(size), bits});
      native ? take(own) : converted(t.raw);
    });
  });
}

void PairWriter::place_results(const PairedTile& part, const Index& index) const {
  const PlacedTransform& t = t_;
  builder_.loop("i", integer(0), max(part.high, integer(1)), integer(1), [&](const Value& i) {
    const Value place = builder_.let("place", i + part.number * t.rows);
    const auto aside = [&] { builder_.call("tsr_set_row", {t.to, place, address(t.results, place * t.row_bytes())}); };
    if (t.rounded) return aside();
    std::vector<Value> at = index;
    if (!t.signal) at.back() = index.back() + i;
    builder_.branch(
        part.whole,
        [&] {
          const Value row = address(tile_.row_at(t.stage, at), (part.x + t.ahead(i)) * t.size());
          builder_.call("tsr_set_row", {t.to, place, builder_.let("to", row)});
        },
        aside);
  });
}

void PairWriter::clear_results(const PairedTile& part) const {
  const PlacedTransform& t = t_;
  builder_.loop("i", integer(0), part.r1, integer(1), [&](const Value& i) {
    const Value row = ir::nest::call("tsr_row", bytes_pointer, {t.to, i + part.number * t.rows});
    const Value to = builder_.let("row", t.numbers_at(row));
    builder_.loop("c", integer(0), part.c1, integer(1),
                  [&](const Value& c) { builder_.store(to, c, ir::nest::real(0, {t.lane(), 1, false})); });
  });
}

// Row by row, every weight times a row.
void PairWriter::sum_directly(const PairedTile& part, const Value& first_weight) const {
  const PlacedTransform& t = t_;
  const rewrite::Tensor& w = t.sum.weights;
  const ir::nest::Type pointer{t.lane(), 1, true};
  const auto row_of = [&](const Value& table, const Value& row) {
    return builder_.let("row", convert(pointer, ir::nest::call("tsr_row", bytes_pointer, {table, row})));
  };
  const Value weights = t.table(t.weights);
  builder_.loop("i", integer(0), part.r1, integer(1), [&](const Value& i) {
    const Value to = row_of(t.to, i + part.number * t.rows);
    const i64 k0 = w.extent[rank_ - 2], k1 = w.extent[rank_ - 1];
    builder_.loop("k", integer(0), integer(k0), integer(1), [&](const Value& k) {
      const Value from = row_of(t.from, i + k + part.side() * t.rows);
      builder_.loop("l", integer(0), integer(k1), integer(1), [&](const Value& l) {
        const Value weight = builder_.let("w", load(weights, first_weight + k * k1 + l, 1));
        const Value counts = differs(weight, ir::nest::real(0, weight->type));
        builder_.branch(counts, [&] {
          builder_.loop("c", integer(0), part.c1, integer(1), [&](const Value& c) {
            const Value term = weight * load(from, c + l, 1);
            builder_.store(to, c, load(to, c, 1) + term);
          });
        });
      });
    });
  });
}

// What was stored aside goes where it belongs; integers are rounded on the way.
void PairWriter::copy_results(const PairedTile& part, const Index& index) const {
  const PlacedTransform& t = t_;
  Value aside = part.wanted;
  if (!t.rounded) aside = aside & equal(part.whole, 0);
  const ir::nest::Type number{t.lane(), 1, false}, stored{group_.memory_lane(t.stage), 1, false};
  const Value middle = ir::nest::real(t.lane() == Lane::f64 ? 0x1.8p52 : 0x1.8p23, number);  // adds up to integers
  builder_.branch(builder_.let("aside", aside), [&] {
    builder_.loop("i", part.r0, part.r1, integer(1), [&](const Value& i) {
      std::vector<Value> at = index;
      Value x = part.x, c0 = part.c0, c1 = part.c1;
      if (t.signal) {
        x = builder_.let("x", part.x + t.ahead(i));
        c0 = builder_.let("c0", max(wanted_.lo.back() - x, integer(0)));
        c1 = builder_.let("c1", max(min(wanted_.hi.back() - x, integer(t.wide)), c0));
      } else {
        at.back() = index.back() + i;
      }
      const i64 size = ir::nest::size_of(stored.lane);
      const Value to = builder_.let("to", address(tile_.row_at(t.stage, at), (x + c0) * size));
      const Value from =
          builder_.let("from", address(t.results, (i + part.number * t.rows) * t.row_bytes() + c0 * t.size()));
      const Value count = builder_.let("count", c1 - c0);
      if (!t.rounded) return builder_.call("tsr_copy", {to, from, count * size});
      const Value numbers = builder_.let("from", t.numbers_at(from));
      const Value integers = builder_.let("to", group_.typed(t.stage, to));
      builder_.loop("c", integer(0), count, integer(1), [&](const Value& c) {
        const Value v = builder_.let("v", load(numbers, c, 1) + middle);
        const Value whole = builder_.let("whole", convert(index_type, v - middle));  // wider than what wraps around
        builder_.store(integers, c, convert(stored, whole));
      });
    });
  });
}

void PairWriter::margins_of_tiles(const Index& index) const {
  const StageId number = t_.stage;
  if (!group_.has_margins(number)) return;
  const Value y0 = index.back();
  const Region& region = tile_.regions[group_.pass_of(number)];
  const Value first = max(region.lo[rank_ - 2], y0), last = min(region.hi[rank_ - 2], y0 + t_.high);
  builder_.loop("y", builder_.let("first", first), builder_.let("last", last), integer(1), [&](const Value& y) {
    std::vector<Value> at = index;
    at.back() = y;
    finish_row(tile_, number, at, builder_.let("to", tile_.row_at(number, at)));
  });
}

}  // namespace tessera::lower
