// Which functions are the same: bytes that two functions have in common exactly if their texts are equal, names of the
// functions aside. Several times as fast to make as the text.
#pragma once

#include <string>

#include "ir/nest/nest.hpp"

namespace tessera::ir::nest {

std::string key_of(const Function&);

}  // namespace tessera::ir::nest
