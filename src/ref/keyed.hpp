// Keyed reductions, in the order that is their definition (ir/keyed.hpp).
#pragma once

#include <functional>
#include <vector>

#include "ir/graph.hpp"
#include "ir/keyed.hpp"
#include "ref/image.hpp"

namespace tessera::ref {

// One element: its value, and its keys by dimension.
struct KeyedElement {
  Element value;
  std::vector<double> keys;
};

// Bins of all pieces, as `partial` reads them: the image that a stage of elements is here. `extents`: of the bins.
void put_into_bins(const ir::Graph&, const ir::Keyed&, const std::vector<i64>& extents, const Shape& domain,
                   const std::function<KeyedElement(const std::vector<i64>&)>& element, bool sized, Image&);

// Bin number `bin` of all pieces together, in the type of `bins`.
Element bin_value(const ir::Graph&, const ir::ExprNode& bins, const Image&, i64 bin);

}  // namespace tessera::ref
