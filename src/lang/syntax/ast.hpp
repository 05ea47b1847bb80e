// The syntax tree: what was written, nothing resolved.
//
// One Expr type serves point expressions (inside stencils and scalar functions) and whole-image expressions; the parser
// knows which operators each may hold. Nodes live in the arena of their Module and point to each other, so that a sum
// of ten thousand terms needs no recursion to be freed. `depth` counts nesting; chains of binary operators to the left
// do not nest, and everything that walks them does so in a loop.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.hpp"
#include "lang/syntax/source.hpp"
#include "tessera/array.hpp"

namespace tessera::lang {

struct Expr;
struct Statement;

struct Name {
  Span span;
  std::string_view text;
};

struct TypeName {
  Span span;
  std::string_view text;  // "float", a struct's name, ...
  int rank = 0;           // 0: a scalar
  Span rank_span;
};

// One dimension between brackets.
struct IndexItem {
  enum Kind { single, pair, range } kind = single;
  Span span;
  const Expr* a = nullptr;  // single; offset of a pair; start of a range or null
  const Expr* b = nullptr;  // stride of a pair; end of a range or null
};

struct Mode {
  Name name;
  const Expr* value = nullptr;  // of constant(k)
};

// What stands after the ':' of an argument.
struct Modes {
  Span span;
  bool per_dimension = false;  // [mirror, wrap]
  std::vector<Mode> items;
};

struct CallArgument {
  const Expr* value = nullptr;
  std::optional<Modes> modes;
  std::vector<const Expr*> keys;  // of a keyed reduction: what stands behind `into`
};

struct Range {  // i = lo..hi, or, of a reduction, i : X.0
  Name name;
  const Expr* lo = nullptr;
  const Expr* hi = nullptr;
  const Expr* over = nullptr;  // a field of digits
};

struct ComposePiece {
  Span span;             // of the place
  bool strided = false;  // @[...] or [...]
  std::vector<IndexItem> place;
  const Expr* value = nullptr;
};

enum class ExprKind : std::uint8_t {
  number,     // value, type
  name,       // name
  version,    // name < args >
  call,       // name ( arguments )
  keyed,      // name ( arguments[0] into its keys )
  access,     // args[0] @[ index ]
  subscript,  // args[0] [ index ]: gather, table look-up, sub-domain
  field,      // args[0] . name, or digits: the extent of an image argument in that dimension, or one of several values
  unary,      // name is - ! ~
  binary,     // args[0] name args[1]
  select,     // args[0] ? args[1] : args[2]
  cast,       // cast< type_name >( args[0] )
  saturate,
  record,   // struct name ( arguments )
  reduce,   // name ( rank ; ranges ; test ) ( args[0] : along ), or { body return args[0] : along; }
  stack,    // for ranges[0]: args[0]
  compose,  // ( pieces )
};

struct Expr {
  ExprKind kind = ExprKind::number;
  int depth = 1;
  Span span;
  Name name;
  double value = 0;
  ElementType type = ElementType::i32;
  TypeName type_name;
  std::vector<const Expr*> args;
  std::vector<CallArgument> arguments;
  std::vector<IndexItem> index;
  std::vector<Range> ranges;
  const Expr* rank = nullptr;      // of a reduction, where it has one
  const Expr* test = nullptr;      // of its elements, or null
  std::vector<const Expr*> along;  // what goes along with the element that is chosen
  std::vector<const Statement*> body;
  std::vector<ComposePiece> pieces;
};

// X.0, k.1: the number behind the point, -1 where it is too large; nothing where a name stands there.
inline std::optional<std::int64_t> number_of_field(const Expr& field) {
  if (field.kind != ExprKind::field || field.name.text.empty() || field.name.text[0] > '9') return std::nullopt;
  return base::parse_integer(field.name.text).value_or(-1);
}

struct Statement {
  enum Kind { assign, spread, paste, loop, test_loop } kind = assign;
  Span span;
  Name name;
  std::vector<const Expr*> version;  // g<version>, one or more
  std::vector<IndexItem> place;      // spread, paste
  const Expr* value = nullptr;       // test_loop: what it tests
  Range range;                       // of loops
  std::vector<const Statement*> body;
};

struct FunctionArgument {
  Name name;
  TypeName type;
  const Expr* largest = nullptr;  // int r <= 16: it is from 0 to this
};

struct Function {
  enum Kind { stencil, vector, scalar } kind = stencil;
  Name name;
  TypeName result_type;  // scalar
  std::vector<FunctionArgument> arguments;
  std::vector<Name> points;  // of a stencil: what the indices of its result are called; none where they have no names
  std::vector<const Statement*> body;
  const Expr* result = nullptr;  // null when it did not parse
  bool complete = true;          // no syntax error inside
};

struct StructDeclaration {
  Name name;
  std::vector<FunctionArgument> fields;
};

struct ParameterDeclaration {
  enum Kind { number, border, type_choice } kind = number;
  Name name;
  TypeName type;                // text "" when it was not written
  const Expr* value = nullptr;  // of a number
  std::optional<Modes> modes;   // of a border
  TypeName choice;              // of a type
  std::string description;      // the comment above it or behind it
};

struct InputDeclaration {
  Name name;
  TypeName type;
  std::vector<const Expr*> extents;
  const Expr* largest = nullptr;  // as that of an argument
};

struct TableDeclaration {
  Name name;
  TypeName type;
  struct Dimension {
    Span span;
    const Expr* extent = nullptr;  // name[extent]
    std::optional<Range> range;    // name[k = lo..hi]
  };
  std::vector<Dimension> dimensions;
  const Expr* value = nullptr;      // of a computed table
  std::vector<const Expr*> values;  // of a listed one, flat
  Span values_span;
  bool given = false;  // its values come from outside
  std::string description;
};

struct ImportDeclaration {
  Span span;
  std::string_view path;
};

struct ReturnItem {
  Name name;  // text "" for `return expr;`
  const Expr* value = nullptr;
};

// One parsed file.
struct Module {
  std::shared_ptr<const Source> source;
  std::deque<Expr> exprs;
  std::deque<Statement> statements;

  std::vector<ImportDeclaration> imports;
  std::vector<StructDeclaration> structs;
  std::deque<Function> functions;
  std::vector<ParameterDeclaration> parameters;
  std::vector<InputDeclaration> inputs;
  std::vector<TableDeclaration> tables;
  std::vector<const Statement*> body;
  std::vector<ReturnItem> results;
  Span result_span;
  bool has_result = false;
  Span end;
  bool complete = true;                // no syntax error in it
  std::string description;             // the comment at its top, up to an empty line
  std::vector<std::string_view> lost;  // the names in what was skipped after syntax errors
};

}  // namespace tessera::lang
