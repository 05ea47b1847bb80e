// See passes.hpp.
#include "fft/cpu/passes.hpp"

#include "fft/butterfly.hpp"
#include "fft/cpu/ends.hpp"
#include "ir/nest/builder.hpp"

namespace tessera::fft {

using ir::nest::Builder;
using ir::nest::Lane;
using ir::nest::Type;
using ir::nest::Value;

std::string name_of(const Pass& p) {
  std::string name = p.radix == 0 ? "fft_odd" : "fft_r" + std::to_string(p.radix);
  if (p.twiddles != Twiddles::none) name += p.twiddles == Twiddles::inner ? "_w" : "_wa";
  const char letters[] = {'p', 't', 'c', 'x'};
  if (p.from != End::points) name += std::string("_f") + letters[static_cast<std::size_t>(p.from)];
  if (p.to != End::points) name += std::string("_t") + letters[static_cast<std::size_t>(p.to)];
  if (p.streaming) name += "_s";
  if (p.fetching) name += "_a";
  return name;
}

namespace {

constexpr i64 turns_ahead = 3;

class PassWriter {
 public:
  PassWriter(const Pass& pass, Type vector, std::vector<ir::nest::Statement>& body)
      : pass_(pass), vector_(vector), out_(body), ends_(out_, vector), butterfly_(out_, vector) {
    const Type number{vector.lane, 1, true};
    from_ = ir::nest::variable("from", number);
    to_ = ir::nest::variable("to", number);
    w_ = ir::nest::variable("w", number);
  }

  void write() {
    const Value n = ir::nest::variable("n", {Lane::i64, 1, true});
    i64 at = 0;
    auto argument = [&](const char* name) { return out_.let(name, ir::nest::load(n, ir::nest::integer(at++), 1)); };
    const Value outer = argument("outer"), inner = argument("inner");
    for (Strides* s : {&from_strides_, &to_strides_, &w_strides_})
      *s = {argument("by_outer"), argument("by_inner"), argument("by_leg")};
    if (pass_.radix == 0) {
      radix_ = argument("radix");
      half_ = out_.let("half", radix_ >> 1);
      table_ = out_.let("table", ir::nest::convert({vector_.lane, 1, true}, argument("address")));
      sums_ = out_.array("sums", vector_, 4 * (largest_odd_radix / 2 + 1));
    }
    const Value one = ir::nest::integer(1), zero = ir::nest::integer(0);
    out_.loop("k", zero, outer, one, [&](const Value& k) {
      out_.loop("i", zero, inner, one, [&](const Value& i) {
        x_ = start(from_, from_strides_, k, i);
        y_ = start(to_, to_strides_, k, i);
        if (pass_.twiddles != Twiddles::none) turn_ = start(w_, w_strides_, k, i);
        if (pass_.radix == 0)
          any_odd();
        else
          one_radix();
      });
    });
  }

 private:
  struct Strides {
    Value outer, inner, leg;
  };

  Value start(const Value& pointer, const Strides& s, const Value& k, const Value& i) {
    return out_.let("at", ir::nest::address(pointer, k * s.outer + i * s.inner));
  }

  Complex load(const Value& leg, bool first) {
    if (pass_.fetching) fetch(leg);
    const Complex x = ends_.load(pass_.from, x_, leg * from_strides_.leg);
    if (pass_.twiddles == Twiddles::none || (pass_.twiddles == Twiddles::inner && first)) return x;
    const Value at = leg * w_strides_.leg;
    const Complex w = {ir::nest::broadcast(ir::nest::load(turn_, at, 1), vector_.lanes),
                       ir::nest::broadcast(ir::nest::load(turn_, at + 1, 1), vector_.lanes)};
    return butterfly_.times(x, {out_.let("w", w.re), out_.let("w", w.im)});
  }

  // The first and the last byte of a point's two vectors, and every 64th between them: columns are not aligned to
  // lines.
  void fetch(const Value& leg) {
    const i64 bytes = 2 * vector_.lanes * ir::nest::size_of(vector_.lane);
    const Value next = ir::nest::address(x_, leg * from_strides_.leg + from_strides_.inner * turns_ahead);
    const Value from = ir::nest::convert(ir::nest::bytes_pointer, next);
    for (i64 line = 0; line < bytes; line += 64) out_.call("tsr_prefetch", {from, ir::nest::integer(line)});
    const bool aligned = pass_.from == End::points || pass_.from == End::turned;
    if (!aligned) out_.call("tsr_prefetch", {from, ir::nest::integer(bytes - 1)});
  }

