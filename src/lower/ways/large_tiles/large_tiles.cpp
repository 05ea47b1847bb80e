// See large_tiles.hpp.
#include "lower/ways/large_tiles/large_tiles.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "fft/device/large_tile.hpp"
#include "lower/device_sum.hpp"
#include "lower/ways/large_tiles/range.hpp"

namespace tessera::lower {

using fft::Complex;
using fft::Index;
using ir::nest::integer;
using ir::nest::Lane;
using ir::nest::operation;
using ir::nest::Type;
using ir::nest::Value;

namespace {

// Instructions of a point of a line, and its loads, stores and ways through shared memory.
constexpr double operations_of_doubling = 3.6, operations_of_end = 14, moves_of_pass = 5, moves_of_end = 4;

constexpr int registers_of_thread = 128;

class LargeTileLowering : private DeviceSum {
 public:
  LargeTileLowering(plan::Plan& plan, const Interface& interface, analyze::Ranges& ranges, std::size_t group,
                    std::string name, DeviceProgram& program, std::size_t scratch)
      : DeviceSum(plan, interface, ranges, group, std::move(name)), program_(program), scratch_(scratch) {
    const rewrite::Tiling& own = plan_.tiling(stage_);
    tile_ = {own.number, own.rows, own.columns, own.high, own.wide};
    if (!rounded_) range_.emplace(tile_, sum_.weights.extent[down_], sum_.weights.extent[across_]);
  }

  void rows() {
    const fft::DeviceLine line = fft::rows_of(tile_);
    begin(line, "rows of tiles forward");
    kernel_.writes_stages = false, kernel_.scratch_written = bytes_of_line(line);
    reads_image();
    reads_or_writes_tiles(kernel_.writes);
    write(line, [&](fft::LineMemory& memory) {
      memory.to = tile_at();
      memory.read = [&](const fft::LinePoints& points) {
        const std::vector<Complex> values = loaded(points);
        if (range_) range_->keep(*builder_, range_at(), points, values);
        return values;
      };
    });
  }

  void columns(std::size_t spectrum) {
    const fft::DeviceLine line = fft::columns_of(tile_);
    begin(line, "columns of tiles forward, times the spectrum, and back");
    kernel_.reads_sources = kernel_.writes_stages = false;
    kernel_.scratch_read = bytes_of_line(line), kernel_.scratch_written = bytes_of_line(line) * share_kept();
    reads_or_writes_tiles(kernel_.reads);
    reads_or_writes_tiles(kernel_.writes);
    write(line, [&](fft::LineMemory& memory) {
      memory.from = memory.to = tile_at();
      memory.spectrum = numbers(spectrum);
    });
  }

  // Of a tile one block, after its rows.
  void judge() {
    kernel_.domain.assign(domain_.begin(), domain_.end() - 2);
    kernel_.domain.push_back(tiles_along(down_, tile_.high));
    kernel_.domain.push_back(tiles_along(across_, tile_.wide));
    kernel_.points.assign(rank_, 1);
    kernel_.reads_sources = kernel_.writes_stages = false;
    kernel_.registers = registers_of_thread / 4;
    kernel_.operations = kernel_.moves = static_cast<double>(range_->numbers());
    kernel_.scratch_read = kernel_.moves * static_cast<double>(tile_.bytes_of_number());
    reads_image();
    reads_or_writes_tiles(kernel_.reads);
    reads_or_writes_tiles(kernel_.writes);
    kernel_.threads = {static_cast<int>(TileRange::threads), 1, 1};
    kernel_.shared_bytes = range_->shared_bytes();
    ir::nest::Function function;
    Builder builder(function.body);
    builder_ = &builder;
    Value block;
    tile_across_ = first_of_block(across_, block);
    tile_down_ = first_of_block(down_, block);
    for (std::size_t d = rank_ - 2; d-- > 0;) first_[d] = first_of_block(d, block);
    const auto count = [&](std::size_t d, const Value& tile, i64 results) {
      return builder_->let("count", min(extent(domain_[d]) - tile * results, integer(results)));
    };
    const Value high = count(down_, tile_down_, tile_.high), wide = count(across_, tile_across_, tile_.wide);
    first_[down_] = builder_->let("top", tile_down_ * tile_.high);
    first_[across_] = builder_->let("left", tile_across_ * tile_.wide);
    const bool bytes = size_of(graph_.stage(sum_.source).type) == 1;
    range_->judge(builder, range_at(), high, wide, bytes, [&](const Value& row, const Value& column) {
      return source_at(first_[down_] + row, first_[across_] + column);
    });
    function.name = kernel_.name;
    function.essay = fmt::format("what windows of tiles hold at least, {} x {}", tile_.rows, tile_.columns);
    finish(std::move(function), program_);
  }

