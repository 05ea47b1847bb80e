// Numbers of filters as they are typed: points, lengths, times, and frequencies of cutoffs.
#pragma once

#include <string>

#include "io/header.hpp"
#include "tessera/filters.hpp"

namespace tessera::cli {

// "2.5", "2,2,1", "2mm": points of an image of this rank. Of cutoffs "0.1", "0.1/mm", "2Hz": cycles a point.
// `lengths`: may numbers have a unit?
PerAxis parse_points(const std::string& option, const std::string& text, bool lengths, int rank,
                     const io::ImageHeader& header);

}  // namespace tessera::cli
