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
#include "hardware/expressions.hpp"
#include "hardware/pack_lines.hpp"
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
  explicit Builder(const Stream& stream)
      : stream_(stream),
        graph_(stream.graph),
        ranges_(graph_),
        make_(netlist_),
        expressions_(graph_, ranges_, netlist_, make_, stream.fraction, stream.exact) {
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
    netlist_.decisions = expressions_.decisions;
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
      netlist_.inputs.push_back(port(name, s));
    }
  }

  // What stands for floats goes over streams as integers that hold it, floats as their bits.
  Port port(const std::string& name, StageId s) const {
    const StreamStage& stage = stream_.stages[s];
    const ElementType type = graph_.stage(s).type;
    return {name, stream_.exact ? type : carrier(type, stage.lo, stage.hi), stage.bits, stage.fraction, stage.error};
  }

  static ElementType carrier(ElementType type, double lo, double hi) {
    if (!is_float(type)) return type;
    for (const ElementType t : {ElementType::u8, ElementType::i16, ElementType::u16, ElementType::i32}) {
      const auto limits = ir::integer_limits(t);
      if (limits.lo <= lo && limits.hi >= hi) return t;
    }
    return lo < 0 ? ElementType::i32 : ElementType::u32;
  }

  void result(const ir::Output& output, std::size_t k) {
    const StageId s = output.stages[k];
    Result r;
    r.port.name = output.name.empty() ? "result" : output.name;
    if (output.format.is_struct()) r.port.name += "_" + output.format.fields[k].name;
    r.port = port(r.port.name, s);
    r.lag = stream_.stages[s].lag;
    for (int lane = 0; lane < stream_.frame.lanes; ++lane) {
      Value v = stored(s, lane);
      if (!stream_.exact) v = in_a_word(v, r.port);
      r.lanes.push_back(v.node);
    }
    netlist_.results.push_back(std::move(r));
  }

  // Elements of streams have 32 bits where the error that was asked for allows it: the fraction gives way. Else 64.
  Value in_a_word(const Value& v, Port& port) {
    const int width = netlist_.node(v.node).bits.width;
    if (width <= 32) return v;
    const Value less = expressions_.rounded(v, v.fraction - (width - 32) - 1);
    const double most = std::ldexp(std::max({std::abs(v.lo), std::abs(v.hi), 1.0}), -v.fraction);
    const bool enough = stream_.wanted > 0 ? less.error <= stream_.wanted : less.error <= most * std::exp2(-10);
    const Value& kept = enough && v.fraction > width - 32 ? less : v;
    port = {port.name, carrier(ElementType::f32, kept.lo, kept.hi), netlist_.node(kept.node).bits, kept.fraction,
            kept.error};
    return kept;
  }

  // ---- values of stages --------------------------------------------------------------------------------------------

  Value bounded(StageId s, NodeId node) {
    const StreamStage& stage = stream_.stages[s];
    return {node, stage.lo, stage.hi, stage.fraction, stage.error};
  }

  Value stored(StageId s, int lane) {
    const auto key = std::pair{s, lane};
    if (const auto it = stored_.find(key); it != stored_.end()) return it->second;
    return stored_[key] = computed(s, lane, stream_.stages[s].lag);
  }

  Value value(StageId s, int lane, Lag lag) {
    if (!stream_.stages[s].stored) return computed(s, lane, lag);
    const Value now = stored(s, lane);
    return bounded(s, delayed(now.node, lag - stream_.stages[s].lag));
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
      v = within_margins(stage, fitted(s, expression(s, lane, lag)), lane, lag);
      v = bounded(s, make_.resized(v.node, stream_.stages[s].bits));
    }
    make_.stage = before;
    if (netlist_.size() > most_nodes)
      throw Error(ErrorClass::argument,
                  fmt::format("stage '{}' cannot stream: {} operations so far; expected {} at most", stage.name,
                              netlist_.size(), most_nodes));
    return v;
  }

  // In the fraction that the stage keeps: borders that are constants may have made its windows coarser or finer.
  Value fitted(StageId s, Value v) {
    const int fraction = stream_.stages[s].fraction;
    v = expressions_.rounded(v, fraction);
    return make_.shift_left(v, fraction - v.fraction);
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
      const Value beyond = place ? raw(*place) : expressions_.border(border.value, graph_.stage(producer).type);
      const auto [there, here] = expressions_.aligned(beyond, v);
      const double error = std::max(there.error, here.error);
      v = make_.select(make_.any(flags), there, here);
      v.fraction = here.fraction;
      v.error = error;
    }
    return v;
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
      return Value{delayed(v.node, {0, window.last_word - word}), v.lo, v.hi, v.fraction, v.error};
    };
    const i64 dx = node.index[1].offset;
    return bordered(node.border[1], dx, cases(node.border[1], dx, lag, lane, false), node.stage, column);
  }

  // ---- expressions -------------------------------------------------------------------------------------------------

  Value expression(StageId s, int lane, Lag lag) {
    return expressions_.body(s, [&](const ExprNode& node) {
      switch (node.op) {
        case Op::coord:
          return coordinate(node.ivalue, lane, lag);
        case Op::extent:
          if (!stream_.frame.fixed)
            throw Error(
                ErrorClass::argument,
                fmt::format("stage '{}' cannot become hardware: it computes with an extent, which is given at run time",
                            graph_.stage(s).name),
                {}, "emit for frames of one size");
          return make_.constant(static_cast<double>(node.ivalue == 0 ? stream_.frame.height : stream_.frame.width));
        case Op::scalar:
          return scalar(node);
        default:
          return access(s, node, lane, lag);
      }
    });
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

  Value scalar(const ExprNode& node) {
    const std::string& name = graph_.arguments[static_cast<std::size_t>(node.ivalue)].name;
    const auto given = stream_.inputs.find(name);
    const FixedInput format =
        is_float(node.type) && given != stream_.inputs.end() ? given->second : FixedInput{node.type, 0};
    const auto [it, fresh] = scalars_.try_emplace(node.ivalue, netlist_.scalars.size());
    const analyze::Range limits = range_of(format.type);
    const Bits bits = bits_of(limits.lo, limits.hi);
    if (fresh) netlist_.scalars.push_back({name, format.type, bits, format.fraction, 0});
    return {make_.node(Signal::scalar, bits, {}, static_cast<i64>(it->second)), limits.lo, limits.hi, format.fraction,
            0};
  }

  const Stream& stream_;
  const ir::Graph& graph_;
  analyze::Ranges ranges_;
  Netlist netlist_;
  Arithmetic make_;
  Expressions expressions_;
  std::map<StageId, i64> inputs_;
  std::map<i64, std::size_t> scalars_;
  std::map<std::pair<StageId, int>, Value> stored_;
};

}  // namespace

Netlist build_netlist(const Stream& stream) {
  Netlist netlist = pack_lines(living(Builder(stream).run()));
  verify(netlist);
  return netlist;
}

}  // namespace tessera::hardware
