// `tessera emit`: the code that would run, as text.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/files.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/options.hpp"
#include "cli/verbs.hpp"
#include "tessera/error.hpp"

namespace tessera::cli {
namespace {

struct EmitVerb {
  ProgramOptions program;
  PlanOptions plan;
  std::string target = "c", name, output, header, size, max_size;
  std::optional<int> lanes;
  std::vector<std::string> inputs;
  std::optional<double> error, frequency;
  std::optional<int> additions;

  bool hardware() const { return target == "hls" || target == "verilog"; }
};

// `--input image=uint8`, or `gain=uint16.8` with bits of fraction.
std::pair<std::string, HardwareOptions::Input> fixed_input(const std::string& text) {
  const auto fail = [&] {
    throw Error(
        ErrorClass::argument,
        fmt::format("--input is {}; expected NAME=TYPE or NAME=TYPE.BITS with an integer type", base::quoted(text)), {},
        "for example --input image=uint8");
  };
  const std::size_t equals = text.find('='), dot = text.find('.', equals == std::string::npos ? 0 : equals);
  if (equals == 0 || equals == std::string::npos) fail();
  HardwareOptions::Input input;
  const std::string type = text.substr(equals + 1, dot == std::string::npos ? dot : dot - equals - 1);
  bool known = false;
  for (const ElementType t : {ElementType::u8, ElementType::i16, ElementType::u16, ElementType::i32, ElementType::u32})
    if (type == name_of(t)) input.type = t, known = true;
  if (!known) fail();
  if (dot != std::string::npos) {
    const auto bits = base::parse_integer(std::string_view(text).substr(dot + 1));
    if (!bits || *bits < 0 || *bits > 32) fail();
    input.fraction = static_cast<int>(bits.value_or(0));
  }
  return {text.substr(0, equals), input};
}

// `--size 1080x1920`, or `--max-size`, `--lanes` and numbers: of targets that are hardware.
HardwareOptions hardware_options(const EmitVerb& verb) {
  HardwareOptions own;
  const bool any = !verb.size.empty() || !verb.max_size.empty() || verb.lanes || !verb.inputs.empty() || verb.error ||
                   verb.additions;
  if (!verb.hardware() && any)
    throw Error(
        ErrorClass::argument,
        fmt::format("--size, --max-size, --lanes, --input, --error and --additions are of targets hls and verilog; the "
                    "target is {}",
                    base::quoted(verb.target)));
  if (verb.frequency && verb.target != "verilog")
    throw Error(ErrorClass::argument,
                fmt::format("--frequency is of target verilog; the target is {}", base::quoted(verb.target)));
  own.frequency = verb.frequency.value_or(own.frequency);
  own.additions = verb.additions.value_or(own.additions);
  for (const std::string& text : verb.inputs) {
    auto [name, given] = fixed_input(text);
    own.inputs[name] = given;
  }
  if (verb.error && !(*verb.error > 0))
    throw Error(ErrorClass::argument, fmt::format("--error is {}; expected a positive number", *verb.error));
  own.error = verb.error.value_or(0);
  if (!verb.size.empty() && !verb.max_size.empty())
    throw Error(ErrorClass::argument, "--size and --max-size were both given; expected one of them");
  own.fixed = verb.max_size.empty();
  own.lanes = verb.lanes.value_or(1);
  const std::string& text = own.fixed ? verb.size : verb.max_size;
  if (text.empty()) return own;
  const std::string_view option = own.fixed ? "--size" : "--max-size";
  const Shape shape = parse_shape(text, option);
  if (shape.size() != 2)
    throw Error(ErrorClass::argument, fmt::format("{} is {}; expected HEIGHTxWIDTH", option, base::quoted(text)));
  own.height = shape[0];
  own.width = shape[1];
  return own;
}

int emit(const EmitVerb& verb) {
  const RunOptions plan = verb.plan.run_options();
  const HardwareOptions hardware = hardware_options(verb);
  const bool opencl = verb.target == "opencl", beside = opencl || verb.hardware();
  // The host file stands beside the kernels, which it reads by the name that they have there; a test bench beside what
  // it tests.
  const std::filesystem::path kernels = verb.output;
  const std::string host =
      opencl ? std::filesystem::path(kernels).replace_extension(".c").string()
             : (kernels.parent_path() / (kernels.stem().string() + "_test" + kernels.extension().string())).string();
  if (opencl && !verb.output.empty() && host == verb.output)
    throw Error(ErrorClass::argument,
                fmt::format("the kernels cannot be {}, since the host's file beside them has that name",
                            base::quoted(verb.output)),
                {}, "call them .cl");
  const bool same = !verb.header.empty() && (verb.header == verb.output || (beside && verb.header == host));
  if (same)
    throw Error(ErrorClass::argument,
                fmt::format("the header cannot be {}, which holds the code", base::quoted(verb.header)));
  std::map<std::string, double> scalars;
  const Program program = verb.program.load(scalars);
  if (!scalars.empty())
    throw Error(ErrorClass::argument, fmt::format("-p sets {}, which is an argument of the emitted function",
                                                  base::quoted(scalars.begin()->first)));
  for (const Diagnostic& warning : program.warnings()) fmt::print(stderr, "{}", warning.render());
  const EmittedCode code =
      program.emit({.target = verb.target,
                    .name = verb.name.empty() ? identifier_of(verb.program.path) : verb.name,
                    .schedule = plan.schedule,
                    .numbers = plan.numbers,
                    .method = plan.method,
                    .tile_rows = plan.tile_rows,
                    .tile_columns = plan.tile_columns,
                    .kernels_file = verb.output.empty() ? "filter.cl" : kernels.filename().string(),
                    .hardware = hardware});
  // All files are complete before the first one takes its name.
  std::vector<std::unique_ptr<base::AtomicFile>> files;
  const auto write = [&](const std::string& path, const std::string& text) {
    files.push_back(std::make_unique<base::AtomicFile>(path));
    files.back()->write(std::as_bytes(std::span(text)));
    files.back()->sync();
  };
  if (!verb.output.empty()) write(verb.output, code.source);
  if (!verb.output.empty() && beside) write(host, code.host);
  if (!verb.header.empty()) write(verb.header, code.header);
  for (const auto& file : files) file->commit();
  if (verb.output.empty()) fmt::print("{}", code.source);
  return done;
}

}  // namespace

Verb add_emit(CLI::App& root) {
  CLI::App* app = root.add_subcommand("emit", "print the code of a target");
  auto verb = std::make_shared<EmitVerb>();
  verb->program.declare(*app);
  app->add_option(
         "--target", verb->target,
         "c; cuda; opencl: kernels, and a host file in C beside them; hls: C++ for synthesis, verilog: SystemVerilog, "
         "each with a test bench beside it")
      ->type_name("NAME");
  app->add_option("--size", verb->size, "extents of frames, of hls and verilog")->type_name("HEIGHTxWIDTH");
  app->add_option("--max-size", verb->max_size,
                  "the largest extents of frames, which are arguments, of hls and verilog")
      ->type_name("HEIGHTxWIDTH");
  app->add_option("--lanes", verb->lanes, "pixels a clock, of hls and verilog: 1, 2, 4 or 8 (1)")->type_name("N");
  app->add_option("--input", verb->inputs,
                  "integers that come in for an argument of floats, of hls and verilog: image=uint8, "
                  "gain=uint16.8 with 8 bits of fraction")
      ->type_name("NAME=TYPE");
  app->add_option("--error", verb->error,
                  "of what is float in the program, at most, of verilog, and of hls, which then has fixed point")
      ->type_name("E");
  app->add_option("--frequency", verb->frequency, "to reach on an ECP5 of speed 8, of verilog (200)")->type_name("MHZ");
  app->add_option("--additions", verb->additions,
                  "that a product with a constant takes at most before it becomes a multiplier, of hls and verilog (2)")
      ->type_name("N");
  app->add_option("--name", verb->name, "of the function (the program's file name)")->type_name("NAME");
  app->add_option("-o,--output", verb->output, "file of the code instead of standard output")->type_name("FILE");
  app->add_option("--header", verb->header, "file of a header that declares the function")->type_name("FILE");
  verb->plan.declare_plan(*app);
  return {app, [verb] { return emit(*verb); }};
}

}  // namespace tessera::cli
