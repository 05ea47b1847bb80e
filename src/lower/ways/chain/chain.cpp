// See chain.hpp. Dimension 0 is the one that is marched along: what is said of planes holds for the rows of an
// image, whose parts of planes have one row.
#include "lower/ways/chain/chain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ir/build.hpp"
#include "lower/ways/chain/shape.hpp"

namespace tessera::lower {

using ir::nest::integer;
using ir::nest::Lane;
using ir::nest::operation;
using ir::nest::Value;
using rewrite::SumChain;

namespace {

class ChainLowering : private ChainShape {
 public:
  using ChainShape::ChainShape;

  void into(DeviceProgram& program, const ChainFit& fit) {
    shape(fit);
    kernel_.threads = {static_cast<int>(fit.across), static_cast<int>(fit.down), 1};
    kernel_.points.assign(rank_, 1);
    kernel_.points.back() = fit.across * fit.columns;
    if (rank_ > 2) kernel_.points[1] = fit.down * fit.rows;
    kernel_.warm_up = depth() - 1;
    kernel_.marches = true;
    kernel_.shared_bytes = shared_elements() * size();
    kernel_.columns = static_cast<int>(fit.columns);
    kernel_.registers = fit.registers;
    kernel_.blocks_at_once = blocks_at_once(fit);
    kernel_.operations = sums_of_result();
    kernel_.moves = fit.price - kernel_.operations;
    ir::nest::Function function;
    function.name = kernel_.name;
    function.essay = fmt::format("sums along {} dimensions, {} x {} results a thread and plane, about {} registers",
                                 rank_, fit.rows, fit.columns, fit.registers);
    Builder builder(function.body);
    builder_ = &builder;
    place_block();
    march();
    const BorderMode mode = along(0).border;
    reads(source_, {.lo = along(0).lo,
                    .hi = along(0).hi(),
                    .reflects = mode == BorderMode::mirror || mode == BorderMode::symmetric,
                    .wraps = mode == BorderMode::wrap});
    writes(stage_);
    finish(std::move(function), program);
  }

 private:
  // ---- where the block and the thread are ----
  void place_block() {
    first_.resize(rank_);
    Value block;
    for (std::size_t d = rank_; d-- > 1;) first_[d] = first_of_block(d, block);
    const Value height = host({Kind::strip, {}, 0, 0});
    first_[0] = builder_->let("first", first_row() + block * height);
    end_ = builder_->let("end", min(first_[0] + height, end_of(0)));
    thread_x_ = builder_->let("tx", call_i64("tsr_thread_x", {}));
    thread_y_ = builder_->let("ty", call_i64("tsr_thread_y", {}));
    thread_ = builder_->let("thread", thread_y_ * fit_.across + thread_x_);
    x_ = builder_->let("x", first_.back() + thread_x_ * fit_.columns);
    if (is_volume()) row_ = builder_->let("row", first_[1] + thread_y_ * fit_.rows);
    whole_vector_ = builder_->let("whole", less(x_ + (fit_.columns - 1), extent(kernel_.domain.back())));
    corner_ = builder_->let("corner", first_.back() - left_);  // the column where parts begin
    const auto& domain = graph_.stage(source_).domain;
    whole_ = builder_->let("whole", extent(domain.back()) & -vector);
  }

  static Value between(const Value& lo, const Value& v, const Value& hi) { return less(lo - 1, v) & less(v, hi); }

  // Bytes.
  Value stride(std::size_t d) {
    const ArrayPlace where = place(source_);
    if (d + 1 == rank_) return integer(where.element_stride);
    const std::size_t lead = interface_.arrays[where.array].extents.size() - rank_;
    return host({Kind::stride, {}, position(where.array), d + lead});
  }

  // An index that a border maps; `off` set where there is no element.
  Value mapped(std::size_t d, const Value& i, Value& off) {
    Value beyond;
    const Value at = mapped_index(along(d).border, i, extent(graph_.stage(source_).domain[d]), beyond);
    if (beyond) off = off ? off | beyond : beyond;
    return at;
  }
  bool is_constant(std::size_t d) const { return along(d).border == BorderMode::constant; }
  Value before() const { return border_value(*chain_->before, source_, lane_); }

  // Row and column of an entry of a part of a plane, `wide` to a row.
  std::pair<Value, Value> row_and_column(const Value& number, i64 wide) {
    if (!is_volume()) return {integer(0), number};
    const Value row = builder_->let("row", call_i64("tsr_short_quotient", {number, integer(wide)}));
    return {row, builder_->let("column", number - row * wide)};
  }
  // Bytes from where a plane begins to a row of the block's part.
  Value place_of_row(const Value& row, Value& off) {
    if (!is_volume()) return integer(0);
    return mapped(1, first_[1] + along(1).lo + row, off) * stride(1);
  }

