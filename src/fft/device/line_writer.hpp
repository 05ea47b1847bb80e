// The text of lines on devices (line.hpp): passes, what moves between threads, ends. One object writes the lines
// of a block into a kernel; ends, where memory is read and written, stand in line_ends.cpp.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "fft/device/line.hpp"
#include "fft/device/shared.hpp"
#include "fft/device/tables.hpp"
#include "ir/nest/builder.hpp"

namespace tessera::fft {

using ir::nest::Builder;
using ir::nest::Lane;
using ir::nest::Type;
using ir::nest::Value;

class DeviceLineWriter {
 public:
  DeviceLineWriter(const DeviceLine& line, DeviceLineKernel& kernel, Builder& out)
      : line_(line),
        out_(out),
        number_{ir::nest::lane_of(line.type), 1, false},
        butterfly_(out_, number_),
        tables_(kernel.tables),
        layout_(shared_layout(line)),
        size_(line.type == ElementType::f32 ? 4 : 8),
        moves_(line.radices.size() > 1 || line.apart) {
    kernel.threads = line.threads * line.lines;
    const i64 bytes = layout_.numbers * size_;
    halves_ = 2 * bytes > most_whole;
    if (moves_) kernel.shared_bytes = std::max(kernel.shared_bytes, (halves_ ? 1 : 2) * bytes);
    shared_ = ir::nest::variable(size_ == 4 ? "tsr_shared_f32" : "tsr_shared_f64", {number_.lane, 1, true});
  }

  // The lines of a block, where it is not the number of the block that says it.
  struct Given {
    Index group;                 // along the first dimension
    std::vector<Index> rest;     // of the other dimensions
    bool fresh = false;          // other blocks of the kernel write what lies there
    int source = 0, target = 1;  // numbers of the pointers
    const LineMemory* memory = nullptr;
  };
  void write(const Given& given) {
    fresh_ = given.fresh;
    memory_ = given.memory;
    begin(given);
    std::vector<Complex> values = first();
    const std::size_t passes = line_.radices.size();
    for (std::size_t pass = 1; pass < passes; ++pass) values = inner(pass, values);
    if (line_.convolved > 0) {
      values = filtered(std::move(values));
      // Where the last radix is the first one, a thread holds what it needs.
      if (line_.radices.front() != line_.radices.back()) values = moved(last_pass(), values, 0);
      values = butterflies(0, values, false);
      for (std::size_t pass = 1; pass < passes; ++pass) values = inner(pass, values);
      for (Complex& v : values) std::swap(v.re, v.im);
    }
    if (line_.apart)
      take_apart(values);
    else
      last(values);
  }

 private:
  // Shared memory of a block above which real and imaginary parts take turns: it would keep other blocks away.
  static constexpr i64 most_whole = i64{32} << 10;

  // ---- who and where ----

  struct Place {
    Index t, lane;
    Value alive;                 // null: always
    std::vector<Index> indices;  // of the line, one for every dimension
  };

  Index let(const char* name, const Index& i) { return Index(out_.let(name, i.value)); }
  Index least_of(const Index& a, const Index& b) { return let("least", least(a, b)); }

  void begin(const Given& given) {
    const Index thread = let("thread", Index(ir::nest::call_i64("tsr_thread_x", {})));
    const bool turns_over = moves_ && line_.from.beside != line_.to.beside && line_.lines > 1;
    in_ = place(thread, turns_over ? line_.from.beside : line_.to.beside);
    within_ = turns_over ? place(thread, line_.to.beside) : in_;

    const Value n = ir::nest::variable("N", {Lane::i64, 1, true});
    const i64 extent = line_.dimensions.front().extent;
    const Index count =
        line_.counted == 0 ? let("count", Index(ir::nest::load(n, ir::nest::integer(2), 1))) : Index(extent);
    Index group = given.group;
    std::vector<Index> rest = given.rest;
    if (!group.value) {
      const Index block = let("block", Index(ir::nest::call_i64("tsr_block", {})));
      const Index groups = line_.counted == 0 ? let("groups", (count + (line_.lines - 1)) / line_.lines)
                                              : Index((extent + line_.lines - 1) / line_.lines);
      group = line_.dimensions.size() > 1 ? let("group", block % groups) : block;
      if (line_.dimensions.size() > 1) rest = taken_apart(let("others", block / groups), 1);
    }
    const bool whole = line_.counted != 0 && extent % line_.lines == 0;
    for (Place* p : {&in_, &within_}) {
      Index own = let("own", group * line_.lines + p->lane);
      if (!whole) {
        p->alive = out_.let("alive", less(own, count));
        own = least_of(own, count - 1);
      }
      p->indices = {own};
      p->indices.insert(p->indices.end(), rest.begin(), rest.end());
    }
    from_ = base(memory_ ? memory_->from : block(given.source), in_, true);
    to_ = base(memory_ ? memory_->to : block(given.target), within_, false);
    w_ = out_.let("w", memory_ ? memory_->tables : numbers_of(ir::nest::variable("p2", ir::nest::bytes_pointer)));
    if (memory_ && memory_->spectrum)
      spectrum_ = out_.let("s", ir::nest::address(memory_->spectrum, wide(within_.indices[0]) * 2));
  }

