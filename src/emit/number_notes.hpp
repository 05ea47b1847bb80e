// What an emitted circuit says of numbers that stand for floats: their bits of fraction, errors, and what decides.
#pragma once

#include <string>
#include <string_view>

#include "hardware/netlist.hpp"

namespace tessera::emit {

// Lines that begin with `comment`; none where all is whole numbers and floats as such.
std::string number_notes(const hardware::Netlist&, std::string_view comment);

}  // namespace tessera::emit
