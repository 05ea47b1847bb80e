// How a block computes a line: radices, threads, lines. By counting instructions; nothing is measured.
#include <algorithm>

#include "fft/device/line.hpp"
#include "fft/plan.hpp"

namespace tessera::fft {

namespace {

constexpr i64 largest_prime = 31;
constexpr i64 most_threads = 1024;

// Additions and multiply-adds of a butterfly.
double operations(i64 radix) {
  switch (radix) {
    case 2:
      return 4;
    case 4:
      return 16;
    case 6:
      return 2 * 16 + 3 * 4;
    case 8:
      return 54;
    case 9:
      return 6 * 16 + 16;
    case 10:
      return 2 * 36 + 5 * 4;
    case 12:
      return 4 * 16 + 3 * 16;
    case 14:
      return 2 * 66 + 7 * 4;
    case 15:
      return 3 * 36 + 5 * 16;
    case 16:
      return 150;
    case 18:
      return 2 * 112 + 9 * 4;
    case 20:
      return 4 * 36 + 5 * 16;
    case 24:
      return 8 * 16 + 3 * 54;
    case 25:
      return 10 * 36 + 16 * 4;
    case 32:
      return 390;
    default: {
      const auto half = static_cast<double>(radix / 2);
      return 4 * half * half + 8 * half;
    }
  }
}
constexpr double turned = 8;     // a point's twiddle, with its part of powers and tables
constexpr double exchanged = 8;  // a point's way through shared memory

bool usable(i64 r, i64 most_points) {
  constexpr i64 large[] = {18, 20, 24, 25, 32};
  if (r <= 16) return true;
  for (const i64 l : large)
    if (l == r) return r <= most_points;
  if (r > largest_prime) return false;
  for (i64 p = 2; p * p <= r; ++p)
    if (r % p == 0) return false;
  return true;
}

struct Choice {
  double cost = 1e300;
  std::vector<i64> radices;
  i64 threads = 1;
};

// The cost of a point for so many threads; none where a thread would hold too many.
double cost_of(i64 n, const std::vector<i64>& radices, i64 threads, i64 most_points) {
  double cost = 0;
  i64 fewest = n;
  for (const i64 r : radices) {
    const i64 turns = (n / r + threads - 1) / threads;
    if (turns > 1 && turns * r > most_points) return 1e300;
    fewest = std::min(fewest, turns * r);
    const double a_point = operations(r) / static_cast<double>(r) + turned + exchanged;
    cost += a_point * static_cast<double>(turns * threads * r) / static_cast<double>(n);
  }
  // Threads with little to do wait for memory, and at barriers.
  return cost * (fewest < 8 && n > 8 ? 1.15 : 1);
}

void extend(i64 n, i64 rest, i64 most_points, std::vector<i64>& radices, Choice& best) {
  if (rest == 1) {
    for (const i64 r : radices)
      for (i64 turns = 1; turns <= 4; ++turns) {
        const i64 threads = (n / r + turns - 1) / turns;
        if (threads > most_threads) continue;
        const double cost = cost_of(n, radices, threads, most_points);
        if (cost < best.cost) best = {cost, radices, threads};
      }
    return;
  }
  if (radices.size() > 5) return;
  for (i64 r = std::min(rest, radices.empty() ? i64{32} : radices.back()); r > 1; --r) {
    if (rest % r != 0 || !usable(r, most_points)) continue;
    radices.push_back(r);
    extend(n, rest / r, most_points, radices, best);
    radices.pop_back();
  }
}

Choice choose(i64 n, i64 most_points) {
  Choice best;
  if (n == 1) {
    best.cost = 0;
    return best;
  }
  std::vector<i64> radices;
  extend(n, n, most_points, radices, best);
  return best;
}

i64 bytes_of(ElementType type) {
  return type == ElementType::f32 ? 4 : 8;
}

// Lines of n points whose numbers of one kind fit shared memory.
i64 lines_that_fit(i64 n, ElementType type) {
  return shared_of_line / bytes_of(type) / n;
}

}  // namespace

bool fits_block(i64 points, ElementType type) {
  if (lines_that_fit(points, type) < 1) return false;
  for (i64 p = 2; p <= largest_prime; ++p)
    while (points % p == 0) points /= p;
  return points == 1;
}

LineShape shape_of(i64 points, ElementType type, bool across, i64 most_lines, i64 most_points) {
  if (most_points == 0) most_points = type == ElementType::f32 ? most_points_of_floats : most_points_of_floats / 2;
  const Choice choice = choose(points, most_points);
  LineShape shape{choice.radices, choice.threads, 1};
  const i64 fit = std::min(lines_that_fit(points, type), most_lines);
  const i64 wanted = across ? 512 : 128, enough = across ? (points <= 64 ? 32 : 16) : 128;
  while (2 * shape.lines <= fit && 2 * shape.lines * shape.threads <= wanted && 2 * shape.lines <= enough)
    shape.lines *= 2;
  if (across)
    while (shape.lines < 4 && 2 * shape.lines <= fit && 2 * shape.lines * shape.threads <= most_threads)
      shape.lines *= 2;
  return shape;
}

i64 convolution_length(i64 n) {
  i64 best = 0;
  double fewest = 1e300;
  for (const i64 m : smooth_lengths(2 * n - 1)) {
    // Longer ones go in parts, of about the same cost.
    const Choice choice = choose(m, most_points_of_floats);
    const double cost = (choice.radices.empty() ? 100 : choice.cost) * static_cast<double>(m);
    if (cost < fewest) fewest = cost, best = m;
  }
  return best;
}

}  // namespace tessera::fft
