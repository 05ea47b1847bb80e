// What can stream, which numbers stages hold, which of them are stored, and how far they lag.
#include "hardware/stream.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/division.hpp"
#include "data/border.hpp"
#include "hardware/differences.hpp"
#include "hardware/expressions.hpp"
#include "hardware/windows.hpp"
#include "ir/build.hpp"
#include "plan/plan.hpp"
#include "plan/rebuild.hpp"
#include "tessera/error.hpp"

namespace tessera::hardware {

using ir::ExprId;
using ir::ExprNode;
using ir::Graph;
using ir::Op;
using ir::Stage;
using ir::StageId;
using ir::StageKind;

namespace {

constexpr i64 long_row = i64{1} << 20;  // ticks a row where its extent is not known
constexpr i64 memory_per_bit = 16;      // bits of memory that weigh as much as one bit of an addition

[[noreturn]] void refuse(const Stage& stage, const std::string& why, const std::string& help = "") {
  throw Error(ErrorClass::argument,
              fmt::format("stage '{}' cannot stream: {}", stage.name.empty() ? "result" : stage.name, why),
              stage.span.line > 0 ? std::vector<std::string>{fmt::format("it stands in line {} of {}", stage.span.line,
                                                                         stage.span.file)}
                                  : std::vector<std::string>{},
              help);
}

void check_access(const Graph& graph, const Stage& stage, const ExprNode& access) {
  const Stage& source = graph.stage(access.stage);
  if (source.domain != stage.domain) refuse(stage, fmt::format("it reads '{}', whose extents are others", source.name));
  for (std::size_t d = 0; d < access.index.size(); ++d) {
    const ir::Index& index = access.index[d];
    if (index.scale == 0) refuse(stage, fmt::format("it reads '{}' at a fixed place", source.name));
    if (index.scale != 1) refuse(stage, fmt::format("it reads every {} points of '{}'", index.scale, source.name));
    if (index.shift != ir::SizeId{}) refuse(stage, "an offset depends on a parameter");
    if (access.border[d].mode == BorderMode::wrap)
      refuse(stage, fmt::format("it reads '{}' around the edge (wrap), before it has come", source.name),
             "use another border mode");
  }
}

void check_stage(const Graph& graph, const Stage& stage) {
  if (stage.domain.size() != 2)
    refuse(stage, fmt::format("it has {} dimensions; expected 1 or 2", stage.domain.size()));
  if (stage.kind == StageKind::fourier) refuse(stage, "a spectrum needs the whole image");
  if (stage.kind == StageKind::carried || stage.kind == StageKind::last)
    refuse(stage, "a loop with a test needs whole images");
  if (stage.kind == StageKind::compose) refuse(stage, "it is put together from pieces");
  if (stage.kind != StageKind::point) return;
  for (const ExprId e : ir::postorder(graph, {stage.body})) {
    const ExprNode& node = graph.node(e);
    if (node.op == Op::gather)
      refuse(stage, fmt::format("it reads '{}' at computed places", graph.stage(node.stage).name));
    if (ir::is_whole(node.op) || ir::is_lanes(node.op) || node.op == Op::value)
      refuse(stage, "it needs what a whole image comes to before the image has passed");
    if (node.op == Op::access) check_access(graph, stage, node);
  }
}

// The search for the stages that are stored, and their lags.
class Search {
 public:
  Search(Stream& stream, const StreamOptions& options)
      : stream_(stream), graph_(stream.graph), options_(options), ranges_(graph_) {
    const std::size_t n = graph_.stage_count();
    stored_.assign(n, true);
    operations_.assign(n, 0);
    for (StageId s = 0; s < n; ++s) {
      bits_.push_back(stream.stages[s].bits);
      if (graph_.stage(s).kind == StageKind::point) operations_[s] = operations_of(graph_.stage(s).body);
    }
    needed_.assign(n, false);
    for (const ir::Output& output : graph_.outputs)
      for (const StageId s : output.stages) needed_[s] = true;
  }

