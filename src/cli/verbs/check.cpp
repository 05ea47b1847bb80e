// `tessera check`: every error and warning of a program, and its interface when it has none.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/options/options.hpp"
#include "cli/tell.hpp"
#include "cli/verbs.hpp"
#include "tessera/error.hpp"

namespace tessera::cli {
namespace {

std::string interface_of(const Parameter& p) {
  if (!p.is_array) return fmt::format("{} {}", p.format.name(), p.name);
  return fmt::format("vector#{} {} {}[{}]", p.rank, p.format.name(), p.name, p.extents);
}

struct CheckVerb {
  ProgramOptions program;
  double compile_limit = 60;
};

int check(const CheckVerb& verb) {
  const ProgramOptions& options = verb.program;
  std::map<std::string, double> scalars;
  const Program program = options.load(scalars, verb.compile_limit);
  for (const Diagnostic& warning : program.warnings()) tell("{}", warning.render());
  const std::size_t warnings = program.warnings().size();
  fmt::print("{}: no errors{}\n", options.path,
             warnings == 0   ? ""
             : warnings == 1 ? ", 1 warning"
                             : fmt::format(", {} warnings", warnings));
  for (const Parameter& p : program.inputs()) fmt::print("  input   {}\n", interface_of(p));
  for (const Parameter& p : program.outputs()) fmt::print("  output  {}\n", interface_of(p));
  return done;
}

}  // namespace

Verb add_check(CLI::App& root) {
  CLI::App* app = root.add_subcommand("check", "find the errors of a program");
  auto verb = std::make_shared<CheckVerb>();
  verb->program.declare(*app);
  declare_compile_limit(*app, verb->compile_limit);
  return {app, [verb] { return check(*verb); }};
}

}  // namespace tessera::cli
