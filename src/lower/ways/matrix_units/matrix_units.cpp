// See matrix_units.hpp.
#include "lower/ways/matrix_units/matrix_units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <tuple>

#include "ir/build.hpp"
#include "lower/device_function.hpp"
#include "rewrite/sums/matrix.hpp"

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
using ir::nest::variable;

namespace {

constexpr i64 warps = 4, lanes = 32, threads = warps * lanes;
constexpr i64 columns_of_warp = 64, chunk = 16, chunks_of_warp = columns_of_warp / chunk;
constexpr i64 rows_of_group = 8, ahead = 2, groups = ahead + 2;
constexpr i64 pitch = warps * columns_of_warp + chunk;  // of a row of the ring
constexpr i64 group_bytes = rows_of_group * pitch;
constexpr i64 staged_pitch = columns_of_warp + chunk;       // of a row of results
constexpr i64 staged_bytes = rows_of_group * staged_pitch;  // of a warp
constexpr i64 ring_bytes = (groups + 1) * group_bytes;
constexpr i64 window = 32;  // columns of the image that the band of a row lies in
constexpr int blocks_at_once = 4;
constexpr double operations_of_point = 18, operations_of_row = 0.77;  // of a point, and of a row of weights

using Words = std::vector<double>;

// What the threads of a warp hold of the weights, two words a row of weights, then the metadata, a word.
Words weight_words(const rewrite::Tensor& w, i64 rows, i64 first) {
  const std::size_t rank = w.rank;
  const i64 high = w.extent[rank - 2], wide = w.extent[rank - 1];
  Words words;
  std::array<std::uint32_t, 16> metadata{};
  std::vector<std::array<std::array<std::uint32_t, 16>, 16>> kept(static_cast<std::size_t>(rows));
  for (i64 m = 0; m < 16; ++m) {
    const i64 begin = first + (m < 8 ? 2 * m : 2 * m - 15);  // the first column that has a weight
    for (i64 four = 0; four < 8; ++four) {
      const i64 column = 4 * (four % 4) + 2 * (four / 4);
      const std::array<i64, 4> columns{column, column + 1, column + 16, column + 17};
      std::array<std::size_t, 2> picked{columns[0] >= begin ? 0u : 2u, columns[1] >= begin ? 1u : 3u};
      std::sort(picked.begin(), picked.end());
      const auto at = static_cast<std::size_t>(m);
      metadata[at] |= static_cast<std::uint32_t>(picked[0] | picked[1] << 2) << (4 * four);
      for (std::size_t n = 0; n < 2; ++n) {
        const i64 x = columns[picked[n]] - begin;
        if (x < 0 || x >= wide) continue;
        for (i64 y = 0; y < high; ++y)
          kept[static_cast<std::size_t>(y)][at][static_cast<std::size_t>(2 * four) + n] =
              static_cast<std::uint32_t>(static_cast<i64>(w.at[static_cast<std::size_t>(y * wide + x)])) & 255u;
      }
    }
  }
  for (const auto& row : kept)
    for (std::size_t lane = 0; lane < lanes; ++lane)
      for (const std::size_t m : {lane / 4, lane / 4 + 8}) {
        std::uint32_t word = 0;
        for (std::size_t byte = 0; byte < 4; ++byte) word |= row[m][4 * (lane % 4) + byte] << (8 * byte);
        words.push_back(word);
      }
  for (std::size_t lane = 0; lane < lanes; ++lane) words.push_back(metadata[lane / 4 + (lane % 2) * 8]);
  return words;
}

class MatrixLowering : private DeviceFunction {
 public:
  MatrixLowering(plan::Plan& plan, const Interface& interface, analyze::Ranges& ranges, std::size_t group,
                 std::string name)
      : DeviceFunction(plan, interface, ranges, std::move(name)), stage_(plan.groups[group].anchor) {
    const ir::Stage& stage = graph_.stage(stage_);
    auto found = rewrite::matrix_sum_of(graph_, stage);
    if (!found) throw Error(ErrorClass::internal, "'" + stage.name + "' is no sum of bytes");
    sum_ = std::move(*found);
    domain_ = stage.domain;
    rank_ = domain_.size();
    down_ = rank_ - 2, across_ = rank_ - 1;
    high_ = sum_.weights.extent[down_];
    rows_ = (high_ + 1) / 2 * 2;
    two_ = high_ > rows_of_group;
    place_window();
    kernel_.group = group;
    kernel_.stages = {stage_};
    kernel_.domain = domain_;
    kernel_.domain[across_] = graph_.size_binary(ir::SizeOp::add, domain_[across_], graph_.size(shift_));
    kernel_.points.assign(rank_, 1);
    kernel_.points[down_] = plan_.tiling(stage_).high, kernel_.points[across_] = plan_.tiling(stage_).wide;
    kernel_.threads = {static_cast<int>(threads), 1, 1};
    kernel_.blocks_at_once = blocks_at_once;
    kernel_.registers = 128;
    kernel_.operations = operations_of_point + operations_of_row * static_cast<double>(rows_);
    lane_ = memory_lane(stage_);
    guarded_ = reads_more();
    stages_bytes_ = ir::nest::size_of(lane_) == 1;
    body_ = stage.body;
    if (stages_bytes_ && !guarded_)
      if (const auto wide = before_saturation(body_)) {
        body_ = *wide, saturates_ = true, lane_ = Lane::i32;
        take_shift();
      }
    kernel_.shared_bytes = ring_bytes + (stages_bytes_ ? warps * staged_bytes : 0);
  }

