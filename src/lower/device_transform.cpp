// See device_transform.hpp.
#include "lower/device_transform.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "fft/device_tile.hpp"
#include "ir/build.hpp"
#include "lower/device_large_tile.hpp"
#include "lower/device_matrix.hpp"
#include "lower/device_sum.hpp"

namespace tessera::lower {

using ir::Op;
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
    const ir::Stage::Tiling& own = stage.tile;
    tile_ = {own.number, own.columns * 2 / own.rows};
    high_ = own.high, wide_ = own.wide;
    kernel_.domain = stage.domain;
    kernel_.points.assign(rank_, 1);
    kernel_.points[down_] = high_, kernel_.points[across_] = wide_;
    kernel_.threads = {static_cast<int>(tile_.threads()), 1, 1};
    kernel_.row_multiple = down_ == 0 ? high_ : 1;
    kernel_.shared_bytes = tile_.shared_bytes();
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
    const Value spectrum = ir::nest::variable(fmt::format("tsr_table_{}", spectrum_), {lane_, 1, true});
    store(fft::write_device_tile(builder, tile_, column, spectrum, convert({Lane::u32, 1, false}, thread_), wide_));
    rows();
    finish(std::move(function), program);
  }

 private:
  void add_tables(DeviceProgram& program) {
    const plan::Tensor& w = sum_.weights;
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
    const Value inside =
        builder_->let("inside", both(within(top_, tile_.rows(), down_), within(left_, tile_.columns(), across_)));
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
      if (rows_end)
        row = builder_->let("r", operation(Op::select, narrow, {above, operation(Op::bit_not, narrow, {row}), row}));
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
      for (i64 i = 1; i < high_; ++i)
        total = builder_->let("total", operation(Op::add, number(), {total, results[static_cast<std::size_t>(i)]}));
      builder_->branch(finite(total), [&] { store_column(results, x, count); }, [&] { sum_column(x, count); });
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
  i64 high_ = 0, wide_ = 0;                 // results
  std::size_t spectrum_ = 0, weights_ = 0;  // tables of the module
  Value thread_, top_, left_;
};

}  // namespace

bool is_transform(const plan::Plan& plan, std::size_t group) {
  return plan.graph.stage(plan.groups[group].anchor).tile.rows > 0;
}

void lower_transform(plan::Plan& plan, const Interface& interface, analyze::Ranges& ranges, std::size_t group,
                     std::string name, DeviceProgram& program) {
  const ir::Stage::Tiling& tile = plan.graph.stage(plan.groups[group].anchor).tile;
  if (tile.matrix) return lower_matrix(plan, interface, ranges, group, std::move(name), program);
  if (tile.large) return lower_large_tiles(plan, interface, ranges, group, name, program);
  TransformLowering(plan, interface, ranges, group, std::move(name)).into(program);
}

}  // namespace tessera::lower
