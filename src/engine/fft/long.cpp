// Few long rows. Of n real numbers, n even, neighbours go as one complex number: n / 2 points, then a step that takes
// even and odd elements apart. Other lengths go as complex numbers.
#include <algorithm>

#include "engine/fft/axes.hpp"
#include "engine/fft/code.hpp"
#include "engine/fft/line.hpp"
#include "fft/tables.hpp"
#include "run/cpu/machine.hpp"
#include "run/cpu/parallel.hpp"

namespace tessera::engine {

using fft::Problem;
using fft::Transform;

namespace {

template <class T>
class LongRunner : public FftRunner {
 public:
  LongRunner(const Problem& p, const std::string& compiler)
      : problem_(p), n_(p.extents.back()), halved_((fft::from_real(p) || fft::to_real(p)) && n_ % 2 == 0) {
    // Even and odd elements are taken apart as twice their sums and differences.
    const double scale = halved_ && fft::from_real(p) ? p.scale / 2 : p.scale;
    const bool inverse = p.transform == Transform::inverse || fft::to_real(p);
    row_ = make_line<T>(halved_ ? n_ / 2 : n_, inverse, scale, compiler);
    count_ = 1;
    for (const i64 k : p.batch) count_ *= k;
    if (!halved_) return;
    const fft::Circle circle(n_);
    for (i64 k = 0; k <= n_ / 4; ++k) {
      const auto w = circle(k);
      turns_.push_back(static_cast<T>(w.real()));
      turns_.push_back(static_cast<T>(w.imag()));
    }
  }

  std::string description() const override {
    return (halved_ ? "half as many complex numbers, " : "") + row_->description();
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
        row_->run(x, y, threads);
      else if (fft::from_real(problem_) && halved_)
        row_->run(x, z, threads), apart(z, y);
      else if (fft::from_real(problem_))
        widen(x, z), row_->run(z, z, threads), std::copy(z, z + 2 * (n_ / 2 + 1), y);
      else if (halved_)
        together(x, z), row_->run(z, y, threads);
      else
        mirror(x, z), row_->run(z, z, threads), narrow(z, y);
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
  std::unique_ptr<FftLine<T>> row_;
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
  // Not a few lanes, and points of all of them that a core's cache holds: groups of rows are as good.
  const bool few = count <= lanes / 2;
  const bool large = n * 2 * lanes * static_cast<i64>(sizeof(T)) > 2 * run::cpu::machine().l2;
  if (!few && !large) return nullptr;
  if (n / (real && n % 2 == 0 ? 2 : 1) < least_line(lanes)) return nullptr;
  return std::make_unique<LongRunner<T>>(p, compiler);
}

template std::unique_ptr<FftRunner> make_long_runner<float>(const Problem&, const std::string&);
template std::unique_ptr<FftRunner> make_long_runner<double>(const Problem&, const std::string&);

}  // namespace tessera::engine
