// What a request for a filter must be before anything is compiled; and images continued by their borders.
#pragma once

#include <optional>
#include <vector>

#include "tessera/filters.hpp"
#include "tessera/program.hpp"

namespace tessera::engine {

// Throws Error(argument) that names the option, the value that was given and what was expected.
void check_request(const FilterRequest&, const FilterInfo&, const Format&, int rank);

// Does it read beyond the image? Filters of frequencies do not: to them it is periodic.
bool has_border(const FilterInfo&);
bool is_masked(const FilterRequest&);  // points have certainties

// The border of every dimension: those that are given, or the usual one.
std::vector<Border> borders_of(const FilterRequest&, int rank);
// The type that a filter computes in, for images of this one.
ElementType arithmetic_of(const FilterRequest&, ElementType image);

// Scalars or the fields of structs in another type, which holds all values; on the device of the image.
Array in_type(const Array& image, ElementType);

// A region of an image of which this is a part, with `margin` more points at either end of each dimension, where its
// border gives what they are; in another type where one is given. On the device of the image. Constants continue() the
// type.
Array continued(const InputWindow& image, const std::vector<Border>&, const std::vector<i64>& margin, const Region&,
                std::optional<ElementType> type);
// The points of an image of this shape that such a region is made of: one at least.
Region read_by(const Region&, const std::vector<Border>&, const std::vector<i64>& margin, const Shape& image);

}  // namespace tessera::engine
