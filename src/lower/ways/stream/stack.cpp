// Sums over planes as well, computed through Fourier transforms of tiles of planes.
//
//   for every two planes of results, for every pair of tiles in a row of them:
//     the pair is transformed in the planes that are read for the first time: in all at the first ones, in two at all
//     others; spectra stand in a ring
//     the sums of the products of these spectra with those of the weights are brought back (fft/cpu/tile.hpp)
//
// Sums over volumes as well march along the last of the outer dimensions; the pairs of the others are transformed for
// each of their volumes.
#include "lower/vocabulary.hpp"
#include "lower/ways/stream/tiles.hpp"

namespace tessera::lower {

using ir::nest::integer;
using ir::nest::Lane;
using ir::nest::Value;
using ir::nest::variable;

// For the planes of every volume, from `first` to `end` along the dimension that is marched.
void GroupLowering::each_plane(const std::function<void(const Value& volume, const Value& along)>& body,
                               const Value& first, i64 end) {
  const Transform& t = *transform_;
  builder_->loop("volume", integer(0), integer(t.planes / t.along), integer(1), [&](const Value& volume) {
    builder_->loop("along", first, integer(end), integer(1), [&](const Value& along) { body(volume, along); });
  });
}

// Where the plane lies that is number `along` of a volume, for the plane of results at `index`.
GroupLowering::Plane GroupLowering::plane_at(const std::vector<Value>& index, const Value& volume, const Value& along) {
  const rewrite::Convolution& sum = transform_->sum;
  const ArrayRef& array = interface_.arrays[place_of(plan_, interface_, sum.source)->array];
  const std::vector<ir::SizeId>& domain = stage(sum.source).domain;
  Plane plane;
  i64 below = 1;  // volumes for one step of a dimension
  for (std::size_t d = rank_ - 2; d-- > 0;) {
    const i64 extent_of_weights = sum.weights.extent[d];
    Value k = along;
    if (d + 3 < rank_) {
      k = volume / below % extent_of_weights;
      below *= extent_of_weights;
    }
    const Border& border = sum.border[d];
    const Value n = extent(domain[d]);
    Value i = builder_->let("plane", index[d] + k + sum.weights.lo[d]);
    if (border.mode != BorderMode::none && border.mode != BorderMode::clamp)
      i = builder_->let("plane", call_i64("tsr_map", {integer(static_cast<i64>(border.mode)), i, n}));
    if (border.mode == BorderMode::constant) {  // the slowest dimension decides, which comes last
      const Value out = less(i, integer(0)), bits = integer(border_bits(border, sum.source));
      plane.bits = plane.bits ? choose(out, bits, plane.bits) : bits;
      plane.outside = plane.outside ? plane.outside | out : out;
    }
    const Value part = call_i64("tsr_clamp", {i, integer(0), n - 1}) * stride(array.strides + d);
    plane.offset = plane.offset ? plane.offset + part : part;
  }
  plane.offset = builder_->let("offset", plane.offset);
  plane.next = stride(array.strides + rank_ - 3);
  if (plane.outside) plane.outside = builder_->let("outside", plane.outside);
  if (plane.bits) plane.bits = builder_->let("bits", plane.bits);
  return plane;
}

// `since`: planes of results that the march has done; `pair`: the number of the pair in the tile.
void GroupLowering::pair_of_stacks(const std::vector<Value>& index, const Value& since, const Value& pair,
                                   const Value& x0) {
  const Transform& t = *transform_;
  const std::size_t march = rank_ - 3;
  const i64 count = t.along + 1;  // planes of a volume that two planes of results read
  const Value arguments = builder_->let("n", convert({Lane::i64, 1, true}, t.arguments));
  std::vector<Value> below = index;
  below[march] = builder_->let("z", index[march] + 1);
  const Value second = builder_->let("second", less(below[march], wanted_.hi[march]));
  TilePart parts[2], others[2];  // of both planes
  for (i64 p = 0; p < 2; ++p) {
    parts[p] = others[p] = part_of(p, index, x0);
    others[p].number = 2 + p;
    place_results(parts[p], index);
    place_results(others[p], below);
    builder_->store(arguments, integer(2 * p), parts[p].high);
    builder_->store(arguments, integer(2 * p + 1), parts[p].wide);
  }
  const ArrayRef& array = interface_.arrays[place_of(plan_, interface_, t.sum.source)->array];
  const Value next = stride(array.strides + march) / t.size();
  const bool native = memory_lane(t.sum.source) == t.lane();
  builder_->store(arguments, integer(4), native ? next : integer(0));  // asked for ahead: the next plane
  builder_->store(arguments, integer(5), integer(t.planes / t.along));
  builder_->store(arguments, integer(6), integer(t.along));
  builder_->store(arguments, integer(7), choose(second, integer(1), integer(0)));
  const auto numbers = [&](const Value& memory) { return convert({t.lane(), 1, true}, memory); };
  const auto rows = [](const Value& table) { return ir::nest::call("tsr_rows", bytes_pointer, {table}); };
  // Planes that stand in the ring since the planes of results before keep their places.
  const Value ring = builder_->let("ring", address(t.spectra, pair * (t.lines() * t.spectrum_bytes())));
  const auto place = [&](const Value& volume, const Value& along) { return volume * count + (since + along) % count; };
  const auto slot = [&](const Value& volume, const Value& along) {
    return builder_->let("slot", address(ring, place(volume, along) * t.spectrum_bytes()));
  };
  const auto range = [&](const Value& volume, const Value& along) {
    return builder_->let("range", pair * t.lines() + place(volume, along));
  };
  const Value known = builder_->let("known", choose(less(integer(0), since), integer(count - 2), integer(0)));
  each_plane(
      [&](const Value& volume, const Value& along) {
        const Plane plane = plane_at(index, volume, along);
        for (const TilePart& part : parts) load_tile(part, index, x0, &plane);
        builder_->call(t.function + "_there",
                       {rows(t.from), numbers(slot(volume, along)), numbers(t.numbers), arguments});
        keep_range_of_plane(range(volume, along));
      },
      known, count);
  each_plane(
      [&](const Value& volume, const Value& along) {
        builder_->call("tsr_set_row", {t.stack, volume * count + along, slot(volume, along)});
      },
      integer(0), count);
  builder_->call(t.function + "_back",
                 {rows(t.stack), rows(t.to), variable("tsr_table_" + std::to_string(t.spectrum), {t.lane(), 1, true}),
                  numbers(t.numbers), arguments});
  const auto doubtful = doubtful_planes(range);
  finish_pair(parts, index, x0, doubtful.first);
  builder_->branch(second, [&] { finish_pair(others, below, x0, doubtful.second); });
}

}  // namespace tessera::lower