  // ---- what a part of a plane is brought by ----
  // By whole vectors what lies inside, one by one what a border maps.
  void place_asked() {
    const i64 vectors = wide_ / vector;
    for (i64 k = 0; k < each_; ++k) {
      const Value number = builder_->let("number", thread_ + k * threads_);
      const auto [row, column] = row_and_column(number, vectors);
      const Value x = builder_->let("x", corner_ + column * vector);
      Value off;
      const Value bytes = place_of_row(row, off) + x * size();
      Value there = between(integer(0), x, whole_) & less(number, high_ * vectors);
      if (off) there = there & equal(off, 0);
      asked_.push_back(builder_->let("ask", bytes));
      is_asked_.push_back(builder_->let("there", there));
    }
    const Value past = corner_ + wide_;
    side_ = builder_->let("side", less(corner_, integer(0)) | less(whole_, past));
    for (i64 k = 0; k < each_beside_; ++k) {
      beside_at_.push_back(builder_->var("beside", integer(0)));
      is_beside_.push_back(builder_->var("there", integer(0, flag_type)));
      beside_to_.push_back(builder_->var("to", integer(0)));
    }
    builder_->branch(side_, [&] {
      for (i64 k = 0; k < each_beside_; ++k) place_beside(static_cast<std::size_t>(k));
    });
  }

  void place_beside(std::size_t k) {
    const i64 left = std::max<i64>(left_, 0);
    const Value number = builder_->let("number", thread_ + static_cast<i64>(k) * threads_);
    const auto [row, column] = row_and_column(number, beside_);
    const Value x = builder_->let("x", choose(less(column, integer(left)), corner_ + column, whole_ + (column - left)));
    const Value outside = less(x, integer(0)) | less(whole_ - 1, x);
    const Value to = builder_->let("to", x - corner_);
    Value off;
    const Value bytes = place_of_row(row, off) + mapped(rank_ - 1, x, off) * size();
    Value there = outside & between(integer(0), to, integer(wide_)) & less(number, high_ * beside_);
    if (off) there = there & equal(off, 0);
    builder_->assign(beside_at_[k], bytes);
    builder_->assign(is_beside_[k], there);
    builder_->assign(beside_to_[k], row * wide_ + to);
  }

  // What nobody brings anything to: constants beside a plane, and columns that no result needs.
  void put_constants() {
    bool constant = false;
    for (std::size_t d = 1; d < rank_; ++d) constant |= is_constant(d);
    const auto fill = [&] {
      builder_->loop("number", thread_, integer(fit_.slots * fit_.planes * part_), integer(threads_),
                     [&](const Value& number) {
                       builder_->store(shared(), number, constant ? before() : lane_constant(0, lane_));
                     });
      builder_->call("tsr_barrier", {});
    };
    if (constant)
      fill();
    else
      builder_->branch(side_, fill);
  }

  // Elements, through registers.
  void place_taken() {
    for (i64 k = 0; k < each_; ++k) {
      const auto [row, column] = row_and_column(thread_ + k * threads_, wide_);
      Value off;
      Value bytes = place_of_row(row, off);
      bytes = bytes + mapped(rank_ - 1, corner_ + column, off) * stride(rank_ - 1);
      asked_.push_back(builder_->let("element", bytes));
      if (off) is_asked_.push_back(builder_->let("there", equal(off, 0)));
      brought_.push_back(builder_->var("brought", lane_constant(0, lane_)));
    }
  }

  Value shared() const { return ir::nest::variable(fmt::format("tsr_shared_{}", name_of(lane_)), {lane_, 1, true}); }

  // Where the planes of a step begin, from z on, none beyond the last. Nearly all steps lie inside.
  void find_planes(const Value& z) {
    const Value n = extent(graph_.stage(source_).domain[0]), apart = builder_->let("apart", stride(0));
    const Value inside = less(integer(-1), z) & less(z + (fit_.planes - 1), min(n, last_ + 1));
    builder_->branch(
        builder_->let("inside", inside),
        [&] {
          const Value first = builder_->let("first", z * apart);
          for (i64 k = 0; k < fit_.planes; ++k) {
            builder_->assign(planes_[at_of(k)], k == 0 ? first : planes_[at_of(k - 1)] + apart);
            if (!is_off_.empty()) builder_->assign(is_off_[at_of(k)], integer(0, flag_type));
          }
        },
        [&] {
          for (i64 k = 0; k < fit_.planes; ++k) {
            Value off;
            const Value at = mapped(0, min(z + k, last_), off);
            builder_->assign(planes_[at_of(k)], at * apart);
            if (off) builder_->assign(is_off_[at_of(k)], off);
          }
        });
  }
  Value element_at(const Value& plane, const Value& bytes) {
    return convert({memory_lane(source_), 1, true}, address(plane, bytes));
  }

