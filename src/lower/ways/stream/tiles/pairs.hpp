// Pairs of tiles of one sum that is computed through Fourier transforms: what they read, how they are transformed,
// where their results go. pairs.cpp, of sums over planes stack.cpp; ranges.cpp looks at what rounding spreads.
#pragma once

#include <functional>

#include "lower/ways/stream/tile_function.hpp"

namespace tessera::lower {

// One of the two tiles of a pair, which lie side by side; of two pairs in the planes of a stack.
struct PairedTile {
  using Value = ir::nest::Value;

  i64 number = 0;  // of the results
  i64 side() const { return number % 2; }
  Value x;               // the column of its first result
  Value there;           // a flag: does it lie in the image
  Value high, wide;      // rows and columns of results in the image: 0 where it does not
  Value r0, r1, c0, c1;  // those that are wanted, from its first one on
  Value wanted, whole;   // flags: are there any; are they all of them, stored where they belong at once
};

// A plane of the image, one of those that a sum over planes reads.
struct ReadPlane {
  ir::nest::Value offset, next;   // of its rows from those of plane 0, and from a plane to the next one, in bytes
  ir::nest::Value outside, bits;  // a flag: beyond a constant border; of that one. Null where no border can be meant
};

class PairWriter {
 public:
  using Value = ir::nest::Value;
  using Index = std::vector<Value>;  // of outer dimensions: where a row of tiles begins
  using OfPlane = std::function<void(const Value& volume, const Value& along)>;

  // `wanted`: results of the tile.
  PairWriter(const TileFunction& tile, const PlacedTransform& t, const Region& wanted)
      : tile_(tile), group_(tile.group), builder_(tile.builder), rank_(tile.group.rank), t_(t), wanted_(wanted) {}

  const PlacedTransform& transform() const { return t_; }
  const TileFunction& tile() const { return tile_; }

  // Where the rows that a row of tiles reads begin; those of stacks, in plane 0.
  void rows_of_tiles(const Index&) const;
  void pair_of_tiles(const Index&, const Value& x0) const;
  // `since`: planes of results that the march has done; `pair`: the number of the pair in the tile.
  void pair_of_stacks(const Index&, const Value& since, const Value& pair, const Value& x0) const;
  // Zeros, where the stage is not evaluated.
  void margins_of_tiles(const Index&) const;

  void load_tile(const PairedTile&, const Index&, const Value& x0, const ReadPlane* plane) const;
  // For the planes of every volume, from `first` to `end` along the dimension that is marched.
  void each_plane(const OfPlane& body, const Value& first, i64 end) const;
  // Where the plane lies that is number `along` of a volume, for the plane of results at `index`.
  ReadPlane plane_at(const Index& index, const Value& volume, const Value& along) const;

 private:
  PairedTile part_of(i64 number, const Index&, const Value& x0) const;
  PairedTile part_of_signal(PairedTile) const;
  void place_results(const PairedTile&, const Index&) const;
  void finish_pair(const PairedTile (&parts)[2], const Index&, const Value& x0, const Value& doubtful) const;
  Value is_finite(const PairedTile&) const;
  void clear_results(const PairedTile&) const;
  void sum_directly(const PairedTile&, const Value& first_weight) const;
  void copy_results(const PairedTile&, const Index&) const;

  const TileFunction& tile_;
  const StreamGroup& group_;
  Builder& builder_;
  const std::size_t rank_;
  const PlacedTransform& t_;
  const Region& wanted_;
};

// Tables of pointers to rows, as the functions of tiles take them.
inline ir::nest::Value rows_of(const ir::nest::Value& table) {
  return ir::nest::call("tsr_rows", bytes_pointer, {table});
}

}  // namespace tessera::lower
