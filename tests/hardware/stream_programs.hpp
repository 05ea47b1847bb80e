// Programs that stream, and what the interpreter says of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hardware/netlist/simulate.hpp"
#include "hardware/stream.hpp"
#include "ir/graph.hpp"

namespace tessera::hardware {

ir::Graph graph_of(const std::string& text);

// How many random programs a test takes: $TESSERA_CASES, or as many as usual.
std::uint64_t cases_or(std::uint64_t usual);

// A random program of whole numbers: up to five stages, each of one to three accesses to earlier ones with random
// offsets, borders and operations. The same for the same seed.
std::string random_program(std::uint64_t seed);

// One whose images have different extents: sampled, spread, interleaved, cut, pasted; and with borders that go around.
std::string random_rated_program(std::uint64_t seed);
// A random program of floats of a type ("float", "double"): up to three stages over images of floats. `bounded`: with
// arguments of functions that fixed point can hold; else anything goes, whole numbers in between included.
std::string random_float_program(std::uint64_t seed, const std::string& type, bool bounded);

// One whose images, stages, tables and values have names that emitted code could use for itself. Takes six values.
extern const std::string program_of_taken_names;

struct Frameset {
  std::vector<Frames> inputs, results;  // by stream
  std::vector<i64> scalars;
};
// Random frames, and what the interpreter makes of each. Floats are their bits (pattern_of). The first input has the
// extents given; nothing where the program has no images for them.
std::optional<Frameset> interpreted_if(const ir::Graph&, i64 height, i64 width, int frames, std::uint64_t seed);
Frameset interpreted(const ir::Graph&, i64 height, i64 width, int frames, std::uint64_t seed);

}  // namespace tessera::hardware
