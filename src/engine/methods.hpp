// Methods that are asked for: whether a program has a sum that they can take (Method in tessera/program.hpp).
#pragma once

#include <memory>
#include <vector>

#include "plan/plan.hpp"
#include "tessera/program.hpp"

namespace tessera::engine {

// How the sums of all parts of the program are taken, in a run or in an emitted file. Plans, compiles nothing. `target`
// as RunOptions has it, or "c".
std::vector<rewrite::SumChoice> sums_of(const Program::Impl&, const RunOptions&, bool emitted = false);

// Throws Error(argument), which says why, where the method that is asked for takes none of the program's sums.
void check_method(const Program::Impl&, const RunOptions&, bool emitted = false);

// For Method::whole: the program with Fourier transforms in place of its sums, made once. Nothing for other methods,
// where there is no such sum, and for programs of parts and sections, which are asked one by one.
std::shared_ptr<const Program> whole_program(const Program::Impl&, const RunOptions&);

}  // namespace tessera::engine
