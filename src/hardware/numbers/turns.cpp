// See turns.hpp.
#include "hardware/numbers/turns.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace tessera::hardware {

namespace {

using Products = std::vector<Arithmetic::Product>;

// Does a signal need one of these results? Nodes are in topological order.
class Needs {
 public:
  Needs(const Netlist& netlist, const Products& made) : netlist_(netlist) {
    for (const Arithmetic::Product& p : made) known_[p.result] = true;
  }
  bool operator()(NodeId n) {
    if (n < known_.begin()->first) return false;
    if (const auto it = known_.find(n); it != known_.end()) return it->second;
    const std::vector<NodeId>& args = netlist_.node(n).args;
    return known_[n] = std::any_of(args.begin(), args.end(), [&](NodeId a) { return (*this)(a); });
  }

 private:
  const Netlist& netlist_;
  std::map<NodeId, bool> known_;
};

// A format that holds all that both hold.
Bits hull(Bits a, Bits b) {
  if (a.is_signed == b.is_signed) return {a.is_signed, std::max(a.width, b.width)};
  if (b.is_signed) std::swap(a, b);
  return {true, std::min(64, std::max(a.width, b.width + 1))};
}

}  // namespace

std::vector<std::size_t> that_take_turns(const Netlist& netlist, const Products& made) {
  std::vector<std::size_t> all;
  if (made.empty()) return all;
  Needs needs(netlist, made);
  std::set<NodeId> seen;
  for (std::size_t k = 0; k < made.size(); ++k)
    if (seen.insert(made[k].result).second && !needs(made[k].a) && !needs(made[k].b)) all.push_back(k);
  return all;
}

std::vector<NodeId> taken_in_turns(Arithmetic& make, const Netlist& netlist, const std::vector<Products>& made,
                                   const std::function<NodeId(int)>& at) {
  const std::size_t turns = made.size();
  const auto bits = [&](NodeId n) { return netlist.node(n).bits; };
  for (const Products& p : made) {
    if (p.size() != made[0].size()) return {};
    for (std::size_t k = 0; k < p.size(); ++k)
      if (bits(p[k].result) != bits(made[0][k].result)) return {};
  }
  const std::vector<std::size_t> all = that_take_turns(netlist, made[0]);
  if (all.size() < 2) return {};
  std::map<NodeId, NodeId> found;  // by what the first tick made
  for (std::size_t first = 0; first < all.size(); first += turns) {
    const std::size_t count = std::min(turns, all.size() - first);
    if (count < 2) break;
    // Of the tick `turn` of the group; at the others it is anything.
    const auto operand = [&](NodeId Arithmetic::Product::* which) {
      NodeId chosen = made[0][all[first]].*which;
      for (std::size_t turn = 1; turn < count; ++turn) {
        const NodeId next = made[turn][all[first + turn]].*which;
        if (next == chosen) continue;
        chosen = make.node(Signal::select, hull(bits(chosen), bits(next)), {at(static_cast<int>(turn)), next, chosen});
      }
      return chosen;
    };
    Bits widest = bits(made[0][all[first]].result);
    for (std::size_t turn = 1; turn < count; ++turn) widest = hull(widest, bits(made[0][all[first + turn]].result));
    const NodeId product =
        make.node(Signal::mul, widest, {operand(&Arithmetic::Product::a), operand(&Arithmetic::Product::b)});
    for (std::size_t turn = 0; turn < count; ++turn) {
      const NodeId own = made[0][all[first + turn]].result;
      const NodeId now = make.resized(product, bits(own));
      found[own] = turn + 1 == turns ? now : make.node(Signal::held, bits(own), {now, at(static_cast<int>(turn))});
    }
  }
  std::vector<NodeId> instead;
  for (const Arithmetic::Product& p : made[0]) {
    const auto it = found.find(p.result);
    instead.push_back(it == found.end() ? NodeId{} : it->second);
  }
  return instead;
}

}  // namespace tessera::hardware
