// See device_stream.hpp. Which rows and columns are kept of every stage is of plan/strips.hpp, and so are the names:
// rates, lags, rings. Stages may differ in size: y counts the steps, x the columns of the coarsest rate, and a row or
// column of a stage is y or x times its rate and a constant. Composed stages compute nothing: their registers are those
// of their pieces.
#include "lower/device_stream.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "analyze/expressions.hpp"
#include "base/division.hpp"
#include "ir/build.hpp"
#include "lower/device_function.hpp"
#include "plan/strips.hpp"

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
using plan::StripRing;

namespace {

// Steps that rows are loaded before they are read: one, and of a group of few operations as many more as keep so many
// bytes a thread on their way. Measured on an H200.
constexpr i64 least_ahead = 1, most_ahead = 4, bytes_on_their_way = 40;
constexpr double few_operations = 30;
constexpr int warps_of_block = 4;  // each with a strip of its own
constexpr i64 most_unrolled = 12;

constexpr i64 bytes_of_access = 16;  // of one load or store of a thread

// Register tiles, see StreamLowering::tile_shape.
constexpr double most_text = 5200;  // instructions
// Of the cost of a point: four rows more, or halo columns from neighbours, have to save as much.
constexpr double worth_more_rows = 0.93, worth_more_rows_exchanged = 0.97;
constexpr double worth_exchange = 0.87;
constexpr i64 least_threads = 20;  // of a warp that store
constexpr i64 sector_columns = 8;  // tiles begin at so many: whole sectors of memory, of floats
constexpr double price_of_shuffle = 2;

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
    for (const plan::Pass& pass : group_.passes) order_.insert(order_.end(), pass.stages.begin(), pass.stages.end());
    is_result_.insert(group_.results.begin(), group_.results.end());
    for (StageId s : order_) reads_.emplace(s, plan::strip_reads(graph_, s));
    strip_ = plan::strip_of(
        graph_, order_, [&](StageId s) -> const plan::StripReads& { return reads_.at(s); },
        [&](StageId s) { return is_result_.contains(s); },
        [&](StageId s) -> const std::vector<plan::StagePlan::Rate>& { return plan_.stages[s].rate; });
    if (!strip_.why.empty()) return;
    strip_.look_ahead(least_ahead);
    for (std::size_t k = 0; k < order_.size(); ++k) ring_of_[order_[k]] = k;
    for (const auto& [s, reads] : reads_)
      for (const plan::StripRead& r : reads.reads) read_.insert(r.stage);
    find_domain();
  }

  StreamFit fit() {
    StreamFit result;
    result.why = strip_.why;
    if (!result.why.empty()) return result;
    const int limit = plan_.device.strip_registers;
    strip_.look_ahead(-least_ahead);  // tiles ask for every row at once
    if (plan_.options.schedule == Schedule::automatic && choose_tile(result)) return result;
    strip_.look_ahead(least_ahead);
    result.columns = columns_ = strip_.columns_for(limit, [&](StageId s) { return bytes_of(s); });
    result.registers = registers();
    result.fits = result.registers <= limit;
    if (!result.fits) result.why = fmt::format("its rings need {} registers a thread", result.registers);
    return result;
  }

  void into(DeviceProgram& program, const StreamFit& fit) {
    const i64 height = fit.height;
    const int v = columns_ = fit.columns;
    if (height > 0)
      strip_.look_ahead(-least_ahead);  // every row is asked for at once
    else
      look_ahead();
    kernel_.threads = {32, warps_of_block, 1};
    kernel_.points.assign(rank_, 1);
    kernel_.points.back() = 32 * v;
    kernel_.strips = true;
    kernel_.stages = order_;
    kernel_.columns = v;
    const int estimate = kernel_.registers = fit.registers;
    kernel_.blocks_at_once = estimate <= (height > 0 ? plan::wide_strip_registers : 100) ? 4
                             : estimate <= plan::wide_strip_registers                    ? 3
                                                                                         : 0;
    kernel_.warm_up = -strip_.start;
    for (const StripRing& ring : strip_.rings) {
      if (ring.depth == 0) continue;
      at_least(domain_of(ring)[0], 2 * (ring.depth + std::max(ring.lag, -ring.lag)) + 1);
      at_least(domain_of(ring)[1], 2 * (ring.left + ring.right) + 1);
    }
    ir::nest::Function function;
    function.name = kernel_.name;
    function.essay = fmt::format("{} of {} columns a thread, about {} registers",
                                 height > 0 ? fmt::format("tiles of {} rows", height) : "strips", v, estimate);
    Builder builder(function.body);
    builder_ = &builder;
    if (height > 0) {
      if (fit.exchanges) exchange();
      find_frame(height);
      Value block = builder.let("block", call_i64("tsr_block", {}));
      builder.branch(
          less(block, framed(Framed::blocks)), [&] { frame(block); }, [&] { tile(block - framed(Framed::blocks)); });
      count();
      if (fit.exchanges) strip_ = together_;
    } else {
      place();
      builder.branch(
          operation(Op::bit_and, flag_type, {less(x_.at(1), extent(kernel_.domain[1])), less(y0_, end_of(0))}),
          [&] { strip(); });
      count();
    }
    touch();
    finish(std::move(function), program);
  }

 private:
  // ---- what the group needs ----
  const StripRing& ring_of(StageId s) const { return strip_.rings[ring_of_.at(s)]; }
  bool member(StageId s) const { return ring_of_.contains(s); }
  const std::vector<ir::SizeId>& domain_of(const StripRing& ring) const { return graph_.stage(ring.stage).domain; }

  // Steps and columns that compute every row and column of the results.
  void find_domain() {
    for (std::size_t d = 0; d < 2; ++d) {
      std::optional<ir::SizeId> most;
      for (StageId s : is_result_) {
        const i64 rate = ring_of(s).rate[d];
        ir::SizeId n = graph_.stage(s).domain[d];
        if (rate > 1) n = graph_.size_floor_div(graph_.size_binary(ir::SizeOp::add, n, graph_.size(rate - 1)), rate);
        most = !most || ir::at_most(graph_, *most, n) ? n
               : ir::at_most(graph_, n, *most)        ? *most
                                                      : graph_.size_binary(ir::SizeOp::max, *most, n);
      }
      kernel_.domain[d] = *most;
    }
  }

  // Images smaller than their halo are not worth strips. Stages that are small since they are the coarse levels of a
  // large image are right all the same: a border maps a row to one that is no farther than it is itself.
  void at_least(ir::SizeId size, i64 n) {
    for (const ir::Argument& a : graph_.arguments)
      if (std::find(a.extents.begin(), a.extents.end(), size) != a.extents.end())
        kernel_.least[size] = std::max(kernel_.least[size], n);
  }

  std::size_t ring_index(const ExprNode& node, const StripRing& to) const {
    auto own = ring_of_.find(node.stage);
    if (own != ring_of_.end()) return own->second;
    return strip_.ring(node.stage, {node.border[0], node.border[1]},
                       {to.rate[0] * node.index[0].scale, to.rate[1] * node.index[1].scale});
  }

  int bytes_of(StageId s) const { return ir::nest::size_of(memory_lane(s)); }
  int registers() const {
    return strip_.registers(columns_, [&](StageId s) { return bytes_of(s); });
  }

  // Elements of one load or store of a ring's columns: they begin at multiples of as many.
  i64 vector_of(const StripRing& r) const {
    const i64 size = bytes_of(r.stage);
    for (const i64 lanes : {16, 8, 4, 2})
      if (r.own(columns_) % lanes == 0 && lanes * size <= bytes_of_access) return lanes;
    return 1;
  }
  // Columns that are loaded for some beside the thread's own: whole vectors, of the last one no more than needed.
  i64 load_beside(const StripRing& r, i64 columns) const {
    const i64 vector = vector_of(r), rest = columns % vector;
    return columns - rest + (rest > 0 ? last_vector(r, rest) : 0);
  }
  i64 last_vector(const StripRing& r, i64 columns) const {
    i64 lanes = std::min<i64>(vector_of(r), std::max(1, 4 / bytes_of(r.stage)));
    while (lanes < columns) lanes *= 2;
    return lanes;
  }
  i64 load_left(const StripRing& r) const { return load_beside(r, r.left); }
  i64 load_right(const StripRing& r) const { return load_beside(r, r.right); }
  // Loads of a row: the first column and how many.
  std::vector<std::pair<i64, i64>> loads_of(const StripRing& r) const {
    const i64 vector = vector_of(r), end = r.own(columns_) + r.right;
    std::vector<std::pair<i64, i64>> loads;
    if (r.left % vector > 0) loads.emplace_back(-load_left(r), last_vector(r, r.left % vector));
    for (i64 c = -(r.left / vector * vector); c < end; c += vector)
      loads.emplace_back(c, end - c < vector ? last_vector(r, end - c) : vector);
    return loads;
  }

  // What a point of the domain costs inside: of a strip a step's share, of a tile that of the whole text.
  void count() {
    const auto share = [&](const StripRing& ring) {
      if (!kernel_.frame) return 1.0;
      return static_cast<double>(rows_of_tile(ring, kernel_.frame->height)) /
             static_cast<double>(kernel_.frame->height);
    };
    for (const auto& [s, operations] : operations_) {
      const StripRing& ring = ring_of(s);
      kernel_.operations += operations * share(ring) / (kernel_.frame ? static_cast<double>(ring.fresh()) : 1);
    }
    for (const StripRing& r : strip_.rings)
      if (r.memory)
        kernel_.moves +=
            (kernel_.frame ? share(r) : static_cast<double>(r.fresh())) * static_cast<double>(loads_of(r).size());
    if (exchanging())
      for (const StripRing& r : strip_.rings)
        if (!r.memory && r.depth > 0) kernel_.moves += share(r) * static_cast<double>(r.left + r.right);
    for (StageId s : is_result_) {
      const StripRing& r = ring_of(s);
      kernel_.moves += static_cast<double>(r.rate[0] * r.own(columns_)) / static_cast<double>(vector_of(r));
    }
    const double points = static_cast<double>(columns_ * threads_of_tile()) / 32;
    kernel_.operations /= points;
    kernel_.moves /= points;
  }
  static i64 rows_of_tile(const StripRing& ring, i64 height) { return ring.rate[0] * height + ring.lag - ring.first; }

  // What rows of the domain touch: those that warm a strip up, and those that are loaded ahead, as well.
  void touch() {
    for (const StripRing& ring : strip_.rings) {
      const i64 rate = ring.rate[0];
      if (ring.memory && ring.depth > 0)
        reads(ring.stage, {.scale = rate,
                           .lo = rate * strip_.start + ring.first_fresh(),
                           .hi = ring.lag + rate - 1,
                           .reflects = reflects(ring.border[0].mode),
                           .wraps = ring.border[0].mode == BorderMode::wrap});
    }
    for (StageId s : is_result_) writes(s, {.scale = ring_of(s).rate[0], .lo = 0, .hi = ring_of(s).rate[0] - 1});
    for (const auto& [s, read] : reads_)
      for (StageId from : read.gathered) reads(from, {.whole = true});
  }

  // For the chosen columns.
  void look_ahead() {
    double operations = 0;
    i64 step = 1;  // bytes of the largest part of a step's loads
    for (StageId s : order_) {
      if (graph_.stage(s).kind != ir::StageKind::point) continue;
      const StripRing& ring = ring_of(s);
      operations += static_cast<double>(ring.fresh() * ring.rate[1]) *
                    analyze::instruction_count(graph_, {graph_.stage(s).body}, contracted());
    }
    if (operations > few_operations) return;
    for (const StripRing& ring : strip_.rings)
      if (ring.memory) step = std::max(step, ring.fresh() * ring.own(columns_) * bytes_of(ring.stage));
    const i64 more = std::clamp((bytes_on_their_way + step - 1) / step, least_ahead, most_ahead) - least_ahead;
    strip_.look_ahead(more);
    if (registers() > plan::wide_strip_registers) strip_.look_ahead(-more);
  }

  // Columns, from its first one, that a thread computes of a stage.
  std::pair<i64, i64> computed_columns(const StripRing& ring) const {
    if (exchanging()) return {0, ring.own(columns_)};
    return {-ring.left, ring.own(columns_) + ring.right};
  }

  // Instructions of a tile's text: without those that only find out where it lies.
  double text(i64 height) {
    double sum = 0;
    for (const StripRing& ring : strip_.rings) {
      if (ring.depth == 0) continue;
      const double rows = static_cast<double>(rows_of_tile(ring, height));
      if (ring.memory) {
        sum += rows * static_cast<double>(loads_of(ring).size());
      } else if (graph_.stage(ring.stage).kind == ir::StageKind::point) {
        std::vector<ExprId> roots;
        const auto [first, last] = computed_columns(ring);
        for (i64 c = first; c < last; ++c)
          roots.push_back(analyze::shift_columns(graph_, graph_.stage(ring.stage).body, rank_, c));
        sum += rows * analyze::instruction_count(graph_, roots, contracted());
      }
      if (!ring.memory && exchanging()) sum += rows * static_cast<double>(ring.left + ring.right) * price_of_shuffle;
      if (is_result_.contains(ring.stage))
        sum += static_cast<double>(ring.rate[0] * height * ring.own(columns_) / vector_of(ring));
    }
    return sum;
  }

  // Columns of a thread, as many as one access holds, and rows of a tile that suit the group, where it has some.
  // Measured on an H200: a tile loads and computes its halo rows beside its own, so eight beat four, but a text that
  // does not fit the instruction cache loses more than that; more pay where stages in between are computed again.
  bool choose_tile(StreamFit& fit) {
    int widest = 1;
    for (const StripRing& ring : strip_.rings) widest = std::max(widest, bytes_of(ring.stage));
    double least = 0;
    const auto consider = [&] {
      if (registers() > plan_.device.strip_registers || threads_of_tile() < least_threads) return;
      const auto cost = [&](i64 height) {
        return text(height) / static_cast<double>(height * columns_ * threads_of_tile());
      };
      i64 height = text(8) <= most_text ? 8 : 4;
      if (text(height) > most_text) return;
      const double worth = exchanging() ? worth_more_rows_exchanged : worth_more_rows;
      while (height >= 8 && height < 16 && text(height + 4) <= most_text && cost(height + 4) < worth * cost(height))
        height += 4;
      const double price = cost(height) / (exchanging() ? worth_exchange : 1);
      if (fit.fits && price >= least) return;
      least = price;
      fit = {true, "", columns_, height, exchanging(), registers()};
    };
    for (i64 v = std::max<i64>(widest <= 2 ? 8 : 4, strip_.finest) / strip_.finest; v * strip_.finest > 1 && !fit.fits;
         v /= 2) {
      columns_ = static_cast<int>(v);
      consider();
      if (!plan_.device.shuffles) continue;
      exchange();
      if (threads_of_tile() < 32) consider();
      strip_ = together_, halo_ = {};
    }
    return fit.fits;
  }

  // From here on a thread computes its own columns alone. Threads at the ends of a warp miss what their neighbours
  // would give them; so many there store nothing.
  void exchange() {
    together_ = strip_;
    halo_ = {};
    for (const StripRing& ring : strip_.rings) {
      if (ring.memory || ring.depth == 0) continue;
      halo_[0] = std::max(halo_[0], base::ceil_divide(ring.left, ring.own(columns_)));
      halo_[1] = std::max(halo_[1], base::ceil_divide(ring.right, ring.own(columns_)));
    }
    while ((halo_[0] + halo_[1]) * columns_ % sector_columns != 0) ++halo_[1];
    strip_ = strip_.exchanged();
  }
  bool exchanging() const { return halo_[0] + halo_[1] > 0; }
  i64 threads_of_tile() const { return 32 - halo_[0] - halo_[1]; }

  // Where nothing that tiles read is outside.
  void find_frame(i64 height) {
    const auto [from, to] = steps_inside();
    DeviceKernel::Frame& f = kernel_.frame.emplace();
    f.height = height;
    f.top = from - strip_.start, f.bottom = to;
    f.right = kernel_.domain[1];
    for (const StripRing& ring : strip_.rings) {
      if (ring.depth == 0) continue;
      const auto [left, right] = columns_beside(ring);
      const i64 own = ring.own(columns_);
      f.left = std::max(f.left, base::ceil_divide(left + halo_[0] * own, ring.rate[1]));
      f.right = smaller(f.right, steps(domain_of(ring)[1], -right - halo_[1] * own, ring.rate[1]));
    }
    f.left = base::ceil_divide(f.left, 32) * 32;
    kernel_.points.back() = threads_of_tile() * columns_;
  }
  enum class Framed : std::uint8_t { blocks, across, top, bottom, left, right, above, below, at_left };
  Value framed(Framed what) { return host({Kind::frame, {}, 0, static_cast<std::size_t>(what)}); }

  // All steps in one text.
  void tile(const Value& block) {
    const i64 height = kernel_.frame->height, width = threads_of_tile() * columns_;
    Value tile = builder_->let("tile", block), across = framed(Framed::across);
    Value level = builder_->let("level", call_i64("tsr_quotient", {tile, across}));
    Value column = framed(Framed::left) + (tile - level * across) * width;
    Value thread = builder_->let("thread", call_i64("tsr_thread_x", {}) - halo_[0]);
    place_columns(min(column, framed(Framed::right) - width) + thread * columns_);
    if (exchanging())
      stores_ = builder_->let("stores", both(less(integer(-1), thread), less(thread, integer(threads_of_tile()))));
    Value first =
        builder_->let("y", framed(Framed::top) + (level * warps_of_block + call_i64("tsr_thread_y", {})) * height);
    builder_->branch(less(first, framed(Framed::bottom)), [&] {
      y0_ = builder_->let("y0", min(first, framed(Framed::bottom) - height));
      declare_rings();
      rows_inside_ = columns_inside_ = true;
      for (i64 k = strip_.start; k < height; ++k) {
        known_step_ = k;
        step(builder_->let("y", y0_ + k));
      }
      known_step_.reset();
    });
    stores_.reset();
  }

  // A column a thread, one step after the other.
  void frame(const Value& block) {
    const auto choose = [](const Value& flag, const Value& then, const Value& otherwise) {
      return operation(Op::select, index_type, {flag, then, otherwise});
    };
    const Value top = framed(Framed::top), bottom = framed(Framed::bottom), right = framed(Framed::right);
    Value warp = builder_->let("warp", block * warps_of_block + call_i64("tsr_thread_y", {}));
    Value beyond_above = builder_->let("beyond", warp - framed(Framed::above));
    Value beyond_below = builder_->let("beyond", beyond_above - framed(Framed::below));
    Value beyond_left = builder_->let("beyond", beyond_below - framed(Framed::at_left));
    Value above = builder_->let("above", less(beyond_above, integer(0)));
    Value rows = builder_->let("whole", less(beyond_below, integer(0)));  // of all columns: above or below
    Value left = builder_->let("left", less(beyond_left, integer(0)));
    Value number = builder_->let(
        "number", choose(above, warp, choose(rows, beyond_above, choose(left, beyond_below, beyond_left))));
    Value first_row_of = choose(above, first_row(), choose(rows, bottom, top));
    Value end_row = choose(above, top, choose(rows, end_of(0), bottom));
    Value first_column = choose(rows, integer(0), choose(left, integer(0), right));
    Value end_column = builder_->let(
        "end", choose(rows, extent(kernel_.domain[1]), choose(left, framed(Framed::left), extent(kernel_.domain[1]))));
    Value columns = builder_->let("columns", first_column);
    Value across = builder_->let("across", call_i64("tsr_quotient", {end_column - columns + 31, integer(32)}));
    across = builder_->let("across", max(across, integer(1)));
    Value level = builder_->let("level", call_i64("tsr_quotient", {number, across}));
    const int own = std::exchange(columns_, 1);
    const plan::Strip text = strip_;
    const auto halo = std::exchange(halo_, {});
    if (halo != halo_) strip_ = together_;
    place_columns(columns + (number - level * across) * 32 + call_i64("tsr_thread_x", {}));
    y0_ = builder_->let("y0", first_row_of + level * kernel_.frame->height);
    y1_ = builder_->let("y1", min(y0_ + kernel_.frame->height, end_row));
    builder_->branch(both(less(x_.at(1), end_column), less(y0_, y1_)), [&] {
      rows_inside_ = columns_inside_ = false;
      declare_rings();
      builder_->loop("y", builder_->let("start", y0_ + strip_.start), y1_, integer(1),
                     [&](const Value& y) { step(y); });
    });
    columns_ = own;
    strip_ = text;
    halo_ = halo;
    at_.clear();
  }

  // ---- threads ----
  void place() {
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
    place_columns(column * (32 * columns_) + call_i64("tsr_thread_x", {}) * columns_);
    y0_ = builder_->let("y0", first_row() + strip * height);
    y1_ = builder_->let("y1", min(y0_ + height, end_of(0)));
  }

  // The thread's first column.
  void place_columns(const Value& first) {
    x_.clear();
    x_[1] = builder_->let("x", first);
    for (const StripRing& ring : strip_.rings)
      if (!x_.contains(ring.rate[1])) x_[ring.rate[1]] = builder_->let("x", x_.at(1) * ring.rate[1]);
  }

  i64 margin_of(StageId s, std::size_t d) const {
    const ir::Stage& stage = graph_.stage(s);
    return stage.margin_lo.empty() ? 0 : std::max(stage.margin_lo[d], stage.margin_hi[d]);
  }

  // Columns that a thread loads or computes left and right of its own.
  std::pair<i64, i64> columns_beside(const StripRing& ring) const {
    const i64 margin = ring.memory ? 0 : margin_of(ring.stage, 1);
    return ring.memory ? std::pair(load_left(ring), load_right(ring))
                       : std::pair(ring.left + margin, ring.right + margin);
  }

  // Are all columns of the thread and beside them inside?
  Value columns_inside() {
    std::map<std::pair<ir::SizeId, i64>, std::pair<i64, i64>> reach;  // of an extent and a rate
    for (const StripRing& ring : strip_.rings) {
      if (ring.depth == 0) continue;
      const auto [left, right] = columns_beside(ring);
      auto& most = reach[{domain_of(ring)[1], ring.rate[1]}];
      most = {std::max(most.first, left), std::max(most.second, right)};
    }
    Value all;
    for (const auto& [key, beside] : reach) {
      const auto& [size, rate] = key;
      if (beside.first > 0) all = both(all, less(integer(beside.first - 1), x_.at(rate)));
      all = both(all, less(x_.at(rate) + (rate * columns_ + beside.second - 1), extent(size)));
    }
    return builder_->let("inside", all);
  }

  // The steps [from, to) whose rows, and those of all slots, are inside.
  std::pair<i64, ir::SizeId> steps_inside() {
    i64 from = 0;
    ir::SizeId to = kernel_.domain[0];
    for (const StripRing& ring : strip_.rings) {
      if (ring.depth == 0) continue;
      const i64 rate = ring.rate[0], margin = ring.memory ? 0 : margin_of(ring.stage, 0);
      from = std::max(from, -base::floor_divide(ring.oldest() - margin, rate));
      to = smaller(to, steps(domain_of(ring)[0], -ring.lag - margin, rate));
    }
    return {from, to};
  }
  // (size + more) / rate, rounded down.
  ir::SizeId steps(ir::SizeId size, i64 more, i64 rate) {
    const ir::SizeId sum = graph_.size_binary(ir::SizeOp::add, size, graph_.size(more));
    return rate > 1 ? graph_.size_floor_div(sum, rate) : sum;
  }
  ir::SizeId smaller(ir::SizeId a, ir::SizeId b) {
    return ir::at_most(graph_, a, b) ? a : ir::at_most(graph_, b, a) ? b : graph_.size_binary(ir::SizeOp::min, a, b);
  }

  void strip() {
    Value inside_columns = columns_inside();
    const auto [from, to] = steps_inside();
    Value start = builder_->let("start", y0_ + strip_.start);
    Value a = builder_->let("a", call_i64("tsr_clamp", {integer(from), start, y1_}));
    Value b = builder_->let("b", call_i64("tsr_clamp", {extent(to), a, y1_}));
    declare_rings();
    // As many turns at once as a source has slots: its rows then move by renaming, and nobody waits for a load.
    i64 unroll = 1;
    for (const StripRing& ring : strip_.rings)
      if (ring.memory) unroll = std::max(unroll, (ring.depth + ring.rate[0] - 1) / ring.rate[0]);
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

  bool is_kept(const StripRing& ring) const { return ring.depth > 0 && (ring.memory || read_.contains(ring.stage)); }

  void declare_rings() {
    at_.resize(strip_.rings.size());
    for (std::size_t k = 0; k < at_.size(); ++k) {
      const StripRing& ring = strip_.rings[k];
      if (!is_kept(ring)) continue;
      const Lane lane = register_lane(ring.stage);
      at_[k].resize(static_cast<std::size_t>(ring.depth));
      for (auto& slot : at_[k])
        for (i64 c = 0; c < ring.columns(columns_); ++c) slot.push_back(builder_->var("r", lane_constant(0, lane)));
    }
  }

  void step(const Value& y) {
    y_ = y;
    for (std::size_t k = 0; k < at_.size(); ++k) {
      const auto rate = static_cast<std::size_t>(strip_.rings[k].rate[0]);
      for (std::size_t j = 0; j + rate < at_[k].size(); ++j)
        for (std::size_t c = 0; c < at_[k][j].size(); ++c) builder_->assign(at_[k][j][c], at_[k][j + rate][c]);
    }
    for (std::size_t k = order_.size(); k < at_.size(); ++k) {
      const StripRing& ring = strip_.rings[k];
      for (i64 j = ring.depth - ring.fresh(); j < ring.depth; ++j)
        load_row(ring, y * ring.rate[0] + (ring.oldest() + j), at_[k][static_cast<std::size_t>(j)]);
    }
    for (StageId s : order_) compute(s);
  }

  // ---- memory ----
  void load_row(const StripRing& ring, const Value& at_row_index, const std::vector<Value>& to) {
    const auto& domain = domain_of(ring);
    const Lane lane = memory_lane(ring.stage), kept_lane = register_lane(ring.stage);
    const Type type{kept_lane, 1, false};
    const ArrayPlace where = DeviceFunction::place(ring.stage);
    const i64 size = ir::nest::size_of(lane);
    const Value& x = x_.at(ring.rate[1]);
    Value r = builder_->let("row", at_row_index);
    if (columns_inside_) {
      Value from = builder_->let("from", row(ring.stage, {r}));
      Value pointer = builder_->let("from", convert({lane, 1, true}, address(from, x * where.element_stride)));
      if (where.element_stride == size && vector_of(ring) > 1) {
        for (const auto& [c, lanes_at_once] : loads_of(ring)) {
          if (lanes_at_once == 1) {
            builder_->assign(to[static_cast<std::size_t>(c + ring.left)], convert(type, load(pointer, integer(c), 1)));
            continue;
          }
          std::vector<Value> lanes{address(pointer, integer(c))};
          for (i64 k = 0; k < lanes_at_once; ++k) {
            const i64 at = c + k + ring.left;
            const bool kept = at >= 0 && at < static_cast<i64>(to.size());
            lanes.push_back(kept ? to[static_cast<std::size_t>(at)]
                                 : ir::nest::variable("tsr_unused", {lane, 1, false}));
          }
          builder_->call(fmt::format("tsr_load_{}x{}", name_of(lane), lanes_at_once), std::move(lanes));
        }
        return;
      }
      for (i64 c = 0; c < static_cast<i64>(to.size()); ++c)
        builder_->assign(to[static_cast<std::size_t>(c)],
                         convert(type, load(pointer, integer((c - ring.left) * (where.element_stride / size)), 1)));
      return;
    }
    auto mapped = [&](const Border& border, const Value& i, const Value& n, Value& off) {
      const BorderMode mode = border.mode == BorderMode::none ? BorderMode::clamp : border.mode;
      return mapped_index(mode, i, n, off);
    };
    Value row_off;
    Value at_row = rows_inside_ ? r : mapped(ring.border[0], r, extent(domain[0]), row_off);
    Value from = builder_->let("from", row(ring.stage, {at_row}));
    for (i64 c = 0; c < static_cast<i64>(to.size()); ++c) {
      Value column_off;
      Value at = mapped(ring.border[1], x + (c - ring.left), extent(domain[1]), column_off);
      Value v = convert(type, load(convert({lane, 1, true}, address(from, at * where.element_stride)), integer(0), 1));
      if (column_off)
        v = operation(Op::select, type, {column_off, border_value(ring.border[1].value, ring.stage, kept_lane), v});
      if (row_off)
        v = operation(Op::select, type, {row_off, border_value(ring.border[0].value, ring.stage, kept_lane), v});
      builder_->assign(to[static_cast<std::size_t>(c)], v);
    }
  }

  // The rows of a result that a step computes, those of this strip alone.
  void store_rows(StageId s, const Value& first, const std::vector<std::vector<Value>>& rows) {
    const StripRing& ring = ring_of(s);
    const auto& domain = graph_.stage(s).domain;
    const bool exact = ring.rate[0] == 1 && domain[0] == kernel_.domain[0];  // the domain ends where its rows end
    for (std::size_t k = 0; k < rows.size();) {
      // Rows of the same step of the domain.
      const i64 step = base::floor_divide(ring.first_fresh() + static_cast<i64>(k), ring.rate[0]);
      std::size_t end = k;
      while (end < rows.size() && base::floor_divide(ring.first_fresh() + static_cast<i64>(end), ring.rate[0]) == step)
        ++end;
      const auto store = [&] {
        for (; k < end; ++k) {
          Value r = builder_->let("row", first + static_cast<i64>(k));
          if (exact || rows_inside_)
            store_row(s, r, rows[k]);
          else
            builder_->branch(less(r, extent(domain[0])), [&] { store_row(s, r, rows[k]); });
        }
      };
      if (known_step_) {
        if (*known_step_ + step >= 0 && *known_step_ + step < kernel_.frame->height)
          stores_ ? builder_->branch(stores_, store) : store();
      } else {
        Value at = builder_->let("at", y_ + step);
        builder_->branch(both(less(y0_ - 1, at), less(at, y1_)), store);
      }
      k = end;
    }
  }

  void store_row(StageId s, const Value& r, const std::vector<Value>& values) {
    const StripRing& ring = ring_of(s);
    const Lane lane = memory_lane(s);
    const ArrayPlace where = DeviceFunction::place(s);
    const i64 size = ir::nest::size_of(lane), lanes_at_once = vector_of(ring);
    const Value& x = x_.at(ring.rate[1]);
    Value to = builder_->let("to", row(s, {r}));
    Value pointer = builder_->let("to", convert({lane, 1, true}, address(to, x * where.element_stride)));
    const auto value = [&](i64 c) {
      return convert({lane, 1, false}, values[static_cast<std::size_t>(ring.left + c)]);
    };
    if (columns_inside_ && where.element_stride == size && lanes_at_once > 1) {
      for (i64 c = 0; c < ring.own(columns_); c += lanes_at_once) {
        std::vector<Value> lanes{address(pointer, integer(c))};
        for (i64 k = 0; k < lanes_at_once; ++k) lanes.push_back(value(c + k));
        builder_->call(fmt::format("tsr_store_{}x{}", name_of(lane), lanes_at_once), std::move(lanes));
      }
      return;
    }
    for (i64 c = 0; c < ring.own(columns_); ++c) {
      auto put = [&] { builder_->store(pointer, integer(c * (where.element_stride / size)), value(c)); };
      if (columns_inside_)
        put();
      else
        builder_->branch(less(x + c, extent(graph_.stage(s).domain[1])), put);
    }
  }

  // ---- stages ----
  void compute(StageId s) {
    const StripRing& ring = ring_of(s);
    if (ring.depth == 0) return;
    Value r = builder_->let("row", y_ * ring.rate[0] + ring.first_fresh());
    std::vector<std::vector<Value>> rows(static_cast<std::size_t>(ring.fresh()));
    for (auto& row : rows) row.resize(static_cast<std::size_t>(ring.columns(columns_)));
    if (graph_.stage(s).kind == ir::StageKind::compose)
      put_together(s, rows);
    else
      evaluate(s, r, rows);
    if (exchanging() && columns_inside_) take_from_neighbours(ring, rows);
    if (is_kept(ring)) {
      auto& slots = at_[ring_of_.at(s)];
      for (std::size_t k = 0; k < rows.size(); ++k)
        for (std::size_t c = 0; c < rows[k].size(); ++c)
          builder_->assign(slots[slots.size() - rows.size() + k][c], rows[k][c]);
    }
    if (is_result_.contains(s)) store_rows(s, r, rows);
  }

  // The columns beside those of the thread.
  void take_from_neighbours(const StripRing& ring, std::vector<std::vector<Value>>& rows) {
    const i64 own = ring.own(columns_);
    for (std::vector<Value>& row : rows)
      for (i64 c = -ring.left; c < own + ring.right; ++c) {
        const i64 away = base::floor_divide(c, own);
        if (away == 0) continue;
        const Value& theirs = row[static_cast<std::size_t>(ring.left + c - away * own)];
        row[static_cast<std::size_t>(ring.left + c)] = builder_->let(
            "v", ir::nest::call("tsr_of_thread", theirs->type, {theirs, integer(away, {Lane::i32, 1, false})}));
      }
  }

  // All points of a step as one expression: what they have in common is computed once.
  void evaluate(StageId s, const Value& r, std::vector<std::vector<Value>>& rows) {
    const bool inside = rows_inside_ && columns_inside_;
    const StripRing& ring = ring_of(s);
    const Value& x = x_.at(ring.rate[1]);
    index_ = {r, x};
    domain_ = graph_.stage(s).domain;
    std::vector<ExprId> roots;
    const auto [first, last] = computed_columns(ring);
    const i64 width = last - first;
    for (std::size_t k = 0; k < rows.size(); ++k) {
      const ExprId body = analyze::shift_rows(graph_, graph_.stage(s).body, rank_, static_cast<i64>(k));
      for (i64 c = first; c < last; ++c) roots.push_back(analyze::shift_columns(graph_, body, rank_, c));
    }
    if (inside && !operations_.contains(s)) operations_[s] = analyze::instruction_count(graph_, roots, contracted());
    mapped_rows_.clear();
    PointSource source = point_source();
    source.load = [&](const ExprNode& node, const std::map<std::uint32_t, Value>&) {
      return inside || !member(node.stage) ? kept(node, ring) : found(node, ring, r);
    };
    PointEmitter emitter(graph_, ranges_, *builder_, source);
    const Lane lane = register_lane(s);
    emitter.emit(roots, [&](std::size_t root, const Value& v) {
      const std::size_t k = root / static_cast<std::size_t>(width);
      const i64 c = first + static_cast<i64>(root) % width;
      Value out = emitter.stored(roots[root], v, lane);
      if (!inside) out = without_margins(s, {r + static_cast<i64>(k), x + c}, out, lane);
      rows[k][static_cast<std::size_t>(ring.left + c)] = builder_->let("v", out);
    });
  }

  void put_together(StageId s, std::vector<std::vector<Value>>& rows) {
    const StripRing& ring = ring_of(s);
    const Type type{register_lane(s), 1, false};
    for (const plan::StripRead& piece : reads_.at(s).reads) {
      const auto &across = piece.dims[1], &down = piece.dims[0];
      const std::size_t from =
          strip_.ring(piece.stage, {down.border, across.border}, {ring.rate[0] / down.div, ring.rate[1] / across.div});
      const StripRing& source = strip_.rings[from];
      for (std::size_t k = 0; k < rows.size(); ++k) {
        const i64 row = ring.first_fresh() + static_cast<i64>(k) + down.lo;
        if (row % down.div != 0) continue;
        const auto& slot = at_[from].at(static_cast<std::size_t>(row / down.div - source.oldest()));
        const auto [first, last] = computed_columns(ring);
        for (i64 c = first; c < last; ++c) {
          const i64 column = c + across.lo;
          if (column % across.div == 0)
            rows[k][static_cast<std::size_t>(ring.left + c)] =
                convert(type, slot.at(static_cast<std::size_t>(column / across.div + source.left)));
        }
      }
    }
  }

  // The slot and the column of an access; its column is the offset from the thread's first one.
  static std::size_t slot_of(const ExprNode& node, const StripRing& from, const StripRing& to) {
    return static_cast<std::size_t>(node.index[0].scale * to.first_fresh() + node.index[0].offset - from.oldest());
  }
  static std::size_t column_of(const ExprNode& node, const StripRing& from) {
    return static_cast<std::size_t>(node.index[1].offset + from.left);
  }

  Value kept(const ExprNode& node, const StripRing& to) {
    const std::size_t k = ring_index(node, to);
    const StripRing& from = strip_.rings[k];
    return at_[k].at(slot_of(node, from, to)).at(column_of(node, from));
  }

  // How far from where it points a border may map an access.
  std::pair<i64, i64> mapped_by(const ExprNode& node, const StripRing& to, std::size_t d) const {
    std::pair<i64, i64> span{0, 0};
    for (const plan::StripRead& r : reads_.at(to.stage).reads)
      if (r.stage == node.stage && r.dims[d].border == node.border[d])
        span = {std::min(span.first, r.dims[d].least - r.dims[d].hi),
                std::max(span.second, r.dims[d].most - r.dims[d].lo)};
    return span;
  }

  // The same where a border maps it elsewhere: among the rows and columns at hand.
  Value found(const ExprNode& node, const StripRing& to, const Value& r) {
    const StripRing& from = strip_.rings[ring_index(node, to)];
    const Lane lane = register_lane(node.stage);
    const Type type{lane, 1, false};
    Value row_off, column_off;
    const std::vector<Value>& row = mapped_row(node, to, r, row_off);
    const std::size_t own = column_of(node, from);
    const BorderMode mode = node.border[1].mode;
    const Value& x = x_.at(from.rate[1]);
    Value v = row.at(own);
    if (mode != BorderMode::none && mode != BorderMode::wrap) {
      Value m = builder_->let("m", call_i64("tsr_map", {integer(static_cast<i64>(mode)), x + node.index[1].offset,
                                                        extent(domain_of(from)[1])}));
      if (mode == BorderMode::constant) {
        column_off = less(m, integer(0));
      } else {
        const auto [least, most] = mapped_by(node, to, 1);
        for (i64 c = 0; c < static_cast<i64>(row.size()); ++c) {
          const i64 away = c - static_cast<i64>(own);
          if (away == 0 || away < least || away > most) continue;
          Value here = operation(Op::eq, flag_type, {m, x + (c - from.left)});
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
  const std::vector<Value>& mapped_row(const ExprNode& node, const StripRing& to, const Value& r, Value& off) {
    const std::size_t ring = ring_index(node, to);
    const StripRing& from = strip_.rings[ring];
    const BorderMode mode = node.border[0].mode;
    const i64 offset = node.index[0].offset;
    auto [place, fresh] = mapped_rows_.try_emplace({node.stage, offset, mode});
    if (fresh) {
      const std::size_t slot = slot_of(node, from, to);
      const std::vector<Value>& plain = at_[ring].at(slot);
      place->second.values = plain;
      if (!rows_inside_ && mode != BorderMode::none && mode != BorderMode::wrap) {
        Value m =
            builder_->let("m", call_i64("tsr_map", {integer(static_cast<i64>(mode)), r * node.index[0].scale + offset,
                                                    extent(domain_of(from)[0])}));
        if (mode == BorderMode::constant) {
          place->second.off = builder_->let("off", less(m, integer(0)));
        } else {
          const auto [least, most] = mapped_by(node, to, 0);
          for (i64 k = 0; k < from.depth; ++k) {
            const i64 away = k - static_cast<i64>(slot);
            if (away == 0 || away < least || away > most) continue;
            Value here = operation(Op::eq, flag_type, {m, y_ * from.rate[0] + (from.oldest() + k)});
            here = builder_->let("here", here);
            for (std::size_t c = 0; c < plain.size(); ++c) {
              Value& v = place->second.values[c];
              v = builder_->let("v",
                                operation(Op::select, v->type, {here, at_[ring][static_cast<std::size_t>(k)][c], v}));
            }
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
  std::vector<StageId> order_;
  std::map<StageId, plan::StripReads> reads_;
  plan::Strip strip_, together_;  // of the text that is written; without exchange
  std::array<i64, 2> halo_{};     // threads of a warp, at its ends, that store nothing
  Value stores_;                  // does the thread store?
  std::map<StageId, std::size_t> ring_of_;
  std::vector<std::vector<std::vector<Value>>> at_;                        // ring, slot, column
  std::map<StageId, double> operations_;                                   // of a step inside
  std::set<StageId> is_result_, read_;                                     // leave the group; are read in it
  std::map<std::tuple<StageId, i64, BorderMode>, MappedRow> mapped_rows_;  // of the stage that is computed
  int columns_ = 4;
  std::optional<i64> known_step_;                      // from the first row of a tile
  bool rows_inside_ = false, columns_inside_ = false;  // of the text that is written
  std::map<i64, Value> x_;                             // the thread's first column, by rate
  Value y_, y0_, y1_;                                  // the step; the strip
};

}  // namespace

StreamFit stream_fit(plan::Plan& plan, const Interface& interface, analyze::Ranges& ranges, std::size_t group) {
  return StreamLowering(plan, interface, ranges, group, "").fit();
}

void lower_stream(plan::Plan& plan, const Interface& interface, analyze::Ranges& ranges, std::size_t group,
                  const StreamFit& fit, std::string name, DeviceProgram& program) {
  StreamLowering(plan, interface, ranges, group, std::move(name)).into(program, fit);
}

}  // namespace tessera::lower
