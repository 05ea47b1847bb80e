// Boundary modes: those that a call names, those that a border parameter holds, those that come from outside as text.
#pragma once

#include <string_view>
#include <vector>

#include "lang/context.hpp"
#include "lang/points.hpp"

namespace tessera::lang {

// One border per item; where a single name stands for a border parameter, all of those that it holds. `locals` may be
// null.
std::vector<Border> evaluate_modes(Context&, const Modes&, Locals* locals);
// Gives a border parameter its value, once; throws Failed when it is faulty.
const std::vector<Border>& resolve_border(Context&, Parameter&);

}  // namespace tessera::lang
