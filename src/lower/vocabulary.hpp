// The types, calls and tables that all parts of a group's function are written with.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "ir/graph.hpp"
#include "ir/nest/builder.hpp"

namespace tessera::lower {

using ir::nest::Builder;
using ir::nest::bytes_pointer;
using ir::nest::call_i64;
using ir::nest::choose;
using ir::nest::flag_type;
using ir::nest::index_type;

// N and T of the function; interface.hpp says what stands in them.
inline ir::nest::Value integers() {
  return ir::nest::variable("N", {ir::nest::Lane::i64, 1, true});
}
inline ir::nest::Value tile_shape() {
  return ir::nest::variable("T", {ir::nest::Lane::i64, 1, true});
}

// a * b + c: of floats in one step.
inline ir::nest::Value product_added(const ir::nest::Value& a, const ir::nest::Value& b, const ir::nest::Value& c) {
  return is_float(c->type.lane) ? ir::nest::fused(a, b, c) : c + a * b;
}

// Do rows, planes and volumes of a stage in memory leave gaps between them? A flag; extents and strides, in bytes, come
// from the function that is made.
template <class Extent, class Stride>
ir::nest::Value has_gaps(const ir::Graph& graph, const ir::Stage& stage, i64 element_stride, Extent&& extent,
                         Stride&& stride) {
  using ir::nest::integer;
  ir::nest::Value gaps = integer(0, flag_type), below = integer(element_stride);
  for (std::size_t d = stage.domain.size(); d-- > 0;) {
    const ir::nest::Value n = extent(stage.domain[d]);
    if (d + 1 < stage.domain.size() && graph.constant(stage.domain[d]) != 1) {
      const ir::nest::Value apart = differs(stride(d), below);
      gaps = gaps | (less(integer(1), n) & apart);
    }
    below = below * n;
  }
  return gaps;
}

}  // namespace tessera::lower
