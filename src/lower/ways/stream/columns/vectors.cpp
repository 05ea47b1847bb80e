// A run of columns of a point pass: the loop over its vectors, what they read and where their results go.
//
// A pass has one of these forms: vectors of neighbours (VectorColumns), even and odd columns of bytes (PairColumns),
// every fourth column of bytes (QuadColumns). Each says what an access loads, and puts what was computed back in order.
// (Partial results of a whole image are another body: lanes.cpp.)
#include <algorithm>

#include "base/division.hpp"
#include "lower/ways/stream/columns/bytes.hpp"
#include "lower/ways/stream/columns/columns.hpp"
#include "lower/ways/stream/columns/fields.hpp"
#include "lower/ways/stream/forms.hpp"

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

namespace {

// Fewer stages than this have enough in common that their results wait in registers until they are stored together.
constexpr std::size_t most_together = 4;

// The rows of memory that the next block will read besides, at the same columns: there is a block's time for them to
// arrive, and the machine's own prefetching stops at the end of every page.
void prefetch(const PassOfTile& of, const std::vector<Pointers>& sources, const Value& x) {
  constexpr i64 line = 64;
  const StreamGroup& group = of.tile.group;
  Builder& builder = of.tile.builder;
  const plan::Pass& pass = of.pass;
  // Of every array, by offsets of the plane and the row: what comes from memory is the last plane.
  std::map<StageId, std::vector<std::pair<std::vector<i64>, std::size_t>>> last;
  for (std::size_t k = 0; k < of.body.sources.size(); ++k) {
    const PassBody::Source& source = of.body.sources[k];
    bool steady = source.table.empty() && source.scale > 0 && source.outer.back().scale > 0;
    if (group.contains(source.stage) || !steady) continue;
    std::vector<i64> offsets;
    for (const ir::Index& index : source.outer) offsets.push_back(index.offset);
    last[source.stage].emplace_back(std::move(offsets), k);
  }
  for (auto& [s, rows] : last) {
    std::sort(rows.rbegin(), rows.rend());
    rows.resize(std::min(rows.size(), static_cast<std::size_t>(pass.rows)));
    const ArrayRef& array = group.interface.arrays[group.place(s)->array];
    const i64 unit = group.element_step(s) * group.bytes(s);
    for (const auto& [offsets, k] : rows) {
      const PassBody::Source& source = of.body.sources[k];
      // (The next row of each plane, where these make up the block.)
      const i64 step = pass.along + 2 == group.rank ? pass.rows : 1;
      const Value next = of.tile.stride(array.strides + source.outer.size() - 1) * (step * source.outer.back().scale);
      const Value at = builder.let("ahead", (x * source.scale + source.lo) * unit + next);
      const i64 lines = std::max<i64>(1, pass.lanes * source.scale * unit / line);
      for (i64 n = 0; n < lines; ++n)
        builder.call("tsr_prefetch", {convert(bytes_pointer, sources[k].direct.front()), at + n * line});
    }
  }
}

// Elements of 2 or 4 vectors in turn.
void store_interleaved(Builder& builder, const Value& to, const Value& x, std::vector<Value> row) {
  const i64 lanes = row.front()->type.lanes, count = static_cast<i64>(row.size());
  if (count == 4) {  // 0 with 2 and 1 with 3 first, then these with each other
    std::vector<Value> mixed;
    for (std::size_t pair = 0; pair < 2; ++pair)
      for (int half = 0; half < 2; ++half)
        mixed.push_back(builder.let("v", interleave(row[pair], row[pair + 2], half)));
    row = {mixed[0], mixed[2], mixed[1], mixed[3]};
  }
  for (i64 k = 0; k < count; ++k) {
    std::size_t pair = static_cast<std::size_t>(k / 2 * 2);
    builder.store(to, x * count + k * lanes, interleave(row[pair], row[pair + 1], static_cast<int>(k % 2)));
  }
}

// Results of a turn of the loop. What goes past the caches or not is stored together: a branch at every store would
// part the rows of a block, whose chains of sums are to run beside each other. (Not those of many stages, that have
// little in common but need registers until they are stored.)
class Results {
 public:
  Results(const PassOfTile& of, const Value& streaming)
      : group_(of.tile.group),
        builder_(of.tile.builder),
        streaming_(streaming),
        most_(of.pass.stages.size() > most_together ? 1
                                                    : static_cast<std::size_t>(group_.machine.vector_registers) / 2) {}

