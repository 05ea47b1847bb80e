// Elements of arrays as doubles, which hold every element type exactly.
#pragma once

#include <cstddef>

#include "tessera/array.hpp"

namespace tessera {

// `p` may lie anywhere. Of booleans any byte but 0 is 1.
double load_element(ElementType, const std::byte* p);
// The value has to be one of the type; of floats it is rounded.
void store_element(ElementType, std::byte* p, double value);

}  // namespace tessera
