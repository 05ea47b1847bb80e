// Sums over planes as well, computed through Fourier transforms of tiles of planes.
//
//   for every plane of results, for every pair of tiles in a row of them:
//     the pair is transformed in the planes that are read for the first time: in all at the first one, in one at every
//     other one; spectra stand in a ring
//     the sum of the products of these spectra with those of the weights is brought back (fft/tile.hpp)
//
// Sums over volumes as well march along the last of the outer dimensions; the pairs of the others are transformed for
// each of their volumes.
#include "lower/cpu_transform.hpp"
#include "lower/vocabulary.hpp"

namespace tessera::lower {

using ir::nest::integer;
using ir::nest::Lane;
using ir::nest::Value;
using ir::nest::variable;

// For the planes of weights in their order, those from `first` on along the dimension that is marched: their numbers
// and their places along it.
void GroupLowering::each_plane(const std::function<void(const Value& number, const Value& along)>& body,
                               const Value& first) {
  const Transform& t = *transform_;
  const i64 planes = t.sum.weights.extent[rank_ - 3];
  builder_->loop("volume", integer(0), integer(t.planes / planes), integer(1), [&](const Value& volume) {
    builder_->loop("along", first, integer(planes), integer(1), [&](const Value& along) {
      body(builder_->let("number", volume * planes + along), along);
    });
  });
}

// Where the plane lies that is multiplied by those weights for the plane of results at `index`.
GroupLowering::Plane GroupLowering::plane_at(const std::vector<Value>& index, const Value& number, const Value& along) {
  const plan::Convolution& sum = transform_->sum;
  const ArrayRef& array = interface_.arrays[place_of(plan_, interface_, sum.source)->array];
  const std::vector<ir::SizeId>& domain = stage(sum.source).domain;
  Plane plane;
  i64 below = 1;  // planes of weights for one step of a dimension
  for (std::size_t d = rank_ - 2; d-- > 0;) {
    const i64 extent_of_weights = sum.weights.extent[d];
    Value k = along;
    if (d + 3 < rank_) {
      k = ir::nest::operation(ir::Op::div, index_type, {number, integer(below)});
      k = ir::nest::operation(ir::Op::rem, index_type, {k, integer(extent_of_weights)});
    }
    below *= extent_of_weights;
    const Border& border = sum.border[d];
    const Value n = extent(domain[d]);
    Value i = builder_->let("plane", index[d] + k + sum.weights.lo[d]);
    if (border.mode != BorderMode::none && border.mode != BorderMode::clamp)
      i = builder_->let("plane", call_i64("tsr_map", {integer(static_cast<i64>(border.mode)), i, n}));
    if (border.mode == BorderMode::constant) {  // the slowest dimension decides, which comes last
      const Value out = less(i, integer(0)), bits = integer(border_bits(border, sum.source));
      plane.bits = plane.bits ? choose(out, bits, plane.bits) : bits;
      plane.outside = plane.outside ? ir::nest::operation(ir::Op::bit_or, flag_type, {plane.outside, out}) : out;
    }
    const Value part = call_i64("tsr_clamp", {i, integer(0), n - 1}) * stride(array.strides + d);
    plane.offset = plane.offset ? plane.offset + part : part;
  }
  plane.offset = builder_->let("offset", plane.offset);
  if (plane.outside) plane.outside = builder_->let("outside", plane.outside);
  if (plane.bits) plane.bits = builder_->let("bits", plane.bits);
  return plane;
}

// `since`: planes of results that the march has done; `pair`: the number of the pair in the tile.
void GroupLowering::pair_of_stacks(const std::vector<Value>& index, const Value& since, const Value& pair,
                                   const Value& x0) {
  const Transform& t = *transform_;
  const std::size_t march = rank_ - 3;
  const i64 planes = t.sum.weights.extent[march];
  const ArrayRef& array = interface_.arrays[place_of(plan_, interface_, t.sum.source)->array];
  const Value arguments = builder_->let("n", convert({Lane::i64, 1, true}, t.arguments));
  TilePart parts[2];
  for (i64 p = 0; p < 2; ++p) {
    parts[p] = part_of(p, index, x0);
    place_results(parts[p], index);
    builder_->store(arguments, integer(2 * p), parts[p].high);
    builder_->store(arguments, integer(2 * p + 1), parts[p].wide);
  }
  // What is asked for ahead: the next plane, where rows are read where they lie.
  const bool native = memory_lane(t.sum.source) == t.lane();
  const Value next = ir::nest::operation(ir::Op::div, index_type, {stride(array.strides + march), integer(t.size())});
  builder_->store(arguments, integer(4), native ? next : integer(0));
  builder_->store(arguments, integer(5), integer(t.planes));
  const auto numbers = [&](const Value& memory) { return convert({t.lane(), 1, true}, memory); };
  const auto rows = [](const Value& table) { return ir::nest::call("tsr_rows", bytes_pointer, {table}); };
  // Planes that stand in the ring since the plane of results before keep their places.
  const Value ring = builder_->let("ring", address(t.spectra, pair * (t.planes * t.spectrum_bytes())));
  const auto slot = [&](const Value& number, const Value& along) {
    const Value place = ir::nest::operation(ir::Op::rem, index_type, {since + along, integer(planes)});
    return builder_->let("slot", address(ring, (number - along + place) * t.spectrum_bytes()));
  };
  const Value known = builder_->let("known", choose(less(integer(0), since), integer(planes - 1), integer(0)));
  each_plane(
      [&](const Value& number, const Value& along) {
        const Plane plane = plane_at(index, number, along);
        for (const TilePart& part : parts) load_tile(part, x0, &plane);
        builder_->call(t.function + "_there",
                       {rows(t.from), numbers(slot(number, along)), numbers(t.numbers), arguments});
      },
      known);
  each_plane(
      [&](const Value& number, const Value& along) {
        builder_->call("tsr_set_row", {t.stack, number, slot(number, along)});
      },
      integer(0));
  builder_->call(t.function + "_back",
                 {rows(t.stack), rows(t.to), variable("tsr_table_" + std::to_string(t.spectrum), {t.lane(), 1, true}),
                  numbers(t.numbers), arguments});
  finish_pair(parts, index, x0);
}

}  // namespace tessera::lower
