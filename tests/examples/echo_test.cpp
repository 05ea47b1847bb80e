// The echocardiography example against an implementation of its own: transforms by their definition, in double, the
// tensors dual to the directions by solving equations. Then what it is for.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <functional>
#include <numbers>
#include <random>
#include <vector>

#include "tessera/program.hpp"

namespace tessera {
namespace {

using Number = std::complex<double>;
using Vector = std::array<double, 4>;
using Matrix = std::array<Vector, 4>;
constexpr double pi = std::numbers::pi;

// Series with every dimension of its own extent, moments first.
class Echo {
 public:
  Echo(Vector extents, double noise) : noise_(noise) {
    for (std::size_t d = 0; d < 4; ++d) shape_.push_back(static_cast<i64>(extents[d]));
    count_ = shape_[0] * shape_[1] * shape_[2] * shape_[3];
    const double h = 1 / std::sqrt(20.0);
    const double corners[5][4] = {
        {-h, .5, .5, .5}, {-h, .5, -.5, -.5}, {-h, -.5, .5, -.5}, {-h, -.5, -.5, .5}, {4 * h, 0, 0, 0}};
    for (int a = 0; a < 5; ++a)
      for (int b = a + 1; b < 5; ++b) {
        Vector n;
        for (std::size_t d = 0; d < 4; ++d) n[d] = (corners[a][d] - corners[b][d]) / std::sqrt(2.0);
        directions_.push_back(n);
      }
    solve_duals();
  }

  std::vector<double> filtered, strength;

  void run(const std::vector<float>& series) {
    std::vector<Number> spectrum(series.begin(), series.end());
    transform(spectrum, -1);
    std::vector<Matrix> tensors(series.size(), Matrix{});
    for (std::size_t k = 0; k < 10; ++k) {
      const auto q = band(spectrum, [&](const Vector& u, double r) {
        const double a = dot(directions_[k], u), l = std::log2(r / 0.15);
        return a > 0 && directed(u) ? std::exp2(-l * l) * a * a / (r * r) : 0;
      });
      for (std::size_t i = 0; i < q.size(); ++i) add(tensors[i], std::abs(q[i]), duals_[k]);
    }
    average(tensors);
    const auto low = [](double r) { return std::exp(-2 * pi * pi * 1.1 * 1.1 * r * r); };
    const auto smooth = band(spectrum, [&](const Vector&, double r) { return low(r); });
    filtered.clear(), strength.clear();
    for (std::size_t i = 0; i < smooth.size(); ++i) {
      const double size = product(tensors[i], tensors[i]);
      strength.push_back(std::sqrt(size) / (size + noise_ * noise_));
      filtered.push_back(smooth[i].real());
    }
    for (std::size_t k = 0; k < 10; ++k) {
      const auto part = band(spectrum, [&](const Vector& u, double r) {
        const double a = dot(directions_[k], u);
        return r > 0 && directed(u) ? (1 - low(r)) * a * a / (r * r) : 0;
      });
      for (std::size_t i = 0; i < part.size(); ++i)
        filtered[i] += strength[i] * product(tensors[i], duals_[k]) * part[i].real();
    }
  }

 private:
  static double dot(const Vector& a, const Vector& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3]; }
  static bool directed(const Vector& u) {
    return std::none_of(u.begin(), u.end(), [](double f) { return std::abs(f) == 0.5; });
  }
  static double product(const Matrix& a, const Matrix& b) {
    double sum = 0;
    for (std::size_t d = 0; d < 4; ++d) sum += dot(a[d], b[d]);
    return sum;
  }
  static void add(Matrix& to, double factor, const Matrix& m) {
    for (std::size_t d = 0; d < 4; ++d)
      for (std::size_t e = 0; e < 4; ++e) to[d][e] += factor * m[d][e];
  }

  // Symmetric matrices whose product with n n' is 1 for their own direction, 0 for the nine others: combinations of
  // these n n', found by elimination.
  void solve_duals() {
    std::vector<Matrix> outer(10);
    for (std::size_t k = 0; k < 10; ++k)
      for (std::size_t d = 0; d < 4; ++d)
        for (std::size_t e = 0; e < 4; ++e) outer[k][d][e] = directions_[k][d] * directions_[k][e];
    std::vector<std::vector<double>> rows(10, std::vector<double>(20, 0));
    for (std::size_t k = 0; k < 10; ++k) {
      for (std::size_t l = 0; l < 10; ++l) rows[k][l] = product(outer[k], outer[l]);
      rows[k][10 + k] = 1;
    }
    for (std::size_t p = 0; p < 10; ++p) {  // (a matrix of inner products: no pivots needed)
      const double pivot = rows[p][p];
      for (double& v : rows[p]) v /= pivot;
      for (std::size_t k = 0; k < 10; ++k) {
        if (k == p) continue;
        const double factor = rows[k][p];
        for (std::size_t c = 0; c < 20; ++c) rows[k][c] -= factor * rows[p][c];
      }
    }
    duals_.assign(10, Matrix{});
    for (std::size_t k = 0; k < 10; ++k)
      for (std::size_t l = 0; l < 10; ++l) add(duals_[k], rows[k][10 + l], outer[l]);
  }

  // Calls `line` with the first element of every line along a dimension, and the step along it.
  void lines(std::size_t d, const std::function<void(i64 first, i64 step)>& line) const {
    i64 step = 1;
    for (std::size_t e = d + 1; e < 4; ++e) step *= shape_[e];
    for (i64 i = 0; i < count_; ++i)
      if (i / step % shape_[d] == 0) line(i, step);
  }

