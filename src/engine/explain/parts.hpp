// What `explain` says of a program with Fourier transforms: the reports of its parts as one, with a group for every
// transform between them.
#pragma once

#include <functional>

#include "engine/sequence.hpp"
#include "explain/report.hpp"

namespace tessera::engine {

// `of_part`: the report of a program without transforms.
explain::Report report_in_parts(const ir::Graph&, const Sequence&, const std::vector<i64>& parameters,
                                const RunOptions&, const std::function<explain::Report(const Program::Impl&)>& of_part);

}  // namespace tessera::engine
