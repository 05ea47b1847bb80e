// What can stream, which stages are stored, and how far they lag.
#include "hardware/stream.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <set>

#include "analyze/assumed.hpp"
#include "base/division.hpp"
#include "hardware/netlist/differences.hpp"
#include "hardware/numbers/formats.hpp"
#include "hardware/places.hpp"
#include "hardware/windows.hpp"
#include "ir/build.hpp"
#include "plan/plan.hpp"
#include "rewrite/choose.hpp"
#include "rewrite/nans.hpp"
#include "rewrite/rebuild.hpp"
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
constexpr i64 float_operation = 400;    // of floats: as a sum of so many bits
constexpr i64 memory_per_bit = 16;      // bits of memory that weigh as much as one bit of an addition

void check_access(const Graph& graph, const Stage& stage, const ExprNode& access) {
  const Stage& source = graph.stage(access.stage);
  for (std::size_t d = 0; d < access.index.size(); ++d) {
    const ir::Index& index = access.index[d];
    if (index.scale == 0) refuse(stage, fmt::format("it reads '{}' at a fixed place", source.name));
    if (index.shift != ir::SizeId{}) refuse(stage, "an offset depends on a parameter");
    if (d == 0 && index.offset != 0 && access.border[d].mode == BorderMode::wrap)
      refuse(stage, fmt::format("it reads rows of '{}' around the edge (wrap), before they have come", source.name),
             "use another border mode for rows, as in [clamped,wrap]");
  }
}

void check_pieces(const Graph& graph, const Stage& stage) {
  for (const ir::Piece& piece : stage.pieces)
    for (const ir::SizeId start : piece.start)
      if (!graph.constant(start))
        refuse(stage, fmt::format("a piece begins at {}, which is known at run time alone", graph.to_string(start)));
}

