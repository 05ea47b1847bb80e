// The flow by primal and dual steps: x stays one that fits, and only constraints that hold with equality carry flow.
// As much as can be sent along these is sent (Dinic's paths of fewest arcs); then x moves by the least that makes
// another constraint tight (Dijkstra over what constraints have to spare). There are at most as many rounds as there
// are different lengths of paths: of clocks, a few dozen.
#include "hardware/netlist/differences.hpp"

#include <algorithm>
#include <deque>
#include <functional>
#include <limits>
#include <queue>

namespace tessera::hardware {

namespace {

constexpr i64 most = std::numeric_limits<i64>::max();

class Flow {
 public:
  Flow(const std::vector<i64>& cost, const std::vector<Difference>& constraints) : leaving_(cost.size()) {
    for (const Difference& d : constraints) {
      leaving_[d.from].push_back(arcs_.size());
      arcs_.push_back({d.to, d.least, most});
      leaving_[d.to].push_back(arcs_.size());
      arcs_.push_back({d.from, -d.least, 0});
    }
    for (const i64 c : cost) offered_.push_back(std::max<i64>(-c, 0)), wanted_.push_back(std::max<i64>(c, 0));
  }

  // The least x of no negative element that fits all arcs with room. False: there is none.
  bool least() {
    const std::size_t n = leaving_.size();
    x_.assign(n, 0);
    std::vector<std::size_t> arcs_of(n, 0);  // of the path so far
    std::vector<bool> waits(n, true);
    std::deque<std::size_t> queue;
    for (std::size_t v = 0; v < n; ++v) queue.push_back(v);
    while (!queue.empty()) {
      const std::size_t v = queue.front();
      queue.pop_front();
      waits[v] = false;
      for (const std::size_t a : leaving_[v]) {
        const Arc& arc = arcs_[a];
        if (arc.room == 0 || x_[v] + arc.least <= x_[arc.to]) continue;
        x_[arc.to] = x_[v] + arc.least;
        arcs_of[arc.to] = arcs_of[v] + 1;
        if (arcs_of[arc.to] > n) return false;
        if (!waits[arc.to]) queue.push_back(arc.to), waits[arc.to] = true;
      }
    }
    return true;
  }

  // False: something that is offered can never be sent.
  bool send_all() {
    for (;;) {
      while (levels()) {
        next_.assign(leaving_.size(), 0);
        for (std::size_t v = 0; v < leaving_.size(); ++v)
          while (offered_[v] > 0 && send_from(v)) {
          }
      }
      if (std::all_of(offered_.begin(), offered_.end(), [](i64 o) { return o == 0; })) return true;
      if (!move()) return false;
    }
  }

  const std::vector<i64>& x() const { return x_; }

 private:
  struct Arc {
    std::size_t to;
    i64 least, room;
  };

  i64 spare(std::size_t v, const Arc& arc) const { return x_[arc.to] - x_[v] - arc.least; }

  // Arcs from what is offered, over tight ones. Does anything wanted lie there?
  bool levels() {
    level_.assign(leaving_.size(), leaving_.size());
    std::vector<std::size_t> queue;
    for (std::size_t v = 0; v < leaving_.size(); ++v)
      if (offered_[v] > 0) level_[v] = 0, queue.push_back(v);
    bool found = false;
    for (std::size_t k = 0; k < queue.size(); ++k) {
      const std::size_t v = queue[k];
      found = found || wanted_[v] > 0;
      for (const std::size_t a : leaving_[v]) {
        const Arc& arc = arcs_[a];
        if (arc.room == 0 || level_[arc.to] != leaving_.size() || spare(v, arc) != 0) continue;
        level_[arc.to] = level_[v] + 1;
        queue.push_back(arc.to);
      }
    }
    return found;
  }

  // One path from v, one level an arc, as far as `next_` has not given up.
  bool send_from(std::size_t first) {
    std::vector<std::size_t> path;
    std::size_t v = first;
    while (wanted_[v] == 0) {
      bool on = false;
      for (std::size_t& k = next_[v]; k < leaving_[v].size(); ++k) {
        const Arc& arc = arcs_[leaving_[v][k]];
        if (arc.room > 0 && level_[arc.to] == level_[v] + 1 && spare(v, arc) == 0) {
          path.push_back(leaving_[v][k]);
          v = arc.to;
          on = true;
          break;
        }
      }
      if (on) continue;
      if (path.empty()) return false;
      v = arcs_[path.back() ^ 1].to;
      path.pop_back();
      ++next_[v];
    }
    i64 amount = std::min(offered_[first], wanted_[v]);
    for (const std::size_t a : path) amount = std::min(amount, arcs_[a].room);
    for (const std::size_t a : path) {
      if (arcs_[a].room != most) arcs_[a].room -= amount;
      if (arcs_[a ^ 1].room != most) arcs_[a ^ 1].room += amount;
    }
    offered_[first] -= amount;
    wanted_[v] -= amount;
    return true;
  }

  // Moves x by the distances from what is offered, up to that of the nearest that is wanted.
  bool move() {
    using Entry = std::pair<i64, std::size_t>;
    std::vector<i64> distance(leaving_.size(), most);
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
    for (std::size_t v = 0; v < leaving_.size(); ++v)
      if (offered_[v] > 0) distance[v] = 0, queue.push({0, v});
    i64 nearest = most;
    while (!queue.empty() && nearest == most) {
      const auto [d, v] = queue.top();
      queue.pop();
      if (d > distance[v]) continue;
      if (wanted_[v] > 0) nearest = d;
      for (const std::size_t a : leaving_[v]) {
        const Arc& arc = arcs_[a];
        if (arc.room == 0 || d + spare(v, arc) >= distance[arc.to]) continue;
        distance[arc.to] = d + spare(v, arc);
        queue.push({distance[arc.to], arc.to});
      }
    }
    if (nearest == most) return false;
    for (std::size_t v = 0; v < leaving_.size(); ++v) x_[v] -= std::min(distance[v], nearest);
    return true;
  }

  std::vector<Arc> arcs_;  // in pairs: there and back
  std::vector<std::vector<std::size_t>> leaving_;
  std::vector<i64> offered_, wanted_, x_;
  std::vector<std::size_t> level_, next_;
};

}  // namespace

std::optional<std::vector<i64>> minimise_differences(const std::vector<i64>& cost,
                                                     const std::vector<Difference>& constraints) {
  Flow flow(cost, constraints);
  // Of all best x the least one of no negative element: what carries flow is tight from both sides.
  if (!flow.least() || !flow.send_all() || !flow.least()) return {};
  std::vector<i64> x = flow.x();
  const i64 least = x.empty() ? 0 : *std::min_element(x.begin(), x.end());
  for (i64& v : x) v -= least;
  return x;
}

}  // namespace tessera::hardware
