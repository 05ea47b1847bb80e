// See march.hpp. Dimension 0 is the one that is marched along; what is said of planes holds for all of the
// others together.
#include "lower/ways/march/march.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "ir/build.hpp"
#include "lower/device_function.hpp"
#include "rewrite/sums/weights.hpp"

namespace tessera::lower {

using ir::ExprNode;
using ir::Op;
using ir::StageId;
using ir::nest::integer;
using ir::nest::Lane;
using ir::nest::operation;
using ir::nest::Type;
using ir::nest::Value;

namespace {

constexpr i64 bytes_of_vector = 16;  // of a load from shared memory
// Places in a plane of at most so many bytes fit 32 bits, beside one that is none.
constexpr Type narrow{Lane::u32, 1, false};
constexpr i64 most_narrow = i64{4000} << 20, is_outside = 0xffffffff;
constexpr i64 least_terms = 12;     // of fewer ones register tiles are as fast: Gaussians of 9 taps, not of 17
constexpr double most_text = 5200;  // instructions of a step
constexpr i64 registers_of_multiprocessor = 65536;
constexpr i64 most_reach = 32;    // of a sum, from its first to its last index along a dimension
constexpr i64 most_brought = 20;  // elements of a thread and step, through registers: faster than by themselves
// Instructions: of a step beside its sums, of an element that is brought; and what a vector of shared memory costs, of
// which a cycle loads a quarter.
constexpr double beside_step = 40, price_of_element = 5, price_of_load = 2;

std::vector<std::vector<i64>> every(const std::vector<i64>& extents) {
  std::vector<std::vector<i64>> all{{}};
  for (const i64 n : extents) {
    std::vector<std::vector<i64>> longer;
    for (const std::vector<i64>& begun : all)
      for (i64 k = 0; k < n; ++k) {
        longer.push_back(begun);
        longer.back().push_back(k);
      }
    all = std::move(longer);
  }
  return all;
}

i64 product(const std::vector<i64>& extents) {
  i64 n = 1;
  for (const i64 e : extents) n *= e;
  return n;
}

class MarchLowering : private DeviceFunction {
 public:
  MarchLowering(plan::Plan& plan, const Interface& interface, analyze::Ranges& ranges, std::size_t group,
                std::string name)
      : DeviceFunction(plan, interface, ranges, std::move(name)) {
    const plan::Group& own = plan_.groups[group];
    kernel_.group = group;
    why_ = "it is not one stage";
    if (own.stages.size() != 1) return;
    stage_ = own.stages.front();
    const ir::Stage& stage = graph_.stage(stage_);
    rank_ = stage.domain.size();
    kernel_.domain = stage.domain;
    why_ = "it is no volume";
    if (rank_ < 3 || rank_ > 4 || stage.kind != ir::StageKind::point) return;
    why_ = find_sum(stage) ? "" : "it is no weighted sum of an array";
    is_volume_sum_ = why_.empty();
    if (is_volume_sum_ && static_cast<i64>(weights_.size()) < least_terms)
      why_ = fmt::format("it has {} terms, fewer than {}", weights_.size(), least_terms);
  }

  // It is no sum that a block marches through, since ...; "" where it is.
  const std::string& why() const { return why_; }
  bool is_volume_sum() const { return is_volume_sum_; }

  MarchFit fit(i64 most_shared) {
    MarchFit best;
    const i64 across = rank_ == 3 ? 16 : 8;
    const i64 threads = 128;
    for (const i64 layers : rank_ == 3 ? std::vector<i64>{1} : std::vector<i64>{1, 2, 4})
      for (const std::vector<i64>& own : rank_ == 3 ? std::vector<std::vector<i64>>{{1}, {2}, {4}}
                                                    : std::vector<std::vector<i64>>{{1, 1}, {1, 2}, {2, 2}}) {
        MarchFit fit;
        fit.results = own;
        fit.results.push_back(vector());
        fit.threads = {threads / across / layers, across};
        if (rank_ == 4) fit.threads.insert(fit.threads.begin(), layers);
        consider(fit, most_shared, best);
      }
    return best;
  }