  void transform(std::vector<Number>& x, int sign) const {
    for (std::size_t d = 0; d < 4; ++d) {
      const i64 n = shape_[d];
      lines(d, [&](i64 first, i64 step) {
        std::vector<Number> result(static_cast<std::size_t>(n));
        for (i64 k = 0; k < n; ++k)
          for (i64 j = 0; j < n; ++j)
            result[static_cast<std::size_t>(k)] +=
                x[static_cast<std::size_t>(first + j * step)] *
                std::polar(1.0, sign * 2 * pi * static_cast<double>(j * k % n) / static_cast<double>(n));
        for (i64 k = 0; k < n; ++k) x[static_cast<std::size_t>(first + k * step)] = result[static_cast<std::size_t>(k)];
      });
    }
  }

  std::vector<Number> band(std::vector<Number> x, const std::function<double(const Vector& u, double r)>& gain) const {
    for (i64 i = 0; i < count_; ++i) {
      Vector u;
      i64 rest = i;
      for (std::size_t d = 4; d-- > 0; rest /= shape_[d]) {
        const i64 k = rest % shape_[d];
        u[d] = static_cast<double>(2 * k > shape_[d] ? k - shape_[d] : k) / static_cast<double>(shape_[d]);
      }
      x[static_cast<std::size_t>(i)] *= gain(u, std::sqrt(dot(u, u))) / static_cast<double>(count_);
    }
    transform(x, 1);
    return x;
  }

  void average(std::vector<Matrix>& x) const {
    std::vector<double> bell;
    double all = 0;
    for (int a = -2; a <= 2; ++a) bell.push_back(std::exp(-a * a / (2 * 1.1 * 1.1))), all += bell.back();
    for (double& b : bell) b /= all;
    for (std::size_t d = 0; d < 4; ++d) {
      const std::vector<double> weights = d == 0 ? std::vector<double>{0.25, 0.5, 0.25} : bell;
      const i64 n = shape_[d], reach = static_cast<i64>(weights.size()) / 2;
      const std::vector<Matrix> from = x;
      lines(d, [&](i64 first, i64 step) {
        for (i64 k = 0; k < n; ++k) {
          Matrix& to = x[static_cast<std::size_t>(first + k * step)];
          to = Matrix{};
          for (i64 a = -reach; a <= reach; ++a)
            add(to, weights[static_cast<std::size_t>(a + reach)],
                from[static_cast<std::size_t>(first + ((k + a) % n + n) % n * step)]);
        }
      });
    }
  }

  double noise_;
  Shape shape_;
  i64 count_ = 0;
  std::vector<Vector> directions_;
  std::vector<Matrix> duals_;
};

Program echo(std::map<std::string, double> parameters = {}) {
  return Program::from_file(std::string(TESSERA_SOURCE_DIR) + "/examples/echo.forma", {std::move(parameters), {}});
}

TEST(Echo, IsWhatItsDefinitionsGive) {
  const Shape shape = {4, 5, 6, 9};
  Array series(ElementType::f32, shape);
  std::mt19937 random(3);
  for (i64 i = 0; i < series.count(); ++i)
    series.as<float>()[i] = static_cast<float>(random() % 1000) / 1000 + (i % 9 < 4 ? 0 : 0.7F);
  const std::vector<Array> results = echo({{"noise", 0.2}}).run({series});
  Echo expected({4, 5, 6, 9}, 0.2);
  expected.run({series.as<float>(), series.as<float>() + series.count()});
  double steers = 0;
  for (i64 i = 0; i < series.count(); ++i) {
    const auto k = static_cast<std::size_t>(i);
    ASSERT_NEAR(results[0].as<float>()[i], expected.filtered[k], 2e-5) << i;
    ASSERT_NEAR(results[1].as<float>()[i], expected.strength[k], 1e-4) << i;
    steers = std::max(steers, expected.strength[k]);
  }
  EXPECT_GT(steers, 1);
}

// A wall that moves a point a moment. The series is periodic: there are two.
TEST(Echo, SmoothsSpeckleAndKeepsAWall) {
  const i64 columns = 24, rows = 6, slices = 4, moments = 24;
  const auto truth = [&](i64 i) {
    const i64 t = i / (columns * rows * slices), x = (i % columns + t) % columns;
    return x < 12 ? 0.3 : 0.8;
  };
  Array noisy(ElementType::f32, {moments, slices, rows, columns});
  std::mt19937 random(7);
  for (i64 i = 0; i < noisy.count(); ++i)
    noisy.as<float>()[i] = static_cast<float>(truth(i) + 0.3 * (static_cast<double>(random() % 1000) / 1000 - 0.5));
  const auto errors = [&](const Array& a) {  // root mean squares of all points, and of those beside the wall
    double all = 0, wall = 0, count = 0;
    for (i64 i = 0; i < a.count(); ++i) {
      const double e = a.as<float>()[i] - truth(i);
      all += e * e;
      const i64 t = i / (columns * rows * slices), x = (i % columns + t) % 12;
      if (x == 0 || x == 11) wall += e * e, count += 1;
    }
    return std::pair(std::sqrt(all / static_cast<double>(a.count())), std::sqrt(wall / count));
  };
  const auto before = errors(noisy), low = errors(echo({{"detail", 0}}).run({noisy}).at(0)),
             adaptive = errors(echo().run({noisy}).at(0));
  EXPECT_LT(adaptive.first, 0.4 * before.first);
  EXPECT_LT(adaptive.second, 0.4 * before.second);
  EXPECT_LT(adaptive.second, 0.2 * low.second);
}

}  // namespace
}  // namespace tessera
