// Sums over planes as well, computed through Fourier transforms of tiles of planes.
//
//   for every two planes of results, for every pair of tiles in a row of them:
//     the pair is transformed in the planes that are read for the first time: in all at the first ones, in two at all
//     others; spectra stand in a ring
//     the sums of the products of these spectra with those of the weights are brought back (fft/cpu/tile.hpp)
//
// Sums over volumes as well march along the last of the outer dimensions; the pairs of the others are transformed for
// each of their volumes.
#include "lower/ways/stream/tiles/pairs.hpp"
#include "lower/ways/stream/tiles/ranges.hpp"

namespace tessera::lower {

using ir::nest::integer;
using ir::nest::Lane;
using ir::nest::Value;

void PairWriter::each_plane(const OfPlane& body, const Value& first, i64 end) const {
  const PlacedTransform& t = t_;
  builder_.loop("volume", integer(0), integer(t.planes / t.along), integer(1), [&](const Value& volume) {
    builder_.loop("along", first, integer(end), integer(1), [&](const Value& along) { body(volume, along); });
  });
}

ReadPlane PairWriter::plane_at(const Index& index, const Value& volume, const Value& along) const {
  const rewrite::Convolution& sum = t_.sum;
  const ArrayRef& array = group_.interface.arrays[group_.place(sum.source)->array];
  const std::vector<ir::SizeId>& domain = group_.stage(sum.source).domain;
  ReadPlane plane;
  i64 below = 1;  // volumes for one step of a dimension
  for (std::size_t d = rank_ - 2; d-- > 0;) {
    const i64 extent_of_weights = sum.weights.extent[d];
    Value k = along;
    if (d + 3 < rank_) {
      k = volume / below % extent_of_weights;
      below *= extent_of_weights;
    }
    const Border& border = sum.border[d];
    const Value n = tile_.extent(domain[d]);
    Value i = builder_.let("plane", index[d] + k + sum.weights.lo[d]);
    if (border.mode != BorderMode::none && border.mode != BorderMode::clamp)
      i = builder_.let("plane", call_i64("tsr_map", {integer(static_cast<i64>(border.mode)), i, n}));
    if (border.mode == BorderMode::constant) {  // the slowest dimension decides, which comes last
      const Value out = less(i, integer(0)), bits = integer(group_.border_bits(border, sum.source));
      plane.bits = plane.bits ? choose(out, bits, plane.bits) : bits;
      plane.outside = plane.outside ? plane.outside | out : out;
    }
    const Value part = call_i64("tsr_clamp", {i, integer(0), n - 1}) * tile_.stride(array.strides + d);
    plane.offset = plane.offset ? plane.offset + part : part;
  }
  plane.offset = builder_.let("offset", plane.offset);
  plane.next = tile_.stride(array.strides + rank_ - 3);
  if (plane.outside) plane.outside = builder_.let("outside", plane.outside);
  if (plane.bits) plane.bits = builder_.let("bits", plane.bits);
  return plane;
}

void PairWriter::pair_of_stacks(const Index& index, const Value& since, const Value& pair, const Value& x0) const {
  const PlacedTransform& t = t_;
  const std::size_t march = rank_ - 3;
  const i64 count = t.along + 1;  // planes of a volume that two planes of results read
  const Value arguments = builder_.let("n", convert({Lane::i64, 1, true}, t.arguments));
  std::vector<Value> below = index;
  below[march] = builder_.let("z", index[march] + 1);
  const Value second = builder_.let("second", less(below[march], wanted_.hi[march]));
  PairedTile parts[2], others[2];  // of both planes
  for (i64 p = 0; p < 2; ++p) {
    parts[p] = others[p] = part_of(p, index, x0);
    others[p].number = 2 + p;
    place_results(parts[p], index);
    place_results(others[p], below);
    builder_.store(arguments, integer(2 * p), parts[p].high);
    builder_.store(arguments, integer(2 * p + 1), parts[p].wide);
  }
  const ArrayRef& array = group_.interface.arrays[group_.place(t.sum.source)->array];
  const Value next = tile_.stride(array.strides + march) / t.size();
  const bool native = group_.memory_lane(t.sum.source) == t.lane();
  builder_.store(arguments, integer(4), native ? next : integer(0));  // asked for ahead: the next plane
  builder_.store(arguments, integer(5), integer(t.planes / t.along));
  builder_.store(arguments, integer(6), integer(t.along));
  builder_.store(arguments, integer(7), choose(second, integer(1), integer(0)));
  const RangeCheck ranges(*this);
  // Planes that stand in the ring since the planes of results before keep their places.
  const Value ring = builder_.let("ring", address(t.spectra, pair * (t.lines() * t.spectrum_bytes())));
  const auto place = [&](const Value& volume, const Value& along) { return volume * count + (since + along) % count; };
  const auto slot = [&](const Value& volume, const Value& along) {
    return builder_.let("slot", address(ring, place(volume, along) * t.spectrum_bytes()));
  };
  const auto range = [&](const Value& volume, const Value& along) {
    return builder_.let("range", pair * t.lines() + place(volume, along));
  };
  const Value known = builder_.let("known", choose(less(integer(0), since), integer(count - 2), integer(0)));
  each_plane(
      [&](const Value& volume, const Value& along) {
        const ReadPlane plane = plane_at(index, volume, along);
        for (const PairedTile& part : parts) load_tile(part, index, x0, &plane);
        builder_.call(t.function + "_there",
                      {rows_of(t.from), t.numbers_at(slot(volume, along)), t.numbers_at(t.numbers), arguments});
        ranges.keep_range_of_plane(range(volume, along));
      },
      known, count);
  each_plane(
      [&](const Value& volume, const Value& along) {
        builder_.call("tsr_set_row", {t.stack, volume * count + along, slot(volume, along)});
      },
      integer(0), count);
  builder_.call(t.function + "_back",
                {rows_of(t.stack), rows_of(t.to), t.table(t.spectrum), t.numbers_at(t.numbers), arguments});
  const auto doubtful = ranges.doubtful_planes(range);
  finish_pair(parts, index, x0, doubtful.first);
  builder_.branch(second, [&] { finish_pair(others, below, x0, doubtful.second); });
}

}  // namespace tessera::lower