  void into(DeviceProgram& program, const MarchFit& fit) {
    shape(fit);
    const i64 threads = product(fit.threads);
    kernel_.threads = {static_cast<int>(fit.threads.back()), static_cast<int>(threads / fit.threads.back()), 1};
    kernel_.points = {1};
    kernel_.warm_up = depth() - 1;
    for (std::size_t d = 1; d < rank_; ++d) kernel_.points.push_back(own_[d] * threads_[d]);
    kernel_.marches = true;
    kernel_.shared_bytes = 2 * half_ * size();
    kernel_.stages = {stage_};
    kernel_.columns = static_cast<int>(own_.back());
    kernel_.registers = fit.registers;
    kernel_.blocks_at_once = blocks_at_once(fit.registers, threads);
    kernel_.operations = static_cast<double>(weights_.size());
    kernel_.moves = fit.price - kernel_.operations;
    ir::nest::Function function;
    function.name = kernel_.name;
    function.essay = fmt::format("{} x {} results a thread and plane, about {} registers", product(own_) / own_.back(),
                                 own_.back(), fit.registers);
    Builder builder(function.body);
    builder_ = &builder;
    place_block();
    march();
    reads_of(stage_);
    writes(stage_);
    finish(std::move(function), program);
  }

 private:
  // ---- the sum ----
  bool find_sum(const ir::Stage& stage) {
    i64 steps = i64{1} << 20;
    rewrite::LinearForms forms(graph_, plan_.options.numbers, stage.body, steps);
    if (!forms.linear(stage.body)) return false;
    const auto sum = forms.expand(stage.body);
    if (!sum || sum->weights.empty()) return false;
    lane_ = ir::nest::lane_of(graph_.node(stage.body).type);
    if (is_float(lane_) && memory_lane(stage_) != lane_) return false;
    const ExprNode& top = graph_.node(sum->leaf);
    const ExprNode& access = top.op == Op::convert ? graph_.node(top.args[0]) : top;
    source_ = access.stage, border_ = access.border;
    if (graph_.stage(source_).domain.size() != rank_) return false;
    for (const ir::Index& index : access.index)
      if (index.scale != 1 || graph_.constant(index.shift) != 0) return false;
    weights_ = sum->weights;
    if (!find_reach() || !borders_fit()) return false;
    may_ask_ = plan_.device.row_chains && is_float(lane_) && memory_lane(source_) == lane_ && !outside_ &&
               border_[0].mode != BorderMode::constant;
    return true;
  }

  bool find_reach() {
    lo_.assign(rank_, INT64_MAX), hi_.assign(rank_, INT64_MIN);
    for (const auto& [offset, weight] : weights_) {
      for (std::size_t d = 0; d < rank_; ++d)
        lo_[d] = std::min(lo_[d], offset[d]), hi_[d] = std::max(hi_[d], offset[d]);
      const bool whole = weight == std::trunc(weight) && std::abs(weight) < 0x1p31;
      if (!is_float(lane_) && !whole) return false;
    }
    for (std::size_t d = 0; d < rank_; ++d)
      if (hi_[d] - lo_[d] >= most_reach) return false;
    return true;
  }

  // An element that is outside of its plane has one value: the constants of its dimensions have to be the same.
  bool borders_fit() {
    for (std::size_t d = 1; d < rank_; ++d) {
      if (border_[d].mode != BorderMode::constant) continue;
      if (outside_ && *outside_ != border_[d].value) return false;
      outside_ = border_[d].value;
    }
    return true;
  }

  i64 size() const { return ir::nest::size_of(lane_); }
  i64 vector() const { return bytes_of_vector / size(); }
  i64 depth() const { return hi_[0] - lo_[0] + 1; }
  Type type() const { return {lane_, 1, false}; }