  void into(DeviceProgram& program) {
    table_ = program.module.tables.size();
    ir::Table table;
    table.name = "weights of " + graph_.stage(stage_).name;
    table.type = ElementType::u32;
    table.values = weight_words(sum_.weights, rows_, first_weight_);
    table.extents = {static_cast<i64>(table.values.size())};
    program.module.tables.push_back(std::move(table));
    ir::nest::Function function;
    function.name = kernel_.name;
    function.essay =
        fmt::format("sums of {} x {} bytes by matrix units; a block has {} x {} results, a warp 64 columns", high_,
                    sum_.weights.extent[across_], kernel_.points[down_], kernel_.points[across_]);
    Builder builder(function.body);
    builder_ = &builder;
    place_block();
    place_memory();
    load_weights();
    march();
    reads_of(stage_);
    writes(stage_);
    finish(std::move(function), program);
  }

 private:
  using Totals = std::array<std::array<Value, 4>, chunks_of_warp>;

  static Value number(i64 n) { return integer(n, flag_type); }
  i64 lo(std::size_t d) const { return sum_.weights.lo[d]; }
  const std::vector<ir::SizeId>& source_domain() const { return graph_.stage(sum_.source).domain; }
  BorderMode mode_along(std::size_t d) const {
    return sum_.border[d].mode == BorderMode::none ? BorderMode::clamp : sum_.border[d].mode;
  }
  Value border_byte(std::size_t d) const {
    const double v = ir::evaluate(Op::convert, graph_.stage(sum_.source).type, ElementType::f64, &sum_.border[d].value);
    return number(static_cast<i64>(v) & 255);
  }

  // The window of 16 columns of results begins at a column of the image that is a multiple of 16, and so that results
  // begin at a multiple of as many bytes as can be.
  void place_window() {
    const i64 wide = sum_.weights.extent[across_];
    const auto alignment = [](i64 n) { return n % 16 == 0 ? 16 : n & -n; };
    i64 best = 0;
    for (i64 o = 0; o <= window / 2 + 1 - wide; ++o) {
      const i64 of = alignment(lo(across_) - o);
      if (of <= best) continue;
      best = of, first_weight_ = o;
    }
    const i64 begin = lo(across_) - first_weight_;
    shift_ = (begin % chunk + chunk) % chunk;
    left_ = begin - shift_;  // of the image, against the columns of blocks
  }

  // Does the rest of the body read images, or where it is?
  bool reads_more() const {
    const ir::Stage& stage = graph_.stage(stage_);
    std::vector<ExprId> stack{stage.body};
    bool more = std::any_of(stage.margin_lo.begin(), stage.margin_lo.end(), [](i64 n) { return n > 0; }) ||
                std::any_of(stage.margin_hi.begin(), stage.margin_hi.end(), [](i64 n) { return n > 0; });
    while (!stack.empty()) {
      const ExprId e = stack.back();
      stack.pop_back();
      if (e.id == sum_.sum.id) continue;
      const ExprNode& node = graph_.node(e);
      more |= ir::reads_stage(node.op) || node.op == Op::coord;
      stack.insert(stack.end(), node.args.begin(), node.args.end());
    }
    return more;
  }

