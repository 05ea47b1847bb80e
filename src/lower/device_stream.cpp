// See device_stream.hpp.
//
// Rows. At step y the stage s computes its row y + lag(s), and keeps the last depth(s): slot k of its ring holds row
// y + lag - depth + 1 + k. A stage that reads rows lo..hi around its own of a producer q asks for lag(q) >= lag + hi
// and depth(q) > lag(q) - lag - lo. Sources in memory are rings as well, and run `ahead` rows before they are read.
#include "lower/device_stream.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "analyze/expressions.hpp"
#include "analyze/footprint.hpp"
#include "ir/build.hpp"
#include "lower/device_function.hpp"

namespace tessera::lower {

using ir::ExprId;
using ir::ExprNode;
using ir::Op;
using ir::StageId;
using ir::nest::integer;
using ir::nest::Lane;
using ir::nest::operation;
using ir::nest::Type;
using ir::nest::Value;

namespace {

// Rows that are loaded before they are read: one, and of a group of few operations as many more as keep so many bytes a
// thread on their way. Measured on an H200.
constexpr i64 least_ahead = 1, most_ahead = 4, bytes_on_their_way = 40;
constexpr double few_operations = 30;
constexpr int warps_of_block = 4;  // each with a strip of its own
constexpr i64 most_unrolled = 12;
// An estimate, a thread: up to which more than 2 columns pay; measured on an H200. (2 pay up to what plan::Device
// says.)
constexpr int wide_registers = 140;

// What is kept of a stage, or of a stage in memory as it is read with one pair of borders.
struct Ring {
  StageId stage = 0;
  bool memory = false;
  Border rows, columns;  // memory
  i64 lag = 0, depth = 1;
  i64 left = 0, right = 0;             // columns beyond the thread's own
  std::vector<std::vector<Value>> at;  // slot, column
  i64 columns_kept(int v) const { return v + left + right; }
};

bool reflects(BorderMode mode) {
  return mode == BorderMode::mirror || mode == BorderMode::symmetric;
}

class StreamLowering : private DeviceFunction {
 public:
  StreamLowering(plan::Plan& plan, const Interface& interface, analyze::Ranges& ranges, std::size_t group,
                 std::string name)
      : DeviceFunction(plan, interface, ranges, std::move(name)), group_(plan.groups[group]) {
    kernel_.group = group;
    kernel_.domain = graph_.stage(group_.anchor).domain;
    rank_ = kernel_.domain.size();
    why_ = unfit();
    if (!why_.empty()) return;
    lags_and_halos();
    first_steps();
  }

  StreamFit fit() {
    StreamFit result;
    result.why = why_;
    if (!result.why.empty()) return result;
    for (const int v : {8, 4, 2}) {
      if (v == 8 && widest_ > 2) continue;
      columns_ = v;
      result.columns = v;
      result.registers = registers();
      result.fits = result.registers <= (v > 2 ? wide_registers : plan_.device.strip_registers);
      if (result.fits) return result;
    }
    result.why = fmt::format("its rings need {} registers a thread", result.registers);
    return result;
  }

  void into(DeviceProgram& program, int v) {
    columns_ = v;
    look_ahead();
    kernel_.threads = {32, warps_of_block, 1};
    kernel_.points.assign(rank_, 1);
    kernel_.points.back() = 32 * v;
    kernel_.strips = true;
    kernel_.stages = order_;
    kernel_.columns = v;
    const int estimate = kernel_.registers = registers();
    kernel_.blocks_at_once = estimate <= 100 ? 4 : estimate <= wide_registers ? 3 : 0;
    kernel_.warm_up = -start_;
    for (const Ring& ring : rings_) {
      kernel_.least_rows = std::max(kernel_.least_rows, 2 * (ring.depth + ring.lag) + 1);
      kernel_.least_columns = std::max(kernel_.least_columns, 2 * (ring.left + ring.right) + 1);
    }
    ir::nest::Function function;
    function.name = kernel_.name;
    function.essay = fmt::format("strips of {} columns a thread, about {} registers", v, estimate);
    Builder builder(function.body);
    builder_ = &builder;
    place();
    builder.branch(operation(Op::bit_and, flag_type, {less(x_, cols_), less(y0_, rows_)}), [&] { strip(); });
    count();
    finish(std::move(function), program);
  }

