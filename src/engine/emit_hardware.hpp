// Emitted code for streaming hardware: docs/fpga.md.
#pragma once

#include "hardware/netlist/facts.hpp"
#include "hardware/stream.hpp"
#include "ir/graph.hpp"
#include "tessera/program.hpp"

namespace tessera::engine {

bool is_hardware(const std::string& target);

// The plan of it. Throws as below.
hardware::Stream hardware_stream(const ir::Graph&, const EmitOptions&);

// Throws Error(argument) for programs that cannot stream, and for options that do not fit. `facts`: what the code
// takes.
EmittedCode hardware_files(const ir::Graph&, const EmitOptions&, hardware::Facts* facts = nullptr);

}  // namespace tessera::engine