  void back(std::size_t weights) {
    const fft::DeviceLine line = fft::back_of(tile_);
    begin(line, "rows of tiles back, to results");
    kernel_.reads_sources = false, kernel_.scratch_read = bytes_of_line(line);
    reads_or_writes_tiles(kernel_.reads);
    if (!rounded_) reads_image();
    DeviceKernel::Reach results;
    if (down_ == 0) results.scale = tile_.high, results.hi = tile_.high - 1;
    writes(stage_, results);
    write(line, [&](fft::LineMemory& memory) {
      memory.from = tile_at();
      memory.write = [&, weights](const fft::LinePoints& points, const std::vector<Complex>& values) {
        store(points, values, weights);
      };
    });
  }

 private:
  Type pointer() const { return {lane_, 1, true}; }
  double bytes_of_line(const fft::DeviceLine& line) const {
    return static_cast<double>(2 * line.points * tile_.bytes_of_number());
  }
  double share_kept() const { return static_cast<double>(tile_.high) / static_cast<double>(tile_.rows); }

  // Rows and columns of tiles, and lines of a tile, of which a block has some.
  void begin(const fft::DeviceLine& line, const std::string& essay) {
    essay_ = essay;
    kernel_.domain.assign(domain_.begin(), domain_.end() - 2);
    kernel_.domain.push_back(tiles_along(down_, tile_.high));
    kernel_.domain.push_back(tiles_along(across_, tile_.wide));
    kernel_.domain.push_back(graph_.size(line.dimensions.front().extent));
    kernel_.points.assign(rank_ + 1, 1);
    kernel_.points.back() = line.lines;
    kernel_.blocks_at_once = static_cast<int>(line.blocks_at_once);
    kernel_.registers = registers_of_thread;
    const auto points = static_cast<double>(line.points);
    const double transforms = line.convolved > 0 ? 2 : 1;
    kernel_.operations = points * (transforms * operations_of_doubling * std::log2(points) + operations_of_end);
    kernel_.moves = points * (transforms * moves_of_pass * static_cast<double>(line.radices.size()) + moves_of_end);
  }

  ir::SizeId tiles_along(std::size_t d, i64 results) {
    const ir::SizeId all = graph_.size_binary(ir::SizeOp::add, domain_[d], graph_.size(results - 1));
    return graph_.size_floor_div(all, results);
  }

  // ---- what slabs need ----
  void reads_image() {
    reads_of(stage_);
    if (down_ > 0) return;
    DeviceKernel::Reach& reach = kernel_.reads.back();
    reach.scale = tile_.high, reach.lo = lo(0), reach.hi = lo(0) + tile_.rows - 1;
  }
  void reads_or_writes_tiles(std::vector<DeviceKernel::Reach>& list) {
    DeviceKernel::Reach reach;
    reach.array = position(scratch_);
    list.push_back(reach);
  }