  // ---- the shape ----
  void shape(const MarchFit& fit) {
    own_.assign(1, 1), threads_.assign(1, 1);
    own_.insert(own_.end(), fit.results.begin(), fit.results.end());
    threads_.insert(threads_.end(), fit.threads.begin(), fit.threads.end());
    window_ = (own_.back() + hi_.back() - lo_.back() + vector() - 1) / vector() * vector();
    part_.assign(1, 1);
    for (std::size_t d = 1; d + 1 < rank_; ++d) part_.push_back(own_[d] * threads_[d] + hi_[d] - lo_[d]);
    part_.push_back((threads_.back() - 1) * own_.back() + window_);
    const i64 threads = product(threads_);
    each_ = (product(part_) + threads - 1) / threads;
    half_ = each_ * threads;
    asks_ = may_ask_ && each_ > most_brought;
  }

  static int blocks_at_once(i64 registers, i64 threads) {
    return static_cast<int>(std::max<i64>(1, registers_of_multiprocessor / (registers * threads)));
  }

  void consider(MarchFit fit, i64 most_shared, MarchFit& best) {
    if (fit.threads[fit.threads.size() - 2] < 1) return;
    shape(fit);
    const i64 words = size() / 4, results = product(own_), sums = depth() * results;
    if (2 * half_ * size() > most_shared) return;
    const i64 places = asks_ ? each_ : each_ * (3 + 4 * words) / 4;
    fit.registers = static_cast<int>((sums + window_) * words + places + 38);
    if (fit.registers > 232 || sums * words > 128) return;
    i64 rows = 1;
    for (std::size_t d = 1; d + 1 < rank_; ++d) rows *= own_[d] + hi_[d] - lo_[d];
    const double terms = static_cast<double>(weights_.size()) * static_cast<double>(results);
    const double loads = static_cast<double>(rows * (window_ / vector()));
    const double instructions =
        terms + price_of_load * loads + price_of_element * static_cast<double>(each_) + beside_step;
    if (instructions > most_text) return;
    fit.price = instructions / static_cast<double>(results);
    const double warps = static_cast<double>(blocks_at_once(fit.registers, product(threads_)) * product(threads_) / 32);
    // Few warps cannot hide what the others wait for.
    const double cost = fit.price * (1 + 2 / warps);
    if (best.fits && cost >= cost_) return;
    cost_ = cost;
    fit.fits = true;
    best = fit;
  }

  // ---- where the block and the thread are ----
  void place_block() {
    first_.resize(rank_);
    Value block;
    for (std::size_t d = rank_; d-- > 1;) first_[d] = first_of_block(d, block);
    const Value height = host({Kind::strip, {}, 0, 0});
    first_[0] = builder_->let("first", first_row() + block * height);
    const Value x = builder_->let("tx", call_i64("tsr_thread_x", {}));
    Value rest = builder_->let("ty", call_i64("tsr_thread_y", {}));
    thread_ = builder_->let("thread", rest * threads_.back() + x);
    lane_of_.assign(rank_, {});
    lane_of_.back() = x;
    for (std::size_t d = rank_ - 1; d-- > 1;) {
      if (d == 1) {
        lane_of_[d] = rest;
        break;
      }
      const Value above = builder_->let("above", call_i64("tsr_short_quotient", {rest, integer(threads_[d])}));
      lane_of_[d] = builder_->let("row", rest - above * threads_[d]);
      rest = above;
    }
    result_.assign(rank_, {});
    for (std::size_t d = 1; d < rank_; ++d) result_[d] = builder_->let("at", first_[d] + lane_of_[d] * own_[d]);
    window_at_ = integer(0);
    for (std::size_t d = 1; d < rank_; ++d) window_at_ = window_at_ * part_[d] + lane_of_[d] * own_[d];
    window_at_ = builder_->let("window", window_at_);
    end_ = builder_->let("end", min(first_[0] + height, end_of(0)));
  }

  BorderMode mode_along(std::size_t d) const {
    return border_[d].mode == BorderMode::none ? BorderMode::clamp : border_[d].mode;
  }
  static Value both_or(const Value& a, const Value& b) { return a ? a | b : b; }

