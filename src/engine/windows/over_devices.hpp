// Runs over several devices by windows of the results, where slabs of rows cannot be had: of host programs without
// what takes whole images, and of results with fewer rows than there are devices.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "engine/program_impl.hpp"

namespace tessera::engine {

struct WindowCut {
  std::size_t dimension = 0;  // of every output
  i64 parts = 1;              // one for each device, as far as there are points
};
// Nothing: slabs do, there are no windows, or one device runs.
std::optional<WindowCut> cut_over_devices(const Program::Impl&, const std::vector<Shape>& outputs, const RunOptions&);

// Into `outputs`, from arrays of the host. False: there is no such cut, and nothing has run.
bool run_in_windows(const Program&, const std::vector<Array>& inputs, const std::vector<Array>& outputs,
                    const RunOptions&);

}  // namespace tessera::engine
