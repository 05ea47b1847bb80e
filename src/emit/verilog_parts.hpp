#pragma once

namespace tessera::emit {

extern const char* const verilog_parts;

}  // namespace tessera::emit
