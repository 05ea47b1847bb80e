// The scratch memory of a tile's function: rings, what passes need beside them, what tiles of transforms work on.
//
// It is reserved twice, by the same text: once to add up its size (tsr_gK_scratch), where regions are not known, and
// once to be used.
#pragma once

#include <map>
#include <vector>

#include "lower/ways/stream/regions.hpp"
#include "lower/ways/stream/tiles/transform.hpp"

namespace tessera::lower {

// A stack of blocks, each behind the one before.
class ScratchStack {
 public:
  enum class Use { measured, written };
  ScratchStack(Builder& builder, Use use, bool guarded);

  // A block: where it begins, u8*, or, measured, its offset.
  ir::nest::Value reserve(const ir::nest::Value& bytes);
  bool is_measured() const { return use_ == Use::measured; }
  ir::nest::Value size() const { return top_ + 256; }
  const std::vector<ir::nest::Value>& guards() const { return guards_; }  // offsets of the gaps between blocks

 private:
  void guard();

  Builder& builder_;
  const Use use_;
  const bool guarded_;
  ir::nest::Value top_;
  std::vector<ir::nest::Value> guards_;
};

struct Ring {
  ir::nest::Value base;                // u8*: column 0 of slot 0
  ir::nest::Value first;               // of a pair of tiles: where its first column stands
  std::vector<ir::nest::Value> pitch;  // bytes between slots (dimension 0), rows of middle dimensions
};

struct Workspace {  // of a pass
  ir::nest::Value dump, patches, outputs;
  ir::nest::Value ends;   // rows of which the ends are patched by one call
  ir::nest::Value piece;  // of a whole image, copied
  ir::nest::Value bins;   // further ones of elements
  // By source and outer dimension, where the border is constant: column 0 of a row of border values.
  std::map<std::size_t, std::vector<ir::nest::Value>> constants;
};

struct Memory {
  std::map<ir::StageId, Ring> rings;
  std::vector<Workspace> work;  // by pass
  std::vector<PlacedTransform> transforms;
};

// `regions`: of passes; none where memory is measured.
Memory reserve_memory(const Declared&, const std::vector<PassBody>&, const std::vector<TileTransform>&,
                      const std::vector<Region>& regions, ScratchStack&);
// Bytes that the same takes.
ir::nest::Value memory_size(const Declared&, const std::vector<PassBody>&, const std::vector<TileTransform>&);

}  // namespace tessera::lower
