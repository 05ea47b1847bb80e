// The extents that `explain` speaks of: those that are given, that the program states or that follow from others, and
// assumed ones of a usual image where nothing says.
#pragma once

#include <string>
#include <vector>

#include "tessera/program.hpp"

namespace tessera::cli {

// Of an input of this rank: 1080 x 1920 of an image, 256 x 256 x 256 of a volume.
Shape assumed_shape(int rank);
// Extents that the program states as numbers: "480 x 640"; empty otherwise.
Shape stated_shape(const Parameter&);

struct InputShapes {
  std::vector<Shape> shapes;         // one per input, empty of scalars
  std::vector<std::string> assumed;  // "image 1080 x 1920"
};

// `sizes`: "2160x3840" or "name=2160x3840". One shape per input: by name, as the program states it, by position, as an
// input with the same extents, as the parameters say that these determine, the first size of the right rank, and at
// last assumed. Throws Error(argument) for names, ranks and sizes too many.
InputShapes input_shapes(const Program&, const std::vector<std::string>& sizes);

// "image is assumed to be 1080 x 1920; --size says otherwise": a sentence about what was assumed, "" where nothing was.
std::string note_of_assumed(const std::vector<std::string>& assumed);

}  // namespace tessera::cli
