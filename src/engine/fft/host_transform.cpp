// See host_transform.hpp.
#include "engine/fft/host_transform.hpp"

#include <algorithm>
#include <vector>

#include "engine/fft/fft.hpp"
#include "run/cpu/parallel.hpp"

namespace tessera::engine {

namespace {

// Strides in elements.
std::vector<i64> strides_of(const Array& a) {
  std::vector<i64> strides = a.strides();
  for (i64& s : strides) s /= static_cast<i64>(a.format().size());
  strides.back() = 1;
  return strides;
}

std::vector<i64> dense(const Shape& shape) {
  std::vector<i64> strides(shape.size(), 1);
  for (std::size_t d = shape.size() - 1; d-- > 0;) strides[d] = strides[d + 1] * shape[d + 1];
  return strides;
}

std::vector<i64> outer(std::vector<i64> strides) {
  strides.pop_back();
  return strides;
}

// Rows of an array, and where each begins; of the one at the opposite frequencies as well.
class Rows {
 public:
  Rows(const Shape& shape, const std::vector<int>& along) : shape_(shape), mirrored_(shape.size()) {
    for (const int d : along) mirrored_[static_cast<std::size_t>(d)] = true;
    for (std::size_t d = 0; d + 1 < shape.size(); ++d) count_ *= shape[d];
  }
  i64 count() const { return count_; }
  i64 at(i64 row, const std::vector<i64>& strides, bool opposite) const {
    i64 place = 0;
    for (std::size_t d = shape_.size() - 1; d-- > 0; row /= shape_[d]) {
      const i64 i = row % shape_[d];
      place += strides[d] * (opposite && mirrored_[d] && i > 0 ? shape_[d] - i : i);
    }
    return place;
  }

 private:
  Shape shape_;
  std::vector<bool> mirrored_;
  i64 count_ = 1;
};

constexpr i64 rows_of_tile = 16;

template <class F>
void for_rows(i64 count, int threads, F&& body) {
  run::cpu::parallel_tiles((count + rows_of_tile - 1) / rows_of_tile, threads, [&](i64 tile, int) {
    for (i64 row = tile * rows_of_tile; row < std::min(count, (tile + 1) * rows_of_tile); ++row) body(row);
  });
}

template <class T>
struct Pair {
  T re, im;
};

double over_points(const ir::host::Transform& what, const Shape& shape) {
  if (!what.inverse) return 1;
  double n = 1;
  for (const int d : what.along) n *= static_cast<double>(shape[static_cast<std::size_t>(d)]);
  return 1 / n;
}

// The dimensions from `first` on, for every index of those before.
fft::Problem problem(fft::Transform kind, ElementType type, const Shape& shape, std::size_t first, double scale) {
  fft::Problem p;
  p.transform = kind;
  p.type = type;
  p.batch.assign(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(first));
  p.extents.assign(shape.begin() + static_cast<std::ptrdiff_t>(first), shape.end());
  p.scale = scale;
  return p;
}

// The last dimensions, up to three of them.
bool at_the_end(const ir::host::Transform& what, std::size_t rank) {
  return what.along.size() <= 3 && what.along.front() == static_cast<int>(rank - what.along.size());
}

template <class T>
class FromReal : public HostTransform {
 public:
  FromReal(const ir::host::Transform& what, const Array& from, const Array& to, const std::string& compiler)
      : rows_(from.shape(), what.along),
        n_(from.shape().back()),
        inverse_(what.inverse),
        to_(strides_of(to)),
        fft_(described(what, from, to), compiler) {}

  void run(const Array& from, const Array& to, int threads) const override {
    fft_.run(from.data(), to.data(), threads);
    auto* out = to.as<Pair<T>>();
    const i64 half = n_ / 2 + 1;
    // The inverse of a real image is the forward transform at opposite frequencies, which is its conjugate.
    if (inverse_)
      for_rows(rows_.count(), threads, [&](i64 row) {
        Pair<T>* own = out + rows_.at(row, to_, false);
        for (i64 k = 0; k < half; ++k) own[k].im = -own[k].im;
      });
    for_rows(rows_.count(), threads, [&](i64 row) {
      Pair<T>* own = out + rows_.at(row, to_, false);
      const Pair<T>* opposite = out + rows_.at(row, to_, true);
      for (i64 k = half; k < n_; ++k) own[k] = {opposite[n_ - k].re, -opposite[n_ - k].im};
    });
  }

