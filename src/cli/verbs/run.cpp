// `tessera run`: files in, files out.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <set>
#include <utility>

#include "base/text.hpp"
#include "cli/batch/batch.hpp"
#include "cli/batch/journal.hpp"
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

struct Words {
  std::string input;               // that has the files; empty where words stand for inputs one by one
  std::vector<std::string> files;  // for each of which the program runs
  std::vector<std::string> others;
};

// A program of one array takes several files for it, one after the other; of other inputs each has a word of its own.
Words files_of(const Program& program, const std::vector<std::string>& words,
               const std::map<std::string, double>& scalars) {
  Words result;
  const std::vector<Parameter>& inputs = program.inputs();
  if (std::count_if(inputs.begin(), inputs.end(), [](const Parameter& p) { return p.is_array; }) != 1) return {};
  std::vector<std::string> by_position, free;
  std::set<std::string> given;
  for (const auto& [name, value] : scalars) given.insert(name);
  for (const std::string& word : words) {
    const std::string name = cut_name(word).first;
    std::error_code ec;
    const bool known = std::any_of(inputs.begin(), inputs.end(), [&](const Parameter& p) { return p.name == name; });
    if (known || (!name.empty() && !std::filesystem::exists(word, ec))) {
      given.insert(name);
      result.others.push_back(word);
    } else {
      by_position.push_back(word);
    }
  }
  std::size_t array = 0;
  for (const Parameter& p : inputs) {
    if (given.contains(p.name)) {
      if (p.is_array) return {};
      continue;
    }
    if (p.is_array) {
      array = free.size();
      result.input = p.name;
    }
    free.push_back(p.name);
  }
  if (by_position.empty() || by_position.size() < free.size()) return {};
  const std::size_t count = by_position.size() - (free.size() - 1);
  for (std::size_t k = 0; k < by_position.size(); ++k) {
    const bool file = k >= array && k < array + count;
    if (file && count > 1 && base::parse_number(by_position[k])) return {};  // a number too many
    if (file)
      result.files.push_back(by_position[k]);
    else
      result.others.push_back(free[k < array ? k : k - count + 1] + "=" + by_position[k]);
  }
  return result;
}

int run(const RunVerb& verb, const CLI::App& app, RunSettings settings, const base::InterruptGuard& interrupt) {
  settings.check();
  std::map<std::string, double> scalars;
  const Program program = verb.program.load(scalars, settings.plan.compile_limit, &settings.output.sources);
  // What a run reads may be written over, but not by a picture of what says how.
  std::erase_if(settings.output.sources, [&](const SourceFile& source) { return source.how.starts_with("it holds"); });
  const Words words = files_of(program, verb.words, scalars);
  const std::string label = identifier_of(verb.program.path);
  if (words.files.empty()) {
    for (std::string& word : settings.output.files) word = mark_page(word, settings.input.reading.pages);
    return execute(program, label, verb.words, scalars, settings, interrupt);
  }
  const auto one = [&](const std::string& file, RunSettings of_file) {
    std::vector<std::string> own = words.others;
    own.push_back(words.input + "=" + file);
    return std::make_unique<Execution>(program, label, own, scalars, std::move(of_file), interrupt);
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
