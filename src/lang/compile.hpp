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
  i64 steps = 10'000'000;       // syntax nodes evaluated, unrolling included
  i64 text_bytes = 16'000'000;  // of one file
};

struct CompileInput {
  std::string text;
  std::string file_name = "<text>";
  std::map<std::string, double> parameters;  // compile-time parameters set from outside
  std::vector<std::string> import_paths;     // folders searched after imports_relative_to
  std::string imports_relative_to;           // folder of the file; "" for a text that came from none
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
  std::vector<ParameterValue> parameters;  // in declaration order, imported ones first
};

// Throws Error(compile) with at most twenty errors, file by file from top to bottom, then the warnings.
Compiled compile(const CompileInput&);

// Errors and warnings only; never throws for a fault of the program.
std::vector<Diagnostic> check(const CompileInput&);

// The text in the standard layout, comments kept; formatting the result again changes nothing. Throws Error(compile)
// when the text does not parse.
std::string format_source(std::string_view text, std::string_view file_name);

}  // namespace tessera::lang
