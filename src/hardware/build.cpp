// From a stream to its netlist: value(stage, lane, lag), windows with borders, expressions point by point.
#include "hardware/build.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/division.hpp"
#include "data/border.hpp"
#include "hardware/arithmetic.hpp"
#include "hardware/delay_lines.hpp"
#include "ir/build.hpp"
#include "tessera/error.hpp"

namespace tessera::hardware {

using ir::ExprId;
using ir::ExprNode;
using ir::Op;
using ir::Stage;
using ir::StageId;
using ir::StageKind;

namespace {

constexpr std::size_t most_nodes = 400000;

class Builder {
 public:
  explicit Builder(const Stream& stream) : stream_(stream), graph_(stream.graph), ranges_(graph_), make_(netlist_) {
    netlist_.frame = stream.frame;
    netlist_.least_height = stream.least_height;
    netlist_.least_width = stream.least_width;
    for (StageId s = 0; s < graph_.stage_count(); ++s) netlist_.stages.push_back(graph_.stage(s).name);
    name_inputs();
  }

  Netlist run() {
    // In order, so that a value that is asked for has its producers' values: no recursion is deeper than a chain of
    // repeated stages.
    for (StageId s = 0; s < graph_.stage_count(); ++s)
      if (stream_.stages[s].stored) {
        std::vector<NodeId>& lanes = netlist_.stored.emplace_back();
        for (int lane = 0; lane < stream_.frame.lanes; ++lane) lanes.push_back(stored(s, lane).node);
      }
    for (const ir::Output& output : graph_.outputs)
      for (std::size_t k = 0; k < output.stages.size(); ++k) result(output, k);
    return std::move(netlist_);
  }

 private:
  void name_inputs() {
    for (StageId s = 0; s < graph_.stage_count(); ++s) {
      const Stage& stage = graph_.stage(s);
      if (stage.kind != StageKind::input) continue;
      inputs_[s] = static_cast<i64>(netlist_.inputs.size());
      const ir::Argument& argument = graph_.arguments[stage.argument];
      std::string name = argument.name;
      if (argument.format.is_struct()) name += "_" + argument.format.fields[stage.field].name;
      netlist_.inputs.push_back({name, stage.type, stream_.stages[s].bits});
    }
  }

  void result(const ir::Output& output, std::size_t k) {
    const StageId s = output.stages[k];
    Result r;
    r.port.name = output.name.empty() ? "result" : output.name;
    if (output.format.is_struct()) r.port.name += "_" + output.format.fields[k].name;
    r.port.type = graph_.stage(s).type;
    r.port.bits = stream_.stages[s].bits;
    r.lag = stream_.stages[s].lag;
    for (int lane = 0; lane < stream_.frame.lanes; ++lane) r.lanes.push_back(stored(s, lane).node);
    netlist_.results.push_back(std::move(r));
  }

  // ---- values of stages --------------------------------------------------------------------------------------------

  Value bounded(StageId s, NodeId node) {
    const analyze::Range r = ranges_.of_stage(s);
    return {node, r.lo, r.hi};
  }

  Value stored(StageId s, int lane) {
    const auto key = std::pair{s, lane};
    if (const auto it = stored_.find(key); it != stored_.end()) return it->second;
    return stored_[key] = computed(s, lane, stream_.stages[s].lag);
  }

  Value value(StageId s, int lane, Lag lag) {
    if (!stream_.stages[s].stored) return computed(s, lane, lag);
    const Value now = stored(s, lane);
    return {delayed(now.node, lag - stream_.stages[s].lag), now.lo, now.hi};
  }

