// Passes as kernels; see points.hpp.
#include "lower/ways/points/points.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "analyze/expressions.hpp"
#include "ir/build.hpp"
#include "lower/device_function.hpp"
#include "lower/ways/shared_tiles/shared_tiles.hpp"
#include "lower/ways/strips/strips.hpp"

namespace tessera::lower {

using ir::ExprId;
using ir::ExprNode;
using ir::Op;
using ir::StageId;
using ir::nest::integer;
using ir::nest::Lane;
using ir::nest::Value;

namespace {

constexpr int columns_of_block = 32, rows_of_block = 8;

class PointLowering : private DeviceFunction {
 public:
  PointLowering(plan::Plan& plan, const Interface& interface, analyze::Ranges& ranges, const plan::Pass& pass,
                std::string name)
      : DeviceFunction(plan, interface, ranges, std::move(name)), pass_(pass) {
    kernel_.domain = graph_.stage(pass.stages.front()).domain;
    domain_ = kernel_.domain;
    rank_ = kernel_.domain.size();
    kernel_.points.assign(rank_, 1);
    kernel_.points.back() = columns_of_block;
    if (rank_ > 1) kernel_.points[rank_ - 2] = rows_of_block;
    // Points are computed for all stages of the pass, also in the margins of some of them.
    const ir::Stage& first = graph_.stage(pass.stages.front());
    for (StageId s : pass.stages)
      clamps_ |= graph_.stage(s).margin_lo != first.margin_lo || graph_.stage(s).margin_hi != first.margin_hi;
    kernel_.threads = {columns_of_block, rank_ > 1 ? rows_of_block : 1, 1};
    kernel_.stages = pass.stages;
  }

  // `why` its group is no strip, "" when none was asked for.
  void into(DeviceProgram& program, std::size_t group, const std::string& why) {
    kernel_.group = group;
    kernel_.why = why;
    ir::nest::Function function;
    function.name = kernel_.name;
    const std::string other = plan_.options.schedule == Schedule::tiled ? "tiles" : "strips";
    function.essay = "a point a thread" + (why.empty() ? "" : ": no " + other + ", since " + why);
    Builder builder(function.body);
    builder_ = &builder;
    place_threads();
    builder.branch(inside_domain(), [&] {
      if (pass_.composes())
        compose();
      else
        point();
    });
    rows();
    finish(std::move(function), program);
  }

 private:
  using Kind = DeviceKernel::Integer::Kind;

  // ---- threads ----
  void place_threads() {
    first_.resize(rank_);
    index_.resize(rank_);
    Value block;
    for (std::size_t d = rank_; d-- > 0;) {
      index_[d] = first_[d] = first_of_block(d, block);
      if (d + 1 == rank_) index_[d] = builder_->let("x", first_[d] + call_i64("tsr_thread_x", {}));
      if (d + 2 == rank_) index_[d] = builder_->let("y", first_[d] + call_i64("tsr_thread_y", {}));
    }
  }
  Value inside_domain() {
    Value all;
    for (std::size_t d = rank_ > 1 ? rank_ - 2 : 0; d < rank_; ++d) all = both(all, less(index_[d], end_of(d)));
    return all;
  }

  // ---- points ----
  // Do all reads of the block lie inside of what they read?
  Value interior(const std::vector<ExprId>& nodes, const analyze::VarRanges& ranges) {
    struct Reach {
      i64 lo, hi;
    };
    std::map<std::tuple<ir::SizeId, std::size_t, i64, ir::SizeId>, Reach> reach;  // extent, dimension, scale, shift
    for (ExprId e : nodes) {
      const ExprNode& node = graph_.node(e);
      if (node.op != Op::access) continue;
      const auto& domain = graph_.stage(node.stage).domain;
      for (std::size_t d = 0; d < domain.size(); ++d) {
        if (mode_of(node, d) == BorderMode::none) continue;
        const ir::Index& index = node.index[d];
        auto [lo, hi] = analyze::offset_span(index, ranges);
        auto key = std::make_tuple(domain[d], d + rank_ - domain.size(), index.scale, index.shift);
        auto [found, fresh] = reach.try_emplace(key, Reach{lo, hi});
        if (fresh) continue;
        found->second.lo = std::min(found->second.lo, lo);
        found->second.hi = std::max(found->second.hi, hi);
      }
    }
    Value all;
    for (const auto& [key, span] : reach) {
      const auto& [n, d, scale, shift] = key;
      Value last = min(first_[d] + kernel_.points[d], end_of(d)) - 1;
      all = both(all, less(integer(-1), first_[d] * scale + extent(shift) + span.lo));
      all = both(all, less(last * scale + extent(shift) + span.hi, extent(n)));
    }
    return all;
  }

  void body(const std::vector<ExprId>& roots, bool mapped) {
    PointSource source = point_source();
    source.load = [&](const ExprNode& node, const Vars& vars) {
      return load_access(node, vars, mapped,
                         [&](StageId from, const std::vector<Value>& at) { return read(from, at); });
    };
    PointEmitter emitter(graph_, ranges_, *builder_, source);
    emitter.emit(roots, [&](std::size_t k, const Value& v) {
      const StageId s = pass_.stages[k];
      const StageId to = plan_.stages[s].home == plan::Home::inside ? plan_.stages[s].whole : s;
      store(s, to, emitter.stored(roots[k], v, memory_lane(to)));
    });
  }

