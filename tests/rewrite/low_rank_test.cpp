// Weights as sums of few outer products: what is found, what is left over, and that zeros stay zeros.
#include "rewrite/sums/low_rank.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "rewrite/sums/running.hpp"

namespace tessera::rewrite {
namespace {

Tensor tensor(std::vector<i64> extents) {
  Tensor w;
  w.rank = extents.size();
  for (std::size_t d = 0; d < w.rank; ++d) w.extent[d] = extents[d], w.scale[d] = 1;
  w.at.resize(static_cast<std::size_t>(w.count()));
  return w;
}

// The sum of so many random outer products; of integers below 10.
Tensor random_products(std::vector<i64> extents, int products, std::mt19937& random, bool integers = false) {
  Tensor w = tensor(std::move(extents));
  for (int p = 0; p < products; ++p) {
    std::vector<std::vector<double>> factors;
    for (std::size_t d = 0; d < w.rank; ++d) {
      std::vector<double>& f = factors.emplace_back();
      for (i64 k = 0; k < w.extent[d]; ++k)
        f.push_back(integers ? static_cast<double>(random() % 19) - 9
                             : static_cast<double>(random() % 2001) / 1000 - 1);
    }
    for (i64 e = 0; e < w.count(); ++e) {
      double x = 1;
      for (std::size_t d = 0; d < w.rank; ++d) x *= factors[d][static_cast<std::size_t>(w.index(d, e))];
      w.at[static_cast<std::size_t>(e)] += x;
    }
  }
  return w;
}

// What the products say, entry by entry, written down without the code that is tested.
double left_over(const Tensor& w, const std::vector<Product>& products) {
  double left = 0, all = 0;
  for (i64 e = 0; e < w.count(); ++e) {
    double sum = 0;
    for (const Product& p : products) {
      double x = p.scale;
      for (const Product::Factor& f : p.factors) {
        i64 at = 0;
        for (const std::size_t d : f.dims) at = at * w.extent[d] + w.index(d, e);
        x *= f.weights[static_cast<std::size_t>(at)];
      }
      sum += x;
    }
    left += std::fabs(sum - w.at[static_cast<std::size_t>(e)]);
    all += std::fabs(w.at[static_cast<std::size_t>(e)]);
  }
  return left / all;
}

TEST(LowRank, RandomMatricesOfKnownRank) {
  std::mt19937 random(7);
  for (int products = 1; products <= 4; ++products)
    for (const std::vector<i64>& extents : {std::vector<i64>{9, 9}, {5, 21}, {31, 17}}) {
      const Tensor w = random_products(extents, products, random);
      const auto found = low_rank(w, ElementType::f64, {1, 0}, most_products, false);
      ASSERT_TRUE(found.has_value()) << products;
      EXPECT_EQ(found->size(), static_cast<std::size_t>(products));
      EXPECT_LT(left_over(w, *found), 1e-14);
      EXPECT_FALSE(low_rank(w, ElementType::f64, {1, 0}, static_cast<std::size_t>(products - 1), false));
    }
}

TEST(LowRank, NoiseCountsWhereItIsMoreThanTheTolerance) {
  std::mt19937 random(11);
  const Tensor w = random_products({15, 15}, 2, random);
  const auto noisy = [&](double part) {
    Tensor n = w;
    for (double& x : n.at) x += part * (static_cast<double>(random() % 2001) / 1000 - 1);
    return n;
  };
  const Tensor quiet = noisy(1e-8), loud = noisy(1e-4);
  const auto found = low_rank(quiet, ElementType::f32, {1, 0}, most_products, false);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->size(), 2u);
  EXPECT_LT(left_over(quiet, *found), 1e-7);
  EXPECT_FALSE(low_rank(quiet, ElementType::f64, {1, 0}, 8, false));
  EXPECT_FALSE(low_rank(loud, ElementType::f32, {1, 0}, 8, false));
}

TEST(LowRank, IntegersExactly) {
  std::mt19937 random(13);
  for (int round = 0; round < 20; ++round) {
    const int products = 1 + round % 4;
    const Tensor w = random_products({7, 9}, products, random, true);
    const auto found = low_rank(w, ElementType::i32, {1, 0}, most_products, true);
    if (!found) continue;  // numbers may become too large on the way
    EXPECT_LE(found->size(), static_cast<std::size_t>(products));
    EXPECT_EQ(left_over(w, *found), 0);
    for (const Product& p : *found)
      for (const Product::Factor& f : p.factors)
        for (const double x : f.weights) EXPECT_EQ(x, std::trunc(x));
  }
  Tensor w = tensor({5, 5});  // of rank 2, by hand: i * j + 1
  for (i64 e = 0; e < 25; ++e) w.at[static_cast<std::size_t>(e)] = static_cast<double>((e / 5) * (e % 5) + 1);
  const auto found = low_rank(w, ElementType::i32, {1, 0}, 2, true);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->size(), 2u);
}

