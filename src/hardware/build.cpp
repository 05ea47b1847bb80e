// From a stream to its netlist: value(stage, lane, lag), windows with borders, expressions point by point.
#include "hardware/build.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>

#include "base/division.hpp"
#include "hardware/netlist/delay_lines.hpp"
#include "hardware/netlist/pack_lines.hpp"
#include "hardware/netlist/simplify.hpp"
#include "hardware/numbers/arithmetic.hpp"
#include "hardware/numbers/expressions.hpp"
#include "hardware/numbers/turns.hpp"
#include "hardware/places.hpp"
#include "ir/build.hpp"

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
        make_(netlist_, stream.additions),
        expressions_(graph_, ranges_, netlist_, make_, stream.fraction, stream.exact) {
    netlist_.frame = stream.frame;
    netlist_.given = stream.grids.given;
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
        for (int lane = 0; lane < stream_.frame.lanes; lane += lane_step(s)) lanes.push_back(stored(s, lane).node);
      }
    for (const ir::Output& output : graph_.outputs)
      for (std::size_t k = 0; k < output.stages.size(); ++k) result(output, k);
    netlist_.decisions = expressions_.decisions;
    name_apart();
    return std::move(netlist_);
  }

 private:
  // The field of a struct may be called as another image is: `image` with a field r, and `image_r`.
  void name_apart() {
    const auto apart = [](std::set<std::string>& taken, std::string& name) {
      while (!taken.insert(name).second) name += '_';
    };
    std::set<std::string> inputs, results;
    for (Port& p : netlist_.inputs) apart(inputs, p.name);
    for (Result& r : netlist_.results) apart(results, r.port.name);
  }

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
    return {name,        stream_.exact ? type : carrier(type, stage.lo, stage.hi),
            stage.bits,  stage.fraction,
            stage.error, stream_.grids.stages[s]};
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
    for (int lane = 0; lane < stream_.frame.lanes; lane += lane_step(s)) {
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
    const double most = std::ldexp(std::max(std::abs(v.lo), std::abs(v.hi)), -v.fraction);
    const bool enough = stream_.wanted > 0 ? less.error <= stream_.wanted : less.error <= most * std::exp2(-10);
    const Value& kept = enough && v.fraction > width - 32 ? less : v;
    port = {port.name,
            carrier(ElementType::f32, kept.lo, kept.hi),
            netlist_.node(kept.node).bits,
            kept.fraction,
            kept.error,
            port.grid};
    return kept;
  }

  // ---- values of stages --------------------------------------------------------------------------------------------
  // Lanes are columns of the frame in a word: a stage that is coarser has some of them. A value for a lag is right at
  // the ticks whose word, that lag ago, has a point of the stage.

  const Grid& grid(StageId s) const { return stream_.grids.stages[s]; }
  int lane_step(StageId s) const { return static_cast<int>(grid(s).columns.rate); }

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
    const Lag since = stream_.stages[s].lag, by = lag - since;
    if (grid(s).rows.rate == 1 && grid(s).columns.rate == 1) return bounded(s, delayed(now.node, by));
    NodeId past = now.node;
    const i64 step = netlist_.word_step(grid(s)), rows = base::ceil_divide(by.rows, grid(s).rows.rate);
    for (i64 row = 0; row < rows; ++row)
      past = line(past, {1, 0}, step, every_word(since, step),
                  make_.both(every_word(since, step), every_row(since, grid(s).rows.rate)));
    return bounded(s, moved(past, by.words, step, since));
  }

  // Is the word that lies `lag` behind, its row, one of every `step`? A row holds a whole number of steps, and a frame.
  NodeId every_word(Lag lag, i64 step, i64 rest = 0) { return phase(Signal::word_phase, {}, step, lag.words + rest); }
  NodeId every_row(Lag lag, i64 step, i64 rest = 0) {
    const i64 row = lag.words < 0 ? 1 : 0;
    return phase(Signal::row_phase, {row, lag.words}, step, lag.rows - row + rest);
  }
  NodeId phase(Signal op, Lag lag, i64 step, i64 rest) {
    if (step == 1) return make_.constant(1).node;
    Node node;
    node.op = op;
    node.lag = stream_.frame.fixed ? Lag{0, netlist_.ticks(lag)} : lag;
    node.value = step;
    node.lane = static_cast<int>(rest - base::floor_divide(rest, step) * step);
    node.stage = make_.stage;
    return netlist_.add(std::move(node));
  }

  NodeId line(NodeId of, Lag length, i64 step, NodeId steps, NodeId writes) {
    const Bits bits = netlist_.node(of).bits;
    if (netlist_.node(of).op == Signal::constant) return of;
    Node node;
    node.op = Signal::line;
    node.bits = bits;
    node.lag = length;
    node.value = step;
    node.args = {of, steps, writes};
    node.stage = make_.stage;
    return netlist_.add(std::move(node));
  }

  // A value that is right at one of every `step` ticks, those of `at`, so many ticks ago.
  NodeId moved(NodeId of, i64 words, i64 step, Lag at) {
    if (step == 1) return delayed(of, {0, words});
    if (netlist_.node(of).op == Signal::constant) return of;
    i64 count = base::ceil_divide(words, step);
    const NodeId steps = every_word(at, step);
    // A memory has it at one tick of every `step`; a register keeps it for the others.
    if (const i64 whole = words / step; whole >= least_memory) {
      of = line(of, {0, whole * step}, step, steps, steps);
      count -= whole;
    }
    for (i64 k = 0; k < count; ++k) {
      Node node;
      node.op = Signal::held;
      node.bits = netlist_.node(of).bits;
      node.args = {of, steps};
      node.stage = make_.stage;
      of = netlist_.add(std::move(node));
    }
    return of;
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
    // Products of this stage are not those of one whose window asked for it.
    auto* const products = std::exchange(make_.products, nullptr);
    auto* const instead = std::exchange(make_.instead, nullptr);
    Value v;
    if (stage.kind == StageKind::input) {
      Node node;
      node.op = Signal::input;
      node.bits = stream_.stages[s].bits;
      node.value = inputs_.at(s);
      node.lane = lane / lane_step(s);
      node.stage = s;
      v = bounded(s, netlist_.add(std::move(node)));
    } else {
      v = stage.kind == StageKind::compose ? fitted(s, composed(s, lane, lag))
                                           : within_margins(s, fitted(s, in_turns(s, lane, lag)), lane, lag);
      v = bounded(s, make_.resized(v.node, stream_.stages[s].bits));
    }
    make_.stage = before, make_.products = products, make_.instead = instead;
    if (netlist_.size() > most_nodes)
      refuse(stage, fmt::format("{} operations so far; expected {} at most", netlist_.size(), most_nodes));
    return v;
  }

  // In the fraction that the stage keeps: borders that are constants may have made its windows coarser or finer.
  Value fitted(StageId s, Value v) {
    const int fraction = stream_.stages[s].fraction;
    v = expressions_.rounded(v, fraction);
    return make_.shift_left(v, fraction - v.fraction);
  }

  // ---- positions ---------------------------------------------------------------------------------------------------

  // `of`: the extent whose end is counted from.
  NodeId flag(Signal op, Lag lag, int lane, i64 which, const Extent& of) {
    const i64 lanes = stream_.frame.lanes;
    const bool of_rows = op == Signal::row_is || op == Signal::row_left_is;
    if (stream_.frame.fixed) {
      lag = {0, netlist_.ticks(lag)};
      const i64 extent = of.fine(stream_.grids.given.most[of_rows ? 0 : 1]);
      if (op == Signal::row_left_is) op = Signal::row_is, which = extent - 1 - which;
      if (op == Signal::column_left_is) op = Signal::column_is, which = extent - 1 - which;
      if (which < 0 || which >= (of_rows ? stream_.frame.height : stream_.frame.width)) return make_.constant(0).node;
    }
    if (op == Signal::column_is && base::floor_divide(which - lane, lanes) * lanes != which - lane)
      return make_.constant(0).node;
    Node node;
    node.op = op;
    node.lag = lag;
    node.lane = of_rows ? 0 : lane;
    node.value = which;
    if (op == Signal::row_left_is || op == Signal::column_left_is) node.extent = extent_index(of, of_rows);
    node.stage = make_.stage;
    return netlist_.add(std::move(node));
  }

  int extent_index(const Extent& of, bool of_rows) {
    if (of == (of_rows ? netlist_.given.high : netlist_.given.wide)) return -1;
    const auto it = std::find(netlist_.extents.begin(), netlist_.extents.end(), of);
    if (it != netlist_.extents.end()) return static_cast<int>(it - netlist_.extents.begin());
    netlist_.extents.push_back(of);
    return static_cast<int>(netlist_.extents.size()) - 1;
  }

  // Outside [margin_lo, extent - margin_hi) a stage is 0.
  Value within_margins(StageId s, Value v, int lane, Lag lag) {
    const Stage& stage = graph_.stage(s);
    std::vector<NodeId> outside;
    for (std::size_t d = 0; d < 2; ++d) {
      const Extent& e = stream_.grids.extent(s, static_cast<int>(d));
      const Signal from_start = d == 0 ? Signal::row_is : Signal::column_is;
      const Signal from_end = d == 0 ? Signal::row_left_is : Signal::column_left_is;
      for (i64 k = 0; k < stage.margin_lo[d]; ++k) outside.push_back(flag(from_start, lag, lane, k * e.rate, e));
      for (i64 k = 0; k < stage.margin_hi[d]; ++k)
        outside.push_back(flag(from_end, lag, lane, (k + 1) * e.rate - 1, e));
    }
    return outside.empty() ? v : make_.select(make_.any(outside), make_.constant(0), v);
  }

  // ---- windows -----------------------------------------------------------------------------------------------------

  // What an access reads at each place near an edge: a flag, and what it is then.
  struct Case {
    NodeId flag;
    Place place;
  };
  std::vector<Case> cases(StageId consumer, const ExprNode& node, std::size_t d, Lag lag, int lane) {
    std::vector<Case> result;
    for (const Place& place : places_of(graph_, stream_.grids, consumer, node, d)) {
      const Signal op = d == 0 ? (place.from_end ? Signal::row_left_is : Signal::row_is)
                               : (place.from_end ? Signal::column_left_is : Signal::column_is);
      const StageId of = place.from_end ? node.stage : consumer;
      const NodeId f = flag(op, lag, lane, place.at, stream_.grids.extent(of, static_cast<int>(d)));
      if (netlist_.node(f).op != Signal::constant || netlist_.node(f).value != 0) result.push_back({f, place});
    }
    return result;
  }

  template <class Raw>
  Value bordered(Border border, i64 offset, const std::vector<Case>& all, StageId producer, Raw raw) {
    Value v = raw(Place{false, 0, offset, false, 0});
    // Cases that read the same place share a selection.
    std::map<std::pair<std::optional<i64>, i64>, std::vector<Case>> places;
    for (const Case& c : all) places[{c.place.offset, c.place.turns}].push_back(c);
    for (const auto& [at, same] : places) {
      std::vector<NodeId> flags;
      for (const Case& c : same) flags.push_back(c.flag);
      const Place& place = same.front().place;
      const Value beyond = at.first ? raw(place) : expressions_.border(border.value, graph_.stage(producer).type);
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
    const Grid& from = grid(node.stage);
    // The column at x: its rows are mapped where it enters, then it moves along.
    const auto column = [&](const Place& at) {
      const i64 x = lane + *at.offset * from.columns.rate, word = base::floor_divide(x, lanes);
      const i64 enters = at.far ? word : *window.last_word;
      const Lag entering = lag - Lag{at.turns, enters};
      const auto row = [&](const Place& y) {
        return value(node.stage, static_cast<int>(x - word * lanes), entering - Lag{*y.offset * from.rows.rate, 0});
      };
      const Value v =
          bordered(node.border[0], node.index[0].offset, cases(consumer, node, 0, entering, 0), node.stage, row);
      const NodeId here = moved(v.node, enters - word, netlist_.word_step(from), entering);
      return Value{here, v.lo, v.hi, v.fraction, v.error};
    };
    const Value v =
        bordered(node.border[1], node.index[1].offset, cases(consumer, node, 1, lag, lane), node.stage, column);
    const auto is_constant = [](const Border& border) { return border.mode == BorderMode::constant; };
    if (!is_constant(node.border[0]) || !is_constant(node.border[1]) || node.border[0] == node.border[1]) return v;
    // Beyond both a row and a column it is the constant of rows, over which the column has laid its own.
    return bordered(node.border[0], 0, cases(consumer, node, 0, lag, 0), node.stage, [&](const Place&) { return v; });
  }

  // ---- pieces ------------------------------------------------------------------------------------------------------

  // Is the point among those of a piece, along one dimension? Nothing: in no word of this lane. Appends what is to be
  // tested.
  bool within_piece(StageId s, const ir::Piece& piece, std::size_t d, int lane, Lag lag, std::vector<NodeId>& tests) {
    const Extent& e = stream_.grids.extent(s, static_cast<int>(d));
    const i64 start = *graph_.constant(piece.start[d]), step = piece.stride[d] * e.rate, first = start * e.rate;
    const i64 lanes = stream_.frame.lanes;
    if (d == 0 && piece.stride[d] > 1) tests.push_back(every_row(lag, step, first));
    if (d == 1 && piece.stride[d] > 1) {
      if (step % lanes != 0 && lanes % step != 0)
        refuse(graph_.stage(s), fmt::format("a piece has a point for {} columns, and {} come a clock", step, lanes),
               "take 1 point a clock");
      const i64 together = std::min(step, lanes);
      if ((lane - first) % together != 0) return false;
      if (step > lanes) tests.push_back(every_word(lag, step / lanes, (first - lane) / lanes));
    }
    if (start >= piece.stride[d])
      tests.push_back(make_.not_of(make_.less(place(d, lane, lag), make_.constant(static_cast<double>(first)))));
    // The end is looked for where points of its phase follow it.
    const auto& samples = stream_.grids.samples[d];
    std::optional<i64> end;
    bool inside = false;
    for (const GridSample& sample : samples) {
      const i64 last = start + piece.stride[d] * graph_.evaluate(piece.count[d], sample.parameters);
      if (last < sample.points[s]) inside = true;
      if (end && *end != last && !stream_.frame.fixed) end = -1;
      if (!end) end = last;
    }
    if (!inside) return true;
    if (*end < 0)
      refuse(graph_.stage(s), "a piece ends at a place that depends on extents, which are given at run time",
             "emit for frames of one size");
    tests.push_back(make_.less(place(d, lane, lag), make_.constant(static_cast<double>(*end * e.rate))));
    return true;
  }

  Value composed(StageId s, int lane, Lag lag) {
    const Stage& stage = graph_.stage(s);
    const i64 lanes = stream_.frame.lanes;
    Value v = make_.constant(0);
    for (const ir::Piece& piece : stage.pieces) {
      std::vector<NodeId> tests;
      if (!within_piece(s, piece, 0, lane, lag, tests) || !within_piece(s, piece, 1, lane, lag, tests)) continue;
      Value own;
      if (piece.stage) {
        const i64 row = *graph_.constant(piece.start[0]) * grid(s).rows.rate;
        const i64 x = lane - *graph_.constant(piece.start[1]) * grid(s).columns.rate;
        const i64 word = base::floor_divide(x, lanes);
        own = value(*piece.stage, static_cast<int>(x - word * lanes), lag + Lag{row, -word});
      } else {
        own = expressions_.border(piece.value, stage.type);
      }
      const auto [there, here] = expressions_.aligned(own, v);
      const double error = std::max(there.error, here.error);
      v = there;
      if (!tests.empty()) {
        NodeId all = tests[0];
        for (std::size_t k = 1; k < tests.size(); ++k) all = make_.both(all, tests[k]);
        v = make_.select(all, there, here);
      }
      v.fraction = there.fraction, v.error = error;
    }
    return v;
  }

  // ---- expressions -------------------------------------------------------------------------------------------------

  // Where a stage's products take turns, it is computed for each of the ticks: of the first ones operands alone are
  // used.
  Value in_turns(StageId s, int lane, Lag lag) {
    const int turns = stream_.stages[s].stored ? stream_.stages[s].turns : 1;
    if (turns == 1) return expression(s, lane, lag);
    const auto at = [&](int turn) { return lag - Lag{0, turns - 1 - turn}; };
    std::vector<std::vector<Arithmetic::Product>> made(static_cast<std::size_t>(turns));
    Value v;
    for (int turn = 0; turn < turns; ++turn) {
      make_.products = &made[static_cast<std::size_t>(turn)];
      v = expression(s, lane, at(turn));
    }
    make_.products = nullptr;
    const i64 step = netlist_.word_step(grid(s));
    Arithmetic::Instead instead{taken_in_turns(make_, netlist_, made, [&](int k) { return every_word(at(k), step); })};
    if (instead.nodes.empty()) return v;
    make_.instead = &instead;
    v = expression(s, lane, lag);
    make_.instead = nullptr;
    return v;
  }

  Value expression(StageId s, int lane, Lag lag) {
    return expressions_.body(s, [&](const ExprNode& node) {
      switch (node.op) {
        case Op::coord:
          return coordinate(s, node.ivalue, lane, lag);
        case Op::extent:
          if (!stream_.frame.fixed)
            refuse(graph_.stage(s), "it computes with an extent, which is given at run time",
                   "emit for frames of one size");
          return make_.constant(static_cast<double>(stream_.grids.points(s, static_cast<int>(node.ivalue))));
        case Op::scalar:
          return scalar(node);
        default:
          return access(s, node, lane, lag);
      }
    });
  }

  // The row or column of the frame.
  Value place(std::size_t dimension, int lane, Lag lag) {
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

  Value coordinate(StageId s, i64 dimension, int lane, Lag lag) {
    const Value at = place(static_cast<std::size_t>(dimension), lane, lag);
    const i64 rate = stream_.grids.extent(s, static_cast<int>(dimension)).rate;
    return rate == 1 ? at : make_.divide(at, make_.constant(static_cast<double>(rate)));
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
  Netlist netlist = pack_lines(simplified(living(Builder(stream).run())));
  verify(netlist);
  return netlist;
}

}  // namespace tessera::hardware
