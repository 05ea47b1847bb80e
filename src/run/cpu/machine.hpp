// What this CPU is, as a value: the plan reads vector width and cache sizes from it, compiled code is cached under its
// identity.
#pragma once

#include <string>
#include <vector>

#include "tessera/array.hpp"

namespace tessera::run::cpu {

struct Machine {
  std::string name;                   // "AMD EPYC 9654 96-Core Processor"
  int cores = 1;                      // usable: affinity and the container's quota respected
  i64 l1 = 32 << 10;                  // bytes of data cache per core
  i64 l2 = 256 << 10;                 // per core
  i64 l3 = 8 << 20;                   // of the socket; 0 where there is none
  int vector_bytes = 16;              // 64 AVX-512, 32 AVX2, else 16
  i64 page = 4096;                    // bytes
  std::vector<std::string> features;  // "avx2 fma avx512f ..." of those that matter here
  std::string identity;               // equal on two machines that may run each other's code
};

// Read once. Thread-safe.
const Machine& machine();

}  // namespace tessera::run::cpu