  void store(StageId s, const Value& to, const Value& at, const Value& out) {
    if (!group_.direct_result(s))
      builder_.store(to, at, out);
    else
      waiting_.push_back({to, at, out->kind == Kind::variable ? out : builder_.let("v", out)});
    if (waiting_.size() >= most_) store_waiting();
  }

  void store_waiting() {
    if (waiting_.empty()) return;
    const auto all = [&](bool past) {
      return [&, past] {
        for (const Result& r : waiting_) builder_.store(r.to, r.at, r.out, past);
      };
    };
    builder_.branch(streaming_, all(true), all(false));
    waiting_.clear();
  }

 private:
  struct Result {
    Value to, at, out;
  };
  const StreamGroup& group_;
  Builder& builder_;
  const Value streaming_;
  const std::size_t most_;
  std::vector<Result> waiting_;
};

Value iota(int lanes) {
  auto node = std::make_shared<ir::nest::Node>();
  node->kind = Kind::iota;
  node->type = {Lane::i32, lanes, false};
  return node;
}

// What an access reads: a row, and the column in it.
struct Access {
  const ExprNode& node;
  const PassBody::Source& source;
  Value pointer, at;
  const ir::Index& column() const { return node.index.back(); }
};

// The vectors that start at column x of a block.
class ColumnBody {
 public:
  ColumnBody(const PassOfTile& of, const Block& block, const Value& x, Results& results)
      : lanes(of.pass.lanes / lowering_of(of.pass.form).phases),
        of_(of),
        group_(of.tile.group),
        builder_(of.tile.builder),
        block_(block),
        x_(x),
        results_(results) {}
  virtual ~ColumnBody() = default;

  virtual Value load(const Access&) const = 0;
  virtual void finished(PointEmitter&, std::size_t root, const Value&) = 0;
  virtual PointEmitter::Values known() const { return {}; }  // before anything is computed
  virtual int least_bytes() const { return 1; }              // of a lane that integers are computed in

  const int lanes;  // of one of its vectors

 protected:
  std::size_t target_of(std::size_t root) const { return root % block_.targets.size(); }
  const Target& target(std::size_t root) const { return block_.targets[target_of(root)]; }
  StageId stage_of(std::size_t root) const { return of_.pass.stages[target_of(root) % of_.pass.stages.size()]; }
  ir::ExprId expression(std::size_t root) const { return of_.body.roots[root]; }
  // Bytes of a row from column x + `columns` on, as lanes of another type.
  Value bytes_at(const Value& pointer, i64 columns, Lane lane) const {
    return convert({lane, 1, true}, address(pointer, x_ + columns));
  }

  const PassOfTile& of_;
  const StreamGroup& group_;
  Builder& builder_;
  const Block& block_;
  const Value x_;
  Results& results_;
};

class VectorColumns final : public ColumnBody {
 public:
  using ColumnBody::ColumnBody;

  Value load(const Access& access) const override {
    const ExprNode& node = access.node;
    const ir::Index& column = access.column();
    const i64 step = group_.element_step(node.stage), apart = step * column.scale;
    // Columns of one row are taken from the same whole vectors, counted from the first column that the pass reads.
    if (apart > 1 && apart <= 32 && column.vars.empty()) {
      const i64 behind = (column.offset - access.source.lo) * step + group_.element_offset(node.stage);
      Value base = (x_ * column.scale + of_.tile.extent(column.shift) + access.source.lo) * step;
      if (column.scale == 1 && group_.reads_words(of_.number, node.stage))
        return field_words(access.pointer, base + behind / apart * apart, behind % apart, apart, lanes);
      return ir::nest::load(access.pointer, base + behind / apart * apart, lanes, apart, behind % apart);
    }
    if (column.vars.empty() && access.source.shifted.contains(column.offset)) {
      const i64 phase = column.offset - base::floor_divide(column.offset, i64{lanes}) * lanes;
      return ir::nest::load(access.pointer, x_ + of_.tile.extent(column.shift) + (column.offset - phase), lanes, 1,
                            phase);
    }
    const Value at = access.at * step + group_.element_offset(node.stage);
    if (column.scale == 0) return broadcast(ir::nest::load(access.pointer, at, 1), lanes);
    return ir::nest::load(access.pointer, at, lanes, step * column.scale);
  }

