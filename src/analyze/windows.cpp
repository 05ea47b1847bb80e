// See windows.hpp.
#include "analyze/windows.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <map>
#include <numeric>
#include <set>

#include "analyze/footprint.hpp"
#include "base/division.hpp"

namespace tessera::analyze {

using base::ceil_divide;
using base::floor_divide;
using ir::ExprId;
using ir::ExprNode;
using ir::Graph;
using ir::Op;
using ir::SizeId;
using ir::Stage;
using ir::StageId;
using ir::StageKind;

namespace {

// Of a stage along one dimension: points that are needed, and whether what is before the first or behind the last point
// is asked for, which borders answer.
struct Need {
  Span span{std::numeric_limits<i64>::max(), std::numeric_limits<i64>::min()};
  bool first = false, last = false;

  bool wanted() const { return !span.empty(); }
  void add(i64 begin, i64 end) {
    if (begin >= end) return;
    span.begin = std::min(span.begin, begin);
    span.end = std::max(span.end, end);
  }
};
using Needs = std::vector<Need>;  // of every dimension; none of a stage that is not needed

// The points [lo, hi] of a dimension of n points, continued by a border.
void add_bordered(Need& need, i64 lo, i64 hi, i64 n, BorderMode mode) {
  const bool below = lo < 0, above = hi >= n;
  need.add(std::max<i64>(lo, 0), std::min(hi, n - 1) + 1);
  if (!below && !above) return;
  need.first = need.first || below;
  need.last = need.last || above;
  if (below) need.add(0, 1);
  if (above) need.add(n - 1, n);
  const i64 shift = mode == BorderMode::symmetric ? 1 : 0;
  if (mode == BorderMode::mirror || mode == BorderMode::symmetric) {
    if (below) need.add(0, std::min(n, -lo - shift + 1));
    if (above) need.add(std::max<i64>(0, 2 * (n - 1) - hi + shift), n);
    const bool twice = -lo >= n || hi - (n - 1) >= n;  // reflected at both ends
    if (twice) need.first = need.last = true, need.add(0, n);
  }
  if (mode == BorderMode::wrap) need.first = need.last = true, need.add(0, n);
}

// Where the points of a stage are read, walked from the outputs back.
class Walk {
 public:
  Walk(const Graph& graph, const std::vector<i64>& parameters, const std::vector<Grain>& grains)
      : graph_(graph), parameters_(parameters), grains_(grains), needs_(graph.stage_count()) {}

  std::vector<Needs> take(const Wanted& wanted) {
    for (std::size_t o = 0; o < graph_.outputs.size(); ++o)
      if (wanted[o])
        for (const StageId s : graph_.outputs[o].stages)
          for (std::size_t d = 0; d < wanted[o]->size(); ++d) of(s)[d].add((*wanted[o])[d].begin, (*wanted[o])[d].end);
    for (auto s = static_cast<StageId>(graph_.stage_count()); s-- > 0;) {
      if (needs_[s].empty()) continue;
      whole_tiles(s);
      if (graph_.stage(s).kind == StageKind::point) point(s);
      if (graph_.stage(s).kind == StageKind::compose) composed(s);
    }
    return std::move(needs_);
  }

 private:
  i64 extent(StageId s, std::size_t d) const { return graph_.evaluate(graph_.stage(s).domain[d], parameters_); }
  Needs& of(StageId s) {
    needs_[s].resize(graph_.stage(s).domain.size());
    return needs_[s];
  }

  // Where the last tile that is computed ends, if it goes beyond the image: what fills it up is read as well, and
  // decides how its other points round.
  i64 end_of_tiles(StageId s, std::size_t d) const {
    i64 end = needs_[s][d].span.end;
    for (const Grain& grain : grains_)
      if (grain.stage == s) end = std::max(end, ceil_divide(end, grain.points[d]) * grain.points[d]);
    return end;
  }

