// Rows of a point pass: pointers, runs of columns (their loops: vectors.cpp), borders.
#include <algorithm>

#include "lower/vocabulary.hpp"
#include "lower/ways/stream/group.hpp"

namespace tessera::lower {

using ir::StageId;
using ir::StageKind;
using ir::nest::integer;
using ir::nest::Type;
using ir::nest::Value;

namespace {

// Bytes of the narrowest store past the caches: narrower ones, such as eight bytes of eight doubles, leave the buffers
// of the processor before a line is full, and take seven times as long.
constexpr i64 least_streamed = 16;

}  // namespace

Value GroupLowering::typed(StageId s, const Value& bytes) const {
  return convert({memory_lane(s), 1, true}, bytes);
}

// The address of column 0 of the row at the given outer indices, which are inside the domain and computed.
Value GroupLowering::row_at(StageId s, const std::vector<Value>& at) {
  if (in_group(s) && plan_.stages[s].home == plan::Home::ring) {
    const Ring& ring = rings_.at(s);
    const Region& region = regions_[pass_of(s)];
    i64 depth = plan_.stages[s].depth;
    Value offset;
    for (std::size_t d = 0; d + 1 < rank_; ++d) {
      Value slot = at[d] - region.lo[d] + slack(s, d);
      if (d == 0 && depth > 0) slot = slot % depth;
      offset = offset ? offset + slot * ring.pitch[d] : slot * ring.pitch[d];
    }
    return address(ring.base, offset);
  }
  auto place = place_of(plan_, interface_, s);
  const ArrayRef& array = interface_.arrays[place->array];
  Value offset = integer(0);
  for (std::size_t d = 0; d < at.size(); ++d) offset = offset + at[d] * stride(array.strides + d);
  return address(array_base(place->array), offset);
}

Value GroupLowering::source_row(const PassBody::Source& source, const std::vector<Value>& offsets, StageId consumer,
                                const std::vector<Value>& index, const std::vector<Value>& constant_rows) {
  const ir::Stage& producer = stage(source.stage);
  const plan::StagePlan& from = plan_.stages[source.stage];
  bool ring = in_group(source.stage);
  std::size_t lead = rank_ - producer.domain.size();
  std::vector<Value> at;
  std::vector<std::pair<Value, Value>> outside;  // a flag, and the row to read then
  for (std::size_t d = 0; d + 1 < producer.domain.size(); ++d) {
    const ir::Index& where = source.outer[d];
    const Value offset = offsets.empty() ? integer(where.offset) : offsets[d] + where.offset;
    Value v = index[d + lead] * where.scale + extent(where.shift) + offset;
    BorderMode mode = source.outer_border[d].mode;
    if (plan_.stages[consumer].periodic[d + lead]) mode = BorderMode::wrap;
    Value n = extent(producer.domain[d]);
    if (!(ring && from.periodic[d]) && mode != BorderMode::none && mode != BorderMode::clamp) {
      v = builder_->let("row", call_i64("tsr_map", {integer(static_cast<i64>(mode)), v, n}));
      if (mode == BorderMode::constant) {
        outside.emplace_back(less(v, integer(0)), constant_rows[d]);
      }
    }
    // Rows of a block below its last one read whatever is there; ring rows are those computed so far.
    Value lo = integer(0), hi = n - 1;
    if (ring) {
      std::size_t p = pass_of(source.stage);
      lo = regions_[p].lo[d];
      hi = (d == 0 ? done_[p] : regions_[p].hi[d]) - 1;
      if (!from.periodic[d] && mode == BorderMode::clamp) v = call_i64("tsr_clamp", {v, integer(0), n - 1});
    }
    at.push_back(builder_->let("row", call_i64("tsr_clamp", {v, lo, hi})));
  }
  Value pointer = row_at(source.stage, at);
  for (std::size_t k = outside.size(); k-- > 0;)  // the slowest dimension decides
    pointer = choose(outside[k].first, outside[k].second, pointer);
  return pointer;
}

void GroupLowering::pass_rows(std::size_t p, const Value& end) {
  const plan::Pass& pass = group_.passes[p];
  std::vector<Value> index(rank_ - 1);
  Value count = integer(1);  // rows of a block that are due
  std::function<void(std::size_t)> nest = [&](std::size_t d) {
    Value lo = d == 0 ? done_[p] : regions_[p].lo[d];
    Value hi = d == 0 ? end : regions_[p].hi[d];
    const bool last = d + 2 == rank_, point = pass.kind == plan::PassKind::point;
    const i64 step = d == pass.along && point ? pass.rows : 1;
    builder_->loop(last ? "y" : "z", lo, hi, integer(step), [&](const Value& i) {
      index[d] = i;
      if (step > 1) count = builder_->let("count", min(hi - i, integer(step)));
      if (!last)
        nest(d + 1);
      else
        point ? point_block(p, index, count) : compose_row(p, index);
    });
  };
  nest(0);
}

void GroupLowering::point_block(std::size_t p, const std::vector<Value>& index, const Value& count) {
  const plan::Pass& pass = group_.passes[p];
  const PassBody& body = bodies_[p];
  Value xs = regions_[p].lo[rank_ - 1];
  std::vector<Pointers> sources;
  for (std::size_t k = 0; k < body.sources.size(); ++k) {
    const PassBody::Source& source = body.sources[k];
    const std::vector<Value>& constant_rows = work_[p].constants[k];
    sources.push_back(source_rows(source, pass.stages.front(), index, constant_rows));
  }
  // Rows to write; rows of the block that are not due go to a row that nobody reads.
  std::vector<Target> targets;
  std::vector<Value> rows;
  for (int r = 0; r < pass.rows; ++r)
    for (StageId s : pass.stages) {
      std::vector<Value> at = index;
      at[pass.along] = at[pass.along] + r;
      const StageId w = written(s);
      const i64 spread = w == s ? 1 : plan_.stages[s].stride.back();
      Target target;
      target.first = targets.size();
      // Pieces of one row of what they fill: in the order of their columns.
      for (std::size_t k = 0; k < pass.stages.size() && spread > 1; ++k) {
        const plan::StagePlan &mine = plan_.stages[s], &other = plan_.stages[pass.stages[k]];
        if (written(pass.stages[k]) != w) continue;
        if (!std::equal(mine.start.begin(), mine.start.end() - 1, other.start.begin())) continue;
        if (other.start.back() == 0) target.first = static_cast<std::size_t>(r) * pass.stages.size() + k;
        target.parts = static_cast<int>(spread);
        target.part = static_cast<int>(mine.start.back());
      }
      Value row = row_at(w, w == s ? at : written_index(s, at));
      if (r > 0) {
        Value dump = address(work_[p].dump, integer(0) - xs * (spread * ir::nest::size_of(memory_lane(w))));
        row = choose(less(integer(r), count), row, dump);
      }
      rows.push_back(builder_->let("to", row));
      target.to = builder_->let("to", typed(w, rows.back()));
      targets.push_back(std::move(target));
    }
  columns(p, index, count, sources, targets);
  for (int r = 0; r < pass.rows; ++r)
    for (std::size_t k = 0; k < pass.stages.size(); ++k) {
      StageId s = pass.stages[k];
      const plan::StagePlan& plan = plan_.stages[s];
      bool margins = false;
      for (std::size_t d = 0; d < rank_; ++d) margins |= stage(s).margin_lo[d] > 0 || stage(s).margin_hi[d] > 0;
      if (plan.home == plan::Home::inside || (!margins && plan.home == plan::Home::array)) continue;
      if (!margins && plan.pad_lo == 0 && plan.pad_hi == 0 && !plan.also_array) continue;
      std::vector<Value> at = index;
      at[pass.along] = at[pass.along] + r;
      auto finish = [&] { finish_row(s, at, rows[static_cast<std::size_t>(r) * pass.stages.size() + k]); };
      if (r == 0)
        finish();
      else
        builder_->branch(less(integer(r), count), finish);
    }
  copy_fields(p, index, count, rows);
}

// Splits a row into a run of whole vectors that need no care and the short runs before and after it.
void GroupLowering::columns(std::size_t p, const std::vector<Value>& index, const Value& count,
                            std::vector<Pointers>& sources, const std::vector<Target>& targets) {
  const plan::Pass& pass = group_.passes[p];
  const PassBody& body = bodies_[p];
  const i64 lanes = pass.lanes;
  Value xs = regions_[p].lo[rank_ - 1], xe = regions_[p].hi[rank_ - 1];
  std::vector<std::size_t> direct_targets, patched;
  for (std::size_t k = 0; k < pass.stages.size(); ++k)
    if (direct_result(pass.stages[k])) direct_targets.push_back(k);
  Value a = xs, b;
  for (std::size_t k = 0; k < body.sources.size(); ++k) {
    const PassBody::Source& source = body.sources[k];
    if (in_group(source.stage)) continue;
    patched.push_back(k);
    Value n = extent(stage(source.stage).domain.back());
    Value shift = extent(source.shift);
    const i64 strided = beyond(p, source.stage);  // a strided vector load ends in the next element, or farther
    if (source.scale == 0) {                      // one column for the whole row: inside or not
      Value first = shift + source.lo, last = shift + source.hi;
      Value inside = less(integer(-1), first) & less(last, n);
      a = max(a, choose(inside, xs, xe));
      b = b ? min(b, xe) : xe;
      continue;
    }
    i64 scale = source.scale;
    a = max(a, call_i64("tsr_ceil_div", {integer(0) - shift - source.lo, integer(scale)}));
    Value last = call_i64("tsr_floor_div", {n - shift - (source.hi + scale * lanes + strided), integer(scale)});
    b = b ? min(b, last) : last;
  }
  Value streaming = integer(0, flag_type);
  if (!direct_targets.empty()) {
    b = b ? min(b, xe - lanes) : xe - lanes;
    streaming = convert(flag_type, load(tile_shape(), integer(static_cast<i64>(rank_) + 1), 1));
    for (int r = 0; r < pass.rows; ++r)
      for (std::size_t k : direct_targets) {
        const Value& target = targets[static_cast<std::size_t>(r) * pass.stages.size() + k].to;
        const i64 bytes = pass.quads ? lanes : lanes * ir::nest::size_of(target->type.lane);
        if (bytes < least_streamed) {
          streaming = integer(0, flag_type);
          continue;
        }
        Value aligned = ir::nest::call("tsr_aligned", flag_type, {address(target, xs), integer(bytes)});
        streaming = streaming & aligned;
      }
    streaming = builder_->let("streaming", streaming);
  }
  if (!b) {  // rings on both sides: vectors may run over the end
    for (std::size_t k = 0; k < sources.size(); ++k) {
      Pointers& s = sources[k];
      s.current = s.listed ? s.listed : s.direct.front();
      if (body.sources[k].table.empty() || s.listed) continue;
      s.current = builder_->array("rows", s.direct.front()->type, body.sources[k].entries());
      for (std::size_t e = 0; e < s.direct.size(); ++e)
        builder_->assign_element(s.current, integer(static_cast<i64>(e)), s.direct[e]);
    }
    vectors(p, index, sources, targets, xs, xe, streaming);
    return;
  }
  Value chunk = integer(4 * lanes);
  Value xa = builder_->let("xa", call_i64("tsr_run_begin", {xs, a, xe, integer(lanes)}));
  Value xb = builder_->let("xb", call_i64("tsr_run_end", {xa, b, xe, integer(lanes)}));
  Value before = builder_->let("before", call_i64("tsr_ceil_div", {xa - xs, chunk}));
  Value after = builder_->let("after", call_i64("tsr_ceil_div", {max(xe - xb, integer(0)), chunk}));
  std::vector<Target> outputs = targets;
  for (std::size_t k = 0; k < sources.size(); ++k) {
    if (body.sources[k].table.empty()) {
      bool moves = std::count(patched.begin(), patched.end(), k) > 0;
      sources[k].current = moves ? builder_->var("at", sources[k].direct[0]) : sources[k].direct[0];
    } else {
      const Type pointer{memory_lane(body.sources[k].stage), 1, true};
      sources[k].current = builder_->array("rows", pointer, body.sources[k].entries());
    }
  }
  for (int r = 0; r < pass.rows; ++r)
    for (std::size_t k : direct_targets) {
      std::size_t t = static_cast<std::size_t>(r) * pass.stages.size() + k;
      outputs[t].to = builder_->var("out", targets[t].to);
    }
  auto set_rows = [&](std::size_t k, const std::vector<Value>& pointers) {
    if (sources[k].listed) {
      builder_->loop("e", integer(0), integer(body.sources[k].entries()), integer(1), [&](const Value& e) {
        builder_->assign_element(sources[k].current, e, listed_row(sources[k].listed, e));
      });
      return;
    }
    if (body.sources[k].table.empty()) {
      if (sources[k].current->name != pointers[0]->name) builder_->assign(sources[k].current, pointers[0]);
      return;
    }
    for (std::size_t e = 0; e < pointers.size(); ++e)
      builder_->assign_element(sources[k].current, integer(static_cast<i64>(e)), pointers[e]);
  };
  builder_->loop("run", integer(0), before + 1 + after, integer(1), [&](const Value& run) {
    Value x0 = builder_->let("x0", call_i64("tsr_chunk_begin", {run, before, xs, xa, xb, chunk}));
    Value x1 = builder_->let("x1", call_i64("tsr_chunk_end", {run, before, x0, xa, xb, xe, chunk}));
    Value inside = builder_->let("inside", equal(run, before));
    // Columns that whole vectors compute, those that nobody keeps included.
    Value whole = builder_->let("whole", (x1 - x0 + (lanes - 1)) / lanes * lanes);
    Value over;  // columns that nobody keeps would be written
    if (!direct_targets.empty()) over = builder_->let("over", less(xe, x0 + whole));
    Value nt = builder_->let("nt", streaming & inside);
    builder_->branch(
        inside,
        [&] {
          for (std::size_t k = 0; k < sources.size(); ++k) set_rows(k, sources[k].direct);
          for (std::size_t t = 0; t < targets.size(); ++t)
            if (outputs[t].to->name != targets[t].to->name) builder_->assign(outputs[t].to, targets[t].to);
        },
        [&] {
          const std::vector<std::vector<Value>> patches = patched_ends(p, sources, x0, min(x1, xe), whole);
          for (std::size_t k = 0; k < sources.size(); ++k) {
            if (!in_group(body.sources[k].stage)) {
              if (!sources[k].listed) set_rows(k, patches[k]);
            } else if (!body.sources[k].table.empty())
              set_rows(k, sources[k].direct);
          }
          i64 row_bytes = 0;
          for (StageId s : pass.stages) row_bytes = std::max<i64>(row_bytes, ir::nest::size_of(memory_lane(s)));
          row_bytes = 6 * lanes * row_bytes + 64;
          i64 slot = 0;
          for (std::size_t t = 0; t < targets.size(); ++t) {
            if (outputs[t].to->name == targets[t].to->name) continue;
            StageId s = pass.stages[t % pass.stages.size()];
            Value memory = address(work_[p].outputs, integer(slot++ * row_bytes));
            Value patch = typed(s, address(memory, integer(0) - x0 * ir::nest::size_of(memory_lane(s))));
            builder_->assign(outputs[t].to, choose(over, patch, targets[t].to));
          }
        });
    vectors(p, index, sources, outputs, x0, x1, nt);
    if (!direct_targets.empty())
      builder_->branch(over, [&] {
        for (std::size_t t = 0; t < targets.size(); ++t) {
          if (outputs[t].to->name == targets[t].to->name) continue;
          i64 size = ir::nest::size_of(targets[t].to->type.lane);
          auto copy = [&] {
            builder_->call("tsr_copy_end",
                           {convert(bytes_pointer, address(targets[t].to, x0)),
                            convert(bytes_pointer, address(outputs[t].to, x0)), (min(x1, xe) - x0) * size});
          };
          std::size_t r = t / pass.stages.size();
          if (r == 0)
            copy();
          else
            builder_->branch(less(integer(static_cast<i64>(r)), count), copy);
        }
      });
  });
}

// After a row is complete: zeros where the stage is not evaluated, its continuation beyond its ends, its copy in
// memory.
void GroupLowering::finish_row(StageId s, const std::vector<Value>& index, const Value& target) {
  const plan::StagePlan& plan = plan_.stages[s];
  const Region& region = regions_[pass_of(s)];
  const Value lo = region.lo[rank_ - 1], hi = region.hi[rank_ - 1];
  const i64 size = ir::nest::size_of(memory_lane(s));
  const Value n = extent(stage(s).domain.back());
  auto zero = [&](const Value& from, const Value& to) {
    builder_->call("tsr_zero", {address(target, from * size), (to - from) * size});
  };
  if (stage(s).kind == StageKind::point) {
    const ir::Stage& point = stage(s);
    Value off;
    for (std::size_t d = 0; d + 1 < rank_; ++d) {
      if (point.margin_lo[d] > 0) {
        Value below = less(index[d], integer(point.margin_lo[d]));
        off = off ? off | below : below;
      }
      if (point.margin_hi[d] > 0) {
        Value above = less(extent(point.domain[d]) - (1 + point.margin_hi[d]), index[d]);
        off = off ? off | above : above;
      }
    }
    if (off) builder_->branch(off, [&] { zero(lo, hi); });
    if (point.margin_lo.back() > 0) {
      Value to = builder_->let("to", min(integer(point.margin_lo.back()), hi));
      builder_->branch(less(lo, to), [&] { zero(lo, to); });
    }
    if (point.margin_hi.back() > 0) {
      Value from = builder_->let("from", max(n - point.margin_hi.back(), lo));
      builder_->branch(less(from, hi), [&] { zero(from, hi); });
    }
  }
  if (plan.home != plan::Home::ring) return;
  if ((plan.pad_lo > 0 || plan.pad_hi > 0) && !plan.periodic.back() && plan.pad.mode != BorderMode::none) {
    // (The end of what is there only counts where it is that of the row.)
    const i64 unit = bordered(plan.pad.mode);
    const auto points = [&](const Value& v) { return unit == 1 ? v : call_i64("tsr_floor_div", {v, integer(unit)}); };
    builder_->call("tsr_pad", {target, lo, points(hi), points(n), integer((plan.pad_lo + unit - 1) / unit),
                               integer((plan.pad_hi + unit - 1) / unit), integer(static_cast<i64>(plan.pad.mode)),
                               integer(size * unit), integer(border_bits(plan.pad, s))});
  }
  if (plan.also_array && leaving_with(s).empty()) copy_row(s, index, target);
}

// Is the row part of what this tile is to give?
Value GroupLowering::is_mine(StageId s, const std::vector<Value>& index) const {
  const Region& own = own_.at(s);
  Value mine = integer(1, flag_type);
  for (std::size_t d = 0; d + 1 < rank_; ++d) {
    Value inside = less(own.lo[d] - 1, index[d]) & less(index[d], own.hi[d]);
    mine = d == 0 ? inside : mine & inside;
  }
  return mine;
}

// Where the row of a result lies in its array.
Value GroupLowering::placed_row(StageId s, const std::vector<Value>& index) {
  auto place = place_of(plan_, interface_, s);
  const ArrayRef& array = interface_.arrays[place->array];
  Value offset = integer(place->offset) + own_.at(s).lo[rank_ - 1] * place->element_stride;
  for (std::size_t d = 0; d + 1 < rank_; ++d) offset = offset + index[d] * stride(array.strides + d);
  return address(array_base(place->array), offset);
}

void GroupLowering::copy_row(StageId s, const std::vector<Value>& index, const Value& target) {
  const Region& own = own_.at(s);
  const i64 size = ir::nest::size_of(memory_lane(s));
  builder_->branch(is_mine(s, index), [&] {
    const Value to = placed_row(s, index);
    builder_->call("tsr_copy_strided",
                   {to, integer(place_of(plan_, interface_, s)->element_stride),
                    address(target, own.lo[rank_ - 1] * size), own.hi[rank_ - 1] - own.lo[rank_ - 1], integer(size)});
  });
}

}  // namespace tessera::lower
