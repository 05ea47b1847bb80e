// Text that emitted files have, as files called .inc hold it (CMakeLists.txt): its sections, and its holes.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace tessera::emit {

// What stands behind the line "//@ NAME", up to the next such line. Lines of // at its begin are no part of it.
std::string_view section(std::string_view text, std::string_view name);

// The text with {name} replaced by what has that name, and other braces as they are: it reads as C.
using Holes = std::map<std::string_view, std::string>;
std::string filled(std::string_view text, const Holes&);

}  // namespace tessera::emit
