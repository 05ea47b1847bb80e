// One field of structs of three or four bytes, as lanes of 32 bits.
//
// Where a pass computes in 32 bits, bytes that are neighbours in memory are wanted four apart. Four fields lie so as
// they are: a shift and a mask. Three are brought there by two shuffles, the first of which (words, so that every 16
// bytes hold the four points that they are to become) all fields have in common, and zeros come with the second. Taking
// the bytes of one field together first, and widening them then, takes twice as many. (A picture of 3840 x 2160 points
// to grey: 1.43 ms on one core in place of 1.9.)
#include "lower/cpu.hpp"
#include "lower/vocabulary.hpp"

namespace tessera::lower {

using ir::Op;
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

// `at`: the first element of the first point.
Value GroupLowering::field_words(const Value& pointer, const Value& at, i64 field, i64 fields, int lanes) const {
  const Type words{Lane::u32, lanes, false};
  if (fields == 3)
    return ir::nest::call("tsr_field_" + std::to_string(field) + "_of_3_u32x" + std::to_string(lanes), words,
                          {address(pointer, at)});
  const auto number = [&](i64 n) { return broadcast(integer(n, {Lane::u32, 1, false}), lanes); };
  Value v = load(convert({Lane::u32, 1, true}, address(pointer, at)), integer(0), lanes);
  if (field > 0) v = operation(Op::shr, words, {v, number(8 * field)});
  return field < 3 ? operation(Op::bit_and, words, {v, number(255)}) : v;
}

}  // namespace tessera::lower
