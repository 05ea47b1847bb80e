// What `explain` says of a transform that runs on a device: its kernels.
#pragma once

#include "engine/fft/device.hpp"
#include "explain/report.hpp"

namespace tessera::engine {

// Adds the kernels, their bytes and times to the group. `compiled` is null where there is no device.
void explain_transform(explain::GroupReport&, const fft::DevicePlan&, const FftOnDevice* compiled,
                       const explain::DeviceReport&, const run::gpu::Limits&);

}  // namespace tessera::engine