  // The value at the thread's point, 0 in the margins of the stage; a piece goes to its place in the whole.
  void store(StageId s, StageId to, Value v) {
    v = without_margins(s, index_, v, memory_lane(to));
    if (to == s) {
      builder_->store(element(s, index_), integer(0), v);
      return;
    }
    const std::vector<Value> at = place_in_whole(s);
    Value there;
    for (std::size_t d = 0; d < rank_; ++d) there = both(there, less(at[d], extent(graph_.stage(to).domain[d])));
    Value value = builder_->let("v", v);
    builder_->branch(there, [&] { builder_->store(element(to, at), integer(0), value); });
  }

  void point() {
    std::vector<ExprId> roots;
    for (StageId s : pass_.stages) roots.push_back(graph_.stage(s).body);
    const std::vector<ExprId> nodes = ir::postorder(graph_, roots);
    kernel_.operations = analyze::instruction_count(graph_, roots, contracted());
    kernel_.moves = analyze::load_count(graph_, roots) + static_cast<double>(roots.size());
    analyze::VarRanges ranges;
    for (ExprId e : nodes)
      for (const ir::Var& v : graph_.node(e).vars) ranges[v.id] = {v.lo, v.hi};
    // Points of margins may read beyond what is there where no border is asked for: they read nothing.
    Value margins = evaluated_somewhere();
    auto both_texts = [&] {
      Value inside = interior(nodes, ranges);
      if (!inside)
        body(roots, false);
      else
        builder_->branch(builder_->let("inside", inside), [&] { body(roots, false); }, [&] { body(roots, true); });
    };
    if (!margins)
      both_texts();
    else
      builder_->branch(margins, both_texts, [&] {
        for (StageId s : pass_.stages)
          builder_->store(element(s, index_), integer(0), lane_constant(0, memory_lane(s)));
      });
  }
  // Is the point evaluated? Nothing where no stage has margins.
  Value evaluated_somewhere() {
    Value all;
    for (std::size_t d = 0; d < rank_; ++d) {
      i64 lo = INT64_MAX, hi = INT64_MAX;
      for (StageId s : pass_.stages) {
        lo = std::min(lo, graph_.stage(s).margin_lo[d]);
        hi = std::min(hi, graph_.stage(s).margin_hi[d]);
      }
      if (lo > 0) all = both(all, less(integer(lo - 1), index_[d]));
      if (hi > 0) all = both(all, less(index_[d], extent(kernel_.domain[d]) - hi));
    }
    return all;
  }

  // What rows of the domain touch.
  void rows() {
    for (StageId s : pass_.stages) {
      const plan::StagePlan& stage = plan_.stages[s];
      if (stage.home == plan::Home::inside)
        writes(stage.whole, {.scale = stage.stride[0], .lo = stage.start[0], .hi = stage.start[0]});
      else
        writes(s);
      reads_of(s);
      for (const ir::Piece& piece : graph_.stage(s).pieces)
        if (piece.stage) reads(*piece.stage, {.start = piece.start[0], .stride = piece.stride[0]});
    }
  }

  // ---- composed stages ----
  void compose() {
    const StageId s = pass_.stages.front();
    const ir::Stage& composed = graph_.stage(s);
    const Lane lane = memory_lane(s);
    const std::optional<ArrayPlace> whole = place_of(plan_, interface_, s);
    kernel_.in_place = std::any_of(interface_.arrays.begin(), interface_.arrays.end(), [&](const ArrayRef& array) {
      return array.part && array.part->whole == whole->array;
    });
    kernel_.operations = static_cast<double>(composed.pieces.size() * rank_);
    kernel_.moves = 2;
    const Value v =
        composed_value(s, lane, [&](StageId piece, const std::vector<Value>& at) { return read(piece, at); });
    builder_->store(element(s, index_), integer(0), v);
  }

  const plan::Pass& pass_;
  std::vector<Value> first_;  // of the block
};

// Why the group keeps nothing on the chip; "" where nobody asked.
std::string why_not_streamed(const plan::GroupWay& way) {
  std::string why;
  for (const plan::WayAnswer& answer : way.asked)
    if (answer.way == strips.name || answer.way == shared_tiles.name) why = answer.why;
  return why;
}

}  // namespace

const DeviceWay points = {
    "points", [](Schedule) { return true; }, [](const WayQuestion&) { return accepted(points, nullptr); },
    [](const WayQuestion& q, const plan::WayAnswer&, const std::string& name, DeviceProgram& program) {
      const plan::Group& group = q.plan.groups[q.group];
      const std::string why = why_not_streamed(group.way);
      for (std::size_t p = 0; p < group.passes.size(); ++p) {
        const plan::Pass& pass = group.passes[p];
        if (pass.composes() && q.plan.stages[pass.stages.front()].filled) continue;
        PointLowering(q.plan, q.interface, q.ranges, pass, fmt::format("{}_p{}", name, p)).into(program, q.group, why);
      }
    }};

}  // namespace tessera::lower