  void whole_tiles(StageId s) {
    for (const Grain& grain : grains_)
      for (std::size_t d = 0; grain.stage == s && d < needs_[s].size(); ++d) {
        Span& span = needs_[s][d].span;
        span.begin = span.begin / grain.points[d] * grain.points[d];
        span.end = std::min(extent(s, d), ceil_divide(span.end, grain.points[d]) * grain.points[d]);
      }
  }

  // Margins, where nothing is read, lie at the edges of what is kept.
  void point(StageId s) {
    const Stage& stage = graph_.stage(s);
    Needs& own = needs_[s];
    std::vector<Span> inside;
    for (std::size_t d = 0; d < own.size(); ++d) {
      const i64 n = extent(s, d), lo = stage.margin_lo[d], hi = stage.margin_hi[d];
      const i64 end = end_of_tiles(s, d);
      inside.push_back({std::max(own[d].span.begin, lo), end > n ? end : std::min(end, n - hi)});
      own[d].span.begin = std::max<i64>(0, own[d].span.begin - lo);
      own[d].span.end = std::min(n, own[d].span.end + hi);
    }
    if (std::any_of(inside.begin(), inside.end(), [](const Span& span) { return span.empty(); })) return;
    const VarRanges ranges = variable_ranges(graph_, stage.body);
    for (const ExprId e : ir::postorder(graph_, {stage.body})) {
      const ExprNode& node = graph_.node(e);
      if (!reads_stage(node.op)) continue;
      Needs& read = of(node.stage);
      for (std::size_t d = 0; d < read.size(); ++d) {
        const i64 n = extent(node.stage, d);
        if (node.op != Op::access) {
          read[d].add(0, n);
          read[d].first = read[d].last = true;
          continue;
        }
        const ir::Index& index = node.index[d];
        const Span& at = inside[d + inside.size() - read.size()];
        const auto [lo, hi] = offset_span(index, ranges);
        const i64 shift = graph_.evaluate(index.shift, parameters_);
        add_bordered(read[d], index.scale * at.begin + lo + shift, index.scale * (at.end - 1) + hi + shift, n,
                     node.border[d].mode);
      }
    }
  }

  void composed(StageId s) {
    for (const ir::Piece& piece : graph_.stage(s).pieces) {
      if (!piece.stage) continue;
      std::vector<Span> elements;
      for (std::size_t d = 0; d < needs_[s].size(); ++d) {
        const i64 start = graph_.evaluate(piece.start[d], parameters_), stride = piece.stride[d];
        const i64 count = graph_.evaluate(piece.count[d], parameters_);
        elements.push_back({std::max<i64>(0, ceil_divide(needs_[s][d].span.begin - start, stride)),
                            std::min(count, floor_divide(needs_[s][d].span.end - 1 - start, stride) + 1)});
      }
      if (std::any_of(elements.begin(), elements.end(), [](const Span& span) { return span.empty(); })) continue;
      Needs& read = of(*piece.stage);
      for (std::size_t d = 0; d < read.size(); ++d) {
        const Span& span = elements[d + elements.size() - read.size()];
        read[d].add(span.begin, span.end);
      }
    }
  }

  const Graph& graph_;
  const std::vector<i64>& parameters_;
  const std::vector<Grain>& grains_;
  std::vector<Needs> needs_;
};

// What goes by more than this has no pace that anybody could use.
constexpr i64 most_pace = i64{1} << 30;

Pace capped(Pace p) {
  return p.parameter > most_pace || std::abs(p.points) > most_pace ? Pace{most_pace, 0} : p;
}

// Finds what is kept: as little as covers all needs, from where indices of all stages go on as they were.
class Cutter {
 public:
  Cutter(const Graph& graph, const std::vector<i64>& parameters, const std::vector<Needs>& needs,
         const std::vector<Grain>& grains, const LeastExtents& least)
      : graph_(graph), needs_(needs), grains_(grains) {
    cut_.whole = parameters;
    for (const i64 n : parameters) cut_.kept.push_back({0, n});
    whole_.resize(parameters.size());
    suspects_.resize(parameters.size());
    for (StageId s = 0; s < graph.stage_count(); ++s)
      for (const SizeId extent : graph.stage(s).domain) extents_[extent] = 1;
    for (const auto& [extent, points] : least)
      extents_[extent] = std::max(extents_[extent], std::min(points, graph.evaluate(extent, parameters)));
    for (StageId s = 0; s < graph.stage_count(); ++s)
      for (std::size_t d = 0; d < needs[s].size(); ++d)
        if (needs[s][d].wanted()) {
          const SizeId extent = graph.stage(s).domain[d];
          places_.push_back({extent, needs[s][d]});
          const std::vector<std::size_t> followed = parameters_of(extent);
          for (const std::size_t p : followed) whole_[p] = whole_[p] || followed.size() > 1;
        }
  }

