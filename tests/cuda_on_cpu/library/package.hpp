// Code as compiler and driver hand it on through files and memory of others: a line with the number of bytes, as the
// driver gets nothing but an address.
#pragma once

#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

namespace cuda_on_cpu {

constexpr std::string_view package_begin = "CUDA on the processor, bytes: ";

inline std::string pack(const std::string& library) {
  return std::string(package_begin) + std::to_string(library.size()) + "\n" + library;
}

// Empty for what was not packed here.
inline std::string_view unpack(const char* image) {
  if (std::strncmp(image, package_begin.data(), package_begin.size()) != 0) return {};
  char* end = nullptr;
  const std::size_t bytes = std::strtoull(image + package_begin.size(), &end, 10);
  return {end + 1, bytes};
}

}  // namespace cuda_on_cpu