  void run() {
    i64 best = cost();
    for (bool better = options_.repeat; better;) {
      better = false;
      for (StageId s = 0; s < graph_.stage_count(); ++s) {
        if (graph_.stage(s).kind != StageKind::point || needed_[s]) continue;
        stored_[s] = !stored_[s];
        const i64 now = cost();
        if (now < best) {
          best = now;
          better = true;
        } else {
          stored_[s] = !stored_[s];
        }
      }
    }
    cost();
    take();
  }

 private:
  i64 operations_of(ExprId body) {
    i64 bits = 0;
    for (const ExprId e : ir::postorder(graph_, {body})) {
      const ExprNode& node = graph_.node(e);
      if (node.args.empty()) continue;
      const auto width = [&](ExprId x) {
        const ExprNode& n = graph_.node(x);
        if (is_float(n.type)) return i64{24};
        const analyze::Range r = ranges_.of(x);
        return static_cast<i64>(bits_of(r.lo, r.hi).width);
      };
      const bool product = node.op == Op::mul && graph_.node(node.args[0]).op != Op::constant &&
                           graph_.node(node.args[1]).op != Op::constant;
      bits += product ? width(node.args[0]) * width(node.args[1]) : width(e);
    }
    return bits;
  }

  i64 number(Lag lag) const { return lag.rows * row_ticks() + lag.words; }
  i64 row_ticks() const { return stream_.frame.fixed ? stream_.frame.pitch() : long_row; }
  Lag lag_of(i64 ticks) const {
    const i64 row = row_ticks();
    const i64 rows = base::floor_divide(ticks + row / 2, row);
    return {rows, ticks - rows * row};
  }

  // The offsets, in ticks, at which stage `c` reads stored stages, itself at 0, through repeated ones.
  using Taps = std::map<StageId, std::set<i64>>;
  const Taps& taps(StageId c) {
    const auto [it, fresh] = taps_.try_emplace(c);
    if (!fresh) return it->second;
    Taps all;
    i64 early = 0;
    for (const Window& w : stream_.windows[c]) {
      early = std::max(early, number({0, w.last_word}));
      for (i64 row = w.first_row; row <= w.last_row; ++row) {
        const i64 here = number({row, w.last_word});
        if (stored_[w.producer]) {
          all[w.producer].insert(here);
        } else {
          for (const auto& [p, offsets] : taps(w.producer))
            for (const i64 o : offsets) all[p].insert(o + here);
          early = std::max(early, early_[w.producer] + here);
        }
      }
    }
    early_[c] = early;
    return taps_[c] = std::move(all);
  }

  // How often each repeated stage is computed a tick.
  std::map<StageId, std::set<i64>> evaluations() {
    std::map<StageId, std::set<i64>> at;
    for (StageId s = static_cast<StageId>(graph_.stage_count()); s-- > 0;) {
      if (stored_[s]) at[s] = {lags_[s]};
      for (const Window& w : stream_.windows[s]) {
        if (stored_[w.producer] || !at.contains(s)) continue;
        for (const i64 lag : at[s])
          for (i64 row = w.first_row; row <= w.last_row; ++row) at[w.producer].insert(lag - number({row, w.last_word}));
      }
    }
    return at;
  }

