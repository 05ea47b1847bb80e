// The ends of rows that a pass reads: copies of a few vectors, continued by the border.
//
// A block of a volume reads dozens of rows, and short ones: what is patched alike (one image, the same columns) is
// patched by one call, which maps the columns beyond the end once for all of them.
#include "lower/ways/stream/columns/ends.hpp"

#include <utility>

#include "lower/ways/stream/forms.hpp"

namespace tessera::lower {

using ir::nest::integer;
using ir::nest::Value;

namespace {

constexpr std::size_t least_together = 4;  // rows that one call patches
constexpr i64 row_bytes = static_cast<i64>(sizeof(void*));

// How a run of columns lies against the ends of a source's rows.
struct End {
  Value outside;              // a flag: does it read beyond one
  Value first;                // the first column, or point, that it reads
  i64 step = 1;               // bytes between them
  std::vector<Value> border;  // as tsr_patch takes it
};

class RowEnds {
 public:
  RowEnds(const PassOfTile& of, const std::vector<Pointers>& sources)
      : of_(of), tile_(of.tile), group_(of.tile.group), builder_(of.tile.builder), sources_(sources) {}

  std::vector<std::vector<Value>> patched(const Value& x0, const Value& x1, const Value& whole) {
    patches_.resize(sources_.size());
    for (std::size_t k = 0; k < sources_.size(); ++k) {
      if (group_.contains(source(k).stage) || !patches_[k].empty()) continue;
      const End end = end_of(k, x0, x1, whole);
      sources_[k].listed ? patch_list(k, end) : patch(k, end);
    }
    return std::move(patches_);
  }

 private:
  const PassBody::Source& source(std::size_t k) const { return of_.body.sources[k]; }
  i64 bytes(std::size_t k) const { return patch_bytes(group_, of_.pass, source(k)); }
  End end_of(std::size_t source, const Value& x0, const Value& x1, const Value& whole) const;
  bool together(std::size_t a, std::size_t b) const;
  Value border_row(std::size_t source, const Value& row) const;
  void call_patch(const char* name, std::vector<Value> arguments, const End&) const;
  void patch_list(std::size_t source, const End&);
  void patch(std::size_t source, const End&);