  // The planes of a step: they come into that slot, or into registers.
  void bring(const Value& z, const Value& slot) {
    find_planes(z);
    for (i64 k = 0; k < fit_.planes; ++k) {
      const Value off = is_off_.empty() ? Value{} : is_off_[at_of(k)];
      const Value plane = builder_->let("plane", address(from_, planes_[at_of(k)]));
      const Value to = builder_->let("to", slot + k * part_);
      if (!asks_) {
        take(plane, off);
      } else if (!off) {
        ask(plane, to);
      } else {
        builder_->branch(
            off,
            [&] {
              builder_->loop("number", thread_, integer(part_), integer(threads_),
                             [&](const Value& number) { builder_->store(shared(), to + number, before()); });
            },
            [&] { ask(plane, to); });
      }
    }
    if (asks_) builder_->call("tsr_asked", {});
  }

  void ask(const Value& plane, const Value& to) {
    const i64 vectors = wide_ / vector;
    for (std::size_t k = 0; k < asked_.size(); ++k) {
      const i64 first = static_cast<i64>(k) * threads_;
      if (first >= high_ * vectors) break;
      builder_->branch(is_asked_[k], [&] {
        builder_->call(fmt::format("tsr_bring_{}x{}", name_of(lane_), vector),
                       {address(shared(), to + (thread_ + first) * vector), element_at(plane, asked_[k])});
      });
    }
    builder_->branch(side_, [&] {
      for (std::size_t k = 0; k < beside_at_.size(); ++k)
        builder_->branch(is_beside_[k], [&] {
          builder_->call(fmt::format("tsr_bring_{}", name_of(lane_)),
                         {address(shared(), to + beside_to_[k]), element_at(plane, beside_at_[k])});
        });
    });
  }

  void take(const Value& plane, const Value& off) {
    for (std::size_t k = 0; k < asked_.size(); ++k) {
      Value v = convert(type(), load(element_at(plane, asked_[k]), integer(0), 1));
      if (!is_asked_.empty()) v = choose(is_asked_[k], v, before());
      if (off) v = choose(off, before(), v);
      builder_->assign(brought_[k], v);
    }
  }

  // Those of the step before are in that slot, for this thread.
  void put(const Value& slot) {
    for (std::size_t k = 0; k < brought_.size(); ++k)
      builder_->store(shared(), slot + thread_ + static_cast<i64>(k) * threads_, brought_[k]);
  }

  // ---- a step ----
  void march() {
    const i64 results = fit_.rows * fit_.columns;
    for (i64 k = 0; k < depth() * results; ++k) sums_.push_back(builder_->var("sum", lane_constant(0, lane_)));
    for (i64 k = 0; k < window_; ++k) values_.push_back(builder_->var("value", lane_constant(0, lane_)));
    for (i64 k = 0; k < fit_.high * vector && is_volume(); ++k)
      columns_.push_back(builder_->var("column", lane_constant(0, lane_)));
    for (i64 k = 0; k < fit_.columns; ++k) own_.push_back(builder_->var("own", lane_constant(0, lane_)));
    for (i64 k = 0; k < fit_.planes; ++k) {
      planes_.push_back(builder_->var("at", integer(0)));
      if (is_constant(0)) is_off_.push_back(builder_->var("off", integer(0, flag_type)));
    }
    from_ = builder_->let("from", address(base(position(place(source_).array)), integer(place(source_).offset)));
    last_ = builder_->let("last", end_ + (along(0).hi() - 1));
    start_ = builder_->let("start", first_[0] + along(0).lo);
    if (asks_) {
      place_asked();
      put_constants();
    } else {
      place_taken();
    }
    const i64 ahead = (fit_.slots - 1) * fit_.planes, step = fit_.planes * part_, ring = fit_.slots * step;
    for (i64 s = 0; s + 1 < fit_.slots; ++s) {
      bring(start_ + s * fit_.planes, integer(s * step));
      if (!asks_) put(integer(s * step));
    }
    const Value slot = builder_->var("slot", integer(0)), next = builder_->var("next", integer(ring - step));
    const Value half = builder_->var("half", integer(0));
    const auto turn = [&](const Value& at) {
      builder_->assign(at, choose(less(at, integer(ring - step)), at + step, integer(0)));
    };
    builder_->loop("z", start_, last_ + 1, integer(fit_.planes), [&](const Value& z) {
      if (asks_) builder_->call("tsr_arrived_but", {integer(fit_.slots - 2)});
      builder_->call("tsr_barrier", {});
      bring(z + ahead, next);
      if (is_volume()) {
        sum_columns(slot, half);
        builder_->branch(less(start_, z), [&] { add_plane(z - 1, middle_of(half, true)); });
        builder_->assign(half, integer(middle_) - half);
      } else {
        for (i64 k = 0; k < fit_.planes; ++k) add_plane(z + k, slot + k * part_);
      }
      if (!asks_) put(next);
      turn(slot);
      turn(next);
    });
    if (is_volume()) {
      builder_->call("tsr_barrier", {});
      add_plane(last_, middle_of(half, true));
    }
    if (asks_) builder_->call("tsr_arrived", {});  // nothing is left that comes when the block has gone
  }

