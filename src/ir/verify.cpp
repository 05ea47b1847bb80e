// The rules of a well-formed graph. A pass that breaks one is caught here, by name, before anything depends on it.
//
// What is checked: table indices, ranks, types of every operation, topological order, scopes of reduction variables,
// margins and pieces. What cannot be checked without extents is left to the interpreter: that an access without a
// border stays inside its producer.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ir/build.hpp"
#include "ir/keyed.hpp"
#include "ir/loops.hpp"
#include "ir/reductions.hpp"

namespace tessera::ir {
namespace {

constexpr std::size_t kMaxRank = 4;

bool is_arithmetic(ElementType t) {
  return t == ElementType::i32 || t == ElementType::u32 || t == ElementType::f32 || t == ElementType::f64;
}
bool is_word(ElementType t) {
  return t == ElementType::i32 || t == ElementType::u32;
}

bool bounded(i64 v) {
  return v >= -max_offset && v <= max_offset;
}

bool representable(ElementType t, double v) {
  if (std::isnan(v)) return is_float(t);
  return evaluate(Op::convert, t, ElementType::f64, &v) == v;
}

class Verifier {
 public:
  explicit Verifier(const Graph& g) : g_(g), checked_(g.expr_count()), free_(g.expr_count()), bound_(g.expr_count()) {}

  void run() {
    check_sizes();
    for (std::size_t i = 0; i < g_.arguments.size(); ++i) check_argument(i);
    for (std::size_t i = 0; i < g_.tables.size(); ++i) check_table(i);
    for (StageId s = 0; s < g_.stage_count(); ++s) check_stage(s);
    for (const Output& o : g_.outputs) check_output(o);
    verify_loops(g_);
  }

 private:
  [[noreturn]] void fail(const std::string& rule) const { throw Error(ErrorClass::internal, where_ + ": " + rule); }
  void require(bool ok, const char* rule) const {
    if (!ok) fail(rule);
  }

  void check_size(SizeId s) const {
    if (s.id >= g_.size_count()) fail(fmt::format("extent {} does not exist", s.id));
  }

  void check_sizes() {
    where_ = "extents";
    for (std::uint32_t i = 0; i < g_.size_count(); ++i) {
      const SizeNode& n = g_.node(SizeId{i});
      if (n.op == SizeOp::parameter && (n.value < 0 || static_cast<std::size_t>(n.value) >= g_.parameters.size()))
        fail(fmt::format("parameter {} does not exist", n.value));
    }
  }

  void check_extents(const std::vector<SizeId>& extents) const {
    if (extents.empty() || extents.size() > kMaxRank)
      fail(fmt::format("the rank is {}; expected 1 to {}", extents.size(), kMaxRank));
    for (SizeId s : extents) {
      check_size(s);
      if (const auto c = g_.constant(s); c && *c < 0) fail(fmt::format("an extent is {}", *c));
    }
  }

  void check_argument(std::size_t i) {
    const Argument& a = g_.arguments[i];
    where_ = fmt::format("argument '{}' ({})", a.name, i);
    if (!a.is_array) {
      require(a.extents.empty(), "a scalar has no extents");
      require(!a.format.is_struct(), "a scalar is not a struct");
      return;
    }
    check_extents(a.extents);
    for (const Format::Field& f : a.format.fields)
      if (f.offset + size_of(f.type) > a.format.size()) fail(fmt::format("field '{}' lies outside its struct", f.name));
  }

  void check_table(std::size_t i) {
    const Table& t = g_.tables[i];
    where_ = fmt::format("table '{}' ({})", t.name, i);
    require(!t.extents.empty(), "a table has at least one dimension");
    i64 count = 1;
    for (i64 n : t.extents) {
      if (n < 1) fail(fmt::format("an extent is {}; expected at least 1", n));
      require(!__builtin_mul_overflow(count, n, &count), "its elements cannot be counted in 63 bits");
    }
    if (static_cast<i64>(t.values.size()) != count)
      fail(fmt::format("{} values for {} elements", t.values.size(), to_string(t.extents)));
    for (double v : t.values)
      if (!representable(t.type, v)) fail(fmt::format("the value {} is no {}", v, tessera::name_of(t.type)));
  }

