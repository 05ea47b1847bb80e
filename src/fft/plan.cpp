// See plan.hpp. The search visits every divisor once: the best tree of n is a sequence, or a split into the best trees
// of two divisors, or a convolution.
#include "fft/plan.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <string>

#include "fft/butterfly.hpp"
#include "fft/tables.hpp"

namespace tessera::fft {

namespace {

// Nanoseconds a point of a pass with twiddles whose points lie in L1; from L2 and to it at least `far`.
struct RadixCost {
  i64 radix;
  double cost;
};
constexpr RadixCost radix_costs[] = {{2, 1.3},  {3, 1.7},  {4, 1.8},  {5, 2.2},  {6, 2.2},
                                     {7, 2.5},  {8, 2.3},  {9, 2.9},  {10, 2.6}, {11, 3.9},
                                     {12, 2.7}, {13, 4.3}, {14, 3.2}, {15, 3.0}, {16, 3.2}};
constexpr double far = 2.3;
constexpr double call = 20;  // of a pass, whatever it does

double radix_cost(i64 radix) {
  for (const RadixCost& c : radix_costs)
    if (c.radix == radix) return c.cost;
  return 2.9 + 0.256 * static_cast<double>(radix);
}

std::vector<i64> prime_factors(i64 n) {
  std::vector<i64> primes;
  for (i64 p = 2; p * p <= n; ++p)
    while (n % p == 0) primes.push_back(p), n /= p;
  if (n > 1) primes.push_back(n);
  return primes;
}

class Planner {
 public:
  explicit Planner(const PlanOptions& options) : options_(options) {}

  std::unique_ptr<Node> plan(i64 n) {
    std::unique_ptr<Node> node = tree(n);
    complete(*node);
    return node;
  }

 private:
  // The best way for n: what it costs, and how it is done.
  struct Choice {
    double cost = 1e300;
    Node::Kind kind = Node::Kind::sequence;
    std::vector<i64> radices;
    i64 a = 0;  // split: the first factor; bluestein: its length
  };

  const Choice& choose(i64 n) {
    const auto found = choices_.find(n);
    if (found != choices_.end()) return found->second;
    Choice best;
    if (n == 1) {
      best.cost = 1;
      return choices_[n] = best;
    }
    const std::vector<i64> primes = prime_factors(n);
    if (primes.back() <= largest_prime_radix) best = sequence(n);
    if (primes.size() > 1)
      for (const i64 a : divisors(n)) consider(best, split(n, a));
    if (primes.size() == 1 && n > 13) consider(best, rader(n));
    if (primes.back() > largest_prime_radix) consider(best, bluestein(n));
    return choices_[n] = best;
  }

  static void consider(Choice& best, const Choice& other) {
    if (other.cost < best.cost) best = other;
  }

  static std::vector<i64> divisors(i64 n) {
    std::vector<i64> result;
    for (i64 d = 2; d * d <= n; ++d)
      if (n % d == 0) {
        result.push_back(d);
        if (d * d != n) result.push_back(n / d);
      }
    return result;
  }

  // Radices from the last to the first, the largest ones first in time.
  Choice sequence(i64 n) {
    Choice best;
    std::vector<i64> radices;
    extend(n, n, radices, 0, best);
    return best;
  }

  // Sequences in falling order of radices.
  void extend(i64 n, i64 rest, std::vector<i64>& radices, double cost, Choice& best) {
    if (cost >= best.cost || radices.size() > 4) return;
    if (rest == 1) {
      best.cost = cost;
      best.radices = radices;
      return;
    }
    const i64 most = radices.empty() ? std::max(largest_prime_radix, options_.largest_radix) : radices.back();
    for (i64 r = std::min(rest, most); r > 1; --r) {
      if (rest % r != 0 || !usable(r)) continue;
      const bool near = n * (rest == r && radices.size() < 2 ? 1 : 2) <= 2 * options_.l1_points;
      const double a_point = near ? radix_cost(r) : std::max(radix_cost(r), far);
      radices.push_back(r);
      extend(n, rest / r, radices, cost + call + static_cast<double>(n) * a_point, best);
      radices.pop_back();
    }
  }

  bool usable(i64 r) const {
    if (r <= options_.largest_radix && is_radix(r)) return true;
    return r % 2 == 1 && r <= largest_prime_radix && prime_factors(r).size() == 1;
  }