  NodeId delayed(NodeId of, Lag by) {
    if (stream_.frame.fixed) by = {0, netlist_.ticks(by)};
    if (by == Lag{} || netlist_.node(of).op == Signal::constant) return of;
    // Of a delay, the sum of both: so all delays of a signal are taps of one line. But columns that move on from a row
    // of a line buffer are registers beside it, or what is left of the row behind them would lie in a memory of its
    // own.
    const Node from = netlist_.node(of);
    const bool aside = netlist_.ticks(by) < least_memory && netlist_.ticks(from.lag) >= least_memory;
    const bool together = from.op == Signal::delay && !aside;
    Node node;
    node.op = Signal::delay;
    node.bits = from.bits;
    node.lag = together ? from.lag + by : by;
    node.args = {together ? from.args[0] : of};
    node.stage = make_.stage;
    return netlist_.add(std::move(node));
  }

  Value computed(StageId s, int lane, Lag lag) {
    const Stage& stage = graph_.stage(s);
    const std::uint32_t before = std::exchange(make_.stage, s);
    Value v;
    if (stage.kind == StageKind::input) {
      Node node;
      node.op = Signal::input;
      node.bits = stream_.stages[s].bits;
      node.value = inputs_.at(s);
      node.lane = lane;
      node.stage = s;
      v = bounded(s, netlist_.add(std::move(node)));
    } else {
      v = within_margins(stage, expression(s, lane, lag), lane, lag);
      v = bounded(s, make_.resized(v.node, stream_.stages[s].bits));
    }
    make_.stage = before;
    if (netlist_.size() > most_nodes)
      throw Error(ErrorClass::argument,
                  fmt::format("stage '{}' cannot stream: {} operations so far; expected {} at most", stage.name,
                              netlist_.size(), most_nodes));
    return v;
  }

  // ---- positions ---------------------------------------------------------------------------------------------------

  NodeId flag(Signal op, Lag lag, int lane, i64 which) {
    const i64 lanes = stream_.frame.lanes;
    const bool of_rows = op == Signal::row_is || op == Signal::row_left_is;
    if (op == Signal::column_is && base::floor_divide(which - lane, lanes) * lanes != which - lane)
      return make_.constant(0).node;
    if (stream_.frame.fixed) {
      lag = {0, netlist_.ticks(lag)};
      if (of_rows && which >= stream_.frame.height) return make_.constant(0).node;
      if (!of_rows && which >= stream_.frame.width) return make_.constant(0).node;
      const i64 column = stream_.frame.width - 1 - which;
      if (op == Signal::column_left_is && base::floor_divide(column - lane, lanes) * lanes != column - lane)
        return make_.constant(0).node;
      if (op == Signal::row_left_is) op = Signal::row_is, which = stream_.frame.height - 1 - which;
      if (op == Signal::column_left_is) op = Signal::column_is, which = column;
    }
    Node node;
    node.op = op;
    node.lag = lag;
    node.lane = of_rows ? 0 : lane;
    node.value = which;
    node.stage = make_.stage;
    return netlist_.add(std::move(node));
  }

  // Outside [margin_lo, extent - margin_hi) a stage is 0.
  Value within_margins(const Stage& stage, Value v, int lane, Lag lag) {
    std::vector<NodeId> outside;
    for (i64 k = 0; k < stage.margin_lo[0]; ++k) outside.push_back(flag(Signal::row_is, lag, 0, k));
    for (i64 k = 0; k < stage.margin_hi[0]; ++k) outside.push_back(flag(Signal::row_left_is, lag, 0, k));
    for (i64 k = 0; k < stage.margin_lo[1]; ++k) outside.push_back(flag(Signal::column_is, lag, lane, k));
    for (i64 k = 0; k < stage.margin_hi[1]; ++k) outside.push_back(flag(Signal::column_left_is, lag, lane, k));
    return outside.empty() ? v : make_.select(make_.any(outside), make_.constant(0), v);
  }

  // ---- windows -----------------------------------------------------------------------------------------------------

