// Any bytes as a program: the front end answers with errors or a graph, never with a crash, a hang or a flood of
// memory.
//
// What compiles must verify, print and read back, and the oracle must run it without an internal error when it is
// small. What parses must format, formatting again must change nothing, and the formatted program must compile as the
// first.
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>

#include "ir/graph.hpp"
#include "lang/compile.hpp"
#include "ref/interpreter.hpp"

namespace {

using namespace tessera;

[[noreturn]] void broken(const char* what, const std::string& detail) {
  std::fprintf(stderr, "%s\n%s\n", what, detail.c_str());
  std::abort();
}

lang::CompileInput input_of(const std::string& text) {
  lang::CompileInput in;
  in.text = text;
  in.limits = {.stages = 100, .expressions = 2000, .steps = 4000, .text_bytes = 1 << 16};
  return in;
}

// Nothing when some extent is not small and positive for parameters of 6.
std::optional<Shape> small_shape(const ir::Graph& g, const std::vector<ir::SizeId>& extents) {
  Shape shape;
  i64 count = 1;
  for (ir::SizeId s : extents) {
    const i64 n = g.evaluate(s, std::vector<i64>(g.parameters.size(), 6));
    if (n < 1 || n > 64 || (count *= n) > 4096) return std::nullopt;
    shape.push_back(n);
  }
  return shape;
}

void interpret(const ir::Graph& g) {
  i64 work = 0;
  for (std::uint32_t e = 0; e < g.expr_count(); ++e) {
    i64 window = 1;
    for (const ir::Var& v : g.node(ir::ExprId{e}).vars) window *= v.hi - v.lo + 1;
    if ((work += window) > 2000) return;
  }
  for (const ir::Loop& loop : g.loops)
    if (loop.most > 10) return;
  for (ir::StageId s = 0; s < g.stage_count(); ++s) {
    if (!small_shape(g, g.stage(s).domain)) return;
    for (const ir::Piece& p : g.stage(s).pieces)
      for (ir::SizeId n : p.count)
        if (g.evaluate(n, std::vector<i64>(g.parameters.size(), 6)) > 64) return;
  }
  std::vector<Array> arrays;
  for (const ir::Argument& a : g.arguments)
    arrays.emplace_back(a.format, a.is_array ? *small_shape(g, a.extents) : Shape{});
  ref::interpret(g, std::vector<i64>(g.parameters.size(), 6), arrays);
}

// The errors, or "" and the graph.
std::string compile(const std::string& text, std::optional<ir::Graph>& graph) {
  try {
    graph = std::move(lang::compile(input_of(text)).graph);
    return {};
  } catch (const Error& e) {
    if (e.error_class() != ErrorClass::compile) broken("an error of another class", e.what());
    if (e.diagnostics().empty() || e.diagnostics().size() > 200) broken("no list of errors", e.what());
    return e.message();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 1 << 14) return 0;
  const std::string text(reinterpret_cast<const char*>(data), size);
  std::optional<ir::Graph> graph;
  const std::string errors = compile(text, graph);
  if (graph) {
    try {
      ir::verify(*graph);
      const std::string printed = ir::print(*graph);
      if (ir::print(ir::parse_graph(printed)) != printed) broken("the text form does not read back", printed);
      interpret(*graph);
    } catch (const Error& e) {
      if (e.error_class() != ErrorClass::argument) broken("a compiled program is not well formed", e.what());
    }
  }
  std::string formatted;
  try {
    formatted = lang::format_source(text, "fuzz");
  } catch (const Error&) {
    if (graph) broken("a program compiles but does not format", text);
    return 0;
  }
  if (formatted == text) return 0;
  try {
    if (lang::format_source(formatted, "fuzz") != formatted) broken("formatting again changes the text", formatted);
  } catch (const Error& e) {
    broken("formatting broke the program", formatted + "\n" + e.what());
  }
  std::optional<ir::Graph> again;
  const std::string others = compile(formatted, again);
  if (others.empty() != errors.empty() || (graph && graph->expr_count() != again->expr_count()))
    broken("formatting changed what the program means", errors + "\n" + others + "\n" + formatted);
  return 0;
}
