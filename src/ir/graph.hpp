// The stage graph: what a program computes, without a word about how.
//
// A graph has parameters (run-time integers that extents depend on), arguments (arrays and scalars in declaration
// order), stages and outputs. Every stage is one scalar image: a struct image is one stage per field, so that fields
// cost nothing and share their common subexpressions when they are computed together.
//
//   input    a field of an argument array
//   point    at every point of its domain, an expression over other stages at offsets of that point
//   compose  the union of pieces of other stages, laid out with offsets and strides; 0 elsewhere; later pieces win
//   fourier  one part, real or imaginary, of the discrete Fourier transform of other stages
//   carried  an image that a loop with a test hands from each iteration to the next: in the body, the version before
//   last     an image of a loop's body as the last iteration left it
//
// A loop's body is what depends on what the loop carries (ir/loops.hpp); all else is the same in every iteration and
// stands outside. Plans know no loops: ir/sections.hpp cuts a graph at them.
//
// Expressions are immutable and hash-consed in the graph: the same subexpression is the same ExprId, across stages.
// Extents (Size) are symbolic in the parameters and hash-consed as well. Stages are stored in topological order: a
// stage reads only stages with a smaller id.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "data/border.hpp"
#include "tessera/array.hpp"
#include "tessera/error.hpp"