  // Bytes.
  Value stride(StageId s, std::size_t d) {
    const ArrayPlace where = place(s);
    if (d + 1 == rank_) return integer(where.element_stride);
    const std::size_t lead = interface_.arrays[where.array].extents.size() - rank_;
    return host({Kind::stride, {}, position(where.array), d + lead});
  }

  // Of an element of the block's part of a plane: bytes from where the plane begins; set where it is outside.
  Value place_of_element(const Value& number, Value& off) {
    const auto& domain = graph_.stage(source_).domain;
    Value rest = number, bytes = integer(0);
    for (std::size_t d = rank_; d-- > 1;) {
      Value at = rest;
      if (d > 1) {
        const Value above = builder_->let("above", call_i64("tsr_short_quotient", {rest, integer(part_[d])}));
        at = rest - above * part_[d];
        rest = above;
      }
      Value beyond;
      const Value mapped = mapped_index(mode_along(d), first_[d] + lo_[d] + at, extent(domain[d]), beyond);
      if (beyond) off = both_or(off, beyond);
      bytes = bytes + mapped * stride(source_, d);
    }
    return bytes;
  }

  // They are found once, in 32 bits; planes that take more are wide, and are looked for again with each of them.
  void place_elements() {
    const auto& domain = graph_.stage(source_).domain;
    Value bytes = integer(0), backward;
    for (std::size_t d = 1; d < rank_; ++d) {
      const Value step = stride(source_, d);  // before the extent: integers are numbered as they are asked for
      bytes = bytes + (extent(domain[d]) - 1) * step;
      backward = both_or(backward, less(step, integer(0)));
    }
    wide_ = builder_->let("wide", both_or(backward, less(integer(most_narrow), bytes)));
    for (i64 k = 0; k < each_; ++k) {
      Value off;
      Value at = convert(narrow, place_of_element(thread_ + k * product(threads_), off));
      if (off) at = choose(off, integer(is_outside, narrow), at);
      elements_.push_back(builder_->let("element", at));
      if (!asks_) brought_.push_back(builder_->var("brought", lane_constant(0, lane_)));
    }
  }

  // ---- a step ----
  Value shared() const { return ir::nest::variable(fmt::format("tsr_shared_{}", name_of(lane_)), {lane_, 1, true}); }

  // Elements of plane z: into registers, or where they come by themselves into that half of shared memory.
  void bring(const Value& z, const Value& half) {
    Value beyond;
    const Value mapped = mapped_index(mode_along(0), z, extent(graph_.stage(source_).domain[0]), beyond);
    const Value offset = mapped * stride(source_, 0) + place(source_).offset;
    const Value plane = builder_->let("plane", address(base(position(place(source_).array)), offset));
    const auto from = [&](const Value& bytes) {
      return convert({memory_lane(source_), 1, true}, address(plane, bytes));
    };
    const auto value = [&](const Value& bytes, const Value& off) {
      Value v = convert(type(), load(from(bytes), integer(0), 1));
      if (off) v = choose(off, border_value(*outside_, source_, lane_), v);
      if (beyond) v = choose(beyond, border_value(border_[0].value, source_, lane_), v);
      return v;
    };
    builder_->branch(
        wide_,
        [&] {
          builder_->loop("element", thread_, integer(half_), integer(product(threads_)), [&](const Value& number) {
            Value off;
            const Value bytes = builder_->let("bytes", place_of_element(number, off));
            builder_->store(shared(), half + number, value(bytes, off));
          });
        },
        [&] {
          for (std::size_t k = 0; k < elements_.size(); ++k) {
            const Value bytes = convert(index_type, elements_[k]);
            const Value off = outside_ ? equal(elements_[k], is_outside) : Value{};
            if (asks_)
              builder_->call(fmt::format("tsr_bring_{}", name_of(lane_)),
                             {address(shared(), own_element(half, k)), from(bytes)});
            else
              builder_->assign(brought_[k], value(bytes, off));
          }
        });
  }

