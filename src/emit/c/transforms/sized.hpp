// Fourier transforms of known extents in emitted C: the plan, the codes and the text of a run (fft/cpu/plan_cores.hpp),
// for each width of vectors that the file is for.
#pragma once

#include <string>
#include <vector>

#include "emit/c/c.hpp"
#include "fft/cpu/plan_cores.hpp"

namespace tessera::emit {

// The functions, each static i32 NAME(tessera_call*, const void* from, void* to), 0 where there is no memory; NAME is
// `sized_function_name`. Ahead of it stand the text of calls and of kept memory, and tsr_vector_float or _double, which
// says how wide vectors are (parts.cpp).
std::string sized_text(const std::vector<SizedOnCores>&);
std::string sized_function_name(const SizedOnCores&);

}  // namespace tessera::emit