  // Of an i32 that becomes a byte, the least or the greatest one where it is none: two of them are one instruction.
  std::optional<ExprId> before_saturation(ExprId e) const {
    const ExprNode& node = graph_.node(e);
    if (node.type != ElementType::u8 || node.args.size() != 1) return {};
    const auto is_i32 = [&](ExprId x) { return graph_.node(x).type == ElementType::i32; };
    if (node.op == Op::saturate && is_i32(node.args[0])) return node.args[0];
    if (node.op != Op::convert || !is_i32(node.args[0])) return {};
    // min(max(x, 0), 255), in any order.
    const auto within = [&](ExprId x, Op op, i64 bound) -> std::optional<ExprId> {
      const ExprNode& n = graph_.node(x);
      if (n.op != op) return {};
      for (const std::size_t k : {std::size_t{0}, std::size_t{1}}) {
        const ExprNode& c = graph_.node(n.args[k]);
        if (c.op == Op::constant && c.ivalue == bound) return n.args[1 - k];
      }
      return {};
    };
    for (const auto& [outer, first, inner, second] :
         {std::tuple{Op::min, i64{255}, Op::max, i64{0}}, std::tuple{Op::max, i64{0}, Op::min, i64{255}}})
      if (const auto one = within(node.args[0], outer, first))
        if (const auto both = within(*one, inner, second)) return both;
    return {};
  }

  // A quotient by a power of two is a shift here: what is below 0 becomes 0 whichever way it is rounded.
  void take_shift() {
    const ExprNode& node = graph_.node(body_);
    if (node.op != Op::div || node.type != ElementType::i32) return;
    const ExprNode& by = graph_.node(node.args[1]);
    if (by.op != Op::constant || by.ivalue < 2 || (by.ivalue & (by.ivalue - 1)) != 0) return;
    while ((i64{1} << bits_) < by.ivalue) ++bits_;
    body_ = node.args[0];
  }

  // ---- the block ----
  void place_block() {
    first_.resize(rank_);
    Value block;
    for (std::size_t d = rank_; d-- > 0;) first_[d] = first_of_block(d, block);
    left_of_block_ = builder_->let("left", first_[across_] - shift_);
    thread_ = builder_->let("thread", convert(flag_type, call_i64("tsr_thread_x", {})));
    lane_of_warp_ = builder_->let("lane", thread_ & (lanes - 1));
    warp_ = builder_->let("warp", thread_ >> 5);
    left_of_warp_ = builder_->let("side", left_of_block_ + convert(index_type, warp_bytes()));
    of_four_ = builder_->let("g", lane_of_warp_ >> 2);
    in_four_ = builder_->let("t", lane_of_warp_ & 3);
  }

  std::vector<Value> place_of(const Value& y, const Value& x) const {
    std::vector<Value> at(first_.begin(), first_.end());
    at[down_] = y, at[across_] = x;
    return at;
  }
  Value stride(StageId s) {
    const ArrayPlace where = place(s);
    const std::size_t lead = interface_.arrays[where.array].extents.size() - rank_;
    return host({Kind::stride, {}, position(where.array), down_ + lead});
  }
  Value bytes_of(StageId s, const Value& y, const Value& x) {
    return convert(ir::nest::bytes_pointer, element(s, place_of(y, x)));
  }

