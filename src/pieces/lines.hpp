// What journals and records of passes have in common.
#pragma once

#include <cstddef>
#include <string>

namespace tessera::pieces {

// Hexadecimal digits of a hash that a line carries.
constexpr std::size_t digits_of_checksum = 16;

[[noreturn]] void cannot_be_written(const std::string& path, int error_number);
[[noreturn]] void begun_by_other_work(const std::string& path);

}  // namespace tessera::pieces
