// Two and three dimensions, batches, strides, in place, guard pages, threads.
#include <gtest/gtest.h>

#include <cstring>

#include "fft/oracle.hpp"
#include "support/guarded_pages.hpp"
#include "tessera/error.hpp"

namespace tessera {
namespace {

using engine::Fft;
using fft::Problem;
using fft::Transform;
using support::GuardedPages;
using support::Wide;

template <class T>
constexpr ElementType type_of = sizeof(T) == 4 ? ElementType::f32 : ElementType::f64;

struct Shape {
  std::vector<i64> batch, extents;
};

std::vector<i64> half_of(std::vector<i64> extents) {
  extents.back() = extents.back() / 2 + 1;
  return extents;
}
i64 product(const std::vector<i64>& list) {
  i64 n = 1;
  for (const i64 k : list) n *= k;
  return n;
}
std::vector<i64> joined(std::vector<i64> a, const std::vector<i64>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// An array of such extents with gaps between its rows (and more between its planes), in memory with pages behind or
// ahead of it that nobody may touch. Gaps hold a value that must stay.
template <class T>
class Gapped {
 public:
  Gapped(const std::vector<i64>& extents, i64 numbers, i64 gap, GuardedPages::Flush flush)
      : extents_(extents),
        numbers_(numbers),
        strides_(strides_for(extents, gap)),
        memory_(static_cast<std::size_t>(last() + 1) * static_cast<std::size_t>(numbers) * sizeof(T), flush, 0x5a,
                sizeof(T)) {}

  T* data() { return reinterpret_cast<T*>(memory_.begin()); }
  // As a problem wants them.
  std::vector<i64> strides() const { return {strides_.begin(), strides_.end() - 1}; }

  template <class F>
  void for_each(const F& f) {
    std::vector<i64> at(extents_.size());
    for (i64 k = 0; k < product(extents_); ++k) {
      i64 offset = 0, rest = k;
      for (std::size_t d = extents_.size(); d-- > 0; rest /= extents_[d]) offset += rest % extents_[d] * strides_[d];
      f(k, data() + offset * numbers_);
    }
  }
  bool gaps_intact() {
    std::vector<unsigned char> used(memory_.bytes(), 0);
    for_each([&](i64, T* at) {
      std::memset(used.data() + (reinterpret_cast<unsigned char*>(at) - memory_.begin()), 1,
                  static_cast<std::size_t>(numbers_) * sizeof(T));
    });
    for (std::size_t k = 0; k < used.size(); ++k)
      if (used[k] == 0 && memory_.begin()[k] != 0x5a) return false;
    return memory_.surroundings_intact();
  }

 private:
  static std::vector<i64> strides_for(const std::vector<i64>& extents, i64 gap) {
    std::vector<i64> strides(extents.size(), 1);
    for (std::size_t d = extents.size() - 1; d-- > 0;) strides[d] = strides[d + 1] * extents[d + 1] + gap;
    return strides;
  }
  i64 last() const {
    i64 at = 0;
    for (std::size_t d = 0; d < extents_.size(); ++d) at += (extents_[d] - 1) * strides_[d];
    return at;
  }

  std::vector<i64> extents_;
  i64 numbers_;
  std::vector<i64> strides_;
  GuardedPages memory_;
};

double bound(i64 n, double epsilon) {
  return 2 * epsilon * std::max(1.0, std::log2(static_cast<double>(n)));
}
template <class T>
constexpr double epsilon = sizeof(T) == 4 ? 1.1920929e-7 : 2.220446e-16;

template <class T>
void check_complex(const Shape& shape, i64 gap, GuardedPages::Flush flush, bool in_place) {
  const std::vector<i64> all = joined(shape.batch, shape.extents);
  Gapped<T> x(all, 2, gap, flush), y(all, 2, in_place ? gap : 0, flush);
  support::Random random(1);
  std::vector<Wide> values;
  x.for_each([&](i64, T* at) {
    at[0] = static_cast<T>(random.next()), at[1] = static_cast<T>(random.next());
    values.emplace_back(at[0], at[1]);
  });
  for (const bool inverse : {false, true}) {
    std::vector<Wide> expected = values;
    support::transform(expected, product(shape.batch), shape.extents, inverse);
    const Fft fft({.transform = inverse ? Transform::inverse : Transform::forward,
                   .type = type_of<T>,
                   .batch = shape.batch,
                   .extents = shape.extents,
                   .from_strides = x.strides(),
                   .to_strides = y.strides(),
                   .scale = inverse ? 0.5 : 1.0});
    if (in_place) {
      std::vector<Wide>::const_iterator v = values.begin();
      y.for_each([&](i64, T* at) { at[0] = static_cast<T>(v->real()), at[1] = static_cast<T>(v->imag()), ++v; });
    }
    fft.run(in_place ? y.data() : x.data(), y.data(), 1);
    long double error = 0, norm = 0;
    y.for_each([&](i64 k, T* at) {
      const Wide want = expected[static_cast<std::size_t>(k)] * (inverse ? 0.5L : 1.0L);
      error += std::norm(Wide(at[0], at[1]) - want), norm += std::norm(want);
    });
    EXPECT_LT(static_cast<double>(std::sqrt(error / norm)), bound(product(shape.extents), epsilon<T>))
        << (inverse ? "inverse, " : "") << fft.description();
  }
  EXPECT_TRUE(x.gaps_intact());
  EXPECT_TRUE(y.gaps_intact());
}

template <class T>
void check_real(const Shape& shape, i64 gap, GuardedPages::Flush flush) {
  Gapped<T> x(joined(shape.batch, shape.extents), 1, gap, flush), back(joined(shape.batch, shape.extents), 1, 0, flush);
  Gapped<T> y(joined(shape.batch, half_of(shape.extents)), 2, gap, flush);
  support::Random random(2);
  std::vector<Wide> values;
  x.for_each([&](i64, T* at) { values.emplace_back(*at = static_cast<T>(random.next()), 0); });
  std::vector<Wide> expected = values;
  support::transform(expected, product(shape.batch), shape.extents, false);
  const Fft forward({.transform = Transform::real_to_complex,
                     .type = type_of<T>,
                     .batch = shape.batch,
                     .extents = shape.extents,
                     .from_strides = x.strides(),
                     .to_strides = y.strides()});
  forward.run(x.data(), y.data(), 1);
  const i64 n = shape.extents.back(), half = n / 2 + 1;
  long double error = 0, norm = 0;
  y.for_each([&](i64 k, T* at) {
    const Wide want = expected[static_cast<std::size_t>(k / half * n + k % half)];
    error += std::norm(Wide(at[0], at[1]) - want), norm += std::norm(want);
  });
  EXPECT_LT(static_cast<double>(std::sqrt(error / norm)), bound(product(shape.extents), epsilon<T>))
      << forward.description();
  const Fft inverse({.transform = Transform::complex_to_real,
                     .type = type_of<T>,
                     .batch = shape.batch,
                     .extents = shape.extents,
                     .from_strides = y.strides(),
                     .to_strides = back.strides(),
                     .scale = 1.0 / static_cast<double>(product(shape.extents))});
  inverse.run(y.data(), back.data(), 1);
  error = norm = 0;
  back.for_each([&](i64 k, T* at) {
    const long double want = values[static_cast<std::size_t>(k)].real();
    error += (*at - want) * (*at - want), norm += want * want;
  });
  EXPECT_LT(static_cast<double>(std::sqrt(error / norm)), 2 * bound(product(shape.extents), epsilon<T>))
      << inverse.description();
  for (Gapped<T>* a : {&x, &y, &back}) EXPECT_TRUE(a->gaps_intact());
}

template <class T>
void check(const Shape& shape) {
  for (const i64 gap : {0, 3})
    for (const auto flush : {GuardedPages::Flush::begin, GuardedPages::Flush::end}) {
      if (gap == 3 && flush == GuardedPages::Flush::begin) continue;
      SCOPED_TRACE(testing::Message() << testing::PrintToString(shape.batch) << " of "
                                      << testing::PrintToString(shape.extents) << ", gap " << gap << ", " << sizeof(T)
                                      << " bytes");
      check_complex<T>(shape, gap, flush, false);
      check_complex<T>(shape, gap, flush, true);
      check_real<T>(shape, gap, flush);
    }
}

void check_both(const Shape& shape) {
  check<float>(shape);
  check<double>(shape);
}

TEST(FftShapes, Rows) {
  for (const i64 rows : {1, 2, 15, 16, 17, 31, 33, 50})
    for (const i64 n : {1, 3, 7, 8, 9, 15, 16, 17, 30, 31, 64, 67}) check_both({{rows}, {n}});
}

TEST(FftShapes, NestedBatches) {
  check_both({{2, 3}, {20}});
  check_both({{3, 2}, {5, 18}});
  check_both({{2, 2}, {3, 4, 17}});
}

TEST(FftShapes, Planes) {
  for (const i64 rows : {1, 2, 5, 16, 35})
    for (const i64 columns : {1, 2, 7, 8, 15, 16, 17, 31, 32, 33, 67}) check_both({{}, {rows, columns}});
}

TEST(FftShapes, LargerPlanes) {
  check<float>({{}, {131, 67}});
  check<float>({{}, {256, 90}});
  check<double>({{}, {49, 250}});
}

TEST(FftShapes, ManyPlanes) {
  check_both({{37}, {8, 9}});
  check_both({{5}, {32, 32}});
}

TEST(FftShapes, Volumes) {
  for (const std::vector<i64>& extents : std::vector<std::vector<i64>>{{1, 1, 1},
                                                                       {2, 3, 5},
                                                                       {7, 1, 20},
                                                                       {1, 9, 40},
                                                                       {13, 11, 1},
                                                                       {16, 16, 16},
                                                                       {5, 17, 33},
                                                                       {31, 6, 15},
                                                                       {12, 10, 70}})
    check_both({{}, extents});
  check_both({{3}, {4, 5, 35}});
}

TEST(FftShapes, SameBitsForAnyNumberOfThreads) {
  for (const std::vector<i64>& extents :
       std::vector<std::vector<i64>>{{90, 123}, {9, 40, 50}, {333}, {30030}, {10007}, {1000, 712}, {70, 90, 120}}) {
    const i64 batch = product(extents) > 100000 ? 1 : 7, n = product(extents) * batch;
    std::vector<float> x(static_cast<std::size_t>(2 * n)), one(x.size()), two(x.size());
    support::Random random(3);
    for (float& v : x) v = static_cast<float>(random.next());
    for (const Transform t : {Transform::forward, Transform::real_to_complex, Transform::complex_to_real}) {
      const Fft fft({.transform = t, .batch = {batch}, .extents = extents});
      fft.run(x.data(), one.data(), 1);
      for (const int threads : {2, 3}) {
        std::fill(two.begin(), two.end(), 0.0F);
        fft.run(x.data(), two.data(), threads);
        EXPECT_EQ(std::memcmp(one.data(), two.data(), one.size() * sizeof(float)), 0);
      }
      std::fill(one.begin(), one.end(), 0.0F);
    }
  }
}

TEST(FftShapes, ImaginaryPartsOfOwnMirrorImagesDoNotCount) {
  for (const i64 n : {6, 64, 100}) {
    std::vector<float> x(static_cast<std::size_t>(n + 2)), plain(static_cast<std::size_t>(n)), odd(plain.size());
    support::Random random(4);
    for (float& v : x) v = static_cast<float>(random.next());
    x[1] = x[static_cast<std::size_t>(n + 1)] = 0;
    const Fft fft({.transform = Transform::complex_to_real, .extents = {n}});
    fft.run(x.data(), plain.data(), 1);
    x[1] = 5, x[static_cast<std::size_t>(n + 1)] = -3;
    fft.run(x.data(), odd.data(), 1);
    for (std::size_t k = 0; k < plain.size(); ++k) EXPECT_NEAR(plain[k], odd[k], 1e-5);
  }
}

TEST(FftProblems, AreRefusedWithAReason) {
  const auto refused = [](Problem p, const std::string& part) {
    try {
      const Fft fft(std::move(p));
      ADD_FAILURE() << "expected: " << part;
    } catch (const Error& e) {
      EXPECT_EQ(e.error_class(), ErrorClass::argument);
      EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << e.what();
    }
  };
  refused({.type = ElementType::u8, .extents = {4}}, "uint8 numbers");
  refused({.extents = {}}, "0 dimensions");
  refused({.extents = {2, 2, 2, 2}}, "4 dimensions");
  refused({.extents = {4, 0}}, "an extent of a transform is 0");
  refused({.extents = {4, 4}, .from_strides = {4, 1}}, "2 strides of the input");
  refused({.extents = {i64{1} << 40, 4}}, "more than");
}

}  // namespace
}  // namespace tessera