  void place_memory() {
    from_ = builder_->let("from", bytes_of(sum_.source, integer(0), integer(0)));
    from_pitch_ = builder_->let("pitch", stride(sum_.source));
    from_alignment_ = builder_->let("aligned", aligned(from_, from_pitch_));
    if (stages_bytes_) {
      to_ = builder_->let("to", bytes_of(stage_, integer(0), integer(0)));
      to_pitch_ = builder_->let("apart", stride(stage_));
      to_alignment_ = builder_->let("whole", aligned(address(to_, left_of_block_), to_pitch_));
    }
    const Value end = end_of(down_);
    end_ = builder_->let("end", min(end, first_[down_] + kernel_.points[down_]));
    // Rows below are not there where the launch computes some rows of the image.
    last_row_ = builder_->let("last", end + (lo(down_) + high_ - 2));
    const Value shared = variable("tsr_shared_u8", ir::nest::bytes_pointer);
    const Value row = lane_of_warp_ & 7;
    const Value eight = lane_of_warp_ >> 3;
    const auto within = [&](const Value& rows, const Value& bytes) {
      return address(shared, convert(index_type, rows * pitch + (warp_bytes() + bytes)));
    };
    chunks_at_ = builder_->let("chunks", within(row, eight * chunk));
    // The chunk behind those of the warp, of two rows.
    const Value below = eight & 1;
    behind_at_ = builder_->let("behind", within(row + below, number(columns_of_warp)));
    place_ring();
    if (stages_bytes_) place_stores();
    if (stages_bytes_)
      staged_ = builder_->let("staged", address(shared, convert(index_type, warp_ * staged_bytes) + ring_bytes));
  }
  Value warp_bytes() const { return warp_ * columns_of_warp; }
  static Value aligned(const Value& at, const Value& apart) {
    return ir::nest::call("tsr_matrix_alignment", flag_type, {at, apart});
  }

  void load_weights() {
    const Value table = variable(fmt::format("tsr_table_{}", table_), {Lane::u32, 1, true});
    const Value lane = builder_->let("own", convert(index_type, lane_of_warp_));
    for (i64 k = 0; k < rows_; ++k)
      for (i64 half = 0; half < 2; ++half)
        weights_.push_back(builder_->let("w", load(table, lane * 2 + (k * 2 * lanes + half), 1)));
    metadata_ = builder_->let("which", load(table, lane + rows_ * 2 * lanes, 1));
  }

  // ---- rows of the image ----
  // The next group of rows, to its place in the ring; the first place is there twice.
  void fill(const Value& group, const Value& slot) {
    std::vector<Value> all = ring_at(slot);
    all.insert(all.end(), {top_, left_of_ring_});
    add_limits(all);
    all.insert(all.end(),
               {from_alignment_, mode(down_), border_byte(down_), thread_, number(threads), number(pitch / chunk),
                convert(flag_type, group), first_inside_, last_inside_, place_, beside_});
    builder_->call("tsr_matrix_fill", std::move(all));
    builder_->assign(place_, place_ + group_step_);
  }

  // What the border says of it, once the group has come.
  void patch(const Value& group, const Value& slot) {
    builder_->branch(sides_, [&] {
      std::vector<Value> all = ring_at(slot);
      all.insert(all.end(), {top_ + group * rows_of_group, left_of_ring_});
      add_limits(all);
      all.insert(all.end(), {mode(down_), mode(across_), border_byte(down_), border_byte(across_), thread_,
                             number(threads), number(pitch / chunk)});
      builder_->call("tsr_matrix_patch_sides", std::move(all));
    });
  }

  std::vector<Value> ring_at(const Value& slot) const {
    const Value bytes = slot * group_bytes;
    return {address(variable("tsr_shared_u8", ir::nest::bytes_pointer), convert(index_type, bytes)),
            integer(groups * group_bytes), equal(slot, 0), from_, from_pitch_};
  }
  void add_limits(std::vector<Value>& all) {
    const Value end = extent(domain_[across_]) + (lo(across_) + sum_.weights.extent[across_] - 1);
    all.insert(all.end(), {last_row_, extent(source_domain()[down_]), extent(source_domain()[across_]),
                           integer(lo(across_)), end});
  }
  Value mode(std::size_t d) const { return number(static_cast<i64>(mode_along(d))); }