  void finished(PointEmitter& emitter, std::size_t root, const Value& v) override {
    const StageId s = stage_of(root);
    Value out = emitter.stored(expression(root), v, group_.memory_lane(group_.written(s)));
    const Target& to = target(root);
    if (to.pieces == 1) return results_.store(s, to.to, x_, out);
    std::vector<Value>& row = pieces_[to.first];
    row.resize(static_cast<std::size_t>(to.pieces));
    row[static_cast<std::size_t>(to.piece)] = builder_.let("v", out);
    if (!std::count(row.begin(), row.end(), nullptr)) store_interleaved(builder_, to.to, x_, std::move(row));
  }

 private:
  std::map<std::size_t, std::vector<Value>> pieces_;  // of rows that several fill, by the first one's position
};

class PairColumns final : public ColumnBody {
 public:
  using ColumnBody::ColumnBody;

  Value load(const Access& access) const override {
    const i64 odd = access.column().offset & 1;
    Value both = ir::nest::load(bytes_at(access.pointer, access.column().offset - odd, Lane::u16), integer(0), lanes);
    return odd ? both >> 8 : both & 255;
  }

  void finished(PointEmitter& emitter, std::size_t root, const Value& v) override {
    Value half = builder_.let("v", emitter.stored(expression(root), v, Lane::u16));
    auto [other, first] = halves_.try_emplace(target_of(root), half);
    if (first) return;
    const bool odd = root >= block_.targets.size();
    const Value even = odd ? other->second : half, after = odd ? half : other->second;
    Value low = even & 255;
    Value high = after << 8;
    results_.store(stage_of(root), bytes_at(target(root).to, 0, Lane::u16), integer(0),
                   builder_.let("both", low | high));
  }

 private:
  std::map<std::size_t, Value> halves_;  // even or odd columns that wait for the others, by target
};

class QuadColumns final : public ColumnBody {
 public:
  using ColumnBody::ColumnBody;

  Value load(const Access& access) const override {
    return ir::nest::load(convert({Lane::u32, 1, true}, address(access.pointer, access.at)), integer(0), lanes) & 255;
  }

  void finished(PointEmitter& emitter, std::size_t root, const Value& v) override {
    const StageId s = stage_of(root);
    const Lane lane = group_.memory_lane(s);
    std::vector<Value>& four = phases_[target_of(root)];
    four.resize(4);
    four[root / block_.targets.size()] = builder_.let(
        "v", emitter.stored(expression(root), v, lane == Lane::f32 || lane == Lane::u32 ? lane : Lane::i32));
    if (std::count(four.begin(), four.end(), nullptr)) return;
    for (const auto& [column, out] : of_quads(builder_, four, lane))
      results_.store(s, bytes_at(target(root).to, column, out->type.lane), integer(0), out);
  }

  PointEmitter::Values known() const override { return byte_totals(of_, block_.sources, x_); }
  int least_bytes() const override { return 4; }