  Cut take() {
    for (std::size_t p = 0; p < cut_.whole.size(); ++p)
      if (!whole_[p]) choose(p);
    // What indices do not go on with stays whole, until all do.
    for (bool again = true; again;) {
      again = false;
      broken_ = false;
      check();
      for (std::size_t p = 0; p < cut_.whole.size(); ++p)
        if (suspects_[p] && cut_.kept[p] != Span{0, cut_.whole[p]}) cut_.kept[p] = {0, cut_.whole[p]}, again = true;
      if (broken_ && !again)
        for (std::size_t p = 0; p < cut_.whole.size(); ++p) cut_.kept[p] = {0, cut_.whole[p]};
    }
    return cut_;
  }

 private:
  struct Place {
    SizeId extent;
    Need need;
  };

  // Which parameters an extent follows.
  std::vector<std::size_t> parameters_of(SizeId extent) const {
    std::set<std::size_t> found;
    std::vector<SizeId> open{extent};
    while (!open.empty()) {
      const ir::SizeNode& node = graph_.node(open.back());
      open.pop_back();
      if (node.op == ir::SizeOp::parameter) found.insert(static_cast<std::size_t>(node.value));
      if (node.op == ir::SizeOp::constant || node.op == ir::SizeOp::parameter) continue;
      open.push_back(node.a);
      if (node.op != ir::SizeOp::floor_div) open.push_back(node.b);
    }
    return {found.begin(), found.end()};
  }
  bool follows(SizeId extent, std::size_t p) const { return parameters_of(extent) == std::vector<std::size_t>{p}; }

  i64 value(SizeId extent, std::size_t p, i64 n) const {
    std::vector<i64> parameters = cut_.whole;
    parameters[p] = n;
    return graph_.evaluate(extent, parameters);
  }

  void choose(std::size_t p) {
    const i64 n = cut_.whole[p];
    bool first = false, last = false;
    std::vector<const Place*> own;
    for (const Place& place : places_) {
      if (!follows(place.extent, p)) continue;
      first = first || place.need.first;
      last = last || place.need.last;
      own.push_back(&place);
    }
    if (own.empty()) return;
    i64 begin = 0;
    if (!first) {
      // The last beginning from which every stage's kept part holds what is needed of it.
      const auto holds = [&](i64 at) {
        return all_have_points(p, n - at) && std::all_of(own.begin(), own.end(), [&](const Place* place) {
                 return value(place->extent, p, n) - value(place->extent, p, n - at) <= place->need.span.begin;
               });
      };
      i64 low = 0, high = n - 1;
      while (low < high) {
        const i64 middle = low + (high - low + 1) / 2;
        (holds(middle) ? low : high) = holds(middle) ? middle : middle - 1;
      }
      begin = low;
      const i64 unit = unit_of(p, own);
      begin = unit == 0 ? 0 : begin / unit * unit;
    }
    i64 end = n;
    if (!last) {
      const auto holds = [&](i64 count) {
        return all_have_points(p, count) && std::all_of(own.begin(), own.end(), [&](const Place* place) {
                 const i64 origin = value(place->extent, p, n) - value(place->extent, p, n - begin);
                 return origin + value(place->extent, p, count) >= place->need.span.end;
               });
      };
      i64 low = 1, high = n - begin;
      while (low < high) {
        const i64 middle = low + (high - low) / 2;
        if (holds(middle))
          high = middle;
        else
          low = middle + 1;
      }
      end = begin + low;
    }
    cut_.kept[p] = {begin, end};
  }

