// What lies at the ends of lines; see line_writer.hpp.
#include "fft/device/line_writer.hpp"

namespace tessera::fft {

LinePoints DeviceLineWriter::points_of(std::size_t pass, const Place& place) {
  LinePoints points{place.indices[0], place.alive, {}, radix(pass), count_of(pass)};
  for (i64 turn = 0; turn < turns(pass); ++turn)
    points.turns.push_back({butterfly(pass, turn, place), takes_part(count_of(pass), turn, place)});
  return points;
}

void DeviceLineWriter::turn_halves(std::size_t pass, i64 turn, const Place& place, std::vector<Complex>& values,
                                   bool back) {
  const i64 n = line_.points;
  Complex w = entry(tables_.turns(4 * n, 1, count_of(pass)), butterfly(pass, turn, place));
  if (back) w.im = negative(w.im);
  for (i64 j = 0; j < radix(pass); ++j) {
    Complex& v = values[static_cast<std::size_t>(turn * radix(pass) + j)];
    const double s = sine(j * count_of(pass), 4 * n);
    const Complex far{butterfly_.constant(cosine(j * count_of(pass), 4 * n)), butterfly_.constant(back ? s : -s)};
    v = named(butterfly_.times(j > 0 ? named(butterfly_.times(v, far)) : v, w));
  }
}

Complex DeviceLineWriter::read(const Index& b, i64 j) {
  const LineEnd& end = line_.from;
  Complex x;
  if (reach(end, j, 0) == Reach::outside) return {butterfly_.constant(0), butterfly_.constant(0)};
  if (line_.together)
    x = put_together(b, j);
  else if (end.count > 0 || end.mirror > 0 || end.chirp > 0)
    return read_position(position_of(end, in_, b, j), reach(end, j, 0) == Reach::inside);
  else
    x = number_at(from_, wide(b) * (end.step * end.leg) + j * end.step * end.leg, end.real);
  if (end.exchanged) std::swap(x.re, x.im);
  return x;
}

Index DeviceLineWriter::position_of(const LineEnd& end, const Place& place, const Index& b, i64 j) {
  Index p = (b + j) * end.step;
  if (end.part >= 0) p = p + place.indices[static_cast<std::size_t>(end.part)];
  return let("position", p);
}

Complex DeviceLineWriter::number_at(const Value& pointer, const Value& offset, bool real) {
  if (!real) return loaded(ir::nest::address(pointer, offset), fresh_);
  return {out_.let("x", ir::nest::load(pointer, offset, 1)), butterfly_.constant(0)};
}

Complex DeviceLineWriter::read_position(const Index& position, bool always) {
  const LineEnd& end = line_.from;
  Index p = position;
  Value mirrored, inside;
  if (end.mirror > 0) {
    mirrored = out_.let("mirrored", less(Index(end.mirror / 2), p));
    p = let("p", chosen(mirrored, Index(end.mirror) - p, p));
  }
  if (!always) {
    inside = out_.let("inside", less(position, Index(end.count)));
    p = let("p", chosen(inside, p, Index(0)));
  }
  // The start of a line in parts is that of its first position: the index of the part is in both.
  Value offset = wide(p);
  if (end.part >= 0) offset = offset - wide(in_.indices[static_cast<std::size_t>(end.part)]);
  Complex x = number_at(from_, out_.let("offset", offset * end.leg), end.real);
  if (mirrored) x.im = chosen_number(mirrored, negative(x.im), x.im);
  if (inside) {
    const Value zero = butterfly_.constant(0);
    x = {chosen_number(inside, x.re, zero), chosen_number(inside, x.im, zero)};
  }
  if (end.exchanged) std::swap(x.re, x.im);
  if (end.chirp > 0) {  // 0 has no factor
    const Index of_chirp = least_of(position, Index(end.chirp - 1));
    x = named(butterfly_.times(x, entry(tables_.chirp(end.chirp), of_chirp)));
  }
  return x;
}

Complex DeviceLineWriter::put_together(const Index& b, i64 j) {
  const i64 n = line_.points, leg = line_.from.leg;
  const Index k = let("k", b + j);
  const Complex x = loaded(ir::nest::address(from_, wide(k) * leg), false);
  const Complex y = loaded(ir::nest::address(from_, wide(let("mirror", Index(n) - k)) * leg), false);
  // The imaginary parts of the first and the last frequency are not used.
  const auto imaginary = [&](const Value& v) {
    return j > 0 ? v : chosen_number(equal(k, Index(0)), butterfly_.constant(0), v);
  };
  const Complex a{x.re, imaginary(x.im)}, c{y.re, imaginary(y.im)};
  const Complex even{butterfly_.add(a.re, c.re), butterfly_.sub(a.im, c.im)};
  const Complex difference{butterfly_.sub(a.re, c.re), butterfly_.add(a.im, c.im)};
  const Complex w = entry(tables_.turns(2 * n, 1, n), k);
  const Complex odd = named(butterfly_.times(difference, {w.re, negative(w.im)}));
  return {butterfly_.sub(even.re, odd.im), butterfly_.add(even.im, odd.re)};
}

std::vector<Complex> DeviceLineWriter::filtered(std::vector<Complex> values) {
  const std::size_t pass = last_pass();
  const i64 table = spectrum_ ? 0 : tables_.filter(line_.convolved, line_.points);
  const i64 apart = 2 * line_.dimensions.front().extent;  // rows of a spectrum in memory
  for (i64 turn = 0; turn < turns(pass); ++turn) {
    const Index b = butterfly(pass, turn, within_);
    for (i64 k = 0; k < radix(pass); ++k) {
      Complex& v = values[static_cast<std::size_t>(turn * radix(pass) + k)];
      const Complex w = spectrum_
                            ? loaded(ir::nest::address(spectrum_, wide(b) * apart + k * count_of(pass) * apart), false)
                            : entry(table + k * count_of(pass), b);
      v = named(butterfly_.times(v, w));
      std::swap(v.re, v.im);
    }
  }
  return values;
}

void DeviceLineWriter::last(const std::vector<Complex>& values) {
  const std::size_t pass = last_pass();
  const LineEnd& end = line_.to;
  if (memory_ && memory_->write) return hand_over(values);
  for (i64 turn = 0; turn < turns(pass); ++turn) {
    const Index b = butterfly(pass, turn, within_);
    std::vector<Complex> results;
    for (i64 k = 0; k < radix(pass); ++k)
      results.push_back(finished(values[static_cast<std::size_t>(turn * radix(pass) + k)], b, k * count_of(pass)));
    guarded({within_.alive, takes_part(count_of(pass), turn, within_)}, [&] {
      for (i64 k = 0; k < radix(pass); ++k) {
        const i64 point = k * count_of(pass);
        Value inside;
        if (reach(end, point, pass) == Reach::outside) continue;
        if (reach(end, point, pass) == Reach::both)
          inside = less(position_of(end, within_, b, point), Index(end.count));
        guarded({inside}, [&] {
          write_number(wide(b) * (end.step * end.leg) + point * end.step * end.leg,
                       results[static_cast<std::size_t>(k)]);
        });
      }
    });
  }
}

void DeviceLineWriter::hand_over(const std::vector<Complex>& values) {
  const std::size_t pass = last_pass();
  std::vector<Complex> results;
  for (std::size_t k = 0; k < values.size(); ++k)
    results.push_back(finished(values[k], Index(0), static_cast<i64>(k) % radix(pass) * count_of(pass)));
  if (line_.to.halves)
    for (i64 turn = 0; turn < turns(pass); ++turn) turn_halves(pass, turn, within_, results, true);
  memory_->write(points_of(pass, within_), results);
}

void DeviceLineWriter::write_number(const Value& offset, const Complex& v) {
  if (line_.to.real)
    out_.store(ir::nest::address(to_, offset), ir::nest::integer(0), v.re);
  else
    out_.call(size_ == 4 ? "tsr_store_f32x2" : "tsr_store_f64x2", {ir::nest::address(to_, offset), v.re, v.im});
}

Complex DeviceLineWriter::finished(Complex v, const Index& b, i64 point) {
  const LineEnd& end = line_.to;
  if (end.swapped) std::swap(v.re, v.im);
  if (end.turn > 0) {
    const Index& part = within_.indices[static_cast<std::size_t>(end.part)];
    v = named(butterfly_.times(v, turn_of(end.turn, let("e", (b + point) * part))));
  }
  if (end.spectrum > 0)
    v = named(butterfly_.times(
        v, entry(tables_.filter(end.spectrum, line_.points * end.step), position_of(end, within_, b, point))));
  if (end.chirp > 0)  // what is not stored has no factor
    v = named(butterfly_.times(
        v, entry(tables_.chirp(end.chirp), least_of(position_of(end, within_, b, point), Index(end.chirp - 1)))));
  if (line_.scale != 1) {
    const Value scale = butterfly_.constant(line_.scale);
    v = {butterfly_.mul(v.re, scale), butterfly_.mul(v.im, scale)};
  }
  if (end.exchanged) std::swap(v.re, v.im);
  return v;
}

Complex DeviceLineWriter::turn_of(i64 n, const Index& e) {
  constexpr i64 most_entries = 8192;
  if (n <= most_entries) return entry(tables_.turns(n, 1, n), e);
  i64 fine = 1;
  while (fine * fine < n) fine *= 2;
  const Complex low = entry(tables_.turns(n, 1, fine), let("low", e % fine));
  const Complex high = entry(tables_.turns(n, fine, (n + fine - 1) / fine), let("high", e / fine));
  return named(butterfly_.times(low, high));
}

void DeviceLineWriter::take_apart(const std::vector<Complex>& values) {
  const i64 n = line_.points, pairs = n / 2 + 1;
  const Written to = results_of(last_pass());
  std::vector<Slot> from;
  std::vector<Index> up, down;
  const i64 times = (pairs + line_.threads - 1) / line_.threads;
  for (i64 turn = 0; turn < times; ++turn) {
    up.push_back(at_turn(pairs, turn, within_));
    down.push_back(let("mirror", Index(n) - up.back()));
    append(from, slots(within_, up.back(), 1, {0}));
    append(from, slots(within_, turn > 0 ? down.back() : let("mirror", down.back() % n), 1, {0}));
  }
  const std::vector<Complex> z = exchanged(to, values, from);
  const Value half = butterfly_.constant(0.5 * line_.scale);
  for (i64 turn = 0; turn < times; ++turn) {
    const auto u = static_cast<std::size_t>(turn);
    const Complex &a = z[2 * u], &c = z[2 * u + 1];
    const Complex even{butterfly_.mul(half, butterfly_.add(a.re, c.re)),
                       butterfly_.mul(half, butterfly_.sub(a.im, c.im))};
    const Complex odd{butterfly_.mul(half, butterfly_.add(a.im, c.im)),
                      butterfly_.mul(half, butterfly_.sub(c.re, a.re))};
    const Complex w = named(butterfly_.times(odd, entry(tables_.turns(2 * n, 1, pairs), up[u])));
    const Complex one = butterfly_.plus(even, w);
    const Complex other{butterfly_.sub(even.re, w.re), butterfly_.sub(w.im, even.im)};
    guarded({within_.alive, takes_part(pairs, turn, within_)}, [&] {
      write_number(wide(up[u]) * line_.to.leg, one);
      write_number(wide(down[u]) * line_.to.leg, other);
    });
  }
}

}  // namespace tessera::fft
