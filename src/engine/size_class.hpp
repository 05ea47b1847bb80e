// What size a program is planned for. Compiled code serves every size, and is planned for large images; but tiles of a
// transform that are large against a small image are mostly computed for nothing, matrix units wait longer than a small
// image takes term by term, and another method or another tile is the better one. So such programs are planned anew for
// sizes of a class, and compiled anew where that decides otherwise.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/plan.hpp"

namespace tessera::engine {

// The parameters that stand for all of a class; none for large images. On devices images are large where all their
// multiprocessors have enough to do.
enum class Where : std::uint8_t { cpu, device };
std::vector<i64> size_class(const ir::Graph&, const std::vector<i64>& parameters, Where = Where::cpu);

// The plan for a class; Options::parameters are the usual ones where it is that for large images.
plan::Plan plan_for_class(const ir::Graph&, plan::Options, const machine::Machine&, const std::vector<i64>& of_class);

}  // namespace tessera::engine
