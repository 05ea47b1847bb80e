// Long weighted sums of one image, which a plan takes through Fourier transforms of tiles: see docs/design/sums.md.
//
// Such a stage keeps its body, which is what it computes; a note says how (tiling.hpp). It is a group of its own.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "ir/graph.hpp"
#include "machine/machine.hpp"
#include "rewrite/sums/choice.hpp"
#include "rewrite/sums/tiles/tiling.hpp"
#include "rewrite/sums/weights.hpp"

namespace tessera::rewrite {

// The sum that a stage's whole body is: result(i) = sum of weights * source(i + offset).
struct Convolution {
  ir::StageId source = 0;
  std::vector<Border> border;  // one per dimension of the source
  Tensor weights;              // of as many dimensions
};
// Nothing where it is none that tiles can compute: of one image of the same rank and extents, read at fixed distances.
// Floats in `fast` numbers alone; integers in both, since their sums are rounded to what they are.
std::optional<Convolution> convolution_of(const ir::Graph&, const ir::Stage&, Numbers, std::size_t least_rank = 2);

// Is every point of the stage computed from images at the same point, and from nothing that tells where it is? Tiles
// may compute it while they are loaded, on images that are continued by the border of the sum.
bool is_prologue(const ir::Graph&, const ir::Stage&);

// Of a signal, whose tiles take parts of it as rows: row i of a pair of tiles begins 2 i `wide` results behind the
// first.
bool is_signal_tile(const ir::Graph&, const ir::Stage&, const Tiling&);

// The first of the stages that is computed through transforms: all of a group have tiles of one shape.
std::optional<ir::StageId> first_with_tiles(const ir::Graph&, const std::vector<ir::StageId>&);

class TransformedSums {
 public:
  // `assumed`: parameters, which the shapes of tiles in volumes and of small images follow: a tile is large against
  // these.
  TransformedSums(ir::Graph& graph, Numbers numbers, Method method, const machine::Machine& device,
                  const std::vector<i64>& assumed, std::vector<SumChoice>& choices, Tilings& tilings)
      : graph_(graph),
        numbers_(numbers),
        method_(method),
        device_(device),
        assumed_(assumed),
        choices_(choices),
        tilings_(tilings) {}

  // With Method::whole, whose stages are no tiles, a mark is no more than the numbers of the transform (whole.hpp).
  // Marks the stage, or adds stages for parts of its body, where a transform is the cheapest way or is asked for.
  // Unless `alone` the whole body is a part as well.
  void take(ir::Stage&, bool alone, std::vector<std::string>& remarks);

 private:
  // The stages whose sum the stage is, in tiles; none: it is computed directly. One: its body stays.
  std::vector<ir::Stage> marked(const ir::Stage&, std::vector<std::string>& remarks);
  bool mark_whole(ir::Stage&);
  ir::Stage part_of(const ir::Stage&, ir::ExprId body) const;
  ir::ExprId added(std::vector<ir::Stage>);
  bool of_device() const { return device_.row_threads > 0 || device_.large_tiles; }
  // Boxes along each dimension (boxes.cpp), the tiles of all of them and what they cost together.
  struct Cut {
    Offset counts;
    Tiling tiles;
    double nanoseconds;
  };
  std::optional<Cut> cut_of(const ir::Stage&, const Convolution&, double whole) const;
  std::vector<ir::Stage> boxes_of(const ir::Stage&, const Convolution&, const Cut&);
  // Whether rounding finds the sums of such tiles.
  bool fits(const ir::Stage&, const Convolution&, const Tiling&) const;
  Tiling tiles_of(const ir::Stage&, const Convolution&) const;
  Tiling tiles_of(const ir::Stage&, const Convolution&, ElementType number) const;
  Tiling tiles_of_device(const ir::Stage&, const Convolution&, ElementType number) const;

  ir::Graph& graph_;
  Numbers numbers_;
  Method method_;
  const machine::Machine& device_;
  const std::vector<i64>& assumed_;
  std::vector<SumChoice>& choices_;
  Tilings& tilings_;
  i64 steps_left_ = i64{1} << 25;  // what all searches together may take
};

}  // namespace tessera::rewrite
