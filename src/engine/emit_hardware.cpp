// From a stage graph to streaming hardware: the stream, its netlist, the printer of the target.
#include "engine/emit_hardware.hpp"

#include <fmt/format.h>

#include "emit/hls.hpp"
#include "hardware/build.hpp"
#include "hardware/stream.hpp"
#include "tessera/error.hpp"

namespace tessera::engine {

bool is_hardware(const std::string& target) {
  return target == "hls";
}

EmittedCode hardware_files(const ir::Graph& graph, const EmitOptions& options) {
  const HardwareOptions& own = options.hardware;
  if (own.height == 0 && own.width == 0)
    throw Error(ErrorClass::argument, fmt::format("target {} needs the extents of frames", options.target), {},
                "give --size HEIGHTxWIDTH, or --max-size HEIGHTxWIDTH for extents that are arguments");
  hardware::StreamOptions how;
  how.height = own.height;
  how.width = own.width;
  how.fixed = own.fixed;
  how.lanes = own.lanes;
  const hardware::Netlist netlist = hardware::build_netlist(hardware::make_stream(graph, how));
  emit::HlsOptions hls;
  hls.name = options.name;
  emit::HlsFiles files = emit::print_hls(netlist, hls);
  return {std::move(files.source), std::move(files.header), std::move(files.bench)};
}

}  // namespace tessera::engine