 private:
  static fft::Problem described(const ir::host::Transform& what, const Array& from, const Array& to) {
    fft::Problem p = problem(fft::Transform::real_to_complex, what.type, from.shape(),
                             from.shape().size() - what.along.size(), over_points(what, from.shape()));
    p.from_strides = outer(strides_of(from));
    p.to_strides = outer(strides_of(to));
    return p;
  }

  Rows rows_;
  i64 n_;
  bool inverse_;
  std::vector<i64> to_;
  Fft fft_;
};

template <class T>
class ToReal : public HostTransform {
 public:
  ToReal(const ir::host::Transform& what, const Array& from, const Array& to, const std::string& compiler)
      : rows_(from.shape(), what.along),
        n_(from.shape().back()),
        from_(strides_of(from)),
        half_(dense(half_of(from.shape()))),
        fft_(described(what, to), compiler) {}

  void run(const Array& from, const Array& to, int threads) const override {
    const i64 half = n_ / 2 + 1;
    const run::cpu::Scratch block =
        run::cpu::acquire_scratch(static_cast<std::size_t>(rows_.count() * half) * sizeof(Pair<T>));
    auto* out = reinterpret_cast<Pair<T>*>(block.data());
    const auto* in = from.as<const Pair<T>>();
    for_rows(rows_.count(), threads, [&](i64 row) {
      const Pair<T>*own = in + rows_.at(row, from_, false), *opposite = in + rows_.at(row, from_, true);
      Pair<T>* mean = out + rows_.at(row, half_, false);
      mean[0] = {own[0].re + opposite[0].re, own[0].im - opposite[0].im};
      for (i64 k = 1; k < half; ++k) mean[k] = {own[k].re + opposite[n_ - k].re, own[k].im - opposite[n_ - k].im};
    });
    fft_.run(out, to.data(), threads);
  }

 private:
  static Shape half_of(Shape shape) {
    shape.back() = shape.back() / 2 + 1;
    return shape;
  }
  static fft::Problem described(const ir::host::Transform& what, const Array& to) {
    fft::Problem p = problem(fft::Transform::complex_to_real, what.type, to.shape(),
                             to.shape().size() - what.along.size(), over_points(what, to.shape()) / 2);
    p.from_strides = outer(dense(half_of(to.shape())));
    p.to_strides = outer(strides_of(to));
    return p;
  }

  Rows rows_;
  i64 n_;
  std::vector<i64> from_, half_;
  Fft fft_;
};

class Complex : public HostTransform {
 public:
  Complex(const ir::host::Transform& what, const Array& from, const Array& to, const std::string& compiler)
      : fft_(described(what, from, to), compiler) {}

  void run(const Array& from, const Array& to, int threads) const override {
    fft_.run(from.data(), to.data(), threads);
  }

 private:
  static fft::Problem described(const ir::host::Transform& what, const Array& from, const Array& to) {
    fft::Problem p = problem(what.inverse ? fft::Transform::inverse : fft::Transform::forward, what.type, from.shape(),
                             from.shape().size() - what.along.size(), over_points(what, from.shape()));
    p.from_strides = outer(strides_of(from));
    p.to_strides = outer(strides_of(to));
    return p;
  }

  Fft fft_;
};

// Any dimensions, in an array of pairs without gaps.
template <class T>
class Anywhere : public HostTransform {
 public:
  Anywhere(const ir::host::Transform& what, const Array& from, const Array& to, const std::string& compiler)
      : shape_(from.shape()),
        rows_(shape_, {}),
        from_(strides_of(from)),
        to_(strides_of(to)),
        dense_(dense(shape_)),
        from_real_(what.from_real),
        to_real_(what.to_real) {
    const auto kind = what.inverse ? fft::Transform::inverse : fft::Transform::forward;
    double scale = over_points(what, shape_);
    std::vector<int> left = what.along;
    std::size_t first = shape_.size();
    while (!left.empty() && left.back() == static_cast<int>(first) - 1 && shape_.size() - first < 3)
      left.pop_back(), --first;
    if (first < shape_.size()) {
      last_ = std::make_unique<Fft>(problem(kind, what.type, shape_, first, scale), compiler);
      scale = 1;
    }
    for (const int d : left) {
      Turned turned;
      for (int k = 0; k < d; ++k) turned.before *= shape_[static_cast<std::size_t>(k)];
      turned.n = shape_[static_cast<std::size_t>(d)];
      for (std::size_t k = static_cast<std::size_t>(d) + 1; k < shape_.size(); ++k) turned.behind *= shape_[k];
      turned.fft = std::make_unique<Fft>(problem(kind, what.type, {turned.before * turned.behind, turned.n}, 1, scale),
                                         compiler);
      scale = 1;
      turned_.push_back(std::move(turned));
    }
  }

