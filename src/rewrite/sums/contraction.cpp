// See contraction.hpp.
#include "rewrite/sums/contraction.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "analyze/expressions.hpp"
#include "base/division.hpp"
#include "ir/build.hpp"
#include "ir/gather.hpp"
#include "rewrite/rebuild.hpp"

namespace tessera::rewrite {

using ir::ExprId;
using ir::ExprNode;
using ir::Graph;
using ir::Op;
using ir::Stage;
using ir::StageId;
using ir::StageKind;

namespace {

// Fewer rows or terms leave nothing to be packed for.
constexpr double least_rows = 4, least_terms = 8;

template <class Terms>
auto coefficient(const Terms& terms, typename Terms::value_type::first_type of) {
  const auto it = std::find_if(terms.begin(), terms.end(), [&](const auto& term) { return term.first == of; });
  return it == terms.end() ? i64{0} : it->second;
}

struct Form {
  i64 offset = 0;
  std::map<std::size_t, i64> points;
  std::map<std::uint32_t, i64> vars;
  bool is_number() const { return points.empty() && vars.empty(); }

  void add(const Form& other, i64 factor) {
    offset += other.offset * factor;
    for (const auto& [p, c] : other.points) points[p] += c * factor;
    for (const auto& [v, c] : other.vars) vars[v] += c * factor;
  }
};

std::optional<Form> form_of(const Graph& graph, ExprId e, int depth = 0) {
  constexpr int deepest = 32;
  constexpr i64 largest = i64{1} << 31;
  const ExprNode& n = graph.node(e);
  if (depth > deepest || n.type != ElementType::i32) return {};
  const auto of = [&](std::size_t k) { return form_of(graph, n.args[k], depth + 1); };
  Form form;
  switch (n.op) {
    case Op::constant:
      form.offset = n.ivalue;
      return form;
    case Op::coord:
      form.points[static_cast<std::size_t>(n.ivalue)] = 1;
      return form;
    case Op::var:
      form.vars[static_cast<std::uint32_t>(n.ivalue)] = 1;
      return form;
    case Op::neg: {
      const std::optional<Form> a = of(0);
      if (!a) return {};
      form.add(*a, -1);
      return form;
    }
    case Op::add:
    case Op::sub: {
      const std::optional<Form> a = of(0), b = of(1);
      if (!a || !b) return {};
      form.add(*a, 1);
      form.add(*b, n.op == Op::add ? 1 : -1);
      return std::abs(form.offset) < largest ? std::optional(form) : std::nullopt;
    }
    case Op::mul: {
      const std::optional<Form> a = of(0), b = of(1);
      if (!a || !b || (!a->is_number() && !b->is_number())) return {};
      const i64 by = a->is_number() ? a->offset : b->offset;
      if (std::abs(by) > 1 << 16) return {};
      form.add(a->is_number() ? *b : *a, by);
      return std::abs(form.offset) < largest ? std::optional(form) : std::nullopt;
    }
    default:
      return {};
  }
}

AffineIndex index_of(const Form& form) {
  AffineIndex index;
  index.offset = form.offset;
  for (const auto& [p, c] : form.points)
    if (c != 0) index.points.emplace_back(p, c);
  for (const auto& [v, c] : form.vars)
    if (c != 0) index.vars.emplace_back(v, c);
  return index;
}

// What a border map of gathers maps: the argument of its remainder.
std::optional<ExprId> mapped_index(const Graph& graph, ExprId e) {
  std::optional<ExprId> found;
  for (const ExprId part : ir::postorder(graph, {e}))
    if (graph.node(part).op == Op::rem) {
      if (found) return {};
      found = graph.node(part).args[0];
    }
  return found;
}

std::optional<Factor> factor_of_access(const ExprNode& n, std::size_t rank) {
  Factor f;
  f.stage = n.stage;
  f.border = n.border;
  if (n.index.size() > rank) return {};
  for (std::size_t d = 0; d < n.index.size(); ++d) {
    const ir::Index& i = n.index[d];
    if (i.shift != ir::SizeId{}) return {};
    AffineIndex index;
    index.offset = i.offset;
    if (i.scale != 0) index.points = {{d + rank - n.index.size(), i.scale}};
    index.vars = i.vars;
    f.index.push_back(std::move(index));
  }
  return f;
}

// Every way to give so many dimensions, in order, the constants that were found.
bool same_read(Graph& graph, ExprId read, const Factor& f, const std::vector<ExprId>& raw,
               const std::vector<std::size_t>& open, const std::vector<double>& values, std::vector<Border>& borders) {
  std::vector<bool> taken(open.size(), false);
  std::fill(taken.end() - static_cast<std::ptrdiff_t>(values.size()), taken.end(), true);
  do {
    borders = f.border;
    std::size_t next = 0;
    for (std::size_t k = 0; k < open.size(); ++k)
      if (taken[k]) borders[open[k]] = {BorderMode::constant, values[next++]};
    if (ir::gather(graph, f.stage, raw, borders) == read) return true;
  } while (std::next_permutation(taken.begin(), taken.end()));
  return false;
}

}  // namespace

bool AffineIndex::moves_with(std::size_t point) const {
  return coefficient(points, point) != 0;
}

bool Factor::moves_with(std::size_t point) const {
  return std::any_of(index.begin(), index.end(), [&](const AffineIndex& i) { return i.moves_with(point); });
}

std::optional<Factor> affine_read(Graph& graph, ExprId read, std::size_t rank) {
  ExprNode n = graph.node(read);
  if (n.op == Op::access) return factor_of_access(n, rank);
  // Constants of borders stand around the gather, that of the first dimension outermost.
  std::vector<double> constants;
  ExprId inner = read;
  while (n.op == Op::select || n.op == Op::convert) {
    if (n.op == Op::select) {
      const std::optional<double> value = ir::constant_value(graph, n.args[2]);
      if (!value) return {};
      constants.push_back(*value);
    }
    inner = n.args[n.op == Op::select ? 1 : 0];
    n = graph.node(inner);
  }
  if (n.op != Op::gather) return {};
  Factor f;
  f.stage = n.stage;
  std::vector<ExprId> raw;
  std::vector<std::size_t> open;  // dimensions that may have a constant
  for (std::size_t d = 0; d < n.args.size(); ++d) {
    std::optional<Form> form = form_of(graph, n.args[d]);
    Border border{BorderMode::clamp, 0};
    raw.push_back(n.args[d]);
    if (form) {
      open.push_back(d);
    } else if (const std::optional<ExprId> given = mapped_index(graph, n.args[d])) {
      form = form_of(graph, *given);
      raw.back() = *given;
      border.mode = BorderMode::none;
      for (const BorderMode mode : {BorderMode::wrap, BorderMode::mirror, BorderMode::symmetric}) {
        std::vector<ExprId> indices = n.args;
        std::vector<Border> borders(n.args.size());
        indices[d] = *given, borders[d].mode = mode;
        if (graph.node(ir::gather(graph, n.stage, indices, borders)).args[d] == n.args[d]) border.mode = mode;
      }
      if (border.mode == BorderMode::none) return {};
    }
    if (!form) return {};
    f.index.push_back(index_of(*form));
    f.border.push_back(border);
  }
  if (constants.size() > open.size()) return {};
  std::vector<Border> borders;
  if (!same_read(graph, read, f, raw, open, constants, borders)) return {};
  f.border = std::move(borders);
  return f;
}

namespace {

// A function of one image at one place: of that and of numbers.
std::optional<Factor> factor_of(Graph& graph, ExprId value, std::size_t rank) {
  constexpr int most_steps = 8;
  ExprId e = value;
  for (int step = 0; step < most_steps; ++step) {
    if (std::optional<Factor> f = affine_read(graph, e, rank)) {
      f->read = e, f->value = value;
      if (graph.node(e).type == ElementType::boolean) return {};
      return f;
    }
    const ExprNode& n = graph.node(e);
    if (n.op < Op::convert || is_reduction(n.op) || n.op == Op::select || n.type == ElementType::boolean) return {};
    ExprId next;
    for (const ExprId a : n.args) {
      if (graph.node(a).op == Op::constant) continue;
      if (next.valid()) return {};
      next = a;
    }
    if (!next.valid()) return {};
    if (!is_float(n.type) && is_float(graph.node(next).type)) return {};
    e = next;
  }
  return {};
}

std::optional<Contraction> contraction(Graph& graph, const Stage& stage, ExprId sum) {
  const ExprNode n = graph.node(sum);
  if (n.op != Op::reduce_sum || n.type == ElementType::f16) return {};
  const ExprNode product = graph.node(n.args[0]);
  if (product.op != Op::mul || product.type != n.type) return {};
  const std::size_t rank = stage.domain.size(), column = rank - 1;
  if (rank < 2) return {};
  std::optional<Factor> a = factor_of(graph, product.args[0], rank);
  std::optional<Factor> b = factor_of(graph, product.args[1], rank);
  if (!a || !b || a->moves_with(column) == b->moves_with(column)) return {};
  Contraction c;
  c.sum = sum;
  c.vars = n.vars;
  c.type = n.type;
  c.down_first = b->moves_with(column);
  c.down = c.down_first ? *a : *b;
  c.across = c.down_first ? *b : *a;
  for (std::size_t d = column; d-- > 0;)
    if (c.down.moves_with(d) && !c.across.moves_with(d)) {
      c.row = d;
      return c;
    }
  return {};
}

// Everything but the sum: at the point itself, or the same along a row.
bool is_computed_at_points(const Graph& graph, const Stage& stage, ExprId sum) {
  const std::size_t rank = stage.domain.size();
  std::set<std::uint32_t> along;  // moves with the column
  std::vector<ExprId> stack{stage.body};
  std::set<std::uint32_t> rest;
  while (!stack.empty()) {
    const ExprId e = stack.back();
    stack.pop_back();
    if (e == sum || !rest.insert(e.id).second) continue;
    for (const ExprId a : graph.node(e).args) stack.push_back(a);
  }
  for (const ExprId e : ir::postorder(graph, {stage.body})) {
    if (!rest.contains(e.id) && e != sum) continue;
    const ExprNode& n = graph.node(e);
    bool moves = e == sum || n.op == Op::access || (n.op == Op::coord && n.ivalue + 1 == static_cast<i64>(rank));
    if (e != sum)
      for (const ExprId a : n.args) moves = moves || along.contains(a.id);
    if (moves) along.insert(e.id);
    if (e == sum) continue;
    if (is_reduction(n.op) || is_whole(n.op) || is_lanes(n.op)) return false;
    if (n.op == Op::gather && moves) return false;
    if (n.op != Op::access) continue;
    if (graph.stage(n.stage).domain != stage.domain) return false;
    for (const ir::Index& i : n.index)
      if (i != ir::Index{}) return false;
  }
  return true;
}

// Sums that are in no other reduction, each once.
std::vector<ExprId> outer_sums(const Graph& graph, ExprId body) {
  std::vector<ExprId> stack{body}, found;
  std::set<std::uint32_t> seen;
  while (!stack.empty()) {
    const ExprId e = stack.back();
    stack.pop_back();
    if (!seen.insert(e.id).second) continue;
    if (is_reduction(graph.node(e).op)) {
      found.push_back(e);
      continue;
    }
    for (const ExprId a : graph.node(e).args) stack.push_back(a);
  }
  return found;
}

bool has_margins(const Stage& stage) {
  const auto some = [](i64 n) { return n > 0; };
  return std::any_of(stage.margin_lo.begin(), stage.margin_lo.end(), some) ||
         std::any_of(stage.margin_hi.begin(), stage.margin_hi.end(), some);
}

class ContractionPass {
 public:
  ContractionPass(Graph& graph, const machine::Machine& device, const std::vector<i64>& assumed,
                  std::vector<std::string>& remarks, Tilings& tilings)
      : graph_(graph), device_(device), assumed_(assumed), remarks_(remarks), tilings_(tilings), rebuild_(graph) {}