  const PassOfTile& of_;
  const TileFunction& tile_;
  const StreamGroup& group_;
  Builder& builder_;
  const std::vector<Pointers>& sources_;
  std::vector<std::vector<Value>> patches_;
  i64 at_ = 0;    // bytes of patches so far
  i64 ends_ = 0;  // rows that are patched by one call
};

End RowEnds::end_of(std::size_t k, const Value& x0, const Value& x1, const Value& whole) const {
  const PassBody::Source& of = source(k);
  const Value c0 = builder_.let("c0", x0 * of.scale + tile_.extent(of.shift) + of.lo);
  // Lanes beyond the end read what lies there; nobody keeps them.
  const Value columns = builder_.let("columns", (x1 - x0 - 1) * of.scale + (of.hi - of.lo + 1));
  // A source that is read at the very columns alone, as most rows of a cross are, may lie inside.
  const i64 strided = group_.beyond(of_.number, of.stage);
  const Value n = tile_.extent(group_.stage(of.stage).domain.back());
  const Value last = c0 + max(whole * of.scale, integer(1)) + (of.hi - of.lo + strided);
  End end;
  end.outside = builder_.let("outside", less(c0, integer(0)) | less(n, last));
  const bool periodic = group_.plan_of(of_.pass.stages.front()).periodic[group_.rank - 1];
  BorderMode mode = periodic ? BorderMode::wrap : of.column_border.mode;
  if (mode == BorderMode::none) mode = BorderMode::clamp;  // read by lanes that nobody keeps
  const i64 unit = group_.bordered(mode), size = group_.bytes(of.stage);
  const i64 step = group_.element_step(of.stage) * unit;
  const auto points = [&](const char* rounded, const Value& v) {
    return unit == 1 ? v : builder_.let("c", call_i64(rounded, {v, integer(unit)}));
  };
  end.first = points("tsr_floor_div", c0);
  end.step = step * size;
  end.border = {end.first,
                unit == 1 ? columns : points("tsr_ceil_div", c0 + columns) - end.first,
                points("tsr_floor_div", n),
                integer(static_cast<i64>(mode)),
                integer(step),
                integer(size),
                integer(group_.border_bits(of.column_border, of.stage))};
  return end;
}

// Are their rows patched alike?
bool RowEnds::together(std::size_t a, std::size_t b) const {
  const PassBody::Source &x = source(a), &y = source(b);
  for (std::size_t k : {a, b})
    for (const Value& values : of_.work.constants.at(k))
      if (values) return false;
  return x.stage == y.stage && x.scale == y.scale && x.shift == y.shift && x.lo == y.lo && x.hi == y.hi &&
         x.column_border == y.column_border;
}

// The row itself where it is one of border values, else no row.
Value RowEnds::border_row(std::size_t k, const Value& row) const {
  Value constant_row = convert(bytes_pointer, integer(0));
  for (const Value& values : of_.work.constants.at(k))
    if (values) constant_row = choose(equal(row, values), values, constant_row);
  return constant_row;
}

void RowEnds::call_patch(const char* name, std::vector<Value> arguments, const End& end) const {
  arguments.insert(arguments.end(), end.border.begin(), end.border.end());
  builder_.call(name, std::move(arguments));
}

// A long table's rows: its variable gets the rows themselves, or their patches.
void RowEnds::patch_list(std::size_t k, const End& end) {
  const Pointers& pointers = sources_[k];
  const i64 each = bytes(k), first = at_;
  builder_.loop("e", integer(0), integer(source(k).entries()), integer(1), [&](const Value& e) {
    const Value direct = listed_row(pointers.listed, e);
    const Value memory = builder_.let("patch", address(of_.work.patches, e * each + first));
    builder_.branch(
        end.outside,
        [&] {
          const Value row = builder_.let("row", convert(bytes_pointer, direct));
          call_patch("tsr_patch", {memory, row, border_row(k, row)}, end);
          const Value patch = address(memory, integer(0) - end.border[0] * end.step);
          builder_.assign_element(pointers.current, e, group_.typed(source(k).stage, patch));
        },
        [&] { builder_.assign_element(pointers.current, e, direct); });
  });
  at_ += source(k).entries() * each;
}

// And with them the rows of all that are patched alike, where those are many.
void RowEnds::patch(std::size_t k, const End& end) {
  std::vector<std::pair<std::size_t, Value>> rows;  // of which sources
  for (std::size_t j = k; j < sources_.size(); ++j)
    if (!sources_[j].listed && (j == k || together(k, j)))
      for (const Value& direct : sources_[j].direct) rows.emplace_back(j, direct);
  const bool here = lowering_of(of_.pass.form).patched_here;
  const bool at_once = rows.size() >= least_together && together(k, k) && !here;
  if (!at_once) std::erase_if(rows, [&](const auto& row) { return row.first != k; });
  const i64 first = at_, each = bytes(k);
  builder_.branch(end.outside, [&] {
    for (const auto& [j, direct] : rows) {
      const Value row = convert(bytes_pointer, direct);
      const Value memory = address(of_.work.patches, integer(at_));
      at_ += each;
      if (at_once)
        builder_.call("tsr_set_row", {of_.work.ends, integer(ends_++), row});
      else
        call_patch(here ? "tsr_patch_here" : "tsr_patch", {memory, row, border_row(k, row)}, end);
    }
    if (!at_once) return;
    const i64 many = static_cast<i64>(rows.size());
    call_patch("tsr_patch_rows",
               {address(of_.work.patches, integer(first)), integer(each),
                address(of_.work.ends, integer((ends_ - many) * row_bytes)), integer(many)},
               end);
  });
  at_ = first;
  for (const auto& [j, direct] : rows) {
    const Value memory = address(of_.work.patches, integer(at_));
    at_ += each;
    const Value patch = group_.typed(source(k).stage, address(memory, integer(0) - end.first * end.step));
    patches_[j].push_back(builder_.let("patch", choose(end.outside, patch, direct)));
  }
}

}  // namespace

i64 patch_bytes(const StreamGroup& group, const plan::Pass& pass, const PassBody::Source& source) {
  const i64 columns = source.scale * 5 * pass.lanes + (source.hi - source.lo) + 1 + 2 * (group.plan.together() - 1);
  const i64 elements = (columns + 1) * group.element_step(source.stage) + 64;
  return (elements * group.bytes(source.stage) + 63) / 64 * 64;
}

std::vector<std::vector<Value>> patched_ends(const PassOfTile& of, const std::vector<Pointers>& sources,
                                             const Value& x0, const Value& x1, const Value& whole) {
  return RowEnds(of, sources).patched(x0, x1, whole);
}

}  // namespace tessera::lower
