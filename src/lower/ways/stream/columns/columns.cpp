// Splits a row into a run of whole vectors that need no care and the short runs before and after it. The loop over
// columns has no test for borders: it gets pointers to memory or to patches.
#include "lower/ways/stream/columns/columns.hpp"

#include <algorithm>

#include "lower/ways/stream/columns/ends.hpp"
#include "lower/ways/stream/forms.hpp"

namespace tessera::lower {

using ir::StageId;
using ir::nest::integer;
using ir::nest::Type;
using ir::nest::Value;

namespace {

// Bytes of the narrowest store past the caches: narrower ones, such as eight bytes of eight doubles, leave the buffers
// of the processor before a line is full, and take seven times as long.
constexpr i64 least_streamed = 16;
constexpr i64 vectors_of_run = 4;  // of a short one
constexpr i64 line = 64;

class ColumnRuns {
 public:
  ColumnRuns(const PassOfTile& of, const Block& block)
      : of_(of),
        tile_(of.tile),
        group_(of.tile.group),
        builder_(of.tile.builder),
        body_(of.body),
        block_(block),
        lanes_(of.pass.lanes),
        xs_(of.region().lo[group_.rank - 1]),
        xe_(of.region().hi[group_.rank - 1]),
        run_(block) {
    for (std::size_t t = 0; t < block.targets.size(); ++t)
      if (group_.direct_result(stage_of(t))) direct_.push_back(t);
  }

  void compute() {
    find_inside();
    find_streaming();
    inside_end_ ? compute_runs() : compute_at_once();
  }

 private:
  const PassBody::Source& source(std::size_t k) const { return body_.sources[k]; }
  StageId stage_of(std::size_t target) const { return of_.pass.stages[target % of_.pass.stages.size()]; }
  std::size_t row_of(std::size_t target) const { return target / of_.pass.stages.size(); }

  void find_inside();
  void find_streaming();
  void compute_at_once();
  void declare_run();
  void compute_runs();
  void set_rows(std::size_t source, const std::vector<Value>& pointers);
  void go_to_memory();
  void go_to_patches(const Value& x0, const Value& x1, const Value& whole, const Value& over);
  void copy_ends(const Value& x0, const Value& x1);

