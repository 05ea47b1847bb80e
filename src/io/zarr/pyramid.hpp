// The lower levels of a pyramid: each point is the mean of those of the level above that it stands for.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "io/regions/file.hpp"

namespace tessera::io::zarr {

// `to`: a region of the lower level that begins at `begin`. Along a dimension that is halved, point i is the mean of 2
// i and 2 i + 1; where an odd extent ends, of the one that is there. Integers are rounded half to even. `above` has to
// be the points that it is made of, from `begin` of the level above on; both in C order.
void halve(const Array& above, const Array& to, const std::vector<bool>& halved);

}  // namespace tessera::io::zarr
