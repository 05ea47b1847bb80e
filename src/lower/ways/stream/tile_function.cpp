// See tile_function.hpp.
#include "lower/ways/stream/tile_function.hpp"

namespace tessera::lower {

using ir::StageId;
using ir::nest::integer;
using ir::nest::Value;

Value TileFunction::row_at(StageId s, const std::vector<Value>& at) const {
  if (!group.contains(s) || !group.in_ring(s)) return row_of_array(s, at);
  const Ring& ring = memory.rings.at(s);
  const Region& region = regions[group.pass_of(s)];
  i64 depth = group.plan_of(s).depth;
  Value offset;
  for (std::size_t d = 0; d + 1 < group.rank; ++d) {
    Value slot = at[d] - region.lo[d] + group.slack(s, d);
    if (d == 0 && depth > 0) slot = slot % depth;
    offset = offset ? offset + slot * ring.pitch[d] : slot * ring.pitch[d];
  }
  return address(ring.base, offset);
}

Value TileFunction::is_mine(StageId s, const std::vector<Value>& index) const {
  const Region& region = own.at(s);
  Value mine = integer(1, flag_type);
  for (std::size_t d = 0; d + 1 < group.rank; ++d) {
    Value inside = less(region.lo[d] - 1, index[d]) & less(index[d], region.hi[d]);
    mine = d == 0 ? inside : mine & inside;
  }
  return mine;
}

Value TileFunction::placed_row(StageId s, const std::vector<Value>& index) const {
  auto place = group.place(s);
  const ArrayRef& array = group.interface.arrays[place->array];
  Value offset = integer(place->offset) + own.at(s).lo[group.rank - 1] * place->element_stride;
  for (std::size_t d = 0; d + 1 < group.rank; ++d) offset = offset + index[d] * stride(array.strides + d);
  return address(array_base(place->array), offset);
}

}  // namespace tessera::lower
