// Rows of a point pass: pointers, runs of columns, borders.
#include <algorithm>

#include "base/division.hpp"
#include "ir/build.hpp"
#include "lower/cpu.hpp"
#include "lower/vocabulary.hpp"
#include "plan/lanes.hpp"

namespace tessera::lower {

using ir::ExprNode;
using ir::Op;
using ir::StageId;
using ir::StageKind;
using ir::nest::integer;
using ir::nest::Kind;
using ir::nest::Lane;
using ir::nest::Type;
using ir::nest::Value;
using ir::nest::variable;

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
      if (d == 0 && depth > 0) slot = operation(Op::rem, index_type, {slot, integer(depth)});
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
    pointer = operation(Op::select, bytes_pointer, {outside[k].first, outside[k].second, pointer});
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
        row = operation(Op::select, bytes_pointer, {less(integer(r), count), row, dump});
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
    i64 strided = element_step(source.stage) > 1 ? 1 : 0;  // a strided vector load ends in the next element
    if (source.scale == 0) {                               // one column for the whole row: inside or not
      Value first = shift + source.lo, last = shift + source.hi;
      Value inside = operation(Op::bit_and, flag_type, {less(integer(-1), first), less(last, n)});
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
        Value aligned = ir::nest::call(
            "tsr_aligned", flag_type,
            {address(target, xs), integer(pass.quads ? lanes : lanes * ir::nest::size_of(target->type.lane))});
        streaming = operation(Op::bit_and, flag_type, {streaming, aligned});
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
    Value inside = builder_->let("inside", operation(Op::eq, flag_type, {run, before}));
    // Columns that whole vectors compute, those that nobody keeps included.
    Value whole =
        builder_->let("whole", operation(Op::div, index_type, {x1 - x0 + (lanes - 1), integer(lanes)}) * lanes);
    Value over;  // columns that nobody keeps would be written
    if (!direct_targets.empty()) over = builder_->let("over", less(xe, x0 + whole));
    Value nt = builder_->let("nt", operation(Op::bit_and, flag_type, {streaming, inside}));
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
            builder_->assign(outputs[t].to, operation(Op::select, patch->type, {over, patch, targets[t].to}));
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

// The rows of memory that the next block will read besides, at the same columns: there is a block's time for them to
// arrive, and the machine's own prefetching stops at the end of every page.
void GroupLowering::prefetch(std::size_t p, const std::vector<Pointers>& sources, const Value& x) {
  constexpr i64 line = 64;
  const plan::Pass& pass = group_.passes[p];
  // Of every array, by offsets of the plane and the row: what comes from memory is the last plane.
  std::map<StageId, std::vector<std::pair<std::vector<i64>, std::size_t>>> last;
  for (std::size_t k = 0; k < bodies_[p].sources.size(); ++k) {
    const PassBody::Source& source = bodies_[p].sources[k];
    bool steady = source.table.empty() && source.scale > 0 && source.outer.back().scale > 0;
    if (in_group(source.stage) || !steady) continue;
    std::vector<i64> offsets;
    for (const ir::Index& index : source.outer) offsets.push_back(index.offset);
    last[source.stage].emplace_back(std::move(offsets), k);
  }
  for (auto& [s, rows] : last) {
    std::sort(rows.rbegin(), rows.rend());
    rows.resize(std::min(rows.size(), static_cast<std::size_t>(pass.rows)));
    const ArrayRef& array = interface_.arrays[place_of(plan_, interface_, s)->array];
    const i64 unit = element_step(s) * ir::nest::size_of(memory_lane(s));
    for (const auto& [offsets, k] : rows) {
      const PassBody::Source& source = bodies_[p].sources[k];
      // (The next row of each plane, where these make up the block.)
      const i64 step = pass.along + 2 == rank_ ? pass.rows : 1;
      const Value next = stride(array.strides + source.outer.size() - 1) * (step * source.outer.back().scale);
      const Value at = builder_->let("ahead", (x * source.scale + source.lo) * unit + next);
      const i64 lines = std::max<i64>(1, pass.lanes * source.scale * unit / line);
      for (i64 n = 0; n < lines; ++n)
        builder_->call("tsr_prefetch", {convert(bytes_pointer, sources[k].direct.front()), at + n * line});
    }
  }
}

// Elements of 2 or 4 vectors in turn.
void GroupLowering::store_interleaved(const Value& to, const Value& x, std::vector<Value> row) {
  const i64 lanes = row.front()->type.lanes, count = static_cast<i64>(row.size());
  if (count == 4) {  // 0 with 2 and 1 with 3 first, then these with each other
    std::vector<Value> mixed;
    for (std::size_t pair = 0; pair < 2; ++pair)
      for (int half = 0; half < 2; ++half)
        mixed.push_back(builder_->let("v", interleave(row[pair], row[pair + 2], half)));
    row = {mixed[0], mixed[2], mixed[1], mixed[3]};
  }
  for (i64 k = 0; k < count; ++k) {
    std::size_t pair = static_cast<std::size_t>(k / 2 * 2);
    builder_->store(to, x * count + k * lanes, interleave(row[pair], row[pair + 1], static_cast<int>(k % 2)));
  }
}

// The loop over vectors, from `from` on, until `to` is reached or passed.
void GroupLowering::vectors(std::size_t p, const std::vector<Value>& index, const std::vector<Pointers>& sources,
                            const std::vector<Target>& targets, const Value& from, const Value& to,
                            const Value& streaming) {
  const plan::Pass& pass = group_.passes[p];
  const PassBody& body = bodies_[p];
  const ir::Graph& graph = plan_.graph;
  const int lanes = pass.quads ? pass.lanes / 4 : pass.pairs ? pass.lanes / 2 : pass.lanes;
  const Type pairs{Lane::u16, lanes, false};
  builder_->loop("x", from, to, integer(pass.lanes), [&](const Value& x) {
    if (is_lanes(graph.node(body.roots.front()).op)) {
      for (std::size_t k = 0; k < targets.size(); ++k)
        store_lanes(graph.node(body.roots[k]), index[0], x, work_[p].piece, targets[k].to);
      return;
    }
    prefetch(p, sources, x);
    PointSource source;
    source.lanes = lanes;
    if (pass.quads) source.least_bytes = 4;
    source.chained = plan_.options.numbers == Numbers::fast;
    source.load = [&](const ExprNode& node, const std::map<std::uint32_t, Value>& vars) {
      std::size_t k = body.source_of.at(&node);
      const PassBody::Source& from_source = body.sources[k];
      Value pointer = sources[k].current;
      if (!from_source.table.empty()) {
        Value entry = integer(0);
        for (std::size_t d = 0; d + 1 < node.index.size(); ++d) {
          auto [lo, hi] = from_source.table[d];
          Value offset = integer(node.index[d].offset - lo);
          for (auto [var, coefficient] : node.index[d].vars) offset = offset + vars.at(var) * coefficient;
          entry = entry * (hi - lo + 1) + offset;
        }
        pointer = listed_row(pointer, entry);
      }
      const ir::Index& column = node.index.back();
      Value at = x * column.scale + extent(column.shift) + column.offset;
      for (auto [var, coefficient] : column.vars) at = at + vars.at(var) * coefficient;
      if (pass.pairs) {
        const i64 odd = column.offset & 1;
        Value both =
            load(convert({Lane::u16, 1, true}, address(pointer, x + (column.offset - odd))), integer(0), lanes);
        return operation(odd ? Op::shr : Op::bit_and, pairs,
                         {both, broadcast(integer(odd ? 8 : 255, {Lane::u16, 1, false}), lanes)});
      }
      if (pass.quads) {
        const Type quads{Lane::u32, lanes, false};
        return operation(Op::bit_and, quads,
                         {load(convert({Lane::u32, 1, true}, address(pointer, at)), integer(0), lanes),
                          broadcast(integer(255, {Lane::u32, 1, false}), lanes)});
      }
      i64 step = element_step(node.stage);
      const i64 apart = step * column.scale;
      // Columns of one row are taken from the same whole vectors, counted from the first column that the pass reads.
      if (apart > 1 && apart <= 32 && column.vars.empty()) {
        i64 behind = (column.offset - from_source.lo) * step + element_offset(node.stage);
        Value base = (x * column.scale + extent(column.shift) + from_source.lo) * step;
        return load(pointer, base + behind / apart * apart, lanes, apart, behind % apart);
      }
      if (column.vars.empty() && from_source.shifted.contains(column.offset)) {
        const i64 phase = column.offset - base::floor_divide(column.offset, i64{lanes}) * lanes;
        return load(pointer, x + extent(column.shift) + (column.offset - phase), lanes, 1, phase);
      }
      if (column.scale == 0) return broadcast(load(pointer, at * step + element_offset(node.stage), 1), lanes);
      return load(pointer, at * step + element_offset(node.stage), lanes, step * column.scale);
    };
    source.gather = [&](const ExprNode& node, const std::vector<Value>& indices) {
      auto place = place_of(plan_, interface_, node.stage);
      const ArrayRef& array = interface_.arrays[place->array];
      Value base = array_base(place->array);
      Type narrow{Lane::i32, lanes, false}, wide{Lane::i64, lanes, false};
      Value offset;
      for (std::size_t d = 0; d < indices.size(); ++d) {
        Value last = convert({Lane::i32, 1, false}, extent(stage(node.stage).domain[d]) - 1);
        Value i = operation(Op::max, narrow, {indices[d], broadcast(integer(0, {Lane::i32, 1, false}), lanes)});
        i = builder_->let("i", operation(Op::min, narrow, {i, broadcast(last, lanes)}));
        Value pitch = d + 1 == indices.size() ? integer(place->element_stride) : stride(array.strides + d);
        Value part = operation(Op::mul, wide, {convert(wide, i), broadcast(pitch, lanes)});
        offset = builder_->let("o", offset ? operation(Op::add, wide, {offset, part}) : part);
      }
      auto read = std::make_shared<ir::nest::Node>();
      read->kind = Kind::gather;
      read->type = {memory_lane(node.stage), lanes, false};
      read->args = {address(base, integer(place->offset)), offset};
      return Value(read);
    };
    source.leaf = [&](const ExprNode& node) -> Value {
      Type scalar{Lane::i32, 1, false};
      switch (node.op) {
        case Op::coord: {
          std::size_t d = static_cast<std::size_t>(node.ivalue);
          if (d + 1 < rank_) return broadcast(convert(scalar, index[d]), lanes);
          auto iota = std::make_shared<ir::nest::Node>();
          iota->kind = Kind::iota;
          iota->type = {Lane::i32, lanes, false};
          return operation(Op::add, iota->type, {broadcast(convert(scalar, x), lanes), Value(iota)});
        }
        case Op::extent: {
          const ir::Stage& owner = stage(pass.stages.front());
          return broadcast(convert(scalar, extent(owner.domain[static_cast<std::size_t>(node.ivalue)])), lanes);
        }
        case Op::value: {
          const auto place = place_of(plan_, interface_, node.stage);
          const Value at = address(array_base(place->array), integer(place->offset));
          return broadcast(load(typed(node.stage, at), integer(0), 1), lanes);
        }
        case Op::size:
          return broadcast(
              convert({Lane::f64, 1, false}, size_value(ir::SizeId{static_cast<std::uint32_t>(node.ivalue)})), lanes);
        case Op::parameter:
          return broadcast(convert(scalar, load(integers(), integer(node.ivalue), 1)), lanes);
        default: {
          Lane lane = ir::nest::lane_of(node.type);
          Value base = array_base(static_cast<std::size_t>(node.ivalue));
          return broadcast(load(convert({lane, 1, true}, base), integer(0), 1), lanes);
        }
      }
    };
    source.table = [&](std::size_t t) {
      return variable("tsr_table_" + std::to_string(t), {ir::nest::lane_of(graph.tables[t].type), 1, true});
    };
    PointEmitter emitter(graph, ranges_, *builder_, source);
    // What goes past the caches or not is stored together: a branch at every store would part the rows of a block,
    // whose chains of sums are to run beside each other.
    struct Result {
      Value to, at, out;
    };
    std::vector<Result> results;
    // (Not those of many stages, that have little in common but need registers until they are stored.)
    const std::size_t most_results =
        pass.stages.size() > 4 ? 1 : static_cast<std::size_t>(plan_.device.vector_registers) / 2;
    const auto store_results = [&] {
      if (results.empty()) return;
      const auto all = [&](bool past) {
        return [&, past] {
          for (const Result& r : results) builder_->store(r.to, r.at, r.out, past);
        };
      };
      builder_->branch(streaming, all(true), all(false));
      results.clear();
    };
    std::map<std::size_t, std::vector<Value>> parts;   // of rows that several pieces fill, by the first one's position
    std::map<std::size_t, std::vector<Value>> phases;  // of every fourth column
    std::map<std::size_t, Value> halves;  // even or odd columns that wait for the others, by position of the target
    emitter.emit(
        body.roots,
        [&](std::size_t root, const Value& v) {
          const std::size_t k = root % targets.size();
          StageId s = pass.stages[k % pass.stages.size()];
          auto store = [&](const Value& to, const Value& at, const Value& out) {
            if (!direct_result(s))
              builder_->store(to, at, out);
            else
              results.push_back({to, at, out->kind == Kind::variable ? out : builder_->let("v", out)});
            if (results.size() >= most_results) store_results();
          };
          if (pass.pairs) {
            Value half = builder_->let("v", emitter.stored(body.roots[root], v, Lane::u16));
            auto [other, first] = halves.try_emplace(k, half);
            if (first) return;
            const bool odd = root >= targets.size();
            const Value even = odd ? other->second : half, after = odd ? half : other->second;
            auto number = [&](i64 n) { return broadcast(integer(n, {Lane::u16, 1, false}), lanes); };
            Value low = operation(Op::bit_and, pairs, {even, number(255)});
            Value high = operation(Op::shl, pairs, {after, number(8)});
            store(convert({Lane::u16, 1, true}, address(targets[k].to, x)), integer(0),
                  builder_->let("both", operation(Op::bit_or, pairs, {low, high})));
            return;
          }
          if (pass.quads) {
            const Lane lane = memory_lane(s);
            std::vector<Value>& four = phases[k];
            four.resize(4);
            four[root / targets.size()] = builder_->let(
                "v", emitter.stored(body.roots[root], v, lane == Lane::f32 || lane == Lane::u32 ? lane : Lane::i32));
            if (std::count(four.begin(), four.end(), nullptr)) return;
            for (const auto& [column, out] : of_quads(four, lane))
              store(convert({out->type.lane, 1, true}, address(targets[k].to, x + column)), integer(0), out);
            return;
          }
          Value out = emitter.stored(body.roots[root], v, memory_lane(written(s)));
          const Target& target = targets[k];
          if (target.parts > 1) {
            std::vector<Value>& row = parts[target.first];
            row.resize(static_cast<std::size_t>(target.parts));
            row[static_cast<std::size_t>(target.part)] = builder_->let("v", out);
            if (!std::count(row.begin(), row.end(), nullptr)) store_interleaved(target.to, x, std::move(row));
            return;
          }
          store(target.to, x, out);
        },
        pass.quads ? byte_totals(p, sources, x) : PointEmitter::Values{});
    store_results();
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
        off = off ? operation(Op::bit_or, flag_type, {off, below}) : below;
      }
      if (point.margin_hi[d] > 0) {
        Value above = less(extent(point.domain[d]) - (1 + point.margin_hi[d]), index[d]);
        off = off ? operation(Op::bit_or, flag_type, {off, above}) : above;
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
  if ((plan.pad_lo > 0 || plan.pad_hi > 0) && !plan.periodic.back() && plan.pad.mode != BorderMode::none)
    builder_->call("tsr_pad",
                   {target, lo, hi, n, integer(plan.pad_lo), integer(plan.pad_hi),
                    integer(static_cast<i64>(plan.pad.mode)), integer(size), integer(border_bits(plan.pad, s))});
  if (!plan.also_array) return;
  const Region& own = own_.at(s);
  Value mine = integer(1, flag_type);
  for (std::size_t d = 0; d + 1 < rank_; ++d) {
    Value inside = operation(Op::bit_and, flag_type, {less(own.lo[d] - 1, index[d]), less(index[d], own.hi[d])});
    mine = d == 0 ? inside : operation(Op::bit_and, flag_type, {mine, inside});
  }
  builder_->branch(mine, [&] {
    auto place = place_of(plan_, interface_, s);
    const ArrayRef& array = interface_.arrays[place->array];
    Value offset = integer(place->offset) + own.lo[rank_ - 1] * place->element_stride;
    for (std::size_t d = 0; d + 1 < rank_; ++d) offset = offset + index[d] * stride(array.strides + d);
    builder_->call("tsr_copy_strided",
                   {address(array_base(place->array), offset), integer(place->element_stride),
                    address(target, own.lo[rank_ - 1] * size), own.hi[rank_ - 1] - own.lo[rank_ - 1], integer(size)});
  });
}

}  // namespace tessera::lower
