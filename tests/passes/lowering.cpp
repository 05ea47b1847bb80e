// Groups as loop nests: the way that a device takes them, its kernels, and the functions of cores.
#include <fmt/format.h>

#include <sstream>
#include <stdexcept>

#include "lower/device.hpp"
#include "lower/interface.hpp"
#include "lower/outline.hpp"
#include "lower/ways/ways.hpp"
#include "options.hpp"

namespace tessera::passes {

namespace {

std::string checked_text(const ir::nest::Module& module) {
  ir::nest::verify(module);
  const std::string text = ir::nest::print(module);
  const ir::nest::Module back = ir::nest::parse_module(text);
  ir::nest::verify(back);
  if (ir::nest::print(back) != text) throw std::runtime_error("the text of a nest does not read back:\n" + text);
  return text;
}

// Its functions, loops, branches, calls and stores, without what they are of: a line each, with how often it comes.
std::string loops_of(const std::string& text) {
  std::istringstream lines(text);
  std::vector<std::pair<std::string, int>> kept;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t at = line.find_first_not_of(' ');
    if (at == std::string::npos) continue;
    const std::vector<std::string> list = words(line.substr(at));
    const std::string& word = list.front();
    std::string shown;
    if (word == "function")
      shown = line.substr(0, line.find(" (")) + " {";
    else if (word == "for" || word == "call")
      shown = line.substr(0, at) + word + " " + list.at(1) + (word == "for" ? " {" : "");
    else if (word == "if" || word == "do")
      shown = line.substr(0, at) + word + " {";
    else if (word == "store" || word == "stream")
      shown = line.substr(0, at) + word;
    else if (word == "}")
      shown = line;
    if (shown.empty()) continue;
    const bool closes = word == "}" && list.size() == 1;
    if (closes && kept.back().first.ends_with("else {"))
      kept.back().first = shown;
    else if (closes && kept.back().first.ends_with("{") && !kept.back().first.starts_with("function"))
      kept.pop_back();  // nothing that is shown is inside
    else if (!kept.empty() && kept.back().first == shown && !closes)
      ++kept.back().second;
    else
      kept.emplace_back(shown, 1);
  }
  std::string result;
  for (const auto& [line, times] : kept) result += line + (times > 1 ? fmt::format(", {} times\n", times) : "\n");
  return result;
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
      throw std::runtime_error(fmt::format("{}: '{}' is taken, not '{}'\n{}", one.name, taken.way,
                                           one.option("way", ""), text));
  }
  return text;
}

std::string text_of_kernels(const lower::DeviceProgram& program) {
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
    text += "\n";
    for (const auto& r : k.reads)
      text += r.whole ? fmt::format("  reads all of array {}\n", k.arrays[r.array])
                      : fmt::format("  reads array {} from {} i {:+} to {:+}\n", k.arrays[r.array], r.scale, r.lo, r.hi);
    for (const auto& r : k.writes)
      text += fmt::format("  writes array {} from {} i {:+} to {:+}\n", k.arrays[r.array], r.scale, r.lo, r.hi);
    if (!k.why.empty()) text += fmt::format("  no strips: {}\n", k.why);
  }
  return text;
}

void add_nest(const PassCase& one, const ir::nest::Module& module, std::vector<Part>& made) {
  const std::string text = checked_text(module), show = one.option("show", "nest");
  if (show == "nest")
    made.push_back({"nest", text});
  else if (show == "loops")
    made.push_back({"loops", loops_of(text)});
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
    add_nest(one, lower::lower_cpu(p).module, made);
    return made;
  }
  lower::choose_ways(p);
  made.push_back({"ways", text_of_ways(one, p)});
  const lower::DeviceProgram program = lower::lower_device(p);
  made.push_back({"kernels", text_of_kernels(program)});
  add_nest(one, program.module, made);
  return made;
}

std::vector<Part> outlined(const PassCase& one) {
  ir::nest::Module module = ir::nest::parse_module(one.input);
  ir::nest::verify(module);
  lower::outline_blocks(module, static_cast<std::size_t>(std::stoul(one.option("large", "1"))));
  return {{"nest", checked_text(module)}};
}

}  // namespace tessera::passes