  Value middle_of(const Value& half, bool other) const {
    const i64 first = fit_.slots * fit_.planes * part_;
    return other ? integer(first + middle_) - half : half + first;
  }

  // Of a volume: along the columns of the plane, `high` rows at once.
  void sum_columns(const Value& slot, const Value& half) {
    const i64 vectors = wide_ / vector;
    const Value to = builder_->let("to", middle_of(half, false));
    for (i64 k = 0; k * threads_ < items_; ++k) {
      const Value number = builder_->let("number", thread_ + k * threads_);
      const auto text = [&] {
        const auto [group, column] = row_and_column(number, vectors);
        const Value at = builder_->let("at", group * (fit_.high * wide_) + column * vector);
        for (const Value& v : columns_) builder_->assign(v, lane_constant(0, lane_));
        for (i64 row = 0; row < fit_.high + taps(along(1)) - 1; ++row) {
          take_vectors(slot + at + row * wide_, vector);
          for (i64 r = 0; r < fit_.high; ++r) {
            if (row < r || row - r >= taps(along(1))) continue;
            for (i64 v = 0; v < vector; ++v)
              add(columns_[at_of(r * vector + v)], columns_[at_of(r * vector + v)], along(1).weights[at_of(row - r)],
                  values_[at_of(v)]);
          }
        }
        for (i64 r = 0; r < fit_.high; ++r) {
          std::vector<Value> lanes{address(shared(), to + at + r * wide_)};
          for (i64 v = 0; v < vector; ++v) lanes.push_back(columns_[at_of(r * vector + v)]);
          builder_->call(fmt::format("tsr_put_{}x{}", name_of(lane_), vector), std::move(lanes));
        }
      };
      if ((k + 1) * threads_ > items_)
        builder_->branch(less(number, integer(items_)), text);
      else
        text();
    }
  }

  static std::size_t at_of(i64 k) { return static_cast<std::size_t>(k); }

  // The first `count` values, from there on.
  void take_vectors(const Value& from, i64 count) {
    const i64 each = std::min(count, vector);
    for (i64 c = 0; c < count; c += each) {
      std::vector<Value> lanes{address(shared(), from + c)};
      for (i64 k = 0; k < each; ++k) lanes.push_back(values_[at_of(c + k)]);
      builder_->call(fmt::format("tsr_take_{}x{}", name_of(lane_), each), std::move(lanes));
    }
  }

  // to = from + weight * x
  void add(const Value& to, const Value& from, double weight, const Value& x) {
    if (weight == 0 && to == from) return;
    builder_->assign(to, weight == 0 ? from : product_added(lane_constant(weight, lane_), x, from));
  }

  // Sums along the rows of that plane, into those of all planes that wait; 0 is the oldest one, which is then done.
  void add_plane(const Value& z, const Value& part) {
    const SumChain::Along& row = along(rank_ - 1);
    const Value done = builder_->let("z", z - along(0).hi());
    for (i64 r = 0; r < fit_.rows; ++r) {
      const Value from = builder_->let(
          "from", part + (thread_y_ * fit_.rows + r) * (is_volume() ? wide_ : 0) + thread_x_ * fit_.columns);
      for (i64 c = 0; c < window_; c += std::min(fit_.columns, vector)) take_window(from, c);
      for (i64 v = 0; v < fit_.columns; ++v) {
        builder_->assign(own_[at_of(v)], lane_constant(0, lane_));
        for (i64 k = 0; k < taps(row); ++k)
          add(own_[at_of(v)], own_[at_of(v)], row.weights[at_of(k)], values_[at_of(v + k + row.lo + left_)]);
      }
      for (i64 plane = 0; plane < depth(); ++plane)
        for (i64 v = 0; v < fit_.columns; ++v)
          add(sum(plane, r, v), plane + 1 < depth() ? sum(plane + 1, r, v) : lane_constant(0, lane_),
              along(0).weights[at_of(depth() - 1 - plane)], own_[at_of(v)]);
    }
    Value there = less(first_[0] - 1, done);
    if (fit_.planes > 1) there = there & less(done, end_);
    builder_->branch(there, [&] { store(done); });
  }

