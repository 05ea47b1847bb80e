// The function of an emitted file that runs the sections of a program with loops (ir/sections.hpp): it allocates what
// lies between them, repeats the bodies and exchanges the buffers of carried images.
//
//   C        static void tsr_run(void* const* given, const i64* N)             calls tsr_run_sK, K the section
//   CUDA     static void tsr_run_all(tsr_session* s, const void* const* given, const i64* N)      calls tsr_run_V, V
//   the OpenCL   static void tsr_run_all(tsr_session* s, const cl_mem* given, const i64* N)           section's first
//   variant
#pragma once

#include <string>
#include <vector>

#include "ir/sections.hpp"

namespace tessera::emit {

struct SectionList {
  const ir::Graph* graph = nullptr;  // the whole
  std::vector<const ir::Section*> sections;
  const std::vector<ir::Place>* places = nullptr;
};

enum class DriverDialect { c, cuda, opencl };

// `functions`: what runs each section.
std::string loop_driver(const SectionList&, DriverDialect, const std::vector<std::string>& functions);

}  // namespace tessera::emit
