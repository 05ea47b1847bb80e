// The text of the modules that every circuit has; NAME stands for the name of the circuit.
#pragma once

namespace tessera::emit {

extern const char* const verilog_parts;

}  // namespace tessera::emit
