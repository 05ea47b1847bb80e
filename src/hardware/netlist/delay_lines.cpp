// Taps are sorted by ticks; what is too long for registers between two of them becomes part of a memory.
#include "hardware/netlist/delay_lines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "base/division.hpp"
#include "tessera/error.hpp"

namespace tessera::hardware {

namespace {

i64 rows_of(const Netlist& netlist, Lag length) {
  return netlist.frame.fixed ? netlist.ticks(length) / netlist.frame.pitch() : length.rows;
}

// Of a piece of several rows, so many as one block of memory holds of a few bits, and a whole share of all: what is
// deeper takes several blocks, with a selection behind them that is slow. Rows side by side take no more blocks.
i64 rows_together(const Netlist& netlist, Lag length) {
  const i64 row = netlist.frame.pitch(), rows = rows_of(netlist, length);
  if (rows <= 1 || netlist.ticks(length) <= deep_memory) return rows;
  i64 together = 1;
  for (i64 n = 2; n < rows && n * row <= deep_memory; ++n)
    if (rows % n == 0) together = n;
  return together;
}

}  // namespace

DelayLines delay_lines(const Netlist& netlist, const std::vector<int>& clock) {
  std::map<std::uint32_t, std::vector<std::uint32_t>> by_source;
  for (std::uint32_t k = 0; k < netlist.size(); ++k)
    if (netlist.node({k}).op == Signal::delay) by_source[netlist.node({k}).args[0].id].push_back(k);
  DelayLines all;
  std::map<std::tuple<i64, Lag, int>, int> memories;
  for (auto& [source, delays] : by_source) {
    const auto ticks = [&](std::uint32_t k) { return netlist.ticks(netlist.node({k}).lag); };
    std::sort(delays.begin(), delays.end(),
              [&](std::uint32_t a, std::uint32_t b) { return std::pair(ticks(a), a) < std::pair(ticks(b), b); });
    DelayLine line;
    line.source = {source};
    const int bits = netlist.node(line.source).bits.width;
    Lag last;
    const auto add_piece = [&](Lag length) {
      DelayPiece piece{line.source, last, length, -1, 0};
      const i64 ticks_long = netlist.ticks(length);
      // Where rows may be short at run time, whole rows lie in memories in any case.
      if (ticks_long >= least_memory || (!netlist.frame.fixed && length.rows > 0)) {
        const int when = clock.empty() ? 0 : clock[source];
        const auto [it, fresh] =
            memories.try_emplace({ticks_long, length, when}, static_cast<int>(all.memories.size()));
        if (fresh) all.memories.push_back({length, 0, when});
        DelayMemory& memory = all.memories[static_cast<std::size_t>(it->second)];
        piece.memory = it->second;
        piece.place = memory.width;
        memory.width += bits;
        all.memory_bits += ticks_long * bits;
        if (length.rows > 0)
          all.least_pitch = std::max(all.least_pitch, base::ceil_divide(least_pitch - length.words, length.rows));
      } else {
        all.register_bits += ticks_long * bits;
      }
      line.pieces.push_back(piece);
      last = last + length;
    };
    for (const std::uint32_t k : delays) {
      const Lag here = netlist.node({k}).lag;
      const i64 rows = rows_together(netlist, here - last);
      while (rows_of(netlist, here - last) > rows)
        add_piece(netlist.frame.fixed ? Lag{0, rows * netlist.frame.pitch()} : Lag{rows, 0});
      if (here != last) add_piece(here - last);
      line.taps[k] = line.pieces.size() - 1;
    }
    all.lines.push_back(std::move(line));
  }
  for (std::uint32_t k = 0; k < netlist.size(); ++k) {
    const Node& node = netlist.node({k});
    if (node.op == Signal::held) all.register_bits += node.bits.width;
    if (node.op == Signal::line) all.memory_bits += netlist.ticks(node.lag) / node.value * node.bits.width;
  }
  return all;
}

std::vector<LineMemory> line_memories(const Netlist& netlist, const std::vector<int>& clock) {
  std::vector<LineMemory> all;
  for (std::uint32_t k = 0; k < netlist.size(); ++k) {
    const Node& node = netlist.node({k});
    if (node.op != Signal::line) continue;
    const auto it = std::find_if(all.begin(), all.end(), [&](const LineMemory& m) {
      return m.steps == node.args[1] && m.writes == node.args[2] && m.length == node.lag && m.step == node.value &&
             m.clock == clock[k];
    });
    LineMemory& memory =
        it != all.end()
            ? *it
            : all.emplace_back(LineMemory{node.args[1], node.args[2], node.lag, node.value, clock[k], 0, {}});
    memory.width += node.bits.width;
    memory.lines.push_back({k});
  }
  return all;
}

i64 least_width(const Netlist& netlist, const DelayLines& lines) {
  const i64 of_rows = lines.least_pitch > least_pitch ? (lines.least_pitch - 1) * netlist.frame.lanes + 1 : 1;
  return std::max(netlist.least_width, of_rows);
}

void check_extents(const Netlist& netlist, const DelayLines& lines) {
  const auto& most = netlist.given.most;
  const i64 height = netlist.least_height, width = least_width(netlist, lines);
  if (netlist.frame.fixed || (height <= most[0] && width <= most[1])) return;
  throw Error(ErrorClass::argument,
              fmt::format("frames of at most {} x {} were asked for; expected at least {} x {}, which the program's "
                          "windows need",
                          most[0], most[1], height, width),
              {}, netlist.frame.lanes > 1 ? "take fewer points a clock, or frames of one size" : "");
}

}  // namespace tessera::hardware
