// See keyed.hpp.
#include "lower/ways/keyed/keyed.hpp"

#include <fmt/format.h>

#include <optional>
#include <vector>

#include "analyze/expressions.hpp"
#include "analyze/footprint.hpp"
#include "ir/build.hpp"
#include "ir/keyed.hpp"
#include "lower/device_function.hpp"

namespace tessera::lower {

using ir::ExprId;
using ir::ExprNode;
using ir::StageId;
using ir::nest::integer;
using ir::nest::Lane;
using ir::nest::Type;
using ir::nest::Value;

namespace {

constexpr i64 threads = 256;  // a power of two: whose bin it is are its lowest bits
constexpr i64 bytes_of_values = threads * 8, bytes_of_keys = threads * 4,
              bytes_of_list = bytes_of_values + bytes_of_keys;

class KeyedLowering : private DeviceFunction {
 public:
  KeyedLowering(const WayQuestion& q, std::string name)
      : DeviceFunction(q.plan, q.interface, q.ranges, std::move(name)),
        stage_(q.plan.groups[q.group].stages.front()),
        keyed_(*ir::keyed_of(graph_, graph_.stage(stage_))),
        type_{memory_lane(stage_), 1, false} {
    kernel_.group = q.group;
    kernel_.stages = {stage_};
    kernel_.domain = {graph_.size(1), graph_.size(ir::pieces_of(graph_, keyed_))};
    kernel_.points = {1, 1};
    kernel_.threads = {static_cast<int>(threads), 1, 1};
    kernel_.shared_bytes = bytes_of_list;
    const auto count = ir::constant_bins(graph_, keyed_);
    const i64 room = (q.most_shared - bytes_of_list) / ir::nest::size_of(type_.lane);
    if (count && *count < room) shared_ = *count + 1;
    if (shared_) kernel_.shared_bytes += *shared_ * ir::nest::size_of(type_.lane);
    domain_ = graph_.stage(stage_).domain;
    rank_ = domain_.size();
  }

  void into(DeviceProgram& program) {
    ir::nest::Function function;
    function.name = kernel_.name;
    function.essay = "a piece of the elements a block: a thread has every " + std::to_string(threads) + "th bin";
    Builder builder(function.body);
    builder_ = &builder;
    Value block;
    const Value piece = builder.let("piece", first_of_block(1, block));
    first_of_block(0, block);
    thread_ = builder.let("thread", call_i64("tsr_thread_x", {}));
    narrow_ = builder.let("number", convert(flag_type, thread_));
    Value count = integer(1);
    for (const ir::SizeId n : keyed_.bins) count = count * extent(n);
    count_ = builder.let("count", count);
    const Value in_array = builder.let("bins", element(stage_, {piece, integer(0)}));
    bins_ = shared_ ? address(shared(type_.lane), integer(bytes_of_list / ir::nest::size_of(type_.lane))) : in_array;
    own_bins([&](const Value& bin) { builder.store(bins_, bin, first_value()); });
    lines_of(piece);
    if (shared_) own_bins([&](const Value& bin) { builder.store(in_array, bin, load(bins_, bin, 1)); });
    for (const analyze::Footprint& f : analyze::footprints(graph_, stage_)) reads(f.producer, {.whole = true});
    writes(stage_, {.whole = true});
    const ExprId body = graph_.stage(stage_).body;
    kernel_.operations = analyze::instruction_count(graph_, {body}, contracted());
    kernel_.moves = analyze::load_count(graph_, {body});
    finish(std::move(function), program);
  }

 private:
  static Value shared(Lane lane) {
    return ir::nest::variable(fmt::format("tsr_shared_{}", name_of(lane)), {lane, 1, true});
  }
  static Value keys() { return address(shared(Lane::i32), integer(bytes_of_values / 4)); }

  Value first_value() const {
    return lane_constant(ir::first_of_bin(keyed_.op, graph_.stage(stage_).type), type_.lane);
  }

  // Bins of this thread, and the one of elements that go nowhere.
  template <class Do>
  void own_bins(Do what) {
    builder_->loop("bin", thread_, count_ + 1, integer(threads), what);
  }

