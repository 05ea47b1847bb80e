// Interval arithmetic over the stage graph, point by point, with decisions that are open: see possible.hpp.
#include "hardware/possible.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

#include "data/border.hpp"
#include "data/element.hpp"
#include "ir/bind.hpp"
#include "ir/build.hpp"
#include "tessera/error.hpp"

namespace tessera::hardware {

using ir::ExprId;
using ir::ExprNode;
using ir::Op;
using ir::StageId;
using ir::StageKind;

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();
constexpr i64 most_points = 1 << 23;    // that are kept at a time
constexpr i64 most_combinations = 256;  // of whole numbers that are tried one by one
// The interpreter computes with floats, whose own rounding may decide as well: so much of a value.
constexpr double of_floats = 2e-6;

Span hull(Span a, Span b) {
  return {std::min(a.lo, b.lo), std::max(a.hi, b.hi)};
}

Span all_of(ElementType type) {
  if (is_float(type)) return {-infinite, infinite};
  const auto limits = ir::integer_limits(type);
  return {limits.lo, limits.hi};
}

// Do larger operands give larger results?
bool rises(Op op) {
  switch (op) {
    case Op::exp:
    case Op::exp2:
    case Op::log:
    case Op::log2:
    case Op::log10:
    case Op::sqrt:
    case Op::cbrt:
    case Op::sinh:
    case Op::tanh:
    case Op::asin:
    case Op::atan:
    case Op::floor:
    case Op::ceil:
    case Op::trunc:
    case Op::round:
      return true;
    default:
      return false;
  }
}

bool is_comparison(Op op) {
  return op == Op::lt || op == Op::le || op == Op::eq || op == Op::ne;
}

}  // namespace

struct Possible::Impl {
  Impl(const Stream& given, const std::vector<Array>& given_arguments)
      : stream(given), graph(given.graph), arguments(given_arguments), stages(graph.stage_count()) {
    std::vector<Shape> shapes;
    for (const Array& a : arguments) shapes.push_back(a.shape());
    if (arguments.size() != graph.arguments.size())
      throw Error(ErrorClass::argument, fmt::format("{} arguments are given, the program takes {}", arguments.size(),
                                                    graph.arguments.size()));
    parameters = ir::bind_parameters(graph, shapes);
    for (StageId s = 0; s < graph.stage_count(); ++s) prepare(s);
  }

  struct Step {
    ExprId expr;
    const ExprNode* node = nullptr;
    std::vector<std::size_t> args;  // steps
    double margin = -1;             // within which it may decide otherwise; -1: it decides nothing that has an error
  };
  struct Image {
    i64 rows = 0, columns = 0;
    std::vector<Step> steps;
    std::vector<std::vector<Span>> known;  // by row; empty: none; NaN: not yet
  };

  void prepare(StageId s) {
    const ir::Stage& stage = graph.stage(s);
    Image& image = stages[s];
    if (stage.domain.size() != 2)
      throw Error(ErrorClass::argument, fmt::format("stage '{}' is no image of two dimensions", stage.name));
    image.rows = graph.evaluate(stage.domain[0], parameters);
    image.columns = graph.evaluate(stage.domain[1], parameters);
    image.known.resize(static_cast<std::size_t>(image.rows));
    if (stage.kind != StageKind::point) return;
    std::map<ExprId, std::size_t> at;
    for (const ExprId e : ir::postorder(graph, {stage.body})) {
      Step step;
      step.expr = e, step.node = &graph.node(e);
      for (const ExprId a : step.node->args) step.args.push_back(at.at(a));
      if (const auto it = stream.margins.find({s, e}); it != stream.margins.end()) step.margin = it->second;
      at[e] = image.steps.size();
      image.steps.push_back(std::move(step));
    }
  }

  // ---- points ------------------------------------------------------------------------------------------------------

  Span at(StageId s, i64 row, i64 column) {
    Image& image = stages[s];
    std::vector<Span>& known = image.known[static_cast<std::size_t>(row)];
    const auto x = static_cast<std::size_t>(column);
    if (known.empty()) {
      known.assign(static_cast<std::size_t>(image.columns), Span{NAN, NAN});
      points += image.columns;
    }
    if (std::isnan(known[x].lo)) {
      const Span v = value(s, row, column);
      image.known[static_cast<std::size_t>(row)][x] = v;
      return v;
    }
    return known[x];
  }

