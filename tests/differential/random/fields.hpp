// Random graphs that compute every field of structs alike: see rewrite/fields.cpp.
#pragma once

#include "differential/case.hpp"

namespace tessera::differential {

// A random case whose arrays are structs of 2 to 4 equal fields where they were numbers, as its outputs are; every
// stage is there once for each field.
Case random_fields_case(std::uint64_t seed);

}  // namespace tessera::differential
