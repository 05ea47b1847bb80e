// From text to graph: load the imports, declare, check every function by itself, run the statements, name the outputs.
#include "lang/compile.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <tuple>

#include "base/files/descriptor.hpp"
#include "base/files/files.hpp"
#include "base/text.hpp"
#include "lang/confined.hpp"
#include "lang/declarations.hpp"
#include "lang/given_values.hpp"
#include "lang/images/images.hpp"
#include "lang/standard_filters.hpp"
#include "lang/syntax/parser.hpp"

namespace tessera::lang {
namespace {

constexpr std::size_t most_imports = 256;
constexpr const char* standard_folder = "<filters>/";  // in names of sources; no folder of the system

// Reads and parses the program and everything that it imports, each file once, imports before their importers. Of an
// imported program only the declarations count; its inputs, statements and outputs are left alone.
class Loader {
 public:
  Loader(const CompileInput& input, Report& report) : input_(input), report_(report) {
    if (input.import_only) confined_.emplace(*input.import_only);
  }

  Modules run() {
    auto source = std::make_shared<Source>(Source{input_.file_name, input_.text, input_.imports_relative_to, {}});
    load(std::move(source));
    return std::move(modules_);
  }

  bool import_failed() const { return import_failed_; }
  const std::vector<std::string>& imports() const { return imports_; }

 private:
  void load(std::shared_ptr<const Source> source) {
    if (static_cast<i64>(source->text.size()) > input_.limits.text_bytes) {
      report_.error(Span{source.get(), 0, 0},
                    fmt::format("the text has {}: expected at most {}",
                                base::format_bytes(static_cast<double>(source->text.size())),
                                base::format_bytes(static_cast<double>(input_.limits.text_bytes))));
      throw Stop{};
    }
    TokenList tokens = tokenize(*source, report_);
    std::unique_ptr<Module> m = Parser(source, tokens, report_, input_.limits.syntax_nodes - parsed_).run();
    parsed_ += static_cast<i64>(m->exprs.size());
    for (const ImportDeclaration& i : m->imports) {
      try {
        import(i, *source);
      } catch (const Failed&) {
        import_failed_ = true;
      }
    }
    modules_.push_back(std::move(m));
  }

  static std::string outside(const std::string& path) {
    return fmt::format("{} lies outside of the folders that imports are confined to", base::quoted(path, 200));
  }

  // The text of a file that was looked at under its name: what is read is what was opened, wherever that name leads by
  // now.
  std::string text_of(const std::string& path) const {
    if (!confined_) return base::read_text(path, input_.limits.text_bytes);
    const base::Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)};
    if (file.fd < 0)
      throw Error(ErrorClass::io, fmt::format("cannot read {}: {}", base::quoted(path), base::reason_of(errno)));
    std::error_code code;
    if (!confined_->holds(std::filesystem::canonical(fmt::format("/proc/self/fd/{}", file.fd), code)) || code)
      throw Error(ErrorClass::io, outside(path));
    return base::read_open_text(file.fd, path, input_.limits.text_bytes);
  }

  // Once, within the bounds.
  void load_import(const ImportDeclaration& i, const std::string& identity, std::shared_ptr<Source> source,
                   const std::string& path) {
    if (!seen_.insert(identity).second) return;
    if (seen_.size() > most_imports)
      report_.fail(i.span, fmt::format("the program imports more than {} files", most_imports));
    try {
      if (!path.empty()) {
        imports_.push_back(path);
        source->text = text_of(path);
      }
    } catch (const Error& e) {
      report_.fail(i.span, e.message());
    }
    if (++depth_ > 32) report_.fail(i.span, "imports are nested more than 32 levels deep");
    load(std::move(source));
    --depth_;
  }

  // A standard filter that is compiled in; false when there is none of that name.
  bool import_standard(const ImportDeclaration& i) {
    const StandardFilter* filter = find_standard_filter(i.path);
    if (filter == nullptr) return false;
    auto source = std::make_shared<Source>();
    source->name = standard_folder + std::string(filter->file);
    source->folder = standard_folder;
    source->text = filter->text;
    const std::string identity = source->name;
    load_import(i, identity, std::move(source), "");
    return true;
  }