  void check_stage(StageId s) {
    const Stage& stage = g_.stage(s);
    where_ = fmt::format("stage '{}' ({})", stage.name, s);
    check_extents(stage.domain);
    if (stage.kind != StageKind::point) {
      require(!stage.body.valid(), "only a point stage has a body");
      require(stage.margin_lo.empty() && stage.margin_hi.empty(), "only a point stage has margins");
    }
    if (stage.kind != StageKind::point)
      for (const StageId from : sources(g_, s))
        require(from >= s || !is_keyed(g_, g_.stage(from)), "elements that go into bins are no image");
    if (stage.kind != StageKind::compose) require(stage.pieces.empty(), "only a composed stage has pieces");
    switch (stage.kind) {
      case StageKind::input:
        return check_input(stage);
      case StageKind::point:
        return check_point(s, stage);
      case StageKind::compose:
        for (const Piece& p : stage.pieces) check_piece(s, stage, p);
        return;
      case StageKind::fourier:
        return check_fourier(s, stage);
      case StageKind::carried:
      case StageKind::last:
        return check_loop_stage(s, stage);
    }
    fail("the kind is unknown");
  }

  void check_loop_stage(StageId s, const Stage& stage) const {
    if (stage.loop >= g_.loops.size()) fail(fmt::format("loop {} does not exist", stage.loop));
    if (stage.of >= s) fail(fmt::format("it reads stage {}, which does not come before it", stage.of));
    const Stage& of = g_.stage(stage.of);
    require(of.type == stage.type && of.domain == stage.domain, "it has the type and the domain of what it is of");
  }

  void check_input(const Stage& stage) const {
    if (stage.argument >= g_.arguments.size()) fail(fmt::format("argument {} does not exist", stage.argument));
    const Argument& a = g_.arguments[stage.argument];
    require(a.is_array, "an input stage reads an array argument");
    require(a.extents == stage.domain, "the domain of an input stage is that of its argument");
    const auto& fields = a.format.fields;
    if (stage.field >= std::max<std::size_t>(1, fields.size()))
      fail(fmt::format("field {} does not exist", stage.field));
    const ElementType type = fields.empty() ? a.format.scalar : fields[stage.field].type;
    require(type == stage.type, "the type of an input stage is that of its field");
  }

  void check_point(StageId s, const Stage& stage) {
    const std::size_t rank = stage.domain.size();
    require(stage.margin_lo.size() == rank && stage.margin_hi.size() == rank, "there is one margin per dimension");
    for (std::size_t d = 0; d < rank; ++d)
      require(stage.margin_lo[d] >= 0 && stage.margin_hi[d] >= 0, "margins are not negative");
    require(stage.body.valid() && stage.body.id < g_.expr_count(), "a point stage has a body");
    for (ExprId e : postorder(g_, {stage.body})) {
      const ExprNode& n = g_.node(e);
      check_in_stage(s, rank, n);
      if (is_whole(n.op))
        require(e == stage.body && is_single(g_, stage), "a whole reduction is a stage of one element");
      if (is_lanes(n.op))
        require(e == stage.body && rank == 2 && g_.constant(stage.domain[1]) == lanes_of_piece,
                "lanes are columns of a stage of rank 2");
      if (is_into(n.op)) check_elements(stage, e);
      if (n.op == Op::bins) require(e == stage.body, "what bins hold is the body of a stage");
      if (checked_[e.id]) continue;
      check_expr(n);
      check_scope(e, n);
      checked_[e.id] = true;
    }
    if (g_.node(stage.body).type != stage.type)
      fail(fmt::format("the body is {}, the stage is {}", tessera::name_of(g_.node(stage.body).type),
                       tessera::name_of(stage.type)));
    const auto& open = free_[stage.body.id];
    if (!open.empty()) fail(fmt::format("variable {} is used outside of its reduction", open.front()));
  }