  // All that is the same for every group.
  void place_ring() {
    const Value columns = extent(source_domain()[across_]);
    top_ = builder_->let("top", first_[down_] + lo(down_));
    left_of_ring_ = builder_->let("side", first_[across_] + left_);
    const Value inside =
        builder_->let("inside", ir::nest::call("tsr_matrix_inside", flag_type,
                                               {from_alignment_, left_of_ring_, columns, number(pitch / chunk)}));
    sides_ = builder_->let("sides", less(left_of_ring_, integer(0)) + less(columns, left_of_ring_ + pitch));
    first_inside_ = builder_->let("first", ir::nest::call("tsr_matrix_first", flag_type, {top_}));
    last_inside_ = builder_->let("last", ir::nest::call("tsr_matrix_last", flag_type,
                                                        {inside, top_, last_row_, extent(source_domain()[down_])}));
    const Value row = convert(index_type, thread_ >> 4);
    const Value column = convert(index_type, thread_ & 15) * chunk;
    place_ = builder_->var("place", (top_ + row) * from_pitch_ + (left_of_ring_ + column));
    beside_ = builder_->let("beside", convert(index_type, thread_) * (from_pitch_ - chunk) + (pitch - chunk));
    group_step_ = builder_->let("step", from_pitch_ * rows_of_group);
  }
  static Value next_of(const Value& slot) { return choose(equal(slot, groups - 1), number(0), slot + 1); }

  Totals no_totals() {
    Totals totals;
    for (auto& of_chunk : totals)
      for (Value& v : of_chunk) v = builder_->var("sum", number(0));
    return totals;
  }

  void march() {
    const Value blocks =
        call_i64("tsr_short_quotient", {end_ - first_[down_] + (rows_of_group - 1), integer(rows_of_group)});
    // The last step, and the last group of rows that it reads.
    const Value last = builder_->let("steps", two_ ? blocks : blocks - 1);
    const Value last_group = builder_->let("groups", last + 1);
    for (i64 n = 0; n <= ahead; ++n) {
      // (All that is asked for is waited for as well: nothing comes once a thread has ended.)
      if (n < 2)
        fill(integer(n), number(n));
      else
        builder_->branch(less(integer(n - 1), last_group), [&] { fill(integer(n), number(n)); });
      builder_->call("tsr_asked", {});
    }
    slot_ = builder_->var("slot", number(0));
    builder_->call("tsr_arrived_but", {integer(ahead)});
    builder_->call("tsr_barrier", {});
    patch(integer(0), number(0));
    Totals even = no_totals(), odd = two_ ? no_totals() : Totals{};
    if (!two_)
      return builder_->loop("q", integer(0), last + 1, integer(1),
                            [&](const Value& q) { step(q, last_group, even, even); });
    builder_->loop("q", integer(0), last + 1, integer(2), [&](const Value& q) {
      step(q, last_group, even, odd);
      builder_->branch(less(q, last), [&] { step(builder_->let("next", q + 1), last_group, odd, even); });
    });
  }

  // Rows of group q: all that block q gets of them, and block q - 1, whose totals are `old`.
  void step(const Value& q, const Value& last_group, const Totals& totals, const Totals& old) {
    builder_->call("tsr_arrived_but", {integer(ahead - 1)});
    builder_->call("tsr_barrier", {});
    const Value next = builder_->let("following", next_of(slot_));
    patch(q + 1, next);
    builder_->branch(less(q + ahead, last_group), [&] {
      fill(q + (ahead + 1), builder_->let("to", choose(equal(slot_, 0), number(groups - 1), slot_ - 1)));
    });
    builder_->call("tsr_asked", {});
    // (A block of the last columns may have warps beyond them.)
    builder_->branch(less(left_of_warp_, extent(domain_[across_])), [&] {
      const Value bytes = convert(index_type, slot_ * group_bytes);
      const Value chunks = builder_->let("at", address(chunks_at_, bytes));
      const Value behind = builder_->let("at", address(behind_at_, bytes));
      for (i64 s = 0; s < rows_of_group; s += 2)
        if (s < high_) multiply(s, chunks, behind, totals, old);
      if (!two_) return results(q, totals);
      builder_->branch(less(integer(0), q), [&] { results(builder_->let("of", q - 1), old); });
    });
    builder_->assign(slot_, next);
  }

  using Words4 = std::array<Value, chunks_of_warp + 1>;
  Words4 words() {
    Words4 result;
    for (Value& v : result) v = builder_->var("b", integer(0, {Lane::u32, 1, false}));
    return result;
  }

