// What reading and writing NRRD have in common.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <string_view>

#include "io/formats/volume.hpp"

namespace tessera::io {

inline constexpr std::string_view nrrd_name = "NRRD";
inline constexpr std::string_view nrrd_colours[] = {"rgb-color", "rgba-color", "3-color", "4-color"};

// Fields that travel as they are; the first of the space are those that say which one it is.
inline constexpr std::string_view nrrd_fields[] = {"space",   "space dimension", "space units",
                                                   "content", "sample units",    "measurement frame"};
inline constexpr std::string_view nrrd_fields_of_axes[] = {"centers", "labels", "thicknesses"};

inline bool is_one_of(std::span<const std::string_view> words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// As VolumeFormat::print.
std::string print_nrrd(const FileLayout&, bool packed, const std::string& data_name, i64 packed_bytes);

}  // namespace tessera::io