 private:
  std::map<std::size_t, std::vector<Value>> phases_;  // of every fourth column, by target
};

// The row of an access: of a long window the one that reduction variables choose.
Value row_of(const PassBody::Source& source, const Pointers& pointers, const ExprNode& node,
             const std::map<std::uint32_t, Value>& vars) {
  if (source.table.empty()) return pointers.current;
  Value entry = integer(0);
  for (std::size_t d = 0; d + 1 < node.index.size(); ++d) {
    auto [lo, hi] = source.table[d];
    Value offset = integer(node.index[d].offset - lo);
    for (auto [var, coefficient] : node.index[d].vars) offset = offset + vars.at(var) * coefficient;
    entry = entry * (hi - lo + 1) + offset;
  }
  return listed_row(pointers.current, entry);
}

// Bins of a piece, whose number is the same in all lanes.
Value partial_bins(const TileFunction& tile, const ExprNode& node, const Value& piece, const Value& bin, int lanes) {
  const auto place = tile.group.place(node.stage);
  const ArrayRef& array = tile.group.interface.arrays[place->array];
  const Lane lane = tile.group.memory_lane(node.stage);
  const Value row = address(tile.array_base(place->array), piece * tile.stride(array.strides));
  // (Columns behind the last one, that nobody keeps, have no bin.)
  const Value last = convert({Lane::i32, 1, false}, tile.extent(array.extents.back()) - 1);
  const Value inside = tile.builder.let("i", min(max(bin, 0), broadcast(last, lanes)));
  auto read = std::make_shared<ir::nest::Node>();
  read->kind = Kind::gather;
  read->type = {lane, lanes, false};
  read->args = {row, convert({Lane::i64, lanes, false}, inside) * broadcast(integer(size_of(lane)), lanes)};
  return read;
}

// The vectors from column x on.
void compute_turn(const PassOfTile& of, const Block& block, const Value& x, ColumnBody& columns) {
  const TileFunction& tile = of.tile;
  const StreamGroup& group = tile.group;
  const int lanes = columns.lanes;
  PointSource operands;
  operands.lanes = lanes;
  operands.least_bytes = columns.least_bytes();
  operands.chained = operands.fuses = group.options.numbers == Numbers::fast;
  operands.load = [&](const ExprNode& node, const std::map<std::uint32_t, Value>& vars) {
    const std::size_t k = of.body.source_of.at(&node);
    const ir::Index& column = node.index.back();
    Value at = x * column.scale + tile.extent(column.shift) + column.offset;
    for (auto [var, coefficient] : column.vars) at = at + vars.at(var) * coefficient;
    const PassBody::Source& source = of.body.sources[k];
    return columns.load({node, source, row_of(source, block.sources[k], node, vars), at});
  };
  operands.gather = [&](const ExprNode& node, const std::vector<Value>& indices) {
    return gathered(tile, node, indices, lanes);
  };
  operands.partial = [&](const ExprNode& node, const Value& piece, const Value& bin) {
    return partial_bins(tile, node, piece, bin, lanes);
  };
  operands.gather_one = [&](const ExprNode& node, const std::vector<Value>& indices) {
    return gathered_one(tile, node, indices);
  };
  operands.coordinate = [&](std::size_t d) {
    return d + 1 < group.rank ? std::optional(block.index[d]) : std::nullopt;
  };
  operands.leaf = [&](const ExprNode& node) { return leaf(tile, of.pass.stages.front(), node, block.index, x, lanes); };
  operands.table = [&](std::size_t t) {
    return variable("tsr_table_" + std::to_string(t), {ir::nest::lane_of(group.graph.tables[t].type), 1, true});
  };
  operands.extent = [&](ir::SizeId n) { return tile.extent(n); };
  PointEmitter emitter(group.graph, group.ranges, tile.builder, operands);
  emitter.emit(
      of.body.roots, [&](std::size_t root, const Value& v) { columns.finished(emitter, root, v); }, columns.known());
}

template <class Columns>
void turn(const PassOfTile& of, const Block& block, const Value& x, const Value& streaming) {
  prefetch(of, block.sources, x);
  Results results(of, streaming);
  Columns columns(of, block, x, results);
  compute_turn(of, block, x, columns);
  results.store_waiting();
}

}  // namespace

