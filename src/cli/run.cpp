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
  verb->settings.declare(*app);
  return {app, [verb] { return run(*verb); }};
}

}  // namespace tessera::cli