  // What an access at `offset` reads at each place near an edge: a flag, and the offset there, or nothing for a
  // constant.
  struct Case {
    NodeId flag;
    std::optional<i64> offset;
  };
  std::vector<Case> cases(Border border, i64 offset, Lag lag, int lane, bool rows) {
    std::vector<Case> result;
    if (offset == 0 || border.mode == BorderMode::none) return result;
    const i64 far = std::abs(offset), extent = rows ? stream_.frame.height : stream_.frame.width;
    const Signal from_start = rows ? Signal::row_is : Signal::column_is;
    const Signal from_end = rows ? Signal::row_left_is : Signal::column_left_is;
    const auto enter = [&](Signal op, i64 which, i64 at, i64 n) {
      const i64 to = map_index(border.mode, at + offset, n);
      const bool outside = to < 0;
      const NodeId f = flag(op, lag, lane, which);
      if (netlist_.node(f).op == Signal::constant && netlist_.node(f).value == 0) return;
      result.push_back({f, outside ? std::nullopt : std::optional<i64>(to - at)});
    };
    const bool narrow = stream_.frame.fixed && extent <= 2 * far;
    if (narrow) {
      for (i64 at = 0; at < extent; ++at)
        if (at + offset < 0 || at + offset >= extent) enter(from_start, at, at, extent);
    } else if (offset < 0) {
      for (i64 at = 0; at < far; ++at) enter(from_start, at, at, 4 * far + 4);
    } else {
      const i64 n = 4 * far + 4;
      for (i64 left = 0; left < far; ++left) enter(from_end, left, n - 1 - left, n);
    }
    return result;
  }

  template <class Raw>
  Value bordered(Border border, i64 offset, const std::vector<Case>& all, StageId producer, Raw raw) {
    Value v = raw(offset);
    // Cases that read the same place share a selection.
    std::map<std::optional<i64>, std::vector<NodeId>> places;
    for (const Case& c : all) places[c.offset].push_back(c.flag);
    for (const auto& [place, flags] : places) {
      const Value there = place ? raw(*place) : continued(border, producer);
      v = make_.select(make_.any(flags), there, v);
    }
    return v;
  }

  Value continued(Border border, StageId producer) {
    const double operand = border.value;
    const ElementType type = graph_.stage(producer).type;
    return make_.constant(ir::evaluate(Op::convert, type, ElementType::f64, &operand));
  }

  Value access(StageId consumer, const ExprNode& node, int lane, Lag lag) {
    const auto& windows = stream_.windows[consumer];
    const Window& window =
        *std::find_if(windows.begin(), windows.end(), [&](const Window& w) { return w.producer == node.stage; });
    const i64 lanes = stream_.frame.lanes;
    const Lag entering = lag - Lag{0, window.last_word};
    const i64 dy = node.index[0].offset;
    // The column at x: its rows are mapped where it enters, then it moves along.
    const auto column = [&](i64 dx) {
      const i64 word = base::floor_divide(lane + dx, lanes);
      const int from = static_cast<int>(lane + dx - word * lanes);
      const auto row = [&](i64 y) { return value(node.stage, from, entering - Lag{y, 0}); };
      const Value v = bordered(node.border[0], dy, cases(node.border[0], dy, entering, 0, true), node.stage, row);
      return Value{delayed(v.node, {0, window.last_word - word}), v.lo, v.hi};
    };
    const i64 dx = node.index[1].offset;
    return bordered(node.border[1], dx, cases(node.border[1], dx, lag, lane, false), node.stage, column);
  }

  // ---- expressions -------------------------------------------------------------------------------------------------

  [[noreturn]] void refuse(StageId s, const std::string& what) const {
    throw Error(ErrorClass::argument, fmt::format("stage '{}' cannot become hardware: {}", graph_.stage(s).name, what));
  }

  Value expression(StageId s, int lane, Lag lag) {
    std::map<ExprId, Value> known;
    for (const ExprId e : ir::postorder(graph_, {graph_.stage(s).body})) {
      const ExprNode& node = graph_.node(e);
      std::vector<Value> args;
      for (const ExprId a : node.args) args.push_back(known.at(a));
      Value v = node.op == Op::access ? access(s, node, lane, lag) : operation(s, node, args, lane, lag);
      const analyze::Range r = ranges_.of(e);
      // What is known of the expression, and of the node; where the language wraps, the former alone.
      if (v.lo < r.lo || v.hi > r.hi) v = make_.wrapped(v, r.lo, r.hi);
      known[e] = v;
    }
    return known.at(graph_.stage(s).body);
  }