namespace tessera::ir {

// ---- extents -------------------------------------------------------------------------------------------------------

struct SizeId {
  std::uint32_t id = 0;  // 0 is the constant 0
  auto operator<=>(const SizeId&) const = default;
};

enum class SizeOp : std::uint8_t { constant, parameter, add, sub, mul, floor_div, min, max };

struct SizeNode {
  SizeOp op = SizeOp::constant;
  i64 value = 0;  // constant; parameter index; divisor of floor_div (> 0)
  SizeId a, b;    // operands (floor_div: a)
  auto operator<=>(const SizeNode&) const = default;
};

// ---- expressions ---------------------------------------------------------------------------------------------------

struct ExprId {
  std::uint32_t id = 0xffffffff;
  bool valid() const { return id != 0xffffffff; }
  auto operator<=>(const ExprId&) const = default;
};

using StageId = std::uint32_t;

// The operations. X(name, arity, spelling in the text form). Arity -1: any number.
// Operands of arithmetic have the type of the result; of comparisons, the same type as each other (result boolean).
// Integer arithmetic wraps in 32 bits (i32, u32). On boolean, only bit_and bit_or bit_xor bit_not eq ne select apply.
// Arithmetic, comparisons and reductions work on i32 u32 f32 f64 (and boolean as said); the other types are for
// storage: only constant access gather lookup scalar convert saturate have them, and min and max the integers among
// them (windows taken one dimension at a time stay as narrow as the image).
//   div, rem    integers truncate toward zero; by zero give 0; INT_MIN / -1 wraps to INT_MIN, rem 0
//   shl, shr    the count is taken modulo 32; shr is arithmetic on i32, logical on u32
//   convert     int -> narrower int truncates; float -> int truncates toward zero and saturates to the 32-bit type
//               (i32, or u32 for u32) before narrowing wraps, NaN gives 0; anything -> boolean is != 0
//   saturate    float -> int rounds half to even and clamps to the type, NaN gives 0; int -> int clamps
//   round       half away from zero
//   sqrt ... fmod  of floats: defined to the bit by functions_f32.c.inc and functions_f64.c.inc; rem is of integers
//   fast_exp    exp to 2e-7 of its value, which is 0 below -87.69 and infinite from 88.38 on (plans put it for exp; on
//                NVIDIA's GPUs to 2e-7 + 6e-8 |x|)
//   min, max    of floats: of a NaN and a number the number, -0 less than 0: IEEE 754-2019's minimumNumber, C's fmin
//   least, most the lesser and the greater of two floats; of a NaN and a number, and of 0 and -0, either (plans put
//               them where the value that comes of it is open as well)
//   select      args: condition (boolean), value if true, value if false
//   access      reads `stage` at a constant offset (see ExprNode)
//   gather      reads `stage` at absolute indices args[0..rank), i32, each clamped to the domain
//   lookup      table `ivalue` at indices args, i32, each clamped to the table
//   value       the only element of `stage`, whose extents are all 1
//   whole_*     what all elements of `stage` come to (ir/reductions.hpp); the body of a stage whose extents are all 1
//   lanes_*     set by plans alone: at (q, l) of a stage of rank 2, what the elements of piece q of `stage` come to
//   that
//               lane l takes; pieces of `ivalue` elements, 0: all of them
//   bins        what keys have put into the bin at this point; the body of a stage, of a `stage` of elements
//               (ir/keyed.hpp)
//   partial     set by plans alone: bin args[1] of piece args[0] of a `stage` of elements
//   size        the extent with the id `ivalue`, f64
//   into_*      the body of a stage of elements: args are the value of one, then for every dimension of the bins its
//               key, i32, and the extent (size)
//   coord       index along dimension `ivalue` of the stage's own domain, i32
//   extent      extent of that dimension, i32
//   parameter   the run-time parameter `ivalue`, i32
//   scalar      the scalar argument `ivalue` (index into Graph::arguments)
//   var         the reduction variable `ivalue`, i32
//   reduce_*    over `vars`, first variable outermost; args: body. The sum starts with the first term, not with 0.
//               reduce_any, reduce_all take and give boolean. reduce_median: the element of rank (n-1)/2 from below
//               for integers and floats alike (n is usually odd); NaN where an element is one.
//   reduce_rank args: body, rank (i32, the same for all elements): the element of that rank from below, 0 the least
//               one; ranks beyond 0..n-1 are clamped; NaN where an element is one.
//   reduce_pick args: key, taken (boolean), value: the value of the element with the least key among those that are
//               taken, of several the first one; a NaN comes behind all numbers; 0 where none is taken.
// clang-format off
#define TESSERA_OPS(X)                                                                                                \
  X(constant, 0, "const") X(access, 0, "access") X(coord, 0, "coord") X(extent, 0, "extent")                          \
  X(parameter, 0, "param") X(scalar, 0, "scalar") X(var, 0, "var")                                                    \
  X(gather, -1, "gather") X(lookup, -1, "lookup")                                                                     \
  X(value, 0, "value") X(whole_min, 0, "min_of") X(whole_max, 0, "max_of") X(whole_sum, 0, "sum_of")                  \
  X(whole_mean, 0, "mean_of") X(lanes_min, 0, "min_lanes") X(lanes_max, 0, "max_lanes")                               \
  X(lanes_sum, 0, "sum_lanes") X(bins, 0, "bins") X(partial, 2, "partial") X(size, 0, "size")                         \
  X(into_sum, -1, "sum_into") X(into_min, -1, "min_into") X(into_max, -1, "max_into")                                 \
  X(convert, 1, "convert") X(saturate, 1, "saturate") X(neg, 1, "neg") X(bit_not, 1, "not") X(abs, 1, "abs")          \
  X(sqrt, 1, "sqrt") X(exp, 1, "exp") X(log, 1, "log") X(sin, 1, "sin") X(cos, 1, "cos") X(tan, 1, "tan")             \
  X(asin, 1, "asin") X(acos, 1, "acos") X(atan, 1, "atan") X(sinh, 1, "sinh") X(cosh, 1, "cosh") X(tanh, 1, "tanh")   \
  X(fast_exp, 1, "fast_exp") X(exp2, 1, "exp2") X(log2, 1, "log2") X(log10, 1, "log10") X(cbrt, 1, "cbrt")                                       \
  X(floor, 1, "floor") X(ceil, 1, "ceil") X(round, 1, "round") X(trunc, 1, "trunc")                                   \
  X(add, 2, "add") X(sub, 2, "sub") X(mul, 2, "mul") X(div, 2, "div") X(rem, 2, "rem")                                \
  X(min, 2, "min") X(max, 2, "max") X(least, 2, "least") X(most, 2, "most") X(pow, 2, "pow") X(atan2, 2, "atan2") X(hypot, 2, "hypot") X(fmod, 2, "fmod")     \
  X(bit_and, 2, "and") X(bit_or, 2, "or") X(bit_xor, 2, "xor") X(shl, 2, "shl") X(shr, 2, "shr")                      \
  X(lt, 2, "lt") X(le, 2, "le") X(eq, 2, "eq") X(ne, 2, "ne")                                                         \
  X(select, 3, "select")                                                                                              \
  X(reduce_sum, 1, "sum") X(reduce_prod, 1, "prod") X(reduce_min, 1, "rmin") X(reduce_max, 1, "rmax")                 \
  X(reduce_median, 1, "median") X(reduce_rank, 2, "rank") X(reduce_pick, 3, "pick")                                  \
  X(reduce_any, 1, "any") X(reduce_all, 1, "all")
// clang-format on

enum class Op : std::uint8_t {
#define X(name, arity, text) name,
  TESSERA_OPS(X)
#undef X
};

std::string_view name_of(Op);  // the spelling of the text form
std::optional<Op> op_named(std::string_view);
int arity_of(Op);  // -1: any
bool is_reduction(Op);
bool reads_stage(Op);  // access, gather, value, whole_*, lanes_*, bins, partial
bool is_whole(Op);     // whole_*
bool is_lanes(Op);     // lanes_*
bool is_into(Op);      // into_*
bool is_function(Op);  // sqrt ... trunc, pow, atan2, hypot, fmod: operands and result f32 or f64

// One dimension of an access: the producer is read at  shift + offset + scale * i + sum_k coefficient_k * var_k
// where i is the index of the point being computed, in the dimension of the producer aligned at the trailing end
// (producer of rank r read by a stage of rank R: producer dimension d goes with stage dimension d + R - r).
// scale >= 0; 0 means an absolute index.
struct Index {
  i64 offset = 0;
  i64 scale = 1;
  SizeId shift;                                     // symbolic part; constant 0 almost always
  std::vector<std::pair<std::uint32_t, i64>> vars;  // reduction variable, coefficient (sorted by variable, no zeros)
  auto operator<=>(const Index&) const = default;
};

struct Var {             // a reduction variable over lo..hi, both included (lo <= hi)
  std::uint32_t id = 0;  // unique in the graph
  i64 lo = 0, hi = 0;
  SizeId end = {};  // not the constant 0: it runs to end - 1, which is known at run time, and `hi` is out of reach
  auto operator<=>(const Var&) const = default;
};

struct ExprNode {
  Op op = Op::constant;
  ElementType type = ElementType::i32;
  std::vector<ExprId> args;
  i64 ivalue = 0;     // constant of an integer or boolean type; index of coord, extent, parameter, scalar, var, lookup
  double fvalue = 0;  // constant of a floating type (exactly representable in it)
  StageId stage = 0;  // what it reads; see reads_stage
  std::vector<Index> index;    // access: one per producer dimension
  std::vector<Border> border;  // access: one per producer dimension
  std::vector<Var> vars;       // reductions
};

// ---- stages --------------------------------------------------------------------------------------------------------

enum class StageKind : std::uint8_t { input, point, compose, fourier, carried, last };

// sum_j x[j] exp(-2 pi i j k / n) along the given dimensions at once; the inverse has exp(+...) and divides by the
// number of points. What is read has the domain and the type of the stage, f32 or f64.
struct Fourier {
  bool inverse = false;
  bool imaginary = false;  // the part that the stage is: another one, equal but for this, is the other part
  std::vector<int> along;  // dimensions, ascending, at least one
  StageId re = 0;
  std::optional<StageId> im;  // nothing: it reads a real image
};

struct Piece {
  std::optional<StageId> stage;  // or a constant
  double value = 0;
  // Per dimension of the composed stage: piece element j stands at start + stride * j, for 0 <= j < count.
  // A source of lower rank fills the trailing dimensions; count is 1 in the leading ones it lacks.
  std::vector<SizeId> start;
  std::vector<i64> stride;  // >= 1
  std::vector<SizeId> count;
};

struct Stage {
  StageKind kind = StageKind::point;
  std::string name;  // as in the source, made unique by the text form only
  ElementType type = ElementType::f32;
  std::vector<SizeId> domain;  // extents, slowest first; rank 1 to 4
  SourceSpan span;             // where the program says so; line 0 when built from C++

