// A run of columns of a point pass: the loop over its vectors, what they read and where their results go.
#include <algorithm>

#include "base/division.hpp"
#include "lower/vocabulary.hpp"
#include "lower/ways/stream/group.hpp"

namespace tessera::lower {

using ir::ExprNode;
using ir::Op;
using ir::StageId;
using ir::nest::integer;
using ir::nest::Kind;
using ir::nest::Lane;
using ir::nest::Type;
using ir::nest::Value;
using ir::nest::variable;

// The rows of memory that the next block will read besides, at the same columns: there is a block's time for them to
// arrive, and the machine's own prefetching stops at the end of every page.
void GroupLowering::prefetch(std::size_t p, const std::vector<Pointers>& sources, const Value& x) {
  constexpr i64 line = 64;
  const plan::Pass& pass = group_.passes[p];
  // Of every array, by offsets of the plane and the row: what comes from memory is the last plane.
  std::map<StageId, std::vector<std::pair<std::vector<i64>, std::size_t>>> last;
  for (std::size_t k = 0; k < bodies_[p].sources.size(); ++k) {
    const PassBody::Source& source = bodies_[p].sources[k];
    bool steady = source.table.empty() && source.scale > 0 && source.outer.back().scale > 0;
    if (in_group(source.stage) || !steady) continue;
    std::vector<i64> offsets;
    for (const ir::Index& index : source.outer) offsets.push_back(index.offset);
    last[source.stage].emplace_back(std::move(offsets), k);
  }
  for (auto& [s, rows] : last) {
    std::sort(rows.rbegin(), rows.rend());
    rows.resize(std::min(rows.size(), static_cast<std::size_t>(pass.rows)));
    const ArrayRef& array = interface_.arrays[place_of(plan_, interface_, s)->array];
    const i64 unit = element_step(s) * ir::nest::size_of(memory_lane(s));
    for (const auto& [offsets, k] : rows) {
      const PassBody::Source& source = bodies_[p].sources[k];
      // (The next row of each plane, where these make up the block.)
      const i64 step = pass.along + 2 == rank_ ? pass.rows : 1;
      const Value next = stride(array.strides + source.outer.size() - 1) * (step * source.outer.back().scale);
      const Value at = builder_->let("ahead", (x * source.scale + source.lo) * unit + next);
      const i64 lines = std::max<i64>(1, pass.lanes * source.scale * unit / line);
      for (i64 n = 0; n < lines; ++n)
        builder_->call("tsr_prefetch", {convert(bytes_pointer, sources[k].direct.front()), at + n * line});
    }
  }
}

// Elements of 2 or 4 vectors in turn.
void GroupLowering::store_interleaved(const Value& to, const Value& x, std::vector<Value> row) {
  const i64 lanes = row.front()->type.lanes, count = static_cast<i64>(row.size());
  if (count == 4) {  // 0 with 2 and 1 with 3 first, then these with each other
    std::vector<Value> mixed;
    for (std::size_t pair = 0; pair < 2; ++pair)
      for (int half = 0; half < 2; ++half)
        mixed.push_back(builder_->let("v", interleave(row[pair], row[pair + 2], half)));
    row = {mixed[0], mixed[2], mixed[1], mixed[3]};
  }
  for (i64 k = 0; k < count; ++k) {
    std::size_t pair = static_cast<std::size_t>(k / 2 * 2);
    builder_->store(to, x * count + k * lanes, interleave(row[pair], row[pair + 1], static_cast<int>(k % 2)));
  }
}

// The loop over vectors, from `from` on, until `to` is reached or passed.
void GroupLowering::vectors(std::size_t p, const std::vector<Value>& index, const std::vector<Pointers>& sources,
                            const std::vector<Target>& targets, const Value& from, const Value& to,
                            const Value& streaming) {
  const plan::Pass& pass = group_.passes[p];
  const PassBody& body = bodies_[p];
  const ir::Graph& graph = plan_.graph;
  const int lanes = pass.quads ? pass.lanes / 4 : pass.pairs ? pass.lanes / 2 : pass.lanes;
  builder_->loop("x", from, to, integer(pass.lanes), [&](const Value& x) {
    if (is_lanes(graph.node(body.roots.front()).op)) {
      for (std::size_t k = 0; k < targets.size(); ++k)
        store_lanes(graph.node(body.roots[k]), index[0], x, work_[p].piece, targets[k].to);
      return;
    }
    prefetch(p, sources, x);
    PointSource source;
    source.lanes = lanes;
    if (pass.quads) source.least_bytes = 4;
    source.chained = plan_.options.numbers == Numbers::fast;
    source.load = [&](const ExprNode& node, const std::map<std::uint32_t, Value>& vars) {
      std::size_t k = body.source_of.at(&node);
      const PassBody::Source& from_source = body.sources[k];
      Value pointer = sources[k].current;
      if (!from_source.table.empty()) {
        Value entry = integer(0);
        for (std::size_t d = 0; d + 1 < node.index.size(); ++d) {
          auto [lo, hi] = from_source.table[d];
          Value offset = integer(node.index[d].offset - lo);
          for (auto [var, coefficient] : node.index[d].vars) offset = offset + vars.at(var) * coefficient;
          entry = entry * (hi - lo + 1) + offset;
        }
        pointer = listed_row(pointer, entry);
      }
      const ir::Index& column = node.index.back();
      Value at = x * column.scale + extent(column.shift) + column.offset;
      for (auto [var, coefficient] : column.vars) at = at + vars.at(var) * coefficient;
      if (pass.pairs) {
        const i64 odd = column.offset & 1;
        Value both =
            load(convert({Lane::u16, 1, true}, address(pointer, x + (column.offset - odd))), integer(0), lanes);
        return odd ? both >> 8 : both & 255;
      }
      if (pass.quads) {
        return load(convert({Lane::u32, 1, true}, address(pointer, at)), integer(0), lanes) & 255;
      }
      i64 step = element_step(node.stage);
      const i64 apart = step * column.scale;
      // Columns of one row are taken from the same whole vectors, counted from the first column that the pass reads.
      if (apart > 1 && apart <= 32 && column.vars.empty()) {
        i64 behind = (column.offset - from_source.lo) * step + element_offset(node.stage);
        Value base = (x * column.scale + extent(column.shift) + from_source.lo) * step;
        if (column.scale == 1 && reads_words(p, node.stage))
          return field_words(pointer, base + behind / apart * apart, behind % apart, apart, lanes);
        return load(pointer, base + behind / apart * apart, lanes, apart, behind % apart);
      }
      if (column.vars.empty() && from_source.shifted.contains(column.offset)) {
        const i64 phase = column.offset - base::floor_divide(column.offset, i64{lanes}) * lanes;
        return load(pointer, x + extent(column.shift) + (column.offset - phase), lanes, 1, phase);
      }
      if (column.scale == 0) return broadcast(load(pointer, at * step + element_offset(node.stage), 1), lanes);
      return load(pointer, at * step + element_offset(node.stage), lanes, step * column.scale);
    };
    source.gather = [&](const ExprNode& node, const std::vector<Value>& indices) {
      auto place = place_of(plan_, interface_, node.stage);
      const ArrayRef& array = interface_.arrays[place->array];
      Value base = array_base(place->array);
      const Type wide{Lane::i64, lanes, false};
      Value offset;
      for (std::size_t d = 0; d < indices.size(); ++d) {
        Value last = convert({Lane::i32, 1, false}, extent(stage(node.stage).domain[d]) - 1);
        Value i = max(indices[d], 0);
        i = builder_->let("i", min(i, broadcast(last, lanes)));
        Value pitch = d + 1 == indices.size() ? integer(place->element_stride) : stride(array.strides + d);
        Value part = convert(wide, i) * broadcast(pitch, lanes);
        offset = builder_->let("o", offset ? offset + part : part);
      }
      auto read = std::make_shared<ir::nest::Node>();
      read->kind = Kind::gather;
      read->type = {memory_lane(node.stage), lanes, false};
      read->args = {address(base, integer(place->offset)), offset};
      return Value(read);
    };
    source.leaf = [&](const ExprNode& node) -> Value {
      Type scalar{Lane::i32, 1, false};
      switch (node.op) {
        case Op::coord: {
          std::size_t d = static_cast<std::size_t>(node.ivalue);
          if (d + 1 < rank_) return broadcast(convert(scalar, index[d]), lanes);
          auto iota = std::make_shared<ir::nest::Node>();
          iota->kind = Kind::iota;
          iota->type = {Lane::i32, lanes, false};
          return broadcast(convert(scalar, x), lanes) + Value(iota);
        }
        case Op::extent: {
          const ir::Stage& owner = stage(pass.stages.front());
          return broadcast(convert(scalar, extent(owner.domain[static_cast<std::size_t>(node.ivalue)])), lanes);
        }
        case Op::value: {
          const auto place = place_of(plan_, interface_, node.stage);
          const Value at = address(array_base(place->array), integer(place->offset));
          return broadcast(load(typed(node.stage, at), integer(0), 1), lanes);
        }
        case Op::size:
          return broadcast(
              convert({Lane::f64, 1, false}, size_value(ir::SizeId{static_cast<std::uint32_t>(node.ivalue)})), lanes);
        case Op::parameter:
          return broadcast(convert(scalar, load(integers(), integer(node.ivalue), 1)), lanes);
        default: {
          Lane lane = ir::nest::lane_of(node.type);
          Value base = array_base(static_cast<std::size_t>(node.ivalue));
          return broadcast(load(convert({lane, 1, true}, base), integer(0), 1), lanes);
        }
      }
    };
    source.table = [&](std::size_t t) {
      return variable("tsr_table_" + std::to_string(t), {ir::nest::lane_of(graph.tables[t].type), 1, true});
    };
    PointEmitter emitter(graph, ranges_, *builder_, source);
    // What goes past the caches or not is stored together: a branch at every store would part the rows of a block,
    // whose chains of sums are to run beside each other.
    struct Result {
      Value to, at, out;
    };
    std::vector<Result> results;
    // (Not those of many stages, that have little in common but need registers until they are stored.)
    const std::size_t most_results =
        pass.stages.size() > 4 ? 1 : static_cast<std::size_t>(plan_.device.vector_registers) / 2;
    const auto store_results = [&] {
      if (results.empty()) return;
      const auto all = [&](bool past) {
        return [&, past] {
          for (const Result& r : results) builder_->store(r.to, r.at, r.out, past);
        };
      };
      builder_->branch(streaming, all(true), all(false));
      results.clear();
    };
    std::map<std::size_t, std::vector<Value>> parts;   // of rows that several pieces fill, by the first one's position
    std::map<std::size_t, std::vector<Value>> phases;  // of every fourth column
    std::map<std::size_t, Value> halves;  // even or odd columns that wait for the others, by position of the target
    emitter.emit(
        body.roots,
        [&](std::size_t root, const Value& v) {
          const std::size_t k = root % targets.size();
          StageId s = pass.stages[k % pass.stages.size()];
          auto store = [&](const Value& to, const Value& at, const Value& out) {
            if (!direct_result(s))
              builder_->store(to, at, out);
            else
              results.push_back({to, at, out->kind == Kind::variable ? out : builder_->let("v", out)});
            if (results.size() >= most_results) store_results();
          };
          if (pass.pairs) {
            Value half = builder_->let("v", emitter.stored(body.roots[root], v, Lane::u16));
            auto [other, first] = halves.try_emplace(k, half);
            if (first) return;
            const bool odd = root >= targets.size();
            const Value even = odd ? other->second : half, after = odd ? half : other->second;
            Value low = even & 255;
            Value high = after << 8;
            store(convert({Lane::u16, 1, true}, address(targets[k].to, x)), integer(0),
                  builder_->let("both", low | high));
            return;
          }
          if (pass.quads) {
            const Lane lane = memory_lane(s);
            std::vector<Value>& four = phases[k];
            four.resize(4);
            four[root / targets.size()] = builder_->let(
                "v", emitter.stored(body.roots[root], v, lane == Lane::f32 || lane == Lane::u32 ? lane : Lane::i32));
            if (std::count(four.begin(), four.end(), nullptr)) return;
            for (const auto& [column, out] : of_quads(four, lane))
              store(convert({out->type.lane, 1, true}, address(targets[k].to, x + column)), integer(0), out);
            return;
          }
          Value out = emitter.stored(body.roots[root], v, memory_lane(written(s)));
          const Target& target = targets[k];
          if (target.parts > 1) {
            std::vector<Value>& row = parts[target.first];
            row.resize(static_cast<std::size_t>(target.parts));
            row[static_cast<std::size_t>(target.part)] = builder_->let("v", out);
            if (!std::count(row.begin(), row.end(), nullptr)) store_interleaved(target.to, x, std::move(row));
            return;
          }
          store(target.to, x, out);
        },
        pass.quads ? byte_totals(p, sources, x) : PointEmitter::Values{});
    store_results();
  });
}

}  // namespace tessera::lower
