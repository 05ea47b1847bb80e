// What points of an output depend on, found where no edge of the image is near.
#include <algorithm>
#include <numeric>
#include <vector>

#include "analyze/windows.hpp"
#include "engine/program_impl.hpp"
#include "engine/windows/region_plan.hpp"
#include "tessera/program.hpp"

namespace tessera {

namespace {

using analyze::Box;
using analyze::Span;

// What points of an output read, where no edge is near: of one period, after which they read as they read.
class Sight {
 public:
  Sight(const Program::Impl& impl, std::size_t output) : graph_(impl.graph), output_(output) {
    const std::vector<ir::SizeId>& domain = graph_.stage(graph_.outputs[output].stages.front()).domain;
    const i64 step = analyze::pace_of_all(graph_);
    repeats_ = step <= most_phases;
    for (const ir::SizeId extent : domain) {
      if (graph_.constant(extent)) continue;  // its last point says enough: nothing goes with it
      const analyze::Pace pace = analyze::pace_of(graph_, extent);
      repeats_ = repeats_ && pace.points > 0;
      if (!repeats_) return;
      period_ = std::lcm(period_, pace.points * (step / pace.parameter));
      repeats_ = period_ <= most_phases;
    }
    if (!repeats_) return;
    far_ = (far_points / period_ + 1) * period_;
    parameters_.assign(graph_.parameters.size(), 2 * far_ * step);
    domain_ = domain;
  }

  // Not where points repeat too late, as those of a pyramid of more than ten levels do.
  bool repeats() const { return repeats_; }

  void look(std::vector<std::vector<Locality::Dimension>>& inputs) const {
    const std::vector<Box> here = read_at(far_), there = read_at(far_ + period_);
    for (std::size_t a = 0; a < inputs.size(); ++a)
      for (std::size_t d = 0; d < here[a].size(); ++d) {
        Locality::Dimension& dim = inputs[a].emplace_back();
        const i64 n = graph_.evaluate(graph_.arguments[a].extents[d], parameters_);
        dim.whole = here[a][d] == Span{0, n} || domain_.size() + d < graph_.arguments[a].extents.size();
        const i64 moved = there[a].empty() ? 0 : there[a][d].begin - here[a][d].begin;
        const i64 common = std::gcd(moved, period_);
        dim.scale = moved / common, dim.divisor = period_ / common;
      }
    for (i64 at = far_; at < far_ + period_; ++at) widen(inputs, at, read_at(at));
  }

 private:
  static constexpr i64 most_phases = 1024, far_points = 1 << 18;

  std::vector<Box> read_at(i64 at) const {
    analyze::Wanted wanted(graph_.outputs.size());
    Box& box = wanted[output_].emplace();
    for (const ir::SizeId n : domain_) {
      const i64 begin = std::min(at, graph_.evaluate(n, parameters_) - 1);
      box.push_back({begin, begin + 1});
    }
    return analyze::read_of_arguments(graph_, parameters_, wanted);
  }

  static void widen(std::vector<std::vector<Locality::Dimension>>& inputs, i64 at, const std::vector<Box>& read) {
    for (std::size_t a = 0; a < inputs.size(); ++a)
      for (std::size_t d = 0; d < inputs[a].size(); ++d) {
        Locality::Dimension& dim = inputs[a][d];
        const i64 centre = at * dim.scale / dim.divisor;
        if (dim.whole || read[a].empty()) continue;
        dim.before = std::max(dim.before, centre - read[a][d].begin);
        dim.after = std::max(dim.after, read[a][d].end - 1 - centre);
      }
  }

  const ir::Graph& graph_;
  std::size_t output_;
  bool repeats_ = false;
  i64 period_ = 1, far_ = 0;
  std::vector<i64> parameters_;
  std::vector<ir::SizeId> domain_;
};

}  // namespace

std::vector<Locality> Program::locality() const {
  std::vector<Locality> all;
  for (std::size_t o = 0; o < impl_->graph.outputs.size(); ++o) {
    Locality& local = all.emplace_back();
    local.global = engine::global_of(*impl_, o);
    local.inputs.resize(impl_->graph.arguments.size());
    if (!local.global.empty()) continue;
    const Sight sight(*impl_, o);
    if (sight.repeats())
      sight.look(local.inputs);
    else
      for (std::size_t a = 0; a < local.inputs.size(); ++a)
        local.inputs[a].assign(impl_->graph.arguments[a].extents.size(), {.whole = true});
  }
  return all;
}

}  // namespace tessera
