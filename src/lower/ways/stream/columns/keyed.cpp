// See keyed.hpp.
#include "lower/ways/stream/columns/keyed.hpp"

#include <algorithm>

#include "ir/build.hpp"
#include "ir/keyed.hpp"
#include "plan/passes/forms.hpp"
#include "rewrite/keyed.hpp"

namespace tessera::lower {

using ir::ExprId;
using ir::ExprNode;
using ir::Op;
using ir::StageId;
using ir::nest::integer;
using ir::nest::Lane;
using ir::nest::Type;
using ir::nest::Value;
using ir::nest::variable;
using plan::elements_a_turn;

namespace {

// Bins of which several copies stay in L1 with rows of images: a half of it.
constexpr i64 share_of_l1 = 2;

Value tile_number() {
  return variable("tile", index_type);
}

// One stage of elements in the function of a tile.
class Bins {
 public:
  Bins(const TileFunction& tile, StageId s)
      : tile_(tile),
        group_(tile.group),
        builder_(tile.builder),
        stage_(s),
        keyed_(*ir::keyed_of(group_.graph, group_.stage(s))),
        type_{group_.memory_lane(s), 1, false} {}

  void begin() {
    const Value tiles = builder_.let("tiles", load(tile_shape(), integer(static_cast<i64>(group_.rank)), 1));
    fill(builder_.let("bins", in_array(tile_number())));
    for (const Value& copy : copies()) fill(copy);
    // Pieces that no tile computes.
    const Value none = integer(ir::pieces_of(group_.graph, keyed_));
    builder_.branch(equal(tile_number() + 1, tiles), [&] {
      builder_.loop("piece", tiles, none, integer(1), [&](const Value& piece) { fill(in_array(piece)); });
    });
  }

  void end() {
    const std::vector<Value> more = copies();
    if (more.empty()) return;
    const Value to = builder_.let("bins", in_array(tile_number()));
    builder_.loop("bin", integer(0), count(), integer(1), [&](const Value& bin) {
      Value total = load(to, bin, 1);
      for (const Value& copy : more) total = builder_.let("total", taken(load(copy, bin, 1), total));
      builder_.store(to, bin, total);
    });
  }

  void take_row(const std::vector<Value>& index) {
    const Row keys = row_of(keyed_.keys.front(), index), values = row_of(keyed_.value, index);
    const Value n = tile_.extent(group_.stage(stage_).domain.back());
    std::vector<Value> into = {builder_.let("bins", in_array(tile_number()))};
    for (const Value& copy : copies()) into.push_back(copy);
    const Value whole = builder_.let("whole", n / elements_a_turn * elements_a_turn);
    builder_.loop("x", integer(0), whole, integer(elements_a_turn), [&](const Value& x) {
      std::vector<Value> bin, value;  // all of them before any bin changes, which may lie anywhere to a compiler
      for (i64 k = 0; k < elements_a_turn; ++k) {
        bin.push_back(number_of_bin(keys, x + k));
        value.push_back(value_of(values, x + k));
      }
      const auto take_all = [&] {
        for (std::size_t k = 0; k < bin.size(); ++k) take(into[k % into.size()], bin[k], value[k]);
      };
      if (!may_go_nowhere()) return take_all();
      Value least = bin.front();
      for (const Value& b : bin) least = min(least, b);
      builder_.branch(less(builder_.let("least", least), count()), take_all);
    });
    builder_.loop("x", whole, n, integer(1),
                  [&](const Value& x) { take(into.front(), number_of_bin(keys, x), value_of(values, x)); });
  }

 private:
  bool may_go_nowhere() const {
    const auto bins = ir::constant_bins(group_.graph, keyed_);
    return !bins || group_.ranges.of(keyed_.keys.front()).hi >= static_cast<double>(*bins);
  }

  // A row of numbers; or one number, where it has no pointer.
  struct Row {
    Value pointer, number;
    i64 step = 1, offset = 0;
  };