  void run(const Array& from, const Array& to, int threads) const override {
    const auto bytes = static_cast<std::size_t>(rows_.count() * shape_.back()) * sizeof(Pair<T>);
    const run::cpu::Scratch block = run::cpu::acquire_scratch(bytes), other = run::cpu::acquire_scratch(bytes);
    auto* pairs = reinterpret_cast<Pair<T>*>(block.data());
    auto* turned = reinterpret_cast<Pair<T>*>(other.data());
    for_rows(rows_.count(), threads, [&](i64 row) {
      Pair<T>* own = pairs + rows_.at(row, dense_, false);
      const i64 at = rows_.at(row, from_, false);
      for (i64 k = 0; k < shape_.back(); ++k)
        own[k] = from_real_ ? Pair<T>{from.as<const T>()[at + k], 0} : from.as<const Pair<T>>()[at + k];
    });
    if (last_) last_->run(pairs, pairs, threads);
    for (const Turned& t : turned_) {
      // Squares, so that lines of memory are used whole on both sides.
      each_square(t, threads, [&](i64 plane, i64 i, i64 k) {
        turned[(plane * t.behind + k) * t.n + i] = pairs[(plane * t.n + i) * t.behind + k];
      });
      t.fft->run(turned, turned, threads);
      each_square(t, threads, [&](i64 plane, i64 i, i64 k) {
        pairs[(plane * t.n + i) * t.behind + k] = turned[(plane * t.behind + k) * t.n + i];
      });
    }
    for_rows(rows_.count(), threads, [&](i64 row) {
      const Pair<T>* own = pairs + rows_.at(row, dense_, false);
      const i64 at = rows_.at(row, to_, false);
      for (i64 k = 0; k < shape_.back(); ++k)
        if (to_real_)
          to.as<T>()[at + k] = own[k].re;
        else
          to.as<Pair<T>>()[at + k] = own[k];
    });
  }

 private:
  struct Turned {
    i64 before = 1, n = 1, behind = 1;
    std::unique_ptr<Fft> fft;
  };

  template <class F>
  static void each_square(const Turned& t, int threads, F&& body) {
    constexpr i64 side = 16;
    const i64 high = (t.n + side - 1) / side, wide = (t.behind + side - 1) / side;
    run::cpu::parallel_tiles(t.before * high * wide, threads, [&](i64 tile, int) {
      const i64 plane = tile / (high * wide), i0 = tile / wide % high * side, k0 = tile % wide * side;
      for (i64 i = i0; i < std::min(t.n, i0 + side); ++i)
        for (i64 k = k0; k < std::min(t.behind, k0 + side); ++k) body(plane, i, k);
    });
  }

  Shape shape_;
  Rows rows_;
  std::vector<i64> from_, to_, dense_;
  bool from_real_, to_real_;
  std::unique_ptr<Fft> last_;
  std::vector<Turned> turned_;
};

template <class T>
std::unique_ptr<HostTransform> made(const ir::host::Transform& what, const Array& from, const Array& to,
                                    const std::string& compiler) {
  if (!at_the_end(what, from.shape().size())) return std::make_unique<Anywhere<T>>(what, from, to, compiler);
  if (what.from_real && what.to_real) return std::make_unique<Anywhere<T>>(what, from, to, compiler);
  if (what.from_real) return std::make_unique<FromReal<T>>(what, from, to, compiler);
  if (what.to_real) return std::make_unique<ToReal<T>>(what, from, to, compiler);
  return std::make_unique<Complex>(what, from, to, compiler);
}

}  // namespace

bool lies_well(const Array& a) {
  const auto size = static_cast<i64>(a.format().size());
  for (std::size_t d = 0; d < a.shape().size(); ++d) {
    if (a.shape()[d] == 1) continue;
    const i64 stride = a.strides()[d];
    if (stride <= 0 || stride % size != 0 || (d + 1 == a.shape().size() && stride != size)) return false;
  }
  const i64 number = a.format().is_struct() ? size / 2 : size;
  return reinterpret_cast<std::uintptr_t>(a.data()) % static_cast<std::uintptr_t>(number) == 0;
}

std::unique_ptr<HostTransform> host_transform(const ir::host::Transform& what, const Array& from, const Array& to,
                                              const std::string& compiler) {
  if (what.type == ElementType::f64) return made<double>(what, from, to, compiler);
  return made<float>(what, from, to, compiler);
}

}  // namespace tessera::engine