  // What depends on the stage that evaluates the expression.
  void check_in_stage(StageId s, std::size_t rank, const ExprNode& n) const {
    if (n.op == Op::coord || n.op == Op::extent) {
      if (n.ivalue < 0 || static_cast<std::size_t>(n.ivalue) >= rank)
        fail(fmt::format("dimension {} does not exist; the rank is {}", n.ivalue, rank));
    }
    if (!reads_stage(n.op)) return;
    if (n.stage >= s) fail(fmt::format("it reads stage {}, which does not come before it", n.stage));
    const std::size_t r = g_.stage(n.stage).domain.size();
    const std::optional<Keyed> keyed = keyed_of(g_, g_.stage(n.stage));
    const bool of_bins = n.op == Op::bins || n.op == Op::partial;
    require(keyed.has_value() == of_bins, "'bins' and 'partial' read stages of elements, and nothing else does");
    if (n.op == Op::bins) check_bins(g_.stage(s), *keyed);
    if (n.op != Op::access) return;
    if (n.index.size() != r || n.border.size() != r)
      fail(fmt::format("an access to stage {} has {} indices and {} borders; its rank is {}", n.stage, n.index.size(),
                       n.border.size(), r));
    for (std::size_t d = 0; d < r; ++d)
      if (d + rank < r && n.index[d].scale != 0)
        fail("a dimension that the reading stage lacks is read at an absolute index");
  }

  void check_elements(const Stage& stage, ExprId e) const {
    require(e == stage.body, "elements are the body of a stage");
    for (std::size_t d = 0; d < stage.domain.size(); ++d)
      require(stage.margin_lo[d] == 0 && stage.margin_hi[d] == 0, "all points of a stage of elements are elements");
  }

  // The trailing dimensions; leading ones have one point.
  void check_bins(const Stage& stage, const Keyed& keyed) const {
    require(stage.domain.size() >= keyed.bins.size(), "a stage of bins has a dimension for every key");
    const std::size_t lead = stage.domain.size() - keyed.bins.size();
    for (std::size_t d = 0; d < stage.domain.size(); ++d)
      require(d < lead ? g_.constant(stage.domain[d]) == 1 : stage.domain[d] == keyed.bins[d - lead],
              "the domain of a stage of bins are the bins");
  }

  void check_into(const ExprNode& n) const {
    require(n.args.size() >= 3 && n.args.size() % 2 == 1, "elements have a value, and keys with their extents");
    const ElementType value = g_.node(n.args[0]).type;
    require(value == keyed_operand(n.op, value), "the value of an element has a type that bins do not take");
    require(n.type == keyed_type(n.op, value), "the type of elements is another");
    for (std::size_t k = 1; k < n.args.size(); ++k)
      require(k % 2 == 1 ? g_.node(n.args[k]).type == ElementType::i32 : g_.node(n.args[k]).op == Op::size,
              "a key is int32, and its extent behind it");
  }

  void check_expr(const ExprNode& n) const {
    const std::string_view name = name_of(n.op);
    if (arity_of(n.op) >= 0 && n.args.size() != static_cast<std::size_t>(arity_of(n.op)))
      fail(fmt::format("'{}' has {} operands; expected {}", name, n.args.size(), arity_of(n.op)));
    require(n.op == Op::access || (n.index.empty() && n.border.empty()), "only an access has indices and borders");
    require(is_reduction(n.op) || n.vars.empty(), "only a reduction has variables");
    if (n.op == Op::access) return check_access(n);
    if (n.op < Op::convert) return check_leaf(n);
    if (is_reduction(n.op)) return check_reduction(n);
    check_operation(n);
  }

  void check_access(const ExprNode& n) const {
    require(n.type == g_.stage(n.stage).type, "an access has the type of the stage that it reads");
    for (const Index& i : n.index) {
      check_size(i.shift);
      require(i.scale >= 0, "the scale of an access is not negative");
      require(i.scale <= max_offset && bounded(i.offset), "offsets and scales are at most 2^30");
      for (std::size_t k = 0; k < i.vars.size(); ++k) {
        require(bounded(i.vars[k].second), "the coefficients of an index are at most 2^30");
        require(i.vars[k].second != 0, "the variables of an index have coefficients other than 0");
        require(k == 0 || i.vars[k - 1].first < i.vars[k].first, "the variables of an index are sorted, each once");
      }
    }
    for (const Border& b : n.border) require(b.mode <= BorderMode::constant, "the border mode is unknown");
  }