  void solve() {
    taps_.clear();
    early_.clear();
    const std::size_t n = graph_.stage_count(), zero = 2 * n;
    std::vector<i64> costs(2 * n + 1, 0);
    std::vector<Difference> constraints;
    for (StageId s = 0; s < n; ++s) {
      if (graph_.stage(s).kind == StageKind::input) constraints.push_back({s, zero, 0});
      if (!stored_[s]) continue;
      const Taps& all = taps(s);
      constraints.push_back({zero, s, early_[s]});
      for (const auto& [p, offsets] : all) {
        constraints.push_back({p, s, *offsets.rbegin()});
        constraints.push_back({s, n + p, -*offsets.begin()});
        const i64 weight = i64{bits_[p].width} * stream_.frame.lanes;
        if (costs[n + p] == 0) costs[n + p] = weight, costs[p] = -weight;
      }
    }
    const auto best = minimise_differences(costs, constraints);
    if (!best) throw Error(ErrorClass::internal, "no lags fit a stream");
    lags_.assign(n, 0);
    kept_.assign(n, 0);
    for (StageId s = 0; s < n; ++s) {
      lags_[s] = (*best)[s] - (*best)[zero];
      if (costs[n + s] > 0) kept_[s] = (*best)[n + s] - (*best)[s];
    }
  }

  i64 cost() {
    solve();
    double bits = 0;
    for (StageId s = 0; s < graph_.stage_count(); ++s) {
      const Lag kept = lag_of(kept_[s]);
      const double ticks =
          static_cast<double>(kept.rows) * static_cast<double>(stream_.frame.pitch()) + static_cast<double>(kept.words);
      bits += std::max(0.0, ticks) * bits_[s].width * stream_.frame.lanes;
    }
    double operations = 0;
    for (const auto& [s, lags] : evaluations())
      operations += static_cast<double>(lags.size()) * static_cast<double>(operations_[s]) * stream_.frame.lanes;
    return static_cast<i64>(bits + operations * memory_per_bit);
  }

  void take() {
    for (StageId s = 0; s < graph_.stage_count(); ++s) {
      StreamStage& stage = stream_.stages[s];
      stage.stored = stored_[s];
      if (!stored_[s]) continue;
      stage.lag = lag_of(lags_[s]);
      stage.kept = lag_of(kept_[s]);
      stage.kept_bits =
          (stage.kept.rows * stream_.frame.pitch() + stage.kept.words) * stage.bits.width * stream_.frame.lanes;
      stream_.delay_bits += stage.kept_bits;
      // Where rows are short, a lag of some rows less some words must not turn negative.
      for (const auto& [p, offsets] : taps(s))
        for (const i64 o : offsets) {
          const Lag delay = lag_of(lags_[s] - lags_[p] - o);
          if (!stream_.frame.fixed && delay.words < 0 && delay.rows > 0)
            stream_.least_width =
                std::max(stream_.least_width, base::ceil_divide(-delay.words, delay.rows) * stream_.frame.lanes);
        }
    }
  }

