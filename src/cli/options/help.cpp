// See help.hpp. Groups stand in one table, by the names of options, since verbs share most of them; what a verb alone
// has goes to the group of that verb.
#include "cli/options/help.hpp"

#include <CLI/CLI.hpp>
#include <map>
#include <string>

namespace tessera::cli {
namespace {

constexpr std::size_t column = 38;  // of descriptions: "--size [NAME=]ROWSxCOLUMNS ..." stands before

constexpr const char* program = "The program";
constexpr const char* computing = "How it is computed";
constexpr const char* telling = "What is told";
constexpr const char* devices = "Where it runs";
constexpr const char* circuits = "Circuits (of targets hls and verilog)";

const std::map<std::string, const char*>& groups() {
  static const std::map<std::string, const char*> all = {
      {"set", program},        {"table", program},      {"import", program},       {"filter", program},
      {"schedule", computing}, {"method", computing},   {"exact", computing},      {"tile", computing},
      {"threads", computing},  {"compiler", computing}, {"arithmetic", computing}, {"time", telling},
      {"repeat", telling},     {"verify", telling},     {"quiet", telling},        {"json", telling},
      {"svg", telling},        {"target", devices},     {"device", devices},       {"device-memory", devices},
      {"devices", devices},    {"mpi", devices},        {"max-size", circuits},    {"lanes", circuits},
      {"input", circuits},     {"error", circuits},     {"frequency", circuits},   {"chip", circuits},
      {"additions", circuits}};
  return all;
}

// Of options that no other verb has.
const char* own_group(const std::string& verb) {
  if (verb == "run" || verb == "filter" || verb == "fft") return "Inputs and results";
  return verb == "emit" ? "What is emitted" : verb == "explain" ? "What is explained" : "Options";
}

}  // namespace

void format_help(CLI::App& root) {
  const auto formatter = root.get_formatter();
  formatter->column_width(column);
  formatter->label("SUBCOMMAND", "VERB");
  formatter->label("Subcommands", "Verbs");
  formatter->label("Positionals", "Arguments");
  formatter->label("REQUIRED", "");
  root.set_help_flag("-h,--help", "print this");
}

void group_options(CLI::App& root) {
  for (CLI::App* verb : root.get_subcommands([](const CLI::App*) { return true; }))
    for (CLI::Option* option : verb->get_options()) {
      if (option->get_group() != "Options" || option->get_lnames().empty()) continue;
      const std::string& name = option->get_lnames().front();
      if (name == "help") continue;
      const auto found = groups().find(name);
      const bool emitted = verb->get_name() == "emit" && name == "target";
      option->group(found != groups().end() && !emitted ? found->second : own_group(verb->get_name()));
    }
}

}  // namespace tessera::cli
