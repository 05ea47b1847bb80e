// `tessera explain`: what the plan decided for images of a given size, and why.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "base/files.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/filter_options.hpp"
#include "cli/hardware_options.hpp"
#include "cli/options.hpp"
#include "cli/verbs.hpp"
#include "engine/filters.hpp"
#include "tessera/error.hpp"
#include "tessera/hardware.hpp"

namespace tessera::cli {
namespace {

struct ExplainVerb {
  ProgramOptions program;
  std::string filter;  // a standard filter instead of a program
  FilterOptions filter_options;
  PlanOptions plan;
  HardwareFlags hardware;
  std::string name;                // of the module or top function
  std::vector<std::string> sizes;  // "2160x3840" or "name=2160x3840"
  std::string svg, output;
  bool json = false;
};

// The extents of an input that the program states as numbers: "480 x 640"; empty otherwise.
Shape stated_shape(const Parameter& p) {
  Shape shape;
  for (std::string_view part : base::split(p.extents, 'x')) {
    const auto extent = base::parse_integer(base::trim(part));
    if (!extent) return {};
    shape.push_back(*extent);
  }
  return static_cast<int>(shape.size()) == p.rank ? shape : Shape{};
}

// One shape per input: by name, as the program states it, by position, as an input with the same extents, and at last
// the first size of the right rank.
std::vector<Shape> input_shapes(const Program& program, const std::vector<std::string>& sizes) {
  const auto& inputs = program.inputs();
  std::vector<Shape> shapes(inputs.size()), by_position;
  std::vector<std::string> names;
  for (const Parameter& p : inputs)
    if (p.is_array) names.push_back(p.name);
  for (const std::string& size : sizes) {
    const auto [name, text] = cut_name(size);
    if (name.empty()) {
      by_position.push_back(parse_shape(text, "--size"));
      continue;
    }
    bool found = false;
    for (std::size_t i = 0; i < inputs.size(); ++i)
      if (inputs[i].is_array && inputs[i].name == name) {
        shapes[i] = parse_shape(text, "--size");
        found = true;
      }
    if (!found)
      throw Error(
          ErrorClass::argument,
          fmt::format("--size names {}, the array inputs are: {}", base::quoted(name), base::list_of(names, "and")), {},
          base::did_you_mean(name, names));
  }
  std::size_t next = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Parameter& p = inputs[i];
    if (!p.is_array) continue;
    if (shapes[i].empty()) shapes[i] = stated_shape(p);
    for (std::size_t k = 0; k < i && shapes[i].empty(); ++k)
      if (inputs[k].is_array && inputs[k].extents == p.extents) shapes[i] = shapes[k];
    if (shapes[i].empty() && next < by_position.size()) shapes[i] = by_position[next++];
    for (const Shape& s : by_position)
      if (shapes[i].empty() && static_cast<int>(s.size()) == p.rank) shapes[i] = s;
    if (shapes[i].empty())
      throw Error(ErrorClass::argument, fmt::format("the size of input '{}' [{}] is not known", p.name, p.extents), {},
                  fmt::format("add --size {}=EXTENTS, for example {}", p.name,
                              p.rank == 1   ? "1000000"
                              : p.rank == 2 ? "2160x3840"
                                            : "256x256x256"));
    if (static_cast<int>(shapes[i].size()) != p.rank)
      throw Error(ErrorClass::argument, fmt::format("--size {} has rank {}, expected rank {} for input '{}' [{}]",
                                                    to_string(shapes[i]), shapes[i].size(), p.rank, p.name, p.extents));
  }
  if (next < by_position.size())
    throw Error(ErrorClass::argument,
                fmt::format("--size {} is one too many for this program", to_string(by_position[next])));
  return shapes;
}

// The program of a standard filter for images of float, or of the type that its result is to have.
Program filter_program(const ExplainVerb& verb, std::vector<Shape>& shapes) {
  if (!verb.program.path.empty())
    throw Error(ErrorClass::argument, fmt::format("--filter {} and the program {} are given, expected one of them",
                                                  base::quoted(verb.filter), base::quoted(verb.program.path)));
  static_cast<void>(engine::filter_info(verb.filter));
  if (verb.sizes.size() != 1)
    throw Error(ErrorClass::argument, fmt::format("--filter needs one --size, {} are given", verb.sizes.size()), {},
                "add --size ROWSxCOLUMNS");
  const Shape size = parse_shape(verb.sizes[0], "--size");
  const int rank = static_cast<int>(size.size());
  const FilterRequest request = verb.filter_options.request(verb.filter, rank, {});
  const auto filter = engine::make_filter(request, request.type.value_or(ElementType::f32), rank);
  static_cast<void>(filter->place(size));
  if (!request.mask.empty()) static_cast<void>(engine::mask_for(request.mask, size));
  shapes.assign(filter->program.inputs().size(), filter->input_shape(size));
  return filter->program;
}

// `name`, of a size: empty or the first image's, whose extents are those of a circuit's frames.
void require_first_input(const Program& program, const std::string& name) {
  const auto& inputs = program.inputs();
  const auto first = std::find_if(inputs.begin(), inputs.end(), [](const Parameter& p) { return p.is_array; });
  if (name.empty() || (first != inputs.end() && first->name == name)) return;
  throw Error(ErrorClass::argument,
              fmt::format("--size names {}; a circuit's frames have the extents of its first image{}",
                          base::quoted(name), first == inputs.end() ? "" : ", " + base::quoted(first->name)));
}

// What would be emitted for frames of one size.
int explain_circuit(const ExplainVerb& verb) {
  const std::string& target = verb.plan.target;
  const char* const stranger = !verb.filter.empty()                                           ? "--filter"
                               : !verb.svg.empty()                                            ? "--svg"
                               : !verb.plan.tile.empty()                                      ? "--tile"
                               : verb.plan.schedule != "auto"                                 ? "--schedule"
                               : verb.plan.method != "auto"                                   ? "--method"
                               : !verb.plan.compiler.empty()                                  ? "--compiler"
                               : verb.plan.threads != 0                                       ? "--threads"
                               : verb.plan.device != 0 || verb.plan.device_memory.has_value() ? "--device"
                                                                                              : nullptr;
  if (stranger != nullptr) throw Error(ErrorClass::argument, fmt::format("{} is not of --target {}", stranger, target));
  if (verb.program.path.empty())
    throw Error(ErrorClass::argument, "program is required", {}, "tessera explain --help lists what can be given");
  if (verb.sizes.size() > 1)
    throw Error(ErrorClass::argument, fmt::format("{} sizes were given; expected one, of the frames of target {}",
                                                  verb.sizes.size(), target));
  EmitOptions options;
  options.target = target;
  options.name = verb.name.empty() ? identifier_of(verb.program.path) : verb.name;
  const auto [of, size] = cut_name(verb.sizes.empty() ? "" : verb.sizes.front());
  options.hardware = verb.hardware.options(target, size);
  std::map<std::string, double> scalars;
  const Program program = verb.program.load(scalars);
  require_first_input(program, of);
  fmt::print("{}", explain_hardware(program, options, verb.json ? ExplainFormat::json : ExplainFormat::text));
  return done;
}

int explain(const ExplainVerb& verb) {
  if (is_hardware_target(verb.plan.target)) return explain_circuit(verb);
  static_cast<void>(verb.hardware.options(verb.plan.target, ""));  // refuses what is of hardware alone
  const RunOptions options = verb.plan.run_options();
  if (verb.filter.empty() && verb.program.path.empty())
    throw Error(ErrorClass::argument, "program is required", {}, "tessera explain --help lists what can be given");
  std::map<std::string, double> scalars;
  std::vector<Shape> shapes;
  const Program program = verb.filter.empty() ? verb.program.load(scalars) : filter_program(verb, shapes);
  if (verb.filter.empty()) shapes = input_shapes(program, verb.sizes);
  if (!verb.svg.empty())
    base::write_file(verb.svg, std::string_view(program.explain(shapes, options, ExplainFormat::svg)));
  if (verb.svg.empty() || verb.json)
    fmt::print("{}", program.explain(shapes, options, verb.json ? ExplainFormat::json : ExplainFormat::text));
  return done;
}

}  // namespace

Verb add_explain(CLI::App& root) {
  CLI::App* app = root.add_subcommand("explain", "say how a program will run, and why");
  auto verb = std::make_shared<ExplainVerb>();
  verb->program.declare(*app, false);
  app->add_option("--filter", verb->filter, "explain a standard filter, with its options, instead of a program")
      ->type_name("NAME");
  verb->filter_options.declare_later(*app);
  app->add_option("--size", verb->sizes, "extents of an input, slowest first")
      ->allow_extra_args(false)
      ->type_name("[NAME=]ROWSxCOLUMNS");
  app->add_option("--svg", verb->svg, "draw the plan into this file")->type_name("FILE");
  app->add_flag("--json", verb->json, "as JSON");
  verb->plan.declare_run(*app);
  app->get_option("--target")->description("cpu, cuda or opencl; hls or verilog, of frames of --size");
  verb->hardware.declare(*app);
  app->add_option("--name", verb->name, "of what hls and verilog emit (the program's file name)")->type_name("NAME");
  return {app, [verb] { return explain(*verb); }};
}

}  // namespace tessera::cli
