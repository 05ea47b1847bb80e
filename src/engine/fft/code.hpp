// Compiled passes and moves of transforms: each is one module, compiled at its first use in the process (or read from
// the disk cache) and kept until its end.
#pragma once

#include <string>

#include "fft/cpu/plan_cores.hpp"

namespace tessera::engine {

// The function, whose types follow from the code (fft/cpu/types.c.inc). Thread-safe. Throws what run::cpu::load throws.
template <class T>
void* code_function(const fft::Code&, const std::string& compiler);

}  // namespace tessera::engine
