// The point expressions of a pipeline's handles: reads, look-ups, windows, arithmetic, offsets and extents.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "data/border.hpp"
#include "engine/pipeline/impl.hpp"
#include "ir/build.hpp"
#include "ir/gather.hpp"
#include "ir/reductions.hpp"

namespace tessera {

namespace {

using detail::checked;
using detail::fail;
using detail::id;
using detail::made;
using detail::Node;
using detail::same;
using detail::Shared;
using detail::View;

// Constants as values of the type of the image.
std::vector<Border> borders_of(const View& view) {
  const ir::Stage& stage = view.builder->graph.stage(view.stage);
  std::vector<Border> borders = view.borders;
  for (Border& b : borders) {
    if (b.mode != BorderMode::constant) continue;
    if (!continues(stage.type, b.value))
      fail(fmt::format("border constant({}) is no {} of {}, the type of '{}': {}", b.value,
                       is_float(stage.type) ? "finite number" : "value", name_of(stage.type), stage.name,
                       expected_constant(stage.type)),
           "convert the image before, by a stage of its values cast to a wider type");
    b.value = ir::evaluate(ir::Op::convert, stage.type, ElementType::f64, &b.value);
  }
  return borders;
}

}  // namespace

// ---- nodes ---------------------------------------------------------------------------------------------------------

namespace detail {

Node constant(const Shared& b, ElementType type, double value) {
  return made(b, ir::constant(b->graph, type, value));
}

Node convert(ElementType type, const Node& n) {
  return made(n.builder, ir::convert(n.builder->graph, type, id(n)));
}

Node saturate(ElementType type, const Node& n) {
  return made(n.builder, ir::saturate(n.builder->graph, type, id(n)));
}

Node apply(std::string_view operation, std::initializer_list<Node> operands) {
  const auto op = ir::op_named(operation);
  if (!op || ir::arity_of(*op) != static_cast<int>(operands.size()))
    throw Error(ErrorClass::internal, fmt::format("there is no operation '{}' of {}", operation, operands.size()));
  const Node& a = *operands.begin();
  ir::Graph& g = a.builder->graph;
  if (operands.size() == 1) return made(a.builder, checked([&] { return ir::unary(g, *op, id(a)); }));
  const Node& b = *(operands.begin() + 1);
  same(a.builder, b.builder);
  return made(a.builder, checked([&] { return ir::binary(g, *op, id(a), id(b)); }));
}

Node select(const Node& condition, const Node& a, const Node& b) {
  same(same(condition.builder, a.builder), b.builder);
  return made(a.builder, ir::select(a.builder->graph, id(condition), id(a), id(b)));
}

Node read(const View& view, const std::vector<Offset>& offsets) {
  ir::Graph& g = view.builder->graph;
  const ir::Stage& stage = g.stage(view.stage);
  if (offsets.size() != stage.domain.size())
    fail(fmt::format("'{}' has {} dimension{}, but is read at {} offset{}", stage.name, stage.domain.size(),
                     stage.domain.size() == 1 ? "" : "s", offsets.size(), offsets.size() == 1 ? "" : "s"));
  std::vector<ir::Index> indices;
  for (std::size_t d = 0; d < offsets.size(); ++d) {
    if (offsets[d].builder()) same(view.builder, offsets[d].builder());
    ir::Index index;
    index.offset = offsets[d].number();
    index.scale = view.strides[d];
    for (const Term& t : offsets[d].terms()) index.vars.emplace_back(t.variable, t.factor);
    indices.push_back(std::move(index));
  }
  std::vector<Border> borders = borders_of(view);
  return made(view.builder, checked([&] { return ir::access(g, view.stage, std::move(indices), std::move(borders)); }));
}

Node gather(const View& view, const std::vector<Node>& indices) {
  std::vector<ir::ExprId> at;
  for (const Node& n : indices) {
    same(view.builder, n.builder);
    at.push_back(id(n));
  }
  ir::Graph& g = view.builder->graph;
  const std::vector<Border> borders = borders_of(view);
  return made(view.builder, checked([&] { return ir::gather(g, view.stage, std::move(at), borders); }));
}

Node lookup(const Shared& b, std::uint32_t table, const std::vector<Node>& indices) {
  std::vector<ir::ExprId> at;
  for (const Node& n : indices) {
    same(b, n.builder);
    at.push_back(id(n));
  }
  return made(b, checked([&] { return ir::lookup(b->graph, table, std::move(at)); }));
}

Node only_element(const View& view) {
  return made(view.builder, ir::value(view.builder->graph, view.stage));
}

Node from_offset(const Offset& offset) {
  if (!offset.builder()) fail("an offset without a window variable is used as a value", "use the number itself");
  ir::Graph& g = offset.builder()->graph;
  ir::ExprId sum;
  for (const Term& t : offset.terms()) {
    const ir::ExprId factor = ir::constant(g, ElementType::i32, static_cast<double>(t.factor));
    const ir::ExprId term = ir::binary(g, ir::Op::mul, factor, ir::var(g, t.variable));
    sum = sum.valid() ? ir::binary(g, ir::Op::add, sum, term) : term;
  }
  const ir::ExprId number = ir::constant(g, ElementType::i32, static_cast<double>(offset.number()));
  return made(offset.builder(), sum.valid() ? ir::binary(g, ir::Op::add, sum, number) : number);
}

std::vector<std::uint32_t> new_variables(const Shared& b, const std::vector<Range>& ranges, std::size_t expected) {
  if (ranges.size() != expected)
    fail(fmt::format("the window has {} range{}, but the function takes {} offset{}", ranges.size(),
                     ranges.size() == 1 ? "" : "s", expected, expected == 1 ? "" : "s"));
  std::vector<std::uint32_t> ids;
  for (const Range& r : ranges) {
    ids.push_back(b->graph.new_var());
    b->ranges[ids.back()] = r;
  }
  return ids;
}

Node reduce(std::string_view operation, const std::vector<std::uint32_t>& variables, const Node& body) {
  std::vector<ir::Var> vars;
  for (const std::uint32_t v : variables) {
    const auto range = body.builder->ranges.find(v);
    if (range == body.builder->ranges.end()) fail("the expression mixes values of two pipelines");
    vars.push_back({v, range->second.lo, range->second.hi});
  }
  const auto op = ir::op_named(operation);
  if (!op) throw Error(ErrorClass::internal, fmt::format("there is no reduction '{}'", operation));
  return made(body.builder, checked([&] { return ir::reduce(body.builder->graph, *op, std::move(vars), id(body)); }));
}

View with_borders(View view, std::vector<Border> borders) {
  const std::size_t rank = view.strides.size();
  if (borders.size() != rank)
    fail(fmt::format("'{}' has {} dimensions, but {} border modes are given",
                     view.builder->graph.stage(view.stage).name, rank, borders.size()));
  view.borders = std::move(borders);
  return view;
}

View with_strides(View view, std::vector<i64> strides) {
  const std::string& name = view.builder->graph.stage(view.stage).name;
  if (strides.size() != view.strides.size())
    fail(fmt::format("'{}' has {} dimensions, but {} strides are given", name, view.strides.size(), strides.size()));
  for (const i64 s : strides)
    if (s < 1 || s > ir::max_offset) fail(fmt::format("'{}' is read with stride {}, expected 1 to 2^30", name, s));
  view.strides = std::move(strides);
  return view;
}

int rank_of(const View& view) {
  return static_cast<int>(view.strides.size());
}

}  // namespace detail

// ---- offsets and extents -------------------------------------------------------------------------------------------

Offset Offset::plus(const Offset& b, i64 factor) const {
  Offset sum = *this;
  if (!sum.builder_) sum.builder_ = b.builder_;
  if (b.builder_) same(sum.builder_, b.builder_);
  sum.number_ += factor * b.number_;
  for (const detail::Term& t : b.terms_) sum.terms_.push_back({t.variable, factor * t.factor});
  return sum;
}

Offset Offset::times(i64 factor) const {
  Offset product = *this;
  const auto grow = [&](i64& v) {
    if (__builtin_mul_overflow(v, factor, &v) || std::abs(v) > ir::max_offset)
      fail("an offset is out of range", "offsets and their factors are at most 2^30");
  };
  grow(product.number_);
  for (detail::Term& t : product.terms_) grow(t.factor);
  return product;
}

namespace {

Size combined(ir::SizeOp op, const Size& a, const Size& b, const Shared& builder) {
  const ir::SizeId x{a.in(builder)}, y{b.in(builder)};
  return {builder, checked([&] { return builder->graph.size_binary(op, x, y); }).id};
}

}  // namespace

std::uint32_t Size::in(const Shared& builder) const {
  if (builder_) same(builder_, builder);
  return builder_ ? id_ : builder->graph.size(number_).id;
}

Size operator+(const Size& a, const Size& b) {
  const Shared& builder = a.builder_ ? a.builder_ : b.builder_;
  i64 sum = 0;
  if (builder) return combined(ir::SizeOp::add, a, b, builder);
  if (__builtin_add_overflow(a.number_, b.number_, &sum)) fail("an extent leaves 63 bits");
  return sum;
}
Size operator-(const Size& a, const Size& b) {
  const Shared& builder = a.builder_ ? a.builder_ : b.builder_;
  i64 difference = 0;
  if (builder) return combined(ir::SizeOp::sub, a, b, builder);
  if (__builtin_sub_overflow(a.number_, b.number_, &difference)) fail("an extent leaves 63 bits");
  return difference;
}
Size operator*(const Size& a, const Size& b) {
  const Shared& builder = a.builder_ ? a.builder_ : b.builder_;
  i64 product = 0;
  if (builder) return combined(ir::SizeOp::mul, a, b, builder);
  if (__builtin_mul_overflow(a.number_, b.number_, &product)) fail("an extent leaves 63 bits");
  return product;
}
Size operator/(const Size& a, i64 divisor) {
  if (divisor < 1) fail(fmt::format("an extent is divided by {}, expected a positive number", divisor));
  if (!a.builder_) return a.number_ / divisor;
  return {a.builder_, a.builder_->graph.size_floor_div(ir::SizeId{a.id_}, divisor).id};
}

}  // namespace tessera
