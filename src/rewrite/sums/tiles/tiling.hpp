// How a weighted sum is computed as a whole: through Fourier transforms of tiles (tiles.hpp) or by matrix units
// (matrix.hpp). That is said beside the graph: a stage has the number of what is said of it, Stage::note, and passes
// carry that along.
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/array.hpp"

namespace tessera::rewrite {

// Tiles of so many rows and columns, each of which gives high x wide points.
struct Tiling {
  i64 rows = 0, columns = 0, high = 0, wide = 0;
  // Of volumes: planes whose products are added, so many along one dimension; pairs of tiles that march together.
  i64 planes = 1, along = 1, pairs = 1;
  ElementType number = ElementType::f32;  // of tiles: sums of integers are rounded
  double nanoseconds = 0;                 // a point, predicted
  bool large = false;                     // of a device: spectra lie in memory between kernels
  // No transform: a sum of bytes by matrix units, and what the body makes of it. A block of threads has rows x columns
  // points.
  bool matrix = false;
  // No transform: a contraction (sums/contraction.hpp). Registers hold rows x columns of results.
  bool contraction = false;
  std::size_t row = 0;  // its index of the result that goes along these rows
};

class Tilings {
 public:
  // The number of a note. Not 0, which says nothing: a tiling without rows.
  std::uint32_t add(const Tiling& tiling) {
    all_.push_back(tiling);
    return static_cast<std::uint32_t>(all_.size() - 1);
  }
  const Tiling& at(std::uint32_t note) const { return all_.at(note); }

 private:
  std::vector<Tiling> all_{Tiling{}};
};

}  // namespace tessera::rewrite
