// `tessera run`: files in, files out.
#include <CLI/CLI.hpp>
#include <memory>

#include "cli/execute.hpp"
#include "cli/verbs.hpp"

namespace tessera::cli {
namespace {

struct RunVerb {
  ProgramOptions program;
  RunSettings settings;
  std::vector<std::string> words;
};

int run(const RunVerb& verb) {
  verb.settings.check();
  const base::InterruptGuard interrupt;
  std::map<std::string, double> scalars;
  const Program program = verb.program.load(scalars);
  return execute(program, identifier_of(verb.program.path), verb.words, scalars, verb.settings, interrupt);
}

}  // namespace

Verb add_run(CLI::App& root) {
  CLI::App* app = root.add_subcommand("run", "run a program on files");
  auto verb = std::make_shared<RunVerb>();
  verb->program.declare(*app);
  app->add_option("inputs", verb->words, "inputs in order: FILE, NAME=FILE or NAME=NUMBER");
  app->add_option("--onto", verb->settings.output.onto, "write into a copy of this image, the rest of it unchanged")
      ->type_name("FILE");
  app->add_option("--at", verb->settings.output.at, "where in that image (the place of --roi)")->type_name("TOP,LEFT");
  app->add_flag("--unit", verb->settings.input.unit, "scale integer samples to 0..1 and results back");
  verb->settings.declare(*app);
  return {app, [verb] {
            verb->settings.output.unit = verb->settings.input.unit;
            return run(*verb);
          }};
}

}  // namespace tessera::cli
