// `tessera run`: files in, files out.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>

#include "base/interrupt.hpp"
#include "base/progress.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/inputs.hpp"
#include "cli/measure.hpp"
#include "cli/options.hpp"
#include "cli/results.hpp"
#include "cli/verbs.hpp"
#include "tessera/error.hpp"

namespace tessera::cli {
namespace {

struct RunVerb {
  ProgramOptions program;
  PlanOptions plan;
  InputOptions input;
  OutputOptions output;
  std::vector<std::string> words;
  bool time = false, verify = false, quiet = false;
  int repeat = 0;
};

std::vector<std::vector<Array>> run_lanes(const Program& program, const Lanes& lanes, RunOptions options,
                                          const RunVerb& verb) {
  std::vector<std::vector<Array>> results;
  for (std::size_t c = 0; c < lanes.inputs.size(); ++c) {
    // Made at the first report: only then is the number of tiles known.
    std::optional<base::ProgressBar> bar;
    std::string label = identifier_of(verb.program.path);
    if (!lanes.channels.empty()) label += " " + lanes.channels[c];
    std::optional<base::PatienceNote> compiling;
    if (!verb.quiet) {
      compiling.emplace("compiling " + label + " ...");
      options.on_progress = [&](const Progress& p) {
        compiling.reset();
        if (!bar) bar.emplace(label, p.total);
        bar->update(p.done);
      };
    }
    results.push_back(program.run(lanes.inputs[c], options));
  }
  return results;
}

void stop_if(const base::InterruptGuard& interrupt) {
  if (interrupt.interrupted()) throw Error(ErrorClass::cancelled, "interrupted");
}

int run(const RunVerb& verb) {
  if (verb.repeat < 0 || verb.repeat > 1'000'000)
    throw Error(ErrorClass::argument, fmt::format("--repeat {} cannot be used, expected 1 to 1000000", verb.repeat));
  if (verb.repeat > 0 && !verb.time)
    throw Error(ErrorClass::argument, fmt::format("--repeat {} is given without --time", verb.repeat), {},
                "add --time");
  RunOptions options = verb.plan.run_options();

  const base::InterruptGuard interrupt;
  options.cancel = &interrupt.flag();
  std::map<std::string, double> scalars;
  const Program program = verb.program.load(scalars);
  for (const Diagnostic& warning : program.warnings()) fmt::print(stderr, "{}", warning.render());

  const Destinations destinations = check_outputs(program, verb.output);
  const Lanes lanes = bind_inputs(program, verb.words, scalars, verb.input);
  stop_if(interrupt);
  const auto results = run_lanes(program, lanes, options, verb);
  if (verb.time) measure(program, lanes, results, options, verb.repeat > 0 ? verb.repeat : 10);
  const bool good = !verb.verify || verify(program, lanes, results, options);
  const std::vector<Array> joined = join_lanes(program, lanes, results);
  stop_if(interrupt);
  keep_results(program, joined, lanes, destinations, verb.output);
  return good ? done : internal_fault;
}

}  // namespace

Verb add_run(CLI::App& root) {
  CLI::App* app = root.add_subcommand("run", "run a program on files");
  auto verb = std::make_shared<RunVerb>();
  verb->program.declare(*app);
  app->add_option("inputs", verb->words, "inputs in order: FILE, NAME=FILE or NAME=NUMBER");
  app->add_option("-o,--output", verb->output.files, "where an output goes; without it a summary is printed")
      ->allow_extra_args(false)
      ->type_name("[NAME=]FILE");
  app->add_option("--roi", verb->input.region, "read this region only, both ends inside; borders act at its edge")
      ->type_name("TOP,LEFT,BOTTOM,RIGHT");
  app->add_option("--onto", verb->output.onto, "write into a copy of this image, the rest of it unchanged")
      ->type_name("FILE");
  app->add_option("--at", verb->output.at, "where in that image (the place of --roi)")->type_name("TOP,LEFT");
  app->add_flag("--gray,--grey", verb->input.grey, "run on the intensity of a colour image, not on each channel");
  app->add_flag("--unit", verb->input.unit, "scale integer samples to 0..1 and results back");
  app->add_flag("--time", verb->time, "measure: median, minimum, rates");
  app->add_option("--repeat", verb->repeat, "runs that are measured (10)")->type_name("N");
  app->add_flag("--verify", verb->verify, "compare with the interpreter");
  app->add_flag("-q,--quiet", verb->quiet, "no progress");
  verb->plan.declare_run(*app);
  return {app, [verb] {
            verb->output.unit = verb->input.unit;
            return run(*verb);
          }};
}

}  // namespace tessera::cli