  // Lines of the piece, one after the other.
  void lines_of(const Value& piece) {
    const Value n = extent(domain_[0]);
    const i64 pieces = ir::pieces_of(graph_, keyed_);
    const Value rows = builder_->let("rows", call_i64("tsr_floor_div", {n + (pieces - 1), integer(pieces)}));
    Value between = integer(1);
    for (std::size_t d = 1; d + 1 < rank_; ++d) between = between * extent(domain_[d]);
    const Value first = builder_->let("first", piece * rows * between);
    const Value last = builder_->let("last", min((piece + 1) * rows, n) * between);
    const Value columns = builder_->let("columns", extent(domain_.back()));
    builder_->loop("line", first, last, integer(1), [&](const Value& line) {
      index_.assign(rank_, integer(0));
      Value rest = line;
      for (std::size_t d = rank_ - 1; d-- > 1;) {
        const Value above = builder_->let("above", call_i64("tsr_floor_div", {rest, extent(domain_[d])}));
        index_[d] = builder_->let("at", rest - above * extent(domain_[d]));
        rest = above;
      }
      index_[0] = rest;
      builder_->loop("x", integer(0), columns, integer(threads), [&](const Value& x) { part_of_line(x, columns); });
    });
  }

  void part_of_line(const Value& x, const Value& columns) {
    index_.back() = builder_->let("column", x + thread_);
    builder_->branch(
        less(index_.back(), columns), [&] { list_element(); },
        [&] { builder_->store(keys(), thread_, convert(flag_type, count_)); });
    builder_->call("tsr_barrier", {});
    const Value due = builder_->let("due", min(columns - x, integer(threads)));
    builder_->loop("k", integer(0), due, integer(1), [&](const Value& k) {
      const Value bin = builder_->let("bin", load(keys(), k, 1));
      builder_->branch(equal(bin & (threads - 1), narrow_), [&] {
        const Value at = builder_->let("at", convert(index_type, bin));
        const Value value = constant_value() ? constant_value() : load(shared(type_.lane), k, 1);
        const Value held = builder_->let("held", load(bins_, at, 1));
        builder_->store(bins_, at, ir::nest::operation(ir::step_of_bin(keyed_.op), type_, {value, held}));
      });
    });
    builder_->call("tsr_barrier", {});
  }

  Value constant_value() const {
    const auto number = ir::constant_value(graph_, keyed_.value);
    return number ? lane_constant(*number, type_.lane) : nullptr;
  }

  // The element at index_: its bin and its value, for all threads.
  void list_element() {
    PointSource source = point_source();
    source.load = [&](const ExprNode& node, const Vars& vars) {
      return load_access(node, vars, true, [&](StageId from, const std::vector<Value>& at) { return read(from, at); });
    };
    PointEmitter emitter(graph_, ranges_, *builder_, source);
    std::vector<ExprId> roots;
    std::vector<std::optional<std::size_t>> number;  // of a key, among them; nothing: of the value
    if (!constant_value()) roots.push_back(keyed_.value), number.emplace_back();
    std::vector<Value> key(keyed_.keys.size());
    for (std::size_t d = 0; d < keyed_.keys.size(); ++d) {
      if (const auto same = ir::constant_value(graph_, keyed_.keys[d])) {
        key[d] = integer(static_cast<i64>(*same));
        continue;
      }
      roots.push_back(keyed_.keys[d]);
      number.emplace_back(d);
    }
    emitter.emit(roots, [&](std::size_t k, const Value& v) {
      if (number[k]) {
        const Value narrow = builder_->let("key", emitter.stored(roots[k], v, Lane::i32));
        key[*number[k]] = builder_->let("key", convert(index_type, narrow));
      } else {
        const Lane own = ir::nest::lane_of(graph_.node(keyed_.value).type);
        const Value value = builder_->let("value", emitter.stored(roots[k], v, own));
        builder_->store(shared(type_.lane), thread_, convert(type_, value));
      }
    });
    Value bin, here;
    for (std::size_t d = 0; d < key.size(); ++d) {
      const Value n = extent(keyed_.bins[d]);
      here = both(here, less(integer(-1), key[d]) & less(key[d], n));
      bin = bin ? bin * n + key[d] : key[d];
    }
    const Value goes = builder_->let("bin", choose(here, bin, count_));
    builder_->store(keys(), thread_, convert(flag_type, goes));
  }

  const StageId stage_;
  const ir::Keyed keyed_;
  const Type type_;
  std::optional<i64> shared_;  // bins, and one more, in shared memory
  Value thread_, narrow_, count_, bins_;
};

}  // namespace

const DeviceWay keyed = {"keyed", [](Schedule) { return true; },
                         [](const WayQuestion& q) {
                           const plan::Group& group = q.plan.groups[q.group];
                           const bool fits = group.stages.size() == 1 &&
                                             ir::is_keyed(q.plan.graph, q.plan.graph.stage(group.stages.front()));
                           return fits ? accepted(keyed, nullptr)
                                       : of_another_kind(keyed, "its elements go into no bins");
                         },
                         [](const WayQuestion& q, const plan::WayAnswer&, const std::string& name,
                            DeviceProgram& program) { KeyedLowering(q, name).into(program); },
                         true};

}  // namespace tessera::lower
