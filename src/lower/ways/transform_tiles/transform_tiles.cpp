// See device_transform.hpp.
#include "lower/ways/transform_tiles/transform_tiles.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "fft/device/tile.hpp"
#include "ir/build.hpp"
#include "lower/device_sum.hpp"
#include "lower/ways/large_tiles/large_tiles.hpp"
#include "lower/ways/matrix_units/matrix_units.hpp"
#include "rewrite/sums/tiles/device_tiles.hpp"

namespace tessera::lower {

using ir::StageId;
using ir::nest::integer;
using ir::nest::Lane;
using ir::nest::operation;
using ir::nest::Type;
using ir::nest::Value;

namespace {

constexpr double operations_of_number = 42, moves_of_number = 8;  // a number of the tile
constexpr i64 registers_of_multiprocessor = 65536, registers_of_thread = 168;

class TransformLowering : private DeviceSum {
 public:
  TransformLowering(plan::Plan& plan, const Interface& interface, analyze::Ranges& ranges, std::size_t group,
                    std::string name)
      : DeviceSum(plan, interface, ranges, group, std::move(name)) {
    const ir::Stage& stage = graph_.stage(stage_);
    const rewrite::Tiling& own = plan_.tiling(stage_);
    tile_ = {own.number, own.columns * 2 / own.rows};
    high_ = own.high, wide_ = own.wide;
    kernel_.domain = stage.domain;
    kernel_.points.assign(rank_, 1);
    kernel_.points[down_] = high_, kernel_.points[across_] = wide_;
    kernel_.threads = {static_cast<int>(tile_.threads()), 1, 1};
    kernel_.row_multiple = down_ == 0 ? high_ : 1;
    kernel_.shared_bytes = tile_.shared_bytes();
    if (ranged()) {  // numbers behind those of the tile
      const i64 size = ir::nest::size_of(lane_);
      const rewrite::TileRanges ranges = rewrite::ranges_of_tile(tile_.rows(), weights_of(down_));
      band_ = ranges.band, bands_ = ranges.bands;
      range_at_ = tile_.shared_bytes() / size;
      kernel_.shared_bytes = (range_at_ + ranges.numbers(tile_.columns())) * size;
    }
    kernel_.blocks_at_once = static_cast<int>(registers_of_multiprocessor / (registers_of_thread * tile_.threads()));
    kernel_.registers = static_cast<int>(registers_of_thread);
  }

  void into(DeviceProgram& program) {
    add_tables(program);
    const double repeated = static_cast<double>(tile_.rows() * tile_.columns()) / static_cast<double>(high_ * wide_);
    kernel_.operations = operations_of_number * repeated, kernel_.moves = moves_of_number * repeated;
    ir::nest::Function function;
    function.name = kernel_.name;
    function.essay = fmt::format("a block has a tile of {} x {}, a thread one of its columns: {} x {} results",
                                 tile_.rows(), tile_.columns(), high_, wide_);
    Builder builder(function.body);
    builder_ = &builder;
    place_block();
    const std::vector<Value> column = loaded();
    if (ranged()) keep_range(column);
    const Value spectrum = ir::nest::variable(fmt::format("tsr_table_{}", spectrum_), {lane_, 1, true});
    store(fft::write_device_tile(builder, tile_, column, spectrum, convert({Lane::u32, 1, false}, thread_), wide_,
                                 ranged() ? [this] { add_energies(); } : std::function<void()>()));
    rows();
    finish(std::move(function), program);
  }

 private:
  void add_tables(DeviceProgram& program) {
    const rewrite::Tensor& w = sum_.weights;
    const auto add = [&](const std::string& what, std::vector<double> values) {
      ir::Table table;
      table.name = what + " of " + graph_.stage(stage_).name;
      table.type = tile_.number;
      table.extents = {static_cast<i64>(values.size())};
      if (tile_.number == ElementType::f32)
        for (double& v : values) v = static_cast<double>(static_cast<float>(v));
      table.values = std::move(values);
      program.module.tables.push_back(std::move(table));
      return program.module.tables.size() - 1;
    };
    spectrum_ = add("spectrum", fft::device_tile_spectrum(tile_, w.at, w.extent[down_], w.extent[across_]));
    if (!rounded_) weights_ = add("weights", w.at);
  }

