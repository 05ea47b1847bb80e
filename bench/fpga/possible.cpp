// What a circuit may give where values with errors decide (hardware/possible.hpp), for ./dev fpga.
//
//   fpga_possible PROGRAM --size HxW [--lanes N] [--input ...] [--error E] [--sample ROWS] WORDS...
//
// WORDS are inputs and scalars of one frame as of `tessera run`. Lines of the standard input say what a circuit gave,
// RESULT ROW COLUMN VALUE ERROR, with RESULT and ERROR as `explain --json` says. For each result with such lines one
// line comes back:
//
//   RESULT points 412 unexplained 0 sample 15360 open 93
//
// `unexplained` of these points lie outside of what may come out, each told on the standard error. `open`: at so many
// of the points in SAMPLE rows in the middle more than one number may come out, for which being equal would say less.
#include "hardware/possible.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cli/execute/inputs.hpp"
#include "cli/options/hardware_options.hpp"
#include "cli/options/options.hpp"
#include "engine/emit_hardware.hpp"
#include "engine/program_impl.hpp"
#include "ir/bind.hpp"
#include "tessera/error.hpp"

namespace {

using tessera::i64;
using tessera::hardware::Possible;
using tessera::hardware::Span;
using tessera::hardware::Stream;

// As build.cpp names them.
std::map<std::string, tessera::ir::StageId> results_of(const Stream& stream) {
  std::map<std::string, tessera::ir::StageId> found;
  for (const tessera::ir::Output& output : stream.graph.outputs)
    for (std::size_t k = 0; k < output.stages.size(); ++k) {
      const auto& fields = output.format.fields;
      const std::string name = output.name.empty() ? "result" : output.name;
      found[fields.empty() ? name : name + "_" + fields[k].name] = output.stages[k];
    }
  return found;
}

struct Point {
  i64 row, column;
  double value, error;
};

// Floats of the processor err by some units of their last place, beside the circuit's own error.
bool holds(Span may, double value, double error) {
  const double slack = error + 1e-5 * std::max(std::abs(may.lo), std::abs(may.hi)) * (error > 0 ? 1 : 0);
  return value >= may.lo - slack && value <= may.hi + slack;
}

int check(const Stream& stream, const std::vector<tessera::Array>& inputs, i64 sample) {
  Possible possible(stream, inputs);
  const auto stages = results_of(stream);
  std::map<std::string, std::vector<Point>> given;
  std::string name;
  for (Point p{}; std::cin >> name >> p.row >> p.column >> p.value >> p.error;) given[name].push_back(p);
  std::vector<tessera::Shape> shapes;
  for (const tessera::Array& a : inputs) shapes.push_back(a.shape());
  const std::vector<i64> parameters = tessera::ir::bind_parameters(stream.graph, shapes);
  for (const auto& [result, points] : given) {
    const auto it = stages.find(result);
    if (it == stages.end()) throw tessera::Error(tessera::ErrorClass::argument, "there is no result " + result);
    const auto& stage = stream.graph.stage(it->second);
    i64 unexplained = 0;
    for (const Point& p : points) {
      const Span may = possible.at(it->second, p.row, p.column);
      if (holds(may, p.value, p.error)) continue;
      if (++unexplained <= 8)
        fmt::print(stderr, "{} at {}, {} is {}; expected {} to {}, give or take {:.3g}\n", result, p.row, p.column,
                   p.value, may.lo, may.hi, p.error);
    }
    const i64 rows = stream.graph.evaluate(stage.domain[0], parameters);
    const i64 columns = stream.graph.evaluate(stage.domain[1], parameters);
    const i64 first = std::max<i64>(0, (rows - sample) / 2), last = std::min(rows, first + sample);
    i64 open = 0;
    for (i64 y = first; y < last; ++y)
      for (i64 x = 0; x < columns; ++x) open += possible.at(it->second, y, x).open();
    fmt::print("{} points {} unexplained {} sample {} open {}\n", result, points.size(), unexplained,
               (last - first) * columns, open);
  }
  return 0;
}

}  // namespace

int main(int count, char** words) {
  CLI::App app;
  tessera::cli::ProgramOptions program;
  tessera::cli::HardwareFlags hardware;
  std::string size;
  std::vector<std::string> inputs;
  i64 sample = 8;
  program.declare(app);
  hardware.declare(app);
  app.add_option("--size", size)->required();
  app.add_option("--sample", sample);
  app.add_option("words", inputs);
  CLI11_PARSE(app, count, words);
  try {
    tessera::EmitOptions options;
    options.target = "verilog";
    options.hardware = hardware.options("verilog", size);
    std::map<std::string, double> scalars;
    const tessera::Program loaded = program.load(scalars, 60);
    const tessera::cli::Lanes lanes =
        tessera::cli::bind_inputs(loaded, tessera::cli::open_inputs(loaded, inputs, scalars, {}), {});
    return check(tessera::engine::hardware_stream(loaded.impl().graph, options), lanes.inputs.front(), sample);
  } catch (const std::exception& e) {
    fmt::print(stderr, "fpga_possible: {}\n", e.what());
    return 2;
  }
}