 private:
  // ---- what the group needs ----
  bool member(StageId s) const { return ring_of_.contains(s); }

  std::string unfit() {
    if (rank_ != 2) return "it has more than two dimensions";
    for (const plan::Pass& pass : group_.passes) {
      if (pass.kind != plan::PassKind::point) return "it puts stages together";
      for (StageId s : pass.stages) {
        if (plan_.stages[s].home == plan::Home::inside) return "it puts stages together";
        if (graph_.stage(s).domain != kernel_.domain) return "its stages differ in size";
        ring_of_[s] = rings_.size();
        order_.push_back(s);
        Ring ring;
        ring.stage = s;
        rings_.push_back(ring);
      }
    }
    for (StageId s : order_)
      for (ExprId e : ir::postorder(graph_, {graph_.stage(s).body})) {
        const ExprNode& node = graph_.node(e);
        if (node.op == Op::gather && member(node.stage)) return "a stage of it is read at computed places";
        if (node.op != Op::access) continue;
        const bool own = member(node.stage);
        if (graph_.stage(node.stage).domain.size() != rank_) return "it reads an array of fewer dimensions";
        for (std::size_t d = 0; d < rank_; ++d) {
          const ir::Index& index = node.index[d];
          if (index.scale != 1 || graph_.constant(index.shift) != 0 || !index.vars.empty())
            return "it reads at other than constant distances";
          if (own && node.border[d].mode == BorderMode::wrap && index.offset != 0) return "a stage of it wraps";
        }
        if (!own) views_.try_emplace(view_key(node), rings_.size());
        if (!own && views_.at(view_key(node)) == rings_.size()) {
          Ring ring;
          ring.stage = node.stage;
          ring.memory = true;
          ring.rows = node.border[0];
          ring.columns = node.border[1];
          rings_.push_back(ring);
        }
      }
    return "";
  }

  using ViewKey = std::tuple<StageId, BorderMode, double, BorderMode, double>;
  static ViewKey view_key(const ExprNode& node) {
    return {node.stage, node.border[0].mode, node.border[0].value, node.border[1].mode, node.border[1].value};
  }
  std::size_t ring_index(const ExprNode& node) const {
    auto own = ring_of_.find(node.stage);
    return own != ring_of_.end() ? own->second : views_.at(view_key(node));
  }

  // Rows and columns that an access of a stage reads, reflections at both ends included.
  std::pair<i64, i64> span(const ExprNode& node, std::size_t d, bool own) const {
    i64 lo = node.index[d].offset, hi = lo;
    if (own && reflects(node.border[d].mode)) {
      lo = std::min(lo, -hi), hi = std::max(hi, -lo);
    } else if (own && node.border[d].mode == BorderMode::clamp) {
      lo = std::min<i64>(lo, 0), hi = std::max<i64>(hi, 0);
    }
    return {lo, hi};
  }

  template <class Visit>
  void each_access(StageId s, Visit visit) {
    for (ExprId e : ir::postorder(graph_, {graph_.stage(s).body}))
      if (graph_.node(e).op == Op::access) visit(graph_.node(e));
  }

