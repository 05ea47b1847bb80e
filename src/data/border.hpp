// Border modes: their names and their index maps.
#pragma once

#include <string>
#include <string_view>

#include "tessera/array.hpp"
#include "tessera/border.hpp"

namespace tessera {

std::string_view name_of(BorderMode);  // "none", "clamped", "mirror", "symmetric", "wrap", "constant"

// The index inside [0, n) that stands for i, or -1 where mode constant or none takes no element. n >= 1.
// Right for any i, however far outside, and for n = 1.
i64 map_index(BorderMode mode, i64 i, i64 n);

// May constant(value) continue an image of this type: is it finite there, of integers whole and in their range? Floats
// round it.
bool continues(ElementType, double value);
// "expected a whole number from 0 to 255": what may.
std::string expected_constant(ElementType);

}  // namespace tessera
