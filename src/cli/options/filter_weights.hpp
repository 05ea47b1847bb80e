// Weights of a convolution as they are typed: `--kernel 1,2,1`, `--kernel '1,2,1; 2,4,2; 1,2,1'`.
#pragma once

#include <string>

#include "tessera/array.hpp"

namespace tessera::cli {

// One row, or rows with ';' between them, as doubles. Empty where the text is none of it: the name of a file. Throws
// Error(argument) for rows of different lengths, and for lists that are half numbers.
Array parse_weights(const std::string& option, const std::string& text);
// With more dimensions of extent 1 in front, up to this rank.
Array of_rank(const Array&, int rank);

}  // namespace tessera::cli