  void place_block() {
    Value block;
    for (std::size_t d = rank_; d-- > 0;) first_[d] = first_of_block(d, block);
    thread_ = builder_->let("thread", call_i64("tsr_thread_x", {}));
    top_ = builder_->let("top", first_[down_] + lo(down_));
    left_ = builder_->let("left", first_[across_] + lo(across_));
  }

  // ---- what the tile reads ----
  std::vector<Value> loaded() {
    std::vector<Value> column;
    for (i64 i = 0; i < tile_.rows(); ++i) column.push_back(builder_->var("x", lane_constant(0, lane_)));
    const auto within = [&](const Value& first, i64 count, std::size_t d) {
      return both(less(integer(-1), first), less(first + (count - 1), extent(source_domain()[d])));
    };
    const Value columns = within(left_, tile_.columns(), across_);  // integers are numbered as they are asked for
    const Value inside = builder_->let("inside", both(within(top_, tile_.rows(), down_), columns));
    builder_->branch(inside, [&] { load_inside(column); }, [&] { load_mapped(column); });
    return column;
  }

  void load_inside(const std::vector<Value>& column) {
    const Value first = element(sum_.source, place_of(top_, left_ + thread_));
    Value row = builder_->let("row", convert(ir::nest::bytes_pointer, first));
    const Value apart = builder_->let("apart", stride(sum_.source));
    for (std::size_t i = 0; i < column.size(); ++i) {
      if (i > 0) row = builder_->let("row", address(row, apart));
      builder_->assign(column[i], taken(row));
    }
  }

  // A row that lies beyond a constant border is -1 minus the one next to it.
  void load_mapped(const std::vector<Value>& column) {
    const Type narrow{Lane::i32, 1, false};
    const Value rows = ir::nest::variable("tsr_shared_i32", {Lane::i32, 1, true});
    const Value n = extent(source_domain()[down_]);
    builder_->loop("i", thread_, integer(tile_.rows()), integer(tile_.threads()), [&](const Value& i) {
      Value off;
      Value row = mapped_index(mode_along(down_), top_ + i, n, off);
      if (off) row = choose(off, integer(-1) - row, row);
      builder_->store(rows, i, convert(narrow, row));
    });
    builder_->call("tsr_barrier", {});
    Value off;
    const Value x = mapped_index(mode_along(across_), left_ + thread_, extent(source_domain()[across_]), off);
    const Value base =
        builder_->let("base", convert(ir::nest::bytes_pointer, element(sum_.source, place_of(integer(0), x))));
    const Value apart = builder_->let("apart", stride(sum_.source));
    const bool rows_end = mode_along(down_) == BorderMode::constant;
    for (std::size_t i = 0; i < column.size(); ++i) {
      Value row = builder_->let("r", load(rows, integer(static_cast<i64>(i)), 1));
      const Value above = less(row, integer(0, narrow));
      if (rows_end) row = builder_->let("r", choose(above, ~row, row));
      const Value v = taken(address(base, convert(index_type, row) * apart));
      builder_->assign(column[i], bordered(v, off, rows_end ? above : Value()));
    }
    builder_->call("tsr_barrier", {});
  }

  // ---- results ----
  void store(const std::vector<Value>& results) {
    const Value x = builder_->let("x", first_[across_] + thread_);
    const Value wanted = both(less(thread_, integer(wide_)), less(x, extent(domain_[across_])));
    builder_->branch(builder_->let("wanted", wanted), [&] {
      const Value left = end_of(down_) - first_[down_];
      const Value count = builder_->let("count", convert(flag_type, min(left, integer(high_))));
      if (rounded_) return store_column(results, x, count);
      Value total = results.front();
      for (i64 i = 1; i < high_; ++i) total = builder_->let("total", total + results[static_cast<std::size_t>(i)]);
      builder_->branch(
          finite(total),
          [&] {
            store_column(results, x, count);
            narrow_range(x, count);
          },
          [&] { sum_column(x, count); });
    });
  }

  // ---- results beside which the tile has far larger numbers (docs/design/sums.md, "Accuracy") ----
  bool ranged() const { return !rounded_; }
  i64 weights_of(std::size_t d) const { return sum_.weights.extent[d]; }
  Value shared(const Value& at) const {
    const char* name = lane_ == Lane::f64 ? "tsr_shared_f64" : "tsr_shared_f32";
    return ir::nest::address(ir::nest::variable(name, {lane_, 1, true}), at);
  }
  Value larger(const Value& a, const Value& b) { return builder_->let("m", most(a, b)); }
  Value smaller(const Value& a, const Value& b) { return builder_->let("m", least(a, b)); }

