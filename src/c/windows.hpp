// What a point of an output depends on, as the JSON of tsr_locality.
#pragma once

#include <string>
#include <vector>

#include "tessera/program.hpp"

namespace tessera::c {

std::string locality_json(const std::vector<Locality>&, const Program&);  // one of every output

}  // namespace tessera::c