  // The importing file's own folder, then the import paths, then the standard filters; among these, these first.
  void import(const ImportDeclaration& i, const Source& from) {
    namespace fs = std::filesystem;
    std::vector<std::string> folders;
    if (from.folder == standard_folder && import_standard(i)) return;
    if (!from.folder.empty() && from.folder != standard_folder) folders.push_back(from.folder);
    folders.insert(folders.end(), input_.import_paths.begin(), input_.import_paths.end());
    const fs::path wanted{std::string(i.path)};
    Advice advice;
    for (const std::string& folder : folders) {
      const fs::path path = wanted.is_absolute() ? wanted : fs::path(folder) / wanted;
      std::error_code ignored;
      std::string real;  // what is read; errors speak of the name
      bool found = false;
      if (confined_) {
        const Confinement::Found in = confined_->find(folder, wanted.string());
        if (in.kind == Confinement::Found::outside) {  // nor is told whether it is there
          advice.notes.push_back(outside(path.string()));
          continue;
        }
        found = in.kind == Confinement::Found::file;
        real = in.path;
      } else {
        found = fs::is_regular_file(path, ignored);
        real = path.string();
      }
      if (!found) {
        advice.notes.push_back(fmt::format("looked for {}", base::quoted(path.string(), 200)));
        continue;
      }
      auto source = std::make_shared<Source>();
      source->name = path.string();
      source->folder = path.parent_path().string();
      if (source->folder.empty()) source->folder = ".";
      load_import(i, fs::weakly_canonical(real, ignored).string(), std::move(source), real);
      return;
    }
    if (import_standard(i)) return;
    if (folders.empty()) advice.notes.push_back("this program comes from no file and no import path is set");
    report_.fail(i.span, fmt::format("cannot find {} to import", base::quoted(i.path)), std::move(advice));
  }

  const CompileInput& input_;
  Report& report_;
  std::optional<Confinement> confined_;
  Modules modules_;
  std::set<std::string> seen_;
  std::vector<std::string> imports_;
  int depth_ = 0;
  bool import_failed_ = false;
  i64 parsed_ = 0;  // nodes of the modules that are in
};

// Every function once on stand-ins for its arguments, so that what is wrong in it is said even when nobody calls it.
void check_functions(Context& context, const Modules& modules) {
  for (const auto& m : modules) {
    for (const Function& f : m->functions) {
      ir::Graph scratch;
      scratch.parameters = context.graph.parameters;
      scratch.tables = context.graph.tables;
      Context alone(context.report, scratch, context.declared, context.limits);
      alone.lenient = true;
      alone.tolerant = context.tolerant;
      alone.steps = context.steps;
      ImageEvaluator::KnownStages known;
      try {
        ImageEvaluator::check_alone(alone, f, known);
      } catch (const Failed&) {
      }
      context.steps = alone.steps;
    }
  }
}

// Stages that a return makes take the name of the result, as those of an assignment do; the planes of a struct without
// a name are told apart by their fields.
void name_results(ir::Graph& graph, const Image& image, std::size_t before, std::string_view name) {
  for (std::size_t k = 0; k < image.stages.size(); ++k) {
    if (image.stages[k] < before) continue;
    std::string& own = graph.stage(image.stages[k]).name;
    if (!name.empty()) own = name;
    if (image.record == nullptr) continue;
    const std::string field = "." + image.record->format.fields[k].name;
    if (!own.ends_with(field)) own += field;
  }
}

void add_outputs(Context& context, ImageEvaluator& evaluator, const Module& program) {
  if (!program.has_result) {
    if (program.complete)
      context.report.error(program.end, "the program has no return: expected return NAME; at its end");
    return;
  }
  std::set<std::string_view> names;
  for (const ReturnItem& r : program.results) {
    try {
      if (!r.name.text.empty() && !names.insert(r.name.text).second)
        context.report.fail(r.name.span, fmt::format("two outputs are named {}", base::quoted(r.name.text)));
      const std::size_t before = context.graph.stage_count();
      const Image image = evaluator.any_image(*r.value);
      name_results(context.graph, image, before, r.name.text);
      ir::Output out;
      out.name = r.name.text;
      out.format = image.record != nullptr ? image.record->format : Format(context.graph.stage(image.stages[0]).type);
      out.stages = image.stages;
      context.graph.outputs.push_back(std::move(out));
    } catch (const Failed&) {
    }
  }
}

