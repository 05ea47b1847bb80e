// Names that emitted code may use: what C, C++ and their libraries keep for themselves is avoided or refused.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace tessera::emit {

// The name itself where C and C++ leave it free, else with a `_` behind.
std::string safe_name(std::string_view);

// Throws Error(argument) unless a function may be called so: an identifier, no keyword, none of the C library's.
void check_entry_name(std::string_view);

// Calls fn(word) for every identifier of a text, and copies the rest; fn returns what to write.
std::string map_identifiers(std::string_view text, const std::function<std::string(std::string_view)>& fn);

}  // namespace tessera::emit
