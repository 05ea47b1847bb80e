// See keyed.hpp.
#include "ref/keyed.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/division.hpp"
#include "base/process/deadline.hpp"
#include "ir/build.hpp"

namespace tessera::ref {

using ir::Op;

namespace {

// What a bin holds when it takes a value: the operation is computed in the promoted type, which holds every other.
double taken(Op op, ElementType type, double element, double held) {
  const ElementType computed = ir::promote(type, type);
  const double both[2] = {element, held};
  return ir::evaluate(ir::step_of_bin(op), computed, computed, both);
}

double size_taken(Op op, double element, double held) {
  return op == Op::into_sum ? element + held : std::max(element, held);
}

}  // namespace

void put_into_bins(const ir::Graph& g, const ir::Keyed& keyed, const std::vector<i64>& extents, const Shape& domain,
                   const std::function<KeyedElement(const std::vector<i64>&)>& element, bool sized, Image& image) {
  i64 count = 1;
  for (const i64 n : extents)
    if (__builtin_mul_overflow(count, n, &count) || count > ir::most_bins)
      throw Error(ErrorClass::argument, fmt::format("a keyed reduction has more than {} bins", ir::most_bins));
  const ElementType type = ir::keyed_type(keyed.op, g.node(keyed.value).type);
  const i64 pieces = ir::pieces_of(g, keyed), line = count + 1;
  image.shape = {pieces, line};
  image.values.assign(static_cast<std::size_t>(pieces * line), ir::first_of_bin(keyed.op, type));
  if (sized) image.sizes.assign(image.values.size(), 0.0);
  std::vector<i64> i(domain.size(), 0);
  const std::vector<i64> lo = i;
  if (empty_box(lo, domain)) return;
  const i64 rows = domain.size() > 1 ? base::ceil_divide(domain[0], pieces) : domain[0];
  do {
    base::count_towards_deadline();
    const KeyedElement e = element(i);
    i64 bin = 0;
    for (std::size_t d = 0; d < extents.size(); ++d) {
      const i64 key = static_cast<i64>(e.keys[d]);
      if (key < 0 || key >= extents[d]) {
        bin = count;
        break;
      }
      bin = bin * extents[d] + key;
    }
    const auto at = static_cast<std::size_t>(i[0] / rows * line + bin);
    image.values[at] = taken(keyed.op, type, e.value.value, image.values[at]);
    if (sized) image.sizes[at] = size_taken(keyed.op, e.value.size, image.sizes[at]);
  } while (next(i, lo, domain));
}

Element bin_value(const ir::Graph& g, const ir::ExprNode& n, const Image& image, i64 bin) {
  const ir::Stage& elements = g.stage(n.stage);
  const Op op = g.node(elements.body).op;
  Element total;
  for (i64 piece = 0; piece < image.shape[0]; ++piece) {
    const auto at = static_cast<std::size_t>(piece * image.shape[1] + bin);
    const double v = image.values[at], size = image.sizes.empty() ? 0 : image.sizes[at];
    total.value = piece == 0 ? v : taken(op, elements.type, v, total.value);
    total.size = size_taken(op, size, total.size);
  }
  total.value = ir::evaluate(Op::convert, n.type, elements.type, &total.value);
  return total;
}

}  // namespace tessera::ref