  void run() {
    std::set<StageId> apart;  // fields of structs, and pieces of other stages
    for (const ir::Output& output : graph_.outputs)
      if (output.format.is_struct()) apart.insert(output.stages.begin(), output.stages.end());
    for (const Stage& whole : rebuild_.old())
      for (const ir::Piece& piece : whole.pieces)
        if (piece.stage) apart.insert(*piece.stage);
    for (StageId s = 0; s < rebuild_.old().size(); ++s) {
      Stage stage = rebuild_.carry(rebuild_.old(s));
      if (stage.kind == StageKind::point && stage.note == 0) take(stage, !apart.contains(s));
      rebuild_.set(s, graph_.add(std::move(stage)));
    }
    rebuild_.finish();
  }

 private:
  double extent(ir::SizeId n) const { return static_cast<double>(std::max<i64>(1, graph_.evaluate(n, assumed_))); }
  double terms_of(const Contraction& c) const {
    double terms = 1;
    for (const ir::Var& v : c.vars)
      terms *= v.end == ir::SizeId{} ? static_cast<double>(v.hi - v.lo + 1) : extent(v.end);
    return terms;
  }

  void take(Stage& stage, bool alone) {
    std::vector<Contraction> found;
    for (const ExprId sum : outer_sums(graph_, stage.body))
      if (std::optional<Contraction> c = contraction(graph_, stage, sum))
        if (extent(stage.domain[c->row]) >= least_rows && terms_of(*c) >= least_terms) found.push_back(std::move(*c));
    if (found.empty()) return;
    const bool whole = found.size() == 1 && outer_sums(graph_, stage.body).size() == 1;
    if (whole && alone && !has_margins(stage) && is_computed_at_points(graph_, stage, found[0].sum)) {
      stage.note = noted(stage, found[0]);
      return;
    }
    std::unordered_map<std::uint32_t, ExprId> instead;
    const std::size_t rank = stage.domain.size();
    for (const Contraction& c : found) {
      Stage part = ir::stage_like(stage, StageKind::point);
      part.name = stage.name + ".sum";
      part.type = c.type;
      part.margin_lo.assign(rank, 0);
      part.margin_hi.assign(rank, 0);
      part.body = without_margins(c.sum);
      part.note = noted(part, c);
      instead[c.sum.id] = ir::access(graph_, graph_.add(std::move(part)), std::vector<ir::Index>(rank),
                                     std::vector<Border>(rank, {BorderMode::clamp, 0}));
    }
    stage.body = ir::rewrite(graph_, stage.body, [&](ExprId old, const ExprNode&) {
      const auto it = instead.find(old.id);
      return it == instead.end() ? ExprId{} : it->second;
    });
  }