  // An index of dimensions from `first` on as one of each.
  std::vector<Index> taken_apart(Index others, std::size_t first) {
    std::vector<Index> rest;
    for (std::size_t d = first; d < line_.dimensions.size(); ++d) {
      const bool end = d + 1 == line_.dimensions.size();
      rest.push_back(end ? others : let("index", others % line_.dimensions[d].extent));
      if (!end) others = let("others", others / line_.dimensions[d].extent);
    }
    return rest;
  }

  Place place(const Index& thread, bool beside) {
    Place p;
    if (line_.lines == 1) {
      p.t = thread, p.lane = Index(0);
    } else if (beside) {
      p.lane = let("lane", thread % line_.lines), p.t = let("t", thread / line_.lines);
    } else {
      p.t = let("t", thread % line_.threads), p.lane = let("lane", thread / line_.threads);
    }
    return p;
  }

  Value numbers_of(const Value& bytes) { return ir::nest::convert({number_.lane, 1, true}, bytes); }
  Value block(int number) {
    const Value bytes = ir::nest::load(ir::nest::variable("N", {Lane::i64, 1, true}), ir::nest::integer(number), 1);
    return numbers_of(
        ir::nest::address(ir::nest::variable("p" + std::to_string(number), ir::nest::bytes_pointer), bytes));
  }

  Value base(const Value& begin, const Place& place, bool from) {
    if (!begin) return {};
    Value at = ir::nest::integer(0);
    for (std::size_t d = 0; d < place.indices.size(); ++d) {
      const DeviceLine::Dimension& dimension = line_.dimensions[d];
      at = at + wide(place.indices[d]) * (from ? dimension.from : dimension.to);
    }
    return out_.let(from ? "from" : "to", ir::nest::address(begin, at));
  }

  // ---- passes ----

  i64 radix(std::size_t pass) const { return line_.radices.empty() ? 1 : line_.radices[pass]; }
  std::size_t last_pass() const { return line_.radices.empty() ? 0 : line_.radices.size() - 1; }
  i64 count_of(std::size_t pass) const { return line_.points / radix(pass); }
  i64 turns(std::size_t pass) const { return (count_of(pass) + line_.threads - 1) / line_.threads; }
  i64 done_before(std::size_t pass) const {
    i64 l = 1;
    for (std::size_t k = 0; k < pass; ++k) l *= line_.radices[k];
    return l;
  }
  bool partial(i64 count, i64 turn) const { return (turn + 1) * line_.threads > count; }

  // The butterfly that a thread computes at a turn; the last one again where there are not so many.
  Index at_turn(i64 count, i64 turn, const Place& place) {
    const Index b = place.t + turn * line_.threads;
    return partial(count, turn) ? least_of(b, Index(count - 1)) : let("b", b);
  }
  Index butterfly(std::size_t pass, i64 turn, const Place& place) { return at_turn(count_of(pass), turn, place); }
  Value takes_part(i64 count, i64 turn, const Place& place) {
    if (!partial(count, turn)) return {};
    return out_.let("takes", less(place.t, Index(count - turn * line_.threads)));
  }

  std::vector<Complex> butterflies(std::size_t pass, const std::vector<Complex>& inputs, bool turned) {
    const i64 r = radix(pass);
    std::vector<Complex> results(inputs.size());
    for (i64 turn = 0; turn < turns(pass); ++turn) {
      std::vector<Complex> w;
      if (turned) w = twiddles(pass, turn);
      butterfly_.transform(
          r,
          [&](i64 j) {
            const Complex& x = inputs[static_cast<std::size_t>(turn * r + j)];
            return turned && j > 0 ? named(butterfly_.times(x, w[static_cast<std::size_t>(j)])) : x;
          },
          [&](i64 k, const Complex& y) { results[static_cast<std::size_t>(turn * r + k)] = y; });
    }
    return results;
  }

  // exp(-2 pi i j q / (l r)), q = b modulo l: of powers of two from a table, others as products of two.
  std::vector<Complex> twiddles(std::size_t pass, i64 turn) {
    const i64 r = radix(pass), l = done_before(pass);
    // Turns that are a multiple of l apart have the same ones.
    if (turn > 0 && line_.threads % l == 0 && !partial(count_of(pass), turn)) return kept_;
    const Index b = butterfly(pass, turn, within_);
    const Index q = l == count_of(pass) ? b : let("q", b % l);
    std::vector<Complex> w(static_cast<std::size_t>(r));
    for (i64 j = 1; j < r; ++j) {
      i64 high = 1;
      while (2 * high <= j) high *= 2;
      w[static_cast<std::size_t>(j)] =
          high == j ? entry(tables_.turns(l * r, j, l), q)
                    : named(butterfly_.times(w[static_cast<std::size_t>(high)], w[static_cast<std::size_t>(j - high)]));
    }
    if (turn == 0) kept_ = w;
    return w;
  }

