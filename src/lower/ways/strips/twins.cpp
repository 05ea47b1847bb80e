// Steps of strips whose registers hold two values, those of a column and of its twin: see plan/passes/twins.cpp.
// Register k of a row, from its first one on the left, is that of the columns k and k + half, where a thread owns twice
// `half`. Halo columns are registers as well, so that a stage reads its neighbours as it does when a register holds one
// value.
#include "lower/twins.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "analyze/expressions.hpp"
#include "base/division.hpp"
#include "lower/ways/strips/step.hpp"
#include "plan/passes/twins.hpp"

namespace tessera::lower {

using ir::ExprId;
using ir::ExprNode;
using ir::StageId;
using ir::nest::integer;
using ir::nest::Lane;
using ir::nest::operation;
using ir::nest::Value;
using plan::StripRing;

namespace {

bool is_short(Lane lane) {
  return !is_float(lane) && ir::nest::size_of(lane) <= 2;
}

// The values of a type of 8 or 16 bits, from bits that stand for no negative ones.
Value as_signed(Builder& builder, const Value& v, Lane lane) {
  if (!is_signed(lane)) return v;
  const i64 sign = i64{1} << (8 * ir::nest::size_of(lane) - 1);
  const Value turned = builder.let("t", v ^ twin_constant(sign));
  return twin_sum(builder, turned, -sign);
}

// Registers of a row and the words of memory that they come from; both from their first column.
class TwinWords {
 public:
  TwinWords(Builder& builder, Lane lane, i64 half, std::map<i64, Value> words)
      : builder_(builder), lane_(lane), size_(ir::nest::size_of(lane)), half_(half), words_(std::move(words)) {}

  Value twins(i64 column) {
    const i64 in_word = 4 / size_, at = base::floor_divide(column, in_word);
    const i64 k = column - at * in_word;
    const Value &low = words_.at(at), &high = words_.at(at + half_ / in_word);
    if (size_ == 2)
      return as_signed(builder_, mixed_bytes(builder_, low, high, {2 * k, 2 * k + 1, 4 + 2 * k, 5 + 2 * k}), lane_);
    // Two neighbours share the first of their instructions.
    const i64 even = k / 2 * 2;
    Value& both = both_[column - (k - even)];
    if (!both) both = mixed_bytes(builder_, low, high, {even, even + 1, 4 + even, 5 + even});
    const Value v = k == even ? builder_.let("t", both & twin_constant(255))
                              : mixed_bytes(builder_, both, integer(0, twin_type), {1, 4, 3, 4});
    return as_signed(builder_, v, lane_);
  }