  void require_index(bool ok, std::string_view what, i64 index) const {
    if (!ok) fail(fmt::format("{} {} does not exist", what, index));
  }

  void check_leaf(const ExprNode& n) const {
    const auto at = static_cast<std::size_t>(n.ivalue);
    switch (n.op) {
      case Op::constant: {
        const double v = is_float(n.type) ? n.fvalue : static_cast<double>(n.ivalue);
        if (!representable(n.type, v)) fail(fmt::format("the constant {} is no {}", v, tessera::name_of(n.type)));
        return;
      }
      case Op::scalar:
        require_index(n.ivalue >= 0 && at < g_.arguments.size(), "argument", n.ivalue);
        require(!g_.arguments[at].is_array, "'scalar' names a scalar argument");
        return require(n.type == g_.arguments[at].format.scalar, "'scalar' has the type of its argument");
      case Op::gather:
      case Op::lookup: {
        std::size_t rank = 0;
        ElementType type = n.type;
        if (n.op == Op::lookup) {
          require_index(n.ivalue >= 0 && at < g_.tables.size(), "table", n.ivalue);
          rank = g_.tables[at].extents.size();
          type = g_.tables[at].type;
        } else {
          rank = g_.stage(n.stage).domain.size();
          type = g_.stage(n.stage).type;
        }
        if (n.args.size() != rank)
          fail(fmt::format("'{}' has {} indices; expected {}", name_of(n.op), n.args.size(), rank));
        for (ExprId a : n.args)
          require(g_.node(a).type == ElementType::i32, "the indices of 'gather' and 'lookup' are int32");
        return require(n.type == type, "'gather' and 'lookup' have the type of what they read");
      }
      case Op::value:
        require(is_single(g_, g_.stage(n.stage)), "'value' reads a stage of one element");
        return require(n.type == g_.stage(n.stage).type, "'value' has the type of what it reads");
      case Op::whole_min:
      case Op::whole_max:
      case Op::whole_sum:
      case Op::whole_mean:
        return require(n.type == whole_type(n.op, g_.stage(n.stage).type), "the type of a whole reduction is another");
      case Op::lanes_min:
      case Op::lanes_max:
      case Op::lanes_sum:
        require(n.ivalue >= 0 && n.ivalue % lanes_of_piece == 0, "a piece is a multiple of its lanes");
        return require(n.type == lanes_type(n.op, g_.stage(n.stage).type), "the type of lanes is another");
      case Op::bins:
        return;
      case Op::partial:
        require(g_.node(n.args[0]).type == ElementType::i32 && g_.node(n.args[1]).type == ElementType::i32,
                "a piece and a bin are int32");
        return require(n.type == g_.stage(n.stage).type, "'partial' has the type of the elements' bins");
      case Op::into_sum:
      case Op::into_min:
      case Op::into_max:
        return check_into(n);
      case Op::size:
        require_index(n.ivalue >= 0 && at < g_.size_count(), "extent", n.ivalue);
        return require(n.type == ElementType::f64, "'size' is double");
      case Op::parameter:
        require_index(n.ivalue >= 0 && at < g_.parameters.size(), "parameter", n.ivalue);
        break;
      case Op::var:
        require_index(n.ivalue >= 0 && n.ivalue < static_cast<i64>(g_.var_count()), "variable", n.ivalue);
        break;
      default:
        break;
    }
    if (n.type != ElementType::i32) fail(fmt::format("'{}' is int32", name_of(n.op)));
  }