  // ---- the kernel ----
  template <class Ends>
  void write(const fft::DeviceLine& line, Ends ends) {
    ir::nest::Function function;
    Builder builder(function.body);
    builder_ = &builder;
    const Index group = place_block(line);
    // What the lines read is a table of this kernel.
    const std::size_t turns = add_table(program_, tile_.number, 0, {});
    fft::LineMemory memory;
    memory.group = group;
    memory.tables = numbers(turns);
    threads_ = line.threads * line.lines;
    ends(memory);
    fft::DeviceLineKernel written;
    fft::write_line_within(line, memory, written, builder);
    fill_table(turns, std::move(written.tables));
    kernel_.threads = {static_cast<int>(written.threads), 1, 1};
    kernel_.shared_bytes = std::max(written.shared_bytes, shared_);
    function.name = kernel_.name;
    function.essay = fmt::format("{}, {} x {}: {} of {} points, {} a block", essay_, tile_.rows, tile_.columns,
                                 line.dimensions.front().extent, line.points, line.lines);
    finish(std::move(function), program_);
  }

 public:
  static std::size_t add_table(DeviceProgram& program, ElementType type, i64 count,
                               std::function<std::vector<double>()> values) {
    program.tables.push_back({type, count, std::move(values)});
    ArrayRef ref;
    ref.kind = ArrayRef::Kind::table;
    ref.index = program.tables.size() - 1;
    ref.format = Format(type);
    ref.is_array = false;
    program.interface.arrays.push_back(std::move(ref));
    return program.interface.arrays.size() - 1;
  }

  // `numbers` of every tile, all of them or those of a slab.
  static std::size_t add_scratch(plan::Plan& plan, std::size_t group, DeviceProgram& program, i64 numbers) {
    ir::Graph& graph = plan.graph;
    const ir::Stage& stage = graph.stage(plan.groups[group].anchor);
    const rewrite::Tiling tile = plan.tiling(plan.groups[group].anchor);
    const auto tiles = [&](ir::SizeId n, i64 results) {
      return graph.size_floor_div(graph.size_binary(ir::SizeOp::add, n, graph.size(results - 1)), results);
    };
    ArrayRef ref;
    ref.kind = ArrayRef::Kind::scratch;
    ref.format = Format(tile.number);
    ref.extents = stage.domain;
    const std::size_t rank = ref.extents.size();
    ref.extents[rank - 2] = tiles(ref.extents[rank - 2], tile.high);
    ref.extents[rank - 1] =
        graph.size_binary(ir::SizeOp::mul, tiles(ref.extents[rank - 1], tile.wide), graph.size(numbers));
    // Groups run one after the other, and all use the same memory.
    const auto other = std::find_if(program.interface.arrays.begin(), program.interface.arrays.end(),
                                    [](const ArrayRef& r) { return r.kind == ArrayRef::Kind::scratch; });
    ref.memory = other == program.interface.arrays.end() ? program.interface.memories++ : other->memory;
    program.interface.arrays.push_back(std::move(ref));
    return program.interface.arrays.size() - 1;
  }

 private:
  void fill_table(std::size_t array, std::vector<double> values) {
    DeviceTable& table = program_.tables[program_.interface.arrays[array].index];
    table.count = static_cast<i64>(values.size());
    table.values = [values = std::move(values)] { return values; };
  }

  Value numbers(std::size_t array) { return convert(pointer(), base(position(array))); }

  // The number of the block's group of lines.
  Index place_block(const fft::DeviceLine& line) {
    Value block;
    const Value line_of_tile = first_of_block(rank_, block);
    const Index group = Index(builder_->let("group", (Index(line_of_tile) / line.lines).value));
    tile_across_ = first_of_block(across_, block);
    tile_down_ = first_of_block(down_, block);
    for (std::size_t d = rank_ - 2; d-- > 0;) first_[d] = first_of_block(d, block);
    first_[down_] = builder_->let("top", tile_down_ * tile_.high);
    first_[across_] = builder_->let("left", tile_across_ * tile_.wide);
    return group;
  }

  i64 numbers() const { return tile_.rows * tile_.columns + (range_ ? range_->numbers() : 0); }

  // The first number of the block's tile.
  Value tile_at() {
    const std::size_t k = position(scratch_);
    Value at = tile_across_ * (numbers() * tile_.bytes_of_number());
    for (std::size_t d = 0; d + 1 < rank_; ++d)
      at = at + (d == down_ ? tile_down_ : first_[d]) * host({Kind::stride, {}, k, d});
    return builder_->let("tile", convert(pointer(), address(base(k), at)));
  }