Value gathered(const TileFunction& tile, const ExprNode& node, const std::vector<Value>& indices, int lanes) {
  const auto place = tile.group.place(node.stage);
  const ArrayRef& array = tile.group.interface.arrays[place->array];
  const Value base = tile.array_base(place->array);
  const Type wide{Lane::i64, lanes, false};
  Value offset;
  for (std::size_t d = 0; d < indices.size(); ++d) {
    Value last = convert({Lane::i32, 1, false}, tile.extent(tile.group.stage(node.stage).domain[d]) - 1);
    Value i = max(indices[d], 0);
    i = tile.builder.let("i", min(i, broadcast(last, lanes)));
    Value pitch = d + 1 == indices.size() ? integer(place->element_stride) : tile.stride(array.strides + d);
    Value share = convert(wide, i) * broadcast(pitch, lanes);
    offset = tile.builder.let("o", offset ? offset + share : share);
  }
  auto read = std::make_shared<ir::nest::Node>();
  read->kind = Kind::gather;
  read->type = {tile.group.memory_lane(node.stage), lanes, false};
  read->args = {address(base, integer(place->offset)), offset};
  return read;
}

Value gathered_one(const TileFunction& tile, const ExprNode& node, const std::vector<Value>& indices) {
  const auto place = tile.group.place(node.stage);
  const ArrayRef& array = tile.group.interface.arrays[place->array];
  Value offset = integer(place->offset);
  for (std::size_t d = 0; d < indices.size(); ++d) {
    const Value last = tile.extent(tile.group.stage(node.stage).domain[d]) - 1;
    const Value i = tile.builder.let("i", call_i64("tsr_clamp", {indices[d], integer(0), last}));
    offset = offset + i * (d + 1 == indices.size() ? integer(place->element_stride) : tile.stride(array.strides + d));
  }
  const Value at = address(tile.array_base(place->array), offset);
  return load(tile.group.typed(node.stage, at), integer(0), 1);
}

Value leaf(const TileFunction& tile, StageId owner, const ExprNode& node, const std::vector<Value>& index,
           const Value& x, int lanes) {
  const StreamGroup& group = tile.group;
  const Type scalar{Lane::i32, 1, false};
  switch (node.op) {
    case Op::coord: {
      std::size_t d = static_cast<std::size_t>(node.ivalue);
      if (d + 1 < group.rank) return broadcast(convert(scalar, index[d]), lanes);
      return broadcast(convert(scalar, x), lanes) + iota(lanes);
    }
    case Op::extent: {
      const std::vector<ir::SizeId>& domain = group.stage(owner).domain;
      return broadcast(convert(scalar, tile.extent(domain[static_cast<std::size_t>(node.ivalue)])), lanes);
    }
    case Op::value: {
      const auto place = group.place(node.stage);
      const Value at = address(tile.array_base(place->array), integer(place->offset));
      return broadcast(load(group.typed(node.stage, at), integer(0), 1), lanes);
    }
    case Op::size:
      return broadcast(
          convert({Lane::f64, 1, false}, tile.size_value(ir::SizeId{static_cast<std::uint32_t>(node.ivalue)})), lanes);
    case Op::parameter:
      return broadcast(convert(scalar, load(integers(), integer(node.ivalue), 1)), lanes);
    default: {
      Lane lane = ir::nest::lane_of(node.type);
      Value base = tile.array_base(static_cast<std::size_t>(node.ivalue));
      return broadcast(load(convert({lane, 1, true}, base), integer(0), 1), lanes);
    }
  }
}

void vector_turn(const PassOfTile& of, const Block& block, const Value& x, const Value& streaming) {
  turn<VectorColumns>(of, block, x, streaming);
}

void pair_turn(const PassOfTile& of, const Block& block, const Value& x, const Value& streaming) {
  turn<PairColumns>(of, block, x, streaming);
}

void quad_turn(const PassOfTile& of, const Block& block, const Value& x, const Value& streaming) {
  turn<QuadColumns>(of, block, x, streaming);
}

void compute_vectors(const PassOfTile& of, const Block& block, const Value& from, const Value& to,
                     const Value& streaming) {
  const auto turn = lowering_of(of.pass.form).turn;
  of.tile.builder.loop("x", from, to, integer(of.pass.lanes), [&](const Value& x) { turn(of, block, x, streaming); });
}

}  // namespace tessera::lower