TEST(LowRank, ZerosOfFloatsStayZeros) {
  Tensor cross = tensor({5, 5});
  for (std::size_t k = 0; k < 5; ++k) cross.at[10 + k] = cross.at[5 * k + 2] = 1;
  EXPECT_FALSE(low_rank(cross, ElementType::f32, {1, 0}, 4, false));
  EXPECT_TRUE(low_rank(cross, ElementType::f32, {1, 0}, 4, true));
  // Rows and columns without weights are none of a product.
  std::mt19937 random(17);
  Tensor holes = random_products({9, 9}, 2, random);
  for (i64 e = 0; e < 81; ++e)
    if (e / 9 % 2 == 1 || e % 9 % 2 == 1) holes.at[static_cast<std::size_t>(e)] = 0;
  const auto found = low_rank(holes, ElementType::f32, {1, 0}, 4, false);
  ASSERT_TRUE(found.has_value());
  for (const Product& p : *found)
    for (const Product::Factor& f : p.factors)
      for (std::size_t k = 1; k < 9; k += 2) EXPECT_EQ(f.weights[k], 0);
}

TEST(LowRank, VolumesByEveryDimension) {
  std::mt19937 random(19);
  const Tensor w = random_products({5, 7, 9}, 2, random);
  const auto found = low_rank(w, ElementType::f64, {2, 1, 0}, most_products, false);
  ASSERT_TRUE(found.has_value());
  EXPECT_LT(left_over(w, *found), 1e-14);
  for (const Product& p : *found) EXPECT_EQ(p.factors.size(), 3u);
  // A plane that does not split stays one factor.
  Tensor planes = tensor({9, 9, 9});
  std::vector<double> plane(81);
  for (double& x : plane) x = static_cast<double>(random() % 1000);
  for (i64 e = 0; e < 729; ++e)
    planes.at[static_cast<std::size_t>(e)] = plane[static_cast<std::size_t>(e / 9)] * static_cast<double>(e % 9 + 1);
  const auto apart = low_rank(planes, ElementType::f64, {2, 1, 0}, most_products, false);
  ASSERT_TRUE(apart.has_value());
  ASSERT_EQ(apart->size(), 1u);
  EXPECT_EQ((*apart)[0].factors[1].dims, (std::vector<std::size_t>{0, 1}));
  EXPECT_LT(left_over(planes, *apart), 1e-14);
}

// A plane that does not split is a factor of as many terms as the plane has points.
TEST(LowRank, ProductsOfPlanesMayHaveMoreTermsThanWeights) {
  std::mt19937 random(23);
  Tensor any = tensor({7, 7, 7});
  for (double& x : any.at) x = static_cast<double>(random() % 1000 + 1);
  const auto found = low_rank(any, ElementType::f64, {2, 1, 0}, most_products, true);
  ASSERT_TRUE(found.has_value());
  EXPECT_LT(left_over(any, *found), 1e-14);
  EXPECT_FALSE(have_fewer_terms(*found, any)) << "7 products of 7 + 49 terms";
  const Tensor two = random_products({7, 7, 7}, 2, random);
  EXPECT_TRUE(have_fewer_terms(low_rank(two, ElementType::f64, {2, 1, 0}, most_products, true).value(), two));
  Tensor ones = tensor({2, 2});
  ones.at = {1, 1, 1, 1};
  EXPECT_FALSE(have_fewer_terms(low_rank(ones, ElementType::f64, {1, 0}, most_products, true).value(), ones));
}

TEST(Running, EqualNeighboursCostLess) {
  EXPECT_LT(running_terms(std::vector<double>(63, 1.0)), 26);
  EXPECT_EQ(running_terms({1, 2, 3, 4}), 4);
  EXPECT_EQ(running_terms({1, 1, 0, 0, 1, 1}), 4);
  EXPECT_FALSE(worth_running(5, false, false));
  EXPECT_TRUE(worth_running(31, true, false));
  EXPECT_FALSE(worth_running(31, true, true));
  EXPECT_TRUE(worth_running(63, true, true));
}

}  // namespace
}  // namespace tessera::rewrite
