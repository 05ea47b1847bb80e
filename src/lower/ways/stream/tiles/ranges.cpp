// Results of a pair of tiles beside which it has far larger numbers: rounding spreads a part of these over all of both
// tiles, which is more than those results may err by.
//
//   is there room for doubt? (what the tile's function found on its way, and rows here and there)
//     the largest number of every window
//     as long as the largest one of a window is too small beside what was read:
//       the pair once more, without the numbers that are larger than any in such windows, for the results of these
//     results of windows of zeros: 0
//
// The steps are functions of the emitted text (emit/c/ranges.cpp). What is decided follows from the numbers of the pair
// alone, whatever part of its results is wanted, so that a point is the same in every region.
#include "lower/ways/stream/tiles/ranges.hpp"

#include <algorithm>

namespace tessera::lower {

using ir::nest::integer;
using ir::nest::Lane;
using ir::nest::Value;

namespace {

// Each leaves out numbers that are some 20 times smaller: more than there are from the largest to the least number.
constexpr i64 most_levels = 512;
constexpr i64 pointer_bytes = 8;
// Of a point, as if windows of bytes held 16 or nothing: with less than 1 they hold nothing.
constexpr double energy_of_bytes = 256;
constexpr ir::nest::Type number{Lane::f64, 1, false};

Value bits(const Value& memory, Lane lane) {
  return convert({lane == Lane::f64 ? Lane::i64 : Lane::i32, 1, true}, memory);
}

}  // namespace

Value RangeCheck::range_call(const std::string& name, ir::nest::Type result, std::vector<Value> args) const {
  return ir::nest::call("tsr_range_" + name + (t_.lane() == Lane::f64 ? "_f64" : "_f32"), result, std::move(args));
}

void RangeCheck::range_step(const std::string& name, std::vector<Value> args) const {
  const std::string full = range_call(name, flag_type, {})->name;
  builder_.call(full, std::move(args));
}

// What a tile's function found on its way (fft/cpu/tile.hpp).
Value RangeCheck::found_of_tile() const {
  const PlacedTransform& t = t_;
  return builder_.let("found",
                      address(t.numbers_at(t.numbers), integer(fft::tile_scratch(t.tile) - 2 * t.tile.vector.lanes)));
}

// Are numbers of that energy too large beside windows whose largest one is no less than `low`?
Value RangeCheck::far(const Value& energy, const Value& low) const {
  const PlacedTransform& t = t_;
  return range_call("far", flag_type, {energy, low, integer(t.tile.columns * t.rows)});
}

Value RangeCheck::doubtful_pair() const {
  const PlacedTransform& t = t_;
  if (!t.ranged()) return {};
  const i64 lanes = t.tile.vector.lanes;
  const Value found = found_of_tile();
  const Value count = integer(t.tile.columns * t.rows);
  const Value all = builder_.let("energy", range_call("energy", number, {found, integer(lanes)}));
  if (t.tile.rows == 1) {
    const double bytes = t.bytes ? energy_of_bytes * static_cast<double>(t.tile.columns) : 0;
    const Value doubtful = builder_.var(
        "doubtful", range_call("doubtful", flag_type,
                               {found, integer(lanes), integer(t.tile.columns), ir::nest::real(bytes, number)}));
    if (!t.sharp()) return doubtful;
    builder_.branch(is_sharp(), [&] {
      const Value results =
          range_call("result", number, {t.to, integer(t.rows), convert({Lane::i64, 1, true}, t.arguments)});
      const Value share = results / convert(number, sum_of_weights());
      builder_.assign(doubtful, doubtful | range_call("thin", flag_type, {all, share, count}));
    });
    return doubtful;
  }
  const Value energy = energy_of(all);
  const Value least = builder_.let("least", range_call("least", number, {found, integer(lanes), sum_of_weights()}));
  const Value doubtful = builder_.var("doubtful", far(energy, least));
  builder_.branch(doubtful, [&] {
    const Value low = low_of_windows();
    builder_.assign(doubtful, far(energy, low));
    if (t.sharp())
      builder_.branch(is_sharp(), [&] {
        builder_.assign(doubtful, doubtful | range_call("thin", flag_type, {all, least, count}));
      });
  });
  return doubtful;
}

// What windows of a tile hold at least, by their largest numbers.
Value RangeCheck::low_of_windows() const {
  const rewrite::Tensor& w = t_.sum.weights;
  return range_call("low", number,
                    {t_.from, integer(t_.rows), integer(t_.tile.columns), integer(w.extent[rank_ - 2]),
                     integer(w.extent[rank_ - 1]), bits(t_.two_lines, t_.lane())});
}

// Of bytes, whose range bounds what rounding leaves, windows of zeros alone are looked for.
Value RangeCheck::energy_of(const Value& found) const {
  const PlacedTransform& t = t_;
  if (!t.bytes) return found;
  return ir::nest::real(energy_of_bytes * static_cast<double>(t.tile.columns * t.rows), number);
}

// A flag behind the weights and their sum.
Value RangeCheck::is_sharp() const {
  const PlacedTransform& t = t_;
  const Value weights = t.table(t.weights);
  const Value flag = load(weights, integer(static_cast<i64>(t.sum.weights.at.size()) + 1), 1);
  return differs(flag, ir::nest::real(0, {t.lane(), 1, false}));
}

Value RangeCheck::sum_of_weights() const {
  const PlacedTransform& t = t_;
  const Value weights = t.table(t.weights);
  return builder_.let("all", load(weights, integer(static_cast<i64>(t.sum.weights.at.size())), 1));
}

void RangeCheck::keep_range_of_plane(const Value& slot) const {
  const PlacedTransform& t = t_;
  if (!t.ranged()) return;
  const Value ranges = builder_.let("ranges", convert({Lane::f64, 1, true}, t.energies));
  builder_.store(ranges, slot * 2,
                 energy_of(range_call("energy", number, {found_of_tile(), integer(t.tile.vector.lanes)})));
  builder_.store(ranges, slot * 2 + 1, low_of_windows());
}

std::pair<Value, Value> RangeCheck::doubtful_planes(
    const std::function<Value(const Value& volume, const Value& along)>& slot) const {
  const PlacedTransform& t = t_;
  if (!t.ranged()) return {};
  const Value ranges = builder_.let("ranges", convert({Lane::f64, 1, true}, t.energies));
  Value energy[2], low[2], flags[2];
  for (i64 s = 0; s < 2; ++s) {
    energy[s] = builder_.var("energy", ir::nest::real(0, number)),
    low[s] = builder_.var("low", ir::nest::real(0, number));
    pair_.each_plane(
        [&](const Value& volume, const Value& along) {
          const Value at = slot(volume, along + s);
          const auto larger = [&](const Value& so_far, const Value& place) {
            builder_.assign(so_far, range_call("larger_of", number, {so_far, load(ranges, place, 1)}));
          };
          larger(energy[s], at * 2);
          larger(low[s], at * 2 + 1);
        },
        integer(0), t.along);
  }
  const Value least = builder_.let(
      "least", range_call("least", number, {found_of_tile(), integer(t.tile.vector.lanes), sum_of_weights()}));
  for (i64 s = 0; s < 2; ++s) {
    flags[s] = builder_.var("doubtful", far(energy[s], least) & far(energy[s], low[s]));
    if (t.sharp())
      builder_.branch(is_sharp(), [&] {
        const Value thin = range_call("thin", flag_type, {energy[s], least, integer(t.tile.columns * t.rows)});
        builder_.assign(flags[s], flags[s] | thin);
      });
  }
  return {flags[0], flags[1]};
}

void RangeCheck::narrow_ranges(const PairedTile (&parts)[2], const PairWriter::Index& index, const Value& x0) const {
  const PlacedTransform& t = t_;
  const rewrite::Tensor& w = t.sum.weights;
  const Value rows = integer(t.rows), columns = integer(t.tile.columns), alone = integer(t.tile.rows == 1 ? 1 : 0);
  const Value k0 = integer(w.extent[rank_ - 2]), k1 = integer(w.extent[rank_ - 1]);
  const Value most = builder_.let("most", bits(t.most, t.lane())), lines = bits(t.two_lines, t.lane());
  const Value limits = builder_.let("limits", bits(t.limits, t.lane()));
  const Value squares = builder_.let("squares", convert({Lane::f64, 1, true}, t.squares));
  const Value n = builder_.let("n", convert({Lane::i64, 1, true}, t.arguments));
  // Results of the pair, and those of a level.
  const i64 first = (parts[0].number - parts[0].side()) * t.rows * pointer_bytes;
  const Value to = address(t.to, integer(first));
  const auto planes = [&](const OfPlane& body) {
    if (!t.stacked()) return body(integer(0), integer(0));
    pair_.each_plane(
        [&](const Value& volume, const Value& along) {
          const ReadPlane plane = pair_.plane_at(index, volume, along);
          for (const PairedTile& part : parts) pair_.load_tile(part, index, x0, &plane);
          body(volume, along);
        },
        integer(0), t.along);
  };
  const auto further = [&](const Value& volume, const Value& along) {
    return t.stacked() ? builder_.let("more", volume + along) : integer(0);
  };
  planes([&](const Value& volume, const Value& along) {
    range_step("most", {t.from, rows * 2, columns, most, further(volume, along)});
  });
  for (i64 tile = 0; tile < 2; ++tile)
    range_step("slide", {address(most, integer(tile * t.rows * t.tile.columns)), rows, columns, k0, k1, lines});
  range_step("first", {most, rows, columns, alone, limits});
  if (!t.bytes) {
    const Value more = builder_.var("more", integer(1, flag_type));
    builder_.loop("k", integer(0), integer(most_levels), integer(1), [&](const Value&) {
      builder_.branch(more, [&] {
        planes([&](const Value& volume, const Value& along) {
          range_step("squares", {t.from, rows, columns, alone, limits, squares, further(volume, along)});
        });
        builder_.assign(more, range_call("next", flag_type, {most, rows, columns, n, alone, limits, squares}));
        builder_.branch(more, [&] {
          range_step("rows", {t.level_to, t.level, rows * (t.stacked() ? 4 : 2), columns});
          level_of_pair(planes, limits);
          range_step("keep", {to, t.level_to, rows, columns, most, n, alone, limits});
        });
      });
    });
  }
  range_step("clear", {to, rows, columns, most, n});
  if (!t.sharp()) return;
  builder_.branch(is_sharp(), [&] {
    const Value thin =
        builder_.let("thin", range_call("mark", flag_type, {to, rows, columns, most, n, sum_of_weights()}));
    builder_.branch(thin, [&] {
      if (!t.stacked())
        for (const PairedTile& part : parts) pair_.load_tile(part, index, x0, nullptr);  // once more as it was
      add_thin(planes, to, most, n);
    });
  });
}

// Sums up directly what is marked.
void RangeCheck::add_thin(const EachPlane& planes, const Value& to, const Value& most, const Value& n) const {
  const PlacedTransform& t = t_;
  const rewrite::Tensor& w = t.sum.weights;
  planes([&](const Value& volume, const Value& along) {
    const Value of_plane = address(t.table(t.weights), (volume * t.along + along) * t.weights_of_plane);
    range_step("add", {t.from, to, integer(t.rows), integer(t.tile.columns), most, n, of_plane,
                       integer(w.extent[rank_ - 2]), integer(w.extent[rank_ - 1])});
  });
}

// The pair without what is above the limits, to the rows of a level.
void RangeCheck::level_of_pair(const EachPlane& planes, const Value& limits) const {
  const PlacedTransform& t = t_;
  const Value n = builder_.let("n", convert({Lane::i64, 1, true}, t.arguments));
  const Value rows = integer(t.rows), columns = integer(t.tile.columns), alone = integer(t.tile.rows == 1 ? 1 : 0);
  const Value spectrum = t.table(t.spectrum);
  planes([&](const Value& volume, const Value& along) {
    range_step("mask", {t.from, t.loaded, rows, columns, alone, limits});
    if (!t.stacked()) return;
    const Value line = builder_.let("line", volume * (t.along + 1) + along);
    const Value slot = builder_.let("slot", address(t.level_spectra, line * t.spectrum_bytes()));
    builder_.call(t.function + "_there", {rows_of(t.from), t.numbers_at(slot), t.numbers_at(t.numbers), n});
    builder_.call("tsr_set_row", {t.stack, line, slot});
    // The second plane of results is not wanted, but reads all the same.
    builder_.call("tsr_set_row", {t.stack, line + 1, slot});
  });
  if (!t.stacked()) {
    builder_.call(t.function, {rows_of(t.from), rows_of(t.level_to), spectrum, t.numbers_at(t.numbers), n});
    return;
  }
  const Value second = builder_.let("second", load(n, integer(7), 1));
  builder_.store(n, integer(7), integer(0));
  builder_.call(t.function + "_back", {rows_of(t.stack), rows_of(t.level_to), spectrum, t.numbers_at(t.numbers), n});
  builder_.store(n, integer(7), second);
}

}  // namespace tessera::lower
