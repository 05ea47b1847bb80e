// NVRTC, NVIDIA's compiler as a library, found at run time like the driver. A kernel of a hundred lines takes it 20 to
// 200 ms, so what it makes is kept in the user's cache.
//
// It makes machine code for the device's own architecture where it knows that; else (a device newer than the compiler)
// the virtual code of the newest that it knows, which the driver translates.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "run/gpu/device.hpp"

namespace tessera::run::cuda {

struct NvrtcFunctions;

struct Nvrtc {
  const NvrtcFunctions* functions = nullptr;
  std::string missing;  // a sentence; "" when it is there
  std::vector<std::string> notes;
  std::string name;  // of the file
  int major = 0, minor = 0;
  std::vector<int> architectures;  // ascending: 75, 80, 90

  std::string version() const;  // "12.8"
};

// Opened at the first call, then the same; prefers one that is no newer than the driver. Thread-safe, never throws.
const Nvrtc& nvrtc();

struct Architecture {
  std::string option;  // "sm_90", or "compute_90" for virtual code
  bool machine_code = true;
};
// For a device of capability `number` (90 is 9.0); nothing when the compiler knows none that it could run.
std::optional<Architecture> architecture_for(const Nvrtc&, int number);

// Everything on the command line but the architecture.
std::vector<std::string> nvrtc_options(gpu::Arithmetic);

struct NvrtcResult {
  bool done = false;
  std::string code;     // machine code, or virtual code as text
  std::string log;      // of the compiler
  std::string failure;  // when it failed without a log: "NVRTC_ERROR_INVALID_OPTION"
};
NvrtcResult compile(const Nvrtc&, const std::string& source, const Architecture&,
                    const std::vector<std::string>& options);

}  // namespace tessera::run::cuda