  void multiply(i64 s, const Value& chunks, const Value& behind, const Totals& totals, const Totals& old) {
    std::array<Words4, 2> rows{words(), words()};
    for (i64 k = 0; k < 2; ++k) {
      const Words4& w = rows[static_cast<std::size_t>(k)];
      builder_->call("tsr_matrix_load4", {w[0], w[1], w[2], w[3], address(chunks, integer((s + k) * pitch))});
    }
    builder_->call("tsr_matrix_load2", {rows[0][4], rows[1][4], address(behind, integer(s * pitch))});
    const Type word{Lane::u32, 1, false};
    for (std::size_t j = 0; j < chunks_of_warp; ++j) {
      std::vector<Value> b;
      for (const Words4& w : rows)
        for (const i64 which : {0x5410, 0x7632})
          b.push_back(builder_->let("v", ir::nest::call("tsr_bytes", word, {w[j], w[j + 1], integer(which, word)})));
      if (two_ && s + rows_of_group < high_) add(old[j], old[j], s + rows_of_group, b);
      if (s > 0) {
        add(totals[j], totals[j], s, b);
      } else {
        const Value none = number(0);
        add(totals[j], {none, none, none, none}, s, b);
      }
    }
  }

  // The products by the weights of rows s and s + 1.
  void add(const std::array<Value, 4>& to, const std::array<Value, 4>& from, i64 s, const std::vector<Value>& b) {
    std::vector<Value> all(to.begin(), to.end());
    const auto w = weights_.begin() + 2 * s;
    all.insert(all.end(), w, w + 4);
    all.insert(all.end(), b.begin(), b.end());
    all.insert(all.end(), from.begin(), from.end());
    all.push_back(metadata_);
    builder_->call(sum_.unsigned_weights ? "tsr_matrix_add_u8" : "tsr_matrix_add_s8", std::move(all));
  }

  // ---- results ----
  // Of a thread, of 16 columns: rows 2 t and 2 t + 1, columns 2 g and 2 g + 1.
  void results(const Value& q, const Totals& totals) {
    const Value top = builder_->let("y", first_[down_] + q * rows_of_group);
    const Value row = builder_->let("y", top + convert(index_type, in_four_) * 2);
    const Value column = builder_->let("x", left_of_warp_ + convert(index_type, twice(of_four_)));
    for (std::size_t j = 0; j < chunks_of_warp; ++j)
      for (std::size_t h = 0; h < 2; ++h) {
        std::array<Value, 2> pair;
        for (std::size_t p = 0; p < 2; ++p) {
          index_ = place_of(row + static_cast<i64>(h), column + (static_cast<i64>(j) * chunk + static_cast<i64>(p)));
          pair[p] = one(totals[j][h + 2 * p]);
        }
        if (stages_bytes_) stage_pair(j, h, pair);
      }
    if (stages_bytes_) store_bytes(q);
  }
  static Value twice(const Value& v) { return v + v; }

  Value inside() {
    const Value& x = index_[across_];
    return both(both(less(index_[down_], end_), less(integer(-1), x)), less(x, extent(domain_[across_])));
  }

  // The value of the point, which is stored unless bytes are staged.
  Value one(const Value& total) {
    if (stages_bytes_ && !guarded_) return value_of(total);
    index_[down_] = builder_->let("y", index_[down_]), index_[across_] = builder_->let("x", index_[across_]);
    const Value v = stages_bytes_ ? builder_->var("v", integer(0, {lane_, 1, false})) : Value();
    builder_->branch(inside(), [&] {
      const Value got = value_of(total);
      if (stages_bytes_)
        builder_->assign(v, got);
      else
        builder_->store(element(stage_, index_), integer(0), got, true);
    });
    return v;
  }

