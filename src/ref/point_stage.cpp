// See point_stage.hpp.
#include "ref/point_stage.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/process/deadline.hpp"
#include "data/element.hpp"
#include "ir/build.hpp"
#include "ir/reductions.hpp"
#include "ref/whole.hpp"

namespace tessera::ref {

using ir::Op;

PointStage::PointStage(const ir::Graph& g, const std::vector<i64>& parameters, const std::vector<Array>& arguments,
                       const std::vector<Image>& images, const ir::Stage& stage, const Shape& shape, Rounding of_sums,
                       bool sized)
    : g_(g),
      parameters_(parameters),
      arguments_(arguments),
      images_(images),
      stage_(stage),
      shape_(shape),
      of_sums_(of_sums),
      sized_(sized),
      code_(compile(g, stage.body)),
      slots_(code_.slot_count),
      sizes_(sized ? code_.slot_count : 0) {
  prepare();
  result_ = code_.blocks[0].empty() ? 0 : code_.blocks[0].back().result;
}

Element PointStage::at(const std::vector<i64>& i) {
  point_ = &i;
  run(0);
  const double v = slots_[result_];
  return {std::isnan(v) ? one_nan : v, sized_ ? sizes_[result_].most() : 0};
}

// Operands of the body: the value, then a key and an extent for every dimension.
KeyedElement PointStage::keyed_at(const std::vector<i64>& i) {
  KeyedElement e;
  e.value = at(i);
  const std::vector<std::uint32_t>& operands = code_.blocks[0].back().operands;
  for (std::size_t k = 1; k < operands.size(); k += 2) e.keys.push_back(slots_[operands[k]]);
  return e;
}

// Leaves that are the same at every point are computed once; accesses get their bases and border values.
void PointStage::prepare() {
  for (auto& block : code_.blocks) {
    std::erase_if(block, [&](const Instruction& in) {
      const auto v = fixed(g_.node(in.expr));
      if (v) slots_[in.result] = *v;
      if (v && sized_) sizes_[in.result] = fixed_size(g_.node(in.expr), *v);
      return v.has_value() && in.expr != stage_.body;
    });
    for (const Instruction& in : block) {
      const ir::ExprNode& n = g_.node(in.expr);
      if (n.op == Op::access || n.op == Op::gather) refuse_empty(n);
      if (n.op != Op::access) continue;
      Read& read = reads_[in.result];
      for (std::size_t d = 0; d < n.index.size(); ++d) {
        read.base.push_back(g_.evaluate(n.index[d].shift, parameters_) + n.index[d].offset);
        read.outside.push_back(ir::evaluate(Op::convert, n.type, ElementType::f64, &n.border[d].value));
      }
    }
  }
}

std::optional<double> PointStage::fixed(const ir::ExprNode& n) const {
  const auto at = static_cast<std::size_t>(n.ivalue);
  switch (n.op) {
    case Op::constant:
      return is_float(n.type) ? n.fvalue : static_cast<double>(n.ivalue);
    case Op::extent:
      return static_cast<std::int32_t>(shape_[at]);
    case Op::parameter:
      return static_cast<std::int32_t>(parameters_[at]);
    case Op::scalar:
      return load_element(n.type, static_cast<const std::byte*>(arguments_[at].data()));
    case Op::value:
      return images_[n.stage].value(0);
    case Op::size:
      return static_cast<double>(g_.evaluate(ir::SizeId{static_cast<std::uint32_t>(n.ivalue)}, parameters_));
    default:
      return std::nullopt;
  }
}

void PointStage::refuse_empty(const ir::ExprNode& n) const {
  const Image& image = images_[n.stage];
  for (std::size_t d = 0; d < image.shape.size(); ++d)
    if (image.shape[d] == 0 && (n.op == Op::gather || n.border[d].mode != BorderMode::constant))
      throw Error(ErrorClass::argument, fmt::format("'{}' reads '{}', which is empty ({})", stage_.name,
                                                    g_.stage(n.stage).name, to_string(image.shape)));
}

void PointStage::run(std::uint32_t block) {
  base::count_towards_deadline();
  for (const Instruction& in : code_.blocks[block]) {
    base::count_towards_deadline();
    slots_[in.result] = value(in);
    if (sized_) sizes_[in.result] = size(in);
  }
}

Size PointStage::fixed_size(const ir::ExprNode& n, double v) const {
  return n.op == Op::value ? image_size(images_[n.stage].size(0)) : known_size(v);
}

Size PointStage::size(const Instruction& in) const {
  const ir::ExprNode& n = g_.node(in.expr);
  const double v = slots_[in.result];
  if (n.op == Op::access || n.op == Op::gather) {
    if (place_ < 0) return known_size(v);  // of a constant border
    const double most = images_[n.stage].size(place_);
    return image_size(tessera::size_of(g_.stage(n.stage).type) == 1 ? std::max(most, size_of_byte) : most);
  }
  if (ir::is_reduction(n.op)) return reduced_;
  if (n.op == Op::bins) return image_size(bin_value(g_, n, images_[n.stage], flat(shape_, *point_)).size);
  if (n.op == Op::partial) return image_size(images_[n.stage].size(place_of_partial(in)));
  if (ir::is_into(n.op)) return sizes_[in.operands[0]];
  if (ir::is_whole(n.op) || ir::is_lanes(n.op)) return whole_size(n, images_[n.stage]);
  if (n.op == Op::lookup) {
    const bool known = std::all_of(in.operands.begin(), in.operands.end(), [&](auto k) { return sizes_[k].known; });
    return known ? known_size(v) : image_size(std::abs(v));
  }
  if (in.operands.empty()) return n.op == Op::value ? fixed_size(n, v) : known_size(v);
  double operands[3] = {};
  Size of[3];
  for (std::size_t k = 0; k < in.operands.size(); ++k)
    operands[k] = slots_[in.operands[k]], of[k] = sizes_[in.operands[k]];
  return operation_size(n.op, n.type, g_.node(n.args.back()).type, operands, of, in.operands.size(), v);
}

void PointStage::add_size(const ir::ExprNode& n, bool first, double so_far, Size& total, double term,
                          const Size& of_term) {
  if (first)
    total = of_term;
  else if (n.op == Op::reduce_sum)
    total = sum_of(total, of_term);
  else if (n.op == Op::reduce_prod)
    total = product_of(so_far, total, term, of_term);
  else
    total = larger_of(total, of_term);
}

double PointStage::value(const Instruction& in) {
  const ir::ExprNode& n = g_.node(in.expr);
  switch (n.op) {
    case Op::access:
      return read(n, reads_.at(in.result));
    case Op::gather:
      return gather(n, in);
    case Op::lookup:
      return lookup(n, in);
    case Op::coord:
      return static_cast<std::int32_t>((*point_)[static_cast<std::size_t>(n.ivalue)]);
    case Op::var:
      return static_cast<double>(vars_[static_cast<std::uint32_t>(n.ivalue)]);
    case Op::constant:
    case Op::extent:
    case Op::parameter:
    case Op::scalar:
    case Op::value:
    case Op::size:
      return *fixed(n);
    default:
      break;
  }
  if (ir::is_whole(n.op)) return whole_value(n, images_[n.stage]);
  if (ir::is_into(n.op)) return slots_[in.operands[0]];
  if (n.op == Op::bins) return bin_value(g_, n, images_[n.stage], flat(shape_, *point_)).value;
  if (n.op == Op::partial) return images_[n.stage].value(place_of_partial(in));
  if (ir::is_lanes(n.op)) {
    const std::vector<double>& all = images_[n.stage].values;
    const i64 count = static_cast<i64>(all.size()), length = n.ivalue > 0 ? n.ivalue : count;
    const i64 first = std::min((*point_)[0] * length, count);
    return lane_of_piece(n.op, n.type, all, first + (*point_)[1], std::min(first + length, count));
  }
  if (ir::is_reduction(n.op)) return reduce(n, in);
  double operands[3] = {};
  for (std::size_t k = 0; k < in.operands.size(); ++k) operands[k] = slots_[in.operands[k]];
  return ir::evaluate(n.op, n.type, g_.node(n.args.back()).type, operands);
}

double PointStage::read(const ir::ExprNode& n, const Read& read) {
  const Image& image = images_[n.stage];
  const std::size_t rank = image.shape.size(), own = point_->size();
  i64 flat_index = 0;
  place_ = -1;
  for (std::size_t d = 0; d < rank; ++d) {
    const ir::Index& index = n.index[d];
    i64 i = read.base[d];
    if (index.scale != 0) i += index.scale * (*point_)[d + own - rank];
    for (const auto& [v, c] : index.vars) i += c * vars_[v];
    const i64 extent = image.shape[d];
    if (i < 0 || i >= extent) {
      if (n.border[d].mode == BorderMode::none)
        throw Error(ErrorClass::internal,
                    fmt::format("'{}' reads '{}' at index {} of dimension {}, outside of 0..{}, without a border",
                                stage_.name, g_.stage(n.stage).name, i, d, extent - 1));
      if (n.border[d].mode == BorderMode::constant) return read.outside[d];
      i = map_index(n.border[d].mode, i, extent);
    }
    flat_index = flat_index * extent + i;
  }
  place_ = flat_index;
  const double v = image.value(flat_index);
  place_ = flat_index;  // (what was asked for asked others)
  return v;
}

i64 PointStage::place_of_partial(const Instruction& in) const {
  const Image& image = images_[g_.node(in.expr).stage];
  return static_cast<i64>(slots_[in.operands[0]]) * image.shape[1] + static_cast<i64>(slots_[in.operands[1]]);
}

double PointStage::gather(const ir::ExprNode& n, const Instruction& in) {
  const Image& image = images_[n.stage];
  place_ = static_cast<i64>(clamped(image.shape, in));
  return image.value(place_);
}

double PointStage::lookup(const ir::ExprNode& n, const Instruction& in) const {
  const ir::Table& table = g_.tables[static_cast<std::size_t>(n.ivalue)];
  const double v = table.values[clamped(table.extents, in)];
  return is_float(table.type) ? v : v + 0.0;  // integers have no -0
}

std::size_t PointStage::clamped(const std::vector<i64>& extents, const Instruction& in) const {
  i64 at = 0;
  for (std::size_t d = 0; d < extents.size(); ++d)
    at = at * extents[d] + std::clamp<i64>(static_cast<i64>(slots_[in.operands[d]]), 0, extents[d] - 1);
  return static_cast<std::size_t>(at);
}

double PointStage::reduce(const ir::ExprNode& n, const Instruction& in) {
  std::vector<i64> lo, hi;
  for (const ir::Var& v : n.vars) {
    lo.push_back(v.lo);
    hi.push_back(v.end == ir::SizeId{} ? v.hi + 1 : g_.evaluate(v.end, parameters_));
  }
  std::vector<double> window;  // of a median, of a rank
  std::vector<i64> k = lo;
  const bool once = of_sums_ == Rounding::once && n.op == Op::reduce_sum && n.type == ElementType::f32;
  const ElementType steps = once ? ElementType::f64 : n.type;
  double sum = 0, least = 0;
  Size total;
  bool first = true, picked = false;
  do {
    for (std::size_t d = 0; d < k.size(); ++d) vars_[n.vars[d].id] = k[d];
    run(in.block);
    const double term = slots_[in.operands[0]];
    if (sized_) add_size(n, first, sum, total, term, sizes_[in.operands[n.op == Op::reduce_pick ? 2 : 0]]);
    if (n.op == Op::reduce_median || n.op == Op::reduce_rank) {
      window.push_back(term);
    } else if (n.op == Op::reduce_pick) {
      const bool better = !picked || (!std::isnan(term) && (std::isnan(least) || term < least));
      if (slots_[in.operands[1]] != 0 && better) picked = true, least = term, sum = slots_[in.operands[2]];
    } else {
      const double both[2] = {sum, term};
      sum = first ? term : ir::evaluate(ir::step_of(n.op), steps, steps, both);
    }
    first = false;
  } while (next(k, lo, hi));
  reduced_ = total;
  if (once) return ir::evaluate(Op::convert, n.type, steps, &sum);
  if (n.op != Op::reduce_median && n.op != Op::reduce_rank) return sum;
  for (const double v : window)
    if (std::isnan(v)) return v;
  const auto last = static_cast<i64>(window.size()) - 1;
  const i64 rank = n.op == Op::reduce_median ? last / 2 : static_cast<i64>(slots_[in.operands[1]]);
  const auto at = window.begin() + std::clamp<i64>(rank, 0, last);
  std::nth_element(window.begin(), at, window.end());
  return *at + 0.0;  // -0 and 0 are equal: either may stand there
}

}  // namespace tessera::ref
