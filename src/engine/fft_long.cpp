// Few long rows, whose lanes are found within a row. With n = a b, element j = j1 b + j2 and frequency k = k1 + a k2,
//
//   columns   a points along j1 for V neighbouring j2, times exp(-2 pi i j2 k1 / n), transposed into blocks of V k1
//   rows      b points along j2 for V neighbouring k1, written to columns of the b x a matrix that the result is
//
// A twiddle is the product of one for j2 within its block of V, the same in every block, and one for the block, so that
// tables have (V + b / V) a entries and not n.
//
// Of n real numbers, n even, neighbours go as one complex number: n / 2 points, then a step that takes even and odd
// elements apart. Other lengths go as complex numbers.
#include <algorithm>
#include <optional>

#include "engine/fft_axes.hpp"
#include "engine/fft_rows.hpp"
#include "engine/fft_tree.hpp"
#include "fft/butterfly.hpp"
#include "run/cpu/machine.hpp"
#include "run/cpu/parallel.hpp"

namespace tessera::engine {

using fft::End;
using fft::Problem;
using fft::Transform;

namespace {

// A complex row of n elements that lie side by side.
template <class T>
class LongRow {
  using Rows = FftRows<T>;

 public:
  LongRow(i64 a, i64 b, bool inverse, double scale, const std::string& compiler)
      : a_(a), b_(b), lanes_(lanes_of<T>()), point_(2 * lanes_) {
    const auto first = fft::plan_transform(a, plan_options<T>()), second = fft::plan_transform(b, plan_options<T>());
    plan_ = "columns " + to_string(*first) + ", rows " + to_string(*second);
    const End end = inverse ? End::exchanged : End::columns;
    first_.emplace(*first, end, End::points, false, compiler);
    second_.emplace(*second, End::points, end, false, compiler);
    const i64 bytes = memory() * static_cast<i64>(sizeof(T));
    blocks_.emplace(a, Rows::Side::none, Rows::Side::blocks, inverse, bytes > 4 * run::cpu::machine().l2, 1.0, compiler);
    turn_ = reinterpret_cast<Turn>(move_function<T>(fft::Move::lane_twiddles, compiler));
    const i64 n = a * b;
    for (i64 k = 0; k < a; ++k)
      for (const bool imaginary : {false, true})
        for (i64 j = 0; j < lanes_; ++j)
          within_.push_back(static_cast<T>(scale * (imaginary ? -fft::sine(j * k, n) : fft::cosine(j * k, n))));
    for (i64 block = 0; block < blocks(b); ++block)
      for (i64 k = 0; k < a; ++k) {
        between_.push_back(static_cast<T>(fft::cosine(start(block, b) * k, n)));
        between_.push_back(static_cast<T>(-fft::sine(start(block, b) * k, n)));
      }
  }

  const std::string& description() const { return plan_; }