  void forget() {
    for (Image& image : stages)
      for (std::vector<Span>& row : image.known) row = {};
    points = 0;
  }

  Span value(StageId s, i64 row, i64 column) {
    const ir::Stage& stage = graph.stage(s);
    if (stage.kind == StageKind::input) {
      const Array& a = arguments[stage.argument];
      const auto& fields = a.format().fields;
      const std::size_t offset = fields.empty() ? 0 : fields[stage.field].offset;
      const i64 place[] = {row, column};
      const double v = load_element(stage.type, a.at(place) + offset);
      return {v, v};
    }
    return stage.kind == StageKind::compose ? piece(stage, row, column) : body(s, row, column);
  }

  Span piece(const ir::Stage& stage, i64 row, i64 column) {
    const i64 place[] = {row, column};
    for (std::size_t p = stage.pieces.size(); p-- > 0;) {
      const ir::Piece& piece = stage.pieces[p];
      i64 j[2] = {};
      bool inside = true;
      for (std::size_t d = 0; d < 2 && inside; ++d) {
        const i64 from = place[d] - graph.evaluate(piece.start[d], parameters);
        j[d] = from / piece.stride[d];
        inside = from >= 0 && from % piece.stride[d] == 0 && j[d] < graph.evaluate(piece.count[d], parameters);
      }
      if (inside) return piece.stage ? at(*piece.stage, j[0], j[1]) : Span{piece.value, piece.value};
    }
    return {0, 0};
  }

  // Without a border, points that would read beyond the edge are 0.
  bool in_margin(StageId s, std::size_t d, i64 i, i64 extent) const {
    const ir::Stage& stage = graph.stage(s);
    return i < stage.margin_lo[d] || i >= extent - stage.margin_hi[d];
  }

  Span body(StageId s, i64 row, i64 column) {
    if (in_margin(s, 0, row, stages[s].rows) || in_margin(s, 1, column, stages[s].columns)) return {0, 0};
    const std::vector<Step>& steps = stages[s].steps;
    std::vector<Span> values(steps.size());
    for (std::size_t k = 0; k < steps.size(); ++k) {
      const ExprNode& node = *steps[k].node;
      const auto exactly = [](double v) { return Span{v, v}; };
      switch (node.op) {
        case Op::access:
          values[k] = access(node, row, column);
          break;
        case Op::constant:
          values[k] = exactly(is_float(node.type) ? node.fvalue : static_cast<double>(node.ivalue));
          break;
        case Op::coord:
          values[k] = exactly(static_cast<double>(node.ivalue == 0 ? row : column));
          break;
        case Op::extent:
          values[k] = exactly(static_cast<double>(node.ivalue == 0 ? stages[s].rows : stages[s].columns));
          break;
        case Op::scalar:
          values[k] = exactly(load_element(
              node.type, static_cast<const std::byte*>(arguments[static_cast<std::size_t>(node.ivalue)].data())));
          break;
        default: {
          std::vector<Span> given;
          for (const std::size_t a : steps[k].args) given.push_back(values[a]);
          values[k] = operation(steps[k], given);
        }
      }
    }
    return values.back();
  }

  Span access(const ExprNode& node, i64 row, i64 column) {
    const i64 place[] = {row, column}, extent[] = {stages[node.stage].rows, stages[node.stage].columns};
    i64 i[2] = {};
    for (std::size_t d = 0; d < 2; ++d) {
      const ir::Index& index = node.index[d];
      i[d] = graph.evaluate(index.shift, parameters) + index.offset + index.scale * place[d];
      if (i[d] >= 0 && i[d] < extent[d]) continue;
      const Border& border = node.border[d];
      if (border.mode == BorderMode::constant || border.mode == BorderMode::none) {
        const double v = ir::evaluate(Op::convert, node.type, ElementType::f64, &border.value);
        return {v, v};
      }
      i[d] = map_index(border.mode, i[d], extent[d]);
    }
    return at(node.stage, i[0], i[1]);
  }

  // ---- operations --------------------------------------------------------------------------------------------------

  ElementType operands_of(const ExprNode& node) const { return graph.node(node.args.back()).type; }