  // Consumers before producers.
  void lags_and_halos() {
    is_result_.insert(group_.results.begin(), group_.results.end());
    std::map<std::size_t, i64> oldest;  // by ring: distance of the oldest row that is read from the step
    for (std::size_t k = order_.size(); k-- > 0;)
      each_access(order_[k], [&](const ExprNode& node) {
        const std::size_t source = ring_index(node);
        Ring& from = rings_[source];
        const Ring& to = rings_[ring_of_.at(order_[k])];
        if (!from.memory) read_.insert(from.stage);
        const auto [lo, hi] = span(node, 0, !from.memory);
        const auto [left, right] = span(node, 1, !from.memory);
        const i64 age = oldest.try_emplace(source, to.lag + lo).first->second;
        oldest[source] = std::min(age, to.lag + lo);
        from.lag = std::max(from.lag, to.lag + hi);
        from.left = std::max({from.left, to.left - left, i64{0}});
        from.right = std::max({from.right, to.right + right, i64{0}});
      });
    for (std::size_t k = 0; k < rings_.size(); ++k) {
      Ring& ring = rings_[k];
      widest_ = std::max<i64>(widest_, ir::nest::size_of(memory_lane(ring.stage)));
      if (ring.memory) ring.lag += least_ahead;
      if (auto found = oldest.find(k); found != oldest.end()) ring.depth = ring.lag - found->second + 1;
    }
    for (StageId s : order_)
      for (std::size_t d = 0; d < 2; ++d)
        margin_ = std::max({margin_, graph_.stage(s).margin_lo[d], graph_.stage(s).margin_hi[d]});
  }

  // From which step on, counted from the first row of the strip, the rows of a ring have to be right.
  void first_steps() {
    std::vector<i64> first(rings_.size(), INT64_MAX);
    for (StageId s : is_result_) first[ring_of_.at(s)] = -rings_[ring_of_.at(s)].lag;
    for (std::size_t k = order_.size(); k-- > 0;) {
      const std::size_t reader = ring_of_.at(order_[k]);
      each_access(order_[k], [&](const ExprNode& node) {
        const std::size_t source = ring_index(node);
        const i64 lo = span(node, 0, !rings_[source].memory).first;
        first[source] = std::min(first[source], first[reader] + rings_[reader].lag + lo - rings_[source].lag);
      });
    }
    start_ = *std::min_element(first.begin(), first.end());
  }

  int registers() const {
    i64 n = 24 + 3 * columns_;
    for (const Ring& ring : rings_) {
      if (!ring.memory && ring.depth == 1 && ring.left + ring.right == 0) continue;  // dead at the end of a step
      n += ring.depth * ring.columns_kept(columns_) * std::max(1, ir::nest::size_of(memory_lane(ring.stage)) / 4);
    }
    return static_cast<int>(n);
  }

  // What a step inside does, a point.
  void count() {
    for (const auto& [s, operations] : operations_) kernel_.operations += operations;
    for (const Ring& ring : rings_)
      if (ring.memory) kernel_.moves += static_cast<double>(load_left(ring) + columns_ + load_right(ring)) / columns_;
    kernel_.moves += static_cast<double>(is_result_.size());
    kernel_.operations /= columns_;
    kernel_.moves /= columns_;
  }

  // For the chosen columns.
  void look_ahead() {
    double operations = 0;
    for (StageId s : order_) operations += analyze::instruction_count(graph_, {graph_.stage(s).body}, contracted());
    if (operations > few_operations) return;
    i64 row = 1;
    for (const Ring& ring : rings_)
      if (ring.memory) row = std::max<i64>(row, columns_ * ir::nest::size_of(memory_lane(ring.stage)));
    const i64 more = std::clamp((bytes_on_their_way + row - 1) / row, least_ahead, most_ahead) - least_ahead;
    const auto deepen = [&](i64 by) {
      for (Ring& ring : rings_)
        if (ring.memory) ring.lag += by, ring.depth += by;
    };
    deepen(more);
    if (registers() > wide_registers) deepen(-more);
    first_steps();
  }

