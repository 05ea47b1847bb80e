// What only tests look at: how often a compiler ran.
#pragma once

#include <atomic>

#include "tessera/array.hpp"

namespace tessera::run::opencl {

// Of this process, all devices together.
struct Counters {
  std::atomic<i64> compiled{0};    // programs from source
  std::atomic<i64> from_cache{0};  // programs from a binary of the user's cache
};
Counters& counters();

}  // namespace tessera::run::opencl
