// What `explain` says of a section with Fourier transforms: the reports of its parts as one, with a group for every
// transform between them.
#pragma once

#include <functional>

#include "engine/host/host_program.hpp"
#include "explain/report.hpp"

namespace tessera::engine {

// A section with transforms. `of_part`: the report of a program without any.
explain::Report report_in_parts(const HostProgram&, const lower::HostSection&, const std::vector<i64>& parameters,
                                const RunOptions&, const std::function<explain::Report(const Program::Impl&)>& of_part);

}  // namespace tessera::engine
