// See memory.hpp.
#include "lower/ways/stream/memory.hpp"

#include <algorithm>

#include "lower/ways/stream/columns/ends.hpp"
#include "lower/ways/stream/columns/keyed.hpp"
#include "lower/ways/stream/columns/lanes.hpp"

namespace tessera::lower {

using ir::StageId;
using ir::nest::integer;
using ir::nest::Value;
using ir::nest::variable;

namespace {

constexpr i64 guard_bytes = 4096;  // tsr_guard
constexpr i64 pointer_bytes = 8, number_bytes = 8, line = 64;

class ReserveMemory {
 public:
  ReserveMemory(const Declared& declared, const std::vector<PassBody>& bodies, const std::vector<Region>& regions,
                ScratchStack& scratch)
      : declared_(declared),
        group_(declared.group),
        builder_(declared.builder),
        rank_(declared.group.rank),
        bodies_(bodies),
        regions_(regions),
        scratch_(scratch) {}

  Memory reserved(const std::vector<TileTransform>& transforms) {
    memory_.work.assign(group_.passes().size(), {});
    for (const TileTransform& t : transforms) memory_.transforms.emplace_back(t);
    if (group_.transformed()) place_transforms();
    for (StageId s : group_.planned.stages) {
      if (!group_.in_ring(s) || group_.transformed()) continue;
      std::vector<Value> span;
      for (std::size_t d = 0; d < rank_; ++d) span.push_back(span_bound(s, d));
      place_ring(s, std::move(span));
    }
    for (std::size_t p = 0; p < group_.passes().size(); ++p)
      if (!group_.is_tiled(p)) place_workspace(p);
    return std::move(memory_);
  }

 private:
  Value reserve(const Value& bytes) { return scratch_.reserve(bytes); }
  Value reserve(i64 bytes) { return scratch_.reserve(integer(bytes)); }
  Value span_bound(StageId, std::size_t dim) const;
  void place_ring(StageId, std::vector<Value> span);
  void place_workspace(std::size_t pass);
  std::vector<Value> border_rows(std::size_t pass, const PassBody::Source&, const Value& columns);
  void place_transforms();
  void place_transform(PlacedTransform&);
  void place_ranges(PlacedTransform&);
  std::vector<Value> planes_of_pair(i64 down, i64 across) const;

