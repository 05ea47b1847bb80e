// `tessera run`: files in, files out.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <utility>

#include "cli/batch/batch.hpp"
#include "cli/batch/journal.hpp"
#include "cli/execute/calls.hpp"
#include "cli/execute/execute.hpp"
#include "cli/execute/on_ranks.hpp"
#include "cli/execute/pages.hpp"
#include "cli/verbs.hpp"
#include "engine/program_impl.hpp"
#include "ir/graph.hpp"

namespace tessera::cli {
namespace {

struct RunVerb {
  ProgramOptions program;
  RunSettings settings;
  std::vector<std::string> words;
};

int run(const RunVerb& verb, const CLI::App& app, RunSettings settings, const base::InterruptGuard& interrupt) {
  settings.check();
  std::map<std::string, double> scalars;
  const Program program = verb.program.load(scalars, settings.plan.compile_limit, &settings.output.sources);
  // What a run reads may be written over, but not by a picture of what says how.
  std::erase_if(settings.output.sources, [&](const SourceFile& source) { return source.how.starts_with("it holds"); });
  const Words words = words_of(program, verb.words, scalars);
  const std::string label = identifier_of(verb.program.path);
  if (words.files.empty()) {
    mark_pages(settings.output.files, settings.input.reading.pages);
    return execute(program, label, verb.words, scalars, settings, interrupt);
  }
  const auto one = [&](const std::string& file, RunSettings of_file) {
    return std::make_unique<Execution>(program, label, words.of(file), scalars, std::move(of_file), interrupt);
  };
  std::string work = work_of(app) + "\n" + ir::print(program.impl().graph);
  for (const std::string& word : words.others) work += "\n" + word;
  for (const auto& [name, value] : scalars) work += fmt::format("\n{} {:a}", name, value);
  return run_batch({label, words.files, settings, std::move(work), one}, interrupt);
}

}  // namespace

Verb add_run(CLI::App& root) {
  CLI::App* app = root.add_subcommand("run", "run a program on files");
  auto verb = std::make_shared<RunVerb>();
  verb->settings.input.note_nodata = true;
  verb->program.declare(*app);
  app->add_option("inputs", verb->words,
                  "inputs in order: FILE, NAME=FILE or NAME=NUMBER; several files of one input, or a folder of them, "
                  "run each by itself");
  verb->settings.declare(*app);
  verb->settings.declare_mpi(*app);
  return {app, [verb, app] {
            return on_ranks(verb->settings, [&](const RunSettings& settings, const base::InterruptGuard& interrupt) {
              return run(*verb, *app, settings, interrupt);
            });
          }};
}

}  // namespace tessera::cli