  // ---- threads ----
  void place() {
    rows_ = extent(kernel_.domain[0]);
    cols_ = extent(kernel_.domain[1]);
    // Strips that take longest begin first, so that no device waits for them at the end: those at the sides, of which
    // one thread runs its own text, and of every column of blocks the lowest.
    Value block = builder_->let("block", call_i64("tsr_block", {}));
    Value across = host({Kind::blocks, {}, 0, 1}), down = host({Kind::blocks, {}, 0, 0});
    const auto choose = [](const Value& flag, const Value& then, const Value& otherwise) {
      return operation(Op::select, index_type, {flag, then, otherwise});
    };
    Value right = builder_->let("right", less(block, down));
    Value side = builder_->let("side", less(block, down * min(across, integer(2))));
    Value rest = builder_->let("rest", max(block - down * 2, integer(0)));
    Value inner = builder_->let("inner", max(across - 2, integer(1)));
    Value level = builder_->let("level", call_i64("tsr_quotient", {rest, inner}));
    Value column = choose(side, choose(right, across - 1, integer(0)), rest - level * inner + 1);
    Value turn = builder_->let("turn", choose(side, choose(right, block, block - down), level));
    Value place = builder_->let("place", choose(less(integer(0), turn), turn - 1, down - 1));
    Value strip = place * warps_of_block + call_i64("tsr_thread_y", {});
    Value height = host({Kind::strip, {}, 0, 0});
    x_ = builder_->let("x", column * (32 * columns_) + call_i64("tsr_thread_x", {}) * columns_);
    y0_ = builder_->let("y0", strip * height);
    y1_ = builder_->let("y1", min(y0_ + height, rows_));
  }

  // Vectors are loaded at multiples of their width.
  i64 load_left(const Ring& r) const { return (r.left + columns_ - 1) / columns_ * columns_; }
  i64 load_right(const Ring& r) const { return (r.right + columns_ - 1) / columns_ * columns_; }

  void strip() {
    Value inside_columns, from = integer(0), to = rows_;
    i64 reach_left = margin_, reach_right = margin_;
    for (const Ring& ring : rings_) {
      const auto& domain = graph_.stage(ring.stage).domain;
      if (ring.memory) {
        inside_columns = both(inside_columns, less(integer(load_left(ring) - 1), x_));
        inside_columns = both(inside_columns, less(x_ + (columns_ + load_right(ring) - 1), extent(domain[1])));
      } else {
        reach_left = std::max(reach_left, ring.left + margin_);
        reach_right = std::max(reach_right, ring.right + margin_);
      }
      // Rows of all slots are inside: y + lag - depth + 1 >= margin, y + lag < n - margin.
      from = max(from, integer(ring.depth - 1 - ring.lag + margin_));
      to = min(to, extent(domain[0]) - (ring.lag + margin_));
    }
    inside_columns = both(inside_columns, less(integer(reach_left - 1), x_));
    inside_columns = builder_->let("inside", both(inside_columns, less(x_ + (columns_ + reach_right - 1), cols_)));
    Value start = builder_->let("start", y0_ + start_);
    Value a = builder_->let("a", call_i64("tsr_clamp", {from, start, y1_}));
    Value b = builder_->let("b", call_i64("tsr_clamp", {to, a, y1_}));
    declare_rings();
    // As many turns at once as a source has slots: its rows then move by renaming, and nobody waits for a load.
    i64 unroll = 1;
    for (const Ring& ring : rings_)
      if (ring.memory) unroll = std::max(unroll, ring.depth);
    unroll = std::min(unroll, most_unrolled);
    builder_->loop("part", integer(0), integer(3), integer(1), [&](const Value& part) {
      const auto of_part = [&](const Value& first, const Value& second, const Value& third) {
        Value rest =
            operation(Op::select, index_type, {operation(Op::eq, flag_type, {part, integer(1)}), second, third});
        return operation(Op::select, index_type, {operation(Op::eq, flag_type, {part, integer(0)}), first, rest});
      };
      Value begin = builder_->let("begin", of_part(start, a, b)), end = builder_->let("end", of_part(a, b, y1_));
      const auto rows = [&](i64 turns, bool rows_inside, bool columns_inside) {
        builder_->unrolled_loop("y", begin, end, turns, [&](const Value& y) {
          rows_inside_ = rows_inside, columns_inside_ = columns_inside;
          step(y);
        });
      };
      builder_->branch(
          operation(Op::eq, flag_type, {part, integer(1)}),
          [&] {
            builder_->branch(inside_columns, [&] { rows(unroll, true, true); }, [&] { rows(unroll, true, false); });
          },
          [&] { rows(1, false, false); });
    });
  }

