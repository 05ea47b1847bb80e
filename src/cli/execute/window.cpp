// Windows are runs of a part with whole inputs.
#include "cli/execute/window.hpp"

#include <fmt/format.h>

#include "base/text.hpp"
#include "cli/options/options.hpp"
#include "tessera/error.hpp"

namespace tessera::cli {

std::vector<Region> windows_of(const Program& program, const std::vector<Array>& inputs, const std::string& text) {
  const std::vector<Shape> shapes = program.output_shapes(inputs);
  for (const Shape& shape : shapes)
    if (shape != shapes.front())
      throw Error(ErrorClass::argument,
                  fmt::format("--window {} is of outputs of one shape, but the program's are {} and {}",
                              base::quoted(text), to_string(shapes.front()), to_string(shape)));
  return std::vector<Region>(shapes.size(), parse_region(text, "--window", shapes.front()));
}

std::vector<Array> run_window(const Program& program, const std::vector<Array>& inputs,
                              const std::vector<Region>& windows, const RunOptions& options) {
  std::vector<InputWindow> whole;
  for (const Array& a : inputs) whole.push_back({a, {}, {}});
  return program.run_region(whole, windows, options);
}

void cut_headers(const Program& program, Lanes& lanes, const std::string& window) {
  const Region region = windows_of(program, lanes.inputs.front(), window).front();
  const Shape whole = program.output_shapes(lanes.inputs.front()).front();
  for (io::ImageHeader& header : lanes.headers)
    if (io::header_for(header, whole)) header = io::header_of_region(header, region.begin, region.end);
}

}  // namespace tessera::cli