  void take_window(const Value& from, i64 c) {
    const i64 each = std::min(fit_.columns, vector);
    std::vector<Value> lanes{address(shared(), from + c)};
    for (i64 k = 0; k < each; ++k) lanes.push_back(values_[at_of(c + k)]);
    builder_->call(fmt::format("tsr_take_{}x{}", name_of(lane_), each), std::move(lanes));
  }

  const Value& sum(i64 plane, i64 row, i64 column) const {
    return sums_[at_of((plane * fit_.rows + row) * fit_.columns + column)];
  }

  // ---- results ----
  void store(const Value& z) {
    for (i64 r = 0; r < fit_.rows; ++r) {
      std::vector<Value> at{z};
      if (!is_volume()) {
        at.push_back(x_);
        store_row(std::move(at), r);
        continue;
      }
      at.push_back(builder_->let("row", row_ + r));
      at.push_back(x_);
      builder_->branch(less(at[1], extent(kernel_.domain[1])), [&] { store_row(at, r); });
    }
  }

  // What the stage makes of its sum.
  Value result(const Value& sum) {
    const ElementType of_sum = graph_.node(chain_->sum).type;
    const Lane lane = memory_lane(stage_);
    const Value v = builder_->let("v", convert({ir::nest::lane_of(of_sum), 1, false}, sum));
    const ir::ExprId body = graph_.stage(stage_).body;
    if (body == chain_->sum) return convert({lane, 1, false}, v);
    const PointSource source = point_source();
    PointEmitter emitter(graph_, ranges_, *builder_, source);
    Value made;
    emitter.emit({body}, [&](std::size_t, const Value& value) { made = emitter.stored(body, value, lane); },
                 {{chain_->sum.id, v}});
    return made;
  }

  void store_row(std::vector<Value> at, i64 row) {
    const Lane lane = memory_lane(stage_);
    const ArrayPlace where = place(stage_);
    const Value x = at.back(), n = extent(kernel_.domain.back());
    const Value to = builder_->let("to", element(stage_, at));
    std::vector<Value> own;
    for (i64 v = 0; v < fit_.columns; ++v) {
      at.back() = x + v;
      own.push_back(builder_->let("v", without_margins(stage_, at, result(sum(0, row, v)), lane)));
    }
    const i64 apart = where.element_stride / ir::nest::size_of(lane);
    const auto singly = [&] {
      for (i64 v = 0; v < fit_.columns; ++v)
        builder_->branch(less(x + v, n), [&] { builder_->store(to, integer(v * apart), own[at_of(v)]); });
    };
    if (apart != 1) return singly();
    builder_->branch(
        whole_vector_,
        [&] {
          std::vector<Value> lanes{to};
          lanes.insert(lanes.end(), own.begin(), own.end());
          builder_->call(fmt::format("tsr_store_{}x{}", name_of(lane), fit_.columns), std::move(lanes));
        },
        singly);
  }

  std::vector<Value> first_;
  Value thread_, thread_x_, thread_y_, end_, last_, start_, corner_, whole_, side_, from_, x_, row_, whole_vector_;
  std::vector<Value> planes_, is_off_;  // of a step: bytes from the first, is there none?
  std::vector<Value> asked_, is_asked_, beside_at_, is_beside_, beside_to_, brought_, sums_, values_, columns_, own_;
};

}  // namespace

const DeviceWay chain = {
    "chain", only_automatic,
    [](const WayQuestion& q) {
      ChainShape shape(q.plan, q.interface, q.ranges, q.group, "");
      if (!shape.is_chain()) return of_another_kind(chain, "it is no chain of sums of floats or of exact integers");
      const ChainFit fit = shape.fit(q.most_shared);
      if (!fit.fits) return refused(chain, "no block of its results fits registers and shared memory");
      plan::WayAnswer answer = accepted(chain, held(fit), fit.price);
      answer.memory_binds = !fit.is_long;
      return answer;
    },
    [](const WayQuestion& q, const plan::WayAnswer& answer, const std::string& name, DeviceProgram& program) {
      ChainLowering(q.plan, q.interface, q.ranges, q.group, name).into(program, shape_of<ChainFit>(answer));
    }};

}  // namespace tessera::lower
