// Runs over several devices by windows of the results, where slabs of rows cannot be had: of host programs without
// what takes whole images, and of results with fewer rows than there are devices.
#pragma once

#include <vector>

#include "engine/program_impl.hpp"

namespace tessera::engine {

// Into `outputs`, from arrays of the host. False: slabs do, or there are no windows, and nothing has run.
bool run_in_windows(const Program&, const std::vector<Array>& inputs, const std::vector<Array>& outputs,
                    const RunOptions&);

}  // namespace tessera::engine
