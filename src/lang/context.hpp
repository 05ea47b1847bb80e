// What every part of the checker shares: the graph under construction, the declarations, the report, and the budget.
//
// Values of the checker: a Scalar is one expression of the graph with its type in the language (a comparison is an int
// in the language and a boolean in the graph until somebody needs the int); a PointValue is a Scalar or one Scalar per
// field of a struct; an Image is one stage, or one per field.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "ir/build.hpp"
#include "lang/compile.hpp"
#include "lang/syntax/ast.hpp"
#include "lang/syntax/report.hpp"

namespace tessera::lang {

struct StructType {
  Name name;
  Format format;
};

struct Scalar {
  ir::ExprId e;
  ElementType type = ElementType::i32;
};

struct PointValue {
  const StructType* record = nullptr;
  std::vector<Scalar> parts;
};

struct Image {
  const StructType* record = nullptr;
  std::vector<ir::StageId> stages;
  std::vector<Border> borders;  // of a vector function's argument that came with a mode: one per dimension; else empty
  bool scalar = false;          // one number, made of reductions of images: its stage has one element
  bool position = false;        // such numbers, an index for each dimension: a stage for each
};

struct Parameter {
  const ParameterDeclaration* declaration = nullptr;
  enum State { unresolved, resolving, constant, run_time, faulty } state = unresolved;
  ElementType type = ElementType::i32;  // of a type parameter: the type that it is
  double value = 0;
  std::uint32_t index = 0;      // of a run-time one, into Graph::parameters
  std::vector<Border> borders;  // of a border parameter: one for all dimensions, or one per dimension

  ParameterDeclaration::Kind kind() const { return declaration->kind; }
};

struct TableEntry {
  const TableDeclaration* declaration = nullptr;
  std::uint32_t index = 0;  // into Graph::tables
  enum State { later, ready, faulty } state = later;
};

// Everything declared at the top of the program and its imports.
struct Declarations {
  std::map<std::string_view, const Function*> functions;
  std::map<std::string_view, StructType> structs;
  std::map<std::string_view, Parameter> parameters;
  std::map<std::string_view, TableEntry> tables;
  std::set<std::string_view> lost;      // names in parts that did not parse: not knowing them is no news
  std::set<const Function*> recursive;  // reported already
  bool warned_int8 = false;
  std::optional<StructType> wide_complex;  // where the program declares no `complex`: the one of doubles
};

inline constexpr std::string_view complex_name = "complex";
// The struct `complex`, where the program declares none (lang/images/spectra.cpp).
void declare_complex(Declarations&);

class Context {
 public:
  Context(Report& r, ir::Graph& g, Declarations& d, const Limits& l) : report(r), graph(g), declared(d), limits(l) {}

  Report& report;
  ir::Graph& graph;
  Declarations& declared;
  const Limits& limits;
  i64 steps = 0;
  int nesting = 0;
  std::vector<const Function*> active;  // calls being expanded, outermost first
  bool lenient = false;                 // checking a function by itself: what depends on its arguments is no fault
  bool in_test_loop = false;            // in the body of one, or of what that calls
  bool tolerant = false;                // a loop or import was skipped: unknown names are no news

  // Counts one unit of work at `at`; Stop when the budget is spent.
  void step(Span at);
  // The limits on the size and depth of expressions, after `e` was built.
  void check_growth(Span at, ir::ExprId e);
  // Nodes of an extent as a tree, as far as they can be counted.
  std::uint32_t size_terms(ir::SizeId);

  // An unknown name; nothing is said where it may stand in a part of the program that was skipped.
  [[noreturn]] void unknown(Span, std::string_view name, std::string message, Advice = {});
  // a = b, or a <= b: found out now, or when the extents are known. `what` says it for the message.
  void require(Span, ir::Requirement, const Advice& = {});
  // A value that had to be known at compile time.
  [[noreturn]] void not_constant(Span, std::string message, Advice = {});

  // The type of a scalar; warns about int8.
  ElementType basic_type(const TypeName&);
  // A basic type (null and `type` filled in) or a struct.
  const StructType* resolve_type(const TypeName&, ElementType& type);
  const Function* find_function(std::string_view) const;
  // Of a `complex` that the program does not declare, the one for numbers of this type; others are what they are.
  const StructType* fitting(const StructType*, ElementType) const;
  // Equal, or both a `complex` that the program does not declare.
  bool same_struct(const StructType*, const StructType*) const;

 private:
  std::vector<std::uint32_t> depth_;  // per expression
  std::vector<std::uint32_t> terms_;  // per extent
};

// One level of nesting or one active call, for as long as it lives.
class Nested {
 public:
  Nested(Context&, Span);
  ~Nested() { --context_.nesting; }
  Nested(const Nested&) = delete;
  Nested& operator=(const Nested&) = delete;

 private:
  Context& context_;
};

class ActiveCall {
 public:
  // Reports recursion with its cycle.
  ActiveCall(Context&, const Function&, Span);
  ~ActiveCall() { context_.active.pop_back(); }
  ActiveCall(const ActiveCall&) = delete;
  ActiveCall& operator=(const ActiveCall&) = delete;

 private:
  Context& context_;
};

// "'r', 'g' or 'b'".
std::string quoted_list(const std::vector<std::string>&);
// "float", "struct rgb".
std::string describe(const StructType*, ElementType);

}  // namespace tessera::lang