  Value own_element(const Value& half, std::size_t k) const {
    return half + thread_ + static_cast<i64>(k) * product(threads_);
  }

  // They are in that half, for all threads.
  void put(const Value& half) {
    if (asks_)
      builder_->call("tsr_arrived", {});
    else
      builder_->branch(equal(wide_, 0), [&] {
        for (std::size_t k = 0; k < brought_.size(); ++k) builder_->store(shared(), own_element(half, k), brought_[k]);
      });
    builder_->call("tsr_barrier", {});
  }

  void march() {
    place_elements();
    std::vector<i64> block{depth()};
    block.insert(block.end(), own_.begin() + 1, own_.end());
    for (i64 k = 0; k < product(block); ++k) sums_.push_back(builder_->var("sum", lane_constant(0, lane_)));
    for (i64 k = 0; k < window_; ++k) values_.push_back(builder_->var("value", lane_constant(0, lane_)));
    const Value half = builder_->var("half", integer(0));
    const Value last = builder_->let("last", end_ + (hi_[0] - 1));
    const Value start = builder_->let("start", first_[0] + lo_[0]);
    bring(start, half);
    put(half);
    builder_->loop("z", start, last + 1, integer(1), [&](const Value& z) {
      const Value other = builder_->let("other", integer(half_) - half);
      bring(min(z + 1, last), other);
      add_plane(half);
      const Value done = builder_->let("z", z - hi_[0]);
      builder_->branch(less(first_[0] - 1, done), [&] { store(done); });
      put(other);
      builder_->assign(half, other);
    });
  }

  const Value& sum(i64 plane, i64 result) const {
    return sums_[static_cast<std::size_t>(plane * product(own_) + result)];
  }

  // Of the planes that wait, 0 is the oldest one: that of the last tap.
  void add_plane(const Value& half) {
    const i64 results = product(own_);
    for (i64 plane = 0; plane < depth(); ++plane)
      for (i64 r = 0; r < results; ++r)
        builder_->assign(sum(plane, r), plane + 1 < depth() ? sum(plane + 1, r) : lane_constant(0, lane_));
    std::vector<i64> reach;
    for (std::size_t d = 1; d + 1 < rank_; ++d) reach.push_back(own_[d] + hi_[d] - lo_[d]);
    for (const std::vector<i64>& row : every(reach)) {
      Value at = integer(0);
      for (std::size_t d = 1; d + 1 < rank_; ++d) at = (at + row[d - 1]) * part_[d + 1];
      for (i64 c = 0; c < window_; c += vector()) {
        std::vector<Value> lanes{address(shared(), half + window_at_ + at + c)};
        for (i64 k = 0; k < vector(); ++k) lanes.push_back(values_[static_cast<std::size_t>(c + k)]);
        builder_->call(fmt::format("tsr_take_{}x{}", name_of(lane_), vector()), std::move(lanes));
      }
      add_row(row);
    }
  }

  void add_row(const std::vector<i64>& row) {
    const std::vector<i64> rows_of_thread(own_.begin() + 1, own_.end() - 1);
    i64 first = 0;
    for (const std::vector<i64>& r : every(rows_of_thread)) {
      rewrite::Offset offset{};
      bool reached = true;
      for (std::size_t d = 1; d + 1 < rank_; ++d) {
        offset[d] = lo_[d] + row[d - 1] - r[d - 1];
        reached &= offset[d] >= lo_[d] && offset[d] <= hi_[d];
      }
      for (offset[rank_ - 1] = lo_.back(); reached && offset[rank_ - 1] <= hi_.back(); ++offset[rank_ - 1])
        for (i64 plane = 0; plane < depth(); ++plane) {
          offset[0] = hi_[0] - plane;
          const auto found = std::ranges::lower_bound(weights_, offset, {}, &rewrite::Weights::value_type::first);
          if (found == weights_.end() || found->first != offset) continue;
          for (i64 v = 0; v < own_.back(); ++v) {
            const Value& x = values_[static_cast<std::size_t>(v + offset[rank_ - 1] - lo_.back())];
            const Value& total = sum(plane, first + v);
            builder_->assign(total, product_added(lane_constant(found->second, lane_), x, total));
          }
        }
      first += own_.back();
    }
  }