  Value operation(StageId s, const ExprNode& node, const std::vector<Value>& a, int lane, Lag lag) {
    if (is_float(node.type)) refuse(s, "it computes with floats");
    for (const ExprId x : node.args)
      if (is_float(graph_.node(x).type)) refuse(s, "it computes with floats");
    const auto limits = ir::integer_limits(node.type);
    switch (node.op) {
      case Op::constant:
        return make_.constant(static_cast<double>(node.ivalue));
      case Op::coord:
        return coordinate(node.ivalue, lane, lag);
      case Op::extent:
        if (!stream_.frame.fixed) refuse(s, "it computes with an extent, which is given at run time");
        return make_.constant(static_cast<double>(node.ivalue == 0 ? stream_.frame.height : stream_.frame.width));
      case Op::scalar:
        return scalar(s, node);
      case Op::lookup:
        return lookup(s, node, a);
      case Op::add:
        return make_.wrapped(make_.add(a[0], a[1]), limits.lo, limits.hi);
      case Op::sub:
        return make_.wrapped(make_.subtract(a[0], a[1]), limits.lo, limits.hi);
      case Op::neg:
        return make_.wrapped(make_.subtract(make_.constant(0), a[0]), limits.lo, limits.hi);
      case Op::mul:
        return make_.wrapped(make_.multiply(a[0], a[1]), limits.lo, limits.hi);
      case Op::div:
        return make_.wrapped(make_.divide(a[0], a[1]), limits.lo, limits.hi);
      case Op::rem:
        return make_.remainder(a[0], a[1]);
      case Op::min:
        return make_.least(a[0], a[1]);
      case Op::max:
        return make_.most(a[0], a[1]);
      case Op::abs:
        return make_.wrapped(make_.magnitude(a[0]), limits.lo, limits.hi);
      case Op::convert:
        if (node.type == ElementType::boolean && graph_.node(node.args[0]).type != ElementType::boolean)
          return make_.zero_or_one(make_.not_of(make_.equal(a[0], make_.constant(0))));
        return make_.wrapped(a[0], limits.lo, limits.hi);
      case Op::saturate:
        return make_.clamp(a[0], limits.lo, limits.hi);
      case Op::lt:
        return make_.zero_or_one(make_.less(a[0], a[1]));
      case Op::le:
        return make_.zero_or_one(make_.at_most(a[0], a[1]));
      case Op::eq:
        return make_.zero_or_one(make_.equal(a[0], a[1]));
      case Op::ne:
        return make_.zero_or_one(make_.not_of(make_.equal(a[0], a[1])));
      case Op::select:
        return make_.select(a[0].node, a[1], a[2]);
      case Op::bit_not:
        if (node.type == ElementType::boolean) return make_.zero_or_one(make_.not_of(a[0].node));
        return make_.wrapped(make_.subtract(make_.constant(-1), a[0]), limits.lo, limits.hi);
      case Op::bit_and:
      case Op::bit_or:
      case Op::bit_xor:
        return bitwise(node, a);
      case Op::shl:
      case Op::shr:
        return shifted(node, a);
      default:
        refuse(s, fmt::format("it uses {}, which whole numbers do not have here", ir::name_of(node.op)));
    }
  }

  Value coordinate(i64 dimension, int lane, Lag lag) {
    const bool rows = dimension == 0;
    const auto most =
        static_cast<double>((rows ? stream_.frame.height : stream_.frame.words() * stream_.frame.lanes) - 1);
    if (most == 0) return make_.constant(0);
    Node node;
    node.op = rows ? Signal::row : Signal::column;
    node.bits = bits_of(0, most);
    node.lag = stream_.frame.fixed ? Lag{0, netlist_.ticks(lag)} : lag;
    node.lane = rows ? 0 : lane;
    node.stage = make_.stage;
    return {netlist_.add(std::move(node)), 0, most};
  }

