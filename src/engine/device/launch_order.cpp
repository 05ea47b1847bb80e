// See launch_order.hpp.
#include "engine/device/launch_order.hpp"

#include <algorithm>

namespace tessera::engine {

namespace {

bool meet(const std::vector<Touched>& a, const std::vector<Touched>& b) {
  return std::any_of(a.begin(), a.end(), [&](const Touched& x) {
    return std::any_of(b.begin(), b.end(), [&](const Touched& y) {
      if (x.part != 0 && y.part != 0 && x.whole == y.whole) return x.part == y.part;
      return x.begin < y.end && y.begin < x.end;
    });
  });
}

bool depend(const Touching& a, const Touching& b) {
  return meet(a.writes, b.reads) || meet(a.reads, b.writes) || meet(a.writes, b.writes);
}

}  // namespace

std::vector<LaunchOrder> launch_orders(const std::vector<Touching>& kernels) {
  std::vector<LaunchOrder> orders(kernels.size(), LaunchOrder::after);
  std::size_t first = 0;  // of those that run beside each other
  for (std::size_t k = 1; k < kernels.size(); ++k) {
    bool beside = kernels[k].early && kernels[k - 1].early;
    for (std::size_t j = first; j < k && beside; ++j) beside = !depend(kernels[j], kernels[k]);
    if (!beside) {
      first = k;
      continue;
    }
    orders[first] = LaunchOrder::leading;
    orders[k] = LaunchOrder::beside;
  }
  return orders;
}

}  // namespace tessera::engine