  Row row_of(ExprId e, const std::vector<Value>& index) const {
    Row row;
    if (const auto number = ir::constant_value(group_.graph, e)) {
      row.number = is_float(type_.lane) ? ir::nest::real(*number, type_) : integer(static_cast<i64>(*number), type_);
      return row;
    }
    const ExprNode& node = group_.graph.node(*rewrite::plain_element(group_.graph, group_.stage(stage_), e));
    row.pointer = builder_.let("row", group_.typed(node.stage, tile_.row_at(node.stage, index)));
    row.step = group_.element_step(node.stage);
    row.offset = group_.element_offset(node.stage);
    return row;
  }

  Value number_of_bin(const Row& keys, const Value& x) const {
    const Value key = convert(index_type, load(keys.pointer, x * keys.step + keys.offset, 1));
    // (Numbers of more bins than there may be have wrapped.)
    if (ir::constant_bins(group_.graph, keyed_)) return builder_.let("key", key);
    return builder_.let("key", call_i64("tsr_clamp", {key, integer(0), count()}));
  }

  Value value_of(const Row& values, const Value& x) const {
    if (!values.pointer) return values.number;
    return builder_.let("value", convert(type_, load(values.pointer, x * values.step + values.offset, 1)));
  }

  Value taken(const Value& value, const Value& held) const {
    return ir::nest::operation(ir::step_of_bin(keyed_.op), type_, {value, held});
  }

  void take(const Value& bins, const Value& bin, const Value& value) const {
    builder_.store(bins, bin, taken(value, builder_.let("held", load(bins, bin, 1))));
  }

  void fill(const Value& bins) const {
    const double first = ir::first_of_bin(keyed_.op, group_.stage(stage_).type);
    const Value v = is_float(type_.lane) ? ir::nest::real(first, type_) : integer(static_cast<i64>(first), type_);
    builder_.loop("bin", integer(0), count() + 1, integer(1), [&](const Value& bin) { builder_.store(bins, bin, v); });
  }

  Value count() const {
    Value bins = integer(1);
    for (const ir::SizeId n : keyed_.bins) bins = bins * tile_.extent(n);
    return bins;
  }

  Value in_array(const Value& piece) const {
    const std::size_t array = group_.place(stage_)->array;
    const Value row = piece * tile_.stride(group_.interface.arrays[array].strides);
    return group_.typed(stage_, address(tile_.array_base(array), row));
  }

  std::vector<Value> copies() const {
    const MoreBins more = more_bins(group_, stage_);
    const Workspace& work = tile_.memory.work[group_.pass_of(stage_)];
    std::vector<Value> all;
    for (i64 k = 0; k < more.copies; ++k)
      all.push_back(builder_.let("more", group_.typed(stage_, address(work.bins, integer(k * more.bytes)))));
    return all;
  }

  const TileFunction& tile_;
  const StreamGroup& group_;
  Builder& builder_;
  const StageId stage_;
  const ir::Keyed keyed_;
  const Type type_;
};

template <class Do>
void for_all_bins(const TileFunction& tile, Do what) {
  for (const StageId s : tile.group.planned.stages)
    if (ir::is_keyed(tile.group.graph, tile.group.stage(s))) what(Bins(tile, s));
}

}  // namespace

MoreBins more_bins(const StreamGroup& group, StageId s) {
  const auto keyed = ir::keyed_of(group.graph, group.stage(s));
  if (!keyed || !ir::is_orderless(keyed->op, group.stage(s).type)) return {};
  const auto count = ir::constant_bins(group.graph, *keyed);
  if (!count) return {};
  constexpr i64 line = 64;
  const i64 bytes = ((*count + 1) * group.bytes(s) + line - 1) / line * line;
  return elements_a_turn * bytes > group.machine.l1_bytes / share_of_l1 ? MoreBins{}
                                                                        : MoreBins{elements_a_turn - 1, bytes};
}

void put_into_bins(const PassOfTile& of, const std::vector<Value>& index, const Value&) {
  for (const StageId s : of.pass.stages) Bins(of.tile, s).take_row(index);
}

void begin_bins(const TileFunction& tile) {
  for_all_bins(tile, [](Bins bins) { bins.begin(); });
}

void end_bins(const TileFunction& tile) {
  for_all_bins(tile, [](Bins bins) { bins.end(); });
}

}  // namespace tessera::lower
