// Rates from a walk over what reads what, extents from samples.
#include "hardware/grids.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>

#include "base/division.hpp"
#include "hardware/stream.hpp"
#include "tessera/error.hpp"

namespace tessera::hardware {

using ir::Graph;
using ir::Op;
using ir::SizeId;
using ir::Stage;
using ir::StageId;
using ir::StageKind;

namespace {

constexpr i64 most_rate = 256;

// ---- rates ---------------------------------------------------------------------------------------------------------

struct Ratio {
  i64 over = 1, under = 1;
  bool operator==(const Ratio&) const = default;
};

Ratio times(Ratio r, i64 over, i64 under) {
  r.over *= over, r.under *= under;
  const i64 g = std::gcd(r.over, r.under);
  return {r.over / g, r.under / g};
}

// `of` has a point where `from` has `by` of them.
struct Step {
  StageId from = 0, of = 0;
  i64 by = 1;
};

std::vector<Step> steps_of(const Graph& graph, std::size_t d) {
  std::vector<Step> all;
  for (StageId s = 0; s < graph.stage_count(); ++s) {
    const Stage& stage = graph.stage(s);
    if (stage.kind == StageKind::point)
      for (const ir::ExprId e : ir::accesses(graph, stage.body))
        all.push_back({graph.node(e).stage, s, graph.node(e).index[d].scale});
    for (const ir::Piece& piece : stage.pieces)
      if (piece.stage) all.push_back({s, *piece.stage, piece.stride[d]});
  }
  return all;
}

// Of every stage: whole numbers, along one dimension, without a common factor among stages that hang together. `points`
// at some extents of frames: stages that do not hang together are as large as each other, as nearly as can be.
std::vector<i64> rates_of(const Graph& graph, std::size_t d, const std::vector<i64>& points) {
  const std::vector<Step> steps = steps_of(graph, d);
  const std::size_t n = graph.stage_count();
  std::vector<std::optional<Ratio>> rate(n);
  std::vector<i64> rates(n, 1);
  i64 largest = 1;
  for (StageId first = 0; first < n; ++first) {
    if (rate[first]) continue;
    rate[first] = Ratio{};
    std::vector<StageId> part{first};
    for (bool more = true; more;) {
      more = false;
      for (const Step& step : steps) {
        const auto enter = [&](StageId s, Ratio r) {
          rate[s] = r;
          part.push_back(s);
          more = true;
        };
        if (rate[step.from] && !rate[step.of]) enter(step.of, times(*rate[step.from], step.by, 1));
        if (rate[step.of] && !rate[step.from]) enter(step.from, times(*rate[step.of], 1, step.by));
        if (rate[step.from] && times(*rate[step.from], step.by, 1) != *rate[step.of])
          refuse(graph.stage(std::max(step.from, step.of)),
                 fmt::format("{} of its images are taken at different steps, so that one of them would run ahead",
                             d == 0 ? "rows" : "columns"));
      }
    }
    i64 under = 1, common = 0;
    for (const StageId s : part) under = std::lcm(under, rate[s]->under);
    for (const StageId s : part) common = std::gcd(common, rate[s]->over * (under / rate[s]->under));
    i64 own = 1;
    for (const StageId s : part) {
      rates[s] = rate[s]->over * (under / rate[s]->under) / common;
      own = std::max(own, rates[s] * points[s]);
    }
    if (first == 0) largest = own;
    for (const StageId s : part) {
      rates[s] *= std::max<i64>(1, (largest + own / 2) / own);
      if (rates[s] > most_rate)
        refuse(graph.stage(s), fmt::format("it has a point for {} {} of the finest image; expected {} at most",
                                           rates[s], d == 0 ? "rows" : "columns", most_rate));
    }
  }
  return rates;
}

// ---- extents -------------------------------------------------------------------------------------------------------

std::set<i64> parameters_in(const Graph& graph, SizeId size) {
  std::set<i64> all;
  std::vector<SizeId> work{size};
  while (!work.empty()) {
    const ir::SizeNode node = graph.node(work.back());
    work.pop_back();
    if (node.op == ir::SizeOp::parameter) all.insert(node.value);
    if (node.op == ir::SizeOp::constant || node.op == ir::SizeOp::parameter) continue;
    work.push_back(node.a);
    if (node.op != ir::SizeOp::floor_div) work.push_back(node.b);
  }
  return all;
}

// Extents of a program's stages for extents of frames, along one dimension.
class Sizes {
 public:
  Sizes(const Graph& graph, const StreamOptions& options, std::size_t d)
      : graph_(graph), d_(d), most_(d == 0 ? options.height : options.width), fixed_(options.fixed) {}

