// See strips.hpp. Which rows and columns are kept of every stage is of plan/passes/strips.hpp, and so are the names:
// rates, lags, rings. Stages may differ in size: y counts the steps, x the columns of the coarsest rate, and a row or
// column of a stage is y or x times its rate and a constant. Composed stages compute nothing: their registers are those
// of their pieces. What a step does is in step.hpp; here are strips that march, and what the host has to
// know of strips and of register tiles, lower/ways/register_tiles/register_tiles.hpp.
#include "lower/ways/strips/strips.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "analyze/expressions.hpp"
#include "ir/build.hpp"
#include "lower/ways/register_tiles/register_tiles.hpp"
#include "plan/passes/strips.hpp"

namespace tessera::lower {

using ir::StageId;
using ir::nest::integer;
using ir::nest::operation;
using ir::nest::Value;
using plan::StripRing;

namespace {

// Steps that rows are loaded before they are read: one, and of a group of few operations as many more as keep so many
// bytes a thread on their way. Measured on an H200.
constexpr i64 least_ahead = 1, most_ahead = 4, bytes_on_their_way = 40;
constexpr double few_operations = 30;
constexpr i64 most_unrolled = 12;
constexpr double lanes_of_warp = 32;  // whose points a tile's price is shared by

bool reflects(BorderMode mode) {
  return mode == BorderMode::mirror || mode == BorderMode::symmetric;
}

class StripLowering : private RegisterTiles {
 public:
  StripLowering(plan::Plan& plan, const Interface& interface, analyze::Ranges& ranges, std::size_t group,
                std::string name)
      : RegisterTiles(plan, interface, ranges, group, std::move(name)) {}

  StripFit fit() {
    StripFit result;
    result.why = strip_.why;
    if (!result.why.empty()) return result;
    const int limit = plan_.device.strip_registers;
    // Tiles look ahead of nothing: they ask for every row at once.
    if (plan_.options.schedule == Schedule::automatic && choose_tile(result)) return result;
    if (rank_ > 2) {
      result.why = "tiles of its rows do not fit registers";
      return result;
    }
    strip_.look_ahead(least_ahead);
    result.columns = columns_ = strip_.columns_for(limit, [&](StageId s) { return bytes_of(s); });
    result.registers = registers();
    result.fits = result.registers <= limit;
    if (!result.fits) result.why = fmt::format("its rings need {} registers a thread", result.registers);
    return result;
  }

  void into(DeviceProgram& program, const StripFit& fit) {
    const i64 height = fit.height;
    const int v = fit.columns;
    values_ = fit.values, columns_ = v / values_;
    if (height == 0) look_ahead();
    kernel_.threads = {32, warps_of_block, 1};
    kernel_.points.assign(rank_, 1);
    kernel_.points.back() = 32 * v;
    kernel_.strips = true;
    kernel_.stages = order_;
    kernel_.columns = v, kernel_.values = values_;
    const int estimate = kernel_.registers = fit.registers;
    kernel_.blocks_at_once = rank_ > 2                                ? (estimate <= 100 ? 5 : 4)
                             : estimate <= 100                        ? 4
                             : estimate <= plan::wide_strip_registers ? 3
                                                                      : 0;
    kernel_.warm_up = -strip_.start;
    for (const StripRing& ring : strip_.rings) {
      if (ring.depth == 0) continue;
      at_least(domain_of(ring)[0], 2 * (ring.depth + std::max(ring.lag, -ring.lag)) + 1);
      at_least(domain_of(ring).back(), 2 * (ring.left + ring.right) + 1);
    }
    ir::nest::Function function;
    function.name = kernel_.name;
    function.essay = fmt::format("{} of {} columns a thread{}, about {} registers",
                                 height > 0 ? fmt::format("tiles of {} rows", height) : "strips", v,
                                 values_ == 2 ? ", two in a register" : "", estimate);
    Builder builder(function.body);
    builder_ = &builder;
    if (height > 0) {
      tiles(fit);
      if (rank_ > 2) at_least_a_tile();
      count();
      if (fit.exchanges) exchange_no_more();
    } else {
      place();
      const Value inside_row = less(x_.at(1), extent(kernel_.domain[1]));
      builder.branch(inside_row & less(y0_, end_of(0)), [&] { strip(); });
      count();
    }
    touch();
    finish(std::move(function), program);
  }

