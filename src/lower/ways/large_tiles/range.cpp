// See range.hpp.
#include "lower/ways/large_tiles/range.hpp"

#include <algorithm>

namespace tessera::lower {

using fft::Complex;
using ir::nest::flag_type;
using ir::nest::index_type;
using ir::nest::integer;
using ir::nest::Lane;
using ir::nest::load;
using ir::nest::operation;
using ir::nest::Type;
using ir::nest::Value;

namespace {

constexpr i64 most_skipped = 8, rows_looked_at = 8, parts = 32;
constexpr i64 bits = 32;
constexpr Type word{Lane::u32, 1, false}, words_pointer{Lane::u32, 1, true};

Value none() {
  return integer(0, word);
}

i64 largest_divisor(i64 n, i64 most) {
  i64 divisor = std::max<i64>(1, std::min(n, most));
  while (n % divisor != 0) --divisor;
  return divisor;
}

i64 root_of(i64 n) {
  i64 root = 1;
  while (root * root < n) ++root;
  return root;
}

}  // namespace

// Every window holds a whole band: bands are at most half as wide, rounded up. Points of a thread are `apart_` columns
// apart; the threads of a line begin at columns beside each other.
TileRange::TileRange(const fft::LargeTile& tile, i64 k0, i64 k1)
    : tile_(tile), k0_(k0), k1_(k1), number_{ir::nest::lane_of(tile.number), 1, false} {
  const fft::DeviceLine line = fft::rows_of(tile);
  radix_ = line.radices.empty() ? 1 : line.radices.front();
  apart_ = line.points / radix_;
  const i64 most = (k1 + 1) / 2;
  if (apart_ <= most) {
    merged_ = largest_divisor(radix_, most / apart_);
    width_ = merged_ * apart_;
    every_ = largest_divisor(apart_, most_skipped);
  } else {
    width_ = largest_divisor(apart_, most);
    every_ = largest_divisor(width_, most_skipped);
  }
  bands_ = tile.columns / width_;
}

i64 TileRange::numbers() const {
  constexpr i64 together = 64;
  const i64 words = 4 * tile_.rows * words_of_row();
  const i64 all = words_at() + words * 4 / tile_.bytes_of_number();
  return (all + together - 1) / together * together;
}

i64 TileRange::shared_bytes() const {
  return (threads + parts) * tile_.bytes_of_number();
}

Value TileRange::constant(double v) const {
  return ir::nest::real(v, number_);
}

Value TileRange::chosen(const Value& flag, const Value& then, const Value& otherwise) const {
  return choose(flag, then, otherwise);
}

Value TileRange::larger(Builder& out, const Value& a, const Value& b) const {
  return out.let("m", most(a, b));
}

Value TileRange::smaller(Builder& out, const Value& a, const Value& b) const {
  return out.let("m", least(a, b));
}

Value TileRange::words(const Value& side, Mask mask, int buffer) const {
  const Value first = ir::nest::convert(words_pointer, ir::nest::address(side, integer(words_at())));
  return ir::nest::address(first, integer((2 * buffer + mask) * tile_.rows * words_of_row()));
}

// Of the cells of a group of columns the first thread keeps one, of the next group the last, and so on: all of them
// keep equally many. Points that hold anything but zeros count as something, however small their squares.
void TileRange::keep(Builder& out, const Value& side, const fft::LinePoints& points,
                     const std::vector<Complex>& values) const {
  const i64 half = radix_ / merged_;  // groups
  for (std::size_t turn = 0; turn < points.turns.size(); ++turn) {
    const Value start = out.let("start", fft::wide(points.turns[turn].start));
    const Value row = fft::wide(points.line);
    const Value own = out.let("own", ir::nest::address(side, row * cells() + start / every_));
    const Value phase = out.let("phase", start % every_);
    Value energy = constant(0), most_of_all = constant(0);
    for (const bool second : {false, true}) {
      Value most;
      for (i64 k = 0; k < radix_; ++k) {
        const Complex& pair = values[turn * static_cast<std::size_t>(radix_) + static_cast<std::size_t>(k)];
        const Value& v = second ? pair.im : pair.re;
        energy = out.let("e", ir::nest::fused(v, v, energy));
        const Value size = out.let("m", abs(v));
        most = k % merged_ == 0 ? size : larger(out, most, size);
        if ((k + 1) % merged_ != 0) continue;
        most_of_all = larger(out, most_of_all, most);
        const i64 group = k / merged_ + (second ? half : 0);
        const auto kept = [&] { out.store(own, integer(group * (apart_ / every_)), most); };
        if (every_ == 1)
          kept();
        else
          out.branch(equal(phase, (every_ - group % every_) % every_), kept);
      }
    }
    const Value something = constant(number_.lane == Lane::f64 ? 1e-300 : 1e-36);
    const Value lost = less(energy, something) & less(constant(0), most_of_all);
    out.store(ir::nest::address(side, row * apart_ + start), integer(energies_at()), chosen(lost, something, energy));
  }
}

Value TileRange::of_block(Builder& out, const Value& thread, const Value& own,
                          const std::function<Value(const Value&, const Value&)>& step) const {
  const char* name = number_.lane == Lane::f64 ? "tsr_shared_f64" : "tsr_shared_f32";
  const Value shared = ir::nest::variable(name, {number_.lane, 1, true});
  const auto all_of = [&](const Value& from, i64 count) {
    const Value so_far = out.var("all", load(shared, from, 1));
    out.loop("k", from + 1, from + count, integer(1),
             [&](const Value& k) { out.assign(so_far, step(so_far, out.let("v", load(shared, k, 1)))); });
    return so_far;
  };
  out.store(shared, thread, own);
  out.call("tsr_barrier", {});
  out.branch(ir::nest::less(thread, integer(parts)), [&] {
    const Value part = all_of(out.let("from", thread * (threads / parts)), threads / parts);
    out.store(shared, thread + threads, part);
  });
  out.call("tsr_barrier", {});
  return all_of(integer(threads), parts);
}

void TileRange::judge(Builder& out, const Value& side, const Value& high, const Value& wide, bool bytes,
                      const std::function<Value(const Value& row, const Value& column)>& number_at) const {
  const Value thread = out.let("thread", ir::nest::call_i64("tsr_thread_x", {}));
  const auto at = [&](const Value& index) { return out.let("at", ir::nest::address(side, index)); };
  const auto sum = [&](const Value& a, const Value& b) { return a + b; };

  const Value own = out.var("energy", constant(0));
  out.loop("i", thread, integer(tile_.rows * apart_), integer(threads),
           [&](const Value& i) { out.assign(own, own + load(side, i + energies_at(), 1)); });
  const i64 cells_of_band = width_ / merged_ / every_;
  out.loop("i", thread, integer(tile_.rows * bands_), integer(threads), [&](const Value& i) {
    const Value from = at(i / bands_ * cells() + i % bands_ * cells_of_band);
    const Value most = out.var("most", load(from, integer(0), 1));
    for (i64 k = 1; k < cells_of_band; ++k)
      out.assign(most, larger(out, most, out.let("v", load(from, integer(k), 1))));
    out.store(side, i + bands_at(), most);
  });
  const Value energy = of_block(out, thread, own, sum);
  const bool doubles = number_.lane == Lane::f64;
  const Value any = constant(doubles ? 1e300 : 1e38);
  Value least = constant(0.25);
  if (!bytes) {
    const double share = 2.0 / (1024.0 * static_cast<double>(tile_.rows * tile_.columns));
    const Value tiny = less(energy, constant(doubles ? 1e-280 : 1e-28));
    least = out.let("least", chosen(tiny, any, energy * constant(share)));
  }
  out.call("tsr_barrier_all", {});
  // Some rows of every window, and all bands that windows of results reach.
  const Value reached = out.let("bands", ir::nest::min((wide + (k1_ - 2)) / width_ + 1, integer(bands_)));
  const Value low = out.var("low", any);
  out.loop("i", thread, high * bands_, integer(threads), [&](const Value& i) {
    const Value from = at(i + bands_at());
    Value most = load(from, integer(0), 1);
    const i64 looks = std::min(rows_looked_at, k0_);
    for (i64 k = 1; k < looks; ++k)
      most = larger(out, most, out.let("v", load(from, integer(k * (k0_ - 1) / (looks - 1) * bands_), 1)));
    const Value counts = ir::nest::less(i % bands_, reached);
    out.assign(low, chosen(counts, smaller(out, low, most), low));
  });
  const Value lowest = of_block(out, thread, low, [&](const Value& a, const Value& b) { return smaller(out, a, b); });
  // Of zeros alone all results are zeros.
  const Value enough = equal(energy, constant(0)) | at_most(least, lowest * lowest);
  const Value looked_at = out.let("looked_at", equal(enough, 0));
  out.store(side, integer(judged_at()), chosen(looked_at, constant(1), constant(0)));
  // (No barrier stands in a branch: where nothing is to be done, loops do not turn.)
  const Value none_at_all = ir::nest::choose(looked_at, thread, integer(tile_.rows * words_of_row()));
  const Value first = out.let("first", none_at_all);
  classify(out, side, first, least, number_at);
  gather(out, side, first, tile_.rows, k0_, true);
  gather(out, side, first, tile_.high, k1_, false);
}

void TileRange::classify(Builder& out, const Value& side, const Value& first, const Value& least,
                         const std::function<Value(const Value& row, const Value& column)>& number_at) const {
  const i64 pitch = words_of_row();
  out.loop("i", first, integer(tile_.rows * pitch), integer(threads), [&](const Value& i) {
    const Value row = out.let("row", i / pitch);
    const Value column = out.let("column", i % pitch * bits);
    const Value some = out.var("large", none()), other = out.var("any", none());
    const Value end = ir::nest::min(column + bits, integer(tile_.columns));
    out.loop("x", column, end, integer(1), [&](const Value& x) {
      const Value v = out.let("v", number_at(row, x));
      const Value bit = out.let("bit", integer(1, word) << ir::nest::convert(word, x - column));
      const auto set = [&](const Value& mask, const Value& flag) {
        out.assign(mask, mask | choose(flag, bit, none()));
      };
      set(some, at_most(least, v * v));
      set(other, differs(v, constant(0)));
    });
    out.store(words(side, large, 0), i, some);
    out.store(words(side, any, 0), i, other);
  });
}

void TileRange::gather(Builder& out, const Value& side, const Value& first, i64 rows, i64 count, bool down) const {
  const i64 pitch = words_of_row(), step = root_of(count);
  // Of both masks: those of `many` places, `apart` bits or rows behind each other, and of the last.
  const auto pass = [&](i64 until, int from, i64 many, i64 apart, i64 last) {
    out.call("tsr_barrier_all", {});
    out.loop("i", first, integer(until * pitch), integer(threads), [&](const Value& i) {
      const Value column = out.let("column", i % pitch);
      for (const Mask mask : {large, any}) {
        const Value at = out.let("at", ir::nest::address(words(side, mask, from), i));
        const auto look = [&](const Value& by) {
          if (down) return load(at, by * pitch, 1);
          // Bits `by` behind these; there are none behind the row.
          const Value over = out.let("over", by / bits);
          const auto word_at = [&](const Value& k) {
            const Value there = out.let("there", ir::nest::less(column + k, integer(pitch)));
            const Value v = load(at, ir::nest::choose(there, k, integer(0)), 1);
            return out.let("word", choose(there, v, none()));
          };
          const Value low = word_at(over), next = word_at(over + 1);
          const Value shift = out.let("shift", ir::nest::convert(word, by % bits));
          const Value rest = out.let("rest", integer(bits - 1, word) - shift);
          const Value above = next << 1 << rest;
          return (low >> shift) | above;
        };
        const Value all = out.var("all", look(integer(last)));
        out.loop("k", integer(0), integer(many), integer(1),
                 [&](const Value& k) { out.assign(all, all | look(k * apart)); });
        out.store(words(side, mask, 1 - from), i, all);
      }
    });
  };
  const i64 shorter = down ? rows - step + 1 : rows;
  pass(shorter, 0, step - 1, 1, step - 1);
  pass(down ? tile_.high : rows, 1, count / step, step, count - step);
}

Value TileRange::judged(Builder& out, const Value& side) const {
  const Value flag = out.let("judged", load(side, integer(judged_at()), 1));
  return differs(flag, constant(0));
}

void TileRange::narrow(Builder& out, const Value& side, const Value& line, const Value& x,
                       const std::function<void()>& zero, const std::function<void()>& direct) const {
  const Value at = out.let("at", line * words_of_row() + x / bits);
  const Value bit = out.let("bit", integer(1, word) << ir::nest::convert(word, x % bits));
  const auto misses = [&](Mask mask) {
    const Value found = load(words(side, mask, 0), at, 1) & bit;
    return equal(out.let("found", found), none());
  };
  out.branch(misses(large), [&] { out.branch(misses(any), zero, direct); });
}

}  // namespace tessera::lower