  // input
  std::uint32_t argument = 0;  // index into Graph::arguments
  std::uint32_t field = 0;     // index into its Format::fields; 0 for scalars

  // point: evaluated for lo[d] <= i <= n[d] - 1 - hi[d] in every dimension, 0 elsewhere (border mode none).
  // Accesses with border none never leave their producer inside that box.
  ExprId body;
  std::vector<i64> margin_lo, margin_hi;  // one per dimension, >= 0
  // Whoever plans may say beside the graph how the stage is computed, under this number; its body then stays as it is.
  // 0: nothing is said.
  std::uint32_t note = 0;

  // compose
  std::vector<Piece> pieces;

  // fourier: plans have none, their programs are cut there before (rewrite/parts.hpp)
  Fourier fourier;
  // carried, last
  std::uint32_t loop = 0;  // index into Graph::loops
  StageId of = 0;          // carried: what it is in the first iteration; last: the image of the body
};

// A loop with a test: the body runs, then every carried image becomes the one that is next; again while `test`, whose
// only element is boolean, holds, `most` times at most. What is next is no carried image but the one before in the list
// (the version before the last one).
struct Loop {
  std::string name;  // of its variable
  i64 most = 1;
  StageId test = 0;
  std::vector<StageId> carried, next;  // in pairs
  SourceSpan span;
};

struct Argument {
  std::string name;
  bool is_array = true;
  Format format;                // of an element, or of the scalar
  std::vector<SizeId> extents;  // of an array
  SourceSpan span;
  std::optional<i64> largest = {};  // of a scalar that is from 0 to it; expressions confine it by themselves
};

struct Table {
  std::string name;
  ElementType type = ElementType::f32;
  std::vector<i64> extents;
  std::vector<double> values;  // exactly representable in type (i32 and u32 fit a double)
};

// What has to hold of extents: b is a, or, `at_most`, no less than a. What does not depend on parameters is seen to
// where the graph is made, the rest where they become known.
struct Requirement {
  SizeId a, b;
  bool at_most = false;
  std::string what;  // one sentence: of what, and where the program says so
  bool operator==(const Requirement&) const = default;
};

struct Output {
  std::string name;  // "" for a program with a single unnamed output
  Format format;
  std::vector<StageId> stages;  // one per field, or one; all with the same domain
};

class Graph {
 public:
  std::vector<std::string> parameters;  // run-time parameters, type int, in declaration order
  std::vector<Argument> arguments;
  std::vector<Table> tables;
  std::vector<Loop> loops;
  std::vector<Requirement> requirements;
  std::vector<Output> outputs;