  Value range_at() { return builder_->let("side", ir::nest::address(tile_at(), integer(tile_.rows * tile_.columns))); }

  Value row_of(const Index& line) { return builder_->let("y", first_[down_] + wide(line)); }

  // ---- what a tile reads ----
  // x - i y of a row's halves.
  std::vector<Complex> loaded(const fft::LinePoints& points) {
    const Value n = extent(source_domain()[across_]);
    Value above;
    const Value y =
        mapped_index(mode_along(down_), row_of(points.line) + lo(down_), extent(source_domain()[down_]), above);
    const Value row =
        builder_->let("row", convert(ir::nest::bytes_pointer, element(sum_.source, place_of(y, integer(0)))));
    const Value left = builder_->let("left", first_[across_] + lo(across_));
    std::vector<Complex> values(points.turns.size() * static_cast<std::size_t>(points.radix));
    for (Complex& v : values)
      v = {builder_->var("x", lane_constant(0, lane_)), builder_->var("x", lane_constant(0, lane_))};
    // (No barrier stands in a branch: compilers for processors double all that follows.)
    const Value inside = builder_->let("inside", both(less(integer(-1), left), less(left + (tile_.columns - 1), n)));
    builder_->branch(inside, [] {}, [&] { map_columns(left); });
    builder_->call("tsr_barrier", {});
    builder_->branch(
        inside, [&] { load_inside(points, row, left, values); }, [&] { load_mapped(points, row, values); });
    builder_->call("tsr_barrier", {});
    for (Complex& v : values) {
      if (above) v = {builder_->let("x", bordered(v.re, {}, above)), builder_->let("x", bordered(v.im, {}, above))};
      v.im = builder_->let("x", -v.im);
    }
    return values;
  }

  // Of every point: its position is start + by; to both halves.
  template <class Take>
  void of_points(const fft::LinePoints& points, std::vector<Complex>& values, Take take) {
    for (std::size_t k = 0; k < values.size(); ++k) {
      const std::size_t turn = k / static_cast<std::size_t>(points.radix);
      const i64 by = static_cast<i64>(k) % points.radix * points.apart;
      builder_->assign(values[k].re, take(turn, by));
      builder_->assign(values[k].im, take(turn, by + tile_.pairs()));
    }
  }

  void load_inside(const fft::LinePoints& points, const Value& row, const Value& left, std::vector<Complex>& values) {
    const i64 step = place(sum_.source).element_stride;
    std::vector<Value> starts;
    for (const fft::LinePoints::Turn& t : points.turns)
      starts.push_back(builder_->let("from", address(row, (left + wide(t.start)) * step)));
    of_points(points, values,
              [&](std::size_t turn, i64 by) { return taken(address(starts[turn], integer(by * step))); });
  }

  // A column beyond a constant border is -1 minus the one next to it.
  void map_columns(const Value& left) {
    shared_ = tile_.columns * static_cast<i64>(sizeof(std::int32_t));
    builder_->loop("i", call_i64("tsr_thread_x", {}), integer(tile_.columns), integer(threads_), [&](const Value& i) {
      Value off;
      Value x = mapped_index(mode_along(across_), left + i, extent(source_domain()[across_]), off);
      if (off) x = choose(off, integer(-1) - x, x);
      builder_->store(mapped_columns(), i, convert({Lane::i32, 1, false}, x));
    });
  }
  Value mapped_columns() const { return ir::nest::variable("tsr_shared_i32", {Lane::i32, 1, true}); }

  void load_mapped(const fft::LinePoints& points, const Value& row, std::vector<Complex>& values) {
    const Type narrow{Lane::i32, 1, false};
    const i64 step = place(sum_.source).element_stride;
    const bool ends = mode_along(across_) == BorderMode::constant;
    of_points(points, values, [&](std::size_t turn, i64 by) {
      const Value start = address(mapped_columns(), wide(points.turns[turn].start));
      Value x = builder_->let("c", load(start, integer(by), 1));
      const Value beside = less(x, integer(0, narrow));
      if (ends) x = builder_->let("c", choose(beside, ~x, x));
      return bordered(taken(address(row, convert(index_type, x) * step)), ends ? beside : Value(), {});
    });
  }

