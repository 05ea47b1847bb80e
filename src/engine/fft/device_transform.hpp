// One Fourier transform of a program between arrays of a device (rewrite/parts.hpp), with FftOnDevice: the counterpart
// of fft.hpp.
#pragma once

#include <optional>

#include "engine/fft/device.hpp"

namespace tessera::engine {

// How a device of these limits goes about it, or nothing where it cannot: lines that are too long, doubles where there
// are none.
std::optional<fft::DevicePlan> device_plan(const fft::Problem&, const run::gpu::Limits&);

// Where the array lies on a device, if it does so as transforms want it: rows whole elements apart, from a multiple of
// two numbers on.
std::optional<FftOnDevice::Place> place_of(const Array&);

}  // namespace tessera::engine