  Stream& stream_;
  Graph& graph_;
  const StreamOptions& options_;
  analyze::Ranges ranges_;
  std::vector<bool> stored_, needed_;
  std::vector<Bits> bits_;
  std::vector<i64> operations_, lags_, kept_;
  std::map<StageId, Taps> taps_;
  std::map<StageId, i64> early_;  // how far ahead of a stage columns enter: nothing does before tick 0
};

FixedInput scalar_format(const Graph& graph, const Stage& stage, const ExprNode& node, const StreamOptions& options) {
  if (!is_float(node.type)) return {node.type, 0};
  const std::string& name = graph.arguments[static_cast<std::size_t>(node.ivalue)].name;
  const auto it = options.inputs.find(name);
  if (it == options.inputs.end() || is_float(it->second.type))
    refuse(stage, fmt::format("'{}' is a float, whose range is not known", name),
           fmt::format("say which integers come instead, and how many of their bits are fraction: --input {}=uint8.4",
                       name));
  return it->second;
}

// What each stage of `stream` holds with so many bits of fraction. The largest error of floats that matter.
double try_formats(Stream& stream, const StreamOptions& options, int fraction) {
  const Graph& graph = stream.graph;
  analyze::Ranges ranges(graph);
  Netlist scratch;
  Arithmetic make(scratch, stream.additions);
  Expressions expressions(graph, ranges, scratch, make, fraction);
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
    if (stage.kind == StageKind::input && is_float(stage.type)) {
      const auto it = options.inputs.find(graph.arguments[stage.argument].name);
      if (it == options.inputs.end() || is_float(it->second.type))
        refuse(stage, "floats come in, whose range is not known",
               fmt::format("say which integers come instead, for example --input {}=uint8",
                           graph.arguments[stage.argument].name));
      r = analyze::full_range(it->second.type);
      format.fraction = it->second.fraction;
    }
    if (stage.kind == StageKind::point) {
      const Value v = expressions.body(s, [&](const ExprNode& node) {
        if (node.op == Op::coord || node.op == Op::extent) {
          const i64 extent =
              node.ivalue == 0 ? options.height : base::ceil_divide(options.width, options.lanes) * options.lanes;
          return leaf(0, static_cast<double>(extent), 0, 0);
        }
        if (node.op == Op::scalar) {
          const FixedInput given = scalar_format(graph, stage, node, options);
          const auto limits = ir::integer_limits(given.type);
          return leaf(limits.lo, limits.hi, given.fraction, 0);
        }
        const StreamStage& from = stream.stages[node.stage];
        Value v{{}, from.lo, from.hi, from.fraction, from.error};
        for (const Border& b : node.border)
          if (b.mode == BorderMode::constant) {
            const Value c = expressions.border(b.value, graph.stage(node.stage).type);
            const int f = std::max(v.fraction, c.fraction);
            v.lo = std::min(std::ldexp(v.lo, f - v.fraction), std::ldexp(c.lo, f - c.fraction));
            v.hi = std::max(std::ldexp(v.hi, f - v.fraction), std::ldexp(c.hi, f - c.fraction));
            v.fraction = f, v.error = std::max(v.error, c.error);
          }
        return leaf(v.lo, v.hi, v.fraction, v.error);
      });
      if (is_float(stage.type)) r = {v.lo, v.hi};
      format.fraction = v.fraction;
      format.error = is_float(stage.type) ? v.error : 0;
      bool margin = false;
      for (std::size_t d = 0; d < stage.domain.size(); ++d) margin |= stage.margin_lo[d] > 0 || stage.margin_hi[d] > 0;
      if (margin) r.lo = std::min(r.lo, 0.0), r.hi = std::max(r.hi, 0.0);
    }
    format.lo = r.lo, format.hi = r.hi;
    format.bits = bits_of(r.lo, r.hi);
  }
  stream.decided = expressions.decided;
  double worst = options.error > 0 ? expressions.decided : expressions.decided_relative;
  for (const ir::Output& output : graph.outputs)
    for (const StageId s : output.stages) {
      const StreamStage& stage = stream.stages[s];
      const double most = std::ldexp(std::max({std::abs(stage.lo), std::abs(stage.hi), 1.0}), -stage.fraction);
      worst = std::max(worst, options.error > 0 ? stage.error : stage.error / most);
    }
  return worst;
}

// The fewest bits of fraction that are enough.
void find_formats(Stream& stream, const StreamOptions& options) {
  constexpr int most_fraction = 24;
  const double wanted = options.error > 0 ? options.error : std::exp2(-10);
  double least = 0;
  int best = -1;
  for (int fraction = 0; fraction <= most_fraction; ++fraction) {
    double error = 0;
    try {
      error = try_formats(stream, options, fraction);
    } catch (const Error&) {
      if (best < 0) throw;
      break;  // values become too wide
    }
    if (error <= wanted) return;
    if (best < 0 || error < least) least = error, best = fraction;
  }
  if (options.error > 0)
    refuse(stream.graph.stage(stream.graph.outputs.front().stages.front()),
           fmt::format("its error in fixed point is {:.3g} at least; expected {:.3g} at most", least, wanted));
  try_formats(stream, options, best);
}

void find_windows(Stream& stream) {
  const Graph& graph = stream.graph;
  const i64 lanes = stream.frame.lanes;
  stream.windows.resize(graph.stage_count());
  for (StageId c = 0; c < graph.stage_count(); ++c) {
    if (graph.stage(c).kind != StageKind::point) continue;
    for (const ExprId e : ir::accesses(graph, graph.stage(c).body)) {
      const ExprNode& node = graph.node(e);
      const Reach rows = reach_of(node.border[0].mode, node.index[0].offset);
      const Reach columns = reach_of(node.border[1].mode, node.index[1].offset);
      const Window w{node.stage, rows.first, rows.last, base::floor_divide(columns.first, lanes),
                     base::floor_divide(lanes - 1 + columns.last, lanes)};
      auto& all = stream.windows[c];
      const auto it = std::find_if(all.begin(), all.end(), [&](const Window& o) { return o.producer == w.producer; });
      if (it == all.end()) {
        all.push_back(w);
      } else {
        it->first_row = std::min(it->first_row, w.first_row), it->last_row = std::max(it->last_row, w.last_row);
        it->first_word = std::min(it->first_word, w.first_word), it->last_word = std::max(it->last_word, w.last_word);
      }
      if (stream.frame.fixed) continue;
      const auto least = [](BorderMode mode, i64 offset) {
        const i64 far = std::abs(offset);
        return mode == BorderMode::mirror && far > 0 ? far + 1
               : mode == BorderMode::symmetric       ? std::max<i64>(1, far)
                                                     : 1;
      };
      stream.least_height = std::max(stream.least_height, least(node.border[0].mode, node.index[0].offset));
      stream.least_width = std::max(stream.least_width, least(node.border[1].mode, node.index[1].offset));
    }
  }
}

// Sums and extremes that can be taken one dimension at a time are, rows first: fewer products, and no row is kept of
// what is in between.
void take_dimensions_apart(Graph& graph) {
  plan::Device none;
  none.transforms = false;
  none.rows_first = true;
  std::vector<std::string> remarks;
  std::vector<plan::SumChoice> sums;
  plan::expand_windows(graph, Numbers::fast, Method::separable, none, plan::assumed_parameters(graph), remarks, sums);
}

}  // namespace

