// Nodes by content, their verifier and their text.
#include "hardware/netlist/netlist.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/division.hpp"
#include "data/half.hpp"
#include "tessera/error.hpp"

namespace tessera::hardware {

namespace {

struct Entry {
  std::string_view name;
  std::size_t operands;
};
constexpr Entry entries[] = {
#define X(name, operands) {#name, operands},
    TESSERA_SIGNALS(X)
#undef X
};

std::uint64_t mix(std::uint64_t h, std::uint64_t v) {
  h ^= v + 0x9e3779b97f4a7c15u + (h << 6) + (h >> 2);
  return h * 0xff51afd7ed558ccdu;
}

std::uint64_t hash_of(const Node& n) {
  std::uint64_t h =
      mix(static_cast<std::uint64_t>(n.op), static_cast<std::uint64_t>(n.bits.width * 2 + n.bits.is_signed));
  h = mix(mix(h, static_cast<std::uint64_t>(n.value)), static_cast<std::uint64_t>(n.lane));
  h = mix(h, static_cast<std::uint64_t>(n.extent + 1));
  h = mix(mix(h, static_cast<std::uint64_t>(n.lag.rows)), static_cast<std::uint64_t>(n.lag.words));
  for (const NodeId a : n.args) h = mix(h, a.id);
  return h;
}

bool same(const Node& a, const Node& b) {
  return a.op == b.op && a.bits == b.bits && a.args == b.args && a.value == b.value && a.lag == b.lag &&
         a.lane == b.lane && a.extent == b.extent;
}

}  // namespace

std::string_view name_of(Signal s) {
  return entries[static_cast<std::size_t>(s)].name;
}

Bits bits_of(double lo, double hi) {
  Bits f{lo < 0, 1};
  while (f.width < 64 &&
         (std::exp2(f.width - (f.is_signed ? 1 : 0)) <= hi || (f.is_signed && -std::exp2(f.width - 1) > lo)))
    ++f.width;
  return f;
}

i64 least_of(Bits f) {
  return f.is_signed ? -(i64{1} << (f.width - 1)) : 0;
}

i64 most_of(Bits f) {
  const int magnitude = f.is_signed ? f.width - 1 : f.width;
  return magnitude >= 63 ? INT64_MAX : (i64{1} << magnitude) - 1;
}

i64 wrap(Bits f, __int128 value) {
  const auto low = static_cast<std::uint64_t>(value);
  if (f.width == 64) return static_cast<i64>(low);
  const std::uint64_t kept = low & ((std::uint64_t{1} << f.width) - 1);
  if (f.is_signed && (kept >> (f.width - 1)) != 0) return static_cast<i64>(kept | ~((std::uint64_t{1} << f.width) - 1));
  return static_cast<i64>(kept);
}

i64 Frame::pitch() const {
  return base::ceil_divide(std::max(words(), least_pitch), word_unit) * word_unit;
}

i64 Extent::points(i64 given) const {
  return times * base::floor_divide(given + plus, over) + then;
}

std::optional<NodeId> Netlist::find(const Node& node) const {
  const auto [begin, end] = index_.equal_range(hash_of(node));
  for (auto it = begin; it != end; ++it)
    if (same(nodes_[it->second.id], node)) return it->second;
  return {};
}

NodeId Netlist::add(Node node) {
  if (const auto there = find(node)) return *there;
  const NodeId id{static_cast<std::uint32_t>(nodes_.size())};
  index_.emplace(hash_of(node), id);
  nodes_.push_back(std::move(node));
  return id;
}

std::size_t Netlist::add_table(Rom rom) {
  for (std::size_t t = 0; t < tables.size(); ++t)
    if (tables[t].bits == rom.bits && tables[t].values == rom.values) return t;
  const auto taken = [&](const std::string& name) {
    return std::any_of(tables.begin(), tables.end(), [&](const Rom& r) { return r.name == name; });
  };
  if (taken(rom.name)) {
    std::size_t number = tables.size();
    while (taken(fmt::format("{}_{}", rom.name, number))) ++number;
    rom.name = fmt::format("{}_{}", rom.name, number);
  }
  tables.push_back(std::move(rom));
  return tables.size() - 1;
}

Netlist like(const Netlist& all) {
  Netlist made;
  made.frame = all.frame, made.given = all.given, made.extents = all.extents;
  made.inputs = all.inputs, made.scalars = all.scalars, made.stages = all.stages, made.decisions = all.decisions;
  made.tables = all.tables, made.least_height = all.least_height, made.least_width = all.least_width;
  return made;
}

void return_as(Netlist& to, const Netlist& from, const std::vector<NodeId>& now) {
  to.results = from.results, to.stored = from.stored;
  for (Result& r : to.results)
    for (NodeId& n : r.lanes) n = now[n.id];
  for (auto& lanes : to.stored)
    for (NodeId& n : lanes) n = now[n.id];
}

Netlist living(const Netlist& all) {
  std::vector<bool> needed(all.size(), false);
  for (const Result& r : all.results)
    for (const NodeId n : r.lanes) needed[n.id] = true;
  for (std::size_t k = all.size(); k-- > 0;)
    if (needed[k])
      for (const NodeId a : all.node({static_cast<std::uint32_t>(k)}).args) needed[a.id] = true;
  Netlist kept = like(all);
  kept.tables.clear();
  std::vector<NodeId> now(all.size());
  for (std::uint32_t k = 0; k < all.size(); ++k) {
    if (!needed[k]) continue;
    Node node = all.node({k});
    for (NodeId& a : node.args) a = now[a.id];
    if (node.op == Signal::table)
      node.value = static_cast<i64>(kept.add_table(all.tables[static_cast<std::size_t>(node.value)]));
    now[k] = kept.add(std::move(node));
  }
  for (const std::vector<NodeId>& lanes : all.stored) {
    std::vector<NodeId> left;
    for (const NodeId n : lanes)
      if (needed[n.id]) left.push_back(now[n.id]);
    if (!left.empty()) kept.stored.push_back(std::move(left));
  }
  kept.results = all.results;
  for (Result& r : kept.results)
    for (NodeId& n : r.lanes) n = now[n.id];
  return kept;
}

i64 pattern_of(double v, ElementType type) {
  if (type == ElementType::f64) return std::bit_cast<i64>(v);
  if (type == ElementType::f32) return std::bit_cast<std::uint32_t>(static_cast<float>(v));
  if (type == ElementType::f16) return double_to_half(v);
  return static_cast<i64>(v);
}

double number_of(i64 pattern, ElementType type) {
  if (type == ElementType::f64) return std::bit_cast<double>(pattern);
  if (type == ElementType::f32) return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(pattern)));
  if (type == ElementType::f16) return static_cast<double>(half_to_float(static_cast<std::uint16_t>(pattern)));
  return static_cast<double>(pattern);
}

