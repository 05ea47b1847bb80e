// Runs kernels on the processor as a GPU would, without its speed: blocks one after the other, every thread of a block
// a fiber that runs until it waits for others or ends.
//
// What a program of CUDA may not rely on is made different on purpose: shared memory is filled anew before every block,
// and the order of the threads changes from block to block and from one wait to the next, so that a forgotten barrier
// shows.
#pragma once

#include <cstddef>
#include <string>

#include "state.h"

namespace cuda_on_cpu {

struct Grid {
  CudaIndex blocks, threads;
  std::size_t shared_bytes = 0;  // asked for at the launch
};

struct Kernel {
  void (*call)(void** arguments) = nullptr;             // one thread of it
  char *shared_begin = nullptr, *shared_end = nullptr;  // what it declares
};

constexpr unsigned most_threads = 1024, lanes_of_warp = 32;

// What compiled kernels see of the thread that runs.
CudaMachine& machine();

// "", or why the kernel can never end: which of its threads wait for what. Then no other kernel may run. One at a time.
std::string run(const Kernel&, const Grid&, void** arguments);

}  // namespace cuda_on_cpu
