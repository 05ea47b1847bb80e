// See pieces.hpp.
#include "lower/ways/pieces/pieces.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "analyze/expressions.hpp"
#include "ir/reductions.hpp"
#include "lower/device_function.hpp"
#include "plan/groups/pieces.hpp"

namespace tessera::lower {

using ir::ExprNode;
using ir::Op;
using ir::StageId;
using ir::nest::integer;
using ir::nest::Lane;
using ir::nest::Value;

namespace {

constexpr i64 threads = ir::lanes_of_piece;
constexpr i64 bytes_of_lane = 8, bytes_of_list = threads * bytes_of_lane;

class PieceLowering : private DeviceFunction {
 public:
  PieceLowering(const WayQuestion& q, std::string name)
      : DeviceFunction(q.plan, q.interface, q.ranges, std::move(name)),
        pairs_(plan::reduction_pairs(graph_, group(q).stages)) {
    kernel_.group = q.group;
    kernel_.stages = group(q).stages;
    kernel_.domain = graph_.stage(pairs_.front().total).domain;
    rank_ = kernel_.domain.size();
    kernel_.points.assign(rank_, 1);
    kernel_.threads = {static_cast<int>(threads), 1, 1};
    kernel_.shared_bytes = bytes_of_list * static_cast<i64>(pairs_.size());
    kernel_.piece = std::max<i64>(1, graph_.node(graph_.stage(pairs_.front().lanes).body).ivalue);
    for (std::size_t k = 0; k < pairs_.size(); ++k) list_of_[pairs_[k].lanes] = static_cast<i64>(k);
  }

  void into(DeviceProgram& program) {
    ir::nest::Function function;
    function.name = kernel_.name;
    function.essay = "a piece of an image a block: a lane a thread, then the lanes one after the other";
    Builder builder(function.body);
    builder_ = &builder;
    Value block;
    std::vector<Value> point(rank_);
    for (std::size_t d = rank_; d-- > 0;) point[d] = builder.let("piece", first_of_block(d, block));
    const Value lane = builder.let("lane", call_i64("tsr_thread_x", {}));
    lanes(point.back(), lane);
    builder.call("tsr_barrier", {});
    for (std::size_t k = 0; k < pairs_.size(); ++k) {
      // Of several, every other one by the first thread of the other warp.
      const Value first = equal(lane, integer(k % 2 == 0 ? 0 : threads / 2));
      builder.branch(first, [&] { total(pairs_[k].total, point); });
    }
    touch();
    finish(std::move(function), program);
  }

 private:
  static const plan::Group& group(const WayQuestion& q) { return q.plan.groups[q.group]; }

  Value list(Lane lane) const {
    return ir::nest::variable(fmt::format("tsr_shared_{}", name_of(lane)), {lane, 1, true});
  }
  i64 start_of(StageId s) const { return list_of_.at(s) * bytes_of_list / ir::nest::size_of(memory_lane(s)); }

  void lanes(const Value& piece, const Value& lane) {
    index_ = {piece, lane};
    domain_ = graph_.stage(pairs_.front().lanes).domain;
    std::vector<ir::ExprId> roots;
    for (const plan::ReductionPair& pair : pairs_) roots.push_back(graph_.stage(pair.lanes).body);
    kernel_.operations += analyze::instruction_count(graph_, roots, contracted()) * static_cast<double>(threads);
    const PointSource source = point_source();
    PointEmitter emitter(graph_, ranges_, *builder_, source);
    emitter.emit(roots, [&](std::size_t k, const Value& v) {
      const StageId s = pairs_[k].lanes;
      builder_->store(list(memory_lane(s)), lane + start_of(s), emitter.stored(roots[k], v, memory_lane(s)));
    });
  }

  void total(StageId s, const std::vector<Value>& point) {
    index_ = point;
    domain_ = graph_.stage(s).domain;
    const std::vector<ir::ExprId> roots = {graph_.stage(s).body};
    kernel_.operations += analyze::instruction_count(graph_, roots, contracted());
    PointSource source = point_source();
    source.gather = [&](const ExprNode& node, const std::vector<Value>& at) {
      const Value lane = convert(index_type, at.back());  // 0 to 63, as the loop over them says
      return load(list(memory_lane(node.stage)), lane + start_of(node.stage), 1);
    };
    PointEmitter emitter(graph_, ranges_, *builder_, source);
    emitter.emit(roots, [&](std::size_t, const Value& v) {
      builder_->store(element(s, index_), integer(0), emitter.stored(roots[0], v, memory_lane(s)));
    });
  }

  // Every piece may hold elements of any row.
  void touch() {
    std::set<StageId> images;
    for (const plan::ReductionPair& pair : pairs_) {
      const StageId image = graph_.node(graph_.stage(pair.lanes).body).stage;
      if (images.insert(image).second) reads(image, {.whole = true});
      writes(pair.total);
    }
    kernel_.moves = static_cast<double>(ir::elements_of_piece);
  }

  std::vector<plan::ReductionPair> pairs_;
  std::map<StageId, i64> list_of_;  // in shared memory
};

}  // namespace

const DeviceWay pieces = {
    "pieces", only_automatic,
    [](const WayQuestion& q) {
      const bool fits = !plan::reduction_pairs(q.plan.graph, q.plan.groups[q.group].stages).empty();
      return fits ? accepted(pieces, nullptr) : of_another_kind(pieces, "it is no reduction with its lanes");
    },
    [](const WayQuestion& q, const plan::WayAnswer&, const std::string& name, DeviceProgram& program) {
      PieceLowering(q, name).into(program);
    },
    true};

}  // namespace tessera::lower