void verify(const Netlist& netlist) {
  const auto fail = [](std::size_t k, std::string_view rule) {
    throw Error(ErrorClass::internal, fmt::format("node {} of the netlist: {}", k, rule));
  };
  for (std::size_t k = 0; k < netlist.size(); ++k) {
    const Node& node = netlist.node({static_cast<std::uint32_t>(k)});
    if (node.args.size() != entries[static_cast<std::size_t>(node.op)].operands) fail(k, "a wrong number of operands");
    for (const NodeId a : node.args)
      if (!a.valid() || a.id >= k) fail(k, "an operand that is not there before it");
    if (node.bits.width < 1 || node.bits.width > 64) fail(k, "a width that is not 1 to 64");
    if (node.op == Signal::delay && netlist.ticks(node.lag) < 0) fail(k, "a delay into the future");
    if (node.op == Signal::delay && node.bits != netlist.node(node.args[0]).bits)
      fail(k, "a delay that changes its format");
    if ((node.op == Signal::held || node.op == Signal::line) && node.bits != netlist.node(node.args[0]).bits)
      fail(k, "a past that changes its format");
    if (node.op == Signal::line && netlist.ticks(node.lag) < node.value) fail(k, "a line without a place");
    for (std::size_t a = 1; a < node.args.size(); ++a)
      if ((node.op == Signal::held || node.op == Signal::line) && netlist.node(node.args[a]).bits != Bits{})
        fail(k, "a condition of several bits");
    if (node.extent >= static_cast<int>(netlist.extents.size())) fail(k, "no such extent");
    if (node.op == Signal::select && netlist.node(node.args[0]).bits != Bits{}) fail(k, "a condition of several bits");
    if (node.op == Signal::table && static_cast<std::size_t>(node.value) >= netlist.tables.size())
      fail(k, "no such table");
  }
  for (const Result& r : netlist.results)
    if (r.lanes.size() != static_cast<std::size_t>(netlist.lanes(r.port.grid)))
      fail(netlist.size(), "a result without all of its lanes");
}

std::string print(const Netlist& netlist) {
  std::string text = fmt::format("frame {} x {}{}, {} a tick\n", netlist.frame.height, netlist.frame.width,
                                 netlist.frame.fixed ? "" : " at most", netlist.frame.lanes);
  for (std::size_t k = 0; k < netlist.size(); ++k) {
    const Node& node = netlist.node({static_cast<std::uint32_t>(k)});
    text += fmt::format("%{} = {}", k, name_of(node.op));
    for (const NodeId a : node.args) text += fmt::format(" %{}", a.id);
    if (node.lag != Lag{}) text += fmt::format(" lag {}:{}", node.lag.rows, node.lag.words);
    if (node.extent >= 0) text += fmt::format(" extent {}", node.extent);
    text += fmt::format(" value {} lane {} : {}{}\n", node.value, node.lane, node.bits.is_signed ? 's' : 'u',
                        node.bits.width);
  }
  for (const Result& r : netlist.results) {
    text += fmt::format("{} lag {}:{} =", r.port.name.empty() ? "result" : r.port.name, r.lag.rows, r.lag.words);
    for (const NodeId n : r.lanes) text += fmt::format(" %{}", n.id);
    text += '\n';
  }
  return text;
}

}  // namespace tessera::hardware