  // Finds the parameters that extents along this dimension determine, as large as they may be.
  void bind(std::vector<std::optional<i64>>& parameters) {
    for (const ir::Argument& a : graph_.arguments) {
      if (!a.is_array) continue;
      const SizeId extent = a.extents[d_];
      std::vector<std::size_t> unknown;
      for (const i64 p : parameters_in(graph_, extent))
        if (!parameters[static_cast<std::size_t>(p)]) unknown.push_back(static_cast<std::size_t>(p));
      if (unknown.size() > 1) fail(a, "depends on several parameters");
      if (unknown.empty()) {
        if (&a == &first()) check(a, values(parameters));
        continue;
      }
      const auto found = fit(extent, unknown[0], values(parameters), most_);
      if (!found) fail(a, fmt::format("is {}, which is never {}", graph_.to_string(extent), most_));
      parameters[unknown[0]] = found;
      drivers_.push_back({unknown[0], extent});
      check(a, values(parameters));
    }
  }

  std::vector<GridSample> samples(std::vector<i64> parameters) {
    std::vector<GridSample> all;
    if (fixed_ || drivers_.empty()) {
      const i64 n = drivers_.empty() ? constant_extent(parameters) : most_;
      if (auto one = sample(n, parameters)) all.push_back(*one);
      return all;
    }
    const i64 most = parameters[drivers_[0].parameter];
    for (i64 p = 1; p <= most; ++p) {
      if (p > 300 && p < most - 100) continue;
      parameters[drivers_[0].parameter] = p;
      const i64 n = graph_.evaluate(drivers_[0].extent, parameters);
      bool fits = true;
      for (const Driver& other : drivers_) {
        const auto found = fit(other.extent, other.parameter, parameters, n);
        fits = fits && found;
        if (!found) continue;
        parameters[other.parameter] = *found;
        fits = fits && graph_.evaluate(other.extent, parameters) == n;
      }
      if (!fits) continue;
      if (auto one = sample(n, parameters)) all.push_back(*one);
    }
    return all;
  }

 private:
  struct Driver {
    std::size_t parameter;
    SizeId extent;
  };

  static std::vector<i64> values(const std::vector<std::optional<i64>>& parameters) {
    std::vector<i64> all;
    for (const auto& p : parameters) all.push_back(p.value_or(1));
    return all;
  }

  [[noreturn]] void fail(const ir::Argument& a, const std::string& why) const {
    throw Error(ErrorClass::argument, fmt::format("frames of {} {} were asked for, but that extent of '{}' {}", most_,
                                                  d_ == 0 ? "rows" : "columns", a.name, why));
  }

  // The largest value of a parameter with which an extent is `most` at most.
  std::optional<i64> fit(SizeId extent, std::size_t parameter, std::vector<i64> parameters, i64 most) const {
    const auto at = [&](i64 p) {
      parameters[parameter] = p;
      return graph_.evaluate(extent, parameters);
    };
    i64 lo = 0, hi = i64{1} << 20;
    while (hi - lo > 1) (at((lo + hi) / 2) <= most ? lo : hi) = (lo + hi) / 2;
    if (lo < 1) return {};
    return lo;
  }

  void check(const ir::Argument& a, const std::vector<i64>& parameters) const {
    const i64 n = graph_.evaluate(a.extents[d_], parameters);
    if (fixed_ ? n != most_ : n > most_)
      fail(a, fmt::format("is {}, which is not {}{}", graph_.to_string(a.extents[d_]), most_,
                          n < most_ && n > 0 ? fmt::format("; {} fits", n) : ""));
  }
  const ir::Argument& first() const {
    return *std::find_if(graph_.arguments.begin(), graph_.arguments.end(),
                         [](const ir::Argument& a) { return a.is_array; });
  }
  i64 constant_extent(const std::vector<i64>& parameters) const {
    for (const ir::Argument& a : graph_.arguments)
      if (a.is_array) return graph_.evaluate(a.extents[d_], parameters);
    return most_;
  }

  std::optional<GridSample> sample(i64 n, const std::vector<i64>& parameters) const {
    GridSample one{n, parameters, {}};
    for (StageId s = 0; s < graph_.stage_count(); ++s) {
      one.points.push_back(graph_.evaluate(graph_.stage(s).domain[d_], parameters));
      if (one.points.back() < 1) return {};
    }
    return one;
  }