  // Pair `index` of a table that begins at a pair.
  Complex entry(i64 table, const Index& index) {
    return loaded(ir::nest::address(w_, wide(index) * 2 + 2 * table), false);
  }

  Complex loaded(const Value& pointer, bool fresh) {
    const Value re = out_.var("x", butterfly_.constant(0)), im = out_.var("x", butterfly_.constant(0));
    const std::string how = fresh ? "tsr_fresh" : "tsr_load";
    out_.call(how + (size_ == 4 ? "_f32x2" : "_f64x2"), {pointer, re, im});
    return {re, im};
  }

  Complex named(const Complex& v) { return {out_.let("x", v.re), out_.let("x", v.im)}; }
  Value negative(const Value& v) { return out_.let("x", -v); }
  Value chosen_number(const Value& flag, const Value& then, const Value& otherwise) {
    return out_.let("x", choose(flag, then, otherwise));
  }

  std::vector<Complex> first() {
    std::vector<Complex> values;
    if (memory_ && memory_->read) {
      values = memory_->read(points_of(0, in_));
    } else {
      for (i64 turn = 0; turn < turns(0); ++turn) {
        const Index b = butterfly(0, turn, in_);
        for (i64 j = 0; j < radix(0); ++j) values.push_back(read(b, j * count_of(0)));
      }
    }
    if (line_.from.halves)
      for (i64 turn = 0; turn < turns(0); ++turn) turn_halves(0, turn, in_, values, false);
    return butterflies(0, values, false);
  }

  LinePoints points_of(std::size_t pass, const Place& place);
  // Times exp(-+ 2 pi i position / 4 n), in two steps: of the butterfly, of a point in it.
  void turn_halves(std::size_t pass, i64 turn, const Place& place, std::vector<Complex>& values, bool back);
  std::vector<Complex> inner(std::size_t pass, const std::vector<Complex>& values) {
    return butterflies(pass, moved(pass - 1, values, pass), true);
  }

  // ---- shared memory ----

  // A place in shared memory: the address of `start` and a constant.
  struct Slot {
    Index start;
    i64 by = 0;
  };

  // Places of start + by of the place's line, for every `by`: those that are a constant apart share an address.
  std::vector<Slot> slots(const Place& place, const Index& start, i64 multiple, const std::vector<i64>& shifts) {
    const auto address = [&](const Index& position) {
      Index p = position;
      if (layout_.shift > 0) p = p + p / (i64{1} << layout_.shift);
      if (layout_.beside) return let("at", p * line_.lines + place.lane);
      return let("at", line_.lines == 1 ? p : place.lane * layout_.pitch + p);
    };
    const Index common = address(start);
    const i64 unit = i64{1} << layout_.shift;
    std::vector<Slot> result;
    for (const i64 by : shifts) {
      const bool short_of_gap = unit % multiple == 0 && by < multiple;
      if (layout_.shift > 0 && by % unit != 0 && multiple % unit != 0 && !short_of_gap)
        result.push_back({address(start + by), 0});
      else
        result.push_back({common, (short_of_gap ? by : layout_.gapped(by)) * (layout_.beside ? line_.lines : 1)});
    }
    return result;
  }

  void append(std::vector<Slot>& list, const std::vector<Slot>& more) {
    list.insert(list.end(), more.begin(), more.end());
  }

  // Where the results of a pass lie in the line, in the order of `values`.
  struct Written {
    std::vector<Slot> slots;
    std::vector<Value> guards;  // of every turn
    i64 radix = 1;
  };
  Written results_of(std::size_t pass) {
    const Place& source = pass == 0 && !moved_ ? in_ : within_;
    moved_ = true;
    const i64 r = radix(pass), l = done_before(pass);
    std::vector<i64> shifts;
    for (i64 k = 0; k < r; ++k) shifts.push_back(k * l);
    Written w;
    w.radix = r;
    for (i64 turn = 0; turn < turns(pass); ++turn) {
      w.guards.push_back(takes_part(count_of(pass), turn, source));
      const Index b = butterfly(pass, turn, source);
      // (b / l) l r + b % l = b + (b / l) l (r - 1)
      if (l == 1)
        append(w.slots, slots(source, b * r, r, shifts));
      else
        append(w.slots, slots(source, l < count_of(pass) ? let("start", b + b / l * (l * (r - 1))) : b, 1, shifts));
    }
    return w;
  }

