// Pointers to the rows that a block reads of one source.
//
// A few dozen are variables of their own, which compilers keep in registers. Those of a long window (a Gaussian of
// sigma 200 reads 1201 rows) are an array that a loop fills: as text they took half a minute to compile.
#include "lower/vocabulary.hpp"
#include "lower/ways/stream/group.hpp"

namespace tessera::lower {

using ir::StageId;
using ir::nest::integer;
using ir::nest::Type;
using ir::nest::Value;

GroupLowering::Pointers GroupLowering::source_rows(const PassBody::Source& source, StageId consumer,
                                                   const std::vector<Value>& index,
                                                   const std::vector<Value>& constant_rows) {
  Pointers pointers;
  const auto row = [&](const std::vector<Value>& offsets) {
    return typed(source.stage, source_row(source, offsets, consumer, index, constant_rows));
  };
  if (source.table.empty()) {
    pointers.direct.push_back(builder_->let("from", row({})));
    return pointers;
  }
  std::vector<Value> offsets(source.table.size());
  if (source.is_long()) {
    pointers.listed = builder_->array("listed", Type{memory_lane(source.stage), 1, true}, source.entries());
    std::function<void(std::size_t, const Value&)> nest = [&](std::size_t d, const Value& entry) {
      if (d == offsets.size()) {
        builder_->assign_element(pointers.listed, entry, row(offsets));
        return;
      }
      const auto [lo, hi] = source.table[d];
      builder_->loop("o", integer(lo), integer(hi + 1), integer(1), [&, lo = lo, hi = hi](const Value& o) {
        offsets[d] = o;
        nest(d + 1, entry * (hi - lo + 1) + (o - lo));
      });
    };
    nest(0, integer(0));
    return pointers;
  }
  std::vector<i64> at;
  for (auto [lo, hi] : source.table) at.push_back(lo);
  for (i64 e = 0; e < source.entries(); ++e) {
    for (std::size_t d = 0; d < at.size(); ++d) offsets[d] = integer(at[d]);
    pointers.direct.push_back(builder_->let("from", row(offsets)));
    for (std::size_t d = at.size(); d-- > 0;) {
      if (++at[d] <= source.table[d].second) break;
      at[d] = source.table[d].first;
    }
  }
  return pointers;
}

}  // namespace tessera::lower