  void store(const Value& leg, const Complex& y) {
    ends_.store(pass_.to, y_, leg * to_strides_.leg, y, pass_.streaming);
  }

  void one_radix() {
    butterfly_.transform(
        pass_.radix, [&](i64 j) { return load(ir::nest::integer(j), j == 0); },
        [&](i64 k, const Complex& y) { store(ir::nest::integer(k), y); });
  }

  // Sums and differences of pairs go to an array; then two results of m and two of -m at a time come from one run
  // through them.
  void any_odd() {
    const Value one = ir::nest::integer(1);
    const Complex x0 = load(ir::nest::integer(0), true);
    const Value total_re = out_.var("total", x0.re), total_im = out_.var("total", x0.im);
    out_.loop("j", one, half_ + 1, one, [&](const Value& j) {
      const Complex a = load(j, false), b = load(out_.let("mirror", radix_ - j), false);
      const Complex sum = butterfly_.plus(a, b), difference = butterfly_.minus(a, b);
      i64 part = 0;
      for (const Value& v : {sum.re, sum.im, difference.re, difference.im})
        out_.assign_element(sums_, j * 4 + part++, v);
      out_.assign(total_re, total_re + sum.re);
      out_.assign(total_im, total_im + sum.im);
    });
    store(ir::nest::integer(0), {total_re, total_im});
    out_.loop("m", one, half_ + 1, ir::nest::integer(2), [&](const Value& m) {
      // An odd one at the end is computed twice.
      const Value other = out_.let("other", ir::nest::min(m + 1, half_));
      odd_results(x0, {m, other});
    });
  }

  void odd_results(const Complex& x0, const std::vector<Value>& results) {
    const Value one = ir::nest::integer(1);
    struct Sum {
      Value re, im, odd_re, odd_im, row;
    };
    std::vector<Sum> accumulators;
    for (const Value& m : results) {
      const Value nothing = butterfly_.constant(0);
      accumulators.push_back({out_.var("a", x0.re), out_.var("a", x0.im), out_.var("b", nothing),
                              out_.var("b", nothing), out_.let("row", (m - 1) * half_ * 2 - 2)});
    }
    out_.loop("j", one, half_ + 1, one, [&](const Value& j) {
      std::vector<Value> parts;
      for (i64 part = 0; part < 4; ++part) parts.push_back(out_.let("x", element(j * 4 + part)));
      for (const Sum& s : accumulators) {
        const Value at = out_.let("at", s.row + j * 2);
        const Value c = out_.let("c", ir::nest::broadcast(ir::nest::load(table_, at, 1), vector_.lanes));
        const Value si = out_.let("c", ir::nest::broadcast(ir::nest::load(table_, at + 1, 1), vector_.lanes));
        const Value* to[] = {&s.re, &s.im, &s.odd_re, &s.odd_im};
        for (std::size_t part = 0; part < 4; ++part)
          out_.assign(*to[part], ir::nest::fused(part < 2 ? c : si, parts[part], *to[part]));
      }
    });
    for (std::size_t r = 0; r < results.size(); ++r) {
      const Sum& s = accumulators[r];
      store(results[r], {butterfly_.add(s.re, s.odd_im), butterfly_.sub(s.im, s.odd_re)});
      store(out_.let("mirror", radix_ - results[r]), {butterfly_.sub(s.re, s.odd_im), butterfly_.add(s.im, s.odd_re)});
    }
  }

  Value element(const Value& at) const { return ir::nest::call("tsr_at", vector_, {sums_, at}); }

  const Pass pass_;
  const Type vector_;
  Builder out_;
  Ends ends_;
  Butterfly butterfly_;
  Value from_, to_, w_, radix_, half_, table_, sums_, x_, y_, turn_;
  Strides from_strides_, to_strides_, w_strides_;
};

}  // namespace

ir::nest::Module pass_module(const Pass& pass, Type vector) {
  ir::nest::Function f;
  f.name = name_of(pass);
  const Type number{vector.lane, 1, true};
  f.parameters = {{"from", number}, {"to", number}, {"w", number}, {"n", {Lane::i64, 1, true}, true}};
  PassWriter(pass, vector, f.body).write();
  ir::nest::Module module;
  module.functions.push_back(std::move(f));
  return module;
}

}  // namespace tessera::fft
