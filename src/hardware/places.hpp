// Borders: what an access reads near the edges of its image, and how a circuit knows that it is there.
#pragma once

#include <optional>
#include <vector>

#include "hardware/grids.hpp"
#include "ir/graph.hpp"

namespace tessera::hardware {

// At one place of the consumer the access reads another point than its own.
struct Place {
  // The consumer's row (column) of the frame; or, as where `from_end`, how many of those that belong to the producer
  // are behind it (negative: it lies beyond them).
  bool from_end = false;
  i64 at = 0;
  // Points of the producer from the place where the access has its offset 0; nothing: a constant.
  std::optional<i64> offset;
  // Around the edge: beyond the row that is at hand. `turns`: so many rows of ticks on, where extents are given at run
  // time (of others, the offset says it).
  bool far = false;
  i64 turns = 0;
};

// Along one dimension of an access of `consumer`.
std::vector<Place> places_of(const ir::Graph&, const Grids&, ir::StageId consumer, const ir::ExprNode& access,
                             std::size_t dimension);

// How many points the last one that a consumer is computed at lies beyond the producer's, at offset 0, at the most.
i64 overhang(const Grids&, ir::StageId consumer, ir::StageId producer, std::size_t dimension, i64 scale);

}  // namespace tessera::hardware
