// Prices from times: Gauss's and Newton's least squares in logarithms, held near a start.
#include <algorithm>
#include <cmath>
#include <cstddef>

#include "engine/tune/tune.hpp"

namespace tessera::engine {

namespace {

using machine::Prices;

constexpr double spread_of_times = 0.05, spread_of_prices = 1;  // in logarithms: what is believed of each
constexpr double outlier = 0.15;  // a time so far above what the others say has half of the weight: it was disturbed
constexpr double small_step = 0.01, longest_step = 0.7, farthest = 3;
constexpr int rounds = 12;

// A x = b of a symmetric positive matrix, by Cholesky's factors in its lower half.
std::vector<double> solved(std::vector<std::vector<double>> a, std::vector<double> b) {
  const std::size_t n = b.size();
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j <= i; ++j) {
      double sum = a[i][j];
      for (std::size_t k = 0; k < j; ++k) sum -= a[i][k] * a[j][k];
      a[i][j] = i == j ? std::sqrt(sum) : sum / a[j][j];
    }
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < i; ++k) b[i] -= a[i][k] * b[k];
    b[i] /= a[i][i];
  }
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t k = i + 1; k < n; ++k) b[i] -= a[k][i] * b[k];
    b[i] /= a[i][i];
  }
  return b;
}

Prices scaled(const Prices& p, const std::vector<double>& logarithms) {
  Prices result = p;
  const auto names = machine::price_names();
  for (std::size_t j = 0; j < names.size(); ++j) result.*names[j].value *= std::exp(logarithms[j]);
  return result;
}

}  // namespace

Prices fitted(const Prices& start, const std::vector<double>& times,
              const std::function<double(std::size_t, const Prices&)>& foretold) {
  const std::size_t n = machine::price_names().size(), m = times.size();
  if (m == 0) return start;
  const auto missing = [&](std::size_t k, const Prices& p) { return std::log(times[k] / foretold(k, p)); };
  std::vector<double> all;
  for (std::size_t k = 0; k < m; ++k) all.push_back(missing(k, start));
  std::sort(all.begin(), all.end());
  const std::vector<double> common(n, all[m / 2]);
  std::vector<double> x = common;
  std::vector<std::vector<char>> moves(m, std::vector<char>(n, 1));  // does the price matter for the time?
  for (int round = 0; round < rounds; ++round) {
    const Prices now = scaled(start, x);
    std::vector<std::vector<double>> normal(n, std::vector<double>(n));
    std::vector<double> right(n);
    for (std::size_t j = 0; j < n; ++j) {
      normal[j][j] = 1 / (spread_of_prices * spread_of_prices);
      right[j] = (common[j] - x[j]) * normal[j][j];
    }
    for (std::size_t k = 0; k < m; ++k) {
      const double rest = missing(k, now);
      std::vector<double> slope(n);
      for (std::size_t j = 0; j < n; ++j) {
        if (moves[k][j] == 0) continue;
        std::vector<double> beside = x;
        beside[j] += small_step;
        slope[j] = (rest - missing(k, scaled(start, beside))) / small_step;
        if (round == 0 && slope[j] == 0) moves[k][j] = 0;
      }
      const double trust = rest > 0 ? 1 / (1 + rest * rest / (outlier * outlier)) : 1;
      const double weight = trust / (spread_of_times * spread_of_times);
      for (std::size_t i = 0; i < n; ++i) {
        right[i] += weight * slope[i] * rest;
        for (std::size_t j = 0; j <= i; ++j) normal[i][j] += weight * slope[i] * slope[j];
      }
    }
    const std::vector<double> step = solved(std::move(normal), std::move(right));
    double longest = 0;
    for (std::size_t j = 0; j < n; ++j) {
      const double d = std::clamp(step[j], -longest_step, longest_step);
      x[j] = std::clamp(x[j] + d, common[j] - farthest, common[j] + farthest);
      longest = std::max(longest, std::fabs(d));
    }
    if (longest < small_step / 10) break;
  }
  return scaled(start, x);
}

}  // namespace tessera::engine
