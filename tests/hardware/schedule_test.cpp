// Clocks: whatever is chained fits the period, what is read is there, and registers are the fewer the longer a clock
// is.
#include "hardware/netlist/schedule.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "hardware/build.hpp"
#include "stream_programs.hpp"
#include "tessera/error.hpp"

namespace tessera::hardware {
namespace {

Netlist netlist_of(std::uint64_t seed) {
  StreamOptions options;
  options.height = 20, options.width = 70, options.lanes = 1 << (seed % 3);
  return build_netlist(make_stream(graph_of(random_program(seed)), options));
}

// The longest way of a signal since its last register, if `node` is chained.
int arrival(const Netlist& netlist, const Schedule& schedule, std::vector<int>& known, std::uint32_t k) {
  const Node& node = netlist.node({k});
  int before = 0;
  for (const NodeId a : node.args)
    if (!is_static(netlist.node(a)) && schedule.clock[a.id] == schedule.clock[k])
      before = std::max(before, known[a.id]);
  return before + delay_of(netlist, node);
}

TEST(Schedule, ChainsFitThePeriodAndValuesAreThere) {
  std::size_t chained = 0, entered = 0;
  for (std::uint64_t seed = 1; seed < 25; ++seed) {
    const Netlist netlist = netlist_of(seed);
    for (const double frequency : {50.0, 200.0, 400.0}) {
      const Schedule s = make_schedule(netlist, {frequency});
      std::vector<int> way(netlist.size(), 0);
      for (std::uint32_t k = 0; k < netlist.size(); ++k) {
        const Node& node = netlist.node({k});
        const int latency = latency_of(netlist, node);
        if (is_static(node) || node.args.empty() || node.op == Signal::delay) continue;
        for (const NodeId a : node.args) {
          if (is_static(netlist.node(a))) continue;
          ASSERT_LE(s.clock[a.id] + latency, s.clock[k]);
          ASSERT_GE(s.until[a.id] + latency, s.clock[k]);
        }
        // Into a multiplier and a table the way is long.
        if (node.op == Signal::mul || node.op == Signal::table)
          for (const NodeId a : node.args)
            if (!is_static(netlist.node(a)) && way[a.id] > 0 && s.clock[a.id] + latency == s.clock[k]) {
              ++entered;
              ASSERT_LE(way[a.id] + delays_of(Chip::ecp5).multiplier, 1e6 / frequency) << "seed " << seed << ", " << k;
            }
        if (latency != 0) continue;
        way[k] = arrival(netlist, s, way, k);
        chained += way[k] > delay_of(netlist, node);
        if (way[k] > delay_of(netlist, node)) {
          ASSERT_LE(way[k], 1e6 / frequency) << "seed " << seed << ", node " << k;
        }
      }
    }
  }
  EXPECT_GT(chained, 100U);
  EXPECT_GT(entered, 10U);
}

TEST(Schedule, LongerClocksNeedFewerRegisters) {
  i64 slow = 0, fast = 0;
  for (std::uint64_t seed = 1; seed < 25; ++seed) {
    const Netlist netlist = netlist_of(seed);
    const Schedule a = make_schedule(netlist, {50}), b = make_schedule(netlist, {400});
    slow += a.waiting_bits, fast += b.waiting_bits;
  }
  EXPECT_LT(slow, fast);
}

TEST(Schedule, FrequenciesOutOfBoundsAreRefused) {
  const Netlist netlist = netlist_of(1);
  for (const double frequency : {0.0, -1.0, 9.0, 1001.0, std::nan("")}) {
    try {
      make_schedule(netlist, {frequency});
      ADD_FAILURE() << frequency;
    } catch (const Error& e) {
      EXPECT_NE(std::string(e.what()).find("expected 10 to 1000"), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace tessera::hardware
