// The ends of rows that a pass reads: copies of a few vectors, continued by the border.
//
// A block of a volume reads dozens of rows, and short ones: what is patched alike (one image, the same columns) is
// patched by one call, which maps the columns beyond the end once for all of them.
#include <algorithm>

#include "lower/vocabulary.hpp"
#include "lower/ways/stream/group.hpp"

namespace tessera::lower {

using ir::nest::integer;
using ir::nest::Value;

i64 GroupLowering::patch_bytes(std::size_t pass, const PassBody::Source& source) const {
  const i64 columns =
      source.scale * 5 * group_.passes[pass].lanes + (source.hi - source.lo) + 1 + 2 * (plan_.together() - 1);
  const i64 elements = (columns + 1) * element_step(source.stage) + 64;
  return (elements * ir::nest::size_of(memory_lane(source.stage)) + 63) / 64 * 64;
}

i64 GroupLowering::bordered(BorderMode mode) const {
  const bool by_points = mode == BorderMode::clamp || mode == BorderMode::mirror || mode == BorderMode::symmetric;
  return by_points ? plan_.together() : 1;
}

bool GroupLowering::patched_together(std::size_t pass, std::size_t a, std::size_t b) const {
  const PassBody::Source &x = bodies_[pass].sources[a], &y = bodies_[pass].sources[b];
  for (std::size_t k : {a, b})
    for (const Value& values : work_[pass].constants.at(k))
      if (values) return false;
  return x.stage == y.stage && x.scale == y.scale && x.shift == y.shift && x.lo == y.lo && x.hi == y.hi &&
         x.column_border == y.column_border;
}

// The row itself where it is one of border values, else no row.
ir::nest::Value GroupLowering::border_row(std::size_t pass, std::size_t k, const Value& row) {
  Value constant_row = convert(bytes_pointer, integer(0));
  for (const Value& values : work_[pass].constants[k])
    if (values) constant_row = choose(equal(row, values), values, constant_row);
  return constant_row;
}

// A long table's rows: its variable gets the rows themselves, or their patches, which begin at `first`.
void GroupLowering::long_patches(std::size_t p, std::size_t k, const Pointers& pointers, const Value& outside,
                                 i64 first, i64 step, const std::vector<Value>& border) {
  const PassBody::Source& source = bodies_[p].sources[k];
  const i64 bytes = patch_bytes(p, source);
  const i64 unit = step * ir::nest::size_of(memory_lane(source.stage));  // of what the border continues
  builder_->loop("e", integer(0), integer(source.entries()), integer(1), [&](const Value& e) {
    const Value direct = listed_row(pointers.listed, e);
    const Value memory = builder_->let("patch", address(work_[p].patches, e * bytes + first));
    builder_->branch(
        outside,
        [&] {
          const Value row = builder_->let("row", convert(bytes_pointer, direct));
          std::vector<Value> arguments{memory, row, border_row(p, k, row)};
          arguments.insert(arguments.end(), border.begin(), border.end());
          builder_->call("tsr_patch", arguments);
          builder_->assign_element(pointers.current, e,
                                   typed(source.stage, address(memory, integer(0) - border[0] * unit)));
        },
        [&] { builder_->assign_element(pointers.current, e, direct); });
  });
}

std::vector<std::vector<Value>> GroupLowering::patched_ends(std::size_t p, const std::vector<Pointers>& sources,
                                                            const Value& x0, const Value& x1, const Value& whole) {
  const PassBody& body = bodies_[p];
  const plan::Pass& pass = group_.passes[p];
  const bool periodic = plan_.stages[pass.stages.front()].periodic[rank_ - 1];
  std::vector<std::vector<Value>> patches(sources.size());
  i64 at = 0, ends = 0;
  for (std::size_t k = 0; k < sources.size(); ++k) {
    if (in_group(body.sources[k].stage) || !patches[k].empty()) continue;
    const PassBody::Source& source = body.sources[k];
    const i64 step = element_step(source.stage), size = ir::nest::size_of(memory_lane(source.stage));
    const i64 bytes = patch_bytes(p, source);
    const Value c0 = builder_->let("c0", x0 * source.scale + extent(source.shift) + source.lo);
    // Lanes beyond the end read what lies there; nobody keeps them.
    const Value columns = builder_->let("columns", (x1 - x0 - 1) * source.scale + (source.hi - source.lo + 1));
    // A source that is read at the very columns alone, as most rows of a cross are, may lie inside.
    const i64 strided = beyond(p, source.stage);
    const Value n = extent(stage(source.stage).domain.back());
    const Value last = c0 + max(whole * source.scale, integer(1)) + (source.hi - source.lo + strided);
    const Value outside = builder_->let("outside", less(c0, integer(0)) | less(n, last));
    BorderMode mode = periodic ? BorderMode::wrap : source.column_border.mode;
    if (mode == BorderMode::none) mode = BorderMode::clamp;  // read by lanes that nobody keeps
    const i64 unit = bordered(mode);
    const auto points = [&](const char* rounded, const Value& v) {
      return unit == 1 ? v : builder_->let("c", call_i64(rounded, {v, integer(unit)}));
    };
    const Value first_point = points("tsr_floor_div", c0);
    std::vector<Value> border{first_point,
                              unit == 1 ? columns : points("tsr_ceil_div", c0 + columns) - first_point,
                              points("tsr_floor_div", n),
                              integer(static_cast<i64>(mode)),
                              integer(step * unit),
                              integer(size),
                              integer(border_bits(source.column_border, source.stage))};
    std::vector<std::pair<std::size_t, Value>> rows;  // of which sources
    for (std::size_t j = k; j < sources.size(); ++j)
      if (!sources[j].listed && (j == k || patched_together(p, k, j)))
        for (const Value& direct : sources[j].direct) rows.emplace_back(j, direct);
    constexpr std::size_t least_together = 4;
    const bool together = rows.size() >= least_together && patched_together(p, k, k) && !pass.pairs;
    if (!together) std::erase_if(rows, [&](const auto& row) { return row.first != k; });
    if (sources[k].listed) {
      long_patches(p, k, sources[k], outside, at, step * unit, border);
      at += source.entries() * bytes;
      continue;
    }
    const i64 first = at;
    builder_->branch(outside, [&] {
      for (const auto& [j, direct] : rows) {
        const Value row = convert(bytes_pointer, direct);
        const Value memory = address(work_[p].patches, integer(at));
        at += bytes;
        if (together) {
          builder_->call("tsr_set_row", {work_[p].ends, integer(ends++), row});
          continue;
        }
        std::vector<Value> arguments{memory, row, border_row(p, k, row)};
        arguments.insert(arguments.end(), border.begin(), border.end());
        // Bytes are many to a vector, and ends many against what lies between.
        builder_->call(pass.pairs ? "tsr_patch_here" : "tsr_patch", arguments);
      }
      if (!together) return;
      const i64 many = static_cast<i64>(rows.size());
      std::vector<Value> arguments{address(work_[p].patches, integer(first)), integer(bytes),
                                   address(work_[p].ends, integer((ends - many) * static_cast<i64>(sizeof(void*)))),
                                   integer(many)};
      arguments.insert(arguments.end(), border.begin(), border.end());
      builder_->call("tsr_patch_rows", arguments);
    });
    at = first;
    for (const auto& [j, direct] : rows) {
      const Value memory = address(work_[p].patches, integer(at));
      at += bytes;
      const Value patch = typed(source.stage, address(memory, integer(0) - first_point * (step * unit * size)));
      patches[j].push_back(builder_->let("patch", choose(outside, patch, direct)));
    }
  }
  return patches;
}

}  // namespace tessera::lower
