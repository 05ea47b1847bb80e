// Questions about expressions that several passes ask: what they cost, whether they use coordinates, how they read one
// row further down. Every walk is a loop over ir::postorder, never a recursion: a sum of a hundred thousand terms is as
// safe as a sum of two.
#pragma once

#include <vector>

#include "ir/graph.hpp"

namespace tessera::analyze {

// Rough price of computing an expression once per point, in vector instructions. Shared nodes count once; reductions
// count their body once per term.
double operation_count(const ir::Graph&, const std::vector<ir::ExprId>& roots);

// Instructions of a device's thread that computes it once, loads left out (see load_count): the same prices, but a
// product and the sum that takes it are one instruction, of floats where they may be `contracted`, a division by a
// power of two is a product, and an exponential of `fast` numbers is short.
double instruction_count(const ir::Graph&, const std::vector<ir::ExprId>& roots, bool contracted);

// Elements that computing it once reads, of images, at computed places and in tables; counted alike.
double load_count(const ir::Graph&, const std::vector<ir::ExprId>& roots);

// Does the expression read the index of its point (coord)?
bool uses_coordinates(const ir::Graph&, ir::ExprId);

// The body of a stage of the given rank as it reads at `rows` rows further down (dimension rank - 2). Hash-consing then
// shares what neighbouring rows have in common.
ir::ExprId shift_rows(ir::Graph&, ir::ExprId body, std::size_t rank, i64 rows);

// The same at `points` further along any dimension.
ir::ExprId shift_along(ir::Graph&, ir::ExprId body, std::size_t rank, std::size_t dimension, i64 points);

// The same at `columns` columns further along (dimension rank - 1).
ir::ExprId shift_columns(ir::Graph&, ir::ExprId body, std::size_t rank, i64 columns);

// The number of terms of a reduction node, 2^24 along every extent that is known at run time alone; 2^40 at most.
i64 term_count(const ir::ExprNode&);

// The same for prices: of an extent that is known at run time alone so many as are likely.
double assumed_terms(const ir::ExprNode&);

}  // namespace tessera::analyze
