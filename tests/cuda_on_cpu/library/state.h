// What compiled kernels and the machine that runs them share.
#pragma once

struct CudaIndex {
  unsigned x, y, z;
};

struct CudaMachine {
  CudaIndex thread, block, threads, blocks;  // threadIdx, blockIdx, blockDim, gridDim
  unsigned lane;
  unsigned char* dynamic;  // shared memory that the launch asked for
  void (*barrier)();
  // Waits for the lanes of the mask; returns their values, in an array that stays until the next exchange of this warp.
  const unsigned long long* (*exchange)(unsigned mask, unsigned long long value);
};

// The names that a compiled module exports. Besides, cuda_call_NAME for every kernel.
#define CUDA_MACHINE_NAME "cuda_machine"  // CudaMachine*, which the driver sets
#define CUDA_SHARED_NAME "cuda_shared"    // void (char** begin, char** end): the shared memory
#define CUDA_CALL_PREFIX "cuda_call_"     // void (void** arguments): one thread