 private:
  // For the chosen columns.
  void look_ahead() {
    strip_.look_ahead(least_ahead);
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

  // ---- threads ----
  void place() {
    // Strips that take longest begin first, so that no device waits for them at the end: those at the sides, of which
    // one thread runs its own text, and of every column of blocks the lowest.
    Value block = builder_->let("block", call_i64("tsr_block", {}));
    Value across = host({Kind::blocks, {}, 0, 1}), down = host({Kind::blocks, {}, 0, 0});
    Value right = builder_->let("right", less(block, down));
    Value side = builder_->let("side", less(block, down * min(across, integer(2))));
    Value rest = builder_->let("rest", max(block - down * 2, integer(0)));
    Value inner = builder_->let("inner", max(across - 2, integer(1)));
    Value level = builder_->let("level", call_i64("tsr_short_quotient", {rest, inner}));
    Value column = choose(side, choose(right, across - 1, integer(0)), rest - level * inner + 1);
    Value turn = builder_->let("turn", choose(side, choose(right, block, block - down), level));
    Value place = builder_->let("place", choose(less(integer(0), turn), turn - 1, down - 1));
    Value strip = place * warps_of_block + call_i64("tsr_thread_y", {});
    Value height = host({Kind::strip, {}, 0, 0});
    place_columns(column * (32 * columns_) + call_i64("tsr_thread_x", {}) * columns_);
    y0_ = builder_->let("y0", first_row() + strip * height);
    y1_ = builder_->let("y1", min(y0_ + height, end_of(0)));
  }

  // Are all columns of the thread and beside them inside?
  Value columns_inside() {
    std::map<std::pair<ir::SizeId, i64>, std::pair<i64, i64>> reach;  // of an extent and a rate
    for (const StripRing& ring : strip_.rings) {
      if (ring.depth == 0) continue;
      const auto [left, right] = columns_beside(ring);
      auto& most = reach[{domain_of(ring).back(), ring.rate[1]}];
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
        const auto is = [&](i64 k) { return equal(part, k); };
        return choose(is(0), first, choose(is(1), second, third));
      };
      Value begin = builder_->let("begin", of_part(start, a, b)), end = builder_->let("end", of_part(a, b, y1_));
      const auto rows = [&](i64 turns, bool rows_inside, bool columns_inside) {
        builder_->unrolled_loop("y", begin, end, turns, [&](const Value& y) {
          rows_inside_ = rows_inside, columns_inside_ = columns_inside;
          step(y);
        });
      };
      builder_->branch(
          equal(part, 1),
          [&] {
            builder_->branch(inside_columns, [&] { rows(unroll, true, true); }, [&] { rows(unroll, true, false); });
          },
          [&] { rows(1, false, false); });
    });
  }

  // ---- what the host knows ----
  // Images smaller than their halo are not worth strips. Stages that are small since they are the coarse levels of a
  // large image are right all the same: a border maps a row to one that is no farther than it is itself.
  void at_least(ir::SizeId size, i64 n) {
    for (const ir::Argument& a : graph_.arguments)
      if (std::find(a.extents.begin(), a.extents.end(), size) != a.extents.end())
        kernel_.least[size] = std::max(kernel_.least[size], n);
  }

  // The frame of a volume is dear: those without a tile are computed a point a thread.
  void at_least_a_tile() {
    for (const StripRing& ring : strip_.rings) {
      if (ring.depth == 0) continue;
      at_least(
          domain_of(ring)[0],
          kernel_.frame->height + (kernel_.frame->sides > 0 ? 0 : kernel_.frame->top + std::max<i64>(0, ring.lag)));
      at_least(domain_of(ring).back(), kernel_.frame->left + kernel_.points.back() + 64);
    }
  }

  // What a point of the domain costs inside: of a strip a step's share, of a tile that of the whole text.
  void count() {
    const auto share = [&](const StripRing& ring) {
      if (!kernel_.frame) return 1.0;
      return static_cast<double>(ring.rows_of_tile(kernel_.frame->height)) / static_cast<double>(kernel_.frame->height);
    };
    for (const auto& [k, operations] : operations_) {
      const StripRing& ring = strip_.rings[k];
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
      kernel_.moves += static_cast<double>(r.rate[0] * r.own(width())) / static_cast<double>(vector_of(r));
    }
    const double points = static_cast<double>(width() * threads_of_tile()) / 32;
    kernel_.operations /= points;
    kernel_.moves /= points;
  }

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
};

}  // namespace

const DeviceWay strips = {
    "strips", [](Schedule schedule) { return schedule == Schedule::automatic || schedule == Schedule::stream; },
    [](const WayQuestion& q) {
      const StripFit fit = StripLowering(q.plan, q.interface, q.ranges, q.group, "").fit();
      if (!fit.fits) return refused(strips, fit.why);
      plan::WayAnswer answer = accepted(strips, held(fit), lanes_of_warp * fit.price);
      if (fit.height > 0) answer.form = "register tiles";
      return answer;
    },
    [](const WayQuestion& q, const plan::WayAnswer& answer, const std::string& name, DeviceProgram& program) {
      StripLowering(q.plan, q.interface, q.ranges, q.group, name).into(program, shape_of<StripFit>(answer));
    }};

}  // namespace tessera::lower
