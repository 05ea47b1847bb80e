// Options that several verbs share, and the small grammars of their values.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/program.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace tessera::cli {

// A file that a program is made of, and how: "the program imports it".
struct SourceFile {
  std::string path, how;
};
// Throws Error(argument) where a file to be written, by whatever name, is one of them; "" is none.
void check_no_source(const std::vector<SourceFile>& sources, const std::string& written);

// The program and what is set from outside: `PROGRAM -p name=value --table name=file -I folder`.
struct ProgramOptions {
  std::string path;
  std::vector<std::string> settings;
  std::vector<std::string> tables;
  std::vector<std::string> import_paths, import_only;

  void declare(CLI::App&, bool required = true);
  // Compiles. Settings that name a scalar input of the program are returned in `scalars`, the others are compile-time
  // parameters. `sources`: where to put what it is made of, the tables last.
  Program load(std::map<std::string, double>& scalars, double compile_limit,
               std::vector<SourceFile>* sources = nullptr) const;
};

// How it is planned and run: `--schedule --method --exact --tile --threads --compiler --target --device --devices
// --device-memory`.
struct PlanOptions {
  std::string schedule = "auto", method = "auto", tile, compiler, target = "cpu";
  std::optional<std::string> device_memory, devices;
  bool exact = false;
  int threads = 0, device = 0;
  double compile_limit = 60;

  void declare_plan(CLI::App&);  // without threads and compiler
  void declare_run(CLI::App&);   // with them
  // Where it runs: the GPUs that --devices names are those of cuda, where no --target says otherwise.
  std::string chosen_target() const;
  RunOptions run_options() const;

 private:
  const CLI::Option* target_option_ = nullptr;  // of the application, which outlives this
};

// "name=rest" cut in two where the part before the first '=' is an identifier; else {"", text}.
std::pair<std::string, std::string> cut_name(const std::string& text);
// The help for such a text whose name nobody has: `help`, where there is one, and how a file of that name is written.
std::string or_as_file(const std::string& help, const std::string& text);
// --compile-limit. Throws Error(argument) for a limit that is none when it is used.
void declare_compile_limit(CLI::App&, double& seconds);
double checked_compile_limit(double seconds);
// "2160x3840". Throws Error(argument) that names `option`.
Shape parse_shape(std::string_view text, std::string_view option);
// "4096", "64MiB", "2 GiB", "1.5GB": bytes from 1 on.
i64 parse_bytes(std::string_view text, std::string_view option);
// "10,20,-3"
std::vector<i64> parse_list(std::string_view text, std::string_view option);
// Names of the scalar inputs that a program text declares ("float amount;"), found without compiling it.
std::vector<std::string> scalar_inputs(std::string_view text);
// A C identifier made of a path's stem.
std::string identifier_of(const std::string& path);

}  // namespace tessera::cli