  // As the interpreter does: a table of the circuit has that to the bit.
  double evaluated(const ExprNode& node, double x, double y = 0) const {
    // Windows that are taken apart have these of narrow types too.
    if (!is_float(node.type) && node.op == Op::min) return std::min(x, y);
    if (!is_float(node.type) && node.op == Op::max) return std::max(x, y);
    const double given[] = {x, y, 0};
    return ir::evaluate(node.op, node.type, operands_of(node), given);
  }

  Span operation(const Step& step, const std::vector<Span>& a) const {
    const ExprNode& node = *step.node;
    if (node.op == Op::lookup) return looked_up(node, a);
    if (node.op == Op::select) return a[0].open() ? hull(a[1], a[2]) : a[0].lo != 0 ? a[1] : a[2];
    const bool of_float = is_float(operands_of(node));
    if (of_float && is_comparison(node.op)) return compared(node, a[0], a[1], step.margin);
    if (of_float && (!is_float(node.type) || step.margin >= 0)) return decided(node, a, step.margin);
    if (std::none_of(a.begin(), a.end(), [](Span s) { return s.open(); })) {
      const double v = evaluated(node, a[0].lo, a.size() > 1 ? a[1].lo : 0);
      return std::isnan(v) ? all_of(node.type) : Span{v, v};  // acos(1.0001), where a circuit takes 1
    }
    if (!of_float && !is_float(node.type)) return whole(node, a);
    const Span v = real(node, a);
    return std::isnan(v.lo) || std::isnan(v.hi) ? all_of(node.type) : v;
  }

  // Of x - y: may it be below 0, may it be 0, may it be above?
  static Span compared(const ExprNode& node, Span x, Span y, double margin) {
    const double size = std::max({std::abs(x.lo), std::abs(x.hi), std::abs(y.lo), std::abs(y.hi)});
    const double error = std::max(margin, 0.0) + (margin >= 0 ? of_floats * size : 0);
    const double least = x.lo - y.hi - error, most = x.hi - y.lo + error;
    const auto of = [](bool may_be, bool may_not_be) { return Span{may_not_be ? 0.0 : 1.0, may_be ? 1.0 : 0.0}; };
    switch (node.op) {
      case Op::lt:
        return of(least < 0, most >= 0);
      case Op::le:
        return of(least <= 0, most > 0);
      case Op::eq:
        return of(least <= 0 && most >= 0, least != 0 || most != 0);
      default:
        return of(least != 0 || most != 0, least <= 0 && most >= 0);
    }
  }

  // Made whole, remainders, angles of vectors that are short.
  Span decided(const ExprNode& node, const std::vector<Span>& a, double margin) const {
    if (node.op == Op::atan2) return angle(node, a, margin);
    if (node.op == Op::fmod) {
      const double most = std::max(std::abs(a[1].lo), std::abs(a[1].hi));
      const double turns = a[0].lo / a[1].lo, away = std::abs(turns - std::round(turns)) * std::abs(a[1].lo);
      if (a[0].open() || a[1].open() || away <= margin + of_floats * std::abs(a[0].lo)) return {-most, most};
      const double v = evaluated(node, a[0].lo, a[1].lo);
      return {v, v};
    }
    const double size = std::max(std::abs(a[0].lo), std::abs(a[0].hi));
    const double error = std::max(margin, 0.0) + (margin >= 0 ? of_floats * size : 0);
    const double lo = a[0].lo - error, hi = a[0].hi + error;
    if (std::isinf(lo) || std::isinf(hi)) return all_of(node.type);
    if (node.op == Op::convert && node.type == ElementType::boolean)
      return {lo <= 0 && hi >= 0 ? 0.0 : 1.0, lo == 0 && hi == 0 ? 0.0 : 1.0};
    // What wraps may be anything.
    if (node.op == Op::convert && !is_float(node.type)) {
      const Span limits = all_of(node.type);
      if (lo < hi && (std::trunc(lo) < limits.lo || std::trunc(hi) > limits.hi)) return limits;
    }
    return {evaluated(node, lo), evaluated(node, hi)};
  }

  Span angle(const ExprNode& node, const std::vector<Span>& a, double margin) const {
    const Span y = a[0], x = a[1];
    const bool open = y.open() || x.open();
    const bool beside = y.lo <= margin && y.hi >= -margin && x.lo <= margin;
    if (open || beside || std::hypot(x.lo, y.lo) <= margin) return {-std::numbers::pi, std::numbers::pi};
    const double v = evaluated(node, y.lo, x.lo);
    return {v, v};
  }

