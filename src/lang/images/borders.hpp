// Boundary modes: those that a call names, those that a border parameter holds, those that come from outside as text.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "lang/context.hpp"
#include "lang/points/points.hpp"

namespace tessera::lang {

// What names mean where the modes stand; may be empty.
using PrepareEvaluator = std::function<void(PointEvaluator&)>;
// One border per item; where a single name stands for a border parameter, all of those that it holds.
std::vector<Border> evaluate_modes(Context&, const Modes&, const PrepareEvaluator&);
// Gives a border parameter its value, once; throws Failed when it is faulty.
const std::vector<Border>& resolve_border(Context&, Parameter&);
// The border of an image of this type, which is called `name`: a constant is rounded to floats; one that is no value of
// the type is refused, as no read of the image could give it.
Border border_of(Context&, Span, Border, ElementType, std::string_view name);

}  // namespace tessera::lang