  // Accesses without a border stay inside where the stage is evaluated; the sum is taken everywhere.
  ExprId without_margins(ExprId sum) {
    return ir::rewrite(graph_, sum, [&](ExprId, const ExprNode& node) {
      if (node.op != Op::access) return ExprId{};
      ExprNode inside = node;
      for (Border& b : inside.border)
        if (b.mode == BorderMode::none) b.mode = BorderMode::clamp;
      return graph_.expr(std::move(inside));
    });
  }

  std::uint32_t noted(const Stage& stage, const Contraction& c) {
    const ContractionTile shape = contraction_tile(device_, c.type);
    // A vector of products and sums a cycle, and what packing takes of the operand that is packed for every tile.
    const double lanes = static_cast<double>(shape.lanes), rows = extent(stage.domain[c.row]);
    const double cycles = terms_of(c) * (1 + 2 / rows) / lanes;
    Tiling tiling;
    tiling.contraction = true;
    tiling.row = c.row;
    tiling.rows = tiling.high = shape.high;
    tiling.columns = tiling.wide = shape.wide();
    tiling.number = c.type;
    tiling.nanoseconds = cycles / device_.gigahertz;
    remarks_.push_back(
        fmt::format("'{}' is a contraction of '{}' and '{}' over {:.0f} terms, in tiles of {} x {}, "
                    "{:.3g} ns a point (predicted)",
                    stage.name, graph_.stage(c.down.stage).name, graph_.stage(c.across.stage).name, terms_of(c),
                    shape.high, shape.wide(), tiling.nanoseconds));
    return tilings_.add(tiling);
  }

