// `tessera explain`: what the plan decided for images of a given size, and why.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <span>

#include "base/files/files.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/options/explain_sizes.hpp"
#include "cli/options/filter_options.hpp"
#include "cli/options/hardware_options.hpp"
#include "cli/options/options.hpp"
#include "cli/tell.hpp"
#include "cli/verbs.hpp"
#include "engine/filters/filters.hpp"
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

// The rank for which a filter is explained without a size: that of images where the filter has it and its weights fit.
int filter_rank(const ExplainVerb& verb) {
  const std::vector<int>& ranks = engine::filter_info(verb.filter).ranks;
  const bool images = ranks.empty() || std::find(ranks.begin(), ranks.end(), 2) != ranks.end();
  return std::max(images ? 2 : ranks.front(), verb.filter_options.table_rank());
}

// The program of a standard filter for images of float, or of the type that its result is to have.
Program filter_program(const ExplainVerb& verb, InputShapes& shapes) {
  if (!verb.program.path.empty())
    throw Error(ErrorClass::argument, fmt::format("--filter {} and the program {} are given, expected one of them",
                                                  base::quoted(verb.filter), base::quoted(verb.program.path)));
  static_cast<void>(engine::filter_info(verb.filter));
  if (verb.sizes.size() > 1)
    throw Error(ErrorClass::argument, fmt::format("--filter takes one --size, {} are given", verb.sizes.size()));
  Shape size = verb.sizes.empty() ? assumed_shape(filter_rank(verb)) : parse_shape(verb.sizes[0], "--size");
  const int rank = static_cast<int>(size.size());
  const FilterRequest request = verb.filter_options.request(verb.filter, rank, {});
  if (verb.sizes.empty() && request.mask.rank() == rank)
    size = request.mask.shape();
  else if (verb.sizes.empty())
    shapes.assumed = {fmt::format("image {}", fmt::join(size, " x "))};
  const auto filter = engine::make_filter(request, request.type.value_or(ElementType::f32), rank);
  static_cast<void>(filter->place(size));
  if (!request.mask.empty()) static_cast<void>(engine::mask_for(request.mask, size));
  shapes.shapes.assign(filter->program.inputs().size(), filter->input_shape(size));
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

// "480x640" where the program states the extents of its first image; "" otherwise.
std::string stated_frame(const Program& program) {
  for (const Parameter& p : program.inputs())
    if (p.is_array && p.rank == 2) return fmt::format("{}", fmt::join(stated_shape(p), "x"));
  return "";
}

// Text says it first; beside JSON and a picture, which others read, it stands on standard error.
void tell_assumed(const ExplainVerb& verb, const std::vector<std::string>& assumed) {
  const std::string note = note_of_assumed(assumed);
  if (note.empty()) return;
  if (verb.json || !verb.svg.empty())
    tell("note: {}\n", note);
  else
    fmt::print("{}\n", note);
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
                               : verb.plan.devices.has_value()                                ? "--devices"
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
  std::map<std::string, double> scalars;
  const Program program = verb.program.load(scalars, verb.plan.compile_limit);
  const auto [of, given] = cut_name(verb.sizes.empty() ? "" : verb.sizes.front());
  require_first_input(program, of);
  std::string size = given;
  if (size.empty() && verb.hardware.max_size.empty()) size = stated_frame(program);
  if (size.empty() && verb.hardware.max_size.empty()) {
    size = fmt::format("{}", fmt::join(assumed_shape(2), "x"));
    tell_assumed(verb, {fmt::format("frames of {}", size)});
  }
  options.hardware = verb.hardware.options(target, size);
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
  InputShapes shapes;
  std::vector<SourceFile> sources;
  const Program program = verb.filter.empty() ? verb.program.load(scalars, verb.plan.compile_limit, &sources)
                                              : filter_program(verb, shapes);
  check_no_source(sources, verb.svg);
  if (verb.filter.empty()) shapes = input_shapes(program, verb.sizes);
  tell_assumed(verb, shapes.assumed);
  std::vector<std::unique_ptr<base::AtomicFile>> picture;
  if (!verb.svg.empty()) {
    const std::string text = program.explain(shapes.shapes, options, ExplainFormat::svg);
    picture.push_back(std::make_unique<base::AtomicFile>(verb.svg));
    picture.back()->write(std::as_bytes(std::span(text)));
  }
  if (verb.svg.empty() || verb.json)
    fmt::print("{}", program.explain(shapes.shapes, options, verb.json ? ExplainFormat::json : ExplainFormat::text));
  flush_standard_output();  // before the picture replaces one
  base::AtomicFile::commit_all(picture);
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
  app->add_option("--size", verb->sizes, "extents of an input, slowest first (1080x1920, 256x256x256)")
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