  const PassOfTile& of_;
  const TileFunction& tile_;
  const StreamGroup& group_;
  Builder& builder_;
  const PassBody& body_;
  const Block& block_;  // rows as they lie in memory
  const i64 lanes_;
  const Value xs_, xe_;              // columns of the region
  std::vector<std::size_t> direct_;  // targets whose rows are those of arrays
  Value inside_begin_, inside_end_;  // whole vectors from here to there need no care; no end: none do
  Value streaming_;
  Block run_;  // variables that hold the rows of one run
};

void ColumnRuns::find_inside() {
  inside_begin_ = xs_;
  const auto ends = [&](const Value& end) { inside_end_ = inside_end_ ? min(inside_end_, end) : end; };
  for (const PassBody::Source& source : body_.sources) {
    if (group_.contains(source.stage)) continue;
    Value n = tile_.extent(group_.stage(source.stage).domain.back());
    Value shift = tile_.extent(source.shift);
    // A strided vector load ends in the next element, or farther.
    const i64 strided = group_.beyond(of_.number, source.stage);
    if (source.scale == 0) {  // one column for the whole row: inside or not
      Value first = shift + source.lo, last = shift + source.hi;
      Value inside = less(integer(-1), first) & less(last, n);
      inside_begin_ = max(inside_begin_, choose(inside, xs_, xe_));
      ends(xe_);
      continue;
    }
    i64 scale = source.scale;
    inside_begin_ = max(inside_begin_, call_i64("tsr_ceil_div", {integer(0) - shift - source.lo, integer(scale)}));
    ends(call_i64("tsr_floor_div", {n - shift - (source.hi + scale * lanes_ + strided), integer(scale)}));
  }
  if (!direct_.empty()) ends(xe_ - lanes_);
}

void ColumnRuns::find_streaming() {
  streaming_ = integer(0, flag_type);
  if (direct_.empty()) return;
  streaming_ = convert(flag_type, load(tile_shape(), integer(static_cast<i64>(group_.rank) + 1), 1));
  for (std::size_t t : direct_) {
    const Value& target = block_.targets[t].to;
    const i64 element = ir::nest::size_of(target->type.lane);
    const i64 bytes = lowering_of(of_.pass.form).whole_stores ? group_.machine.vector_bytes : lanes_ * element;
    if (bytes < least_streamed) {
      streaming_ = integer(0, flag_type);
      continue;
    }
    Value aligned = ir::nest::call("tsr_aligned", flag_type, {address(target, xs_), integer(bytes)});
    streaming_ = streaming_ & aligned;
  }
  streaming_ = builder_.let("streaming", streaming_);
}

// Rings on both sides: vectors may run over the end.
void ColumnRuns::compute_at_once() {
  for (std::size_t k = 0; k < run_.sources.size(); ++k) {
    Pointers& s = run_.sources[k];
    s.current = s.listed ? s.listed : s.direct.front();
    if (source(k).table.empty() || s.listed) continue;
    s.current = builder_.array("rows", s.direct.front()->type, source(k).entries());
    for (std::size_t e = 0; e < s.direct.size(); ++e)
      builder_.assign_element(s.current, integer(static_cast<i64>(e)), s.direct[e]);
  }
  compute_vectors(of_, run_, xs_, xe_, streaming_);
}

void ColumnRuns::declare_run() {
  for (std::size_t k = 0; k < run_.sources.size(); ++k) {
    Pointers& s = run_.sources[k];
    if (source(k).table.empty()) {
      const bool moves = !group_.contains(source(k).stage);
      s.current = moves ? builder_.var("at", s.direct[0]) : s.direct[0];
    } else {
      const Type pointer{group_.memory_lane(source(k).stage), 1, true};
      s.current = builder_.array("rows", pointer, source(k).entries());
    }
  }
  for (std::size_t t : direct_) run_.targets[t].to = builder_.var("out", block_.targets[t].to);
}

void ColumnRuns::set_rows(std::size_t k, const std::vector<Value>& pointers) {
  const Pointers& s = run_.sources[k];
  if (s.listed) {
    builder_.loop("e", integer(0), integer(source(k).entries()), integer(1),
                  [&](const Value& e) { builder_.assign_element(s.current, e, listed_row(s.listed, e)); });
  } else if (source(k).table.empty()) {
    if (s.current->name != pointers[0]->name) builder_.assign(s.current, pointers[0]);
  } else {
    for (std::size_t e = 0; e < pointers.size(); ++e)
      builder_.assign_element(s.current, integer(static_cast<i64>(e)), pointers[e]);
  }
}

void ColumnRuns::go_to_memory() {
  for (std::size_t k = 0; k < run_.sources.size(); ++k) set_rows(k, run_.sources[k].direct);
  for (std::size_t t : direct_) builder_.assign(run_.targets[t].to, block_.targets[t].to);
}

// `over`: columns that nobody keeps would be written.
void ColumnRuns::go_to_patches(const Value& x0, const Value& x1, const Value& whole, const Value& over) {
  const std::vector<std::vector<Value>> patches = patched_ends(of_, run_.sources, x0, min(x1, xe_), whole);
  for (std::size_t k = 0; k < run_.sources.size(); ++k) {
    if (!group_.contains(source(k).stage)) {
      if (!run_.sources[k].listed) set_rows(k, patches[k]);
    } else if (!source(k).table.empty())
      set_rows(k, run_.sources[k].direct);
  }
  i64 widest = 0, slot = 0;
  for (StageId s : of_.pass.stages) widest = std::max<i64>(widest, group_.bytes(s));
  const i64 row_bytes = 6 * lanes_ * widest + line;
  for (std::size_t t : direct_) {
    const StageId s = stage_of(t);
    Value memory = address(of_.work.outputs, integer(slot++ * row_bytes));
    Value patch = group_.typed(s, address(memory, integer(0) - x0 * group_.bytes(s)));
    builder_.assign(run_.targets[t].to, choose(over, patch, block_.targets[t].to));
  }
}

// What was written aside and is kept.
void ColumnRuns::copy_ends(const Value& x0, const Value& x1) {
  for (std::size_t t : direct_)
    where_due(builder_, row_of(t), block_.count, [&] {
      const Value &to = block_.targets[t].to, &from = run_.targets[t].to;
      builder_.call("tsr_copy_end", {convert(bytes_pointer, address(to, x0)), convert(bytes_pointer, address(from, x0)),
                                     (min(x1, xe_) - x0) * ir::nest::size_of(to->type.lane)});
    });
}

void ColumnRuns::compute_runs() {
  const Value chunk = integer(vectors_of_run * lanes_);
  Value xa = builder_.let("xa", call_i64("tsr_run_begin", {xs_, inside_begin_, xe_, integer(lanes_)}));
  Value xb = builder_.let("xb", call_i64("tsr_run_end", {xa, inside_end_, xe_, integer(lanes_)}));
  Value before = builder_.let("before", call_i64("tsr_ceil_div", {xa - xs_, chunk}));
  Value after = builder_.let("after", call_i64("tsr_ceil_div", {max(xe_ - xb, integer(0)), chunk}));
  declare_run();
  builder_.loop("run", integer(0), before + 1 + after, integer(1), [&](const Value& run) {
    Value x0 = builder_.let("x0", call_i64("tsr_chunk_begin", {run, before, xs_, xa, xb, chunk}));
    Value x1 = builder_.let("x1", call_i64("tsr_chunk_end", {run, before, x0, xa, xb, xe_, chunk}));
    Value inside = builder_.let("inside", equal(run, before));
    // Columns that whole vectors compute, those that nobody keeps included.
    Value whole = builder_.let("whole", (x1 - x0 + (lanes_ - 1)) / lanes_ * lanes_);
    Value over;
    if (!direct_.empty()) over = builder_.let("over", less(xe_, x0 + whole));
    Value past = builder_.let("nt", streaming_ & inside);
    builder_.branch(inside, [&] { go_to_memory(); }, [&] { go_to_patches(x0, x1, whole, over); });
    compute_vectors(of_, run_, x0, x1, past);
    if (!direct_.empty()) builder_.branch(over, [&] { copy_ends(x0, x1); });
  });
}

}  // namespace

void compute_columns(const PassOfTile& of, const Block& block) {
  ColumnRuns(of, block).compute();
}

}  // namespace tessera::lower
