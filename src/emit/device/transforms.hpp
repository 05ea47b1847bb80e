// Fourier transforms in files for GPUs.
//
// A run makes kernels of transforms for its extents (lower/host/transform.hpp). A file that is made for extents holds
// these. For all others it has text that transforms any: its kernel takes lines of any length that a block holds, and
// is told the rest by numbers (spectra_kernels.c.inc, host_spectra.c.inc).
#pragma once

#include <set>
#include <string>
#include <vector>

#include "emit/device/kernels.hpp"
#include "lower/host/transform.hpp"
#include "tessera/array.hpp"

namespace tessera::emit {

// What kernels use whose blocks wait for each other, ahead of the text of kernels.
std::string waiting_text(DeviceDialect);

// A transform whose extents the file is made for: it launches the kernels that a run launches. Number `transform` of
// the host program, between arrays without gaps.
struct SizedTransform {
  std::size_t transform = 0;
  std::vector<i64> extents;
  lower::TransformProgram made;
};

// The kernels of transforms of any extents, and what the host calls them with. Empty for no types.
struct SpectraText {
  std::string kernels, host;
  std::vector<std::string> names;  // of kernels
};
// `first_kernel`: what OpenCL's host counts them from.
SpectraText spectra_text(const std::set<ElementType>&, DeviceDialect, std::size_t first_kernel,
                         const std::vector<SizedTransform>&);

// static void NAME(tsr_session*, tsr_memory from, tsr_memory to). Names of its kernels end with `suffix`; OpenCL's host
// counts them from `first_kernel`, and tables from `first_table`.
std::string sized_function(const SizedTransform&, DeviceDialect, const std::string& name, const std::string& suffix,
                           std::size_t first_kernel, std::size_t first_table);

}  // namespace tessera::emit
