// What kernels of weighted sums through tiles have in common: the sum, how its image is continued, how a result is
// stored, and the sum of a point term by term, for tiles with what is not finite.
#pragma once

#include <string>
#include <vector>

#include "lower/device_function.hpp"
#include "rewrite/sums/tiles/tiles.hpp"

namespace tessera::lower {

class DeviceSum : protected DeviceFunction {
 protected:
  DeviceSum(plan::Plan&, const Interface&, analyze::Ranges&, std::size_t group, std::string name);
  ~DeviceSum() = default;

  ir::nest::Type number() const { return {lane_, 1, false}; }
  const std::vector<ir::SizeId>& source_domain() const { return graph_.stage(sum_.source).domain; }
  i64 lo(std::size_t d) const { return sum_.weights.lo[d]; }
  Value stride(ir::StageId);  // bytes between its rows
  std::vector<Value> place_of(const Value& y, const Value& x) const;
  Value taken(const Value& bytes);  // a number of the source, as tiles have it
  BorderMode mode_along(std::size_t d) const;
  Value border_of(std::size_t d) const;  // of a number of the source's type
  // Where a constant border stands, it takes the place of what was loaded; flags may be missing.
  Value bordered(Value v, const Value& left_or_right, const Value& above_or_below);
  // Is a sum of results finite?
  Value finite(const Value& total);
  void put(const Value& to, const std::vector<Value>& at, Value v);
  void sum_directly(const Value& weights, const Value& y, const Value& x);  // and stores it

  const ir::StageId stage_;
  rewrite::Convolution sum_;
  ir::nest::Lane lane_ = ir::nest::Lane::f32;  // of the tile
  bool rounded_ = false;                       // results are integers
  std::size_t down_ = 0, across_ = 1;
  std::vector<Value> first_;  // results of the tile, along every dimension
};

}  // namespace tessera::lower