  Value scalar(StageId s, const ExprNode& node) {
    const auto [it, fresh] = scalars_.try_emplace(node.ivalue, netlist_.scalars.size());
    const auto limits = ir::integer_limits(node.type);
    const Bits bits = bits_of(limits.lo, limits.hi);
    if (fresh)
      netlist_.scalars.push_back({graph_.arguments[static_cast<std::size_t>(node.ivalue)].name, node.type, bits});
    (void)s;
    return {make_.node(Signal::scalar, bits, {}, static_cast<i64>(it->second)), limits.lo, limits.hi};
  }

  Value lookup(StageId s, const ExprNode& node, const std::vector<Value>& a) {
    const ir::Table& table = graph_.tables[static_cast<std::size_t>(node.ivalue)];
    if (table.values.size() > 65536)
      refuse(s, fmt::format("a table of {} elements; expected 65536 at most", table.values.size()));
    Value at = make_.constant(0);
    for (std::size_t d = 0; d < a.size(); ++d) {
      const auto n = static_cast<double>(table.extents[d]);
      at = make_.add(make_.multiply(at, make_.constant(n)), make_.clamp(a[d], 0, n - 1));
    }
    const auto [it, fresh] = tables_.try_emplace(node.ivalue, netlist_.tables.size());
    const auto [lo, hi] = std::minmax_element(table.values.begin(), table.values.end());
    const Bits bits = bits_of(std::min(0.0, *lo), std::max(0.0, *hi));
    if (fresh) {
      Rom rom{table.name, bits, {}};
      for (const double v : table.values) rom.values.push_back(static_cast<i64>(v));
      netlist_.tables.push_back(std::move(rom));
    }
    return {make_.node(Signal::table, bits, {at.node}, static_cast<i64>(it->second)), *lo, *hi};
  }

  Value bitwise(const ExprNode& node, const std::vector<Value>& a) {
    const Signal op = node.op == Op::bit_and  ? Signal::bit_and
                      : node.op == Op::bit_or ? Signal::bit_or
                                              : Signal::bit_xor;
    const double lo = std::min(a[0].lo, a[1].lo), hi = std::max(a[0].hi, a[1].hi);
    const Bits bits = bits_of(lo, hi);
    const NodeId n = make_.node(op, bits, {make_.resized(a[0].node, bits), make_.resized(a[1].node, bits)});
    const bool both = op == Signal::bit_and && lo < 0 && hi >= 0;
    (void)both;
    return {n, static_cast<double>(least_of(bits)), static_cast<double>(most_of(bits))};
  }

  Value shifted(const ExprNode& node, const std::vector<Value>& a) {
    const auto limits = ir::integer_limits(node.type);
    if (a[1].lo == a[1].hi) {
      const i64 count = static_cast<i64>(a[1].lo) & 31;
      return make_.wrapped(node.op == Op::shl ? make_.shift_left(a[0], count) : make_.shift_right(a[0], count),
                           limits.lo, limits.hi);
    }
    const Bits five{false, 5}, all = bits_of(limits.lo, limits.hi);
    const NodeId count = make_.resized(a[1].node, five);
    const Signal op = node.op == Op::shl ? Signal::up : Signal::down;
    return {make_.node(op, all, {make_.resized(a[0].node, all), count}), limits.lo, limits.hi};
  }

  const Stream& stream_;
  const ir::Graph& graph_;
  analyze::Ranges ranges_;
  Netlist netlist_;
  Arithmetic make_;
  std::map<StageId, i64> inputs_;
  std::map<i64, std::size_t> scalars_, tables_;
  std::map<std::pair<StageId, int>, Value> stored_;
};

}  // namespace

Netlist build_netlist(const Stream& stream) {
  Netlist netlist = Builder(stream).run();
  verify(netlist);
  return netlist;
}

}  // namespace tessera::hardware
