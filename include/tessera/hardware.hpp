// What streaming hardware a program becomes, without emitting it: `tessera explain --target verilog`.
#pragma once

#include <string>

#include "tessera/program.hpp"

namespace tessera {

// What Program::emit with these options (target "hls" or "verilog") would take: stages, line buffers, arithmetic,
// latency, clocks of a frame, ports with their bits of fraction and errors; of a text that `./dev fpga` synthesised,
// what came of it. Formats: text, json. Throws Error(argument) as emit does.
std::string explain_hardware(const Program&, const EmitOptions&, ExplainFormat = ExplainFormat::text);

}  // namespace tessera
