// `tessera emit`: the code that would run, as text.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/files.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/hardware_options.hpp"
#include "cli/options.hpp"
#include "cli/verbs.hpp"
#include "tessera/error.hpp"

namespace tessera::cli {
namespace {

struct EmitVerb {
  ProgramOptions program;
  PlanOptions plan;
  HardwareFlags flags;
  std::string target = "c", output, header, size;
  std::optional<std::string> name;
};

// The program itself is not written over.
void require_other_file(const EmitVerb& verb, const std::string& path) {
  std::error_code none;
  if (!path.empty() && std::filesystem::equivalent(path, verb.program.path, none))
    throw Error(ErrorClass::argument, fmt::format("{} cannot be written, it is the program", base::quoted(path)));
}

int emit(const EmitVerb& verb) {
  static const std::vector<std::string> targets = {"c", "cuda", "opencl", "hls", "verilog"};
  if (std::find(targets.begin(), targets.end(), verb.target) == targets.end())
    throw Error(ErrorClass::argument,
                fmt::format("there is no target {}; expected {}", base::quoted(verb.target), base::list_of(targets)),
                {}, base::did_you_mean(verb.target, targets));
  if (verb.target == "verilog" && !verb.header.empty())
    throw Error(ErrorClass::argument, "--header is not of target verilog, which has no headers");
  if (verb.name && verb.name->empty())
    throw Error(ErrorClass::argument, "--name is empty; expected the name of the function");
  const RunOptions plan = verb.plan.run_options();
  if (verb.target == "verilog" && plan.numbers == Numbers::exact)
    throw Error(ErrorClass::argument, "--exact is not of target verilog, whose floats are in fixed point", {},
                "--error says how far results may be off");
  const HardwareOptions hardware = verb.flags.options(verb.target, verb.size);
  const bool opencl = verb.target == "opencl", beside = opencl || is_hardware_target(verb.target);
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
  require_other_file(verb, verb.output);
  require_other_file(verb, verb.header);
  if (beside && !verb.output.empty()) require_other_file(verb, host);
  std::map<std::string, double> scalars;
  const Program program = verb.program.load(scalars);
  if (!scalars.empty())
    throw Error(ErrorClass::argument, fmt::format("-p sets {}, which is an argument of the emitted function",
                                                  base::quoted(scalars.begin()->first)));
  for (const Diagnostic& warning : program.warnings()) fmt::print(stderr, "{}", warning.render());
  const EmittedCode code =
      program.emit({.target = verb.target,
                    .name = verb.name ? *verb.name : identifier_of(verb.program.path),
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
  app->add_option("--target", verb->target, "c, cuda, opencl (beside it a host file in C), hls, verilog (a test bench)")
      ->type_name("NAME");
  app->add_option("--size", verb->size, "extents of the frames of hls and verilog")->type_name("HEIGHTxWIDTH");
  verb->flags.declare(*app);
  app->add_option("--name", verb->name, "of the function (the program's file name)")->type_name("NAME");
  app->add_option("-o,--output", verb->output, "file of the code instead of standard output")->type_name("FILE");
  app->add_option("--header", verb->header, "file of a header that declares the function")->type_name("FILE");
  verb->plan.declare_plan(*app);
  return {app, [verb] { return emit(*verb); }};
}

}  // namespace tessera::cli