  Choice split(i64 n, i64 a) {
    const i64 b = n / a;
    Choice result;
    result.kind = Node::Kind::split;
    result.a = a;
    const double sum = static_cast<double>(b) * choose(a).cost + static_cast<double>(a) * choose(b).cost;
    result.cost = sum + 1.0 * static_cast<double>(n);
    return result;
  }

  Choice rader(i64 n) {
    Choice result;
    if (prime_factors(n - 1).back() > largest_prime_radix) return result;
    result.kind = Node::Kind::rader;
    result.cost = 2 * choose(n - 1).cost + 8 * static_cast<double>(n) + 3 * call;
    return result;
  }

  Choice bluestein(i64 n) {
    Choice result;
    result.kind = Node::Kind::bluestein;
    for (const i64 m : smooth_lengths(2 * n - 1)) {
      const double cost = 2 * choose(m).cost + 8 * static_cast<double>(m) + 3 * call;
      if (cost >= result.cost) continue;
      result.cost = cost;
      result.a = m;
    }
    return result;
  }

  std::unique_ptr<Node> tree(i64 n) {
    const Choice choice = choose(n);
    auto node = std::make_unique<Node>();
    node->kind = choice.kind;
    node->n = n;
    node->cost = choice.cost;
    node->radices = choice.radices;
    if (choice.kind == Node::Kind::split) {
      node->first = tree(choice.a);
      node->second = tree(n / choice.a);
    }
    if (choice.kind == Node::Kind::rader) node->first = tree(n - 1);
    if (choice.kind == Node::Kind::bluestein) node->first = tree(choice.a);
    return node;
  }

  static void complete(Node& node) {
    if (node.first) complete(*node.first);
    if (node.second) complete(*node.second);
    const i64 passes = static_cast<i64>(node.radices.size());
    switch (node.kind) {
      case Node::Kind::sequence:
        node.scratch = passes < 2 ? 0 : (passes == 2 ? 1 : 2) * buffer_points(node.n);
        break;
      case Node::Kind::split:
        node.scratch =
            node.first->n * split_pitch(node.second->n) + std::max(node.first->scratch, node.second->scratch);
        break;
      case Node::Kind::rader:
        node.scratch = 3 * node.n + node.first->scratch;
        break;
      case Node::Kind::bluestein:
        node.scratch = 2 * node.first->n + node.first->scratch;
        break;
    }
    fill_tables(node);
  }

  const PlanOptions options_;
  std::map<i64, Choice> choices_;
};

}  // namespace

std::vector<i64> smooth_lengths(i64 least) {
  std::vector<i64> found;
  for (const i64 seven : {1, 7})
    for (i64 five = seven; five < 2 * least; five *= 5)
      for (i64 three = five; three < 2 * least; three *= 3) {
        i64 m = three;
        while (m < least) m *= 2;
        found.push_back(m);
      }
  std::sort(found.begin(), found.end());
  found.resize(std::min<std::size_t>(found.size(), 8));
  return found;
}

std::unique_ptr<Node> plan_transform(i64 n, const PlanOptions& options) {
  return Planner(options).plan(n);
}

std::string to_string(const Node& node) {
  std::string text;
  switch (node.kind) {
    case Node::Kind::sequence:
      for (const i64 r : node.radices) text += (text.empty() ? "" : "x") + std::to_string(r);
      return text.empty() ? "1" : text;
    case Node::Kind::split:
      return "(" + to_string(*node.first) + " * " + to_string(*node.second) + ")";
    case Node::Kind::rader:
      return "rader(" + to_string(*node.first) + ")";
    case Node::Kind::bluestein:
      return "bluestein(" + to_string(*node.first) + ")";
  }
  return text;
}

std::pair<i64, i64> balanced_factors(i64 n, i64 least) {
  std::pair<i64, i64> best{1, n};
  double best_cost = 1e300;
  for (i64 a = 1; a * a <= n; ++a) {
    if (n % a != 0) continue;
    for (const i64 first : {a, n / a}) {
      const i64 second = n / first;
      if (first < least || second < least) continue;
      // Lanes that stay idle at the end of each side, and sizes far from the root.
      const double idle = static_cast<double>((first + 15) / 16 * 16) / static_cast<double>(first) *
                          static_cast<double>((second + 15) / 16 * 16) / static_cast<double>(second);
      const double cost = idle * static_cast<double>(first + second);
      if (cost < best_cost) best_cost = cost, best = {first, second};
    }
  }
  return best;
}

}  // namespace tessera::fft