  const Graph& graph_;
  std::size_t d_;
  i64 most_;
  bool fixed_;
  std::vector<Driver> drivers_;
};

// points = times * floor((given + plus) / over) + then, with times / over = rate of the first input / own rate.
Extent formula(const Stage& stage, StageId s, const std::vector<GridSample>& samples, i64 rate, i64 first_rate) {
  const GridSample& first = samples.front();
  if (samples.size() == 1) return {rate, 0, 0, 1, first.points[s]};
  const i64 common = std::gcd(rate, first_rate);
  for (i64 k = 1; k <= 64; ++k) {
    Extent e{rate, first_rate / common * k, 0, rate / common * k, 0};
    for (e.plus = 0; e.plus < e.over; ++e.plus) {
      e.then = 0;
      e.then = first.points[s] - e.points(first.given);
      if (std::all_of(samples.begin(), samples.end(),
                      [&](const GridSample& sample) { return e.points(sample.given) == sample.points[s]; }))
        return e;
    }
  }
  refuse(stage, "its extents follow from those of frames in a way that hardware does not compute",
         "emit for frames of one size");
}

// What is there at the most among all stages.
Extent widest(const Graph& graph, const Grids& grids, int d) {
  const auto& samples = grids.samples[static_cast<std::size_t>(d)];
  for (StageId s = 0; s < graph.stage_count(); ++s) {
    const Extent& e = grids.extent(s, d);
    bool most = true;
    for (const GridSample& sample : samples)
      for (StageId o = 0; o < graph.stage_count(); ++o)
        most = most && e.fine(sample.given) >= grids.extent(o, d).fine(sample.given);
    if (most) return {1, e.rate * e.times, e.plus, e.over, e.rate * e.then};
  }
  refuse(graph.stage(graph.outputs.front().stages.front()), "none of the images is the largest for all frames",
         "emit for frames of one size");
}

// What extents along a dimension may be.
void limit(Given& given, std::size_t d, const std::vector<GridSample>& samples) {
  given.least[d] = samples.front().given;
  given.most[d] = samples.back().given;
  i64 unit = 0;
  for (const GridSample& s : samples) unit = std::gcd(unit, s.given - samples.front().given);
  given.unit[d] = std::max<i64>(1, unit);
  given.rest[d] = samples.front().given % given.unit[d];
}

void check_lanes(const Graph& graph, const Grids& grids) {
  const i64 lanes = grids.frame.lanes;
  for (StageId s = 0; s < graph.stage_count(); ++s) {
    const i64 rate = grids.stages[s].columns.rate;
    if (rate % lanes != 0 && lanes % rate != 0)
      refuse(graph.stage(s), fmt::format("it has a point for {} columns, and {} come a clock", rate, lanes),
             "take 1 point a clock");
  }
}

}  // namespace

i64 Grids::least_given(StageId s, int d, i64 points) const {
  const auto& all = samples[static_cast<std::size_t>(d)];
  i64 least = all.front().given;
  for (std::size_t k = 0; k < all.size(); ++k)
    if (all[k].points[s] < points) least = k + 1 < all.size() ? all[k + 1].given : all[k].given + 1;
  return least;
}

void refuse(const Stage& stage, const std::string& why, const std::string& help) {
  throw Error(ErrorClass::argument,
              fmt::format("stage '{}' cannot stream: {}", stage.name.empty() ? "result" : stage.name, why),
              stage.span.line > 0 ? std::vector<std::string>{fmt::format("it stands in line {} of {}", stage.span.line,
                                                                         stage.span.file)}
                                  : std::vector<std::string>{},
              help);
}

Grids make_grids(const Graph& graph, const StreamOptions& options) {
  Grids grids;
  const std::size_t n = graph.stage_count();
  grids.stages.resize(n);
  std::vector<std::optional<i64>> parameters(graph.parameters.size());
  std::array<Sizes, 2> sizes{Sizes(graph, options, 0), Sizes(graph, options, 1)};
  for (Sizes& s : sizes) s.bind(parameters);
  std::vector<i64> values;
  for (const auto& p : parameters) values.push_back(p.value_or(1));
  StageId first = 0;
  while (first + 1 < n && graph.stage(first).kind != StageKind::input) ++first;
  i64 units[2] = {1, 1};
  for (std::size_t d = 0; d < 2; ++d) {
    grids.samples[d] = sizes[d].samples(values);
    if (grids.samples[d].empty())
      refuse(graph.stage(graph.outputs.front().stages.front()),
             fmt::format("frames of {} x {} leave no {} of it or of what it reads", options.height, options.width,
                         d == 0 ? "row" : "column"));
    limit(grids.given, d, grids.samples[d]);
    const std::vector<i64> rates = rates_of(graph, d, grids.samples[d].back().points);
    for (StageId s = 0; s < n; ++s) {
      const Extent e = formula(graph.stage(s), s, grids.samples[d], rates[s], rates[first]);
      (d == 0 ? grids.stages[s].rows : grids.stages[s].columns) = e;
      const i64 unit = d == 0 ? rates[s] : std::max<i64>(1, rates[s] / options.lanes);
      units[d] = std::lcm(units[d], unit);
      if (units[d] > most_rate)
        refuse(graph.stage(s), fmt::format("with it, rates meet every {} {} alone; expected {} at most", units[d],
                                           d == 0 ? "rows" : "columns", most_rate));
    }
  }
  grids.given.high = widest(graph, grids, 0), grids.given.wide = widest(graph, grids, 1);
  grids.frame = {grids.given.high.fine(grids.given.most[0]),
                 grids.given.wide.fine(grids.given.most[1]),
                 options.fixed,
                 options.lanes,
                 units[0],
                 units[1]};
  check_lanes(graph, grids);
  return grids;
}

}  // namespace tessera::hardware
