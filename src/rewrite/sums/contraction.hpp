// Contractions: sums over products of two images, each of which has an index of the result that the other lacks. See
// docs/design/contractions.md.
//
//   C[i,j]   = sum k       A[i,k] * B[k,j]                 a matrix product
//   Y[o,y,x] = sum c, i, j W[o,c,i,j] * X[c,y+i-1,x+j-1]   a convolution layer
//
// Such a stage keeps its body; its note says that it is one (Tiling::contraction), and lowering reads it off the body
// again.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ir/graph.hpp"
#include "machine/machine.hpp"
#include "rewrite/sums/tiles/tiling.hpp"
#include "tessera/options.hpp"

namespace tessera::rewrite {

// offset + sum of coefficient * index of the result + sum of coefficient * variable
struct AffineIndex {
  i64 offset = 0;
  std::vector<std::pair<std::size_t, i64>> points;  // sorted, no zeros
  std::vector<std::pair<std::uint32_t, i64>> vars;  // sorted, no zeros
  bool moves_with(std::size_t point) const;
};

// A function of an image that is read at affine indices, and of numbers.
struct Factor {
  ir::ExprId read, value;  // what is read, with its borders; the function of it
  ir::StageId stage = 0;
  std::vector<AffineIndex> index;  // one per dimension of the image
  std::vector<Border> border;      // none is clamp: what is read lies inside
  bool moves_with(std::size_t point) const;
};

struct Contraction {
  ir::ExprId sum;
  std::vector<ir::Var> vars;            // in the order of the sum, the first one outermost
  Factor across;                        // reads along the result's columns
  Factor down;                          // does not
  std::size_t row = 0;                  // an index of the result that `down` has and `across` lacks
  ElementType type = ElementType::f32;  // of products and sum
  bool down_first = false;              // the order of the factors as they are written
};

// The only contraction of a stage, where the rest of its body can be computed point by point with it: it reads at the
// point itself, or at places that do not depend on the column. The graph may get expressions.
std::optional<Contraction> contraction_of(ir::Graph&, const ir::Stage&);

// A gather as ir::gather makes it, taken apart. The graph may get expressions.
std::optional<Factor> affine_read(ir::Graph&, ir::ExprId read, std::size_t rank);

// Marks stages that are contractions, and puts a stage in front of those that hold one among other things. Appends what
// it did to `remarks`, and to `tilings` what notes say.
void take_contractions(ir::Graph&, const machine::Machine&, const std::vector<i64>& assumed,
                       std::vector<std::string>& remarks, Tilings& tilings);

// How cores take it apart: registers hold `high` rows by `wide` columns of results.
struct ContractionTile {
  int lanes = 16, vectors = 2;
  i64 high = 8;
  i64 wide() const { return i64{lanes} * vectors; }
};
ContractionTile contraction_tile(const machine::Machine&, ElementType);

// Extents of a tile of the result, for cores: lower/ways/contraction writes the same arithmetic.
std::vector<i64> contraction_extents(const Tiling&, const std::vector<i64>& n, i64 threads);
// Its numbers: rows of a tile, panels of `wide` columns, and points of a tile's rows along the last other dimension.
constexpr i64 contraction_rows = 512, contraction_panels = 16, contraction_points = 2048;
// Panels that are packed together, so that finding a row is little against copying its part.
constexpr i64 contraction_together = 4;
// Terms of a sum that are taken at once: all, where these are no more than the first; else about so many.
constexpr i64 contraction_terms = 768, contraction_block = 384;

}  // namespace tessera::rewrite
