// Point expressions: what stencils and scalar functions compute, and every scalar of a whole-image expression.
//
// The evaluator walks the syntax tree once per call and builds the typed expression in the graph. In constant mode
// (parameters, tables) reductions are executed and everything must come out as a number.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lang/context.hpp"

namespace tessera::lang {

// A vector argument of the stencil being called, and what its body turned out to read.
struct ArgumentUse {
  const FunctionArgument* argument = nullptr;
  Image image;
  std::vector<ElementType> types;  // of the image's stages
  std::vector<Border> borders;     // one per declared dimension
  bool accessed = false, gathered = false;
  bool has_domain() const { return accessed || !gathered; }  // only gathered: no part in the domain of the result

  // Per declared dimension: the common stride of all accesses and where it was set, and the margins of mode none.
  struct Dimension {
    std::optional<i64> stride;
    Span place;
    i64 lo = 0, hi = 0;
    i64 inside = 0;  // what `hi` would have to be: with a stride the published rule may leave out one point more
  };
  std::vector<Dimension> dimensions;

  int rank() const { return argument->type.rank; }
};

// Where an index of a dimension of an image says how far an index of a result with names runs.
struct PointExtent {
  std::size_t point = 0;  // of the result's indices
  ir::SizeId extent;      // of the image's dimension
  i64 step = 1;           // of that index for one of the result's, as a number above 0
  bool alone = false;     // nothing but the name stands there
  bool bounded = false;   // the argument has no mode: the index may not run further
  Span place;
  std::string what;  // "dimension 0 of 'W'"
};

// What the reads of a stencil with names say of its result.
struct NamedReads {
  std::vector<PointExtent> extents;
  std::vector<i64> margin_lo, margin_hi;  // per index of the result: of arguments without a mode
};

// Gives an element by its rank: the median is one.
bool is_ranked(ir::Op);

// The names of one activation; nothing for a name whose value was faulty.
using Locals = std::map<std::string_view, std::optional<PointValue>>;

class PointEvaluator {
 public:
  enum Mode { build, constant };
  PointEvaluator(Context& context, Mode mode = build) : context_(context), graph_(context.graph), mode_(mode) {}

  // The vector arguments of the stencil that is being called.
  void set_stencil(std::vector<ArgumentUse>* arguments) { arguments_ = arguments; }
  // The highest d of coord(d) and extent(d), and where it stands: the rank is known only after the body.
  struct Query {
    int dimension = -1;
    Span place;
  };
  const Query& highest_query() const { return highest_query_; }
  // The stencil names its points, so many: indices of images are absolute, and affine ones have a footprint.
  void set_points(const std::vector<Name>& names);
  const NamedReads& named_reads() const { return named_; }
  void set_locals(Locals* locals) { locals_ = locals; }
  // Outside of stencils: what names and calls mean that the expression itself does not know.
  using Outside = std::function<std::optional<Scalar>(const Expr&)>;
  void set_outside(Outside outside) { outside_ = std::move(outside); }

  PointValue evaluate(const Expr&);
  PointValue values(const Expr&);  // perhaps several that go along with an element
  Scalar scalar(const Expr&);
  // `NAME = e;` of a stencil or function, or a loop of them.
  void define(const Statement&);

  // Compile-time values. `what` says what is wanted, for the message: "the offset".
  double constant_scalar(const Expr&, const std::string& what);
  i64 constant_integer(const Expr&, const std::string& what);

  // The same, converted to `type`.
  double constant_as(const Expr&, ElementType type, const std::string& what);
  Scalar integer(Span, i64 value);

  // What is declared behind `<=` for a scalar of a type.
  i64 largest(const Name&, const TypeName&, const Expr&);
  // The scalar, or the end of 0 to `largest` that is next to it.
  Scalar confined(const Scalar&, i64 largest);
  // A value that an argument is not known to take is an error.
  void check_largest(const CallArgument&, const FunctionArgument&, const Function&, const Scalar& value);

  // The scalar as a value of `type`.
  ir::ExprId converted(const Scalar&, ElementType type);
  Scalar made(Span, ir::ExprId, ElementType);
  // What a reduction makes of these terms, in their order.
  Scalar reduced_to_one(const Expr& reduction, ir::Op, const std::vector<Scalar>& terms);

 private:
  // points.cpp
  void define_in_loop(const Statement&);
  bool is_index(std::string_view) const;
  void check_new_index(const Name&);
  PointValue evaluate_name(const Expr&);
  Scalar number(const Expr&);
  Scalar unary(const Expr&);
  Scalar binary(const Expr&);
  Scalar combine(const Expr&, const Scalar&, const Scalar&);
  PointValue select(const Expr&);
  PointValue record(const Expr&);
  PointValue field(const Expr&);
  double constant_value(const Expr&, const Scalar&, const std::string& what);
  void want_integer(Span, const Scalar&, const std::string& what);