  Graph& graph_;
  const machine::Machine& device_;
  const std::vector<i64>& assumed_;
  std::vector<std::string>& remarks_;
  Tilings& tilings_;
  Rebuild rebuild_;
};

i64 parts(i64 n, i64 most) {
  return std::max<i64>(1, base::ceil_divide(n, most));
}

}  // namespace

std::optional<Contraction> contraction_of(Graph& graph, const Stage& stage) {
  if (stage.kind != StageKind::point) return {};
  const std::vector<ExprId> sums = outer_sums(graph, stage.body);
  if (sums.size() != 1) return {};
  std::optional<Contraction> c = contraction(graph, stage, sums[0]);
  if (c && !is_computed_at_points(graph, stage, c->sum)) c.reset();
  return c;
}

void take_contractions(Graph& graph, const machine::Machine& device, const std::vector<i64>& assumed,
                       std::vector<std::string>& remarks, Tilings& tilings) {
  if (device.contractions) ContractionPass(graph, device, assumed, remarks, tilings).run();
}

ContractionTile contraction_tile(const machine::Machine& machine, ElementType type) {
  ContractionTile tile;
  tile.lanes = machine.vector_bytes / static_cast<int>(size_of(type));
  tile.high = machine.vector_registers >= 32 ? 8 : 6;
  return tile;
}

std::vector<i64> contraction_extents(const Tiling& tile, const std::vector<i64>& n, i64 threads) {
  const std::size_t rank = n.size(), column = rank - 1, row = tile.row;
  std::vector<i64> out(rank, 1);
  i64 outer = 1;
  std::optional<std::size_t> last;  // of the other dimensions
  for (std::size_t d = 0; d < column; ++d)
    if (d != row) outer *= std::max<i64>(1, n[d]), last = d;
  out[column] = base::round_up(parts(n[column], parts(n[column], contraction_panels * tile.wide)), tile.wide);
  out[row] = base::round_up(parts(n[row], parts(n[row], contraction_rows)), tile.high);
  if (last) out[*last] = std::clamp<i64>(contraction_points / out[column], 1, std::max<i64>(1, n[*last]));
  i64 tiles = parts(n[column], out[column]) * parts(n[row], out[row]);
  for (std::size_t d = 0; d < column; ++d)
    if (d != row) tiles *= parts(n[d], out[d]);
  if (tiles < threads) {
    if (last) out[*last] = 1;
    const i64 others = outer * parts(n[row], out[row]);
    out[column] = std::min(out[column], base::round_up(parts(n[column], parts(threads, others)), tile.wide));
    const i64 across = outer * parts(n[column], out[column]);
    out[row] = std::min(out[row], base::round_up(parts(n[row], parts(threads, across)), tile.high));
  }
  return out;
}

}  // namespace tessera::rewrite