  Value value_of(const Value& total) {
    PointSource source = point_source();
    source.load = [&](const ExprNode& node, const Vars& vars) {
      return load_access(node, vars, true, [&](StageId from, const std::vector<Value>& at) { return read(from, at); });
    };
    PointEmitter emitter(graph_, ranges_, *builder_, source);
    const Type own{ir::nest::lane_of(graph_.node(sum_.sum).type), 1, false};
    const Value sum = own.lane == Lane::i32 ? total : builder_->let("sum", convert(own, total));
    Value v;
    if (body_.id == sum_.sum.id)
      v = emitter.stored(body_, sum, lane_);
    else
      emitter.emit({body_}, [&](std::size_t, const Value& result) { v = emitter.stored(body_, result, lane_); },
                   {{sum_.sum.id, sum}});
    if (bits_ > 0) v = v >> bits_;
    return builder_->let("v", without_margins(stage_, index_, v, lane_));
  }

  void stage_pair(std::size_t j, std::size_t h, const std::array<Value, 2>& pair) {
    const Value row = twice(in_four_) * staged_pitch;
    const Value at = row + twice(of_four_);
    builder_->call(
        saturates_ ? "tsr_matrix_stage_saturated" : "tsr_matrix_stage",
        {address(staged_, convert(index_type, at) + (static_cast<i64>(h) * staged_pitch + static_cast<i64>(j) * chunk)),
         pair[0], pair[1]});
  }

  // A thread stores 16 bytes of a row; where is the same for every block but for its rows, which come in order.
  void place_stores() {
    const Value row = convert(index_type, of_four_);
    part_ = builder_->let("part", left_of_warp_ + convert(index_type, in_four_) * chunk);
    way_ = builder_->let("way",
                         ir::nest::call("tsr_matrix_way", flag_type, {part_, extent(domain_[across_]), to_alignment_}));
    high_of_block_ = builder_->let("high", convert(flag_type, end_ - first_[down_]));
    stored_ = builder_->var("stored", (first_[down_] + row) * to_pitch_);
    stored_step_ = builder_->let("step", to_pitch_ * rows_of_group);
  }
  void store_bytes(const Value& q) {
    builder_->call("tsr_matrix_step", {});
    const Value y = convert(flag_type, q) * rows_of_group + of_four_;
    const Value part = in_four_ * chunk;
    const Value from = address(staged_, convert(index_type, of_four_ * staged_pitch + part));
    builder_->branch(less(y, high_of_block_), [&] {
      builder_->call("tsr_matrix_store", {address(to_, stored_), from, part_, extent(domain_[across_]), way_});
    });
    builder_->assign(stored_, stored_ + stored_step_);
    builder_->call("tsr_matrix_step", {});
  }

  const StageId stage_;
  rewrite::MatrixSum sum_;
  std::size_t down_ = 0, across_ = 1, table_ = 0;
  i64 high_ = 0, rows_ = 0;           // of weights; even
  bool two_ = false;                  // two blocks of results are under way
  i64 first_weight_ = 0, shift_ = 0;  // in the window; results of a block begin so many columns to the left
  i64 left_ = 0;
  ExprId body_;
  int bits_ = 0;          // that a saturated value is shifted by
  Lane lane_ = Lane::u8;  // of its value
  bool guarded_ = false, stages_bytes_ = false, saturates_ = false;
  std::vector<Value> first_, weights_;
  Value left_of_block_, left_of_warp_, thread_, lane_of_warp_, warp_, of_four_, in_four_;
  Value from_, from_pitch_, from_alignment_, to_, to_pitch_, to_alignment_, end_, last_row_;
  Value chunks_at_, behind_at_, staged_, metadata_, slot_;
  Value top_, left_of_ring_, sides_, first_inside_, last_inside_, place_, beside_, group_step_;
  Value part_, way_, high_of_block_, stored_, stored_step_;
};

}  // namespace

const DeviceWay matrix_units = {
    "matrix units", [](Schedule) { return true; },
    [](const WayQuestion& q) {
      const rewrite::Tiling& tile = q.plan.tiling(q.plan.groups[q.group].anchor);
      return tile.rows > 0 && tile.matrix
                 ? accepted(matrix_units, nullptr)
                 : of_another_kind(matrix_units, "it is no sum of bytes that matrix units take");
    },
    [](const WayQuestion& q, const plan::WayAnswer&, const std::string& name, DeviceProgram& program) {
      MatrixLowering(q.plan, q.interface, q.ranges, q.group, name).into(program);
    },
    true};

}  // namespace tessera::lower
