// Netlists as C++ for high-level synthesis (HLS): docs/fpga.md.
#pragma once

#include <string>

#include "hardware/netlist/facts.hpp"
#include "hardware/netlist/netlist.hpp"

namespace tessera::emit {

struct HlsOptions {
  std::string name;  // of the top function: a C identifier
};

struct HlsFiles {
  std::string source;  // what a tool synthesises
  std::string header;  // declares the top function
  std::string bench;   // a program that feeds it frames and checks what comes back
  std::vector<hardware::MemoryFacts> memories;
};

// Throws Error(argument) for a name that is none and for extents that leave no frame.
HlsFiles print_hls(const hardware::Netlist&, const HlsOptions&);

}  // namespace tessera::emit