 private:
  Builder& builder_;
  Lane lane_;
  i64 size_, half_;
  std::map<i64, Value> words_, both_;
};

}  // namespace

bool StripStep::twins_fit() {
  if (rank_ != 2) return false;
  for (const StripRing& ring : strip_.rings) {
    if (ring.depth == 0) continue;
    const ir::Stage& stage = graph_.stage(ring.stage);
    if (ring.own(width()) % 2 != 0) return false;
    const bool in_memory = ring.memory || is_result_.contains(ring.stage);
    if (in_memory && ring.own(width()) / 2 * bytes_of(ring.stage) % 4 != 0) return false;
    if (ring.memory && (!is_short(memory_lane(ring.stage)) || stage.type == ElementType::boolean)) return false;
    if (ring.memory || !is_kept(ring)) continue;
    if (is_float(stage.type) || stage.type == ElementType::boolean) return false;
    if (!plan::fits_half(ranges_.of_stage(ring.stage))) return false;
  }
  return true;
}

bool StripStep::done_together(StageId s) {
  const auto [found, fresh] = done_together_.try_emplace(s, true);
  if (!fresh || graph_.stage(s).kind != ir::StageKind::point) return found->second;
  const ExprId body = graph_.stage(s).body;
  return found->second = plan::Twins(graph_, ranges_, {body}, plan_.device.minima).together(body);
}

bool StripStep::is_parted(StageId s) {
  return values_ == 2 && !is_kept(ring_of(s)) && !done_together(s);
}

bool StripStep::stores_twins(StageId s) {
  return values_ == 2 && !is_parted(s) && is_short(memory_lane(s)) && place(s).element_stride == bytes_of(s);
}

double StripStep::operations_of(const StripRing& ring, std::size_t rows) {
  const std::vector<ExprId> roots = points(ring, rows);
  if (values_ == 2) return plan::Twins(graph_, ranges_, roots, plan_.device.minima).instructions(contracted());
  return analyze::instruction_count(graph_, roots, contracted());
}

// ---- memory ----
void StripStep::load_twins(const StripRing& ring, const Value& pointer, const std::vector<Value>& to) {
  const Lane lane = memory_lane(ring.stage);
  const i64 size = ir::nest::size_of(lane), half = ring.own(columns_), apart = place(ring.stage).element_stride / size;
  const auto assign = [&](auto twins) {
    for (std::size_t k = 0; k < to.size(); ++k) builder_->assign(to[k], twins(static_cast<i64>(k) - ring.left));
  };
  if (apart > 1) {
    const auto element = [&](i64 c) {
      return builder_->let("e", convert({Lane::i32, 1, false}, load(pointer, integer(c * apart), 1)));
    };
    return assign([&](i64 c) { return lower::put_together(*builder_, element(c), element(c + half)); });
  }
  std::map<i64, Value> words;
  for (const auto& [first, lanes] : loads_of(ring)) {
    std::vector<Value> list{address(pointer, integer(first))};
    for (i64 c = first; c < first + lanes; c += 4 / size) {
      list.push_back(builder_->var("w", integer(0, twin_type)));
      words[base::floor_divide(c * size, 4)] = list.back();
    }
    builder_->call(fmt::format("tsr_load_words_{}x{}", name_of(lane), lanes), std::move(list));
  }
  TwinWords all(*builder_, lane, half, std::move(words));
  assign([&](i64 c) { return all.twins(c); });
}

void StripStep::store_twins(StageId s, const Value& pointer, const std::vector<Value>& values) {
  const StripRing& ring = ring_of(s);
  const Lane lane = memory_lane(s);
  const i64 size = ir::nest::size_of(lane), half = ring.own(columns_), byte = byte_[s];
  const i64 sign = is_signed(lane) ? i64{1} << (8 * size - 1) : 0;
  // The signs of all elements of a word are turned back at once.
  const i64 signs = sign * (size == 2 ? 0x10001 : 0x1010101);
  const auto word = [&](const Value& v) { return sign == 0 ? v : builder_->let("w", v ^ signs); };
  const auto twins = [&](i64 c) { return twin_sum(*builder_, values[static_cast<std::size_t>(ring.left + c)], sign); };
  std::vector<Value> low, high;
  for (i64 c = 0; c < half; c += 4 / size) {
    Value first = twins(c), second = twins(c + 1);
    if (size == 1) {
      const std::array<i64, 4> which{byte, 4 + byte, 2 + byte, 6 + byte};
      first = mixed_bytes(*builder_, first, second, which);
      second = mixed_bytes(*builder_, twins(c + 2), twins(c + 3), which);
    }
    low.push_back(word(mixed_bytes(*builder_, first, second, {0, 1, 4, 5})));
    high.push_back(word(mixed_bytes(*builder_, first, second, {2, 3, 6, 7})));
  }
  low.insert(low.end(), high.begin(), high.end());
  const i64 lanes = vector_of(ring), each = lanes * size / 4;
  for (i64 w = 0; w < static_cast<i64>(low.size()); w += each) {
    std::vector<Value> list{address(pointer, integer(w * 4 / size))};
    list.insert(list.end(), low.begin() + w, low.begin() + w + each);
    builder_->call(fmt::format("tsr_store_words_{}x{}", name_of(lane), lanes), std::move(list));
  }
}

std::vector<Value> StripStep::own_columns(StageId s, const std::vector<Value>& values) {
  const StripRing& ring = ring_of(s);
  if (values_ == 1 || is_parted(s)) return {values.begin() + ring.left, values.begin() + ring.left + ring.own(width())};
  std::vector<Value> all, twins;
  for (i64 c = 0; c < ring.own(columns_); ++c) {
    const auto both =
        take_apart(*builder_, values[static_cast<std::size_t>(ring.left + c)], ranges_.of_stage(s).lo < 0);
    all.push_back(both[0]), twins.push_back(both[1]);
  }
  all.insert(all.end(), twins.begin(), twins.end());
  return all;
}

// ---- stages ----
// Each half comes from a register of some thread: its own, or of those beside it.
void StripStep::take_twins_from_neighbours(const StripRing& ring, std::vector<std::vector<Value>>& rows) {
  const i64 half = ring.own(columns_), own = ring.own(width());
  const i64 bias = twin_bias(ranges_.of_stage(ring.stage).lo < 0);
  for (std::vector<Value>& row : rows) {
    std::map<std::pair<i64, i64>, Value> of_thread;  // and register
    const auto taken = [&](i64 column) {
      const i64 away = base::floor_divide(column, own), k = (column - away * own) % half;
      Value& v = of_thread[{away, k}];
      if (v) return v;
      v = twin_sum(*builder_, row[static_cast<std::size_t>(ring.left + k)], bias);
      if (away != 0)
        v = builder_->let("v",
                          ir::nest::call("tsr_of_thread_u32", twin_type, {v, integer(away, {Lane::i32, 1, false})}));
      return v;
    };
    const auto in_high = [&](i64 column) { return (column - base::floor_divide(column, own) * own) / half; };
    std::map<i64, Value> beside;
    for (i64 c = -ring.left; c < half + ring.right; ++c) {
      if (c >= 0 && c < half) continue;
      const i64 low = 2 * in_high(c), high = 4 + 2 * in_high(c + half);
      beside[c] =
          twin_sum(*builder_, mixed_bytes(*builder_, taken(c), taken(c + half), {low, low + 1, high, high + 1}), -bias);
    }
    for (const auto& [c, v] : beside) row[static_cast<std::size_t>(ring.left + c)] = v;
  }
}

void StripStep::evaluate_twins(StageId s, const Value& r, std::vector<std::vector<Value>>& rows) {
  const StripRing& ring = ring_of(s);
  domain_ = graph_.stage(s).domain;
  const std::vector<ExprId> roots = points(ring, rows.size());
  operations_[ring_number(s)] = operations_of(ring, rows.size());
  TwinEmitter emitter(graph_, ranges_, *builder_, [&](const ExprNode& node) { return kept(node, ring); });
  if (!done_together(s)) return evaluate_parted(s, r, roots, emitter, rows);
  const auto [first, last] = computed_columns(ring);
  const auto width = static_cast<std::size_t>(last - first), left = static_cast<std::size_t>(ring.left + first);
  const bool bytes = !is_kept(ring) && stores_twins(s) && memory_lane(s) == Lane::u8;
  for (std::size_t k = 0; k < roots.size(); ++k) {
    TwinEmitter::Bytes made = bytes ? emitter.bytes(roots[k]) : TwinEmitter::Bytes{emitter.value(roots[k])};
    rows[k / width][left + k % width] = std::move(made.v);
    byte_[s] = made.byte;
  }
}

// What cannot be done together, for the columns of one half and then for those of the other.
void StripStep::evaluate_parted(StageId s, const Value& r, const std::vector<ExprId>& roots, TwinEmitter& emitter,
                                std::vector<std::vector<Value>>& rows) {
  const StripRing& ring = ring_of(s);
  const Lane lane = register_lane(s);
  std::array<PointEmitter::Values, 2> known;
  const plan::Twins twins(graph_, ranges_, roots, plan_.device.minima);
  for (const ExprId e : twins.parted()) {
    const auto both = take_apart(*builder_, emitter.value(e), ranges_.of(e).lo < 0);
    known[0][e.id] = both[0], known[1][e.id] = both[1];
  }
  std::array<std::vector<Value>, 2> made;
  for (const std::size_t half : {0, 1}) {
    index_ = {r, x_.at(ring.rate[1]) + static_cast<i64>(half) * ring.own(columns_)};
    PointSource source = point_source();
    source.load = [&](const ExprNode& node, const std::map<std::uint32_t, Value>&) {
      return take_apart(*builder_, kept(node, ring), ranges_.of_stage(node.stage).lo < 0)[half];
    };
    PointEmitter one(graph_, ranges_, *builder_, source);
    made[half].resize(roots.size());
    const auto finished = [&](std::size_t k, const Value& v) {
      made[half][k] = builder_->let("v", one.stored(roots[k], v, lane));
    };
    one.emit(roots, finished, known[half]);
  }
  const auto [first, last] = computed_columns(ring);
  const auto width = static_cast<std::size_t>(last - first), left = static_cast<std::size_t>(ring.left + first);
  for (std::size_t k = 0; k < roots.size(); ++k) {
    std::vector<Value>& row = rows[k / width];
    if (is_parted(s))
      row[k % width] = made[0][k], row[width + k % width] = made[1][k];
    else
      row[left + k % width] = lower::put_together(*builder_, made[0][k], made[1][k]);
  }
}

}  // namespace tessera::lower