  const Declared& declared_;
  const StreamGroup& group_;
  Builder& builder_;
  const std::size_t rank_;
  const std::vector<PassBody>& bodies_;
  const std::vector<Region>& regions_;
  ScratchStack& scratch_;
  Memory memory_;
};

Value ReserveMemory::span_bound(StageId s, std::size_t dim) const {
  const plan::StagePlan::Rate& r = group_.plan_of(s).rate[dim];
  Value t = load(tile_shape(), integer(static_cast<i64>(dim)), 1);
  Value scaled = is_one(r) ? t : call_i64("tsr_ceil_div", {t * r.num, integer(r.den)});
  return scaled + (r.after - r.before + 8 + 2 * group_.slack(s, dim));
}

// For so many points along each dimension; of those of a tile as many rows as it keeps.
void ReserveMemory::place_ring(StageId s, std::vector<Value> span) {
  const plan::StagePlan& p = group_.plan_of(s);
  i64 size = group_.bytes(s);
  i64 left = ((p.pad_lo + group_.slack(s, rank_ - 1)) * size + line - 1) / line * line;
  Value row = builder_.let("pitch", call_i64("tsr_pitch", {(span[rank_ - 1] + (p.pad_hi + p.reach)) * size + left}));
  Ring ring;
  ring.pitch.assign(rank_ - 1, row);
  Value plane = row;
  for (std::size_t d = rank_ - 1; d-- > 0;) {
    ring.pitch[d] = plane;
    Value count = d == 0 && p.depth > 0 ? integer(p.depth) : span[d];
    plane = builder_.let("plane", plane * count);
  }
  Value memory = reserve(plane);
  if (!scratch_.is_measured()) {
    Value first = regions_[group_.pass_of(s)].lo[rank_ - 1];
    ring.first = builder_.let("ring", address(memory, integer(left)));
    ring.base = group_.transformed() ? ring.first : builder_.let("ring", address(memory, integer(left) - first * size));
  }
  memory_.rings[s] = ring;
}

void ReserveMemory::place_workspace(std::size_t p) {
  const plan::Pass& pass = group_.pass(p);
  Workspace& work = memory_.work[p];
  i64 widest = 1, results = 0;
  for (StageId s : pass.stages) {
    widest = std::max<i64>(widest, group_.bytes(group_.written(s)));
    if (group_.direct_result(s)) ++results;
  }
  const i64 pair = group_.transformed() ? memory_.transforms.front().wide + memory_.transforms.front().tile.columns : 0;
  Value columns = span_bound(pass.stages.front(), rank_ - 1) + (3 * pass.lanes + pair);
  i64 spread = 1;
  for (StageId s : pass.stages)
    if (group_.written(s) != s) spread = std::max(spread, group_.plan_of(s).stride.back());
  if (pass.rows > 1) work.dump = reserve(columns * (widest * spread));
  if (results > 0) work.outputs = reserve(results * pass.rows * (6 * pass.lanes * widest + 64));
  i64 patches = 0, rows_patched = 0;
  for (const PassBody::Source& source : bodies_[p].sources)
    if (!group_.contains(source.stage)) {
      patches += source.entries() * patch_bytes(group_, pass, source);
      rows_patched += source.entries();
    }
  if (patches > 0) work.patches = reserve(patches);
  if (patches > 0) work.ends = reserve(rows_patched * static_cast<i64>(sizeof(void*)));
  if (const i64 piece = piece_bytes(group_, bodies_[p]); piece > 0) work.piece = reserve(piece);
  if (const MoreBins more = more_bins(group_, pass.stages.front()); more.copies > 0)
    work.bins = reserve(more.copies * more.bytes);
  for (std::size_t k = 0; k < bodies_[p].sources.size(); ++k)
    work.constants[k] = border_rows(p, bodies_[p].sources[k], columns);
}

// Per outer dimension: a row of border values, where the border is constant.
std::vector<Value> ReserveMemory::border_rows(std::size_t p, const PassBody::Source& source, const Value& columns) {
  std::vector<Value> rows(source.outer_border.size());
  for (std::size_t d = 0; d < rows.size(); ++d) {
    const Border& border = source.outer_border[d];
    if (border.mode != BorderMode::constant) continue;
    for (std::size_t before = 0; before < d; ++before)
      if (source.outer_border[before] == border) rows[d] = rows[before];
    if (rows[d]) continue;
    i64 step = group_.element_step(source.stage), size = group_.bytes(source.stage);
    Value count =
        builder_.let("count", (columns * source.scale + (source.hi - source.lo + 64 + group_.pass(p).lanes)) * step);
    Value memory = reserve(count * size);
    if (scratch_.is_measured()) continue;
    builder_.call("tsr_fill", {memory, count, integer(size), integer(group_.border_bits(border, source.stage))});
    Value first = regions_[p].lo[rank_ - 1] * source.scale + declared_.extent(source.shift) + source.lo;
    rows[d] = builder_.let("outside", address(memory, integer(0) - first * (step * size)));
  }
  return rows;
}

// Points of a pair of tiles, of both planes where planes are marched through.
std::vector<Value> ReserveMemory::planes_of_pair(i64 down, i64 across) const {
  std::vector<Value> span(rank_, integer(1));
  if (memory_.transforms.front().stacked()) span[rank_ - 3] = integer(2);
  span[rank_ - 2] = integer(down), span[rank_ - 1] = integer(across);
  return span;
}

void ReserveMemory::place_transforms() {
  for (PlacedTransform& t : memory_.transforms) place_transform(t);
  const PlacedTransform& t = memory_.transforms.front();
  for (StageId s : group_.planned.stages) {
    const auto before = [&](const PlacedTransform& other) { return other.prologue == s; };
    if (group_.in_ring(s) && std::none_of(memory_.transforms.begin(), memory_.transforms.end(), before))
      place_ring(s, planes_of_pair(t.high, 2 * t.wide));
  }
}

void ReserveMemory::place_transform(PlacedTransform& t) {
  t.bases = reserve(t.rows * pointer_bytes);
  if (t.prologue) place_ring(*t.prologue, planes_of_pair(t.rows, t.wide + t.tile.columns));
  t.raw = reserve(t.tile.columns * group_.bytes(t.sum.source) + 64);
  if (t.stacked()) t.spectra = reserve((t.pairs + 1) * t.lines() * t.spectrum_bytes());
  if (t.stacked()) t.energies = reserve((t.pairs + 1) * t.lines() * 2 * number_bytes);
  if (&t != &memory_.transforms.front()) return t.take_memory(memory_.transforms.front());  // one after another
  t.from = reserve(2 * t.rows * pointer_bytes);
  const i64 results = t.stacked() ? 4 : 2;  // tiles
  t.to = reserve(results * t.rows * pointer_bytes);
  t.arguments = reserve(64);
  t.numbers = reserve(results / 2 * fft::tile_scratch(t.tile) * t.size());
  t.loaded = reserve(2 * t.rows * t.row_bytes());
  t.results = reserve(results * t.rows * t.row_bytes());
  if (t.stacked()) t.stack = reserve(t.lines() * pointer_bytes);
  place_ranges(t);
}

// What looks at results beside far larger numbers works on: ranges.cpp.
void ReserveMemory::place_ranges(PlacedTransform& t) {
  const i64 rows = 2 * t.rows * t.row_bytes(), units = t.tile.rows == 1 ? t.rows : 1;
  const auto ranged = [](const PlacedTransform& one) { return one.ranged(); };
  if (std::none_of(memory_.transforms.begin(), memory_.transforms.end(), ranged)) return;
  t.most = reserve(rows);
  t.two_lines = reserve(2 * t.row_bytes());
  t.limits = reserve(units * t.size());
  t.squares = reserve(units * number_bytes);
  t.level = reserve((t.stacked() ? 2 : 1) * rows);
  t.level_to = reserve((t.stacked() ? 4 : 2) * t.rows * pointer_bytes);
  if (t.stacked()) t.level_spectra = reserve(t.lines() * t.spectrum_bytes());
}

}  // namespace

ScratchStack::ScratchStack(Builder& builder, Use use, bool guarded)
    : builder_(builder), use_(use), guarded_(guarded), top_(integer(0)) {
  guard();
}

Value ScratchStack::reserve(const Value& bytes) {
  Value offset = top_;
  top_ = builder_.let("top", call_i64("tsr_align", {top_ + bytes}));
  guard();
  if (is_measured()) return offset;
  return builder_.let("memory", address(variable("S", bytes_pointer), offset));
}

// A gap behind what has been reserved so far.
void ScratchStack::guard() {
  if (!guarded_) return;
  guards_.push_back(top_);
  if (!is_measured()) builder_.call("tsr_guard", {address(variable("S", bytes_pointer), top_)});
  top_ = builder_.let("top", top_ + guard_bytes);
}

Memory reserve_memory(const Declared& declared, const std::vector<PassBody>& bodies,
                      const std::vector<TileTransform>& transforms, const std::vector<Region>& regions,
                      ScratchStack& scratch) {
  return ReserveMemory(declared, bodies, regions, scratch).reserved(transforms);
}

Value memory_size(const Declared& declared, const std::vector<PassBody>& bodies,
                  const std::vector<TileTransform>& transforms) {
  ScratchStack scratch(declared.builder, ScratchStack::Use::measured, declared.group.options.guarded);
  reserve_memory(declared, bodies, transforms, {}, scratch);
  return scratch.size();
}

}  // namespace tessera::lower
