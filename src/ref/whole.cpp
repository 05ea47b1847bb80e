// See whole.hpp.
#include "ref/whole.hpp"

#include <algorithm>

#include "base/process/deadline.hpp"
#include "ir/build.hpp"
#include "ir/reductions.hpp"

namespace tessera::ref {

using ir::Op;

double lane_of_piece(Op op, ElementType own, const std::vector<double>& all, i64 first, i64 end) {
  double v = ir::first_of_lane(op, own);
  const ElementType type = ir::promote(own, own);
  for (i64 k = first; k < end; k += ir::lanes_of_piece) {
    base::count_towards_deadline();
    const double both[2] = {all[static_cast<std::size_t>(k)], v};
    v = ir::evaluate(ir::step_of_lane(op), type, type, both);
  }
  return v;
}

// A list of numbers, in pieces; then what these come to, in one.
double whole_value(const ir::ExprNode& n, const Image& image) {
  const Op op = ir::lanes_of(n.op);
  const ElementType own = op == Op::lanes_sum ? ElementType::f64 : n.type, computed = ir::promote(own, own);
  const auto piece = [&](const std::vector<double>& all, i64 first, i64 end) {
    double total = 0;
    for (i64 l = 0; l < ir::lanes_of_piece; ++l) {
      const double both[2] = {total, lane_of_piece(op, own, all, first + l, end)};
      total = l == 0 ? both[1] : ir::evaluate(ir::step_of_lane(op), computed, computed, both);
    }
    return total;
  };
  const std::vector<double>& elements = image.values;
  const i64 count = static_cast<i64>(elements.size());
  std::vector<double> pieces;
  for (i64 first = 0; first < count; first += ir::elements_of_piece)
    pieces.push_back(piece(elements, first, std::min(first + ir::elements_of_piece, count)));
  const double total = piece(pieces, 0, static_cast<i64>(pieces.size()));
  return n.op == Op::whole_mean ? total / static_cast<double>(count) : total;
}

Size whole_size(const ir::ExprNode& n, const Image& image) {
  const std::vector<double>& all = image.sizes;
  const Op op = ir::is_lanes(n.op) ? n.op : ir::lanes_of(n.op);
  double sum = 0, largest = 0;
  for (const double s : all) sum += s, largest = std::max(largest, s);
  if (op != Op::lanes_sum) return image_size(largest);
  return image_size(n.op == Op::whole_mean ? sum / static_cast<double>(all.size()) : sum);
}

}  // namespace tessera::ref