  // Of bands of a column the largest magnitude, of all of it the sum of squares, then those of eighths of the tile.
  void keep_range(const std::vector<Value>& column) {
    const Value own = builder_->let("own", shared(thread_ + range_at_));
    Value energy = lane_constant(0, lane_), most, all = lane_constant(0, lane_);
    for (i64 i = 0; i < tile_.rows(); ++i) {
      const Value& v = column[static_cast<std::size_t>(i)];
      energy = builder_->let("e", ir::nest::fused(v, v, energy));
      const Value size = builder_->let("m", abs(v));
      most = i % band_ == 0 ? size : larger(most, size);
      if ((i + 1) % band_ != 0 && i + 1 < tile_.rows()) continue;
      builder_->store(own, integer(i / band_ * tile_.columns()), most);
      all = larger(all, most);
    }
    // Numbers count as something, however small their squares.
    const Value something = lane_constant(lane_ == Lane::f64 ? 1e-300 : 1e-36, lane_);
    const Value lost = both(less(energy, something), less(lane_constant(0, lane_), all));
    energy = choose(lost, something, energy);
    builder_->store(own, integer(bands_ * tile_.columns()), energy);
  }

  void add_energies() {
    const i64 each = tile_.columns() / energies, at = range_at_ + bands_ * tile_.columns();
    const Value part = builder_->let("part", thread_ % energies);
    const Value from = builder_->let("from", shared(part * each + at));
    Value sum = builder_->let("e", load(from, integer(0), 1));
    for (i64 k = 1; k < each; ++k) sum = builder_->let("e", sum + load(from, integer(k), 1));
    builder_->store(shared(integer(at + tile_.columns())), part, sum);
  }

  // The square of what a window has to hold at least; 0 in a tile of zeros, whose results are zeros.
  Value least_square() {
    const bool bytes = size_of(graph_.stage(sum_.source).type) == 1;  // whose range bounds what rounding leaves
    const Value from = shared(integer(range_at_ + (bands_ + 1) * tile_.columns()));
    Value sum = builder_->let("e", load(from, integer(0), 1));
    for (i64 k = 1; k < energies; ++k) sum = builder_->let("e", sum + load(from, integer(k), 1));
    const Value zeros = equal(sum, lane_constant(0, lane_));
    if (bytes) return choose(zeros, lane_constant(0, lane_), lane_constant(0.25, lane_));
    const double share = 1.0 / (1024.0 * static_cast<double>(tile_.rows() * tile_.columns()));
    // Squares of numbers as small say nothing.
    const Value tiny = less(sum, lane_constant(lane_ == Lane::f64 ? 1e-280 : 1e-28, lane_));
    const Value any = lane_constant(lane_ == Lane::f64 ? 1e300 : 1e38, lane_);
    const Value least = sum * lane_constant(share, lane_);
    const Value found = choose(tiny, any, least);
    return builder_->let("least", choose(zeros, lane_constant(0, lane_), found));
  }
  Value enough(const Value& most, const Value& least) const { return at_most(least, most * most); }

  void narrow_range(const Value& x, const Value& count) {
    const Value least = least_square();
    const Value own = builder_->let("own", shared(thread_ + range_at_));
    // The first column of a window, band by band, tells nearly always.
    Value low = builder_->let("m", load(own, integer(0), 1));
    for (i64 s = 1; (s + 1) * band_ <= tile_.rows(); ++s)
      low = smaller(low, builder_->let("m", load(own, integer(s * tile_.columns()), 1)));
    builder_->branch(enough(low, least), [] {}, [&] { narrow_columns(x, count, own, least); });
  }

  void narrow_columns(const Value& x, const Value& count, const Value& own, const Value& least) {
    const i64 k1 = weights_of(across_);
    Value low;
    for (i64 s = 0; (s + 1) * band_ <= tile_.rows(); ++s) {
      Value most = builder_->let("m", load(own, integer(s * tile_.columns()), 1));
      for (const i64 l : {k1 / 2, k1 - 1})
        most = larger(most, builder_->let("m", load(own, integer(s * tile_.columns() + l), 1)));
      low = low ? smaller(low, most) : most;
    }
    builder_->branch(enough(low, least), [] {}, [&] { narrow_column(x, count, own, least); });
  }