  // A program runs where each of its stages has a point, whether anybody needs it or not, and as the whole does where
  // extents are no less than that takes.
  bool all_have_points(std::size_t p, i64 count) const {
    return std::all_of(extents_.begin(), extents_.end(), [&](const auto& extent) {
      return !follows(extent.first, p) || value(extent.first, p, count) >= extent.second;
    });
  }

  // Of how many a beginning is a multiple, so that all stages go on as they were: what extents are divided by, and
  // tiles. 0: of too many.
  i64 unit_of(std::size_t p, const std::vector<const Place*>& own) const {
    constexpr i64 most = 1 << 20;
    const i64 n = cut_.whole[p];
    i64 unit = 1;
    const auto multiply = [&](i64 by) {
      unit = unit == 0 || by > most ? 0 : std::lcm(unit, by) > most ? 0 : std::lcm(unit, by);
    };
    for (const Place* place : own) multiply(pace_of(graph_, place->extent).parameter);
    for (const Grain& grain : grains_)
      for (std::size_t d = 0; d < grain.points.size(); ++d) {
        const SizeId extent = graph_.stage(grain.stage).domain[d];
        if (!follows(extent, p) || grain.points[d] <= 1) continue;
        // So many of the parameter as give a whole number of tiles.
        i64 count = 1;
        while (count <= grain.points[d] * 8 && count < n &&
               (value(extent, p, n) - value(extent, p, n - count)) % grain.points[d] != 0)
          ++count;
        multiply(count);
      }
    return unit;
  }

  // ---- do all indices go on as they were? ----

  void suspect(SizeId extent) {
    broken_ = true;
    for (const std::size_t p : parameters_of(extent)) suspects_[p] = true;
  }

  void check() {
    for (const auto& [extent, points] : extents_)
      if (cut_.extent(graph_, extent) < points) suspect(extent);
    for (StageId s = 0; s < graph_.stage_count(); ++s) {
      if (needs_[s].empty()) continue;
      const Stage& stage = graph_.stage(s);
      for (std::size_t d = 0; d < needs_[s].size(); ++d) covers(stage.domain[d], needs_[s][d]);
      if (stage.kind == StageKind::point) accesses(stage);
      if (stage.kind == StageKind::compose) pieces(stage, needs_[s]);
    }
  }

  void covers(SizeId extent, const Need& need) {
    const i64 origin = cut_.origin(graph_, extent), n = graph_.evaluate(extent, cut_.whole);
    const i64 count = cut_.extent(graph_, extent);
    const bool good = (!need.wanted() || (origin <= need.span.begin && need.span.end <= origin + count)) &&
                      origin >= 0 && origin + count <= n && (!need.first || origin == 0) &&
                      (!need.last || origin + count == n);
    if (!good) suspect(extent);
  }

  // Element scale i + shift of the whole is element scale (i - origin) + shift of what is kept.
  void accesses(const Stage& stage) {
    for (const ExprId e : ir::postorder(graph_, {stage.body})) {
      const ExprNode& node = graph_.node(e);
      if (node.op != Op::access || needs_[node.stage].empty()) continue;
      const Stage& source = graph_.stage(node.stage);
      for (std::size_t d = 0; d < source.domain.size(); ++d) {
        const ir::Index& index = node.index[d];
        const SizeId own = stage.domain[d + stage.domain.size() - source.domain.size()];
        const i64 moved = cut_.origin(graph_, source.domain[d]);
        const i64 shift = graph_.evaluate(index.shift, cut_.whole) - graph_.evaluate(index.shift, cut_.parameters());
        if (moved == index.scale * cut_.origin(graph_, own) + shift) continue;
        suspect(source.domain[d]), suspect(own), suspect(index.shift);
      }
    }
  }