  void run(const T* from, T* to, int threads) const {
    const run::cpu::Scratch memory_block =
        run::cpu::acquire_scratch(static_cast<std::size_t>(memory()) * sizeof(T));
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

template <class T>
class LongRunner : public FftRunner {
 public:
  LongRunner(const Problem& p, i64 a, i64 b, const std::string& compiler)
      : problem_(p),
        n_(p.extents.back()),
        halved_(a * b != n_),
        row_(a, b, p.transform == Transform::inverse || fft::to_real(p),
             // Even and odd elements are taken apart as twice their sums and differences.
             halved_ && fft::from_real(p) ? p.scale / 2 : p.scale, compiler) {
    count_ = 1;
    for (const i64 k : p.batch) count_ *= k;
    if (halved_)
      for (i64 k = 0; k <= n_ / 4; ++k) {
        turns_.push_back(static_cast<T>(fft::cosine(k, n_)));
        turns_.push_back(static_cast<T>(-fft::sine(k, n_)));
      }
  }

  std::string description() const override {
    return (halved_ ? "half as many complex numbers, " : "") + row_.description();
  }

  void run(const void* from, void* to, int threads) const override {
    threads = run::cpu::thread_count(threads);
    run::cpu::Scratch spare;
    if (fft::from_real(problem_) || fft::to_real(problem_))
      spare = run::cpu::acquire_scratch(static_cast<std::size_t>(2 * n_) * sizeof(T));
    T* z = reinterpret_cast<T*>(spare.data());
    for (i64 k = 0; k < count_; ++k) {
      const T* x = static_cast<const T*>(from) +
                   (fft::from_real(problem_) ? 1 : 2) * offset_of(k, problem_.batch, problem_.from_strides);
      T* y = static_cast<T*>(to) + (fft::to_real(problem_) ? 1 : 2) * offset_of(k, problem_.batch, problem_.to_strides);
      if (!fft::from_real(problem_) && !fft::to_real(problem_))
        row_.run(x, y, threads);
      else if (fft::from_real(problem_) && halved_)
        row_.run(x, z, threads), apart(z, y);
      else if (fft::from_real(problem_))
        widen(x, z), row_.run(z, z, threads), std::copy(z, z + 2 * (n_ / 2 + 1), y);
      else if (halved_)
        together(x, z), row_.run(z, y, threads);
      else
        mirror(x, z), row_.run(z, z, threads), narrow(z, y);
    }
  }

 private:
  // X[k] = E + w^k O of even and odd elements: E = (Z[k] + conj Z[m - k]) / 2, O = (Z[k] - conj Z[m - k]) / 2i, and
  // X[m - k] = conj E - conj(w^k O).
  void apart(const T* z, T* y) const {
    const i64 m = n_ / 2;
    y[0] = 2 * (z[0] + z[1]), y[1] = 0;
    y[2 * m] = 2 * (z[0] - z[1]), y[2 * m + 1] = 0;
    for (i64 k = 1; 2 * k <= m; ++k) {
      const T *p = z + 2 * k, *q = z + 2 * (m - k);
      const T c = turns_[static_cast<std::size_t>(2 * k)], s = turns_[static_cast<std::size_t>(2 * k + 1)];
      const T er = p[0] + q[0], ei = p[1] - q[1], our = p[1] + q[1], oi = q[0] - p[0];
      const T tr = c * our - s * oi, ti = c * oi + s * our;
      y[2 * k] = er + tr, y[2 * k + 1] = ei + ti;
      y[2 * (m - k)] = er - tr, y[2 * (m - k) + 1] = ti - ei;
    }
  }
  // Z[k] = E + i O with E = X[k] + conj X[m - k], O = conj(w^k) (X[k] - conj X[m - k]).
  void together(const T* x, T* z) const {
    const i64 m = n_ / 2;
    z[0] = x[0] + x[2 * m], z[1] = x[0] - x[2 * m];
    for (i64 k = 1; 2 * k <= m; ++k) {
      const T *p = x + 2 * k, *q = x + 2 * (m - k);
      const T c = turns_[static_cast<std::size_t>(2 * k)], s = turns_[static_cast<std::size_t>(2 * k + 1)];
      const T er = p[0] + q[0], ei = p[1] - q[1], dr = p[0] - q[0], di = p[1] + q[1];
      const T our = c * dr + s * di, oi = c * di - s * dr;
      z[2 * k] = er - oi, z[2 * k + 1] = ei + our;
      z[2 * (m - k)] = er + oi, z[2 * (m - k) + 1] = our - ei;
    }
  }
  void widen(const T* x, T* z) const {
    for (i64 k = 0; k < n_; ++k) z[2 * k] = x[k], z[2 * k + 1] = 0;
  }
  void narrow(const T* z, T* y) const {
    for (i64 k = 0; k < n_; ++k) y[k] = z[2 * k];
  }
  void mirror(const T* x, T* z) const {
    z[0] = x[0], z[1] = 0;
    for (i64 k = 1; k < n_; ++k) {
      const i64 from = std::min(k, n_ - k);
      z[2 * k] = x[2 * from], z[2 * k + 1] = 2 * k == n_ ? 0 : k == from ? x[2 * from + 1] : -x[2 * from + 1];
    }
  }

  const Problem problem_;
  const i64 n_;
  const bool halved_;
  const LongRow<T> row_;
  i64 count_;
  std::vector<T> turns_;
};

}  // namespace

template <class T>
std::unique_ptr<FftRunner> make_long_runner(const Problem& p, const std::string& compiler) {
  const i64 lanes = lanes_of<T>(), n = p.extents.back();
  const bool real = fft::from_real(p) || fft::to_real(p);
  i64 count = 1;
  for (const i64 k : p.batch) count *= k;
  const bool few = count <= lanes / 2;
  const bool large = n * 2 * lanes * static_cast<i64>(sizeof(T)) > 2 * run::cpu::machine().l2;
  if (!few && !large) return nullptr;
  std::pair<i64, i64> parts{1, n};
  if (real && n % 2 == 0) parts = fft::balanced_factors(n / 2, lanes);
  if (parts.first == 1) parts = fft::balanced_factors(n, lanes);
  if (parts.first == 1) return nullptr;
  return std::make_unique<LongRunner<T>>(p, parts.first, parts.second, compiler);
}

template std::unique_ptr<FftRunner> make_long_runner<float>(const Problem&, const std::string&);
template std::unique_ptr<FftRunner> make_long_runner<double>(const Problem&, const std::string&);

}  // namespace tessera::engine
