// See tile.hpp.
#include "fft/device/tile.hpp"

#include <algorithm>

#include "fft/device/index.hpp"
#include "fft/tables.hpp"

namespace tessera::fft {

using ir::nest::Builder;
using ir::nest::Type;
using ir::nest::Value;

namespace {

class TileWriter {
 public:
  TileWriter(Builder& out, const DeviceTile& tile, const Value& thread, i64 wide)
      : out_(out),
        tile_(tile),
        number_{ir::nest::lane_of(tile.number), 1, false},
        butterfly_(out, number_),
        thread_(thread),
        wide_(wide),
        n_(tile.points()) {
    shared_ = ir::nest::variable(tile.number == ElementType::f64 ? "tsr_shared_f64" : "tsr_shared_f32",
                                 {number_.lane, 1, true});
    part_ = tile.parts > 1 ? Index(out_.let("part", (thread_ / n_).value)) : Index(0);
    row_ = tile.parts > 1 ? Index(out_.let("row", (thread_ % n_).value)) : thread_;
  }

  std::vector<Value> write(const std::vector<Value>& column, const Value& spectrum,
                           const std::function<void()>& between) {
    Points values = transformed(packed(column));
    values = to_rows(values);
    if (between) between();
    values = transformed(turned(values));
    values = transformed(filtered(values, spectrum));
    for (Complex& v : values) std::swap(v.re, v.im);
    values = to_columns(turned_back(values));
    for (Complex& v : values) std::swap(v.re, v.im);
    values = transformed(values);
    for (Complex& v : values) std::swap(v.re, v.im);
    return unpacked(values);
  }

 private:
  using Points = std::vector<Complex>;

  Complex turn(i64 k, i64 n) const { return {butterfly_.constant(cosine(k, n)), butterfly_.constant(-sine(k, n))}; }
  static Complex conjugate(const Complex& w) { return {w.re, ir::nest::real(-w.im->f, w.im->type)}; }

  // The transform of a thread's points, in natural order: a pass of radix 8 and one of what is left.
  Points transformed(const Points& x) {
    const i64 first = 8, second = n_ / first;
    std::vector<Points> middle(static_cast<std::size_t>(first), Points(static_cast<std::size_t>(second)));
    for (i64 j = 0; j < second; ++j)
      butterfly_.transform(
          first, [&](i64 m) { return x[static_cast<std::size_t>(second * m + j)]; },
          [&](i64 k, const Complex& y) {
            middle[static_cast<std::size_t>(k)][static_cast<std::size_t>(j)] =
                j * k == 0 ? y : butterfly_.times(y, turn(j * k, n_));
          });
    Points result(x.size());
    for (i64 k = 0; k < first; ++k)
      butterfly_.transform(
          second, [&](i64 j) { return middle[static_cast<std::size_t>(k)][static_cast<std::size_t>(j)]; },
          [&](i64 m, const Complex& y) { result[static_cast<std::size_t>(k + first * m)] = y; });
    return result;
  }

  // (x - i y) (c - i s)
  Points packed(const std::vector<Value>& column) {
    Points values;
    for (i64 j = 0; j < n_; ++j) {
      const Value &x = column[static_cast<std::size_t>(j)], &y = column[static_cast<std::size_t>(j + n_)];
      values.push_back(butterfly_.times({x, negative(y)}, turn(j, 4 * n_)));
    }
    return values;
  }

  std::vector<Value> unpacked(const Points& values) {
    std::vector<Value> low, high;
    for (i64 j = 0; j < n_; ++j) {
      const Complex v = butterfly_.times(values[static_cast<std::size_t>(j)], conjugate(turn(j, 4 * n_)));
      low.push_back(v.re);
      high.push_back(negative(v.im));
    }
    low.insert(low.end(), high.begin(), high.end());
    return low;
  }

  Value negative(const Value& v) const { return -v; }

  // The second thread of a row has the odd frequencies, whose points are turned.
  Points turned(const Points& values) { return turned_by(values, false); }
  Points turned_back(const Points& values) { return turned_by(values, true); }
  Points turned_by(const Points& values, bool back) {
    if (tile_.parts == 1) return values;
    Points result;
    for (const Complex& v : values) result.push_back({out_.var("u", v.re), out_.var("u", v.im)});
    out_.branch(part_.value, [&] {
      for (i64 j = 1; j < n_; ++j) {
        const Complex w = turn(j, tile_.columns());
        Complex& v = result[static_cast<std::size_t>(j)];
        const Complex to = butterfly_.times(v, back ? conjugate(w) : w);
        out_.assign(v.re, to.re);
        out_.assign(v.im, to.im);
      }
    });
    return result;
  }

  // Times the spectrum, exchanged, so that the next transform goes back.
  Points filtered(const Points& values, const Value& spectrum) {
    Points result;
    const i64 each = tile_.together();
    const Index own = Index(out_.let("own", ((part_ * n_ + row_) * (2 * each)).value));
    for (i64 first = 0; first < n_; first += each) {
      std::vector<Value> w{ir::nest::address(spectrum, (own + 2 * first * tile_.columns()).value)};
      for (i64 k = 0; k < 2 * each; ++k) w.push_back(out_.var("w", butterfly_.constant(0)));
      out_.call(tile_.number == ElementType::f64 ? "tsr_look_f64x2" : "tsr_look_f32x4", w);
      for (i64 k = 0; k < each; ++k) {
        const auto at = static_cast<std::size_t>(2 * k + 1);
        Complex v = butterfly_.times(values[static_cast<std::size_t>(first + k)], {w[at], w[at + 1]});
        std::swap(v.re, v.im);
        result.push_back(v);
      }
    }
    return result;
  }

