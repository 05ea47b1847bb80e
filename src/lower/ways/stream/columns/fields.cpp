// One field of structs of three or four bytes, as lanes of 32 bits.
//
// Where a pass computes in 32 bits, bytes that are neighbours in memory are wanted four apart. Four fields lie so as
// they are: a shift and a mask. Three are brought there by two shuffles, the first of which (words, so that every 16
// bytes hold the four points that they are to become) all fields have in common, and zeros come with the second. Taking
// the bytes of one field together first, and widening them then, takes twice as many. (A picture of 3840 x 2160 points
// to grey: 1.43 ms on one core in place of 1.9.)
#include "lower/ways/stream/columns/fields.hpp"

#include <algorithm>

namespace tessera::lower {

using ir::StageId;
using ir::nest::integer;
using ir::nest::Lane;
using ir::nest::Type;
using ir::nest::Value;

void copy_fields(const PassOfTile& of, const std::vector<Value>& index, const Value& count,
                 const std::vector<Value>& rows) {
  const TileFunction& tile = of.tile;
  const StreamGroup& group = tile.group;
  Builder& b = tile.builder;
  const plan::Pass& pass = of.pass;
  for (const StageId s : pass.stages) {
    const std::vector<StageId> fields = group.leaving_with(s);
    if (fields.empty() || fields.front() != s) continue;
    const Region& own = tile.own.at(s);
    const Value first = own.lo[group.rank - 1];
    const i64 size = group.bytes(s);
    for (int r = 0; r < pass.rows; ++r) {
      std::vector<Value> at = index;
      at[pass.along] = at[pass.along] + r;
      where_due(b, static_cast<std::size_t>(r), count, [&] {
        b.branch(tile.is_mine(s, at), [&] {
          std::vector<Value> arguments{tile.placed_row(s, at)};
          for (const StageId f : fields) {
            const auto k = std::find(pass.stages.begin(), pass.stages.end(), f) - pass.stages.begin();
            arguments.push_back(address(
                rows[static_cast<std::size_t>(r) * pass.stages.size() + static_cast<std::size_t>(k)], first * size));
          }
          arguments.push_back(own.hi[group.rank - 1] - first);
          arguments.push_back(integer(size));
          b.call("tsr_copy_fields_" + std::to_string(fields.size()), arguments);
        });
      });
    }
  }
}

Value field_words(const Value& pointer, const Value& at, i64 field, i64 fields, int lanes) {
  const Type words{Lane::u32, lanes, false};
  if (fields == 3)
    return ir::nest::call("tsr_field_" + std::to_string(field) + "_of_3_u32x" + std::to_string(lanes), words,
                          {address(pointer, at)});
  Value v = load(convert({Lane::u32, 1, true}, address(pointer, at)), integer(0), lanes);
  if (field > 0) v = v >> 8 * field;
  return field < 3 ? v & 255 : v;
}

}  // namespace tessera::lower
