// See tile_line.hpp.
#include "fft/cpu/tile_line.hpp"

namespace tessera::fft {

using ir::nest::integer;
using ir::nest::Value;

LineWriter::LineWriter(Line line, ir::nest::Type vector, ir::nest::Module& module, ir::nest::Builder& out)
    : line_(std::move(line)), vector_(vector), out_(out), ends_(out, vector), butterfly_(out, vector) {
  for (std::size_t i = 0; i < passes(); ++i) {
    forward_.push_back(i > 0 ? table(module, i, Way::forward) : nullptr);
    back_.push_back(i + 1 < passes() ? table(module, i, Way::back) : nullptr);
  }
}

i64 LineWriter::step(std::size_t i) const {
  i64 m = 1;
  for (std::size_t k = i + 1; k < passes(); ++k) m *= line_.radices[k];
  return m;
}

// Forward: for every block of known digits f the turns k f / (range r) of legs k > 0, the digits of f counted from the
// last one. Back: for every place j within a leg the turns j k / (r m).
Value LineWriter::table(ir::nest::Module& module, std::size_t i, Way way) {
  const i64 r = line_.radices[i], m = step(i), known = line_.n / m / r;
  ir::Table t;
  t.name = "twiddles";
  t.type = vector_.lane == ir::nest::Lane::f64 ? ElementType::f64 : ElementType::f32;
  const i64 rows = way == Way::forward ? known : m, range = way == Way::forward ? known * r : m * r;
  const auto put = [&](double v) {
    t.values.push_back(t.type == ElementType::f64 ? v : static_cast<double>(static_cast<float>(v)));
  };
  for (i64 row = 0; row < rows; ++row) {
    const i64 f = way == Way::forward ? digits_reversed(row, {line_.radices.begin(), line_.radices.begin() + i}) : row;
    for (i64 k = 1; k < r; ++k) put(cosine(k * f, range)), put(-sine(k * f, range));
  }
  t.extents = {static_cast<i64>(t.values.size())};
  module.tables.push_back(std::move(t));
  return ir::nest::variable("tsr_table_" + std::to_string(module.tables.size() - 1), {vector_.lane, 1, true});
}

void LineWriter::repeat(const std::string& stem, i64 count, const std::function<void(const Value&)>& body) {
  if (count == 1) return body(integer(0));
  out_.loop(stem, integer(0), integer(count), integer(1), body);
}

void LineWriter::each(const Value& count, const std::function<void(const Value&, const Value&)>& body) {
  const i64 point = 2 * vector_.lanes, part = line_.gap == 0 ? line_.n : line_.first_step();
  repeat("q", line_.n / part, [&](const Value& q) {
    const Value first = out_.let("first", q * part), at = out_.let("at", q * ((part + line_.gap) * point));
    const Value end = out_.let("end", ir::nest::min(count - first, integer(part)));
    out_.loop("j", integer(0), end, integer(1), [&](const Value& j) { body(first + j, at + j * point); });
  });
}

void LineWriter::butterflies(std::size_t i,
                             const std::function<void(const Legs&, const Value& block, const Value& inner)>& body) {
  const i64 point = 2 * vector_.lanes, r = line_.radices[i], m = step(i);
  if (i == 0)
    return repeat("j", m, [&](const Value& j) {
      body({.first = j, .at = j * point, .step = m, .numbers = (m + line_.gap) * point}, integer(0), j);
    });
  const i64 r0 = line_.radices[0], blocks = line_.first_step() / (r * m);
  repeat("q", r0, [&](const Value& q) {
    repeat("b", blocks, [&](const Value& b) {
      const Value block = out_.let("block", q * blocks + b), first = out_.let("first", block * (r * m));
      const Value at = out_.let("at", q * ((line_.first_step() + line_.gap) * point) + b * (r * m * point));
      repeat("j", m, [&](const Value& j) {
        body({.first = first + j, .at = at + j * point, .step = m, .numbers = m * point}, block, j);
      });
    });
  });
}

LineWriter::Turns LineWriter::turns(std::size_t i, Way way, const Value& block, const Value& inner) {
  const Value& table = (way == Way::forward ? forward_ : back_)[i];
  const i64 row = (line_.radices[i] - 1) * 2;
  return {table, table == nullptr ? nullptr : out_.let("turn", (way == Way::forward ? block : inner) * row)};
}

Complex LineWriter::turned(const Turns& turns, i64 k, const Complex& x) {
  if (turns.table == nullptr || k == 0) return x;
  const Value at = turns.row + (k - 1) * 2;
  return butterfly_.times(x,
                          {out_.let("w", ir::nest::broadcast(ir::nest::load(turns.table, at, 1), vector_.lanes)),
                           out_.let("w", ir::nest::broadcast(ir::nest::load(turns.table, at + 1, 1), vector_.lanes))});
}

void LineWriter::pass(std::size_t i, Way way, const Load& load, const Store& store) {
  butterflies(i, [&](const Legs& legs, const Value& block, const Value& inner) {
    one(i, way, legs, turns(i, way, block, inner), load, store);
  });
}

void LineWriter::pass_over(const Lines& lines, Way way, const Load& load, const Store& store) {
  butterflies(0, [&](const Legs& legs, const Value& block, const Value& inner) {
    const Turns by = turns(0, way, block, inner);
    lines([&] { one(0, way, legs, by, load, store); });
  });
}

void LineWriter::one(std::size_t i, Way way, const Legs& legs, const Turns& by, const Load& load, const Store& store) {
  const auto in = [&](const Complex& x) { return way == Way::forward ? x : Complex{x.im, x.re}; };
  butterfly_.transform(
      line_.radices[i], [&](i64 k) { return turned(by, k, in(load(legs, k))); },
      [&](i64 k, const Complex& y) { store(legs, k, in(y)); });
}

void LineWriter::in_place(std::size_t i, Way way, const Value& at, const Aside& aside) {
  pass(
      i, way,
      [&](const Legs& legs, i64 k) {
        if (aside) aside(legs.element(k));
        return ends_.load(End::points, at, legs.place(k));
      },
      [&](const Legs& legs, i64 k, const Complex& y) { ends_.store(End::points, at, legs.place(k), y, false); });
}

void LineWriter::product(const Value& at, const Value& spectrum, const Aside& aside) {
  const std::size_t last = passes() - 1;
  const i64 radix = line_.radices[last], point = 2 * vector_.lanes;
  butterflies(last, [&](const Legs& legs, const Value& block, const Value& inner) {
    const Turns by = turns(last, Way::forward, block, inner);
    std::vector<Complex> y(static_cast<std::size_t>(radix));
    butterfly_.transform(
        radix, [&](i64 k) { return turned(by, k, ends_.load(End::points, at, legs.place(k))); },
        [&](i64 k, const Complex& z) {
          aside(legs.element(k));
          const Complex h = ends_.load(End::points, spectrum, legs.element(k) * point);
          const Complex p = butterfly_.times(z, h);
          y[static_cast<std::size_t>(k)] = {p.im, p.re};
        });
    butterfly_.transform(
        radix, [&](i64 k) { return y[static_cast<std::size_t>(k)]; },
        [&](i64 k, const Complex& z) { ends_.store(End::points, at, legs.place(k), {z.im, z.re}, false); });
  });
}

void LineWriter::to_spectrum(const Value& at, const Value& spectrum) {
  const i64 point = 2 * vector_.lanes;
  pass(
      passes() - 1, Way::forward, [&](const Legs& legs, i64 k) { return ends_.load(End::points, at, legs.place(k)); },
      [&](const Legs& legs, i64 k, const Complex& y) {
        ends_.store(End::points, spectrum, legs.element(k) * point, y, false);
      });
}

void LineWriter::sums_of_products(const Value (&at)[2], const Products& of) {
  const std::size_t last = passes() - 1;
  const i64 radix = line_.radices[last], point = 2 * vector_.lanes;
  const Value zero = ir::nest::broadcast(ir::nest::real(0, {vector_.lane, 1, false}), vector_.lanes);
  butterflies(last, [&](const Legs& legs, const Value&, const Value&) {
    std::vector<Complex> sums[2];
    for (auto& sum : sums)
      for (i64 k = 0; k < radix; ++k) sum.push_back({out_.var("re", zero), out_.var("im", zero)});
    const auto add = [&](const Complex& sum, const Complex& z, const Value& weights, i64 k) {
      const Complex h = ends_.load(End::points, weights, legs.element(k) * point);
      const Value re = butterfly_.fused(z.re, h.re, sum.re), im = butterfly_.fused(z.re, h.im, sum.im);
      out_.assign(sum.re, butterfly_.fused(-z.im, h.im, re));
      out_.assign(sum.im, butterfly_.fused(z.im, h.re, im));
    };
    // One line, which the first sum multiplies by weights k and the second one by those before; either may be missing.
    const auto line = [&](const Value& spectrum, const Value& here, const Value& before) {
      const Value from = of.spectrum(spectrum);
      const Value by[2] = {here ? of.weights(here) : nullptr, before ? of.weights(before) : nullptr};
      for (i64 k = 0; k < radix; ++k) {
        const Complex z = ends_.load(End::points, from, legs.element(k) * point);
        for (std::size_t s = 0; s < 2; ++s)
          if (by[s]) add(sums[s][static_cast<std::size_t>(k)], z, by[s], k);
      }
    };
    out_.loop("volume", integer(0), of.volumes, integer(1), [&](const Value& volume) {
      const Value first = out_.let("first", volume * of.count), lines = out_.let("lines", first + volume);
      line(lines, first, nullptr);
      out_.loop("plane", integer(1), of.count, integer(1),
                [&](const Value& plane) { line(lines + plane, first + plane, first + (plane - 1)); });
      line(lines + of.count, nullptr, first + (of.count - 1));
    });
    for (std::size_t s = 0; s < 2; ++s)
      butterfly_.transform(
          radix,
          [&](i64 k) {
            const Complex& sum = sums[s][static_cast<std::size_t>(k)];
            return Complex{sum.im, sum.re};
          },
          [&](i64 k, const Complex& z) { ends_.store(End::points, at[s], legs.place(k), {z.im, z.re}, false); });
  });
}

}  // namespace tessera::fft
