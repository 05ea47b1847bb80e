// Errors in the words of whoever calls the library.
#pragma once

#include <string>
#include <string_view>

#include "tessera/error.hpp"

namespace tessera::c {

// A text of the compiler, which speaks of the command's flags, as one that speaks of the options of tsr_options_set:
// "allow a larger --error" is "allow a larger option error", "--name my_filter" is "option name=my_filter".
std::string in_options(std::string_view text);
// The same with all that they say, but for lines of the user's text.
Diagnostic in_options(Diagnostic);
Error in_options(const Error&);

}  // namespace tessera::c
