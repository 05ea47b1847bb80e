// The front end's door: Forma text in, a stage graph out.
//
//   text --lexer--> tokens --parser--> syntax tree --checker--> ir::Graph
//
// The checker is an evaluator: statements run once, in order, and every stencil call adds its stages to the graph;
// scalar functions, vector functions and static loops are unrolled on the way. What a program may unroll to is limited,
// so that any text gives a graph or errors within a few seconds and a few hundred megabytes.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.hpp"
#include "tessera/error.hpp"

namespace tessera::lang {

struct Limits {
  i64 stages = 100'000;
  i64 expressions = 1'000'000;  // nodes of the graph
  i64 steps = 20'000'000;       // syntax nodes evaluated, unrolling included
  i64 text_bytes = 16'000'000;  // of one file
  // What a program and its imports parse into. A node takes some 300 bytes, so this is what bounds the memory of
  // parsing.
  i64 syntax_nodes = 5'000'000;
};

struct CompileInput {
  std::string text;
  std::string file_name = "<text>";
  // Compile-time parameters set from outside: numbers, boundary modes (one, or one per dimension), types.
  std::map<std::string, double> parameters;
  std::map<std::string, std::vector<Border>> borders;
  std::map<std::string, ElementType> types;
  std::map<std::string, Array> tables;    // the values of tables that have none in the program
  std::vector<std::string> import_paths;  // folders searched after imports_relative_to
  std::string imports_relative_to;        // folder of the file; "" for a text that came from none
                                          // (the standard filters are found after both)
  // Folders outside of which no file is imported, or even looked at, links resolved; nothing: no bounds. The standard
  // filters are no files.
  std::optional<std::vector<std::string>> import_only;
  Limits limits;
};

struct ParameterValue {
  std::string name;
  ElementType type = ElementType::i32;
  std::optional<double> value;  // nothing for a run-time parameter
};

struct Compiled {
  ir::Graph graph;
  std::vector<Diagnostic> warnings;
  std::vector<ParameterValue> parameters;  // the numbers, in declaration order, imported ones first
  std::vector<std::string> imports;        // files, by the paths that they were read from
};

// Throws Error(compile) with at most twenty errors, file by file from top to bottom, then the warnings.
Compiled compile(const CompileInput&);

// Errors and warnings only; never throws for a fault of the program.
std::vector<Diagnostic> check(const CompileInput&);

// What a program and its imports declare, with what their comments say about it; nothing is evaluated.
struct DeclarationText {
  std::string name;
  std::string type;         // "int", "float", "border", "type", "table"
  std::string value;        // as it is written; "" where there is none
  std::string description;  // the comment above it or behind it, in one line
};
struct FunctionText {
  std::string name;
  std::vector<std::pair<std::string, int>> arguments;  // type as it is written, rank
};
struct ProgramText {
  std::string description;                  // the comment at the top of the program
  std::vector<DeclarationText> parameters;  // and tables without values; imported ones first, replaced ones left out
  std::vector<FunctionText> functions;      // stencils and vector functions
};
// Throws Error(compile) when something does not parse or an import cannot be found.
ProgramText describe(const CompileInput&);

// "mirror", "constant(3)", "[mirror,wrap]", as a value from outside. Throws Error(argument), which begins with `what`.
std::vector<Border> parse_borders(std::string_view text, std::string_view what);
// "constant(3)".
std::string text_of(const Border&);
// Whether a program may use this word as the name of a field, stage or input.
bool is_free_name(std::string_view);
// "uint8"; nothing when it is no basic type.
std::optional<ElementType> parse_type(std::string_view);

// The text in the standard layout, comments kept; formatting the result again changes nothing. Throws Error(compile)
// when the text does not parse.
std::string format_source(std::string_view text, std::string_view file_name);

}  // namespace tessera::lang
