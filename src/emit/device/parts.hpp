// Programs with Fourier transforms in files for GPUs (rewrite/parts.hpp): the function that runs parts and transforms
// in order, and the text that transforms any extents.
//
// A run makes kernels of transforms for its extents; a file does not know them. Its kernel takes lines of any length
// that a block holds, and is told the rest by numbers: spectra_kernels.c.inc, host_spectra.c.inc.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "emit/device/kernels.hpp"
#include "rewrite/parts.hpp"

namespace tessera::emit {

// The kernels of transforms, and what the host calls them with. Empty for no types.
struct SpectraText {
  std::string kernels, host;
  std::vector<std::string> names;  // of kernels
};
// `first_kernel`: what OpenCL's host counts them from.
SpectraText spectra_text(const std::set<ElementType>&, DeviceDialect, std::size_t first_kernel);

// static void NAME(tsr_session* s, what the caller gave, const i64* N), of a program with this graph. `functions`: what
// runs each step that is a part.
std::string parts_function(const ir::Graph&, const rewrite::Parts&, DeviceDialect, const std::string& name,
                           const std::vector<std::string>& functions);

}  // namespace tessera::emit
