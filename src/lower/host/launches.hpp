// Launches of kernels, as what the host computes for them: ir/host/launch.hpp.
#pragma once

#include <string>
#include <vector>

#include "ir/host/launch.hpp"
#include "lower/device.hpp"

namespace tessera::lower {

// Arrays of the launch are positions in Interface::arrays.
ir::host::Launch launch_of(const DeviceKernel&);

// What launches call: tsr_strip_height, tsr_march_height and tsr_frame, which fills a list.
i64 host_function(const std::string& name, const std::vector<i64>& args, std::vector<i64>& filled);

}  // namespace tessera::lower