  void declare_rings() {
    for (Ring& ring : rings_) {
      if (!ring.memory && !read_.contains(ring.stage)) continue;
      const Lane lane = memory_lane(ring.stage);
      ring.at.resize(static_cast<std::size_t>(ring.depth));
      for (auto& slot : ring.at)
        for (i64 c = 0; c < ring.columns_kept(columns_); ++c)
          slot.push_back(builder_->var("r", lane_constant(0, lane)));
    }
  }

  void step(const Value& y) {
    for (Ring& ring : rings_)
      for (std::size_t k = 0; k + 1 < ring.at.size(); ++k)
        for (std::size_t c = 0; c < ring.at[k].size(); ++c) builder_->assign(ring.at[k][c], ring.at[k + 1][c]);
    for (Ring& ring : rings_)
      if (ring.memory) load_row(ring, y);
    for (const plan::Pass& pass : group_.passes) compute(pass, y);
  }

  // ---- memory ----
  void load_row(Ring& ring, const Value& y) {
    const auto& domain = graph_.stage(ring.stage).domain;
    const Lane lane = memory_lane(ring.stage);
    const ArrayPlace where = DeviceFunction::place(ring.stage);
    const i64 size = ir::nest::size_of(lane);
    std::vector<Value>& to = ring.at.back();
    Value r = builder_->let("row", y + ring.lag);
    if (columns_inside_) {
      Value from = builder_->let("from", row(ring.stage, {r}));
      Value pointer = builder_->let("from", convert({lane, 1, true}, address(from, x_ * where.element_stride)));
      if (where.element_stride == size) {
        for (i64 c = -load_left(ring); c < columns_ + load_right(ring); c += columns_) {
          std::vector<Value> lanes{address(pointer, integer(c))};
          for (i64 k = 0; k < columns_; ++k) {
            const i64 at = c + k + ring.left;
            const bool kept = at >= 0 && at < static_cast<i64>(to.size());
            lanes.push_back(kept ? to[static_cast<std::size_t>(at)]
                                 : ir::nest::variable("tsr_unused", {lane, 1, false}));
          }
          builder_->call(fmt::format("tsr_load_{}x{}", name_of(lane), columns_), std::move(lanes));
        }
        return;
      }
      for (i64 c = 0; c < static_cast<i64>(to.size()); ++c)
        builder_->assign(to[static_cast<std::size_t>(c)],
                         load(pointer, integer((c - ring.left) * (where.element_stride / size)), 1));
      return;
    }
    auto mapped = [&](const Border& border, const Value& i, const Value& n, Value& off) {
      const BorderMode mode = border.mode == BorderMode::none ? BorderMode::clamp : border.mode;
      Value m = builder_->let("m", call_i64("tsr_map", {integer(static_cast<i64>(mode)), i, n}));
      if (mode != BorderMode::constant) return m;
      off = builder_->let("off", less(m, integer(0)));
      return builder_->let("m", max(m, integer(0)));
    };
    Value row_off;
    Value at_row = rows_inside_ ? r : mapped(ring.rows, r, extent(domain[0]), row_off);
    Value from = builder_->let("from", row(ring.stage, {at_row}));
    for (i64 c = 0; c < static_cast<i64>(to.size()); ++c) {
      Value column_off;
      Value at = mapped(ring.columns, x_ + (c - ring.left), extent(domain[1]), column_off);
      Value v = load(convert({lane, 1, true}, address(from, at * where.element_stride)), integer(0), 1);
      if (column_off)
        v = operation(Op::select, {lane, 1, false},
                      {column_off, border_value(ring.columns.value, ring.stage, lane), v});
      if (row_off)
        v = operation(Op::select, {lane, 1, false}, {row_off, border_value(ring.rows.value, ring.stage, lane), v});
      builder_->assign(to[static_cast<std::size_t>(c)], v);
    }
  }

