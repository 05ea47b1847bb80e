// Host programs (ir/host/program.hpp) as functions of emitted files: one walk over the statements, a dialect each for
// what takes memory and what a call looks like.
//
//   C        static i32 NAME(void* const* given, const i64* N, tessera_call*)
//   CUDA     static void NAME(tsr_session* s, const void* const* given, const i64* N)
//   OpenCL   static void NAME(tsr_session* s, const cl_mem* given, const i64* N)
//
// `given`: arguments, then outputs, as the caller has them; N: extents. C takes one block of the call's memory, in
// which arrays that are not there at the same time share slots. CUDA takes memory from the stream's order, where it is
// acquired, and copies of arrays that are not the device's.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/graph.hpp"
#include "ir/host/program.hpp"

namespace tessera::emit {

enum class HostDialect { c, cuda, opencl };

// A function that does a transform where it has these extents: NAME(tsr_session*, from, to) on devices,
// NAME(tessera_call*, from, to) in C, 0 where there is no memory.
struct SizedFunction {
  std::string name;
  std::vector<i64> extents;
};

// `parts`: the functions that run each part, with the same parameters. `sized`: of transforms, none or one each.
std::string print_host_program(const ir::host::Program&, const ir::Graph&, HostDialect, const std::string& name,
                               const std::vector<std::string>& parts,
                               const std::vector<std::optional<SizedFunction>>& sized = {});

// What these functions use beside the text that all files have, ahead of them once.
std::string host_program_text(HostDialect);

}  // namespace tessera::emit
