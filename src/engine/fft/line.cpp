// See line.hpp. With n = a b, element j = j1 b + j2 and frequency k = k1 + a k2,
//
//   columns   a points along j1 for V neighbouring j2, times exp(-2 pi i j2 k1 / n), transposed into blocks of V k1
//   rows      b points along j2 for V neighbouring k1, written to columns of the b x a matrix that the result is
//
// A twiddle is the product of one for j2 within its block of V, the same in every block, and one for the block, so that
// tables have (V + b / V) a entries and not n.
//
// A length without two such factors (a prime) is a convolution with a chirp in a length that has them.
#include "engine/fft/line.hpp"

#include <algorithm>
#include <complex>
#include <optional>
#include <vector>

#include "engine/fft/axes.hpp"
#include "engine/fft/rows.hpp"
#include "engine/fft/tree.hpp"
#include "fft/tables.hpp"
#include "run/cpu/machine.hpp"
#include "run/cpu/parallel.hpp"

namespace tessera::engine {

using fft::End;

namespace {

template <class T>
class FourSteps : public FftLine<T> {
  using Rows = FftRows<T>;

 public:
  FourSteps(i64 a, i64 b, bool inverse, double scale, const std::string& compiler)
      : a_(a), b_(b), lanes_(lanes_of<T>()), point_(2 * lanes_) {
    const auto first = fft::plan_transform(a, plan_options<T>()), second = fft::plan_transform(b, plan_options<T>());
    plan_ = "columns " + to_string(*first) + ", rows " + to_string(*second);
    const End end = inverse ? End::exchanged : End::columns;
    const bool far = memory() * static_cast<i64>(sizeof(T)) > 4 * run::cpu::machine().l2;
    using Memory = typename FftTree<T>::Memory;
    first_.emplace(*first, end, End::points, Memory{far, false}, compiler);
    second_.emplace(*second, End::points, end, Memory{far, false}, compiler);
    blocks_.emplace(a, Rows::Side::none, Rows::Side::blocks, inverse, far, 1.0, compiler);
    turn_ = reinterpret_cast<Turn>(move_function<T>(fft::Move::lane_twiddles, compiler));
    const i64 n = a * b;
    const fft::Circle circle(n);
    std::vector<T> imaginary;
    for (i64 k = 0; k < a; ++k) {
      imaginary.clear();
      for (i64 j = 0; j < lanes_; ++j) {
        const auto w = scale * circle(j * k);
        within_.push_back(static_cast<T>(w.real()));
        imaginary.push_back(static_cast<T>(w.imag()));
      }
      within_.insert(within_.end(), imaginary.begin(), imaginary.end());
    }
    for (i64 block = 0; block < blocks(b); ++block)
      for (i64 k = 0; k < a; ++k) {
        const auto w = circle(start(block, b) * k);
        between_.push_back(static_cast<T>(w.real()));
        between_.push_back(static_cast<T>(w.imag()));
      }
  }

  std::string description() const override { return plan_; }

  void run(const T* from, T* to, int threads) const override {
    const run::cpu::Scratch memory_block = run::cpu::acquire_scratch(static_cast<std::size_t>(memory()) * sizeof(T));
    T* memory = reinterpret_cast<T*>(memory_block.data());
    const i64 numbers = std::max(blocks_->points() + blocks_->staging() + first_->scratch(), second_->scratch());
    run::cpu::SlotScratch scratch(threads, static_cast<std::size_t>(numbers) * sizeof(T));
    run::cpu::parallel_tiles(blocks(b_), threads, [&](i64 block, int slot) {
      T* points = reinterpret_cast<T*>(scratch.get(slot));
      T *staging = points + blocks_->points(), *rest = staging + blocks_->staging();
      first_->run(from + 2 * start(block, b_), 2 * b_, points, point_, rest);
      const fft::MoveArguments n{a_, 0, reinterpret_cast<i64>(between_.data() + 2 * a_ * block), 0};
      turn_(points, nullptr, within_.data(), reinterpret_cast<const i64*>(&n));
      T* rows[64];
      // Rows of the block before have twiddles of other factors, and stay: their lanes write ahead of the last lane.
      for (i64 k = 0; k < lanes_; ++k) {
        const i64 row = start(block, b_) + k;
        rows[k] = memory + (row < block * lanes_ ? b_ - 1 : row) * point_;
      }
      blocks_->out(points, rows, lanes_, pitch(), staging);
    });
    run::cpu::parallel_tiles(blocks(a_), threads, [&](i64 block, int slot) {
      second_->run(memory + block * pitch(), point_, to + 2 * start(block, a_), 2 * a_,
                   reinterpret_cast<T*>(scratch.get(slot)));
    });
  }

 private:
  using Turn = void (*)(T* points, const void* rows, const T* table, const i64* n);

  i64 blocks(i64 n) const { return (n + lanes_ - 1) / lanes_; }
  i64 start(i64 block, i64 n) const { return std::min(block * lanes_, n - lanes_); }
  i64 pitch() const { return (b_ | 1) * point_; }
  i64 memory() const { return blocks(a_) * pitch(); }

