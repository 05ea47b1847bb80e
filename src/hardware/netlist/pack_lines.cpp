// Clusters of taps, and the netlist with registers beside their first ones.
#include "hardware/netlist/pack_lines.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "hardware/netlist/delay_lines.hpp"

namespace tessera::hardware {

namespace {

class Packing {
 public:
  explicit Packing(const Netlist& from) : from_(from), to_(like(from)) {
    for (std::uint32_t k = 0; k < from.size(); ++k)
      if (from.node({k}).op == Signal::delay) taps_[from.node({k}).args[0].id].push_back(from.node({k}).lag);
    for (auto& [source, taps] : taps_) {
      const auto ticks = [&](Lag lag) { return from.ticks(lag); };
      std::sort(taps.begin(), taps.end(), [&](Lag a, Lag b) { return ticks(a) < ticks(b); });
      taps.erase(std::unique(taps.begin(), taps.end()), taps.end());
      anchors_[source] = anchors(taps);
    }
  }

  Netlist run() {
    for (std::uint32_t k = 0; k < from_.size(); ++k) {
      Node node = from_.node({k});
      for (NodeId& a : node.args) a = map_[a.id];
      map_.push_back(node.op == Signal::delay ? tap(from_.node({k}), std::move(node)) : to_.add(std::move(node)));
    }
    return_as(to_, from_, map_);
    return std::move(to_);
  }

 private:
  // The first tap of every cluster behind the source's own; nothing where one tap behind the other is as good.
  std::vector<Lag> anchors(const std::vector<Lag>& taps) const {
    std::vector<Lag> first;
    std::set<Lag> in_turn, apart;
    Lag last, anchor;
    for (const Lag tap : taps) {
      if (from_.ticks(tap - last) >= least_memory) {
        in_turn.insert(tap - last);
        apart.insert(tap - anchor);
        first.push_back(tap);
        anchor = tap;
      } else if ((tap - anchor).rows != 0) {
        return {};
      }
      last = tap;
    }
    return apart.size() < in_turn.size() ? first : std::vector<Lag>{};
  }

  NodeId tap(const Node& was, Node node) {
    const std::vector<Lag>& all = anchors_[was.args[0].id];
    if (all.empty() || std::find(all.begin(), all.end(), was.lag) != all.end()) return to_.add(std::move(node));
    // The last anchor before it; before the first one the source, by another name, so that it begins a line of its own.
    std::optional<Lag> anchor;
    for (const Lag a : all)
      if (to_.ticks(a) < to_.ticks(was.lag)) anchor = a;
    Node before = node;
    if (anchor) {
      before.lag = *anchor;
      node.lag = was.lag - *anchor;
    } else {
      before.op = Signal::resize;
      before.lag = {};
    }
    node.args = {to_.add(std::move(before))};
    return to_.add(std::move(node));
  }

  const Netlist& from_;
  Netlist to_;
  std::map<std::uint32_t, std::vector<Lag>> taps_, anchors_;
  std::vector<NodeId> map_;
};

}  // namespace

Netlist pack_lines(const Netlist& netlist) {
  return Packing(netlist).run();
}

}  // namespace tessera::hardware
