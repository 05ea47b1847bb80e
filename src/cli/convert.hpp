// One plane in another scalar type, its shape kept.
#pragma once

#include "io/samples.hpp"

namespace tessera::cli {

// Rounds half to even and clamps on the way to integers and adds to `lost` how many values did not fit. Shares the
// memory of `plane` when nothing has to change.
inline Array in_type(const Array& plane, ElementType type, i64& lost) {
  const Array flat = io::converted(plane, type, lost);
  return Array::share(flat.owner(), flat.data(), type, plane.shape());
}

}  // namespace tessera::cli