  // ---- results ----
  // Point k of the values has the columns of its position, and of the one half a row behind it, whose sign is another.
  struct Result {
    std::size_t turn = 0;
    i64 by = 0;
    Value v;
  };

  void store(const fft::LinePoints& points, const std::vector<Complex>& values, std::size_t weights) {
    const Value y = row_of(points.line);
    const Value there = both(points.alive, less(y, extent(domain_[down_])));
    builder_->branch(builder_->let("there", there), [&] {
      const Value rest = extent(domain_[across_]) - first_[across_];
      const Value count = builder_->let("count", convert(Index::type(), min(rest, integer(tile_.wide))));
      const std::vector<Result> results = wanted(points, values);
      Value total = results.front().v;
      for (std::size_t k = 1; k < results.size(); ++k) total = builder_->let("total", total + results[k].v);
      const auto stored = [&] { store_row(points, results, y, count); };
      if (rounded_)
        stored();
      else
        builder_->branch(
            finite(total),
            [&] {
              stored();
              narrow_row(points, y, count, weights);
            },
            [&] { sum_row(points, y, count, weights); });
    });
  }

  std::vector<Result> wanted(const fft::LinePoints& points, const std::vector<Complex>& values) {
    std::vector<Result> results;
    for (const bool second : {false, true})
      for (std::size_t k = 0; k < values.size(); ++k) {
        const i64 by = static_cast<i64>(k) % points.radix * points.apart + (second ? tile_.pairs() : 0);
        if (by >= tile_.wide) continue;
        const Value v = second ? builder_->let("v", -values[k].im) : values[k].re;
        results.push_back({k / static_cast<std::size_t>(points.radix), by, v});
      }
    return results;
  }

  // Results of a tile that is whole are stored without a test, but for those of butterflies that the end cuts.
  void store_row(const fft::LinePoints& points, const std::vector<Result>& results, const Value& y,
                 const Value& count) {
    const i64 step = place(stage_).element_stride;
    const Value row =
        builder_->let("to", convert(ir::nest::bytes_pointer, element(stage_, place_of(y, first_[across_]))));
    std::vector<Value> rows;
    for (const fft::LinePoints::Turn& turn : points.turns)
      rows.push_back(builder_->let("to", address(row, wide(turn.start) * step)));
    const auto all = [&](bool whole) {
      for (const Result& r : results) {
        const fft::LinePoints::Turn& turn = points.turns[r.turn];
        const auto stored = [&] {
          const Value x = first_[across_] + wide(turn.start) + r.by;
          put(address(rows[r.turn], integer(r.by * step)), place_of(y, x), r.v);
        };
        Value within = turn.takes;
        if (!whole || r.by + points.apart > tile_.wide) within = both(within, less((turn.start + r.by).value, count));
        if (within)
          builder_->branch(within, stored);
        else
          stored();
      }
    };
    builder_->branch(less(integer(tile_.wide - 1, Index::type()), count), [&] { all(true); }, [&] { all(false); });
  }

  // The same results, one after the other.
  template <class Body>
  void of_results(const fft::LinePoints& points, const Value& count, Body body) {
    const i64 half = tile_.pairs();
    for (const fft::LinePoints::Turn& turn : points.turns) {
      const auto all = [&] {
        const Value start = builder_->let("start", wide(turn.start));
        builder_->loop("h", start, convert(index_type, count), integer(half), [&](const Value& h) {
          builder_->loop("x", h, min(h + points.radix * points.apart, convert(index_type, count)),
                         integer(points.apart), body);
        });
      };
      if (turn.takes)
        builder_->branch(turn.takes, all);
      else
        all();
    }
  }

  void sum_row(const fft::LinePoints& points, const Value& y, const Value& count, std::size_t weights) {
    const Value table = builder_->let("weights", numbers(weights));
    of_results(points, count, [&](const Value& x) { sum_directly(table, y, builder_->let("x", first_[across_] + x)); });
  }