  void store_row(StageId s, const Value& r, const std::vector<Value>& values) {
    const Lane lane = memory_lane(s);
    const ArrayPlace where = DeviceFunction::place(s);
    const i64 size = ir::nest::size_of(lane);
    Value due = both(less(y0_ - 1, r), less(r, y1_));
    builder_->branch(due, [&] {
      Value to = builder_->let("to", row(s, {r}));
      Value pointer = builder_->let("to", convert({lane, 1, true}, address(to, x_ * where.element_stride)));
      if (columns_inside_ && where.element_stride == size) {
        std::vector<Value> lanes{pointer};
        lanes.insert(lanes.end(), values.begin(), values.end());
        builder_->call(fmt::format("tsr_store_{}x{}", name_of(lane), columns_), std::move(lanes));
        return;
      }
      for (i64 c = 0; c < columns_; ++c) {
        auto put = [&] {
          builder_->store(pointer, integer(c * (where.element_stride / size)), values[static_cast<std::size_t>(c)]);
        };
        if (columns_inside_)
          put();
        else
          builder_->branch(less(x_ + c, cols_), put);
      }
    });
  }

  // ---- stages ----
  void compute(const plan::Pass& pass, const Value& y) {
    const bool inside = rows_inside_ && columns_inside_;
    // Stages of one pass may keep different columns and rows: each is computed for its own.
    for (StageId s : pass.stages) {
      Ring& ring = rings_[ring_of_.at(s)];
      Value r = builder_->let("row", y + ring.lag);
      index_ = {r, x_};
      std::vector<ExprId> roots;
      for (i64 c = -ring.left; c < columns_ + ring.right; ++c)
        roots.push_back(analyze::shift_columns(graph_, graph_.stage(s).body, rank_, c));
      if (inside && !operations_.contains(s)) operations_[s] = analyze::instruction_count(graph_, roots, contracted());
      mapped_rows_.clear();
      PointSource source = point_source();
      source.load = [&](const ExprNode& node, const std::map<std::uint32_t, Value>&) {
        return inside || !member(node.stage) ? kept(node, ring) : found(node, ring, r);
      };
      PointEmitter emitter(graph_, ranges_, *builder_, source);
      const Lane lane = memory_lane(s);
      std::vector<Value> results(roots.size());
      emitter.emit(roots, [&](std::size_t k, const Value& v) {
        Value out = emitter.stored(roots[k], v, lane);
        if (!inside) out = without_margins(s, r, x_ + (static_cast<i64>(k) - ring.left), out, lane);
        results[k] = builder_->let("v", out);
      });
      if (read_.contains(s))
        for (std::size_t k = 0; k < results.size(); ++k) builder_->assign(ring.at.back()[k], results[k]);
      if (is_result_.contains(s))
        store_row(s, r, {results.begin() + ring.left, results.begin() + ring.left + columns_});
    }
  }

  Value without_margins(StageId s, const Value& r, const Value& x, const Value& v, Lane lane) {
    const ir::Stage& stage = graph_.stage(s);
    Value evaluated;
    const std::vector<Value> at{r, x};
    for (std::size_t d = 0; d < 2; ++d) {
      if (stage.margin_lo[d] > 0) evaluated = both(evaluated, less(integer(stage.margin_lo[d] - 1), at[d]));
      if (stage.margin_hi[d] > 0)
        evaluated = both(evaluated, less(at[d], extent(stage.domain[d]) - stage.margin_hi[d]));
    }
    if (!evaluated) return v;
    return operation(Op::select, {lane, 1, false}, {evaluated, builder_->let("v", v), lane_constant(0, lane)});
  }

  // The register of an access; its column is the offset from the thread's first one.
  Value kept(const ExprNode& node, const Ring& to) {
    const Ring& from = rings_[ring_index(node)];
    const i64 slot = to.lag + node.index[0].offset - from.lag + from.depth - 1;
    return from.at.at(static_cast<std::size_t>(slot)).at(static_cast<std::size_t>(node.index[1].offset + from.left));
  }

