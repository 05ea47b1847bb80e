// One field of structs of three or four bytes, as lanes of 32 bits.
//
// Where a pass computes in 32 bits, bytes that are neighbours in memory are wanted four apart. Four fields lie so as
// they are: a shift and a mask. Three are brought there by two shuffles, the first of which (words, so that every 16
// bytes hold the four points that they are to become) all fields have in common, and zeros come with the second. Taking
// the bytes of one field together first, and widening them then, takes twice as many. (A picture of 3840 x 2160 points
// to grey: 1.43 ms on one core in place of 1.9.)
#include <algorithm>

#include "lower/vocabulary.hpp"
#include "lower/ways/stream/group.hpp"

namespace tessera::lower {

using ir::StageId;
using ir::nest::integer;
using ir::nest::Lane;
using ir::nest::Type;
using ir::nest::Value;

bool GroupLowering::reads_words(std::size_t p, StageId s) const {
  constexpr int least_lanes = 8;  // shuffles of less have no instruction everywhere
  const plan::Pass& pass = group_.passes[p];
  const i64 step = element_step(s);
  return (step == 3 || step == 4) && stage(s).type == ElementType::u8 && memory_lane(s) == Lane::u8 && !pass.pairs &&
         !pass.quads && pass.lanes >= least_lanes && 4 * pass.lanes == plan_.device.vector_bytes;
}

// Columns behind the last one that a vector of them reads into.
i64 GroupLowering::beyond(std::size_t p, StageId s) const {
  const i64 step = element_step(s);
  if (step <= 1) return 0;
  return step == 3 && reads_words(p, s) ? (group_.passes[p].lanes + 2) / 3 : 1;
}

// All fields of an output, in order, where one pass computes them as rows of numbers that lie beside each other in its
// elements; else none. They are put together by one pass over their rows.
std::vector<StageId> GroupLowering::leaving_with(StageId s) const {
  constexpr std::size_t most = 4;
  const std::vector<StageId>& pass = group_.passes[pass_of(s)].stages;
  if (transformed() || group_.passes[pass_of(s)].kind != plan::PassKind::point) return {};
  for (const ir::Output& o : plan_.graph.outputs) {
    if (!o.format.is_struct() || !std::count(o.stages.begin(), o.stages.end(), s)) continue;
    const std::size_t fields = o.stages.size();
    const std::size_t size = size_of(stage(s).type);
    if (fields < 2 || fields > most || o.format.size() != fields * size) return {};
    for (std::size_t f = 0; f < fields; ++f) {
      const StageId of = o.stages[f];
      const plan::StagePlan& plan = plan_.stages[of];
      if (!std::count(pass.begin(), pass.end(), of) || std::count(o.stages.begin(), o.stages.end(), of) > 1) return {};
      if (plan.home != plan::Home::ring || !plan.also_array || o.format.fields[f].offset != f * size) return {};
      if (static_cast<std::size_t>(ir::nest::size_of(memory_lane(of))) != size) return {};
    }
    return o.stages;
  }
  return {};
}

// `rows`: of every row of the block those of all stages.
void GroupLowering::copy_fields(std::size_t p, const std::vector<Value>& index, const Value& count,
                                const std::vector<Value>& rows) {
  const plan::Pass& pass = group_.passes[p];
  for (const StageId s : pass.stages) {
    const std::vector<StageId> fields = leaving_with(s);
    if (fields.empty() || fields.front() != s) continue;
    const Region& own = own_.at(s);
    const Value first = own.lo[rank_ - 1];
    const i64 size = ir::nest::size_of(memory_lane(s));
    for (int r = 0; r < pass.rows; ++r) {
      std::vector<Value> at = index;
      at[pass.along] = at[pass.along] + r;
      const auto copy = [&] {
        builder_->branch(is_mine(s, at), [&] {
          std::vector<Value> arguments{placed_row(s, at)};
          for (const StageId f : fields) {
            const auto k = std::find(pass.stages.begin(), pass.stages.end(), f) - pass.stages.begin();
            arguments.push_back(address(
                rows[static_cast<std::size_t>(r) * pass.stages.size() + static_cast<std::size_t>(k)], first * size));
          }
          arguments.push_back(own.hi[rank_ - 1] - first);
          arguments.push_back(integer(size));
          builder_->call("tsr_copy_fields_" + std::to_string(fields.size()), arguments);
        });
      };
      if (r == 0)
        copy();
      else
        builder_->branch(less(integer(r), count), copy);
    }
  }
}

// `at`: the first element of the first point.
Value GroupLowering::field_words(const Value& pointer, const Value& at, i64 field, i64 fields, int lanes) const {
  const Type words{Lane::u32, lanes, false};
  if (fields == 3)
    return ir::nest::call("tsr_field_" + std::to_string(field) + "_of_3_u32x" + std::to_string(lanes), words,
                          {address(pointer, at)});
  Value v = load(convert({Lane::u32, 1, true}, address(pointer, at)), integer(0), lanes);
  if (field > 0) v = v >> 8 * field;
  return field < 3 ? v & 255 : v;
}

}  // namespace tessera::lower