  // The number that a window of the result there begins with.
  Value source_at(const Value& y, const Value& x) {
    Value above, off;
    const Value row = mapped_index(mode_along(down_), y + lo(down_), extent(source_domain()[down_]), above);
    const Value at = mapped_index(mode_along(across_), x + lo(across_), extent(source_domain()[across_]), off);
    return bordered(taken(convert(ir::nest::bytes_pointer, element(sum_.source, place_of(row, at)))), off, above);
  }

  // Those whose window may hold too little beside what the tile holds.
  void narrow_row(const fft::LinePoints& points, const Value& y, const Value& count, std::size_t weights) {
    const Value side = range_at(), line = builder_->let("line", wide(points.line));
    builder_->branch(range_->judged(*builder_, side), [&] {
      const Value table = builder_->let("weights", numbers(weights));
      of_results(points, count, [&](const Value& own) {
        const Value x = builder_->let("x", first_[across_] + own);
        const auto zero = [&] {
          const std::vector<Value> at = place_of(y, x);
          put(convert(ir::nest::bytes_pointer, element(stage_, at)), at, lane_constant(0, lane_));
        };
        range_->narrow(*builder_, side, line, own, zero, [&] { sum_directly(table, y, x); });
      });
    });
  }

  DeviceProgram& program_;
  const std::size_t scratch_;  // of the interface's arrays
  fft::LargeTile tile_;
  std::optional<TileRange> range_;  // of floats
  std::string essay_;
  i64 threads_ = 1, shared_ = 0;
  Value tile_down_, tile_across_;
};

void lower_large(plan::Plan& plan, const Interface& interface, analyze::Ranges& ranges, std::size_t group,
                 const std::string& name, DeviceProgram& program) {
  const ir::Stage& stage = plan.graph.stage(plan.groups[group].anchor);
  const rewrite::Tiling own = plan.tiling(plan.groups[group].anchor);
  const fft::LargeTile tile{own.number, own.rows, own.columns, own.high, own.wide};
  const rewrite::Tensor w = rewrite::convolution_of(plan.graph, stage, plan.options.numbers).value().weights;
  const i64 k0 = w.extent[w.rank - 2], k1 = w.extent[w.rank - 1];
  const i64 judged = is_float(stage.type) ? TileRange(tile, k0, k1).numbers() : 0;
  const std::size_t scratch = LargeTileLowering::add_scratch(plan, group, program, own.rows * own.columns + judged);
  const std::size_t spectrum =
      LargeTileLowering::add_table(program, own.number, own.rows * own.columns,
                                   [tile, at = w.at, k0, k1] { return fft::large_tile_spectrum(tile, at, k0, k1); });
  std::size_t weights = 0;
  if (is_float(stage.type))
    weights = LargeTileLowering::add_table(program, own.number, w.count(), [at = w.at] { return at; });
  LargeTileLowering(plan, interface, ranges, group, name + "_rows", program, scratch).rows();
  if (judged > 0) LargeTileLowering(plan, interface, ranges, group, name + "_judge", program, scratch).judge();
  LargeTileLowering(plan, interface, ranges, group, name + "_columns", program, scratch).columns(spectrum);
  LargeTileLowering(plan, interface, ranges, group, name + "_back", program, scratch).back(weights);
}

}  // namespace

const DeviceWay large_tiles = {
    "large tiles", [](Schedule) { return true; },
    [](const WayQuestion& q) {
      const rewrite::Tiling& tile = q.plan.tiling(q.plan.groups[q.group].anchor);
      return tile.rows > 0 && tile.large
                 ? accepted(large_tiles, nullptr)
                 : of_another_kind(large_tiles, "it is no sum that is taken through tiles larger than a block");
    },
    [](const WayQuestion& q, const plan::WayAnswer&, const std::string& name, DeviceProgram& program) {
      lower_large(q.plan, q.interface, q.ranges, q.group, name, program);
    },
    true};

}  // namespace tessera::lower
