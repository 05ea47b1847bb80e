// Groups as loop nests: the ways that devices and cores take them, kernels of devices and functions of cores.
#include <fmt/format.h>

#include <stdexcept>

#include "lower/device.hpp"
#include "lower/interface.hpp"
#include "lower/outline.hpp"
#include "lower/ways/ways.hpp"
#include "options.hpp"

namespace tessera::passes {

namespace {

std::string checked_text(const ir::nest::Module& module, ir::nest::Runs runs) {
  ir::nest::verify(module, runs);
  const std::string text = ir::nest::print(module);
  const ir::nest::Module back = ir::nest::parse_module(text);
  ir::nest::verify(back, runs);
  if (ir::nest::print(back) != text) throw std::runtime_error("the text of a nest does not read back:\n" + text);
  return text;
}

// What the host computes for every kernel.
std::string text_of_launches(const plan::Plan& p, const lower::DeviceProgram& program) {
  std::string text;
  for (const lower::DeviceKernel& k : program.kernels) text += k.name + "\n" + ir::host::print(k.launch, p.graph);
  return text;
}

// What is shown of statements: loops, branches, calls and stores, equal neighbours once.
struct Shape {
  std::string head;
  std::vector<Shape> inside;
  int times = 1;
  bool operator==(const Shape& other) const { return head == other.head && inside == other.inside; }
};

std::vector<Shape> shapes_of(const std::vector<ir::nest::Statement>& list) {
  using ir::nest::StatementKind;
  std::vector<Shape> shapes;
  const auto take = [&](Shape shape) {
    if (!shapes.empty() && shapes.back() == shape)
      ++shapes.back().times;
    else
      shapes.push_back(std::move(shape));
  };
  for (const ir::nest::Statement& s : list) {
    Shape shape{"", shapes_of(s.body)};
    if (s.kind == StatementKind::store) take({s.streaming ? "stream" : "store", {}});
    if (s.kind == StatementKind::call) take({s.name, {}});
    if (s.kind == StatementKind::loop) shape.head = "for " + s.name.substr(0, s.name.rfind('_'));
    if (s.kind == StatementKind::branch) shape.head = "if";
    if (s.kind == StatementKind::block) shape.head = "do";
    std::vector<Shape> otherwise = shapes_of(s.orelse);
    if (!shape.inside.empty() || !otherwise.empty()) take(std::move(shape));
    if (!otherwise.empty()) take({"else", std::move(otherwise)});
  }
  return shapes;
}

void print(const std::vector<Shape>& shapes, std::size_t depth, std::string& text) {
  for (const Shape& shape : shapes) {
    text +=
        std::string(2 * depth, ' ') + (shape.times > 1 ? fmt::format("{} x ", shape.times) : "") + shape.head + "\n";
    print(shape.inside, depth + 1, text);
  }
}

std::string loops_of(const ir::nest::Module& module, bool bodies) {
  std::string text;
  for (const ir::nest::Function& f : module.functions) {
    text += f.essay.empty() ? f.name + "\n" : fmt::format("{}, {}\n", f.name, f.essay);
    if (bodies) print(shapes_of(f.body), 1, text);
  }
  return text;
}

std::string text_of_ways(const PassCase& one, const plan::Plan& p) {
  std::string text;
  for (const plan::Group& g : p.groups) {
    const plan::WayAnswer& taken = g.way.chosen();
    text += "group of";
    for (const ir::StageId s : g.stages) text += fmt::format(" s{} '{}'", s, p.graph.stage(s).name);
    text += fmt::format(": {}{}\n", taken.way, taken.form.empty() ? "" : ", " + taken.form);
    for (const plan::WayAnswer& answer : g.way.asked)
      if (!answer.fits()) text += fmt::format("  not {}: {}\n", answer.way, answer.why);
    if (taken.way != one.option("way", taken.way))
      throw std::runtime_error(
          fmt::format("{}: '{}' is taken, not '{}'\n{}", one.name, taken.way, one.option("way", ""), text));
  }
  return text;
}

std::string text_of_kernels(const plan::Plan& p, const lower::DeviceProgram& program) {
  std::string text;
  for (const lower::DeviceKernel& k : program.kernels) {
    text += fmt::format("{}: computes", k.name);
    for (const ir::StageId s : k.stages) text += fmt::format(" s{}", s);
    text += fmt::format("; {} x {} x {} threads,", k.threads[2], k.threads[1], k.threads[0]);
    for (std::size_t d = 0; d < k.points.size(); ++d) text += fmt::format("{} {}", d > 0 ? " x" : "", k.points[d]);
    text += fmt::format(" points, {} bytes shared", k.shared_bytes);
    for (const auto& [yes, what] : {std::pair{k.strips, "in strips"},
                                    {k.marches, "marches"},
                                    {k.frame.has_value(), "has a frame"},
                                    {k.in_place, "in place"}})
      if (yes) text += fmt::format(", {}", what);
    if (k.columns > 1) text += fmt::format(", {} columns", k.columns);
    if (k.values > 1) text += fmt::format(", {} values a register", k.values);
    if (k.warm_up > 0) text += fmt::format(", {} rows more", k.warm_up);
    text += fmt::format(", {:g} operations a point\n", k.operations);
    for (const auto& [extent, points] : k.least)
      text += fmt::format("  of {} at least {}\n", p.graph.to_string(extent), points);
    for (const auto& r : k.reads)
      text += r.whole
                  ? fmt::format("  reads all of array {}\n", k.arrays[r.array])
                  : fmt::format("  reads array {} from {} i {:+} to {:+}\n", k.arrays[r.array], r.scale, r.lo, r.hi);
    for (const auto& r : k.writes)
      text += fmt::format("  writes array {} from {} i {:+} to {:+}\n", k.arrays[r.array], r.scale, r.lo, r.hi);
    if (!k.why.empty()) text += fmt::format("  no strips: {}\n", k.why);
  }
  return text;
}

void add_nest(const PassCase& one, const ir::nest::Module& module, ir::nest::Runs runs, std::vector<Part>& made) {
  const std::string text = checked_text(module, runs), show = one.option("show", "nest");
  if (show == "nest")
    made.push_back({"nest", text});
  else if (show == "loops")
    made.push_back({"loops", loops_of(module, true)});
  else if (show == "functions")
    made.push_back({"functions", loops_of(module, false)});
  else if (show != "kernels")
    throw std::runtime_error(one.name + ": unknown show: " + show);
}

}  // namespace

std::vector<Part> lowered(const PassCase& one) {
  const std::string target = one.option("lower", "");
  const bool cores = target == "cores";
  if (!cores && target != "cuda" && target != "opencl")
    throw std::runtime_error(one.name + ": unknown target: " + target);
  const machine::Machine machine = machine_of((cores ? "core " : target + " ") + one.option("machine", ""));
  plan::Plan p = plan::make_plan(graph_of(one), plan_options(one), machine);
  std::vector<Part> made;
  if (cores) {
    made.push_back({"groups", text_of_groups(p)});
    lower::choose_core_ways(p);
    made.push_back({"ways", text_of_ways(one, p)});
    add_nest(one, lower::lower_cpu(p).module, ir::nest::Runs::on_cores, made);
    return made;
  }
  lower::choose_device_ways(p);
  made.push_back({"ways", text_of_ways(one, p)});
  const lower::DeviceProgram program = lower::lower_device(p);
  made.push_back({"kernels", text_of_kernels(p, program)});
  made.push_back({"launches", text_of_launches(p, program)});
  add_nest(one, program.module, ir::nest::Runs::on_devices, made);
  return made;
}

std::vector<Part> outlined(const PassCase& one) {
  ir::nest::Module module = ir::nest::parse_module(one.input);
  ir::nest::verify(module);
  lower::outline_blocks(module, static_cast<std::size_t>(std::stoul(one.option("large", "1"))));
  return {{"nest", checked_text(module, ir::nest::Runs::on_cores)}};
}

}  // namespace tessera::passes
