// In what the errors of a value are measured, point by point: its size.
//
// `fast` numbers may reorder and contract sums and take them through transforms, and promise results within 1e-5 of
// sum |w| * max |x| over what a point itself reads (docs/convolution.md, "Accuracy"). So beside every value the
// interpreter carries what it weighs at most:
//
//   an element of an image   its size there: |x| of an input; of bytes at least 9, as their range is known
//   a sum, a known factor    the sum of all |weights|, times the largest size that they stand upon
//   a product of two         |a| size(b) + |b| size(a) - |a b|, and what both errors make together
//   a choice                 the size of what was chosen, of a least or largest value the larger size
//   any other function       |f| and by how much it changes where its operands change by 1e-5 of their sizes
//   an integer of a float    |v| and 1e5: a last bit decides how it is rounded
//
// What compares or indexes decides as it decides: that a last bit changes the decision is not an error that is bounded.
// An infinite size: nothing is known (transforms of whole images, a quotient by next to nothing).
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "ir/build.hpp"
#include "ir/graph.hpp"

namespace tessera::ref {

constexpr double promised = 1e-5;
constexpr double size_of_byte = 9;

struct Size {
  double weights = 0, largest = 0;  // |w| and the largest |x| that they stand upon
  double added = 0;                 // what is known beside
  bool known = false;               // it depends on no image

  double most() const { return weights * largest + added; }
};

inline Size known_size(double v) {
  return {0, 0, std::abs(v), true};
}
inline Size image_size(double most) {
  return {1, most, 0, false};
}

inline Size sum_of(const Size& a, const Size& b) {
  return {a.weights + b.weights, std::max(a.largest, b.largest), a.added + b.added, a.known && b.known};
}

inline Size larger_of(const Size& a, const Size& b) {
  if (a.known && b.known) return known_size(std::max(a.most(), b.most()));
  return image_size(std::max(a.most(), b.most()));
}

inline Size product_of(double a, const Size& of_a, double b, const Size& of_b) {
  const auto times = [](const Size& s, double c) {
    return Size{s.weights * std::abs(c), s.largest, s.added * std::abs(c), s.known};
  };
  if (of_a.known) return times(of_b, a);
  if (of_b.known) return times(of_a, b);
  return image_size(std::abs(a) * of_b.most() + std::abs(b) * of_a.most() - std::abs(a * b) +
                    promised * of_a.most() * of_b.most());
}

// Of an operation with operands of that type, which are at most three, and its value.
inline Size operation_size(ir::Op op, ElementType type, ElementType operand, const double* v, const Size* of,
                           std::size_t count, double value) {
  using ir::Op;
  bool known = true;
  for (std::size_t k = 0; k < count; ++k) known = known && of[k].known;
  if (known) return known_size(value);
  switch (op) {
    case Op::neg:
    case Op::abs:
      return of[0];
    case Op::add:
    case Op::sub:
      return sum_of(of[0], of[1]);
    case Op::mul:
      return product_of(v[0], of[0], v[1], of[1]);
    case Op::min:
    case Op::max:
      return larger_of(of[0], of[1]);
    case Op::select:
      return v[0] != 0 ? of[1] : of[2];
    case Op::convert:
      if (!is_float(type) && is_float(operand)) return image_size(std::abs(value) + 1 / promised);
      return of[0];
    default:
      break;
  }
  if (!is_float(type)) return image_size(std::abs(value));
  if (op == Op::div && of[1].known) return product_of(v[0], of[0], 1 / v[1], known_size(1 / v[1]));
  if (op == Op::div && promised * of[1].most() >= std::abs(v[1]))
    return image_size(std::numeric_limits<double>::infinity());
  double change = 0;
  for (std::size_t k = 0; k < count; ++k) {
    if (of[k].known) continue;
    double own = 0;
    for (const double by : {promised * of[k].most(), -promised * of[k].most()}) {
      double moved[3] = {};
      std::copy(v, v + count, moved);
      moved[k] += by;
      if (op == Op::sqrt) moved[k] = std::max(moved[k], 0.0);
      own = std::max(own, std::abs(ir::evaluate(op, type, operand, moved) - value));
    }
    change += own;
  }
  const double most = std::abs(value) + change / promised;
  return image_size(std::isfinite(most) ? most : std::numeric_limits<double>::infinity());
}

}  // namespace tessera::ref
