// From a stage graph to streaming hardware: the stream, its netlist, the printer of the target.
#include "engine/emit_hardware.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "emit/hls/hls.hpp"
#include "emit/verilog/verilog.hpp"
#include "hardware/build.hpp"
#include "hardware/netlist/schedule.hpp"
#include "hardware/numbers/products.hpp"
#include "hardware/stream.hpp"
#include "tessera/error.hpp"

namespace tessera::engine {

bool is_hardware(const std::string& target) {
  return target == "hls" || target == "verilog";
}

namespace {

bool has_floats(const ir::Argument& a) {
  if (!a.format.is_struct()) return is_float(a.format.scalar);
  return std::any_of(a.format.fields.begin(), a.format.fields.end(), [](const auto& f) { return is_float(f.type); });
}

bool floats_come_as_integers(const ir::Graph& graph, const HardwareOptions& own) {
  return std::any_of(graph.arguments.begin(), graph.arguments.end(),
                     [&](const ir::Argument& a) { return own.inputs.contains(a.name) && has_floats(a); });
}

}  // namespace

hardware::Stream hardware_stream(const ir::Graph& graph, const EmitOptions& options) {
  const HardwareOptions& own = options.hardware;
  if (own.height == 0 && own.width == 0)
    throw Error(ErrorClass::argument, fmt::format("target {} needs the extents of frames", options.target), {},
                "give --size HEIGHTxWIDTH, or --max-size HEIGHTxWIDTH for extents that are arguments");
  hardware::StreamOptions how;
  how.height = own.height;
  how.width = own.width;
  how.fixed = own.fixed;
  how.lanes = own.lanes;
  how.error = own.error;
  if (own.additions < 0 || own.additions > 64)
    throw Error(ErrorClass::argument, fmt::format("products of at most {} additions; expected 0 to 64", own.additions));
  how.additions = own.additions;
  for (const auto& [name, input] : own.inputs) {
    const auto argument = std::find_if(graph.arguments.begin(), graph.arguments.end(),
                                       [&](const ir::Argument& a) { return a.name == name; });
    if (argument == graph.arguments.end())
      throw Error(ErrorClass::argument,
                  fmt::format("--input names {}, which is no argument of the program", base::quoted(name)));
    if (!has_floats(*argument) &&
        (argument->format.is_struct() || argument->format.scalar != input.type || input.fraction != 0))
      throw Error(ErrorClass::argument,
                  fmt::format("--input names {}, which has no floats that integers could come for", base::quoted(name)),
                  {}, "leave it out: integers come in as they are");
    how.inputs[name] = {input.type, input.fraction};
  }
  // HLS has floats; what asks for fixed point is a bound on its error, or integers that come in for floats.
  how.exact = options.target == "hls" && own.error == 0 && !floats_come_as_integers(graph, own);
  return hardware::make_stream(graph, how);
}

EmittedCode hardware_files(const ir::Graph& graph, const EmitOptions& options, hardware::Facts* facts) {
  if (options.schedule != Schedule::automatic || options.method != Method::automatic)
    throw Error(ErrorClass::argument, fmt::format("target {} has no {} to choose", options.target,
                                                  options.method != Method::automatic ? "methods" : "schedules"));
  const HardwareOptions& own = options.hardware;
  const hardware::Stream stream = hardware_stream(graph, options);
  hardware::Netlist netlist = hardware::build_netlist(stream);
  if (options.target == "verilog") {
    const hardware::Chip chip = hardware::chip_of(own.chip);
    netlist = hardware::split_products(netlist, chip);
    emit::BenchOptions bench;
    bench.name = options.name;
    bench.height = own.height, bench.width = own.width;
    const hardware::Schedule schedule = hardware::make_schedule(netlist, {own.frequency, chip});
    if (facts != nullptr) *facts = hardware::facts_of(stream, netlist, &schedule);
    return {emit::print_verilog(netlist, schedule, {options.name}), "", emit::print_verilog_bench(netlist, bench)};
  }
  emit::HlsOptions hls;
  hls.name = options.name;
  emit::HlsFiles files = emit::print_hls(netlist, hls);
  if (facts != nullptr) {
    *facts = hardware::facts_of(stream, netlist, nullptr);
    facts->memories = std::move(files.memories);
  }
  return {std::move(files.source), std::move(files.header), std::move(files.bench)};
}

}  // namespace tessera::engine
