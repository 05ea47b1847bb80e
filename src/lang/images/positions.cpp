// Where the greatest and the least element of an image stand: argmax(img), argmin(img).
//
// The elements that are as great as the greatest one give their number in the order of memory; the least of these
// numbers is the first position, and quotients by the extents are its indices. So it is made of reductions of whole
// images alone, and goes wherever they go. Numbers of elements are doubles, which hold more than any memory does.
#include <fmt/format.h>

#include <limits>

#include "base/text.hpp"
#include "ir/reductions.hpp"
#include "lang/images/images.hpp"

namespace tessera::lang {

using ir::ExprId;
using ir::Op;

// A call, or a name for what came of one.
bool ImageEvaluator::is_position(const Expr& e) const {
  if (e.kind == ExprKind::call)
    return (e.name.text == "argmax" || e.name.text == "argmin") && context_.find_function(e.name.text) == nullptr;
  if (!is_named_scalar(e)) return false;
  std::string name(e.name.text);
  if (e.kind == ExprKind::version) name += '<';
  return scope_.images.lower_bound(name)->second->position;
}

// An index for each dimension.
Image ImageEvaluator::position_of_extreme(const Expr& e) {
  if (e.arguments.size() != 1)
    context_.report.fail(e.span,
                         fmt::format("{} takes 1 argument, {} given", base::quoted(e.name.text), e.arguments.size()));
  const Image image = reduced_image(e);
  const ExprId extreme = ir::whole(graph_, e.name.text == "argmax" ? Op::whole_max : Op::whole_min, image.stages[0]);
  const Domain of = domain(image);
  const std::size_t rank = of.size();
  const auto real = [&](double v) { return ir::constant(graph_, ElementType::f64, v); };
  ExprId number = real(0);
  for (std::size_t d = 0; d < rank; ++d)
    number = ir::binary(graph_, Op::add, ir::binary(graph_, Op::mul, number, ir::size_value(graph_, of[d])),
                        ir::convert(graph_, ElementType::f64, ir::coord(graph_, d)));
  const ExprId equal =
      ir::binary(graph_, Op::eq, own_point(image.stages[0]), ir::value(graph_, single(extreme, e).stages[0]));
  const double none = std::numeric_limits<double>::infinity();
  const ir::StageId numbers =
      add_point(std::string(e.name.text) + ".numbers", ElementType::f64, of,
                ir::select(graph_, equal, number, real(none)), std::vector<i64>(rank), std::vector<i64>(rank), e.span);
  const Image first = single(ir::whole(graph_, Op::whole_min, numbers), e);
  // Of NaNs alone none is equal to another: the first element.
  ExprId rest = ir::value(graph_, first.stages[0]);
  rest = ir::select(graph_, ir::binary(graph_, Op::lt, rest, real(none)), rest, real(0));
  Image out;
  out.scalar = out.position = true;
  out.stages.resize(rank);
  for (std::size_t d = rank; d-- > 0;) {
    const ExprId extent = ir::size_value(graph_, of[d]);
    ExprId index = rest;
    if (d > 0) {
      rest = ir::unary(graph_, Op::floor, ir::binary(graph_, Op::div, rest, extent));
      index = ir::binary(graph_, Op::sub, index, ir::binary(graph_, Op::mul, rest, extent));
    }
    out.stages[d] = single(ir::convert(graph_, ElementType::i32, index), e).stages[0];
  }
  return out;
}

// k.0, argmax(img).1
Image ImageEvaluator::index_of_position(const Expr& e) {
  const Image all = values(*e.args[0]);
  const std::optional<i64> at = number_of_field(e);
  if (!at || *at < 0 || *at >= static_cast<i64>(all.stages.size()))
    context_.report.fail(e.name.span, fmt::format("there is no index {}: expected .0 to .{}, one for each dimension",
                                                  base::quoted(e.name.text), all.stages.size() - 1));
  Image one;
  one.stages = {all.stages[static_cast<std::size_t>(*at)]};
  one.scalar = true;
  return one;
}

}  // namespace tessera::lang