  // Of every combination, where they are few; else of what cannot wrap.
  Span whole(const ExprNode& node, const std::vector<Span>& a) const {
    double many = 1;
    for (const Span s : a) many *= s.hi - s.lo + 1;
    if (many <= static_cast<double>(most_combinations)) {
      Span all{infinite, -infinite};
      const Span second = a.size() > 1 ? a[1] : Span{};
      for (double x = a[0].lo; x <= a[0].hi; ++x)
        for (double y = second.lo; y <= second.hi; ++y) {
          const double v = evaluated(node, x, y);
          all = hull(all, {v, v});
        }
      return all;
    }
    const Span v = real(node, a), limits = all_of(node.type);
    return v.lo >= limits.lo && v.hi <= limits.hi ? v : limits;
  }

  Span looked_up(const ExprNode& node, const std::vector<Span>& a) const {
    const ir::Table& table = graph.tables[static_cast<std::size_t>(node.ivalue)];
    Span all{infinite, -infinite};
    const auto each = [&](auto&& self, std::size_t d, std::size_t index) -> void {
      if (d == a.size()) {
        all = hull(all, {table.values[index], table.values[index]});
        return;
      }
      const auto last = static_cast<double>(table.extents[d] - 1);
      for (double i = std::clamp(a[d].lo, 0.0, last); i <= std::clamp(a[d].hi, 0.0, last); ++i)
        self(self, d + 1, index * static_cast<std::size_t>(table.extents[d]) + static_cast<std::size_t>(i));
    };
    each(each, 0, 0);
    return all;
  }

  // Intervals of reals; everything, where an operation has no rule here.
  Span real(const ExprNode& node, const std::vector<Span>& a) const {
    const auto of_ends = [&](auto&& f) {
      const double all[] = {f(a[0].lo, a[1].lo), f(a[0].lo, a[1].hi), f(a[0].hi, a[1].lo), f(a[0].hi, a[1].hi)};
      for (const double v : all)
        if (std::isnan(v)) return all_of(node.type);
      return Span{*std::min_element(all, all + 4), *std::max_element(all, all + 4)};
    };
    if (rises(node.op)) return {evaluated(node, a[0].lo), evaluated(node, a[0].hi)};
    switch (node.op) {
      case Op::convert:
        return is_float(node.type) ? a[0] : all_of(node.type);
      case Op::saturate: {
        const Span limits = all_of(node.type);
        return {std::clamp(a[0].lo, limits.lo, limits.hi), std::clamp(a[0].hi, limits.lo, limits.hi)};
      }
      case Op::add:
        return {a[0].lo + a[1].lo, a[0].hi + a[1].hi};
      case Op::sub:
        return {a[0].lo - a[1].hi, a[0].hi - a[1].lo};
      case Op::mul:
        return of_ends([](double x, double y) { return x * y; });
      case Op::div:
        if (a[1].lo <= 0 && a[1].hi >= 0) return all_of(node.type);
        if (!is_float(node.type)) return of_ends([](double x, double y) { return std::trunc(x / y); });
        return of_ends([](double x, double y) { return x / y; });
      case Op::neg:
        return {-a[0].hi, -a[0].lo};
      case Op::abs: {
        const double least = std::min(std::abs(a[0].lo), std::abs(a[0].hi));
        return {a[0].lo <= 0 && a[0].hi >= 0 ? 0 : least, std::max(std::abs(a[0].lo), std::abs(a[0].hi))};
      }
      case Op::min:
      case Op::least:
        return {std::min(a[0].lo, a[1].lo), std::min(a[0].hi, a[1].hi)};
      case Op::max:
      case Op::most:
        return {std::max(a[0].lo, a[1].lo), std::max(a[0].hi, a[1].hi)};
      default:
        return all_of(node.type);
    }
  }

  const Stream& stream;
  const ir::Graph& graph;
  const std::vector<Array> arguments;  // arrays share what they hold
  std::vector<i64> parameters;
  std::vector<Image> stages;
  i64 points = 0;
};

Possible::Possible(const Stream& stream, const std::vector<Array>& arguments)
    : impl_(std::make_unique<Impl>(stream, arguments)) {}
Possible::~Possible() = default;

Span Possible::at(ir::StageId stage, i64 row, i64 column) {
  if (impl_->points > most_points) impl_->forget();
  return impl_->at(stage, row, column);
}

}  // namespace tessera::hardware
