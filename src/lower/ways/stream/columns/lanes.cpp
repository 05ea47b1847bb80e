// Lanes of pieces of a whole image (ir/reductions.hpp): a vector of neighbouring lanes goes through its piece in steps
// of 64 elements.
//
// Where the image lies in memory without gaps, a piece is one run of memory, wherever its rows end. Else, views and
// fields of structs, it is copied first, row by row. The last step of a piece takes the elements that there are.
#include "lower/ways/stream/columns/lanes.hpp"

#include <algorithm>

#include "ir/reductions.hpp"
#include "lower/ways/stream/columns/columns.hpp"

namespace tessera::lower {

using ir::ExprNode;
using ir::StageId;
using ir::nest::integer;
using ir::nest::Kind;
using ir::nest::Lane;
using ir::nest::Type;
using ir::nest::Value;

namespace {

bool may_have_gaps(const ir::Graph& graph, const ir::Stage& source) {
  for (std::size_t d = 0; d + 1 < source.domain.size(); ++d)
    if (graph.constant(source.domain[d]) != 1) return true;
  return false;
}

// A piece, elements first ... end - 1, where it lies or copied to `memory`; a pointer to elements.
Value piece_of(const Declared& tile, StageId s, const Value& first, const Value& end, const Value& memory) {
  const StreamGroup& group = tile.group;
  Builder& b = tile.builder;
  const ir::Stage& source = group.stage(s);
  const std::size_t rank = source.domain.size();
  const auto place = group.place(s);
  const ArrayRef& array = group.interface.arrays[place->array];
  const i64 size = group.bytes(s), step = group.element_step(s);
  const Value base = address(tile.array_base(place->array), integer(place->offset));
  const Value n = tile.extent(source.domain.back());
  const Value here = group.typed(s, address(base, first * size));
  if (step == 1 && !may_have_gaps(group.graph, source)) return b.let("piece", here);
  const Value apart = has_gaps(
      group.graph, source, place->element_stride, [&](ir::SizeId size_id) { return tile.extent(size_id); },
      [&](std::size_t d) { return tile.stride(array.strides + d); });
  const Value gaps = b.let("gaps", step == 1 ? apart : integer(1, flag_type));
  const Value copied = b.let("copied", group.typed(s, memory));
  const Value width = b.let("width", max(n, integer(1)));
  b.branch(gaps, [&] {
    const Value r0 = b.let("r0", call_i64("tsr_floor_div", {first, width}));
    const Value r1 = b.let("r1", call_i64("tsr_ceil_div", {end, width}));
    b.loop("row", r0, r1, integer(1), [&](const Value& row) {
      Value rest = row, offset = integer(0);
      for (std::size_t d = rank - 1; d-- > 0;) {
        Value at = rest;
        if (d > 0) {
          const Value above =
              b.let("above", call_i64("tsr_floor_div", {rest, max(tile.extent(source.domain[d]), integer(1))}));
          at = rest - above * tile.extent(source.domain[d]);
          rest = above;
        }
        offset = offset + at * tile.stride(array.strides + d);
      }
      const Value from = b.let("from", group.typed(s, address(base, offset)));
      const Value c0 = b.let("c0", max(first - row * width, integer(0)));
      const Value c1 = b.let("c1", min(end - row * width, n));
      const Value to = b.let("to", address(copied, row * width - first));
      b.loop("c", c0, c1, integer(1), [&](const Value& c) { b.store(to, c, load(from, c * step, 1)); });
    });
  });
  return b.let("piece", choose(gaps, copied, here));
}

// Row `number` of a stage that is lanes of pieces, from column x on: vectors beside each other, so that a piece is read
// line after line. `memory`: where pieces may be copied.
void store_lanes(const Declared& tile, const ExprNode& node, const Value& number, const Value& x, const Value& memory,
                 const Value& to) {
  const StreamGroup& group = tile.group;
  Builder& b = tile.builder;
  const ir::Stage& source = group.stage(node.stage);
  const Lane lane = ir::nest::lane_of(node.type);
  const int lanes = std::min<int>(ir::lanes_of_piece, group.machine.vector_bytes / ir::nest::size_of(lane));
  const i64 parts = ir::lanes_of_piece / lanes;
  const Type type{lane, lanes, false}, one{lane, 1, false}, places{Lane::i32, lanes, false};
  Value count = integer(1);
  for (const ir::SizeId n : source.domain) count = count * tile.extent(n);
  count = b.let("count", count);
  const Value first = node.ivalue > 0 ? b.let("first", number * node.ivalue) : integer(0);
  const Value end = node.ivalue > 0 ? b.let("end", min(first + node.ivalue, count)) : count;
  const Value elements = piece_of(tile, node.stage, first, end, memory);
  const Value n = b.let("n", end - first);
  const double start = ir::first_of_lane(node.op, node.type);
  const auto all = [&](const Value& v) { return broadcast(v, lanes); };
  std::vector<Value> totals;
  for (i64 part = 0; part < parts; ++part)
    totals.push_back(
        b.var("total", all(is_float(lane) ? ir::nest::real(start, one) : integer(static_cast<i64>(start), one))));
  const auto computed = [&](Value v) {
    if (source.type == ElementType::boolean) {  // any byte but 0 is true
      v = differs(v, 0);
      v = v & 1;
    }
    return b.let("v", convert(type, b.let("v", v)));
  };
  const auto taken = [&](const Value& v, const Value& total) {
    return operation(ir::step_of_lane(node.op), type, {v, total});
  };
  const Value whole = b.let("whole", n - x - (ir::lanes_of_piece - 1));
  b.loop("k", integer(0), whole, integer(ir::lanes_of_piece), [&](const Value& k) {
    for (i64 part = 0; part < parts; ++part) {
      const Value& total = totals[static_cast<std::size_t>(part)];
      b.assign(total, taken(computed(load(elements, k + x + part * lanes, lanes)), total));
    }
  });
  // What is left: elements up to the last one, lane by lane.
  const Value done = b.let(
      "done", call_i64("tsr_ceil_div", {max(whole, integer(0)), integer(ir::lanes_of_piece)}) * ir::lanes_of_piece);
  b.loop("k", done, n - x, integer(ir::lanes_of_piece), [&](const Value& k) {
    const Value left = b.let("left", min(n - k, integer(1 << 20)));
    const auto narrow = [&](const Value& v) { return all(convert({Lane::i32, 1, false}, v)); };
    auto iota = std::make_shared<ir::nest::Node>();
    iota->kind = Kind::iota;
    iota->type = places;
    for (i64 part = 0; part < parts; ++part) {
      const Value& total = totals[static_cast<std::size_t>(part)];
      const Value at = b.let("at", narrow(x + part * lanes) + Value(iota));
      auto read = std::make_shared<ir::nest::Node>();
      read->kind = Kind::gather;
      read->type = {group.memory_lane(node.stage), lanes, false};
      read->args = {address(elements, k), min(at, narrow(left - 1))};
      const Value v = b.let("v", taken(computed(Value(read)), total));
      const Value there = b.let("there", less(at, narrow(left)));
      const Value mask = convert({ir::nest::mask_lane(lane), lanes, false}, there);
      b.assign(total, choose(mask, v, total));
    }
  });
  for (i64 part = 0; part < parts; ++part) b.store(to, x + part * lanes, totals[static_cast<std::size_t>(part)]);
}

}  // namespace

i64 piece_bytes(const StreamGroup& group, const PassBody& body) {
  const ir::Graph& graph = group.graph;
  i64 bytes = 0;
  for (const ir::ExprId e : ir::postorder(graph, body.roots)) {
    const ExprNode& node = graph.node(e);
    if (!is_lanes(node.op)) continue;
    if (group.element_step(node.stage) == 1 && !may_have_gaps(graph, group.stage(node.stage))) continue;
    bytes = std::max(bytes, ir::elements_of_piece * group.bytes(node.stage) + 64);
  }
  return bytes;
}

void reduction_turn(const PassOfTile& of, const Block& block, const Value& x, const Value&) {
  for (std::size_t k = 0; k < block.targets.size(); ++k)
    store_lanes(of.tile, of.tile.group.graph.node(of.body.roots[k]), block.index[0], x, of.work.piece,
                block.targets[k].to);
}

}  // namespace tessera::lower
