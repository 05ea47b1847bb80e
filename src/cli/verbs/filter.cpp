// `tessera filter`: a standard filter by its name, on a file.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <utility>

#include "base/text.hpp"
#include "cli/batch/batch.hpp"
#include "cli/batch/journal.hpp"
#include "cli/command.hpp"
#include "cli/execute/calls.hpp"
#include "cli/execute/execute.hpp"
#include "cli/execute/on_ranks.hpp"
#include "cli/options/filter_options.hpp"
#include "cli/verbs.hpp"
#include "engine/filters/filters.hpp"
#include "tessera/error.hpp"

namespace tessera::cli {
namespace {

struct FilterVerb {
  FilterCall call;
  RunSettings settings;
  std::vector<std::string> images;
  bool list = false;
};

int run(FilterVerb& verb, const CLI::App& app, const base::InterruptGuard& interrupt) {
  if (verb.list) {
    fmt::print("{}", list_of_filters(verb.call.name));
    return done;
  }
  if (verb.call.name.empty())
    throw Error(ErrorClass::argument, "name is required", {}, "tessera filter --list lists filters");
  static_cast<void>(engine::filter_info(verb.call.name));
  if (verb.images.empty())
    throw Error(ErrorClass::argument, fmt::format("filter {} is given no image", base::quoted(verb.call.name)), {},
                fmt::format("write tessera filter {} FILE -o FILE", verb.call.name));
  verb.call.share_range(verb.settings);
  verb.settings.check();
  const auto one = [&](const std::string& file, RunSettings settings) {
    return verb.call.open(file, std::move(settings), interrupt);
  };
  return run_batch({verb.call.name, verb.images, verb.settings, work_of(app) + "\n" + verb.call.name, one}, interrupt);
}

}  // namespace

Verb add_filter(CLI::App& root) {
  CLI::App* app = root.add_subcommand("filter", "run a standard filter on a file");
  auto verb = std::make_shared<FilterVerb>();
  app->add_option("name", verb->call.name, "gaussian, median, convolve, ...: --list says which there are")
      ->type_name("NAME");
  app->add_option("image", verb->images,
                  "the image or volume; of several, or of a folder, each by itself, -o 'out/{stem}.tif'")
      ->type_name("FILE...");
  app->add_flag("--list", verb->list, "describe every filter and its options, or the one that is named");
  verb->settings.declare(*app);
  verb->settings.declare_mpi(*app);
  verb->call.options.declare_later(*app);
  return {app, [verb, app] {
            return on_ranks(verb->settings, [&](const RunSettings& settings, const base::InterruptGuard& interrupt) {
              verb->settings = settings;
              return run(*verb, *app, interrupt);
            });
          }};
}

}  // namespace tessera::cli