  void check_reduction(const ExprNode& n) const {
    require(!n.vars.empty(), "a reduction has at least one variable");
    i64 points = 1;
    for (const Var& v : n.vars) {
      i64 span = 0;
      require(std::min(v.lo, v.hi) >= -max_offset && std::max(v.lo, v.hi) <= max_offset,
              "the bounds of a variable are at most 2^30");
      if (v.lo > v.hi) fail(fmt::format("variable {} runs over the empty range {}..{}", v.id, v.lo, v.hi));
      if (__builtin_sub_overflow(v.hi, v.lo, &span) || span >= max_window || (points *= span + 1) > max_window)
        fail(fmt::format("a reduction runs over more than {} points", max_window));
    }
    const bool logical = n.op == Op::reduce_any || n.op == Op::reduce_all;
    require(n.type == g_.node(n.args[0]).type, "a reduction has the type of its body");
    if (logical ? n.type != ElementType::boolean : !is_arithmetic(n.type)) wrong_type(n, n.type);
  }

  [[noreturn]] void wrong_type(const ExprNode& n, ElementType t) const {
    fail(fmt::format("'{}' does not apply to {}", name_of(n.op), tessera::name_of(t)));
  }

  void check_operation(const ExprNode& n) const {
    const ElementType operand = g_.node(n.args.back()).type;
    const bool boolean = operand == ElementType::boolean;
    bool applies = is_arithmetic(operand);
    if (is_function(n.op)) applies = operand == ElementType::f32 || operand == ElementType::f64;
    switch (n.op) {
      case Op::convert:
        return;
      case Op::saturate:
        if (is_float(n.type) || n.type == ElementType::boolean) wrong_type(n, n.type);
        return;
      case Op::rem:
      case Op::shl:
      case Op::shr:
        applies = is_word(operand);
        break;
      case Op::bit_not:
      case Op::bit_and:
      case Op::bit_or:
      case Op::bit_xor:
        applies = is_word(operand) || boolean;
        break;
      case Op::min:
      case Op::max:
        applies = applies || (!boolean && !is_float(operand));
        break;
      case Op::least:
      case Op::most:
        applies = is_float(operand);
        break;
      case Op::eq:
      case Op::ne:
      case Op::select:
        applies = applies || boolean;
        break;
      default:
        break;
    }
    if (!applies) wrong_type(n, operand);
    const bool comparison = n.op == Op::lt || n.op == Op::le || n.op == Op::eq || n.op == Op::ne;
    for (std::size_t i = n.op == Op::select ? 1 : 0; i < n.args.size(); ++i)
      if (g_.node(n.args[i]).type != operand) fail(fmt::format("the operands of '{}' have one type", name_of(n.op)));
    if (n.op == Op::select)
      require(g_.node(n.args[0]).type == ElementType::boolean, "the condition of 'select' is bool");
    if (n.type != (comparison ? ElementType::boolean : operand))
      fail(fmt::format("'{}' of {} gives {}", name_of(n.op), tessera::name_of(operand), tessera::name_of(n.type)));
  }

  static void unite(std::vector<std::uint32_t>& into, const std::vector<std::uint32_t>& from) {
    if (from.empty()) return;
    std::vector<std::uint32_t> merged;
    std::set_union(into.begin(), into.end(), from.begin(), from.end(), std::back_inserter(merged));
    into = std::move(merged);
  }

  // Free and bound reduction variables, bottom up. The same variable may be bound by reductions side by side, as
  // sharing and substitution make them, but not by one inside another.
  void check_scope(ExprId e, const ExprNode& n) {
    auto &open = free_[e.id], &bound = bound_[e.id];
    if (n.op == Op::var) open = {static_cast<std::uint32_t>(n.ivalue)};
    for (const Index& i : n.index)
      for (const auto& [v, c] : i.vars) unite(open, {v});
    for (ExprId a : n.args) {
      unite(open, free_[a.id]);
      unite(bound, bound_[a.id]);
    }
    std::vector<std::uint32_t> own;
    for (const Var& v : n.vars) own.push_back(v.id);
    std::sort(own.begin(), own.end());
    for (std::size_t k = 0; k < own.size(); ++k)
      if ((k > 0 && own[k] == own[k - 1]) || std::binary_search(bound.begin(), bound.end(), own[k]))
        fail(fmt::format("variable {} is bound again inside its own reduction", own[k]));
    std::erase_if(open, [&](std::uint32_t v) { return std::binary_search(own.begin(), own.end(), v); });
    unite(bound, own);
  }

