// Results of a pair of tiles beside which it has far larger numbers: ranges.cpp.
#pragma once

#include <string>
#include <utility>

#include "lower/ways/stream/tiles/pairs.hpp"

namespace tessera::lower {

class RangeCheck {
 public:
  using Value = ir::nest::Value;

  explicit RangeCheck(const PairWriter& pair)
      : pair_(pair),
        tile_(pair.tile()),
        builder_(pair.tile().builder),
        rank_(pair.tile().group.rank),
        t_(pair.transform()) {}

  // After the function of a pair: a flag, is there room for doubt? Null where nothing is looked at.
  Value doubtful_pair() const;
  // Of a pair in a plane, beside its spectrum: its energy, and what windows in it hold at least.
  void keep_range_of_plane(const Value& slot) const;
  // After two planes of results, which read all but the last and all but the first of the planes that are kept.
  std::pair<Value, Value> doubtful_planes(
      const std::function<Value(const Value& volume, const Value& along)>& slot) const;
  // Computes what is doubtful once more, without the numbers that are too large beside it.
  void narrow_ranges(const PairedTile (&parts)[2], const PairWriter::Index&, const Value& x0) const;

 private:
  using OfPlane = PairWriter::OfPlane;
  using EachPlane = std::function<void(const OfPlane&)>;

  Value range_call(const std::string& name, ir::nest::Type result, std::vector<Value> args) const;
  void range_step(const std::string& name, std::vector<Value> args) const;
  Value found_of_tile() const;
  Value far(const Value& energy, const Value& low) const;
  Value energy_of(const Value& found) const;
  Value is_sharp() const;
  Value sum_of_weights() const;
  Value low_of_windows() const;
  void level_of_pair(const EachPlane&, const Value& limits) const;
  void add_thin(const EachPlane&, const Value& to, const Value& most, const Value& n) const;

  const PairWriter& pair_;
  const TileFunction& tile_;
  Builder& builder_;
  const std::size_t rank_;
  const PlacedTransform& t_;
};

}  // namespace tessera::lower
