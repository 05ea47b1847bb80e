// Results as files: pasted into an image, brought to the values of a file, written, named, and told of.
//
// A file that is packed is complete on the disk and has no name. So the results of several inputs can be packed at once
// and be kept in order, and those of one input appear together.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/files/files.hpp"
#include "cli/execute/inputs.hpp"
#include "cli/execute/results.hpp"
#include "cli/execute/values.hpp"
#include "io/regions/regions.hpp"
#include "tessera/program.hpp"

namespace tessera::cli {

class Packed {
 public:
  // Packs what has a destination. A file gets the header of the first input whose extents it has, or of the image that
  // it is pasted into. Pages are packed on so many `threads`, 0 for all cores. `destinations` outlive this.
  Packed(const Program&, const std::vector<Array>& results, const Lanes&, const Destinations& destinations,
         const OutputOptions&, int threads);
  ~Packed();  // without keep(): nothing is left of it
  Packed(const Packed&) = delete;
  Packed& operator=(const Packed&) = delete;

  // Gives the files their names, prints a line for what has no destination, and tells what became of values.
  void keep();

 private:
  struct Result {
    std::string label;
    Array array;  // as it is written
    io::ImageHeader header;
    Target target = {};
    Fitted fitted = {};
    i64 saturated = 0;              // values
    std::vector<std::string> lost;  // of the header; see io::WriteReport
  };
  void pack(std::size_t output, const Shape& leading, const OutputOptions&, int threads);
  class InRegions;

  const Destinations& destinations_;
  std::vector<Result> results_;
  std::vector<std::unique_ptr<base::AtomicFile>> files_;
  std::vector<std::unique_ptr<InRegions>> folders_;
};

}  // namespace tessera::cli
