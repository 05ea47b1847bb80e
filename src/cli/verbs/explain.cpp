// `tessera explain`: what the plan decided for images of a given size, and why; of files also what a run on them takes.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <span>

#include "base/files/files.hpp"
#include "base/process/interrupt.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/execute/calls.hpp"
#include "cli/execute/pages.hpp"
#include "cli/options/explain_sizes.hpp"
#include "cli/options/filter_options.hpp"
#include "cli/options/hardware_options.hpp"
#include "cli/options/options.hpp"
#include "cli/tell.hpp"
#include "cli/verbs.hpp"
#include "engine/filters/filters.hpp"
#include "io/image.hpp"
#include "io/regions/regions.hpp"
#include "tessera/error.hpp"
#include "tessera/hardware.hpp"

namespace tessera::cli {
namespace {

struct ExplainVerb {
  ProgramOptions program;
  std::string filter;  // a standard filter instead of a program
  FilterOptions filter_options;
  std::vector<std::string> words;            // files, as `run` and `filter` take them
  RunSettings settings;                      // of a run on them
  std::vector<const CLI::Option*> of_files;  // options that mean nothing without files
  HardwareFlags hardware;
  std::string name;                // of the module or top function
  std::vector<std::string> sizes;  // "2160x3840" or "name=2160x3840"
  std::string svg;
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
  const std::string& target = verb.settings.plan.target;
  const char* const stranger = !verb.filter.empty()                    ? "--filter"
                               : !verb.svg.empty()                     ? "--svg"
                               : !verb.settings.plan.tile.empty()      ? "--tile"
                               : verb.settings.plan.schedule != "auto" ? "--schedule"
                               : verb.settings.plan.method != "auto"   ? "--method"
                               : !verb.settings.plan.compiler.empty()  ? "--compiler"
                               : verb.settings.plan.threads != 0       ? "--threads"
                               : verb.settings.plan.device != 0 || verb.settings.plan.device_memory.has_value()
                                   ? "--device"
                               : verb.settings.plan.devices.has_value() ? "--devices"
                                                                        : nullptr;
  if (stranger != nullptr) throw Error(ErrorClass::argument, fmt::format("{} is not of --target {}", stranger, target));
  if (verb.program.path.empty())
    throw Error(ErrorClass::argument, "program is required", {}, "tessera explain --help lists what can be given");
  if (!verb.words.empty())
    throw Error(ErrorClass::argument, fmt::format("{} is given, but a circuit of target {} takes frames of --size",
                                                  base::quoted(verb.words.front()), target));
  if (verb.sizes.size() > 1)
    throw Error(ErrorClass::argument, fmt::format("{} sizes were given; expected one, of the frames of target {}",
                                                  verb.sizes.size(), target));
  EmitOptions options;
  options.target = target;
  options.name = verb.name.empty() ? identifier_of(verb.program.path) : verb.name;
  std::map<std::string, double> scalars;
  const Program program = verb.program.load(scalars, verb.settings.plan.compile_limit);
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

// What a program is run on, as far as files say it.
struct Explained {
  Program program;
  InputShapes shapes;
  std::string forecast;
};

Explained of_sizes(const ExplainVerb& verb) {
  for (const CLI::Option* option : verb.of_files)
    if (!option->empty())
      throw Error(ErrorClass::argument, fmt::format("{} is of a run on files, but none is given", option->get_name()),
                  {}, verb.filter.empty() ? "name the files behind the program" : "name a file");
  InputShapes shapes;
  if (!verb.filter.empty()) {
    const Program program = filter_program(verb, shapes);
    return {program, shapes, ""};
  }
  std::map<std::string, double> scalars;
  std::vector<SourceFile> sources;
  const Program program = verb.program.load(scalars, verb.settings.plan.compile_limit, &sources);
  check_no_source(sources, verb.svg);
  return {program, input_shapes(program, verb.sizes), ""};
}

Explained of_files(const ExplainVerb& verb, const base::InterruptGuard& interrupt) {
  if (!verb.sizes.empty())
    throw Error(ErrorClass::argument,
                fmt::format("--size {} is given beside files, which have extents", base::quoted(verb.sizes.front())));
  RunSettings settings = verb.settings;
  settings.dry = true;
  settings.warns = false;
  const auto one_of = [](const std::vector<std::string>& files) {
    if (files.size() != 1)
      throw Error(ErrorClass::argument,
                  fmt::format("{} files are given, expected one: a plan is of a run on one file", files.size()));
    return files.front();
  };
  FilterCall call{verb.filter_options, verb.filter};
  if (!verb.filter.empty()) call.share_range(settings);
  settings.check();
  mark_pages(settings.output.files, settings.input.reading.pages);
  std::unique_ptr<Execution> execution;
  if (verb.filter.empty()) {
    std::map<std::string, double> scalars;
    const Program program = verb.program.load(scalars, settings.plan.compile_limit, &settings.output.sources);
    check_no_source(settings.output.sources, verb.svg);
    const Words words = words_of(program, verb.words, scalars);
    execution = std::make_unique<Execution>(program, identifier_of(verb.program.path),
                                            words.files.empty() ? verb.words : words.of(one_of(words.files)), scalars,
                                            std::move(settings), interrupt);
  } else {
    execution = call.open(one_of(verb.words), std::move(settings), interrupt);
  }
  execution->read();
  std::string forecast = execution->forecast();  // before the plan takes memory
  return {execution->program(), {execution->shapes(), {}}, std::move(forecast)};
}

// The words before files are files of a filter, too.
void sort_words(ExplainVerb& verb) {
  const std::string& first = verb.program.path;
  if (verb.filter.empty() || first.empty()) return;
  if (first != "-" && !io::is_readable_name(first) && !io::is_array_folder(first))
    throw Error(ErrorClass::argument, fmt::format("--filter {} and the program {} are given, expected one of them",
                                                  base::quoted(verb.filter), base::quoted(first)));
  verb.words.insert(verb.words.begin(), first);
  verb.program.path.clear();
}

int explain(ExplainVerb& verb) {
  sort_words(verb);
  if (is_hardware_target(verb.settings.plan.target)) return explain_circuit(verb);
  static_cast<void>(verb.hardware.options(verb.settings.plan.target, ""));  // refuses what is of hardware alone
  const RunOptions options = verb.settings.plan.run_options();
  if (verb.filter.empty() && verb.program.path.empty())
    throw Error(ErrorClass::argument, "program is required", {}, "tessera explain --help lists what can be given");
  const base::InterruptGuard interrupt;
  const auto [program, shapes, forecast] = verb.words.empty() ? of_sizes(verb) : of_files(verb, interrupt);
  tell_assumed(verb, shapes.assumed);
  std::vector<std::unique_ptr<base::AtomicFile>> picture;
  if (!verb.svg.empty()) {
    const std::string text = program.explain(shapes.shapes, options, ExplainFormat::svg);
    picture.push_back(std::make_unique<base::AtomicFile>(verb.svg));
    picture.back()->write(std::as_bytes(std::span(text)));
  }
  if (verb.svg.empty() || verb.json)
    fmt::print("{}", program.explain(shapes.shapes, options, verb.json ? ExplainFormat::json : ExplainFormat::text));
  if (!forecast.empty() && verb.svg.empty() && !verb.json) fmt::print("\n{}\n", forecast);
  if (!forecast.empty() && (!verb.svg.empty() || verb.json)) tell("{}\n", forecast);
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
  app->add_option("files", verb->words,
                  "what it would run on, as `tessera run` or `filter` takes it: instead of --size")
      ->type_name("FILE...");
  app->add_option("--size", verb->sizes, "extents of an input, slowest first (1080x1920, 256x256x256)")
      ->allow_extra_args(false)
      ->type_name("[NAME=]ROWSxCOLUMNS");
  app->add_option("--svg", verb->svg, "draw the plan into this file")->type_name("FILE");
  app->add_flag("--json", verb->json, "as JSON");
  const std::size_t before = app->get_options().size();
  verb->settings.declare_files(*app);
  const std::vector<CLI::Option*> all = app->get_options();
  for (std::size_t k = before; k < all.size(); ++k) {
    all[k]->group("Inputs and results");
    verb->of_files.push_back(all[k]);
  }
  verb->settings.plan.declare_run(*app);
  app->get_option("--target")->description("cpu, cuda or opencl; hls or verilog, of frames of --size");
  verb->hardware.declare(*app);
  app->add_option("--name", verb->name, "of what hls and verilog emit (the program's file name)")->type_name("NAME");
  verb->filter_options.declare_later(*app);
  return {app, [verb] { return explain(*verb); }};
}

}  // namespace tessera::cli
