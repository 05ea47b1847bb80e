// Fractions and errors of stages.
//
// All fractions of floats follow from one number, the most that a stage keeps, so the fewest bits are found by trying
// 0, 1, 2, ... Without an error asked for, it is 2^-10 of the largest value of each result: small results have more
// bits of fraction, as far as values fit 60 bits.
#include "hardware/numbers/formats.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "hardware/numbers/expressions.hpp"
#include "hardware/numbers/turns.hpp"
#include "tessera/error.hpp"

namespace tessera::hardware {

using ir::ExprNode;
using ir::Graph;
using ir::Op;
using ir::Stage;
using ir::StageId;
using ir::StageKind;

namespace {

constexpr int most_fraction = 48;
constexpr int usual_fraction = 12;  // what is refused with fewer bits may be for their want

FixedInput scalar_format(const Graph& graph, const Stage& stage, const ExprNode& node, const StreamOptions& options) {
  if (!is_float(node.type) || options.exact) return {node.type, 0};
  const std::string& name = graph.arguments[static_cast<std::size_t>(node.ivalue)].name;
  const auto it = options.inputs.find(name);
  if (it == options.inputs.end() || is_float(it->second.type))
    refuse(stage, fmt::format("'{}' is a float, whose range is not known", name),
           fmt::format("say which integers come instead, and how many of their bits are fraction: --input {}=uint8.4",
                       name));
  return it->second;
}

// What a stage holds that is put together from pieces, and 0 elsewhere: the finest of their formats.
Value hull(const Stage& stage, const std::vector<StreamStage>& stages, Expressions& expressions) {
  Value all;
  const auto enter = [&](double lo, double hi, int fraction, double error) {
    const int f = std::max(all.fraction, fraction);
    all.lo = std::min(std::ldexp(all.lo, f - all.fraction), std::ldexp(lo, f - fraction));
    all.hi = std::max(std::ldexp(all.hi, f - all.fraction), std::ldexp(hi, f - fraction));
    all.fraction = f, all.error = std::max(all.error, error);
  };
  for (const ir::Piece& piece : stage.pieces) {
    if (piece.stage) {
      const StreamStage& from = stages[*piece.stage];
      enter(from.lo, from.hi, from.fraction, from.error);
    } else {
      const Value c = expressions.border(piece.value, stage.type);
      enter(c.lo, c.hi, c.fraction, c.error);
    }
  }
  return all;
}

// The largest value of a stage, and its error as a part of that.
double largest_of(const StreamStage& stage) {
  return std::ldexp(std::max(std::abs(stage.lo), std::abs(stage.hi)), -stage.fraction);
}
double relative_error(const StreamStage& stage) {
  return stage.error > 0 ? stage.error / largest_of(stage) : 0;
}

// What each stage of `stream` holds with so many bits of fraction. The largest error of floats that matter; without
// StreamOptions::error, as a part of the largest value.
double try_formats(Stream& stream, const StreamOptions& options, int fraction) {
  const Graph& graph = stream.graph;
  analyze::Ranges ranges(graph);
  Netlist scratch;
  Arithmetic make(scratch, stream.additions);
  Expressions expressions(graph, ranges, scratch, make, fraction, options.exact);
  stream.fraction = fraction;
  stream.stages.assign(graph.stage_count(), {});
  i64 leaves = 0;
  const auto leaf = [&](double lo, double hi, int f, double error) {
    return Value{make.node(Signal::input, bits_of(lo, hi), {}, leaves++), lo, hi, f, error};
  };
  for (StageId s = 0; s < graph.stage_count(); ++s) {
    const Stage& stage = graph.stage(s);
    StreamStage& format = stream.stages[s];
    analyze::Range r = ranges.of_stage(s);
    if (options.exact && is_float(stage.type)) r = range_of(stage.type);
    if (!options.exact && stage.kind == StageKind::input && is_float(stage.type)) {
      const auto it = options.inputs.find(graph.arguments[stage.argument].name);
      if (it == options.inputs.end() || is_float(it->second.type))
        refuse(stage, "floats come in, whose range is not known",
               fmt::format("say which integers come instead, for example --input {}=uint8",
                           graph.arguments[stage.argument].name));
      r = analyze::full_range(it->second.type);
      format.fraction = it->second.fraction;
    }
    if (stage.kind == StageKind::point) {
      std::vector<Arithmetic::Product> products;
      make.products = &products;
      const Value v = expressions.body(s, [&](const ExprNode& node) {
        if (node.op == Op::coord || node.op == Op::extent) {
          const i64 extent = node.ivalue == 0 ? stream.frame.height : stream.frame.words() * stream.frame.lanes;
          return leaf(0, static_cast<double>(extent), 0, 0);
        }
        if (node.op == Op::scalar) {
          const FixedInput given = scalar_format(graph, stage, node, options);
          const analyze::Range limits = range_of(given.type);
          return leaf(limits.lo, limits.hi, given.fraction, 0);
        }
        const StreamStage& from = stream.stages[node.stage];
        Value v{{}, from.lo, from.hi, from.fraction, from.error};
        for (const Border& b : node.border)
          if (b.mode == BorderMode::constant && !(options.exact && is_float(node.type))) {
            const Value c = expressions.border(b.value, graph.stage(node.stage).type);
            const int f = std::max(v.fraction, c.fraction);
            v.lo = std::min(std::ldexp(v.lo, f - v.fraction), std::ldexp(c.lo, f - c.fraction));
            v.hi = std::max(std::ldexp(v.hi, f - v.fraction), std::ldexp(c.hi, f - c.fraction));
            v.fraction = f, v.error = std::max(v.error, c.error);
          }
        return leaf(v.lo, v.hi, v.fraction, v.error);
      });
      make.products = nullptr;
      format.turns = static_cast<int>(
          std::min<i64>(word_step(stream, s), std::max<i64>(1, std::ssize(that_take_turns(scratch, products)))));
      if (is_float(stage.type) && !options.exact) r = {v.lo, v.hi};
      format.fraction = v.fraction;
      format.error = is_float(stage.type) ? v.error : 0;
      bool margin = false;
      for (std::size_t d = 0; d < stage.domain.size(); ++d) margin |= stage.margin_lo[d] > 0 || stage.margin_hi[d] > 0;
      if (margin) r.lo = std::min(r.lo, 0.0), r.hi = std::max(r.hi, 0.0);
    }
    if (stage.kind == StageKind::compose && is_float(stage.type) && !options.exact) {
      const Value v = hull(stage, stream.stages, expressions);
      r = {v.lo, v.hi};
      format.fraction = v.fraction, format.error = v.error;
    }
    if (!std::isfinite(format.error)) refuse(stage, "nothing bounds its error in fixed point");
    format.lo = r.lo, format.hi = r.hi;
    format.bits = bits_of(r.lo, r.hi);
  }
  stream.decided = expressions.decided;
  stream.decisions = expressions.decisions;
  stream.margins = expressions.margins;
  double worst = options.error > 0 ? expressions.decided : expressions.decided_relative;
  for (const ir::Output& output : graph.outputs)
    for (const StageId s : output.stages)
      worst = std::max(worst, options.error > 0 ? stream.stages[s].error : relative_error(stream.stages[s]));
  return worst;
}

// The result that is furthest from what was asked for, or the stage that decides so.
[[noreturn]] void refuse_error(const Stream& stream, double wanted) {
  const Graph& graph = stream.graph;
  for (const Decision& d : stream.decisions)
    if (d.error == stream.decided && d.error > wanted)
      for (StageId s = 0; s < graph.stage_count(); ++s)
        if (graph.stage(s).name == d.stage)
          refuse(graph.stage(s),
                 fmt::format("it {} whose error in fixed point is {:.3g} at least; expected {:.3g} at most", d.what,
                             d.error, wanted));
  StageId worst = graph.outputs.front().stages.front();
  for (const ir::Output& output : graph.outputs)
    for (const StageId s : output.stages)
      if (stream.stages[s].error > stream.stages[worst].error) worst = s;
  refuse(graph.stage(worst), fmt::format("its error in fixed point is {:.3g} at least; expected {:.3g} at most",
                                         stream.stages[worst].error, wanted));
}

// Is a result's error so large that it may be 0 wherever it is?
bool is_lost(const StreamStage& stage) {
  return 2 * stage.error > largest_of(stage);
}

// Nobody asked for results that are lost: they are refused with what to write.
void check_results(const Stream& stream, const StreamOptions& options, int finest) {
  for (const ir::Output& output : stream.graph.outputs)
    for (const StageId s : output.stages) {
      if (!is_lost(stream.stages[s])) continue;
      Stream finer = stream;
      StreamOptions usual = options;
      usual.error = 0;
      if (options.error > 0)
        find_formats(finer, usual);
      else
        try_formats(finer, usual, finest);
      const StreamStage& format = finer.stages[s];
      const double largest = largest_of(format);
      if (options.error > 0)
        refuse(stream.graph.stage(s),
               fmt::format("with an error of {:.3g} nothing is left of values that lie within {:.3g} of 0",
                           stream.stages[s].error, largest),
               fmt::format("write --error {:.1g}, or leave it out", std::max(format.error, largest * std::exp2(-10))));
      refuse(stream.graph.stage(s),
             fmt::format("with {} bits of fraction, the most that fit, its error is {:.3g}, and nothing is left of "
                         "values that lie within {:.3g} of 0",
                         finest, format.error, std::max(largest, format.error)),
             "scale up what becomes so small");
    }
}

}  // namespace

void find_formats(Stream& stream, const StreamOptions& options) {
  if (options.exact) {
    try_formats(stream, options, 0);
    return;
  }
  const double wanted = options.error > 0 ? options.error : std::exp2(-10);
  double least = 0;
  int best = -1, finest = -1;
  std::optional<Error> wrong;
  for (int fraction = 0; fraction <= most_fraction && (best < 0 || least > wanted); ++fraction) {
    try {
      const double error = try_formats(stream, options, fraction);
      finest = fraction;
      if (best < 0 || error < least) least = error, best = fraction;
    } catch (const Error& e) {
      // With few bits a divisor may be 0 that is not with more; with many, values become too wide.
      if (!wrong || fraction <= usual_fraction) wrong = e;
    }
  }
  if (best < 0) throw Error(*wrong);
  if (stream.fraction != best) try_formats(stream, options, best);
  if (options.error > 0 && least > wanted) refuse_error(stream, wanted);
  check_results(stream, options, finest);
}

}  // namespace tessera::hardware
