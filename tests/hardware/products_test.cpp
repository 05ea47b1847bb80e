// Products that are put together: exact whatever the widths and signs, of multipliers that the chip has.
#include "hardware/numbers/products.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "hardware/netlist/schedule.hpp"
#include "hardware/netlist/simulate.hpp"
#include "tessera/error.hpp"

namespace tessera::hardware {
namespace {

constexpr i64 points = 12;

Netlist one_row() {
  Netlist n;
  n.frame.height = 1, n.frame.width = points;
  n.given.most = {1, points};
  n.stages = {"product"};
  return n;
}

NodeId input(Netlist& n, Bits bits) {
  Port port;
  port.name = n.inputs.empty() ? "a" : "b";
  port.type = ElementType::i32;
  port.bits = bits;
  n.inputs.push_back(port);
  Node node;
  node.op = Signal::input;
  node.bits = bits;
  node.value = static_cast<i64>(n.inputs.size()) - 1;
  return n.add(node);
}

NodeId operation(Netlist& n, Signal op, Bits bits, std::vector<NodeId> args, i64 value = 0) {
  Node node;
  node.op = op;
  node.bits = bits;
  node.args = std::move(args);
  node.value = value;
  return n.add(node);
}

void give(Netlist& n, NodeId node) {
  Result r;
  r.port.name = "p";
  r.port.bits = n.node(node).bits;
  r.lanes = {node};
  n.results.push_back(r);
}

// Both ends of what a format holds, and values between.
std::vector<i64> values(Bits bits, std::mt19937_64& random) {
  std::vector<i64> all{least_of(bits), most_of(bits), 0, wrap(bits, 1)};
  while (static_cast<i64>(all.size()) < points) all.push_back(wrap(bits, static_cast<__int128>(random())));
  return all;
}

void expect_blocks(const Netlist& n, Chip chip, const std::string& what) {
  const Block block = block_of(chip);
  for (std::uint32_t k = 0; k < n.size(); ++k) {
    const Node& node = n.node({k});
    if (node.op != Signal::mul) continue;
    const auto width = [&](NodeId a) { return n.node(a).bits.width + (n.node(a).bits.is_signed ? 0 : 1); };
    const int a = width(node.args[0]), b = width(node.args[1]);
    ASSERT_LE(std::max(a, b), block.wide) << what;
    ASSERT_LE(std::min(a, b), block.narrow) << what;
  }
}

void expect_product(const Netlist& whole, Chip chip, const std::vector<Frames>& inputs, const std::string& what) {
  const Netlist split = split_products(whole, chip);
  verify(split);
  expect_blocks(split, chip, what);
  ASSERT_EQ(simulate(split, inputs), simulate(whole, inputs)) << what << " on " << name_of(chip);
}

constexpr Chip chips[] = {Chip::ecp5, Chip::xilinx, Chip::ice40};

std::string named(Bits a, Bits b, Bits p) {
  return std::string(a.is_signed ? "s" : "u") + std::to_string(a.width) + " x " + (b.is_signed ? "s" : "u") +
         std::to_string(b.width) + " to " + std::to_string(p.width);
}

TEST(Products, AllWidthsAreExact) {
  std::mt19937_64 random(5);
  for (int a = 1; a <= 60; ++a)
    for (int b = 1; b <= 60; ++b) {
      const auto turn = static_cast<unsigned>(a + b);
      const Bits of_a{(turn & 1) != 0, a}, of_b{(random() & 1) != 0, b};
      const bool is_signed = of_a.is_signed || of_b.is_signed;
      // The whole product, or the low bits of it.
      const int width = turn % 3 == 0 ? std::max(1, (a + b) / 2) : std::min(64, a + b);
      const Bits of_p{is_signed, width};
      Netlist n = one_row();
      const NodeId x = input(n, of_a), y = input(n, of_b);
      give(n, operation(n, Signal::mul, of_p, {x, y}));
      const std::vector<i64> va = values(of_a, random), vb = values(of_b, random);
      std::vector<i64> exact;
      for (std::size_t k = 0; k < va.size(); ++k) exact.push_back(wrap(of_p, static_cast<__int128>(va[k]) * vb[k]));
      const std::vector<Frames> inputs{{va}, {vb}};
      ASSERT_EQ(simulate(n, inputs)[0][0], exact) << named(of_a, of_b, of_p);
      expect_product(n, chips[random() % 3], inputs, named(of_a, of_b, of_p));
      if (HasFatalFailure()) return;
    }
}

TEST(Products, SquaresAndConstantsAreExact) {
  std::mt19937_64 random(6);
  for (int a = 1; a <= 60; ++a)
    for (const bool is_signed : {false, true})
      for (const Chip chip : chips) {
        const Bits of_a{is_signed, a}, of_p{is_signed, std::min(64, 2 * a)};
        Netlist square = one_row();
        const NodeId x = input(square, of_a);
        give(square, operation(square, Signal::mul, of_p, {x, x}));
        expect_product(square, chip, {{values(of_a, random)}}, "square " + named(of_a, of_a, of_p));
        Netlist scaled = one_row();
        const NodeId y = input(scaled, of_a);
        const Bits of_c{true, static_cast<int>(random() % 50) + 2};
        const i64 factor = random() % 5 == 0 ? i64{1} << (of_c.width - 2) : wrap(of_c, static_cast<__int128>(random()));
        const NodeId c = operation(scaled, Signal::constant, of_c, {}, factor);
        give(scaled, operation(scaled, Signal::mul, {true, std::min(64, a + of_c.width)}, {y, c}));
        expect_product(scaled, chip, {{values(of_a, random)}}, "times " + std::to_string(factor));
        if (HasFatalFailure()) return;
      }
}

// Of n digits a square takes n (n + 1) / 2 products, a product of two factors n^2; low bits fewer.
TEST(Products, TakeNoMorePartsThanDigitsAsk) {
  const auto multipliers = [](Bits a, int width, bool square, Chip chip) {
    Netlist n = one_row();
    const NodeId x = input(n, a), y = square ? x : input(n, a);
    give(n, operation(n, Signal::mul, {a.is_signed, width}, {x, y}));
    const Netlist split = split_products(n, chip);
    int count = 0;
    for (std::uint32_t k = 0; k < split.size(); ++k) count += split.node({k}).op == Signal::mul;
    return count;
  };
  EXPECT_EQ(multipliers({true, 18}, 36, false, Chip::ecp5), 1);
  EXPECT_EQ(multipliers({true, 30}, 60, false, Chip::ecp5), 4);
  EXPECT_EQ(multipliers({true, 30}, 60, true, Chip::ecp5), 3);
  EXPECT_EQ(multipliers({true, 30}, 32, false, Chip::ecp5), 3);
  EXPECT_EQ(multipliers({false, 60}, 64, false, Chip::ecp5), 10);
  EXPECT_EQ(multipliers({true, 25}, 50, false, Chip::xilinx), 2);
  EXPECT_EQ(multipliers({true, 9}, 18, false, Chip::ice40), 0);
}

// Registers stand between the parts and their sum: no addition shares a clock with a multiplier.
TEST(Products, HaveRegistersBetweenParts) {
  Netlist n = one_row();
  const NodeId x = input(n, {true, 32}), y = input(n, {true, 32});
  give(n, operation(n, Signal::mul, {true, 64}, {x, y}));
  const Netlist split = split_products(n, Chip::ecp5);
  for (const double frequency : {100.0, 200.0, 300.0}) {
    const Schedule s = make_schedule(split, {frequency, Chip::ecp5});
    std::vector<int> way(split.size(), 0);
    for (std::uint32_t k = 0; k < split.size(); ++k) {
      const Node& node = split.node({k});
      if (latency_of(split, node) != 0 || node.args.empty()) continue;
      for (const NodeId a : node.args)
        if (s.clock[a.id] == s.clock[k]) way[k] = std::max(way[k], way[a.id]);
      const int own = delay_of(split, node);
      way[k] += own;
      if (way[k] > own) {
        EXPECT_LE(way[k], 1e6 / frequency) << k;
      }
    }
  }
}

TEST(Products, UnknownChipsAreRefused) {
  EXPECT_EQ(chip_of("ice40"), Chip::ice40);
  try {
    chip_of("spartan");
    ADD_FAILURE();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("expected ecp5, ice40 or xilinx"), std::string::npos);
  }
}

}  // namespace
}  // namespace tessera::hardware
