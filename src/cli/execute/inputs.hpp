// From the words of a command line to the arrays of a program.
//
// An input is bound by name or by position, read, cut to the region, and converted to what the program declares. Where
// the program wants scalars and a file holds colours, the program runs once per channel: a *lane* is the list of inputs
// of one such run. Files without channels are the same in every lane. A volume of extent 1 is an image where the
// program wants one, and a series of one moment is a volume.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cli/execute/reading.hpp"
#include "io/image.hpp"
#include "io/regions/regions.hpp"
#include "tessera/program.hpp"

namespace tessera::engine {
struct Filter;
}

namespace tessera::cli {

struct InputOptions {
  bool grey = false;         // colours become intensity where the program wants scalars
  bool unit = false;         // integers become 0..1 in floating point
  std::string region;        // "top,left,bottom,right", both ends inside
  bool note_nodata = false;  // say that points of a file's value for no data are taken for numbers
  ReadingOptions reading = {};
  std::map<std::string, io::Image> read = {};                          // files that were read already, by path
  std::map<std::string, std::shared_ptr<io::RegionReader>> open = {};  // and those that were opened
  // Files that the options of reading are not of, and whose headers are of no result: masks.
  std::set<std::string> plain = {};

  io::ReadOptions reading_of(const std::string& input, const std::string& file) const;
};

struct Lanes {
  std::vector<std::vector<Array>> inputs;  // per lane, in the program's order
  std::vector<std::string> channels;       // "r", "g", "b"; empty when there is one lane
  std::optional<Region> region;            // of the first array, what was cut out
  std::vector<io::ImageHeader> headers;    // of the files, in the program's order, as the arrays were cut
  std::optional<ElementType> stored;       // of the samples of the first file
  bool integers = true;                    // all files hold integers, none floating point or bool
  Shape leading;                           // with --pages: the dimensions of pages, which the program does not see
  std::vector<bool> paged;                 // which inputs have them
};

// "10,20,59,99" of an array of these extents: begins, then last indices. `flag` is what it was given for.
Region parse_region(const std::string& text, const std::string& flag, const Shape& shape);

// ---- inputs of which nothing is read yet
// -----------------------------------------------------------------------------

// An input as it is bound. Files that have parts are open; others are in memory.
struct OpenInput {
  std::string origin;                        // the file, or the number as it was written
  std::optional<double> number;              // of a scalar
  std::shared_ptr<io::RegionReader> reader;  // null of what is in memory
  Array array;  // as the program sees it; of a reader one point, repeated: its format and extents count
  io::ImageHeader header;
  std::vector<i64> begin;                                // in the file, of what --roi took
  bool grey = false;                                     // colours become intensity
  std::shared_ptr<const engine::Filter> continued = {};  // the program takes it so, where it goes in pieces

  // Of a region of what the program takes, what is read.
  Region in_array(const Region&) const;
  Shape taken_shape() const;  // that the program takes; of a number empty
};

struct OpenInputs {
  std::vector<OpenInput> inputs;  // in the program's order
  Lanes lanes;                    // without arrays
};
// `words`: files, `name=file`, `name=number`. `scalars` from -p. Throws Error(argument) for what does not fit and
// Error(io) for files.
OpenInputs open_inputs(const Program&, const std::vector<std::string>& words,
                       const std::map<std::string, double>& scalars, const InputOptions&);
// All of it, read.
Lanes bind_inputs(const Program&, OpenInputs, const InputOptions&);

// A region of an input as the program sees it, in the type of the file.
Array read_part(const OpenInput&, const Region&, const std::function<Array(const Format&, const Shape&)>& memory);
// A value that stands for no data means nothing to a program: has some point of `part` that value? NaN shows by itself.
bool holds_nodata(const OpenInput&, const Array& part);
void tell_of_nodata(const OpenInput&);
// What was read, as each lane of the program has it.
std::vector<Array> in_lanes(const Parameter&, const OpenInput&, const Array& part, std::size_t lanes,
                            const InputOptions&);

}  // namespace tessera::cli