Reach reach_of(BorderMode mode, i64 offset) {
  const i64 far = std::abs(offset);
  switch (mode) {
    case BorderMode::clamp:
      return {std::min<i64>(0, offset), std::max<i64>(0, offset)};
    case BorderMode::mirror:
      return {-far, far};
    case BorderMode::symmetric:
      return offset > 0 ? Reach{1 - far, far} : Reach{-far, std::max<i64>(0, far - 1)};
    default:
      return {offset, offset};
  }
}

Stream make_stream(Graph graph, const StreamOptions& options) {
  if (options.lanes != 1 && options.lanes != 2 && options.lanes != 4 && options.lanes != 8)
    throw Error(ErrorClass::argument,
                fmt::format("{} points a clock were asked for; expected 1, 2, 4 or 8", options.lanes));
  if (options.height < 1 || options.width < 1 || options.height > 65536 || options.width > 65536)
    throw Error(ErrorClass::argument,
                fmt::format("frames of {} x {} were asked for; expected 1 to 65536 rows and columns", options.height,
                            options.width));
  plan::remove_dead_stages(graph);
  plan::lift_rank(graph);
  take_dimensions_apart(graph);
  write_windows_out(graph);
  plan::merge_equal_stages(graph);
  plan::remove_dead_stages(graph);
  Stream stream;
  stream.graph = std::move(graph);
  stream.frame = {options.height, options.width, options.fixed, options.lanes};
  for (StageId s = 0; s < stream.graph.stage_count(); ++s) check_stage(stream.graph, stream.graph.stage(s));
  stream.inputs = options.inputs;
  stream.additions = options.additions;
  find_formats(stream, options);
  find_windows(stream);
  Search(stream, options).run();
  return stream;
}

}  // namespace tessera::hardware
