// See device_tile_range.hpp.
#include "lower/device_tile_range.hpp"

#include <algorithm>

namespace tessera::lower {

using fft::Complex;
using ir::Op;
using ir::nest::flag_type;
using ir::nest::index_type;
using ir::nest::integer;
using ir::nest::load;
using ir::nest::operation;
using ir::nest::Value;

namespace {

Value both(const Value& a, const Value& b) {
  return operation(Op::bit_and, flag_type, {a, b});
}

i64 largest_divisor(i64 n, i64 most) {
  i64 divisor = std::max<i64>(1, std::min(n, most));
  while (n % divisor != 0) --divisor;
  return divisor;
}

}  // namespace

// Every window holds a whole band: bands are at most half as wide, rounded up.
TileRange::TileRange(const fft::LargeTile& tile, i64 k0, i64 k1)
    : tile_(tile), k0_(k0), k1_(k1), number_{ir::nest::lane_of(tile.number), 1, false} {
  const fft::DeviceLine line = fft::rows_of(tile);
  radix_ = line.radices.empty() ? 1 : line.radices.front();
  apart_ = line.points / radix_;
  const i64 most = (k1 + 1) / 2;
  if (apart_ <= most) {
    merged_ = largest_divisor(radix_, most / apart_);
    width_ = merged_ * apart_;
  } else {
    width_ = largest_divisor(apart_, most);
  }
  bands_ = tile.columns / width_;
  while (rows_ * rows_ < k0) ++rows_;
}

i64 TileRange::numbers() const {
  constexpr i64 together = 64;
  return (wanted_at() + tile_.high + together - 1) / together * together;
}

Value TileRange::constant(double v) const {
  return ir::nest::real(v, number_);
}

Value TileRange::chosen(const Value& flag, const Value& then, const Value& otherwise) const {
  return operation(Op::select, number_, {flag, then, otherwise});
}

Value TileRange::larger(Builder& out, const Value& a, const Value& b) const {
  return out.let("m", chosen(operation(Op::lt, flag_type, {a, b}), b, a));
}

Value TileRange::most_of(Builder& out, const Value& from, i64 count, i64 step) const {
  const Value most = out.var("most", load(from, integer(0), 1));
  out.loop("k", integer(1), integer(count), integer(1), [&](const Value& k) {
    const Value v = out.let("v", load(from, k * step, 1));
    out.assign(most, chosen(operation(Op::lt, flag_type, {most, v}), v, most));
  });
  return most;
}

void TileRange::keep(Builder& out, const Value& side, const fft::LinePoints& points,
                     const std::vector<Complex>& values) const {
  const i64 half = tile_.columns / merged_ / 2;
  for (std::size_t turn = 0; turn < points.turns.size(); ++turn) {
    const Value at = fft::wide(points.line) * cells() + fft::wide(points.turns[turn].start);
    const Value own = out.let("own", ir::nest::address(side, at));
    Value energy = constant(0);
    for (const bool second : {false, true}) {
      Value most;
      for (i64 k = 0; k < radix_; ++k) {
        const Complex& pair = values[turn * static_cast<std::size_t>(radix_) + static_cast<std::size_t>(k)];
        const Value& v = second ? pair.im : pair.re;
        energy = out.let("e", ir::nest::fused(v, v, energy));
        const Value size = out.let("m", operation(Op::abs, number_, {v}));
        most = k % merged_ == 0 ? size : larger(out, most, size);
        if ((k + 1) % merged_ == 0) out.store(own, integer(k / merged_ * apart_ + (second ? half : 0)), most);
      }
    }
    out.store(own, integer(2 * half), energy);
  }
}

void TileRange::judge(Builder& out, const Value& side, const Value& count, bool bytes) const {
  const Value thread = out.let("thread", ir::nest::call_i64("tsr_thread_x", {}));
  const char* name = number_.lane == ir::nest::Lane::f64 ? "tsr_shared_f64" : "tsr_shared_f32";
  const Value shared = ir::nest::variable(name, {number_.lane, 1, true});
  const auto each = [&](i64 items, const std::function<void(const Value&)>& body) {
    out.loop("i", thread, integer(items), integer(threads), body);
  };
  const auto part = [](Op op, const Value& a, i64 b) { return operation(op, index_type, {a, integer(b)}); };
  const auto at = [&](const Value& index) { return out.let("at", ir::nest::address(side, index)); };
  const auto everywhere = [&] { out.call("tsr_barrier_all", {}); };

  const Value energy = out.var("energy", constant(0));
  each(tile_.rows * apart_, [&](const Value& i) {
    const Value cell = part(Op::div, i, apart_) * cells() + part(Op::rem, i, apart_) + tile_.columns / merged_;
    out.assign(energy, operation(Op::add, number_, {energy, load(at(cell), integer(0), 1)}));
  });
  out.store(shared, thread, energy);
  const i64 cells_of_band = width_ / merged_;
  each(tile_.rows * bands_, [&](const Value& i) {
    const Value cell = part(Op::div, i, bands_) * cells() + part(Op::rem, i, bands_) * cells_of_band;
    out.store(side, i + bands_at(), most_of(out, at(cell), cells_of_band, 1));
  });
  everywhere();
  each((tile_.rows - rows_ + 1) * bands_,
       [&](const Value& i) { out.store(side, i + taller_at(), most_of(out, at(i + bands_at()), rows_, bands_)); });
  everywhere();
  each(tile_.high * bands_, [&](const Value& i) {
    const Value from = at(i + taller_at());
    const Value most = most_of(out, from, k0_ / rows_, rows_ * bands_);
    out.store(side, i + windows_at(), larger(out, most, load(from, integer((k0_ - rows_) * bands_), 1)));
  });

  Value least = constant(0.25);
  if (!bytes) {
    const Value sum = out.var("sum", constant(0));
    out.loop("k", integer(0), integer(threads), integer(1),
             [&](const Value& k) { out.assign(sum, operation(Op::add, number_, {sum, load(shared, k, 1)})); });
    const bool doubles = number_.lane == ir::nest::Lane::f64;
    const double share = 2.0 / (1024.0 * static_cast<double>(tile_.rows * tile_.columns));
    const Value tiny = operation(Op::lt, flag_type, {sum, constant(doubles ? 1e-280 : 1e-28)});  // squares say nothing
    const Value any = constant(doubles ? 1e300 : 1e38);
    least = out.let("least", chosen(tiny, any, operation(Op::mul, number_, {sum, constant(share)})));
  }
  everywhere();
  // Of bands that windows of results reach.
  const Value all = out.let("bands", ir::nest::min(part(Op::div, count + (k1_ - 2), width_) + 1, integer(bands_)));
  each(tile_.high, [&](const Value& i) {
    const Value from = at(i * bands_ + windows_at());
    const Value low = out.var("low", load(from, integer(0), 1));
    out.loop("j", integer(1), all, integer(1), [&](const Value& j) {
      const Value v = out.let("v", load(from, j, 1));
      out.assign(low, chosen(operation(Op::lt, flag_type, {v, low}), v, low));
    });
    const Value enough = operation(Op::le, flag_type, {least, operation(Op::mul, number_, {low, low})});
    out.store(side, i + wanted_at(), chosen(enough, constant(0), least));
  });
}

Value TileRange::wanted(Builder& out, const Value& side, const Value& line) const {
  return out.let("wanted", load(side, line + wanted_at(), 1));
}

void TileRange::narrow(Builder& out, const Value& side, const Value& line, const Value& x, const Value& least,
                       const std::function<void()>& zero, const std::function<void()>& direct) const {
  const Value own = out.let("own", ir::nest::address(side, line * bands_ + windows_at()));
  const Value inside = out.var("inside", constant(0)), touched = out.var("touched", constant(0));
  const auto band = [&](const Value& column) { return operation(Op::div, index_type, {column, integer(width_)}); };
  out.loop("j", band(x), band(x + (k1_ - 1)) + 1, integer(1), [&](const Value& j) {
    const Value v = out.let("v", load(own, j, 1));
    const auto take = [&](const Value& so_far) {
      out.assign(so_far, chosen(operation(Op::lt, flag_type, {so_far, v}), v, so_far));
    };
    take(touched);
    const Value begin = out.let("begin", j * width_);
    out.branch(both(operation(Op::le, flag_type, {x, begin}), operation(Op::le, flag_type, {begin + width_, x + k1_})),
               [&] { take(inside); });
  });
  out.branch(operation(Op::eq, flag_type, {touched, constant(0)}), zero, [&] {
    const Value square = operation(Op::mul, number_, {inside, inside});
    out.branch(operation(Op::lt, flag_type, {square, least}), direct);
  });
}

}  // namespace tessera::lower