  // Of stages, elements stand where they stood. Of all, as far as points are needed: a piece begins and ends where it
  // did.
  void pieces(const Stage& stage, const Needs& needs) {
    for (const ir::Piece& piece : stage.pieces)
      for (std::size_t d = 0; d < stage.domain.size(); ++d) {
        const std::size_t rank = piece.stage ? graph_.stage(*piece.stage).domain.size() : 0;
        const std::size_t lead = stage.domain.size() - rank;
        const std::vector<i64> kept = cut_.parameters();
        const i64 own = cut_.origin(graph_, stage.domain[d]), stride = piece.stride[d];
        const i64 first = graph_.evaluate(piece.start[d], cut_.whole),
                  now = graph_.evaluate(piece.start[d], kept) + own;
        const i64 last = first + stride * (graph_.evaluate(piece.count[d], cut_.whole) - 1);
        const i64 last_now = now + stride * (graph_.evaluate(piece.count[d], kept) - 1);
        const Span& need = needs[d].span;
        const auto beside = [&](i64 x, i64 y) {  // what is needed, both of them on one side
          return (x >= need.end && y >= need.end) || (x < need.begin && y < need.begin);
        };
        bool good = last == last_now || beside(last, last_now);
        if (piece.stage && d >= lead)  // element j of the whole is element j - origin of what is kept
          good = good && first == now - stride * cut_.origin(graph_, graph_.stage(*piece.stage).domain[d - lead]);
        else
          good = good && (first == now || (first >= need.end && now >= need.end) ||
                          (stride == 1 && first <= need.begin && now <= need.begin));
        if (good) continue;
        suspect(stage.domain[d]), suspect(piece.start[d]), suspect(piece.count[d]);
        if (piece.stage && d >= lead) suspect(graph_.stage(*piece.stage).domain[d - lead]);
      }
  }

