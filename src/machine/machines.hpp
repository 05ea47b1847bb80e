// Every machine that plans are made for: one table of facts for cores, one for devices. Adding a class of machines is
// adding a row here.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "machine/machine.hpp"

namespace tessera::machine {

// ---- cores ----

// What differs among cores. Vectors of 64 bytes have 32 registers, others 16.
struct CoreFacts {
  std::string name = "a core";
  int vector_bytes = 64;
  int threads = 1;
  i64 l1_bytes = 32 << 10, l2_bytes = 1 << 20;
  bool byte_products = false;  // AVX-512 VNNI
  Prices prices = {};
};
Machine core(const CoreFacts&);

// A class of cores that an emitted C file has a text for, chosen when it runs.
struct CoreClass {
  int vector_bytes = 16;
  std::vector<std::string> features;  // that a processor must have, as compilers call them
  bool byte_products = false;
};
// From those that every processor is to those that few are; the last one multiplies bytes.
const std::vector<CoreClass>& core_classes();
// Threads that are assumed where a file is emitted.
Machine core_of_class(const CoreClass&);

// ---- devices ----

// What differs among devices. All are planned for as one class, so that a program's kernels are the same everywhere,
// but for what OpenCL 1.2 cannot say or what a device takes several instructions for.
struct Abilities {
  bool shuffles = false;  // reading another thread's registers: CUDA, and OpenCL on NVIDIA's GPUs
  bool minima = false;    // of two integers of 16 bits in one register: NVIDIA's GPUs since Hopper
  bool chains = false;    // see Machine::row_chains: CUDA
  bool overlaps = false;  // and Machine::overlaps
  bool matrices = false;  // and Machine::matrices: CUDA since compute capability 8.0
  bool narrow = false;    // tiles of volumes are as narrow as floats have them: see engine::is_wide
  bool buffers = true;  // kernels get tables in memory, where they are run; an emitted file has its tables in the text
  Prices prices = {};   // in use on the device; of the class those built in
};
// Columns of a thread, as floats have them: of narrow tiles.
constexpr int narrow_columns = 4;
// Of the class, where no device is known: "cuda" or "opencl".
Abilities abilities_of_target(std::string_view target);
// A multiprocessor of an H200 as one core: four warps an instruction, its part of the memory's bandwidth.
Machine device(const Abilities&);
// The multiprocessors of the card that the class is a part of, an H200.
constexpr int multiprocessors_of_class = 132;

}  // namespace tessera::machine