  // Extents, kept in one normal form: sums are flattened to sum_k c_k * atom_k + c in a fixed order, (M+1)-1 is M,
  // (2*M+1)/2 is M, min(M-1, M) is M-1. So equal affine extents are the same SizeId. Throws Error(compile) when a
  // constant leaves 63 bits. floor_div takes divisor > 0.
  Graph();
  SizeId size(i64 constant);
  SizeId size_parameter(std::uint32_t index);
  SizeId size_binary(SizeOp, SizeId, SizeId);
  SizeId size_floor_div(SizeId, i64 divisor);
  const SizeNode& node(SizeId s) const { return sizes_[s.id]; }
  std::size_t size_count() const { return sizes_.size(); }
  std::optional<i64> constant(SizeId) const;
  // Throws Error(argument) when the value does not fit 63 bits.
  i64 evaluate(SizeId, const std::vector<i64>& parameters) const;
  std::string to_string(SizeId) const;  // infix, "(M-1)/2"

  // Hash-consing constructor; the node must be well formed (see verify). build.hpp has the convenient ones.
  // Operands have smaller ids than their users. References to nodes and stages stay valid while others are added.
  ExprId expr(ExprNode node);
  const ExprNode& node(ExprId e) const { return exprs_[e.id]; }
  std::size_t expr_count() const { return exprs_.size(); }
  std::uint32_t new_var() { return next_var_++; }
  std::uint32_t var_count() const { return next_var_; }
  void reserve_vars(std::uint32_t n) { next_var_ = n > next_var_ ? n : next_var_; }

  StageId add(Stage);  // appends; its sources must be there already
  const Stage& stage(StageId s) const { return stages_[s]; }
  Stage& stage(StageId s) { return stages_[s]; }
  std::size_t stage_count() const { return stages_.size(); }
  // Hands the stages out and leaves none: how a pass rebuilds a graph while keeping its expressions and extents.
  std::vector<Stage> take_stages();

 private:
  friend struct SizeAlgebra;

  std::deque<SizeNode> sizes_;
  std::vector<std::uint64_t> size_hashes_;  // structural: the same in every graph
  std::map<SizeNode, SizeId> size_index_;
  std::deque<ExprNode> exprs_;
  std::vector<std::uint64_t> expr_hashes_;
  std::vector<std::uint32_t> expr_slots_;  // open addressing, a power of two long; ~0 is empty
  std::deque<Stage> stages_;
  std::uint32_t next_var_ = 0;
};

// A stage with the name, the type, the domain and the place of another one.
Stage stage_like(const Stage&, StageKind);

// Is a <= b whatever the parameters are? Extents are taken as not negative; false means "not known".
bool at_most(Graph&, SizeId a, SizeId b);

// The expressions below the roots, roots included: each once, operands before their users, left to right.
std::vector<ExprId> postorder(const Graph&, const std::vector<ExprId>& roots);

// Rebuilds `root` bottom up: `fn` gets every node below it once, with its operands already rewritten, and returns what
// stands for it; an invalid id keeps the node as given. `memo` (old id -> new) is shared by calls that pass the same
// one.
using RewriteFn = std::function<ExprId(ExprId old, const ExprNode& rewritten)>;
using RewriteMemo = std::unordered_map<std::uint32_t, ExprId>;
ExprId rewrite(Graph&, ExprId root, const RewriteFn& fn);
ExprId rewrite(Graph&, ExprId root, const RewriteFn& fn, RewriteMemo& memo);

// Does a variable of the reduction run over an extent that is known at run time alone?
bool runs_over_extents(const ExprNode& reduction);

// Every access in the body (each once), reductions included.
std::vector<ExprId> accesses(const Graph&, ExprId body);
// The stages that `s` reads, each once, ascending.
std::vector<StageId> sources(const Graph&, StageId s);

// Throws Error(internal) naming the stage and the rule when the graph is not well formed.
void verify(const Graph&);

// Text form: one line per item, `parse_graph(print(g))` prints the same again.
std::string print(const Graph&);
Graph parse_graph(std::string_view text);

}  // namespace tessera::ir