  // ---- shared memory: real parts, then imaginary ones ----

  void put(const Index& start, i64 step, const Value& v, i64 k) {
    out_.store(ir::nest::address(shared_, start.value), ir::nest::integer(k * step), v);
  }
  Value got(const Index& start, i64 by) {
    return out_.let("x", ir::nest::load(ir::nest::address(shared_, start.value), ir::nest::integer(by), 1));
  }
  void barrier() { out_.call("tsr_barrier", {}); }

  // A thread has had a column, and now has a row, or the sums or differences of its halves.
  Points to_rows(const Points& values) {
    const Index from = Index(out_.let("from", (row_ * tile_.pitch()).value));
    Value sign;
    if (tile_.parts > 1) sign = out_.let("sign", choose(part_.value, butterfly_.constant(-1), butterfly_.constant(1)));
    Points result(values.size());
    for (const bool imaginary : {false, true}) {
      if (imaginary) barrier();
      for (i64 k = 0; k < n_; ++k) {
        const Complex& v = values[static_cast<std::size_t>(k)];
        put(thread_, tile_.pitch(), imaginary ? v.im : v.re, k);
      }
      barrier();
      for (i64 j = 0; j < n_; ++j) {
        Value x = got(from, j);
        if (sign) x = butterfly_.fused(sign, got(from, j + n_), x);
        Complex& v = result[static_cast<std::size_t>(j)];
        (imaginary ? v.im : v.re) = x;
      }
    }
    barrier();
    return result;
  }

  Points to_columns(const Points& values) {
    const i64 needed = std::min(n_, wide_);
    const Index to = Index(out_.let("to", (row_ * tile_.pitch() + part_ * n_).value));
    const Index column = Index(out_.let("column", least(thread_, Index(wide_ - 1)).value));
    const Index from = tile_.parts > 1 ? Index(out_.let("from", (column % n_).value)) : column;
    Value sign;
    if (tile_.parts > 1)
      sign = out_.let("sign", choose(less(column, Index(n_)), butterfly_.constant(1), butterfly_.constant(-1)));
    Points result(values.size());
    for (const bool imaginary : {false, true}) {
      if (imaginary) barrier();
      for (i64 j = 0; j < needed; ++j) {
        const Complex& v = values[static_cast<std::size_t>(j)];
        put(to, 1, imaginary ? v.im : v.re, j);
      }
      barrier();
      for (i64 k = 0; k < n_; ++k) {
        Value x = got(from, k * tile_.pitch());
        if (sign) x = butterfly_.fused(sign, got(from, k * tile_.pitch() + n_), x);
        Complex& v = result[static_cast<std::size_t>(k)];
        (imaginary ? v.im : v.re) = x;
      }
    }
    return result;
  }

  Builder& out_;
  const DeviceTile& tile_;
  const Type number_;
  Butterfly butterfly_;
  const Index thread_;
  const i64 wide_, n_;
  Value shared_;
  Index part_, row_;
};

}  // namespace

std::vector<double> device_tile_spectrum(const DeviceTile& tile, const std::vector<double>& weights, i64 k0, i64 k1) {
  using Number = Circle::Number;
  const i64 n = tile.points(), columns = tile.columns();
  const double scale = 1 / static_cast<double>(n * columns);
  const Circle row_circle(columns), column_circle(n), quarter(4 * n);
  std::vector<std::vector<Number>> across;
  for (i64 i = 0; i < k0; ++i) {
    std::vector<Number> row(static_cast<std::size_t>(columns));
    for (i64 j = 0; j < k1; ++j)
      row[static_cast<std::size_t>(j)] = scale * weights[static_cast<std::size_t>(i * k1 + j)];
    across.push_back(plain_transform(std::move(row), row_circle));
  }
  std::vector<std::vector<Number>> down;  // of every frequency of rows
  for (i64 q = 0; q < columns; ++q) {
    // Frequencies 2 k + 1/2 of the column.
    std::vector<Number> column(static_cast<std::size_t>(n));
    for (i64 i = 0; i < k0; ++i) {
      const Number w = across[static_cast<std::size_t>(i)][static_cast<std::size_t>(q)];
      column[static_cast<std::size_t>(i % n)] += (i < n ? w : w * Number(0, -1)) * quarter(i % n);
    }
    down.push_back(plain_transform(std::move(column), column_circle));
  }
  std::vector<double> spectrum;
  for (i64 first = 0; first < n; first += tile.together())
    for (i64 thread = 0; thread < columns; ++thread)
      for (i64 k = first; k < first + tile.together(); ++k) {
        const Number h =
            down[static_cast<std::size_t>(tile.parts * k + thread / n)][static_cast<std::size_t>(thread % n)];
        spectrum.push_back(h.real());
        spectrum.push_back(-h.imag());
      }
  return spectrum;
}

std::vector<Value> write_device_tile(Builder& out, const DeviceTile& tile, const std::vector<Value>& column,
                                     const Value& spectrum, const Value& thread, i64 wide,
                                     const std::function<void()>& between) {
  return TileWriter(out, tile, thread, wide).write(column, spectrum, between);
}

}  // namespace tessera::fft