  const i64 a_, b_, lanes_, point_;
  std::string plan_;
  std::optional<FftTree<T>> first_, second_;
  std::optional<Rows> blocks_;
  Turn turn_ = nullptr;
  std::vector<T> within_, between_;
};

// X[k] = c_k sum over j of (x_j c_j) conj(c_(k - j)), as in fft/tables.cpp. An inverse is the conjugate of the
// transform of the conjugate; so is that of the convolution.
template <class T>
class Chirp : public FftLine<T> {
 public:
  Chirp(i64 n, bool inverse, double scale, const std::string& compiler) : n_(n), inverse_(inverse) {
    const i64 lanes = lanes_of<T>();
    std::pair<i64, i64> parts{1, 1};
    for (const i64 m : fft::smooth_lengths(2 * n - 1))
      if (parts.first == 1 && fft::balanced_factors(m, lanes).first > 1) parts = fft::balanced_factors(m, lanes);
    m_ = parts.first * parts.second;
    line_.emplace(parts.first, parts.second, false, 1.0, compiler);
    const fft::Circle circle(2 * n);
    std::vector<double> b(static_cast<std::size_t>(2 * m_));
    const double by = 1 / static_cast<double>(m_);
    i64 square = 0;  // j * j modulo 2 n
    for (i64 j = 0; j < n; ++j) {
      const std::complex<double> c = circle(square);
      square += 2 * j + 1;
      while (square >= 2 * n) square -= 2 * n;
      put(in_, c);
      put(out_, c * scale);
      for (const i64 at : {j, j == 0 ? j : m_ - j}) {
        b[static_cast<std::size_t>(2 * at)] = c.real() * by;
        b[static_cast<std::size_t>(2 * at + 1)] = -c.imag() * by;
      }
    }
    const std::pair<i64, i64> wide = fft::balanced_factors(m_, lanes_of<double>());
    FourSteps<double>(wide.first, wide.second, false, 1.0, compiler).run(b.data(), b.data(), 1);
    for (const double v : b) spectrum_.push_back(static_cast<T>(v));
  }

  std::string description() const override { return "chirp: " + line_->description(); }

  void run(const T* from, T* to, int threads) const override {
    const run::cpu::Scratch block = run::cpu::acquire_scratch(static_cast<std::size_t>(2 * m_) * sizeof(T));
    T* a = reinterpret_cast<T*>(block.data());
    const T sign = inverse_ ? T{-1} : T{1};
    pieces(m_, threads, [&](i64 begin, i64 end) {
      for (i64 k = begin; k < std::min(end, n_); ++k)
        multiply(from[2 * k], sign * from[2 * k + 1], in_.data() + 2 * k, T{1}, a + 2 * k);
      if (end > n_) std::fill(a + 2 * std::max(begin, n_), a + 2 * end, T{0});
    });
    line_->run(a, a, threads);
    pieces(m_, threads, [&](i64 begin, i64 end) {
      for (i64 k = begin; k < end; ++k) multiply(a[2 * k], a[2 * k + 1], spectrum_.data() + 2 * k, T{-1}, a + 2 * k);
    });
    line_->run(a, a, threads);
    pieces(n_, threads, [&](i64 begin, i64 end) {
      for (i64 k = begin; k < end; ++k) multiply(a[2 * k], -a[2 * k + 1], out_.data() + 2 * k, sign, to + 2 * k);
    });
  }

 private:
  static void put(std::vector<T>& table, const std::complex<double>& c) {
    table.push_back(static_cast<T>(c.real()));
    table.push_back(static_cast<T>(c.imag()));
  }
  // The imaginary part of the product times `sign`.
  static void multiply(T re, T im, const T* w, T sign, T* to) {
    const T real = re * w[0] - im * w[1];
    to[1] = sign * (re * w[1] + im * w[0]);
    to[0] = real;
  }
  template <class F>
  static void pieces(i64 n, int threads, const F& f) {
    constexpr i64 piece = 4096;
    run::cpu::parallel_tiles((n + piece - 1) / piece, threads,
                             [&](i64 k, int) { f(k * piece, std::min(n, (k + 1) * piece)); });
  }

  i64 n_, m_ = 0;
  bool inverse_;
  std::optional<FourSteps<T>> line_;
  std::vector<T> in_, out_, spectrum_;
};

}  // namespace

template <class T>
std::unique_ptr<FftLine<T>> make_line(i64 n, bool inverse, double scale, const std::string& compiler) {
  const std::pair<i64, i64> parts = fft::balanced_factors(n, lanes_of<T>());
  const bool lopsided = std::max(parts.first, parts.second) > 64 * std::min(parts.first, parts.second);
  if (parts.first > 1 && !lopsided)
    return std::make_unique<FourSteps<T>>(parts.first, parts.second, inverse, scale, compiler);
  return std::make_unique<Chirp<T>>(n, inverse, scale, compiler);
}

template std::unique_ptr<FftLine<float>> make_line<float>(i64, bool, double, const std::string&);
template std::unique_ptr<FftLine<double>> make_line<double>(i64, bool, double, const std::string&);

}  // namespace tessera::engine
