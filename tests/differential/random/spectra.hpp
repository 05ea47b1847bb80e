// Random programs with Fourier transforms and with loops that test, as texts of the language.
#pragma once

#include "differential/case.hpp"

namespace tessera::differential {

// The same case for the same seed. Stencils are linear, so that what rounding leaves stays as small as it is;
// results are compared within the tolerance of spectra, those of programs without transforms bit for bit in `exact`.
Case random_spectra_case(std::uint64_t seed);

}  // namespace tessera::differential