  // What one pass has computed as the points that another one takes.
  std::vector<Complex> moved(std::size_t pass, const std::vector<Complex>& values, std::size_t next) {
    const Written to = results_of(pass);
    std::vector<Slot> from;
    std::vector<i64> shifts;
    for (i64 j = 0; j < radix(next); ++j) shifts.push_back(j * count_of(next));
    for (i64 turn = 0; turn < turns(next); ++turn)
      append(from, slots(within_, butterfly(next, turn, within_), 1, shifts));
    return exchanged(to, values, from);
  }

  void barrier() { out_.call("tsr_barrier", {}); }

  Value number_in(const Slot& s, bool behind) {
    return ir::nest::load(ir::nest::address(shared_, s.start.value),
                          ir::nest::integer(s.by + (behind ? layout_.numbers : 0)), 1);
  }

  // All real parts, then all imaginary ones, where shared memory holds no more; else both at once.
  std::vector<Complex> exchanged(const Written& to, const std::vector<Complex>& values, const std::vector<Slot>& from) {
    const auto put = [&](bool imaginary) {
      const auto r = static_cast<std::size_t>(to.radix);
      for (std::size_t turn = 0; turn < to.guards.size(); ++turn)
        guarded({to.guards[turn]}, [&] {
          for (std::size_t k = turn * r; k < (turn + 1) * r; ++k)
            out_.store(ir::nest::address(shared_, to.slots[k].start.value),
                       ir::nest::integer(to.slots[k].by + (imaginary && !halves_ ? layout_.numbers : 0)),
                       imaginary ? values[k].im : values[k].re);
        });
    };
    std::vector<Complex> result(from.size());
    const auto get = [&](bool imaginary) {
      for (std::size_t k = 0; k < from.size(); ++k)
        (imaginary ? result[k].im : result[k].re) = out_.let("x", number_in(from[k], imaginary && !halves_));
    };
    if (used_) barrier();
    used_ = true;
    put(false);
    if (halves_) {
      barrier();
      get(false);
      barrier();
    }
    put(true);
    barrier();
    if (!halves_) get(false);
    get(true);
    return result;
  }

  // ---- ends ----

  // Point b + j of the line, as the transform takes it.
  Complex read(const Index& b, i64 j);
  // Of points j to j + the number of butterflies of a pass, whatever part of the line: are they there?
  enum class Reach : std::uint8_t { inside, outside, both };
  Reach reach(const LineEnd& end, i64 j, std::size_t pass) const {
    if (end.count == 0 || (j + count_of(pass)) * end.step <= end.count) return Reach::inside;
    return j * end.step >= end.count ? Reach::outside : Reach::both;
  }

  Index position_of(const LineEnd& end, const Place& place, const Index& b, i64 j);
  Complex number_at(const Value& pointer, const Value& offset, bool real);
  Complex read_position(const Index& position, bool always);
  // n + 1 frequencies of 2 n real numbers as n points: what take_apart() makes, backwards and doubled.
  Complex put_together(const Index& b, i64 j);
  // Between the two transforms of a convolution: times the spectrum, and exchanged, so that the second is the inverse.
  std::vector<Complex> filtered(std::vector<Complex> values);
  void guarded(const std::vector<Value>& flags, const std::function<void()>& body) {
    Value all;
    for (const Value& f : flags)
      if (f) all = all ? all & f : f;
    if (all)
      out_.branch(all, body);
    else
      body();
  }

  void last(const std::vector<Complex>& values);
  void hand_over(const std::vector<Complex>& values);
  void write_number(const Value& offset, const Complex& v);
  // A result as it is stored.
  Complex finished(Complex v, const Index& b, i64 point);
  // exp(-2 pi i e / n) from one table, or as the product of a coarse and a fine turn.
  Complex turn_of(i64 n, const Index& e);
  // Z of n points are 2 n real numbers, even ones as real parts, odd ones as imaginary: with
  // E = (Z_k + conj Z_(n-k)) / 2 and O = -i (Z_k - conj Z_(n-k)) / 2, frequency k is E + w^k O, frequency n - k the
  // conjugate of E - w^k O.
  void take_apart(const std::vector<Complex>& values);
  const DeviceLine& line_;
  Builder& out_;
  const Type number_;
  Butterfly butterfly_;
  DeviceTables tables_;
  const SharedLayout layout_;
  const i64 size_;
  const bool moves_;     // points between threads
  bool halves_ = false;  // shared memory holds real or imaginary parts, not both
  bool used_ = false;    // it was read before
  bool moved_ = false, fresh_ = false;
  const LineMemory* memory_ = nullptr;
  Value shared_, from_, to_, w_, spectrum_;
  Place in_, within_;  // of the first pass, of the others
  std::vector<Complex> kept_;
};

}  // namespace tessera::fft
