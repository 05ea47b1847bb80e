// The outside of a program in HLS C++, and a test bench for it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "hardware/netlist/netlist.hpp"

namespace tessera::emit {

struct HlsStream {
  std::string name;
  int bits = 0;  // of a word; of a scalar none
  ElementType type = ElementType::u8;
  int lanes = 1;  // elements in a word
  hardware::Grid grid = {};
};

struct HlsPorts {
  std::string name;  // of the top function
  hardware::Frame frame;
  hardware::Given given;
  i64 least_height = 1, least_width = 1;  // of extents that are arguments
  std::vector<HlsStream> inputs, results, scalars;
  bool floats = false;  // are there any in between?
};

// An extent, in points or in rows and columns of the frame, of what is given.
std::string hls_points(const hardware::Extent&, const std::string& given, bool fixed);
std::string hls_fine(const hardware::Extent&, const std::string& given, bool fixed);

// A condition: are these extents at run time that the circuit was not made for?
std::string hls_misfit(const HlsPorts&);

std::string_view hls_spelling(ElementType);
std::string hls_parameters(const HlsPorts&, std::string_view separator);
// Of extents at run time it returns 0, or 1 where it was not made for them.
std::string hls_signature(const HlsPorts&, std::string_view separator);
std::string hls_bench(const HlsPorts&);

}  // namespace tessera::emit
