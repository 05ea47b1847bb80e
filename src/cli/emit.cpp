// `tessera emit`: the code that would run, as text.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

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
  std::string target = "c", name, output, header;
};

int emit(const EmitVerb& verb) {
  const RunOptions plan = verb.plan.run_options();
  std::map<std::string, double> scalars;
  const Program program = verb.program.load(scalars);
  if (!scalars.empty())
    throw Error(ErrorClass::argument, fmt::format("-p sets {}, which is an argument of the emitted function",
                                                  base::quoted(scalars.begin()->first)));
  for (const Diagnostic& warning : program.warnings()) fmt::print(stderr, "{}", warning.render());
  const EmittedCode code = program.emit({.target = verb.target,
                                         .name = verb.name.empty() ? identifier_of(verb.program.path) : verb.name,
                                         .schedule = plan.schedule,
                                         .numbers = plan.numbers,
                                         .tile_rows = plan.tile_rows,
                                         .tile_columns = plan.tile_columns});
  if (verb.output.empty())
    fmt::print("{}", code.source);
  else
    base::write_file(verb.output, std::string_view(code.source));
  if (!verb.header.empty()) base::write_file(verb.header, std::string_view(code.header));
  return done;
}

}  // namespace

Verb add_emit(CLI::App& root) {
  CLI::App* app = root.add_subcommand("emit", "print the code of a target");
  auto verb = std::make_shared<EmitVerb>();
  verb->program.declare(*app);
  app->add_option("--target", verb->target, "c")->type_name("NAME");
  app->add_option("--name", verb->name, "of the function (the program's file name)")->type_name("NAME");
  app->add_option("-o,--output", verb->output, "file of the code instead of standard output")->type_name("FILE");
  app->add_option("--header", verb->header, "file of a header that declares the function")->type_name("FILE");
  verb->plan.declare_plan(*app);
  return {app, [verb] { return emit(*verb); }};
}

}  // namespace tessera::cli
