// See device_sum.hpp.
#include "lower/device_sum.hpp"

#include "ir/build.hpp"

namespace tessera::lower {

using ir::Op;
using ir::nest::integer;
using ir::nest::Lane;
using ir::nest::operation;
using ir::nest::Value;

DeviceSum::DeviceSum(plan::Plan& plan, const Interface& interface, analyze::Ranges& ranges, std::size_t group,
                     std::string name)
    : DeviceFunction(plan, interface, ranges, std::move(name)), stage_(plan.groups[group].anchor) {
  const ir::Stage& stage = graph_.stage(stage_);
  sum_ = rewrite::convolution_of(graph_, stage, plan_.options.numbers).value();
  lane_ = ir::nest::lane_of(plan_.tiling(stage_).number);
  rounded_ = !is_float(stage.type);
  domain_ = stage.domain;
  rank_ = stage.domain.size();
  down_ = rank_ - 2, across_ = rank_ - 1;
  kernel_.group = group;
  kernel_.stages = {stage_};
  first_.resize(rank_);
}

Value DeviceSum::stride(ir::StageId s) {
  const ArrayPlace where = place(s);
  const std::size_t lead = interface_.arrays[where.array].extents.size() - rank_;
  return host({Kind::stride, {}, position(where.array), down_ + lead});
}

std::vector<Value> DeviceSum::place_of(const Value& y, const Value& x) const {
  std::vector<Value> at(first_.begin(), first_.end());
  at[down_] = y, at[across_] = x;
  return at;
}

Value DeviceSum::taken(const Value& bytes) {
  return convert(number(), load(convert({memory_lane(sum_.source), 1, true}, bytes), integer(0), 1));
}

BorderMode DeviceSum::mode_along(std::size_t d) const {
  return sum_.border[d].mode == BorderMode::none ? BorderMode::clamp : sum_.border[d].mode;
}

Value DeviceSum::border_of(std::size_t d) const {
  const ElementType type = graph_.stage(sum_.source).type;
  const double value = ir::evaluate(Op::convert, type, ElementType::f64, &sum_.border[d].value);
  return lane_constant(value, lane_);
}

Value DeviceSum::bordered(Value v, const Value& left_or_right, const Value& above_or_below) {
  if (left_or_right) v = choose(left_or_right, border_of(across_), builder_->let("v", v));
  if (above_or_below) v = choose(above_or_below, border_of(down_), builder_->let("v", v));
  return v;
}

Value DeviceSum::finite(const Value& total) {
  const Value none = total - total;
  return equal(none, lane_constant(0, lane_));
}

void DeviceSum::put(const Value& to, const std::vector<Value>& at, Value v) {
  const Lane lane = memory_lane(stage_);
  if (rounded_) {
    const Value middle = lane_constant(lane_ == Lane::f64 ? 0x1.8p52 : 0x1.8p23, lane_);  // adds up to integers
    const Value sum = builder_->let("v", v + middle);
    v = convert(index_type, sum - middle);  // wider than what wraps around
  }
  builder_->store(convert({lane, 1, true}, to), integer(0),
                  without_margins(stage_, at, convert({lane, 1, false}, v), lane), true);
}

void DeviceSum::sum_directly(const Value& weights, const Value& y, const Value& x) {
  const rewrite::Tensor& w = sum_.weights;
  const Value total = builder_->var("total", lane_constant(0, lane_));
  builder_->loop("k", integer(0), integer(w.extent[down_]), integer(1), [&](const Value& k) {
    Value above;
    const Value row = mapped_index(mode_along(down_), y + k + lo(down_), extent(source_domain()[down_]), above);
    builder_->loop("l", integer(0), integer(w.extent[across_]), integer(1), [&](const Value& l) {
      const Value weight = builder_->let("w", load(weights, k * w.extent[across_] + l, 1));
      builder_->branch(differs(weight, lane_constant(0, lane_)), [&] {
        Value off;
        const Value at = mapped_index(mode_along(across_), x + l + lo(across_), extent(source_domain()[across_]), off);
        const Value v =
            bordered(taken(convert(ir::nest::bytes_pointer, element(sum_.source, place_of(row, at)))), off, above);
        builder_->assign(total, product_added(weight, v, total));
      });
    });
  });
  const std::vector<Value> at = place_of(y, x);
  put(convert(ir::nest::bytes_pointer, element(stage_, at)), at, total);
}

}  // namespace tessera::lower
