// See device_function.hpp.
#include "lower/device_function.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "analyze/footprint.hpp"
#include "ir/build.hpp"
#include "ir/reductions.hpp"

namespace tessera::lower {

using ir::ExprNode;
using ir::Op;
using ir::StageId;
using ir::nest::integer;
using ir::nest::Lane;
using ir::nest::operation;
using ir::nest::Type;
using ir::nest::Value;
using ir::nest::variable;

void DeviceFunction::finish(ir::nest::Function function, DeviceProgram& program) {
  for (std::size_t k = 0; k < kernel_.arrays.size(); ++k)
    function.parameters.push_back({"p" + std::to_string(k), bytes_pointer, false, false});
  function.parameters.push_back({"N", {Lane::i64, 1, true}, true, false});
  kernel_.function = program.module.functions.size();
  program.module.functions.push_back(std::move(function));
  program.kernels.push_back(std::move(kernel_));
}

Value DeviceFunction::host(const DeviceKernel::Integer& what) {
  auto found = std::find(kernel_.integers.begin(), kernel_.integers.end(), what);
  const i64 at = found - kernel_.integers.begin();
  if (found == kernel_.integers.end()) kernel_.integers.push_back(what);
  return load(integers(), integer(at), 1);
}

Value DeviceFunction::extent(ir::SizeId size) {
  if (auto constant = graph_.constant(size)) return integer(*constant);
  return host({Kind::size, size, 0, 0});
}

std::size_t DeviceFunction::position(std::size_t array) {
  auto found = std::find(kernel_.arrays.begin(), kernel_.arrays.end(), array);
  if (found != kernel_.arrays.end()) return static_cast<std::size_t>(found - kernel_.arrays.begin());
  kernel_.arrays.push_back(array);
  return kernel_.arrays.size() - 1;
}

Value DeviceFunction::base(std::size_t k) {
  return address(variable("p" + std::to_string(k), bytes_pointer), host({Kind::offset, {}, k, 0}));
}

ArrayPlace DeviceFunction::place(StageId s) const {
  auto found = place_of(plan_, interface_, s);
  if (!found) throw Error(ErrorClass::internal, fmt::format("stage {} has no array on the device", s));
  return *found;
}

Lane DeviceFunction::memory_lane(StageId s) const {
  const ir::Stage& stage = graph_.stage(s);
  if (stage.kind == ir::StageKind::input) return ir::nest::lane_of(stage.type);
  const auto found = place_of(plan_, interface_, s);
  const bool own = found && interface_.arrays[found->array].kind != ArrayRef::Kind::intermediate;
  return own ? ir::nest::lane_of(stage.type) : plan_.stages[s].lane;
}

Value DeviceFunction::row(StageId s, const std::vector<Value>& outer) {
  const ArrayPlace where = place(s);
  const std::size_t k = position(where.array);
  const std::size_t lead = interface_.arrays[where.array].extents.size() - outer.size() - 1;
  Value offset = integer(where.offset);
  for (std::size_t d = 0; d < outer.size(); ++d) offset = offset + outer[d] * host({Kind::stride, {}, k, d + lead});
  return address(base(k), offset);
}

Value DeviceFunction::element(StageId s, const std::vector<Value>& at) {
  Value from = row(s, {at.begin(), at.end() - 1});
  return convert({memory_lane(s), 1, true}, address(from, at.back() * place(s).element_stride));
}

Value DeviceFunction::read(StageId s, const std::vector<Value>& at) {
  return load(element(s, at), integer(0), 1);
}

Value DeviceFunction::lane_constant(double v, Lane lane) const {
  const Type type{lane, 1, false};
  return is_float(lane) ? ir::nest::real(v, type) : integer(static_cast<i64>(v), type);
}

Value DeviceFunction::border_value(double value, StageId s, Lane lane) const {
  return lane_constant(ir::evaluate(Op::convert, graph_.stage(s).type, ElementType::f64, &value), lane);
}

Value DeviceFunction::both(const Value& a, const Value& b) {
  return a ? a & b : b;
}

// Compilers bound how deeply brackets nest, OpenCL's by 256.
Value DeviceFunction::all_of(std::vector<Value> flags) {
  if (flags.empty()) return integer(1, flag_type);
  while (flags.size() > 1) {
    std::vector<Value> pairs;
    for (std::size_t k = 0; k + 1 < flags.size(); k += 2) pairs.push_back(flags[k] & flags[k + 1]);
    if (flags.size() % 2 != 0) pairs.push_back(flags.back());
    flags = std::move(pairs);
  }
  return flags.front();
}

Value DeviceFunction::end_of(std::size_t dimension) {
  return dimension == 0 ? host({Kind::last, {}, 0, 0}) : extent(kernel_.domain[dimension]);
}

Value DeviceFunction::first_of_block(std::size_t d, Value& block) {
  if (!block) block = builder_->let("block", call_i64("tsr_block", {}));
  Value at = block;
  if (d > 0) {
    Value n = host({Kind::blocks, {}, 0, d});
    Value rest = builder_->let("rest", call_i64("tsr_short_quotient", {block, n}));
    at = block - rest * n;
    block = rest;
  }
  at = at * kernel_.points[d];
  return builder_->let("first", d == 0 ? at + first_row() : at);
}

void DeviceFunction::reads(StageId producer, DeviceKernel::Reach reach) {
  reach.array = position(place(producer).array);
  reach.whole |= graph_.stage(producer).domain.size() != rank_;
  kernel_.reads.push_back(reach);
}

void DeviceFunction::reads_of(StageId s) {
  for (const analyze::Footprint& f : analyze::footprints(graph_, s)) {
    DeviceKernel::Reach reach;
    if (f.dims.empty() || f.dims.size() != rank_) {
      reach.whole = true;
    } else {
      const analyze::DimensionFootprint& rows = f.dims.front();
      reach.scale = rows.scale, reach.lo = rows.lo, reach.hi = rows.hi;
      reach.whole = rows.whole, reach.reflects = rows.reflects, reach.wraps = rows.wraps;
    }
    reads(f.producer, reach);
  }
}

void DeviceFunction::writes(StageId s, DeviceKernel::Reach reach) {
  reach.array = position(place(s).array);
  kernel_.writes.push_back(reach);
}

Value DeviceFunction::mapped_index(BorderMode mode, const Value& i, const Value& n, Value& off) {
  const Value at = builder_->let("i", i);
  const Value m = builder_->let("i", call_i64("tsr_map", {integer(static_cast<i64>(mode)), at, n}));
  if (mode != BorderMode::constant) return m;
  off = builder_->let("off", less(m, integer(0)));
  return builder_->let("i", call_i64("tsr_clamp", {at, integer(0), n - 1}));
}

BorderMode DeviceFunction::mode_of(const ExprNode& node, std::size_t d) const {
  const BorderMode mode = node.border[d].mode;
  return mode == BorderMode::none && clamps_ ? BorderMode::clamp : mode;
}

Value DeviceFunction::load_access(const ExprNode& node, const Vars& vars, bool mapped, const Read& from) {
  const auto& domain = graph_.stage(node.stage).domain;
  const std::size_t lead = rank_ - domain.size();
  std::vector<Value> at;
  std::vector<std::pair<Value, double>> outside;  // a flag and the value then
  for (std::size_t d = 0; d < domain.size(); ++d) {
    const ir::Index& index = node.index[d];
    Value i = index_[d + lead] * index.scale + extent(index.shift) + index.offset;
    for (auto [var, coefficient] : index.vars) i = i + vars.at(var) * coefficient;
    const BorderMode mode = mode_of(node, d);
    if (mapped && mode != BorderMode::none) {
      Value off;
      i = mapped_index(mode, i, extent(domain[d]), off);
      if (off) outside.emplace_back(off, node.border[d].value);
    }
    at.push_back(i);
  }
  Value v = from(node.stage, at);
  const Lane lane = memory_lane(node.stage);
  for (std::size_t k = outside.size(); k-- > 0;) {  // the slowest dimension decides
    v = builder_->let("v", v);
    v = choose(outside[k].first, border_value(outside[k].second, node.stage, lane), v);
  }
  return v;
}

Value DeviceFunction::without_margins(StageId s, const std::vector<Value>& at, const Value& v, Lane lane) {
  const ir::Stage& stage = graph_.stage(s);
  Value evaluated;
  for (std::size_t d = 0; d < rank_; ++d) {
    if (stage.margin_lo[d] > 0) evaluated = both(evaluated, less(integer(stage.margin_lo[d] - 1), at[d]));
    if (stage.margin_hi[d] > 0) evaluated = both(evaluated, less(at[d], extent(stage.domain[d]) - stage.margin_hi[d]));
  }
  if (!evaluated) return v;
  return choose(evaluated, builder_->let("v", v), lane_constant(0, lane));
}

std::vector<Value> DeviceFunction::place_in_whole(StageId s) {
  const plan::StagePlan& piece = plan_.stages[s];
  std::vector<Value> at;
  for (std::size_t d = 0; d < rank_; ++d)
    at.push_back(builder_->let("at", index_[d] * piece.stride[d] + piece.start[d]));
  return at;
}

Value DeviceFunction::composed_value(StageId s, Lane lane, const Read& from) {
  Value v = builder_->var("v", lane_constant(0, lane));
  for (const ir::Piece& piece : graph_.stage(s).pieces) {
    Value outer, here;  // leading dimensions are tested first: they are the same for all threads of a block
    std::vector<Value> at;
    for (std::size_t d = 0; d < rank_; ++d) {
      if (d + 2 == rank_) std::swap(outer, here);
      Value offset = builder_->let("offset", index_[d] - extent(piece.start[d]));
      Value j = offset;
      if (piece.stride[d] != 1) {
        j = builder_->let("j", call_i64("tsr_floor_div", {offset, integer(piece.stride[d])}));
        here = both(here, equal(j * piece.stride[d], offset));
      }
      here = both(here, both(less(integer(-1), j), less(j, extent(piece.count[d]))));
      at.push_back(j);
    }
    const auto assigned = [&] {
      if (!piece.stage) {
        builder_->assign(v, border_value(piece.value, s, lane));
        return;
      }
      const std::size_t lead = rank_ - graph_.stage(*piece.stage).domain.size();
      const std::vector<Value> own(at.begin() + static_cast<std::ptrdiff_t>(lead), at.end());
      builder_->assign(v, convert({lane, 1, false}, from(*piece.stage, own)));
    };
    if (outer)
      builder_->branch(outer, [&] { builder_->branch(here, assigned); });
    else
      builder_->branch(here, assigned);
  }
  return v;
}

// Within 0 and `last`. Indices of 32 bits, as nearly all are, take a third of the instructions of longer ones.
Value DeviceFunction::clamped_index(const Value& index, const Value& last) {
  const Type narrow{Lane::i32, 1, false};
  const Lane lane = index->type.lane;
  if (is_float(lane) || ir::nest::size_of(lane) > 4 || lane == Lane::u32)
    return call_i64("tsr_clamp", {convert(index_type, index), integer(0), last});
  const Value most = builder_->let("most", convert(narrow, min(last, integer(INT32_MAX))));
  const Value below = min(convert(narrow, index), most);
  return convert(index_type, max(below, 0));
}

Value DeviceFunction::gather(const ExprNode& node, const std::vector<Value>& indices) {
  std::vector<Value> at;
  for (std::size_t d = 0; d < indices.size(); ++d) {
    const Value last = extent(graph_.stage(node.stage).domain[d]) - 1;
    at.push_back(builder_->let("i", clamped_index(indices[d], last)));
  }
  return read(node.stage, at);
}

Value DeviceFunction::partial(const ExprNode& node, const Value& piece, const Value& bin) {
  // (Columns behind the last one, that nobody keeps, have no bin.)
  const Value last = extent(interface_.arrays[place(node.stage).array].extents.back()) - 1;
  return read(node.stage, {piece, builder_->let("i", clamped_index(bin, last))});
}

Value DeviceFunction::leaf(const ExprNode& node) {
  const Type narrow{Lane::i32, 1, false};
  const auto k = static_cast<std::size_t>(node.ivalue);
  switch (node.op) {
    case Op::coord:
      return convert(narrow, index_[k]);
    case Op::extent:
      return convert(narrow, extent(domain_[k]));
    case Op::value: {
      const Value at = address(base(position(place(node.stage).array)), integer(place(node.stage).offset));
      return load(convert({memory_lane(node.stage), 1, true}, at), integer(0), 1);
    }
    case Op::size:
      return convert({Lane::f64, 1, false}, extent(ir::SizeId{static_cast<std::uint32_t>(node.ivalue)}));
    case Op::parameter:
      return convert(narrow, extent(graph_.size_parameter(static_cast<std::uint32_t>(k))));
    default: {
      const Lane lane = ir::nest::lane_of(node.type);
      return load(convert({lane, 1, true}, base(position(k))), integer(0), 1);
    }
  }
}

// Element after element of a lane of a piece. Where the image lies without gaps an element's place is its number; else
// that is taken apart.
Value DeviceFunction::lane_of_piece(const ExprNode& node) {
  const ir::Stage& source = graph_.stage(node.stage);
  const std::size_t rank = source.domain.size(), array = position(place(node.stage).array);
  Value count = integer(1);
  for (const ir::SizeId n : source.domain) count = count * extent(n);
  count = builder_->let("count", count);
  const Value first = node.ivalue > 0 ? builder_->let("first", index_[0] * node.ivalue) : integer(0);
  const Value end = node.ivalue > 0 ? builder_->let("end", min(first + node.ivalue, count)) : count;
  const Lane lane = ir::nest::lane_of(node.type),
             wide = is_float(lane) || ir::nest::size_of(lane) >= least_bytes ? lane : Lane::i32;
  const Type type{wide, 1, false};
  const Value total = builder_->var("total", lane_constant(ir::first_of_lane(node.op, node.type), wide));
  const auto take = [&](const std::vector<Value>& at) {
    Value v = builder_->let("v", read(node.stage, at));
    if (source.type == ElementType::boolean) {
      const Value set = differs(convert(flag_type, v), 0);
      v = choose(set, integer(1, flag_type), integer(0, flag_type));
    }
    v = builder_->let("v", convert(type, v));
    builder_->assign(total, operation(ir::step_of_lane(node.op), type, {v, total}));
  };
  const auto all = [&](bool apart) {
    builder_->loop("k", first + index_[1], end, integer(ir::lanes_of_piece), [&](const Value& k) {
      std::vector<Value> at(rank, integer(0));
      at.back() = k;
      for (std::size_t d = rank; apart && d-- > 1;) {
        const Value n = extent(source.domain[d]), number = at[d];
        at[d - 1] = builder_->let("above", call_i64("tsr_floor_div", {number, n}));
        at[d] = builder_->let("at", number - at[d - 1] * n);
      }
      take(at);
    });
  };
  if (rank == 1 || (rank == 2 && graph_.constant(source.domain[0]) == 1)) {
    all(false);
    return total;
  }
  const Value gaps = has_gaps(
      graph_, source, place(node.stage).element_stride, [&](ir::SizeId n) { return extent(n); },
      [&](std::size_t d) { return host({Kind::stride, {}, array, d}); });
  builder_->branch(builder_->let("gaps", gaps), [&] { all(true); }, [&] { all(false); });
  return total;
}

Lane DeviceFunction::register_lane(StageId s) const {
  const Lane lane = memory_lane(s);
  return is_float(lane) || ir::nest::size_of(lane) >= least_bytes ? lane : Lane::i32;
}

PointSource DeviceFunction::point_source() {
  PointSource source;
  source.lanes = 1;
  source.least_bytes = least_bytes;
  source.fuses = contracted();
  source.own_quotients = contracted() && plan_.device.own_quotients;
  source.gather = [this](const ExprNode& node, const std::vector<Value>& indices) { return gather(node, indices); };
  source.partial = [this](const ExprNode& node, const Value& piece, const Value& bin) {
    return partial(node, piece, bin);
  };
  source.leaf = [this](const ExprNode& node) { return leaf(node); };
  source.lanes_of_piece = [this](const ExprNode& node) { return lane_of_piece(node); };
  source.table = [this](std::size_t t) {
    return variable("tsr_table_" + std::to_string(t), {ir::nest::lane_of(graph_.tables[t].type), 1, true});
  };
  source.extent = [this](ir::SizeId n) { return extent(n); };
  return source;
}

}  // namespace tessera::lower