  // Points whose windows are sure to hold enough stay; those of zeros alone are 0; others are summed up directly.
  void narrow_column(const Value& x, const Value& count, const Value& own, const Value& least) {
    const Value zero = lane_constant(0, lane_), most = builder_->array("bands", number(), bands_);
    builder_->loop("s", integer(0), integer(bands_), integer(1), [&](const Value& s) {
      const Value largest = builder_->var("m", zero);
      builder_->loop("l", integer(0), integer(weights_of(across_)), integer(1), [&](const Value& l) {
        const Value v = builder_->let("v", load(own, s * tile_.columns() + l, 1));
        builder_->assign(largest, choose(less(largest, v), v, largest));
      });
      builder_->assign_element(most, s, largest);
    });
    builder_->loop("i", integer(0), convert(index_type, count), integer(1), [&](const Value& i) {
      const Value inside = builder_->var("inside", zero), touched = builder_->var("touched", zero);
      builder_->loop("s", integer(0), integer(bands_), integer(1), [&](const Value& s) {
        const Value begin = builder_->let("begin", s * band_);
        const Value end = builder_->let("end", min(begin + band_, integer(tile_.rows())));
        const Value past = builder_->let("past", i + weights_of(down_));
        const Value v = builder_->let("v", load(most, s, 1));
        const auto take = [&](const Value& so_far) { builder_->assign(so_far, choose(less(so_far, v), v, so_far)); };
        builder_->branch(both(less(begin, past), less(i, end)), [&] { take(touched); });
        builder_->branch(both(less(i - 1, begin), less(end - 1, past)), [&] { take(inside); });
      });
      const Value y = builder_->let("y", first_[down_] + i);
      builder_->branch(
          equal(touched, zero),
          [&] {
            const std::vector<Value> at = place_of(y, x);
            put(convert(ir::nest::bytes_pointer, element(stage_, at)), at, zero);
          },
          [&] {
            builder_->branch(
                enough(inside, least), [] {},
                [&] {
                  const Value weights = ir::nest::variable(fmt::format("tsr_table_{}", weights_), {lane_, 1, true});
                  sum_directly(weights, y, x);
                });
          });
    });
  }

  void store_column(const std::vector<Value>& results, const Value& x, const Value& count) {
    Value row = builder_->let("to", convert(ir::nest::bytes_pointer, element(stage_, place_of(first_[down_], x))));
    const Value apart = builder_->let("apart", stride(stage_));
    for (i64 i = 0; i < high_; ++i) {
      if (i > 0) row = builder_->let("to", address(row, apart));
      builder_->branch(less(integer(i, flag_type), count),
                       [&] { put(row, place_of(first_[down_] + i, x), results[static_cast<std::size_t>(i)]); });
    }
  }

  // Point by point, weight by weight.
  void sum_column(const Value& x, const Value& count) {
    const Value weights = ir::nest::variable(fmt::format("tsr_table_{}", weights_), {lane_, 1, true});
    builder_->loop("i", integer(0), convert(index_type, count), integer(1),
                   [&](const Value& i) { sum_directly(weights, builder_->let("y", first_[down_] + i), x); });
  }

  // A tile reads all of its rows, whatever is wanted of it.
  void rows() {
    reads_of(stage_);
    if (down_ == 0) {
      DeviceKernel::Reach& reach = kernel_.reads.back();
      reach.lo = lo(0), reach.hi = lo(0) + tile_.rows() - 1;
    }
    writes(stage_);
  }

  fft::DeviceTile tile_;
  static constexpr i64 energies = rewrite::TileRanges::energies;
  i64 band_ = 1, bands_ = 0, range_at_ = 0;  // rows of a band, bands, where they stand in shared memory
  i64 high_ = 0, wide_ = 0;                  // results
  std::size_t spectrum_ = 0, weights_ = 0;   // tables of the module
  Value thread_, top_, left_;
};

}  // namespace

const DeviceWay transform_tiles = {
    "transform tiles", [](Schedule) { return true; },
    [](const WayQuestion& q) {
      const rewrite::Tiling& tile = q.plan.tiling(q.plan.groups[q.group].anchor);
      return tile.rows > 0 ? accepted(transform_tiles, nullptr)
                           : of_another_kind(transform_tiles, "it is no sum that is taken through tiles of a block");
    },
    [](const WayQuestion& q, const plan::WayAnswer&, const std::string& name, DeviceProgram& program) {
      TransformLowering(q.plan, q.interface, q.ranges, q.group, name).into(program);
    },
    true};

}  // namespace tessera::lower
