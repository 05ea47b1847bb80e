// Sums of bytes as products of four neighbours (rewrite/sums/bytes.hpp).
//
// A block of R rows has a total of 32-bit lanes for every row and each of four phases: lane l of phase p belongs to
// column x + 4 l + p. All totals take their products in the order of memory, so that a vector of bytes is loaded once
// for all rows of the block; what else a body does is then done phase by phase. The results of the phases stand in
// every fourth column: bytes go together by shifts, wider elements are interleaved.
#include "lower/ways/stream/columns/bytes.hpp"

#include <algorithm>
#include <tuple>

#include "analyze/expressions.hpp"
#include "rewrite/sums/bytes.hpp"

namespace tessera::lower {

using ir::ExprId;
using ir::StageId;
using ir::nest::integer;
using ir::nest::Lane;
using ir::nest::Type;
using ir::nest::Value;

void add_products(const StreamGroup& group, const plan::Pass& pass, PassBody& body) {
  ir::Graph& graph = group.graph;
  const auto sums = rewrite::works_in_quads(graph, pass.stages.front());
  if (!sums) throw Error(ErrorClass::internal, "'" + group.stage(pass.stages.front()).name + "' is no sum of bytes");
  std::size_t count = 0;
  for (int r = 0; r < pass.rows; ++r)
    for (int phase = 0; phase < 4; ++phase) {
      const auto moved = [&](ExprId e) {
        return analyze::shift_columns(graph, analyze::shift_along(graph, e, group.rank, pass.along, r), group.rank,
                                      phase);
      };
      for (const rewrite::ByteSum& sum : *sums) {
        PassBody::Total total{moved(sum.sum), count++, {}};
        const auto add = [&](const std::vector<rewrite::ByteSum::Quad>& quads, std::size_t to) {
          for (const rewrite::ByteSum::Quad& q : quads)
            body.products.push_back({body.source_of.at(&graph.node(moved(q.row))), q.column + phase, q.weights, to});
        };
        add(sum.low, total.low);
        if (!sum.high.empty()) {
          total.high = count++;
          add(sum.high, *total.high);
        }
        body.totals.push_back(std::move(total));
      }
    }
  const auto place = [&](const PassBody::Product& product) {
    const PassBody::Source& source = body.sources[product.source];
    std::vector<i64> at{static_cast<i64>(source.stage)};
    for (const ir::Index& index : source.outer) at.push_back(index.offset);
    return std::tuple(at, product.source, product.column, product.total);
  };
  std::sort(body.products.begin(), body.products.end(),
            [&](const PassBody::Product& a, const PassBody::Product& b) { return place(a) < place(b); });
}

PointEmitter::Values byte_totals(const PassOfTile& of, const std::vector<Pointers>& sources, const Value& x) {
  Builder& builder = of.tile.builder;
  const PassBody& body = of.body;
  const Type type{Lane::i32, of.pass.lanes / 4, false};
  const auto number = [&](i64 n) { return broadcast(integer(n, {Lane::i32, 1, false}), type.lanes); };
  std::vector<Value> totals(body.totals.size() * 2);
  Value bytes;
  for (std::size_t k = 0; k < body.products.size(); ++k) {
    const PassBody::Product& product = body.products[k];
    const PassBody::Product* before = k > 0 ? &body.products[k - 1] : nullptr;
    if (!before || before->source != product.source || before->column != product.column)
      bytes = builder.let(
          "v", load(convert({Lane::i32, 1, true}, address(sources[product.source].current, x + product.column)),
                    integer(0), type.lanes));
    Value& total = totals[product.total];
    total = builder.let("total", ir::nest::call("tsr_add_products_i32x" + std::to_string(type.lanes), type,
                                                {total ? total : number(0), bytes, number(product.weights)}));
  }
  PointEmitter::Values known;
  for (const PassBody::Total& total : body.totals) {
    Value sum = totals[total.low] ? totals[total.low] : number(0);
    if (total.high) {
      const Value high = builder.let("high", totals[*total.high] << 7);
      sum = builder.let("sum", sum + high);
    }
    const Type own{ir::nest::lane_of(of.tile.group.graph.node(total.sum).type), type.lanes, false};
    known[total.sum.id] = sum->type == own ? sum : builder.let("sum", convert(own, sum));
  }
  return known;
}

std::vector<std::pair<i64, Value>> of_quads(Builder& builder, const std::vector<Value>& phases, Lane lane) {
  const int lanes = phases.front()->type.lanes, bytes = ir::nest::size_of(lane);
  const auto mixed = [&](const Value& a, const Value& b, int half) { return builder.let("v", interleave(a, b, half)); };
  if (bytes == 4) {  // 0 with 2 and 1 with 3 first, then these with each other
    std::vector<std::pair<i64, Value>> out;
    for (int half = 0; half < 2; ++half) {
      const Value even = mixed(phases[0], phases[2], half), odd = mixed(phases[1], phases[3], half);
      for (int k = 0; k < 2; ++k) out.emplace_back((2 * half + k) * lanes, mixed(even, odd, k));
    }
    return out;
  }
  const Type type{Lane::u32, lanes, false};
  // Of 8 or 16 bits each, the first one lowest.
  const auto packed = [&](std::size_t first, std::size_t count) {
    Value all;
    for (std::size_t k = 0; k < count; ++k) {
      Value part = convert(type, phases[first + k]);
      if (k + 1 < count) part = part & (bytes == 1 ? 255 : 65535);
      if (k > 0) part = part << 8 * bytes * static_cast<i64>(k);
      all = builder.let("both", all ? all | part : part);
    }
    return all;
  };
  if (bytes == 1) return {{0, packed(0, 4)}};
  const Value first = packed(0, 2), second = packed(2, 2);
  return {{0, mixed(first, second, 0)}, {2 * lanes, mixed(first, second, 1)}};
}

}  // namespace tessera::lower