  // calls.cpp
  PointValue call(const Expr&);
  PointValue call_function(const Expr&, const Function&);
  PointValue function_argument(const CallArgument&, const FunctionArgument&, const Function&);
  Scalar call_builtin(const Expr&);
  Scalar dimension_query(const Expr&);
  ir::Var variable_between(const Range&, std::optional<ir::ExprId>& within);
  PointValue reduce(const Expr&);

  // largest.cpp
  std::optional<ir::ExprId> open_bounds(const Range&, ir::Var&);

  // reductions.cpp
  struct Window {
    ir::Op op = ir::Op::reduce_sum;
    std::vector<ir::Var> vars;
    std::optional<Scalar> rank;
    std::optional<ir::ExprId> within;  // boolean: bounds that are known at run time hold
  };
  struct Element {
    Scalar value;
    PointValue along;  // what goes along with it, where something does
  };
  Element element(const Expr&);
  PointValue along(const Expr&);
  PointValue window(const Expr&, const Window&);
  PointValue choice(const Window&, const Element&, ir::ExprId taken);
  Scalar ranked(const Expr&, const Window&, const Scalar& value, ir::ExprId taken);
  std::optional<i64> count_taken(ir::ExprId taken, const std::vector<ir::Var>&);
  ir::ExprId left_out(ir::Op, ElementType);
  Scalar term_of(ir::Op, const Scalar&);
  PointValue reduce_now(const Expr&, const Window&);
  [[noreturn]] void unknown_function(const Expr&);

  // integers.cpp
  std::optional<Scalar> integer_function(const Expr&);

  // access.cpp
  PointValue access(const Expr&);
  PointValue plain_access(const Expr&, ArgumentUse&);
  PointValue subscript(const Expr&);
  PointValue gather(const Expr&, ArgumentUse&);
  Scalar lookup(const Expr&, const TableEntry&);
  std::vector<Border> borders_of(Span, const ArgumentUse&, std::size_t field, std::size_t rank);
  PointValue read(Span, ArgumentUse&, const std::vector<ir::Index>&, const std::vector<Span>& places);
  ir::Index index(const IndexItem&);
  ArgumentUse* find_argument(std::string_view);

  struct Affine {  // offset + sum of coefficient * variable + sum of coefficient * index of the result
    i64 offset = 0;
    std::map<std::uint32_t, i64> vars;
    std::map<std::size_t, i64> points;  // none but of stencils that name them
    bool moved = false;                 // by a number that is known at run time
    bool is_number() const { return vars.empty() && points.empty() && !moved; }
  };
  // `moves`: numbers that are known at run time may be part of the sum.
  std::optional<Affine> affine(ir::ExprId, bool moves = false) const;
  // Least and greatest value over the ranges of the reduction variables.
  std::pair<i64, i64> bounds(const Affine&) const;

  // named.cpp
  struct ReadDimension {  // of an image
    Span span;
    const ArgumentUse& use;
    std::size_t dimension;  // as declared
    ir::SizeId extent;
    std::string text() const;
  };
  ir::SizeId extent_of(const Expr&);
  ir::SizeId extent_of(const Expr&, const Expr& image, i64 dimension);
  ir::Var variable_over(const Range&);
  PointValue named_read(const Expr&, ArgumentUse&, const std::vector<ir::ExprId>& indices);
  void look_at_index(const ReadDimension&, const Affine&);
  void look_at_point(const ReadDimension&, const Affine&, std::size_t point, i64 step);
  void look_at_window(const ReadDimension&, const Affine&);
  std::vector<ir::Index> aligned(const std::vector<std::optional<Affine>>&) const;
  [[noreturn]] void refuse_neighbour(const Expr&, const ArgumentUse&);

  Context& context_;
  ir::Graph& graph_;
  Mode mode_;
  Locals* locals_ = nullptr;
  std::vector<ArgumentUse>* arguments_ = nullptr;
  Outside outside_;
  Query highest_query_;
  bool in_function_ = false;  // inside a scalar function: coord and extent have no meaning
  std::size_t points_ = 0;    // indices with names
  NamedReads named_;
  struct Over {  // what a reduction index runs over
    ir::SizeId extent;
    std::string what;
  };
  std::map<std::uint32_t, Over> over_;
  std::vector<ir::Var> ranges_;            // of the reductions around
  std::vector<std::string_view> indices_;  // of the loops and reductions around
};

}  // namespace tessera::lang