  // The same where a border maps it elsewhere: among the rows and columns at hand.
  Value found(const ExprNode& node, const Ring& to, const Value& r) {
    const Ring& from = rings_[ring_index(node)];
    const Lane lane = memory_lane(node.stage);
    const Type type{lane, 1, false};
    Value row_off, column_off;
    const std::vector<Value>& row = mapped_row(node, from, to, r, row_off);
    const i64 own = node.index[1].offset;  // from x
    const BorderMode mode = node.border[1].mode;
    Value v = row.at(static_cast<std::size_t>(own + from.left));
    if (mode != BorderMode::none && mode != BorderMode::wrap) {
      Value m = builder_->let("m", call_i64("tsr_map", {integer(static_cast<i64>(mode)), x_ + own, cols_}));
      if (mode == BorderMode::constant) {
        column_off = less(m, integer(0));
      } else {
        for (i64 c = 0; c < static_cast<i64>(row.size()); ++c) {
          if (c == own + from.left) continue;
          Value here = operation(Op::eq, flag_type, {m, x_ + (c - from.left)});
          v = builder_->let("v", operation(Op::select, type, {here, row[static_cast<std::size_t>(c)], v}));
        }
      }
    }
    if (column_off)
      v = builder_->let(
          "v", operation(Op::select, type, {column_off, border_value(node.border[1].value, node.stage, lane), v}));
    if (row_off)
      v = builder_->let(
          "v", operation(Op::select, type, {row_off, border_value(node.border[0].value, node.stage, lane), v}));
    return v;
  }

  // The row of a ring that a border maps to; `off` where it is one of border values.
  const std::vector<Value>& mapped_row(const ExprNode& node, const Ring& from, const Ring& to, const Value& r,
                                       Value& off) {
    const BorderMode mode = node.border[0].mode;
    const i64 offset = node.index[0].offset, slot = to.lag + offset - from.lag + from.depth - 1;
    auto [place, fresh] = mapped_rows_.try_emplace({node.stage, offset, mode});
    if (fresh) {
      const std::vector<Value>& plain = from.at.at(static_cast<std::size_t>(slot));
      place->second.values = plain;
      if (!rows_inside_ && mode != BorderMode::none && mode != BorderMode::wrap) {
        Value m = builder_->let("m", call_i64("tsr_map", {integer(static_cast<i64>(mode)), r + offset, rows_}));
        if (mode == BorderMode::constant) {
          place->second.off = builder_->let("off", less(m, integer(0)));
        } else {
          for (std::size_t c = 0; c < plain.size(); ++c) {
            Value v = plain[c];
            for (i64 k = 0; k < from.depth; ++k) {
              if (k == slot) continue;
              Value here = operation(Op::eq, flag_type, {m, r + (from.lag - to.lag - from.depth + 1 + k)});
              v = builder_->let("v",
                                operation(Op::select, v->type, {here, from.at[static_cast<std::size_t>(k)][c], v}));
            }
            place->second.values[c] = v;
          }
        }
      }
    }
    off = place->second.off;
    return place->second.values;
  }

  struct MappedRow {
    std::vector<Value> values;
    Value off;
  };
  const plan::Group& group_;
  std::string why_;  // it cannot run so; "" when it can
  std::vector<StageId> order_;
  std::vector<Ring> rings_;
  std::map<StageId, std::size_t> ring_of_;
  std::map<ViewKey, std::size_t> views_;
  std::map<StageId, double> operations_;                                   // of a step inside
  std::set<StageId> is_result_, read_;                                     // leave the group; are read in it
  std::map<std::tuple<StageId, i64, BorderMode>, MappedRow> mapped_rows_;  // of the stage that is computed
  int columns_ = 4;
  bool rows_inside_ = false, columns_inside_ = false;  // of the text that is written
  i64 widest_ = 0, start_ = 0, margin_ = 0;
  Value rows_, cols_, x_, y0_, y1_;
};

}  // namespace

StreamFit stream_fit(plan::Plan& plan, const Interface& interface, analyze::Ranges& ranges, std::size_t group) {
  return StreamLowering(plan, interface, ranges, group, "").fit();
}

void lower_stream(plan::Plan& plan, const Interface& interface, analyze::Ranges& ranges, std::size_t group,
                  const StreamFit& fit, std::string name, DeviceProgram& program) {
  StreamLowering(plan, interface, ranges, group, std::move(name)).into(program, fit.columns);
}

}  // namespace tessera::lower
