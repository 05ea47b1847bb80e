// `tessera format`: programs in the standard layout.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "base/files/files.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/verbs.hpp"
#include "lang/compile.hpp"
#include "tessera/error.hpp"

namespace tessera::cli {
namespace {

struct FormatVerb {
  std::vector<std::string> files;
  bool in_place = false, check = false;
};

// What is read once has no place for the result.
void check_in_place(const std::string& file) {
  if (!base::is_stream(file)) return;
  throw Error(ErrorClass::argument,
              fmt::format("{} cannot be changed in place, it is a pipe or a device; expected a file",
                          file == "-" ? "standard input" : base::quoted(file)),
              {}, "leave -i away, and the text in the standard layout is printed");
}

int format(const FormatVerb& verb) {
  if (verb.in_place && verb.check) throw Error(ErrorClass::argument, "--in-place and --check exclude each other");
  if (verb.in_place) std::ranges::for_each(verb.files, check_in_place);
  bool same = true;
  for (const std::string& file : verb.files) {
    const std::string text = base::read_text(file, lang::Limits{}.text_bytes);
    const std::string formatted = lang::format_source(text, file);
    if (verb.check && formatted != text) {
      fmt::print("{} is not in the standard layout\n", file);
      same = false;
    } else if (verb.in_place && formatted != text) {
      base::write_file(file, std::string_view(formatted));
    } else if (!verb.in_place && !verb.check) {
      fmt::print("{}", formatted);
    }
  }
  return same ? done : program_faulty;
}

}  // namespace

Verb add_format(CLI::App& root) {
  CLI::App* app = root.add_subcommand("format", "print programs in the standard layout");
  auto verb = std::make_shared<FormatVerb>();
  app->add_option("programs", verb->files, "the Forma programs")->required()->type_name("FILE");
  app->add_flag("-i,--in-place", verb->in_place, "change the files");
  app->add_flag("--check", verb->check, "only say which files would change; status 1 if any");
  return {app, [verb] { return format(*verb); }};
}

}  // namespace tessera::cli
