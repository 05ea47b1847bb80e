// The flow: paths of greatest length, found with a queue, are filled until all is sent.
#include "hardware/differences.hpp"

#include <algorithm>
#include <deque>
#include <limits>

namespace tessera::hardware {

namespace {

constexpr i64 unreached = std::numeric_limits<i64>::min();

class Flow {
 public:
  Flow(std::size_t variables, const std::vector<Difference>& constraints) : leaving_(variables) {
    for (const Difference& d : constraints) {
      leaving_[d.from].push_back(arcs_.size());
      arcs_.push_back({d.to, d.least, std::numeric_limits<i64>::max()});
      leaving_[d.to].push_back(arcs_.size());
      arcs_.push_back({d.from, -d.least, 0});
    }
  }

  // The longest paths from the variables whose start is not `unreached`. False: some path has no longest one.
  bool longest(std::vector<i64> start) {
    length_ = std::move(start);
    const std::size_t n = leaving_.size();
    by_.assign(n, arcs_.size());
    std::vector<std::size_t> arcs_of(n, 0);  // of the path so far
    std::vector<bool> waits(n, false);
    std::deque<std::size_t> queue;
    for (std::size_t v = 0; v < n; ++v)
      if (length_[v] != unreached) queue.push_back(v), waits[v] = true;
    while (!queue.empty()) {
      const std::size_t v = queue.front();
      queue.pop_front();
      waits[v] = false;
      for (const std::size_t a : leaving_[v]) {
        const Arc& arc = arcs_[a];
        if (arc.room == 0 || length_[v] + arc.length <= length_[arc.to]) continue;
        length_[arc.to] = length_[v] + arc.length;
        by_[arc.to] = a;
        arcs_of[arc.to] = arcs_of[v] + 1;
        if (arcs_of[arc.to] > n) return false;
        if (!waits[arc.to]) queue.push_back(arc.to), waits[arc.to] = true;
      }
    }
    return true;
  }

  // Sends at most `amount` along the path that ends at `v`; gives where it begins, and how much it was.
  std::pair<std::size_t, i64> send(std::size_t v, const std::vector<i64>& offered, i64 amount) {
    std::size_t first = v;
    for (; by_[first] != arcs_.size(); first = arcs_[by_[first] ^ 1].to)
      amount = std::min(amount, arcs_[by_[first]].room);
    amount = std::min(amount, offered[first]);
    for (std::size_t u = v; by_[u] != arcs_.size(); u = arcs_[by_[u] ^ 1].to) {
      Arc& arc = arcs_[by_[u]];
      if (arc.room != std::numeric_limits<i64>::max()) arc.room -= amount;
      Arc& back = arcs_[by_[u] ^ 1];
      if (back.room != std::numeric_limits<i64>::max()) back.room += amount;
    }
    return {first, amount};
  }

  const std::vector<i64>& lengths() const { return length_; }

 private:
  struct Arc {
    std::size_t to;
    i64 length, room;
  };
  std::vector<Arc> arcs_;  // in pairs: there and back
  std::vector<std::vector<std::size_t>> leaving_;
  std::vector<i64> length_;
  std::vector<std::size_t> by_;  // the last arc of the longest path
};

}  // namespace

std::optional<std::vector<i64>> minimise_differences(const std::vector<i64>& cost,
                                                     const std::vector<Difference>& constraints) {
  const std::size_t n = cost.size();
  Flow flow(n, constraints);
  std::vector<i64> offered(n, 0), wanted(n, 0);
  for (std::size_t v = 0; v < n; ++v) (cost[v] < 0 ? offered[v] : wanted[v]) = std::max(cost[v], -cost[v]);
  for (;;) {
    std::vector<i64> start(n, unreached);
    bool any = false;
    for (std::size_t v = 0; v < n; ++v)
      if (offered[v] > 0) start[v] = 0, any = true;
    if (!any) break;
    if (!flow.longest(start)) return {};
    std::size_t best = n;
    for (std::size_t v = 0; v < n; ++v)
      if (wanted[v] > 0 && flow.lengths()[v] != unreached && (best == n || flow.lengths()[v] > flow.lengths()[best]))
        best = v;
    if (best == n) return {};
    const auto [first, amount] = flow.send(best, offered, wanted[best]);
    offered[first] -= amount;
    wanted[best] -= amount;
  }
  if (!flow.longest(std::vector<i64>(n, 0))) return {};
  std::vector<i64> x = flow.lengths();
  const i64 least = n == 0 ? 0 : *std::min_element(x.begin(), x.end());
  for (i64& v : x) v -= least;
  return x;
}

}  // namespace tessera::hardware