  const Graph& graph_;
  const std::vector<Needs>& needs_;
  const std::vector<Grain>& grains_;
  Cut cut_;
  std::vector<Place> places_;
  std::map<SizeId, i64> extents_;  // of all stages: the least number of points
  std::vector<bool> whole_, suspects_;
  bool broken_ = false;
};

}  // namespace

std::optional<Global> global_stage(const Graph& graph, std::size_t output) {
  std::vector<bool> needed(graph.stage_count());
  for (const StageId s : graph.outputs[output].stages) needed[s] = true;
  for (auto s = static_cast<StageId>(graph.stage_count()); s-- > 0;)
    if (needed[s])
      for (const StageId source : ir::sources(graph, s)) needed[source] = true;
  for (StageId s = 0; s < graph.stage_count(); ++s) {
    const Stage& stage = graph.stage(s);
    if (!needed[s]) continue;
    if (stage.kind == StageKind::fourier) return Global{s, "is a Fourier transform of a whole image"};
    if (stage.kind == StageKind::carried || stage.kind == StageKind::last)
      return Global{s, "is an image of a loop with a test"};
    if (stage.kind != StageKind::point) continue;
    for (const ExprId e : ir::postorder(graph, {stage.body})) {
      const Op op = graph.node(e).op;
      if (is_whole(op) || is_lanes(op)) return Global{s, "reduces a whole image"};
      if (is_into(op) || op == Op::bins) return Global{s, "puts a whole image into bins"};
      if (op == Op::gather) return Global{s, "reads at places that it computes"};
    }
  }
  return {};
}

Pace pace_of(const Graph& graph, SizeId extent) {
  const ir::SizeNode& node = graph.node(extent);
  switch (node.op) {
    case ir::SizeOp::constant:
      return {1, 0};
    case ir::SizeOp::parameter:
      return {1, 1};
    case ir::SizeOp::floor_div: {
      const Pace of = pace_of(graph, node.a);
      const i64 common = std::gcd(of.points, node.value);
      return capped({of.parameter * (of.points == 0 ? node.value : node.value / common), of.points / common});
    }
    case ir::SizeOp::mul: {
      const Pace a = pace_of(graph, node.a), b = pace_of(graph, node.b);
      if (const auto by = graph.constant(node.a)) return capped({b.parameter, b.points * *by});
      if (const auto by = graph.constant(node.b)) return capped({a.parameter, a.points * *by});
      return capped({std::lcm(a.parameter, b.parameter), 0});
    }
    default: {
      const Pace a = pace_of(graph, node.a), b = pace_of(graph, node.b);
      const i64 both = std::lcm(a.parameter, b.parameter);
      if (both > most_pace) return {most_pace, 0};
      const i64 of_a = a.points * (both / a.parameter), of_b = b.points * (both / b.parameter);
      if (node.op == ir::SizeOp::add) return {both, of_a + of_b};
      if (node.op == ir::SizeOp::sub) return {both, of_a - of_b};
      return {both, of_a == of_b ? of_a : 0};
    }
  }
}

i64 pace_of_all(const Graph& graph) {
  i64 parameter = 1;
  for (StageId s = 0; s < graph.stage_count(); ++s)
    for (const SizeId extent : graph.stage(s).domain)
      parameter = std::min(most_pace, std::lcm(parameter, pace_of(graph, extent).parameter));
  return parameter;
}

std::vector<Box> read_of_arguments(const Graph& graph, const std::vector<i64>& parameters, const Wanted& wanted) {
  const std::vector<Needs> needs = Walk(graph, parameters, {}).take(wanted);
  std::vector<Box> boxes(graph.arguments.size());
  for (StageId s = 0; s < graph.stage_count(); ++s) {
    const Stage& stage = graph.stage(s);
    if (stage.kind != StageKind::input || needs[s].empty()) continue;
    Box& box = boxes[stage.argument];
    for (std::size_t d = 0; d < needs[s].size(); ++d) {
      if (!needs[s][d].wanted()) continue;
      const Span& span = needs[s][d].span;
      if (box.size() < needs[s].size()) box.resize(needs[s].size());
      box[d] = box[d].empty() ? span : Span{std::min(box[d].begin, span.begin), std::max(box[d].end, span.end)};
    }
  }
  return boxes;
}

std::vector<i64> Cut::parameters() const {
  std::vector<i64> all;
  for (const Span& span : kept) all.push_back(span.end - span.begin);
  return all;
}

i64 Cut::origin(const Graph& graph, SizeId extent) const {
  std::vector<i64> behind = whole;
  for (std::size_t p = 0; p < behind.size(); ++p) behind[p] -= kept[p].begin;
  return graph.evaluate(extent, whole) - graph.evaluate(extent, behind);
}

i64 Cut::extent(const Graph& graph, SizeId extent) const {
  return graph.evaluate(extent, parameters());
}

Box Cut::box(const Graph& graph, const std::vector<SizeId>& extents) const {
  Box box;
  for (const SizeId n : extents) {
    const i64 begin = origin(graph, n);
    box.push_back({begin, begin + extent(graph, n)});
  }
  return box;
}

Cut cut_of(const Graph& graph, const std::vector<i64>& parameters, const Wanted& wanted,
           const std::vector<Grain>& grains, const LeastExtents& least) {
  const std::vector<Needs> needs = Walk(graph, parameters, grains).take(wanted);
  Cut cut = Cutter(graph, parameters, needs, grains, least).take();
  cut.reads.resize(graph.arguments.size());
  for (StageId s = 0; s < graph.stage_count(); ++s)
    if (graph.stage(s).kind == StageKind::input &&
        std::any_of(needs[s].begin(), needs[s].end(), [](const Need& n) { return n.wanted(); }))
      cut.reads[graph.stage(s).argument] = true;
  return cut;
}

}  // namespace tessera::analyze
