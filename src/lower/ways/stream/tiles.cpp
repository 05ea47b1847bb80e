// The function of a group that is one weighted sum, computed through Fourier transforms of tiles.
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
#include "lower/ways/stream/tiles.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "lower/vocabulary.hpp"

namespace tessera::lower {

using ir::StageId;
using ir::nest::integer;
using ir::nest::Lane;
using ir::nest::Value;
using ir::nest::variable;

namespace {

constexpr i64 pointer_bytes = 8;

ir::Table table_of(std::string name, ElementType type, std::vector<double> values) {
  ir::Table t;
  t.name = std::move(name);
  t.type = type;
  t.extents = {static_cast<i64>(values.size())};
  if (type == ElementType::f32)
    for (double& v : values) v = static_cast<double>(static_cast<float>(v));
  t.values = std::move(values);
  return t;
}

}  // namespace

GroupLowering::~GroupLowering() = default;

void GroupLowering::prepare_transform(ir::nest::Module& module, StageId number) {
  const ir::Stage& s = stage(number);
  transforms_.push_back(std::make_unique<Transform>());
  transform_ = transforms_.back().get();
  Transform& t = *transform_;
  t.stage = number;
  t.prologue = prologue_of(number);
  t.kept = plan_.stages[number].home == plan::Home::ring;
  t.sum = rewrite::convolution_of(plan_.graph, s, plan_.options.numbers).value();
  const rewrite::Tiling& tiling = plan_.tiling(number);
  const bool doubles = tiling.number == ElementType::f64;
  const Lane lane = doubles ? Lane::f64 : Lane::f32;
  const int lanes = plan_.device.vector_bytes / ir::nest::size_of(lane);
  t.tile = fft::plan_tile(tiling.rows, tiling.columns, {lane, lanes, false});
  const rewrite::Tensor& w = t.sum.weights;
  const i64 k0 = w.extent[rank_ - 2], k1 = w.extent[rank_ - 1];
  t.tile.grain = fft::grain_of(k1, lanes);
  t.rows = fft::tile_rows(t.tile);
  t.high = tiling.high;
  t.wide = tiling.wide;
  t.signal = rewrite::is_signal_tile(plan_.graph, s, tiling);
  t.reach = 2 * t.wide * (t.signal ? t.high : 1);
  t.rounded = !is_float(s.type);
  t.bytes = size_of(plan_.graph.stage(t.sum.source).type) == 1;
  t.function = "tsr_" + fft::name_of(t.tile) + (doubles ? "_f64" : "");
  t.planes = tiling.planes;
  t.along = tiling.along;
  t.pairs = tiling.pairs;
  const bool there = std::any_of(module.functions.begin(), module.functions.end(), [&](const ir::nest::Function& f) {
    return f.name == t.function + (stacked() ? "_back" : "");
  });
  if (!there) {
    const std::size_t first = module.functions.size();
    stacked() ? fft::add_stack(module, t.tile, t.function) : fft::add_tile(module, t.tile, t.function);
    for (std::size_t f = first; f < module.functions.size(); ++f) module.functions[f].local = true;
  }
  t.spectrum = module.tables.size();
  std::vector<double> spectrum;
  for (auto plane = w.at.begin(); plane != w.at.end(); plane += k0 * k1) {
    const std::vector<double> of_plane = fft::tile_spectrum(t.tile, {plane, plane + k0 * k1}, k0, k1);
    spectrum.insert(spectrum.end(), of_plane.begin(), of_plane.end());
  }
  module.tables.push_back(table_of("spectrum of " + s.name, tiling.number, std::move(spectrum)));
  t.weights = module.tables.size();
  // And what they sum to; whether all are of one sign.
  std::vector<double> weights = w.at;
  weights.push_back(
      std::accumulate(w.at.begin(), w.at.end(), 0.0, [](double a, double b) { return a + std::fabs(b); }));
  weights.push_back(std::all_of(w.at.begin(), w.at.end(), [](double v) { return v >= 0; }) ? 1 : 0);
  module.tables.push_back(table_of("weights of " + s.name, tiling.number, std::move(weights)));
  module.opaque.insert({t.spectrum, t.weights});
}

// Rows of tiles; pairs where those are too few for the threads. Of volumes pairs and the planes that they march
// through.
void GroupLowering::shape_of_transform(std::vector<Value>& extents, const std::vector<Value>& n, const Value& threads) {
  const Transform& t = *transforms_.front();
  if (t.signal) {
    const Value pairs = builder_->let("pairs", call_i64("tsr_ceil_div", {n.back(), integer(t.reach)}));
    extents[0] = integer(1);
    extents[1] = builder_->let("columns", call_i64("tsr_quotient", {pairs, threads * 4}) * t.reach);
    return;
  }
  Value strips = call_i64("tsr_ceil_div", {n[rank_ - 2], integer(t.high)});
  for (std::size_t d = 0; d + 2 < rank_; ++d) {
    extents[d] = integer(1);
    if (!stacked() || d + 3 < rank_) strips = strips * n[d];
  }
  extents[rank_ - 2] = integer(t.high);
  if (stacked()) {
    extents[rank_ - 1] = builder_->let("columns", min(n.back(), integer(2 * t.wide * t.pairs)));
    strips = strips * call_i64("tsr_ceil_div", {n.back(), max(extents[rank_ - 1], integer(1))});
    extents[rank_ - 3] = call_i64("tsr_tile_rows", {n[rank_ - 3], builder_->let("strips", strips), threads,
                                                    integer(4 * t.along), integer(2 * t.along)});
    return;
  }
  extents[rank_ - 1] =
      choose(less(builder_->let("strips", strips), threads * 4), min(n.back(), integer(2 * t.wide)), n.back());
}

void GroupLowering::reserve_transform() {
  const auto planes = [&](i64 down, i64 across) {
    std::vector<Value> span(rank_, integer(1));
    if (stacked()) span[rank_ - 3] = integer(2);
    span[rank_ - 2] = integer(down), span[rank_ - 1] = integer(across);
    return span;
  };
  for (std::size_t k = 0; k < transforms_.size(); ++k) {
    Transform& t = *transforms_[k];
    t.bases = reserve(integer(t.rows * pointer_bytes));
    if (t.prologue) reserve_ring(*t.prologue, planes(t.rows, t.wide + t.tile.columns));
    t.raw = reserve(integer(t.tile.columns * ir::nest::size_of(memory_lane(t.sum.source)) + 64));
    if (stacked()) t.spectra = reserve(integer((t.pairs + 1) * t.lines() * t.spectrum_bytes()));
    if (stacked()) t.energies = reserve(integer((t.pairs + 1) * t.lines() * 2 * static_cast<i64>(sizeof(double))));
    if (k > 0) {  // one after another
      t.take_memory(*transforms_.front());
      continue;
    }
    t.from = reserve(integer(2 * t.rows * pointer_bytes));
    const i64 results = stacked() ? 4 : 2;  // tiles
    t.to = reserve(integer(results * t.rows * pointer_bytes));
    t.arguments = reserve(integer(64));
    t.numbers = reserve(integer(results / 2 * fft::tile_scratch(t.tile) * t.size()));
    t.loaded = reserve(integer(2 * t.rows * t.row_bytes()));
    t.results = reserve(integer(results * t.rows * t.row_bytes()));
    if (stacked()) t.stack = reserve(integer(t.lines() * pointer_bytes));
    reserve_ranges(t);
  }
  const Transform& t = *transforms_.front();
  for (StageId s : group_.stages) {
    const auto before = [&](const auto& other) { return other->prologue == s; };
    if (plan_.stages[s].home == plan::Home::ring && std::none_of(transforms_.begin(), transforms_.end(), before))
      reserve_ring(s, planes(t.high, 2 * t.wide));
  }
}

void GroupLowering::transform() {
  const Transform& t = *transforms_.front();
  const auto each = [&](const std::function<void()>& body) {
    for (const auto& one : transforms_) {
      transform_ = one.get();
      body();
    }
  };
  std::vector<Value> index(rank_ - 1);
  const std::size_t down = rank_ - 2, across = rank_ - 1;
  wanted_ = regions_[pass_of(group_.anchor)];
  const auto& lo = wanted_.lo;
  const auto& hi = wanted_.hi;
  const std::size_t loops = stacked() ? down - 1 : down;  // stacks march through the planes of the last one
  std::function<void(std::size_t)> nest = [&](std::size_t d) {
    if (d < loops) {
      builder_->loop("z", lo[d], hi[d], integer(1), [&](const Value& i) {
        index[d] = i;
        nest(d + 1);
      });
      return;
    }
    const Value first = builder_->let("first", call_i64("tsr_floor_div", {lo[down], integer(t.high)}));
    builder_->loop(
        "ty", first, call_i64("tsr_ceil_div", {hi[down], integer(t.high)}), integer(1), [&](const Value& ty) {
          index[down] = builder_->let("y0", ty * t.high);
          each([&] {
            if (!transform_->prologue) rows_of_tiles(index);
          });
          const Value left = builder_->let("left", call_i64("tsr_floor_div", {lo[across], integer(t.reach)}));
          const Value right = builder_->let("right", call_i64("tsr_ceil_div", {hi[across], integer(t.reach)}));
          const auto pairs = [&](const std::function<void(const Value& tx, const Value& x0)>& pair) {
            builder_->loop("tx", left, right, integer(1), [&](const Value& tx) {
              const Value x0 = builder_->let("x0", tx * t.reach);
              begin_pair(index, x0);
              each([&] { pair(tx, x0); });
              if (fused()) epilogue();
            });
            if (!fused()) margins_of_tiles(index);
          };
          if (!stacked())
            return pairs([&](const Value&, const Value& x0) {
              if (transform_->prologue) prologue(index, x0);
              pair_of_tiles(index, x0);
              if (fused()) margins_of_tiles(index);
            });
          builder_->loop("z", lo[loops], hi[loops], integer(2), [&](const Value& z) {
            index[loops] = z;
            const Value since = builder_->let("since", z - lo[loops]);
            const auto second = [&] {
              index[loops] = builder_->let("z", z + 1);
              builder_->branch(less(index[loops], hi[loops]), [&] { margins_of_tiles(index); });
              index[loops] = z;
            };
            pairs([&](const Value& tx, const Value& x0) {
              pair_of_stacks(index, since, tx - left, x0);
              if (!fused()) return;
              margins_of_tiles(index);
              second();
            });
            if (!fused()) second();
          });
        });
  };
  nest(0);
}

// Where the rows that a row of tiles reads begin; those of stacks, in plane 0.
void GroupLowering::rows_of_tiles(const std::vector<Value>& index) {
  const Transform& t = *transform_;
  const rewrite::Convolution& sum = t.sum;
  const std::vector<ir::SizeId>& domain = stage(sum.source).domain;
  const std::size_t down = rank_ - 2;
  builder_->loop("i", integer(0), integer(t.rows), integer(1), [&](const Value& i) {
    std::vector<Value> at = index;
    if (stacked()) std::fill(at.begin(), at.end(), integer(0));
    const BorderMode mode = sum.border[down].mode;
    const Value n = extent(domain[down]);
    Value r = builder_->let("row", t.signal ? integer(0) : index[down] + i + sum.weights.lo[down]);
    if (mode != BorderMode::none && mode != BorderMode::clamp)
      r = builder_->let("row", call_i64("tsr_map", {integer(static_cast<i64>(mode)), r, n}));
    at[down] = builder_->let("row", call_i64("tsr_clamp", {r, integer(0), n - 1}));
    const Value row = builder_->let("from", row_at(sum.source, at));
    if (mode != BorderMode::constant) return builder_->call("tsr_set_row", {t.bases, i, row});
    builder_->branch(
        less(r, integer(0)), [&] { builder_->call("tsr_no_row", {t.bases, i}); },
        [&] { builder_->call("tsr_set_row", {t.bases, i, row}); });
  });
}

void GroupLowering::pair_of_tiles(const std::vector<Value>& index, const Value& x0) {
  const Transform& t = *transform_;
  const Value arguments = builder_->let("n", convert({Lane::i64, 1, true}, t.arguments));
  TilePart parts[2];
  for (i64 p = 0; p < 2; ++p) {
    parts[p] = part_of(p, index, x0);
    load_tile(parts[p], index, x0, nullptr);
    place_results(parts[p], index);
    builder_->store(arguments, integer(2 * p), parts[p].high);
    builder_->store(arguments, integer(2 * p + 1), parts[p].wide);
  }
  builder_->store(arguments, integer(4), integer(t.reach));
  const auto numbers = [&](const Value& memory) { return convert({t.lane(), 1, true}, memory); };
  const auto rows = [](const Value& table) { return ir::nest::call("tsr_rows", bytes_pointer, {table}); };
  builder_->call(t.function,
                 {rows(t.from), rows(t.to), variable("tsr_table_" + std::to_string(t.spectrum), {t.lane(), 1, true}),
                  numbers(t.numbers), arguments});
  finish_pair(parts, index, x0, doubtful_pair());
}

// Sums up directly what is not finite; copies what was stored aside.
void GroupLowering::finish_pair(const TilePart (&parts)[2], const std::vector<Value>& index, const Value& x0,
                                const Value& doubtful) {
  const Transform& t = *transform_;
  const auto numbers = [&](const Value& memory) { return convert({t.lane(), 1, true}, memory); };
  // One result tells: a number that is not finite is in all of the frequencies.
  // (Rows of tiles of one row are tiles of their own.)
  const Value first = builder_->let("first", integer(0));
  Value finite = integer(1, flag_type);
  for (const TilePart& part : parts) {
    Value fine = builder_->var("finite", integer(1, flag_type));
    const Value some = t.tile.rows == 1 ? part.high : choose(part.there, integer(1), integer(0));
    builder_->loop("i", integer(0), builder_->let("some", some), integer(1), [&](const Value& i) {
      const Value row = ir::nest::call("tsr_row", bytes_pointer, {t.to, i + part.number * t.rows});
      const Value v = builder_->let("v", load(numbers(row), first, 1));
      const Value difference = v - v;
      const Value same = equal(difference, ir::nest::real(0, v->type));
      builder_->assign(fine, fine & same);
    });
    finite = finite & fine;
  }
  const Value spoilt = builder_->let("spoilt", equal(finite, 0));
  if (doubtful) builder_->branch(finite & doubtful, [&] { narrow_ranges(parts, index, x0); });
  for (const TilePart& part : parts) {
    builder_->branch(part.wanted & spoilt, [&] {
      clear_results(part);
      if (!stacked()) return sum_directly(part, integer(0));
      each_plane(
          [&](const Value& volume, const Value& along) {
            const Plane plane = plane_at(index, volume, along);
            load_tile(part, index, x0, &plane);
            const i64 weights = t.sum.weights.extent[rank_ - 2] * t.sum.weights.extent[rank_ - 1];
            sum_directly(part, (volume * t.along + along) * weights);
          },
          integer(0), t.along);
    });
    copy_results(part, index);
  }
}

GroupLowering::TilePart GroupLowering::part_of(i64 number, const std::vector<Value>& index, const Value& x0) {
  const Transform& t = *transform_;
  const std::size_t down = rank_ - 2, across = rank_ - 1;
  TilePart part;
  part.number = number;
  part.x = builder_->let("x", x0 + number * t.wide);
  const Region& region = wanted_;
  const std::vector<ir::SizeId>& domain = stage(t.stage).domain;
  const Value n = extent(domain[across]);
  part.there = builder_->let("there", less(part.x, n));
  const auto here = [&](const Value& results) { return choose(part.there, results, integer(0)); };
  if (t.signal) {
    const Value left = n - part.x + (2 * t.wide - 1);
    part.high =
        builder_->let("high", here(min(call_i64("tsr_floor_div", {left, integer(2 * t.wide)}), integer(t.high))));
    part.wide = builder_->let("wide", here(integer(t.wide)));
    part.r0 = part.c0 = integer(0);
    part.r1 = part.high, part.c1 = part.wide;
    const Value end = builder_->let("end", part.x + t.ahead(part.high) - t.wide);
    part.wanted =
        builder_->let("wanted", part.there & (less(part.x, region.hi[across]) & less(region.lo[across], end)));
    const Value all = less(region.lo[across], part.x + 1) & less(part.x + (t.reach - t.wide - 1), region.hi[across]);
    part.whole = builder_->let("whole", part.wanted & all);
    return part;
  }
  part.high = builder_->let("high", here(min(extent(domain[down]) - index[down], integer(t.high))));
  part.wide = builder_->let("wide", here(min(n - part.x, integer(t.wide))));
  part.r0 = builder_->let("r0", max(region.lo[down] - index[down], integer(0)));
  part.r1 = builder_->let("r1", min(region.hi[down] - index[down], part.high));
  part.c0 = builder_->let("c0", max(region.lo[across] - part.x, integer(0)));
  part.c1 = builder_->let("c1", min(region.hi[across] - part.x, part.wide));
  part.wanted = builder_->let("wanted", less(part.c0, part.c1) & less(part.r0, part.r1));
  const Value all_rows = equal(part.r0, 0) & equal(part.r1, part.high);
  const Value all_columns = equal(part.c0, 0) & equal(part.c1, part.wide);
  // (A ring has room for whole tiles.)
  part.whole = t.kept ? part.wanted : builder_->let("whole", part.wanted & (all_rows & all_columns));
  return part;
}

// The rows of a tile: where they lie, or copies of them. A second tile beyond the image reads those of the first; one
// that is not wanted is read as well, so that the other one has the same roundings in every part of the image.
void GroupLowering::load_tile(const TilePart& part, const std::vector<Value>& index, const Value& x0,
                              const Plane* plane) {
  const Transform& t = *transform_;
  const StageId source = t.sum.source;
  const Lane memory = memory_lane(source);
  const i64 size = ir::nest::size_of(memory), columns = t.tile.columns;
  const bool native = memory == t.lane();
  const Border& border = t.sum.border.back();
  const Value n = extent(stage(source).domain.back());
  const Value first = builder_->let("x", choose(part.there, part.x, x0) + t.sum.weights.lo[rank_ - 1]);
  const auto lies_inside = [&](const Value& x) {
    return builder_->let("inside", less(integer(-1), x) & less(x + (columns - 1), n));
  };
  Value x = first, inside = t.signal ? Value() : lies_inside(x);
  builder_->loop("i", integer(0), integer(t.rows), integer(1), [&](const Value& i) {
    if (t.signal) {  // (Parts behind its end are the first one once more.)
      x = builder_->let("x", first + choose(less(i, part.high), t.ahead(i), integer(0)));
      inside = lies_inside(x);
    }
    Value row_base;
    if (t.prologue) {
      std::vector<Value> at = index;
      at.back() = index.back() + i + t.sum.weights.lo[rank_ - 2];
      row_base = row_at(source, at);
    } else {
      row_base = ir::nest::call("tsr_row", bytes_pointer, {t.bases, i});
    }
    const Value base = builder_->let("base", plane == nullptr ? row_base : address(row_base, plane->offset));
    const Value place = builder_->let("place", i + part.side() * t.rows);
    const Value own = builder_->let("own", address(t.loaded, place * t.row_bytes()));
    const auto take = [&](const Value& row) { builder_->call("tsr_set_row", {t.from, place, row}); };
    const auto converted = [&](const Value& row) {
      const Value from = builder_->let("from", typed(source, row));
      const Value to = builder_->let("to", convert({t.lane(), 1, true}, own));
      builder_->loop("c", integer(0), integer(columns), integer(1),
                     [&](const Value& c) { builder_->store(to, c, convert({t.lane(), 1, false}, load(from, c, 1))); });
    };
    const auto patched = [&](const Value& to) {
      // The next plane is asked for; rows that are read where they lie do so themselves.
      for (i64 line = 0; plane != nullptr && line < columns * size; line += 64)
        builder_->call("tsr_prefetch", {base, x * size + plane->next + line});
      builder_->call("tsr_patch", {to, base, ir::nest::call("tsr_nowhere", bytes_pointer, {}), x, integer(columns), n,
                                   integer(static_cast<i64>(border.mode)), integer(1), integer(size),
                                   integer(border_bits(border, source))});
    };
    const auto at_once = [&] {
      const Value here = builder_->let("here", address(base, x * size));
      native ? take(here) : converted(here);
    };
    const auto row = [&] {
      if (t.prologue) return at_once();
      builder_->branch(inside, at_once, [&] {
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
    Value bits = integer(rows_end ? border_bits(rows, source) : 0);
    if (planes_end) {
      there = choose(plane->outside, integer(0), convert(index_type, there));
      bits = choose(plane->outside, plane->bits, bits);
    }
    builder_->branch(convert(flag_type, there), row, [&] {
      const Value to = native ? own : t.raw;
      builder_->call("tsr_fill", {to, integer(columns), integer(size), bits});
      native ? take(own) : converted(t.raw);
    });
  });
}

void GroupLowering::place_results(const TilePart& part, const std::vector<Value>& index) {
  const Transform& t = *transform_;
  builder_->loop("i", integer(0), max(part.high, integer(1)), integer(1), [&](const Value& i) {
    const Value place = builder_->let("place", i + part.number * t.rows);
    const auto aside = [&] { builder_->call("tsr_set_row", {t.to, place, address(t.results, place * t.row_bytes())}); };
    if (t.rounded) return aside();
    std::vector<Value> at = index;
    if (!t.signal) at.back() = index.back() + i;
    builder_->branch(
        part.whole,
        [&] {
          const Value row = address(row_at(t.stage, at), (part.x + t.ahead(i)) * t.size());
          builder_->call("tsr_set_row", {t.to, place, builder_->let("to", row)});
        },
        aside);
  });
}

void GroupLowering::clear_results(const TilePart& part) {
  const Transform& t = *transform_;
  builder_->loop("i", integer(0), part.r1, integer(1), [&](const Value& i) {
    const Value row = ir::nest::call("tsr_row", bytes_pointer, {t.to, i + part.number * t.rows});
    const Value to = builder_->let("row", convert({t.lane(), 1, true}, row));
    builder_->loop("c", integer(0), part.c1, integer(1),
                   [&](const Value& c) { builder_->store(to, c, ir::nest::real(0, {t.lane(), 1, false})); });
  });
}

// Row by row, every weight times a row.
void GroupLowering::sum_directly(const TilePart& part, const Value& first_weight) {
  const Transform& t = *transform_;
  const rewrite::Tensor& w = t.sum.weights;
  const ir::nest::Type pointer{t.lane(), 1, true};
  const auto row_of = [&](const Value& table, const Value& row) {
    return builder_->let("row", convert(pointer, ir::nest::call("tsr_row", bytes_pointer, {table, row})));
  };
  const Value weights = variable("tsr_table_" + std::to_string(t.weights), pointer);
  builder_->loop("i", integer(0), part.r1, integer(1), [&](const Value& i) {
    const Value to = row_of(t.to, i + part.number * t.rows);
    const i64 k0 = w.extent[rank_ - 2], k1 = w.extent[rank_ - 1];
    builder_->loop("k", integer(0), integer(k0), integer(1), [&](const Value& k) {
      const Value from = row_of(t.from, i + k + part.side() * t.rows);
      builder_->loop("l", integer(0), integer(k1), integer(1), [&](const Value& l) {
        const Value weight = builder_->let("w", load(weights, first_weight + k * k1 + l, 1));
        const Value counts = differs(weight, ir::nest::real(0, weight->type));
        builder_->branch(counts, [&] {
          builder_->loop("c", integer(0), part.c1, integer(1), [&](const Value& c) {
            const Value term = weight * load(from, c + l, 1);
            builder_->store(to, c, load(to, c, 1) + term);
          });
        });
      });
    });
  });
}

// What was stored aside goes where it belongs; integers are rounded on the way.
void GroupLowering::copy_results(const TilePart& part, const std::vector<Value>& index) {
  const Transform& t = *transform_;
  Value aside = part.wanted;
  if (!t.rounded) aside = aside & equal(part.whole, 0);
  const ir::nest::Type number{t.lane(), 1, false}, stored{memory_lane(t.stage), 1, false};
  const Value middle = ir::nest::real(t.lane() == Lane::f64 ? 0x1.8p52 : 0x1.8p23, number);  // adds up to integers
  builder_->branch(builder_->let("aside", aside), [&] {
    builder_->loop("i", part.r0, part.r1, integer(1), [&](const Value& i) {
      std::vector<Value> at = index;
      Value x = part.x, c0 = part.c0, c1 = part.c1;
      if (t.signal) {
        x = builder_->let("x", part.x + t.ahead(i));
        c0 = builder_->let("c0", max(wanted_.lo.back() - x, integer(0)));
        c1 = builder_->let("c1", max(min(wanted_.hi.back() - x, integer(t.wide)), c0));
      } else {
        at.back() = index.back() + i;
      }
      const i64 size = ir::nest::size_of(stored.lane);
      const Value to = builder_->let("to", address(row_at(t.stage, at), (x + c0) * size));
      const Value from =
          builder_->let("from", address(t.results, (i + part.number * t.rows) * t.row_bytes() + c0 * t.size()));
      const Value count = builder_->let("count", c1 - c0);
      if (!t.rounded) return builder_->call("tsr_copy", {to, from, count * size});
      const Value numbers = builder_->let("from", convert({t.lane(), 1, true}, from));
      const Value integers = builder_->let("to", typed(t.stage, to));
      builder_->loop("c", integer(0), count, integer(1), [&](const Value& c) {
        const Value v = builder_->let("v", load(numbers, c, 1) + middle);
        const Value whole = builder_->let("whole", convert(index_type, v - middle));  // wider than what wraps around
        builder_->store(integers, c, convert(stored, whole));
      });
    });
  });
}

void GroupLowering::margins_of_tiles(const std::vector<Value>& index) {
  const StageId number = transform_->stage;
  const ir::Stage& s = stage(number);
  bool margins = false;
  for (std::size_t d = 0; d < rank_; ++d) margins |= s.margin_lo[d] > 0 || s.margin_hi[d] > 0;
  if (!margins) return;
  const Value y0 = index.back();
  const Region& region = regions_[pass_of(number)];
  const Value first = max(region.lo[rank_ - 2], y0), last = min(region.hi[rank_ - 2], y0 + transform_->high);
  builder_->loop("y", builder_->let("first", first), builder_->let("last", last), integer(1), [&](const Value& y) {
    std::vector<Value> at = index;
    at.back() = y;
    finish_row(number, at, builder_->let("to", row_at(number, at)));
  });
}

}  // namespace tessera::lower