  void store(const Value& z) {
    const std::vector<i64> rows_of_thread(own_.begin() + 1, own_.end() - 1);
    i64 first = 0;
    for (const std::vector<i64>& r : every(rows_of_thread)) {
      std::vector<Value> at{z};
      Value inside;
      for (std::size_t d = 1; d + 1 < rank_; ++d) {
        at.push_back(builder_->let("row", result_[d] + r[d - 1]));
        inside = both(inside, less(at.back(), extent(kernel_.domain[d])));
      }
      builder_->branch(inside, [&] { store_row(at, first); });
      first += own_.back();
    }
  }

  void store_row(std::vector<Value> at, i64 first) {
    const Lane lane = memory_lane(stage_);
    const ArrayPlace where = place(stage_);
    const Value &x = result_.back(), n = extent(kernel_.domain.back());
    const i64 columns = own_.back();
    at.push_back(x);
    const Value to = builder_->let("to", element(stage_, at));
    std::vector<Value> own;
    for (i64 v = 0; v < columns; ++v) {
      at.back() = x + v;
      own.push_back(
          builder_->let("v", without_margins(stage_, at, convert({lane, 1, false}, sum(0, first + v)), lane)));
    }
    const auto each = [&] {
      for (i64 v = 0; v < columns; ++v)
        builder_->branch(less(x + v, n), [&] {
          builder_->store(to, integer(v * (where.element_stride / ir::nest::size_of(lane))),
                          own[static_cast<std::size_t>(v)]);
        });
    };
    if (where.element_stride != ir::nest::size_of(lane)) return each();
    builder_->branch(
        less(x + (columns - 1), n),
        [&] {
          std::vector<Value> lanes{to};
          lanes.insert(lanes.end(), own.begin(), own.end());
          builder_->call(fmt::format("tsr_store_{}x{}", name_of(lane), columns), std::move(lanes));
        },
        each);
  }

  std::string why_;
  bool is_volume_sum_ = false;
  StageId stage_ = 0, source_ = 0;
  Lane lane_ = Lane::f32;  // of the sum
  rewrite::Weights weights_;
  std::vector<Border> border_;
  std::optional<double> outside_;  // what lies beside a plane
  // Elements come into shared memory by themselves, where a thread brings so many that they would crowd its registers.
  bool may_ask_ = false, asks_ = false;
  std::vector<i64> lo_, hi_;  // offsets, per dimension
  double cost_ = 0;           // of the best shape so far
  // Per dimension, 1 for the first: results of a thread, threads, what is in shared memory of a plane.
  std::vector<i64> own_, threads_, part_;
  i64 window_ = 0, each_ = 0, half_ = 0;  // columns that a thread reads; elements that it brings; elements of a plane
  std::vector<Value> first_, lane_of_, result_;
  Value thread_, window_at_, end_, wide_;
  std::vector<Value> elements_, brought_, sums_, values_;
};

}  // namespace

const DeviceWay march = {
    "march", only_automatic,
    [](const WayQuestion& q) {
      MarchLowering lowering(q.plan, q.interface, q.ranges, q.group, "");
      if (!lowering.is_volume_sum()) return of_another_kind(march, lowering.why());
      if (!lowering.why().empty()) return refused(march, lowering.why());
      const MarchFit fit = lowering.fit(q.most_shared);
      if (!fit.fits) return refused(march, "no block of its results fits registers and shared memory");
      return accepted(march, held(fit), fit.price);
    },
    [](const WayQuestion& q, const plan::WayAnswer& answer, const std::string& name, DeviceProgram& program) {
      MarchLowering(q.plan, q.interface, q.ranges, q.group, name).into(program, shape_of<MarchFit>(answer));
    },
    true};

}  // namespace tessera::lower