  void check_fourier(StageId s, const Stage& stage) const {
    const Fourier& f = stage.fourier;
    require(stage.type == ElementType::f32 || stage.type == ElementType::f64, "a transform is float or double");
    require(!f.along.empty(), "a transform has at least one dimension");
    for (std::size_t k = 0; k < f.along.size(); ++k) {
      if (f.along[k] < 0 || static_cast<std::size_t>(f.along[k]) >= stage.domain.size())
        fail(fmt::format("dimension {} does not exist; the rank is {}", f.along[k], stage.domain.size()));
      require(k == 0 || f.along[k - 1] < f.along[k], "the dimensions of a transform ascend, each once");
    }
    for (const StageId from : {f.re, f.im.value_or(f.re)}) {
      if (from >= s) fail(fmt::format("it reads stage {}, which does not come before it", from));
      require(g_.stage(from).type == stage.type, "a transform has the type of what it reads");
      require(g_.stage(from).domain == stage.domain, "a transform has the domain of what it reads");
    }
  }

  void check_piece(StageId s, const Stage& stage, const Piece& p) const {
    const std::size_t rank = stage.domain.size();
    require(p.start.size() == rank && p.stride.size() == rank && p.count.size() == rank,
            "a piece has one start, stride and count per dimension");
    for (std::size_t d = 0; d < rank; ++d) {
      check_size(p.start[d]);
      check_size(p.count[d]);
      require(p.stride[d] <= max_offset, "the stride of a piece is at most 2^30");
      if (p.stride[d] < 1) fail(fmt::format("the stride of a piece is {}; expected at least 1", p.stride[d]));
    }
    if (!p.stage) {
      if (!representable(stage.type, p.value))
        fail(fmt::format("the value {} of a piece is no {}", p.value, tessera::name_of(stage.type)));
      return;
    }
    if (*p.stage >= s) fail(fmt::format("it reads stage {}, which does not come before it", *p.stage));
    const Stage& source = g_.stage(*p.stage);
    require(source.type == stage.type, "a piece has the type of the composed stage");
    if (source.domain.size() > rank)
      fail(fmt::format("a piece of rank {} does not fit a stage of rank {}", source.domain.size(), rank));
    const std::size_t lead = rank - source.domain.size();
    for (std::size_t d = 0; d < rank; ++d) {
      const auto count = g_.constant(p.count[d]);
      if (d < lead) {
        require(count == 1, "the count of a piece is 1 in a dimension that its source lacks");
      } else if (const auto n = g_.constant(source.domain[d - lead]); n && count && *count > *n) {
        fail(fmt::format("a piece takes {} elements of {}", *count, *n));
      }
    }
  }

  void check_output(const Output& o) {
    where_ = fmt::format("output '{}'", o.name);
    const auto& fields = o.format.fields;
    if (o.stages.size() != std::max<std::size_t>(1, fields.size()))
      fail(fmt::format("{} stages for {} fields", o.stages.size(), std::max<std::size_t>(1, fields.size())));
    for (std::size_t i = 0; i < o.stages.size(); ++i) {
      if (o.stages[i] >= g_.stage_count()) fail(fmt::format("stage {} does not exist", o.stages[i]));
      const Stage& stage = g_.stage(o.stages[i]);
      require(stage.type == (fields.empty() ? o.format.scalar : fields[i].type), "a stage has the type of its field");
      require(stage.domain == g_.stage(o.stages[0]).domain, "the stages of an output have one domain");
      require(!is_keyed(g_, stage), "elements that go into bins are no image");
    }
    for (const Output& other : g_.outputs)
      if (&other != &o && other.name == o.name) fail("two outputs have the same name");
  }

  const Graph& g_;
  std::string where_;
  std::vector<bool> checked_;
  std::vector<std::vector<std::uint32_t>> free_, bound_;
};

}  // namespace

void verify(const Graph& g) {
  Verifier(g).run();
}

}  // namespace tessera::ir
