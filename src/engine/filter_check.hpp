// What a request for a filter must be before anything is compiled; and images continued by their borders.
#pragma once

#include <vector>

#include "tessera/filters.hpp"

namespace tessera::engine {

// Throws Error(argument) that names the option, the value that was given and what was expected.
void check_request(const FilterRequest&, const FilterInfo&, const Format&, int rank);

// Does it read beyond the image? Filters of frequencies do not: to them it is periodic.
bool has_border(const FilterInfo&);
bool is_masked(const FilterRequest&);  // points have certainties

// The image with `margin` more points at either end of each dimension, where its border gives what they are. On the
// device of the image. Throws Error(argument) for a constant that is no value of its type.
Array continued(const Array& image, const std::vector<Border>&, const std::vector<i64>& margin);

}  // namespace tessera::engine