void build(const CompileInput& input, Report& report, Compiled& out) {
  Loader loader(input, report);
  const Modules modules = loader.run();
  out.imports = loader.imports();
  const Module& program = *modules.back();
  Declarations declared;
  Context context(report, out.graph, declared, input.limits);
  context.tolerant = loader.import_failed();
  for (const auto& m : modules) declared.lost.insert(m->lost.begin(), m->lost.end());
  declare_names(context, modules);
  set_borders_and_types(context, modules, input);
  bind_given_tables(context, modules, input.tables);
  resolve_parameters(context, modules, input.parameters);
  evaluate_tables(context, modules, input.tables);
  Scope scope;
  declare_inputs(context, program, scope.images, scope.scalars);
  check_functions(context, modules);

  ImageEvaluator::KnownStages known;
  ImageEvaluator evaluator(context, scope, known);
  for (const Statement* s : program.body) evaluator.run(*s);
  add_outputs(context, evaluator, program);

  for (const auto& m : modules) {
    for (const ParameterDeclaration& d : m->parameters) {
      const auto found = declared.parameters.find(d.name.text);
      if (found == declared.parameters.end() || found->second.declaration != &d) continue;
      const Parameter& p = found->second;
      if (p.state == Parameter::faulty || d.kind != ParameterDeclaration::number) continue;
      ParameterValue value{std::string(d.name.text), p.type, std::nullopt};
      if (p.state == Parameter::constant) value.value = p.value;
      out.parameters.push_back(std::move(value));
    }
  }
}

// Runs the front end; a limit or the twentieth error ends it early.
std::vector<Diagnostic> run(const CompileInput& input, Compiled& out) {
  Report report;
  try {
    build(input, report, out);
  } catch (const Stop&) {
  } catch (const Failed&) {
  }
  std::vector<Diagnostic> all = report.take();
  std::map<std::string, std::size_t> files;  // in the order in which they are first blamed
  for (const Diagnostic& d : all) files.emplace(d.span.file, files.size());
  const auto place = [&](const Diagnostic& d) {
    return std::tuple(d.severity, files.at(d.span.file), d.span.line, d.span.column, d.message);
  };
  std::sort(all.begin(), all.end(), [&](const Diagnostic& a, const Diagnostic& b) { return place(a) < place(b); });
  return all;
}

}  // namespace

Compiled compile(const CompileInput& input) {
  Compiled out;
  std::vector<Diagnostic> all = run(input, out);
  if (!all.empty() && all.front().severity == Severity::error) throw Error(std::move(all));
  out.warnings = std::move(all);
  return out;
}

std::vector<Diagnostic> check(const CompileInput& input) {
  Compiled out;
  return run(input, out);
}

namespace {

DeclarationText text_of(const ParameterDeclaration& d) {
  DeclarationText t{std::string(d.name.text), "int", "", d.description};
  if (d.kind == ParameterDeclaration::border) {
    t.type = "border";
    t.value = d.modes->span.text();
  } else if (d.kind == ParameterDeclaration::type_choice) {
    t.type = "type";
    t.value = d.choice.text;
  } else {
    if (!d.type.text.empty()) t.type = d.type.text;
    if (d.value != nullptr) t.value = d.value->span.text();
  }
  return t;
}

}  // namespace

ProgramText describe(const CompileInput& input) {
  Report report;
  Modules modules;
  try {
    modules = Loader(input, report).run();
  } catch (const Stop&) {
  }
  if (report.errors() > 0) throw Error(report.take());
  ProgramText out;
  out.description = modules.back()->description;
  const auto add = [&](DeclarationText t) {
    std::erase_if(out.parameters, [&](const DeclarationText& other) { return other.name == t.name; });
    out.parameters.push_back(std::move(t));
  };
  for (const auto& m : modules) {
    for (const ParameterDeclaration& d : m->parameters) {
      const bool open = d.kind == ParameterDeclaration::number && d.value == nullptr;
      if (m == modules.back() || !open) add(text_of(d));
    }
    for (const TableDeclaration& t : m->tables)
      if (t.given) add({std::string(t.name.text), "table", "", t.description});
    for (const Function& f : m->functions) {
      if (f.kind == Function::scalar) continue;
      FunctionText text{std::string(f.name.text), {}};
      for (const FunctionArgument& a : f.arguments) text.arguments.emplace_back(a.type.text, a.type.rank);
      out.functions.push_back(std::move(text));
    }
  }
  return out;
}

}  // namespace tessera::lang
