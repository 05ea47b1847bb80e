// Integer sums of bytes by the matrix units of a device: which they are, and what they cost. See docs/design/sums.md
// and lower/ways/matrix_units/matrix_units.hpp.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/graph.hpp"
#include "machine/machine.hpp"
#include "rewrite/sums/choice.hpp"
#include "rewrite/sums/tiles/tiling.hpp"
#include "rewrite/sums/weights.hpp"

namespace tessera::rewrite {

// A sum within a body: of bytes of one image of the same extents, at fixed distances, in the last two dimensions. All
// weights are signed bytes or all are unsigned ones, in a box of at most 16 x 16 anywhere near the point.
struct MatrixSum {
  ir::ExprId sum;
  ir::StageId source = 0;
  std::vector<Border> border;  // one per dimension of the source
  Tensor weights;
  bool unsigned_weights = false;
};
constexpr i64 most_matrix_weights = 16;  // a side

// The one sum that a stage's body is made of, whose rest may be computed point by point. Nothing where something stands
// in the way.
std::optional<MatrixSum> matrix_sum_of(const ir::Graph&, const ir::Stage&);

class MatrixSums {
 public:
  MatrixSums(ir::Graph& graph, Method method, const machine::Machine& device, const std::vector<i64>& assumed,
             std::vector<SumChoice>& choices, Tilings& tilings)
      : graph_(graph), method_(method), device_(device), assumed_(assumed), choices_(choices), tilings_(tilings) {}

  // Marks the stage where it is such a sum and what is made of it; else adds stages for the sums in its body. `alone`:
  // its values are no fields of structs and no pieces of other stages.
  void take(ir::Stage&, bool alone, std::vector<std::string>& remarks);

 private:
  bool worth(const ir::Stage&, const MatrixSum&, ElementType result, SumChoice&) const;
  Tiling tiling(const ir::Stage&, double nanoseconds) const;

  ir::Graph& graph_;
  Method method_;
  const machine::Machine& device_;
  const std::vector<i64>& assumed_;
  std::vector<SumChoice>& choices_;
  Tilings& tilings_;
  i64 steps_left_ = i64{1} << 22;  // what reading all weights may take
};

}  // namespace tessera::rewrite