void check_stage(const Graph& graph, const Stage& stage) {
  if (stage.kind == StageKind::carried || stage.kind == StageKind::last)
    refuse(stage, "a loop with a test needs whole images", "write a loop of a fixed number of rounds");
  if (stage.kind == StageKind::fourier) refuse(stage, "a spectrum needs the whole image");
  if (stage.domain.size() != 2)
    refuse(stage, fmt::format("it has {} dimensions; expected 1 or 2", stage.domain.size()));
  if (stage.kind == StageKind::compose) check_pieces(graph, stage);
  if (stage.kind != StageKind::point) return;
  for (const ExprId e : ir::postorder(graph, {stage.body})) {
    const ExprNode& node = graph.node(e);
    if (node.op == Op::gather)
      refuse(stage, fmt::format("it reads '{}' at computed places", graph.stage(node.stage).name));
    if (ir::is_into(node.op) || node.op == Op::bins)
      refuse(stage, "it puts the whole image into bins, which nothing reads before the image has passed");
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
    rates_ = std::any_of(stream.grids.stages.begin(), stream.grids.stages.end(),
                         [](const Grid& g) { return g.rows.rate > 1 || g.columns.rate > 1; });
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
        if (is_float(n.type)) return options_.exact ? float_operation : i64{24};
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
  i64 row_step(StageId s) const { return stream_.grids.stages[s].rows.rate; }
  i64 word_step(StageId s) const { return hardware::word_step(stream_, s); }
  // Ticks over which a stage is computed: where it is stored, its products may take turns.
  i64 turns(StageId s) const { return stored_[s] ? stream_.stages[s].turns : 1; }
  i64 lanes(StageId s) const { return std::max<i64>(1, stream_.frame.lanes / stream_.grids.stages[s].columns.rate); }

  // The offsets at which stage `c` reads stored stages, itself at 0, through repeated ones.
  using Taps = std::map<StageId, std::set<Lag>>;
  const Taps& taps(StageId c) {
    const auto [it, fresh] = taps_.try_emplace(c);
    if (!fresh) return it->second;
    Taps all;
    std::set<Lag> early{Lag{}, Lag{0, turns(c) - 1}};
    for (const Window& w : stream_.windows[c])
      for (const Lag last : w.entries())
        for (i64 turn = 0; turn < turns(c); ++turn) {
          const Lag entry = last + Lag{0, turn};
          early.insert(entry);
          for (const i64 row : w.rows) {
            const Lag here = Lag{row, 0} + entry;
            if (stored_[w.producer]) {
              all[w.producer].insert(here);
              continue;
            }
            for (const auto& [p, offsets] : taps(w.producer))
              for (const Lag o : offsets) all[p].insert(o + here);
            for (const Lag e : early_[w.producer]) early.insert(e + here);
          }
        }
    early_[c] = std::move(early);
    return taps_[c] = std::move(all);
  }

  // How often each repeated stage is computed a tick.
  std::map<StageId, std::set<Lag>> evaluations() {
    std::map<StageId, std::set<Lag>> at;
    for (StageId s = static_cast<StageId>(graph_.stage_count()); s-- > 0;) {
      if (stored_[s]) at[s] = {lags_[s]};
      for (const Window& w : stream_.windows[s]) {
        if (stored_[w.producer] || !at.contains(s)) continue;
        for (const Lag lag : at[s])
          for (const Lag entry : w.entries())
            for (const i64 row : w.rows)
              for (i64 turn = 0; turn < turns(s); ++turn) at[w.producer].insert(lag - Lag{row, turn} - entry);
      }
    }
    return at;
  }

  // The best lags, as `count` counts them, where a bit that stage s keeps for one of these weighs weight(s).
  template <class Count, class Weight>
  std::vector<i64> best_lags(Count count, Weight weight, std::vector<i64>& kept) {
    const std::size_t n = graph_.stage_count(), zero = 2 * n;
    std::vector<i64> costs(2 * n + 1, 0);
    std::vector<Difference> constraints;
    const auto most = [&](const std::set<Lag>& all) {
      i64 m = count(*all.begin());
      for (const Lag l : all) m = std::max(m, count(l));
      return m;
    };
    const auto least = [&](const std::set<Lag>& all) {
      i64 m = count(*all.begin());
      for (const Lag l : all) m = std::min(m, count(l));
      return m;
    };
    for (StageId s = 0; s < n; ++s) {
      if (graph_.stage(s).kind == StageKind::input) constraints.push_back({s, zero, 0});
      if (!stored_[s]) continue;
      const Taps& all = taps(s);
      constraints.push_back({zero, s, most(early_[s])});
      for (const auto& [p, offsets] : all) {
        constraints.push_back({p, s, most(offsets)});
        constraints.push_back({s, n + p, -least(offsets)});
        if (costs[n + p] == 0) costs[n + p] = weight(p), costs[p] = -weight(p);
      }
    }
    const auto best = minimise_differences(costs, constraints);
    if (!best) throw Error(ErrorClass::internal, "no lags fit a stream");
    std::vector<i64> lags(n, 0);
    kept.assign(n, 0);
    for (StageId s = 0; s < n; ++s) {
      lags[s] = (*best)[s] - (*best)[zero];
      if (costs[n + s] > 0) kept[s] = (*best)[n + s] - (*best)[s];
    }
    return lags;
  }

  // Where all stages are as fine as the frame, lags are whole numbers of ticks. Where some are not, rows and words are
  // counted apart: a coarse stage's past is kept in lines of whole rows, and words move on from there.
  void solve() {
    taps_.clear();
    early_.clear();
    const std::size_t n = graph_.stage_count();
    const auto bits = [&](StageId s) { return i64{bits_[s].width} * lanes(s); };
    std::vector<i64> kept, kept_words;
    lags_.clear();
    kept_.assign(n, {});
    if (!rates_) {
      for (const i64 ticks : best_lags([&](Lag l) { return number(l); }, bits, kept)) lags_.push_back(lag_of(ticks));
      for (StageId s = 0; s < n; ++s) kept_[s] = lag_of(kept[s]);
      return;
    }
    const i64 all = stream_.frame.row_unit * stream_.frame.word_unit;
    const auto rows = best_lags([](Lag l) { return l.rows; },
                                [&](StageId s) { return bits(s) * all / (row_step(s) * word_step(s)); }, kept);
    const auto words =
        best_lags([](Lag l) { return l.words; }, [&](StageId s) { return bits(s) * all / word_step(s); }, kept_words);
    for (StageId s = 0; s < n; ++s) {
      lags_.push_back({rows[s], words[s]});
      kept_[s] = {kept[s], kept_words[s]};
    }
  }

  // Bits of what stage s keeps.
  i64 bits_kept(StageId s) const {
    const i64 rows = base::ceil_divide(kept_[s].rows, row_step(s)),
              words = base::ceil_divide(kept_[s].words, word_step(s));
    const i64 places = rows * (stream_.frame.pitch() / word_step(s)) + words;
    return std::max<i64>(0, places) * bits_[s].width * lanes(s);
  }

  i64 cost() {
    solve();
    double bits = 0;
    for (StageId s = 0; s < graph_.stage_count(); ++s) bits += static_cast<double>(bits_kept(s));
    double operations = 0;
    for (const auto& [s, lags] : evaluations())
      operations +=
          static_cast<double>(lags.size()) * static_cast<double>(operations_[s]) * static_cast<double>(lanes(s));
    return static_cast<i64>(bits + operations * memory_per_bit);
  }

  void take() {
    for (StageId s = 0; s < graph_.stage_count(); ++s) {
      StreamStage& stage = stream_.stages[s];
      stage.stored = stored_[s];
      if (!stored_[s]) continue;
      stage.lag = lags_[s];
      stage.kept = kept_[s];
      stage.kept_bits = bits_kept(s);
      stream_.delay_bits += stage.kept_bits;
      // Where rows are short, a lag of some rows less some words must not turn negative.
      for (const auto& [p, offsets] : taps(s))
        for (const Lag o : offsets) {
          const Lag delay = lags_[s] - lags_[p] - o;
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
  std::vector<i64> operations_;
  std::vector<Lag> lags_, kept_;
  std::map<StageId, Taps> taps_;
  std::map<StageId, std::set<Lag>> early_;  // how far ahead of a stage columns enter: nothing does before tick 0
  bool rates_ = false;                      // is a stage coarser than the frame?
};

Window& window_of(std::vector<Window>& all, StageId producer) {
  for (Window& w : all)
    if (w.producer == producer) return w;
  all.push_back({producer, {}, {}, {}});
  return all.back();
}

// The least extents of frames given at run time that a border needs: beyond them it would map twice.
void require_extents(Stream& stream, StageId c, const ExprNode& access) {
  for (std::size_t d = 0; d < 2; ++d) {
    const i64 offset = access.index[d].offset;
    const i64 far = std::max(-offset, offset + overhang(stream.grids, c, access.stage, d, access.index[d].scale));
    const BorderMode mode = access.border[d].mode;
    i64 least = mode == BorderMode::mirror && far > 0 ? far + 1 : mode == BorderMode::symmetric ? far : 1;
    i64& all = d == 0 ? stream.least_height : stream.least_width;
    if (mode == BorderMode::wrap && offset != 0) {
      // A row of ticks on lies the same column: rows fill their ticks.
      if (!stream.grids.given.plain() || stream.grids.stages[access.stage] != Grid{} ||
          stream.grids.stages[c] != Grid{} || stream.frame.word_unit > 1)
        refuse(stream.graph.stage(c),
               fmt::format("it reads '{}' around the edge (wrap), and extents differ, which are given at run time",
                           stream.graph.stage(access.stage).name),
               "emit for frames of one size");
      all = std::max(all, std::max(least_pitch * stream.frame.lanes, far + 1));
      stream.grids.given.unit[1] = std::lcm(stream.grids.given.unit[1], i64{stream.frame.lanes});
    }
    all = std::max(all, stream.grids.least_given(access.stage, static_cast<int>(d), least));
  }
}

void find_access(Stream& stream, StageId c, const ExprNode& node) {
  const i64 lanes = stream.frame.lanes;
  const Grid &own = stream.grids.stages[c], &from = stream.grids.stages[node.stage];
  Window& w = window_of(stream.windows[c], node.stage);
  w.rows.insert(node.index[0].offset * from.rows.rate);
  for (const Place& place : places_of(stream.graph, stream.grids, c, node, 0))
    if (place.offset) w.rows.insert(*place.offset * from.rows.rate);
  const auto words = [&](i64 offset, auto&& enter) {
    for (i64 lane = 0; lane < lanes; lane += own.columns.rate)
      enter(base::floor_divide(lane + offset * from.columns.rate, lanes));
  };
  const auto near = [&](i64 word) { w.last_word = std::max(w.last_word.value_or(word), word); };
  words(node.index[1].offset, near);
  for (const Place& place : places_of(stream.graph, stream.grids, c, node, 1)) {
    if (place.offset && !place.far) words(*place.offset, near);
    if (place.far) words(*place.offset, [&](i64 word) { w.far.insert({place.turns, word}); });
  }
  if (!stream.frame.fixed) require_extents(stream, c, node);
}

void find_pieces(Stream& stream, StageId c) {
  const i64 lanes = stream.frame.lanes;
  const Grid& own = stream.grids.stages[c];
  for (const ir::Piece& piece : stream.graph.stage(c).pieces) {
    if (!piece.stage) continue;
    Window& w = window_of(stream.windows[c], *piece.stage);
    const i64 row = *stream.graph.constant(piece.start[0]) * own.rows.rate;
    const i64 column = *stream.graph.constant(piece.start[1]) * own.columns.rate;
    w.rows.insert(-row);
    for (i64 lane = 0; lane < lanes; lane += own.columns.rate)
      if (std::gcd(lanes, stream.grids.stages[*piece.stage].columns.rate) == 1 ||
          (lane - column) % std::gcd(lanes, stream.grids.stages[*piece.stage].columns.rate) == 0)
        w.far.insert({0, base::floor_divide(lane - column, lanes)});
  }
}

void find_windows(Stream& stream) {
  const Graph& graph = stream.graph;
  stream.windows.resize(graph.stage_count());
  for (StageId c = 0; c < graph.stage_count(); ++c) {
    if (graph.stage(c).kind == StageKind::compose) find_pieces(stream, c);
    if (graph.stage(c).kind != StageKind::point) continue;
    for (const ExprId e : ir::accesses(graph, graph.stage(c).body)) find_access(stream, c, graph.node(e));
  }
}

// Sums and extremes that can be taken one dimension at a time are, rows first: fewer products, and no row is kept of
// what is in between.
void take_dimensions_apart(Graph& graph, bool exact) {
  machine::Machine none;
  none.transforms = false;
  none.rows_first = true;
  std::vector<std::string> remarks;
  std::vector<rewrite::SumChoice> sums;
  rewrite::Tilings tilings;
  rewrite::take_choices(graph, remarks);
  if (exact) rewrite::guard_medians(graph);  // in fixed point there is no NaN
  rewrite::expand_windows(graph, exact ? Numbers::exact : Numbers::fast, Method::separable, none,
                          analyze::assumed_parameters(graph), remarks, sums, tilings);
}

}  // namespace

std::vector<Lag> Window::entries() const {
  std::vector<Lag> all(far.begin(), far.end());
  if (last_word) all.push_back({0, *last_word});
  return all;
}

i64 word_step(const Stream& stream, StageId s) {
  return std::max<i64>(1, stream.grids.stages[s].columns.rate / stream.frame.lanes);
}

analyze::Range range_of(ElementType type) {
  if (is_float(type)) return {0, std::exp2(8.0 * static_cast<double>(size_of(type))) - 1};
  return analyze::full_range(type);
}

Stream make_stream(Graph graph, const StreamOptions& options) {
  if (options.lanes != 1 && options.lanes != 2 && options.lanes != 4 && options.lanes != 8)
    throw Error(ErrorClass::argument,
                fmt::format("{} points a clock were asked for; expected 1, 2, 4 or 8", options.lanes));
  if (options.height < 1 || options.width < 1 || options.height > 65536 || options.width > 65536)
    throw Error(ErrorClass::argument,
                fmt::format("frames of {} x {} were asked for; expected 1 to 65536 rows and columns", options.height,
                            options.width));
  // Loops and spectra first: what follows takes graphs without.
  for (StageId s = 0; s < graph.stage_count(); ++s)
    if (graph.stage(s).kind != StageKind::input && graph.stage(s).kind != StageKind::point &&
        graph.stage(s).kind != StageKind::compose)
      check_stage(graph, graph.stage(s));
  rewrite::remove_dead_stages(graph);
  rewrite::lift_rank(graph);
  take_dimensions_apart(graph, options.exact);
  write_windows_out(graph);
  rewrite::merge_equal_stages(graph);
  rewrite::remove_dead_stages(graph);
  Stream stream;
  stream.graph = std::move(graph);
  for (StageId s = 0; s < stream.graph.stage_count(); ++s) check_stage(stream.graph, stream.graph.stage(s));
  stream.grids = make_grids(stream.graph, options);
  stream.frame = stream.grids.frame;
  stream.least_height = stream.grids.given.least[0], stream.least_width = stream.grids.given.least[1];
  stream.inputs = options.inputs;
  stream.additions = options.additions;
  stream.exact = options.exact;
  stream.wanted = options.error;
  find_formats(stream, options);
  find_windows(stream);
  Search(stream, options).run();
  return stream;
}

}  // namespace tessera::hardware
