// Shared options: declared once, checked once, with errors that show the value that was given.
#include "cli/options/options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <set>

#include "base/files/files.hpp"
#include "base/text.hpp"
#include "io/image.hpp"
#include "lang/compile.hpp"
#include "tessera/error.hpp"

namespace tessera::cli {
namespace {

constexpr i64 most_program_bytes = 16'000'000;

[[noreturn]] void wrong(std::string_view option, std::string_view given, std::string_view expected) {
  throw Error(ErrorClass::argument,
              fmt::format("{} {} cannot be used, expected {}", option, base::quoted(given), expected));
}

bool starts_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool continues_name(char c) {
  return starts_name(c) || (c >= '0' && c <= '9');
}

bool is_name(std::string_view text) {
  return !text.empty() && starts_name(text[0]) && std::all_of(text.begin(), text.end(), continues_name);
}

// The text with comments blanked out.
std::string without_comments(std::string_view text) {
  std::string out(text);
  for (std::size_t i = 0; i + 1 < out.size(); ++i) {
    if (out[i] != '/' || (out[i + 1] != '/' && out[i + 1] != '*')) continue;
    const bool line = out[i + 1] == '/';
    std::size_t end = line ? out.find('\n', i) : out.find("*/", i + 2);
    end = end == std::string::npos ? out.size() : line ? end : end + 2;
    std::fill(out.begin() + static_cast<std::ptrdiff_t>(i), out.begin() + static_cast<std::ptrdiff_t>(end), ' ');
    i = end - 1;
  }
  return out;
}

}  // namespace

std::pair<std::string, std::string> cut_name(const std::string& text) {
  const std::size_t at = text.find('=');
  if (at == std::string::npos || !is_name(std::string_view(text).substr(0, at))) return {"", text};
  return {text.substr(0, at), text.substr(at + 1)};
}

std::string or_as_file(const std::string& help, const std::string& text) {
  return fmt::format("{}{}a file of that name is written {}", help, help.empty() ? "" : "; ",
                     base::quoted("./" + text));
}

Shape parse_shape(std::string_view text, std::string_view option) {
  Shape shape;
  for (std::string_view part : base::split(text, 'x')) {
    const auto extent = base::parse_integer(part);
    if (!extent || *extent < 1 || *extent > (i64{1} << 40)) wrong(option, text, "extents such as 2160x3840");
    shape.push_back(*extent);
  }
  element_count(shape);
  return shape;
}

std::vector<i64> parse_list(std::string_view text, std::string_view option) {
  std::vector<i64> values;
  for (std::string_view part : base::split(text, ',')) {
    const auto value = base::parse_integer(base::trim(part));
    if (!value || *value < -(i64{1} << 40) || *value > (i64{1} << 40))
      wrong(option, text, "integers with commas between them");
    values.push_back(*value);
  }
  return values;
}

std::vector<std::string> scalar_inputs(std::string_view text) {
  static const std::vector<std::string> types = {"double", "float", "half",   "int",    "int8", "int16",
                                                 "int32",  "uint8", "uint16", "uint32", "bool"};
  const std::string code = without_comments(text);
  std::vector<std::string> names;
  std::string statement;
  int depth = 0;
  for (char c : code) {
    if (c == '{' || c == '(') ++depth;
    if (c == '}' || c == ')') --depth;
    if (depth > 0 || c == '}') {
      if (depth <= 0) statement.clear();
      continue;
    }
    if (c != ';') {
      statement += c == ',' ? ' ' : c;
      continue;
    }
    const auto words = base::split_words(statement);
    if (words.size() >= 2 && std::find(types.begin(), types.end(), words[0]) != types.end() &&
        std::all_of(words.begin() + 1, words.end(), is_name))
      for (std::size_t i = 1; i < words.size(); ++i) names.emplace_back(words[i]);
    statement.clear();
  }
  return names;
}

std::string identifier_of(const std::string& path) {
  std::string name = std::filesystem::path(path).stem().string();
  for (char& c : name)
    if (!continues_name(c)) c = '_';
  if (name.empty() || !starts_name(name[0])) name = "filter_" + name;
  return name;
}

void ProgramOptions::declare(CLI::App& app, bool required) {
  app.add_option("program", path, "the Forma program")->required(required)->type_name("FILE");
  app.add_option("-p,--set", settings, "set a compile-time parameter (number, boundary mode, type) or a scalar input")
      ->allow_extra_args(false)
      ->type_name("NAME=VALUE");
  app.add_option("--table", tables, "values of a table that has none in the program: .npy or an image of one channel")
      ->allow_extra_args(false)
      ->type_name("NAME=FILE");
  app.add_option("-I,--import", import_paths, "search imports in this folder too")
      ->allow_extra_args(false)
      ->type_name("FOLDER");
  app.add_option("--import-only", import_only, "import no file outside of this folder (or these); '' for none at all")
      ->allow_extra_args(false)
      ->type_name("FOLDER");
}

namespace {

// Words, with something in brackets behind them: what is neither that nor a number is a slip of other kinds.
bool may_be_mode(std::string_view text) {
  const std::string_view words = base::trim(text);
  return !words.empty() && (starts_name(words[0]) || words[0] == '[');
}

}  // namespace

void check_no_source(const std::vector<SourceFile>& sources, const std::string& written) {
  if (written.empty()) return;
  for (const SourceFile& source : sources)
    if (base::is_same_file(source.path, written))
      throw Error(ErrorClass::argument, fmt::format("{} cannot be written, {}", base::quoted(written), source.how), {},
                  "give another name");
}

Program ProgramOptions::load(std::map<std::string, double>& scalars, double compile_limit,
                             std::vector<SourceFile>* sources) const {
  CompileOptions options;
  options.import_paths = import_paths;
  options.compile_limit = checked_compile_limit(compile_limit);
  if (!import_only.empty()) {
    options.import_only.emplace();
    for (const std::string& folder : import_only)
      if (!folder.empty()) options.import_only->push_back(folder);
  }
  std::vector<std::string> known;
  const bool stream = base::is_stream(path);  // which says its text only once
  std::string text;
  if (stream || !settings.empty()) text = base::read_text(path, most_program_bytes);
  if (!settings.empty()) known = scalar_inputs(text);
  std::set<std::string> seen;
  for (const std::string& setting : settings) {
    const auto [name, value] = cut_name(setting);
    if (name.empty()) wrong("-p", setting, "name=number");
    if (!seen.insert(name).second)
      throw Error(ErrorClass::argument, fmt::format("{} is set twice", base::quoted(name)));
    if (const auto number = base::parse_number(base::trim(value))) {
      const bool scalar = std::find(known.begin(), known.end(), name) != known.end();
      (scalar ? scalars : options.parameters).emplace(name, *number);
    } else if (const auto type = lang::parse_type(base::trim(value))) {
      options.types.emplace(name, *type);
    } else if (may_be_mode(value)) {
      options.borders.emplace(name, lang::parse_borders(value, fmt::format("-p {}:", base::quoted(setting))));
    } else {
      wrong("-p", setting, "name=number, or a boundary mode or type");
    }
  }
  for (const std::string& table : tables) {
    const auto [name, file] = cut_name(table);
    if (name.empty() || file.empty()) wrong("--table", table, "name=file");
    if (options.tables.contains(name))
      throw Error(ErrorClass::argument, fmt::format("table {} is given twice", base::quoted(name)));
    options.tables.emplace(name, io::read_array(file));
  }
  if (stream && path.find('/') == std::string::npos) options.import_paths.insert(options.import_paths.begin(), ".");
  Program program = stream ? Program::from_text(std::move(text), options, path) : Program::from_file(path, options);
  if (sources != nullptr) {
    if (path != "-") sources->push_back({path, "it is the program"});
    for (const std::string& file : program.imports()) sources->push_back({file, "the program imports it"});
    for (const std::string& table : tables)
      sources->push_back(
          {cut_name(table).second, fmt::format("it holds table {}", base::quoted(cut_name(table).first))});
  }
  return program;
}

void declare_compile_limit(CLI::App& app, double& seconds) {
  app.add_option("--compile-limit", seconds, "seconds that planning and compiling may take (60), 0: without limit")
      ->type_name("SECONDS");
}

double checked_compile_limit(double seconds) {
  if (!(seconds >= 0) || seconds > 1e9) wrong("--compile-limit", fmt::format("{}", seconds), "seconds from 0 on");
  return seconds;
}

i64 parse_bytes(std::string_view text, std::string_view option) {
  static const std::map<std::string_view, double> units = {
      {"", 1},      {"B", 1},      {"kB", 1e3},      {"KB", 1e3},         {"MB", 1e6},           {"GB", 1e9},
      {"TB", 1e12}, {"KiB", 1024}, {"MiB", 1048576}, {"GiB", 1073741824}, {"TiB", 1099511627776}};
  const std::size_t end = std::min(text.find_first_not_of("0123456789."), text.size());
  const auto number = base::parse_number(text.substr(0, end));
  const auto unit = units.find(base::trim(text.substr(end)));
  const double bytes = number && unit != units.end() ? *number * unit->second : 0;
  if (!(bytes >= 1) || bytes > 9e18) wrong(option, std::string(text), "bytes, as in 2GiB or 512MiB");
  return static_cast<i64>(bytes);
}

namespace {

template <class T>
T named(const std::map<std::string, T>& all, const char* what, const std::string& given) {
  const auto found = all.find(given);
  if (found != all.end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [name, value] : all) names.push_back(name);
  throw Error(ErrorClass::argument,
              fmt::format("unknown {} {}, expected {}", what, base::quoted(given), base::list_of(names)), {},
              base::did_you_mean(given, names));
}

}  // namespace

void PlanOptions::declare_plan(CLI::App& app) {
  app.add_option("--schedule", schedule, "auto, untiled, tiled or stream")->type_name("NAME");
  app.add_option("--method", method, "of sums: auto, direct, separable, low-rank, transform, whole, matrix")
      ->type_name("NAME");
  app.add_flag("--exact", exact, "the interpreter's order, no contraction: the same bits everywhere");
  app.add_option("--tile", tile, "extents of a tile instead of the plan's own")->type_name("ROWSxCOLUMNS");
  declare_compile_limit(app, compile_limit);
}

void PlanOptions::declare_run(CLI::App& app) {
  declare_plan(app);
  app.add_option("--threads", threads, "threads, 0 for all cores")->type_name("N");
  app.add_option("--compiler", compiler, "built-in, system, or the command of a C compiler")->type_name("NAME");
  target_option_ = app.add_option("--target", target, "cpu, cuda or opencl")->type_name("NAME");
  app.add_option("--device", device, "which of several devices, as `tessera devices` numbers them")->type_name("N");
  app.add_option("--devices", devices, "all of them or some at once, each with a share of the result (of cuda)")
      ->type_name("all|N,N");
  app.add_option("--device-memory", device_memory, "what a run may take of a device: what does not fit goes in slabs")
      ->type_name("2GiB");
}

std::string PlanOptions::chosen_target() const {
  const bool given = target_option_ != nullptr && target_option_->count() > 0;
  return devices && !given ? "cuda" : target;
}

namespace {

std::vector<int> parse_devices(const std::string& text) {
  if (text == "all") return {all_devices};
  std::vector<int> numbers;
  for (const i64 n : parse_list(text, "--devices")) {
    if (n < 0 || n > 1 << 20) wrong("--devices", text, "all, or numbers from 0 on such as 0,1");
    numbers.push_back(static_cast<int>(n));
  }
  return numbers;
}

}  // namespace

RunOptions PlanOptions::run_options() const {
  const std::string target = chosen_target();
  static const std::map<std::string, Schedule> schedules = {{"auto", Schedule::automatic},
                                                            {"untiled", Schedule::untiled},
                                                            {"tiled", Schedule::tiled},
                                                            {"stream", Schedule::stream}};
  static const std::map<std::string, Method> methods = {
      {"auto", Method::automatic},    {"direct", Method::direct},       {"separable", Method::separable},
      {"low-rank", Method::low_rank}, {"transform", Method::transform}, {"whole", Method::whole},
      {"matrix", Method::matrix}};
  RunOptions options;
  options.schedule = named(schedules, "schedule", schedule);
  options.method = named(methods, "method", method);
  options.numbers = exact ? Numbers::exact : Numbers::fast;
  options.compile_limit = checked_compile_limit(compile_limit);
  if (threads < 0 || threads > 4096) wrong("--threads", std::to_string(threads), "1 to 4096, or 0 for all cores");
  options.threads = threads;
  const std::vector<std::string> targets = {"cpu", "cuda", "opencl"};
  if (std::find(targets.begin(), targets.end(), target) == targets.end())
    throw Error(ErrorClass::argument,
                fmt::format("unknown target {}, expected {}", base::quoted(target), base::list_of(targets)), {},
                base::did_you_mean(target, targets));
  if (device < 0) wrong("--device", std::to_string(device), "a number from 0 on");
  if (device > 0 && target == "cpu") wrong("--device", std::to_string(device), "--target cuda or opencl beside it");
  if (devices && target == "cpu") wrong("--devices", *devices, "--target cuda or opencl beside it");
  if (devices && device > 0) wrong("--device", std::to_string(device), "it or --devices, not both");
  const char* const cores_alone = !tile.empty()       ? "--tile"
                                  : !compiler.empty() ? "--compiler"
                                  : threads > 0       ? "--threads"
                                                      : nullptr;
  if (target != "cpu" && cores_alone != nullptr)
    throw Error(ErrorClass::argument,
                fmt::format("{} is of --target cpu alone, but --target {} is given", cores_alone, target));
  options.target = target;
  options.device = device;
  if (devices) options.devices = parse_devices(*devices);
  options.compiler = compiler;
  if (device_memory) {
    if (target == "cpu") wrong("--device-memory", *device_memory, "--target cuda or opencl beside it");
    options.device_memory = parse_bytes(*device_memory, "--device-memory");
  }
  if (!tile.empty()) {
    const Shape extents = parse_shape(tile, "--tile");
    if (extents.size() != 2) wrong("--tile", tile, "two extents such as 64x512");
    options.tile_rows = extents[0];
    options.tile_columns = extents[1];
  }
  return options;
}

}  // namespace tessera::cli
