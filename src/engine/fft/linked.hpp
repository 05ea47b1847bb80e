// A plan of a transform on cores (fft/cpu/plan_cores.hpp) with its code compiled and its tables in the type of its
// numbers: ready to run.
#pragma once

#include <memory>
#include <string>

#include "fft/cpu/plan_cores.hpp"

namespace tessera::engine {

class LinkedTransform {
 public:
  virtual ~LinkedTransform() = default;
  // As Fft::run. Thread-safe.
  virtual void run(const void* from, void* to, int threads) const = 0;
};

// Compiles what is not yet compiled in the process. Throws what run::cpu::load throws.
std::unique_ptr<LinkedTransform> link(const fft::CorePlan&, const std::string& compiler);

// What plans need to know of this machine.
fft::Cores cores_here();

}  // namespace tessera::engine
