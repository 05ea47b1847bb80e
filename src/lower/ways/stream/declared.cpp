// See declared.hpp.
#include "lower/ways/stream/declared.hpp"

#include <set>

namespace tessera::lower {

using ir::StageId;
using ir::nest::integer;
using ir::nest::Value;
using ir::nest::variable;

Value Declared::size_value(ir::SizeId s) const {
  const ir::SizeNode& node = group.graph.node(s);
  switch (node.op) {
    case ir::SizeOp::constant:
      return integer(node.value);
    case ir::SizeOp::parameter:
      return load(integers(), integer(node.value), 1);
    case ir::SizeOp::add:
      return size_value(node.a) + size_value(node.b);
    case ir::SizeOp::sub:
      return size_value(node.a) - size_value(node.b);
    case ir::SizeOp::mul:
      return size_value(node.a) * size_value(node.b);
    case ir::SizeOp::floor_div:
      return call_i64("tsr_floor_div", {size_value(node.a), integer(node.value)});
    case ir::SizeOp::min:
      return min(size_value(node.a), size_value(node.b));
    case ir::SizeOp::max:
      return max(size_value(node.a), size_value(node.b));
  }
  return integer(0);
}

Value Declared::extent(ir::SizeId s) const {
  auto it = extents_.find(s);
  return it != extents_.end() ? it->second : size_value(s);
}

void Declared::declare_extents(const std::vector<PassBody>& bodies) {
  auto declare = [&](ir::SizeId s) {
    if (!extents_.contains(s)) extents_[s] = builder.let("n", size_value(s));
  };
  for (StageId s : group.planned.stages) {
    for (ir::SizeId d : group.stage(s).domain) declare(d);
    for (StageId p : ir::sources(group.graph, s))
      for (ir::SizeId d : group.stage(p).domain) declare(d);
    for (const ir::Piece& piece : group.stage(s).pieces) {
      for (ir::SizeId d : piece.start) declare(d);
      for (ir::SizeId d : piece.count) declare(d);
    }
  }
  for (const PassBody& body : bodies)
    for (const PassBody::Source& source : body.sources) {
      declare(source.shift);
      for (const ir::Index& index : source.outer) declare(index.shift);
    }
}

void Declared::declare_arrays() {
  std::set<StageId> stages(group.planned.stages.begin(), group.planned.stages.end());
  for (StageId s : group.planned.stages)
    for (StageId p : ir::sources(group.graph, s)) stages.insert(p);
  for (StageId s : stages) {
    auto place = group.place(s);
    if (!place || bases_.contains(place->array)) continue;
    const ArrayRef& array = group.interface.arrays[place->array];
    bases_[place->array] = builder.let("array", array_base(place->array));
    for (std::size_t d = 0; d + 1 < array.extents.size(); ++d)
      strides_[array.strides + d] = builder.let("stride", stride(array.strides + d));
  }
}

Value Declared::array_base(std::size_t array) const {
  if (auto it = bases_.find(array); it != bases_.end()) return it->second;
  return ir::nest::call("tsr_array", bytes_pointer, {variable("P", bytes_pointer), integer(static_cast<i64>(array))});
}

Value Declared::stride(std::size_t position) const {
  if (auto it = strides_.find(position); it != strides_.end()) return it->second;
  return load(integers(), integer(static_cast<i64>(position)), 1);
}

// (Of the array's first field: where another one lies in an element, those who read it know.)
Value Declared::row_of_array(StageId s, const std::vector<Value>& outer) const {
  const std::size_t array = group.place(s)->array;
  Value offset = integer(0);
  for (std::size_t d = 0; d < outer.size(); ++d)
    offset = offset + outer[d] * stride(group.interface.arrays[array].strides + d);
  return address(array_base(array), offset);
}

}  // namespace tessera::lower
