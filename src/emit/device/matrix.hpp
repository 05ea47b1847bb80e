// What kernels of sums by matrix units (lower/ways/matrix_units/matrix_units.hpp) find in CUDA.
#pragma once

#include <string>

namespace tessera::emit {

std::string matrix_text();

}  // namespace tessera::emit
