// Names that a module may have.
#pragma once

#include <string_view>

namespace tessera::emit {

// Throws Error(argument) unless a module may be called so: letters, digits and _, no keyword of SystemVerilog.
void check_module_name(std::string_view);

}  // namespace tessera::emit
