// Windows are runs of a part with whole inputs.
#include "cli/execute/window.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/text.hpp"
#include "cli/options/options.hpp"
#include "tessera/error.hpp"

namespace tessera::cli {

std::vector<Region> windows_of(const Program& program, const std::vector<Shape>& outputs, const Window& window) {
  const bool all = std::find(window.wanted.begin(), window.wanted.end(), true) == window.wanted.end();
  std::vector<Region> regions(outputs.size());
  std::optional<std::size_t> first;
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    if (!all && !window.wanted[o]) continue;
    if (first && outputs[o] != outputs[*first])
      throw Error(ErrorClass::argument,
                  fmt::format("--window {} is of outputs of one shape, but the program's are {} and {}",
                              base::quoted(window.text), to_string(outputs[*first]), to_string(outputs[o])),
                  {}, all ? fmt::format("name one of them: -o {}=FILE", program.outputs()[o].name) : std::string());
    first = o;
    regions[o] = parse_region(window.text, "--window", outputs[o]);
  }
  return regions;
}

std::vector<Region> windows_of(const Program& program, const std::vector<Array>& inputs, const Window& window) {
  return windows_of(program, program.output_shapes(inputs), window);
}

std::vector<Array> run_window(const Program& program, const std::vector<Array>& inputs,
                              const std::vector<Region>& windows, const RunOptions& options) {
  std::vector<InputWindow> whole;
  for (const Array& a : inputs) whole.push_back({a, {}, {}});
  return program.run_region(whole, windows, options);
}

void cut_headers(const Program& program, Lanes& lanes, const Window& window) {
  const std::vector<Shape> shapes = program.output_shapes(lanes.inputs.front());
  const std::vector<Region> regions = windows_of(program, shapes, window);
  const auto wanted = std::find_if(regions.begin(), regions.end(), [](const Region& r) { return !r.begin.empty(); });
  const Shape& whole = shapes[static_cast<std::size_t>(wanted - regions.begin())];
  for (io::ImageHeader& header : lanes.headers)
    if (io::header_for(header, whole)) header = io::header_of_region(header, wanted->begin, wanted->end);
}

}  // namespace tessera::cli
