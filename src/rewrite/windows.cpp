// Window reductions become written expressions or stages of one dimension each.
//
// A window of a few dozen terms is written out: its loads are shared between the rows of a register block and its
// arithmetic is scheduled by the compiler. A minimum or maximum over a box of one image is taken one dimension at a
// time, columns first, so that n * m terms become n + m; so are sums, see separable.cpp. A median becomes a network of
// minima and maxima or a search, see median.cpp. Windows that stay large keep their loops.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "analyze/expressions.hpp"
#include "ir/build.hpp"
#include "rewrite/median.hpp"
#include "rewrite/rebuild.hpp"
#include "rewrite/sums/bytes.hpp"
#include "rewrite/sums/matrix.hpp"
#include "rewrite/sums/running.hpp"
#include "rewrite/sums/separable.hpp"
#include "rewrite/sums/tiles/tiles.hpp"
#include "rewrite/sums/weights.hpp"

namespace tessera::rewrite {

using ir::ExprId;
using ir::ExprNode;
using ir::Graph;
using ir::Op;
using ir::Stage;
using ir::StageId;
using ir::StageKind;

namespace {

constexpr i64 most_written_terms = 128;
constexpr std::size_t most_written_nodes = 20'000;  // windows in windows multiply: compilers take minutes from there on
// Of a sum that is looped over its columns, its rows written out: more of what need not be converted.
constexpr i64 least_looped_terms = 56, least_converted_terms = 40, most_written_rows = 32;
constexpr i64 least_copied_rows = 27;   // of an array of four dimensions
constexpr i64 most_looked_at = 1024;    // of a window of which a test may leave out many elements
constexpr i64 most_chosen_terms = 81;   // whose rank is known at the point alone: all of them are sorted
constexpr i64 most_ordered_terms = 64;  // of a sum of floats whose order is given

// The body with variable `var` replaced by a number.
ExprId bind_variables(Graph& graph, ExprId body, const std::vector<ir::Var>& vars, const std::vector<i64>& values) {
  auto value_of = [&](std::uint32_t id) -> std::optional<i64> {
    for (std::size_t k = 0; k < vars.size(); ++k)
      if (vars[k].id == id) return values[k];
    return {};
  };
  return ir::rewrite(graph, body, [&](ExprId, const ExprNode& node) {
    if (node.op == Op::var) {
      auto v = value_of(static_cast<std::uint32_t>(node.ivalue));
      return v ? ir::constant(graph, ElementType::i32, static_cast<double>(*v)) : ExprId{};
    }
    if (node.op == Op::access) {
      ExprNode bound = node;
      for (ir::Index& index : bound.index) {
        std::vector<std::pair<std::uint32_t, i64>> rest;
        for (auto [id, coefficient] : index.vars) {
          if (auto v = value_of(id))
            index.offset += coefficient * *v;
          else
            rest.push_back({id, coefficient});
        }
        index.vars = rest;
      }
      return graph.expr(std::move(bound));
    }
    if (node.op == Op::select)
      if (const auto c = ir::constant_value(graph, node.args[0])) return node.args[*c != 0 ? 1 : 2];
    // Look-ups and arithmetic of constants fold here, so that table weights become plain constants.
    if (node.op == Op::lookup) {
      const ir::Table& table = graph.tables[static_cast<std::size_t>(node.ivalue)];
      std::size_t at = 0;
      for (std::size_t d = 0; d < node.args.size(); ++d) {
        auto v = ir::constant_value(graph, node.args[d]);
        if (!v) return ExprId{};
        i64 index = std::clamp<i64>(static_cast<i64>(*v), 0, table.extents[d] - 1);
        at = at * static_cast<std::size_t>(table.extents[d]) + static_cast<std::size_t>(index);
      }
      return ir::constant(graph, node.type, table.values[at]);
    }
    if (node.args.size() == 1 && (node.op == Op::convert) && ir::constant_value(graph, node.args[0]))
      return ir::convert(graph, node.type, node.args[0]);
    if (node.op != Op::gather && node.args.size() == 2 && ir::constant_value(graph, node.args[0]) &&
        ir::constant_value(graph, node.args[1])) {
      double operands[2] = {*ir::constant_value(graph, node.args[0]), *ir::constant_value(graph, node.args[1])};
      ElementType operand_type = graph.node(node.args[0]).type;
      return ir::constant(graph, node.type, ir::evaluate(node.op, node.type, operand_type, operands));
    }
    return ExprId{};
  });
}

ExprId combine(Graph& graph, Op op, ElementType type, ExprId a, ExprId b) {
  ExprNode node;
  node.op = op;
  node.type = type;
  node.args = {a, b};
  return graph.expr(std::move(node));
}

// All terms of a reduction, in its order.
std::vector<ExprId> terms_of(Graph& graph, const ExprNode& node) {
  std::vector<i64> values;
  for (const ir::Var& v : node.vars) values.push_back(v.lo);
  std::vector<ExprId> terms;
  for (;;) {
    terms.push_back(bind_variables(graph, node.args[0], node.vars, values));
    std::size_t k = node.vars.size();
    while (k > 0 && values[k - 1] == node.vars[k - 1].hi) {
      values[k - 1] = node.vars[k - 1].lo;
      --k;
    }
    if (k == 0) break;
    ++values[k - 1];
  }
  return terms;
}

// A reduction of consecutive samples of one image along one dimension, by doubling: the maximum of 15 is made of two
// maxima of 8, each of two of 4. Neighbouring rows of a register block share the shorter windows.
ExprId doubled_window(Graph& graph, Op op, const ExprNode& access, std::size_t dim, i64 lo, i64 length) {
  auto at = [&](i64 offset) {
    ExprNode moved = access;
    moved.index[dim].vars.clear();
    moved.index[dim].offset = offset;
    return graph.expr(std::move(moved));
  };
  std::vector<ExprId> window;
  for (i64 k = 0; k < length; ++k) window.push_back(at(lo + k));
  i64 size = 1;
  while (size * 2 <= length) {
    std::vector<ExprId> next;
    for (std::size_t k = 0; k + static_cast<std::size_t>(size) < window.size(); ++k)
      next.push_back(combine(graph, op, access.type, window[k], window[k + static_cast<std::size_t>(size)]));
    window = std::move(next);
    size *= 2;
  }
  if (size == length) return window[0];
  return combine(graph, op, access.type, window[0], window[static_cast<std::size_t>(length - size)]);
}

// Does the conversion keep every value, and so the order of values?
bool widens(ElementType from, ElementType to) {
  if (from == ElementType::f64) return to == ElementType::f64;
  if (from == ElementType::f32) return is_float(to) && to != ElementType::f16;
  bool small = size_of(from) < 4 && from != ElementType::f16;
  return small && (to == ElementType::i32 || to == ElementType::f32 || to == ElementType::f64);
}

class WindowPass {
 public:
  WindowPass(Graph& graph, Numbers numbers, Method method, const machine::Machine& device,
             const std::vector<i64>& assumed, std::vector<std::string>& remarks, std::vector<SumChoice>& choices,
             Tilings& tilings)
      : graph_(graph),
        numbers_(numbers),
        method_(method),
        rows_together_(!device.columns_together),
        rows_first_(device.rows_first),
        remarks_(remarks),
        rebuild_(graph),
        sums_(graph, numbers, method, device, assumed, choices),
        bytes_(graph, method, device),
        matrices_(graph, method, device, assumed, choices, tilings),
        transforms_(graph, numbers, method, device, assumed, choices, tilings) {}

  void run() {
    std::set<StageId> fields;  // which leave as rows that are spread over structs
    for (const ir::Output& output : graph_.outputs)
      if (output.format.is_struct()) fields.insert(output.stages.begin(), output.stages.end());
    std::set<StageId> pieces;
    for (const Stage& whole : rebuild_.old())
      for (const ir::Piece& piece : whole.pieces)
        if (piece.stage) pieces.insert(*piece.stage);
    for (StageId s = 0; s < rebuild_.old().size(); ++s) {
      Stage stage = rebuild_.carry(rebuild_.old(s));
      if (stage.kind == StageKind::point) {
        current_ = &stage;
        matrices_.take(stage, !fields.contains(s) && !pieces.contains(s), remarks_);
        if (stage.note == 0) transforms_.take(stage, !fields.contains(s), remarks_);
      }
      if (stage.kind == StageKind::point && stage.note == 0 &&
          !bytes_.take(stage, !fields.contains(s) && !pieces.contains(s), remarks_)) {
        if (method_ != Method::direct) stage.body = sums_.split(stage, remarks_);
        stage.body = ir::rewrite(graph_, stage.body, [&](ExprId, const ExprNode& node) {
          return is_reduction(node.op) ? reduce(node) : ExprId{};
        });
      }
      rebuild_.set(s, graph_.add(std::move(stage)));
    }
    rebuild_.finish();
  }

 private:
  ExprId reduce(const ExprNode& node) {
    if (ir::runs_over_extents(node)) return {};
    if (ExprId split = one_dimension_at_a_time(node); split.valid()) return split;
    i64 terms = analyze::term_count(node);
    bool nested = false;
    const std::vector<ExprId> body = ir::postorder(graph_, {node.args[0]});
    for (ExprId e : body) nested |= is_reduction(graph_.node(e).op);
    if (node.op == Op::reduce_median || node.op == Op::reduce_rank) return positive_zero(ranked(node, nested, terms));
    if (nested) return {};
    if (ExprId copied = of_a_copy(node); copied.valid()) return reduce(ExprNode(graph_.node(copied)));
    if (ExprId few = few_weights(node, terms); few.valid()) return few;
    if (ExprId looped = rows_written(node, terms); looped.valid()) return looped;
    const bool ordered = rows_together_ && is_float(node.type) && node.op == Op::reduce_sum && !node.vars.empty();
    if (terms > (ordered ? most_ordered_terms : most_written_terms)) return {};
    return static_cast<std::size_t>(terms) * body.size() > most_written_nodes ? ExprId{} : written(node);
  }

  // All terms of a reduction, as operations. Booleans, whose order says nothing, come together two by two first: of two
  // comparisons of a number with itself compilers make one.
  ExprId written(const ExprNode& node) {
    std::vector<ExprId> all = terms_of(graph_, node);
    if (node.op == Op::reduce_any || node.op == Op::reduce_all) {
      std::vector<ExprId> pairs;
      for (std::size_t k = 0; k < all.size(); k += 2)
        pairs.push_back(k + 1 < all.size() ? combine(graph_, ir::step_of(node.op), node.type, all[k], all[k + 1])
                                           : all[k]);
      all = std::move(pairs);
    }
    ExprId result = all[0];
    for (std::size_t k = 1; k < all.size(); ++k)
      result = combine(graph_, ir::step_of(node.op), node.type, result, all[k]);
    return result;
  }

  // A sum over a large window of a few weights, most of the table being zeros: these alone.
  ExprId few_weights(const ExprNode& node, i64 terms) {
    if (node.op != Op::reduce_sum || terms <= most_written_terms) return {};
    bool sparse = false;
    for (ExprId e : ir::postorder(graph_, {node.args[0]})) {
      const ExprNode& part = graph_.node(e);
      if (!weighs(part.op)) return {};
      if (part.op != Op::lookup) continue;
      const std::vector<double>& values = graph_.tables[static_cast<std::size_t>(part.ivalue)].values;
      const auto zeros = std::count(values.begin(), values.end(), 0.0);
      sparse |= static_cast<i64>(values.size()) - zeros <= most_written_terms;
    }
    if (!sparse) return {};
    const ExprId e = graph_.expr(node);
    i64 steps = LinearForms::most_terms * 4;
    LinearForms forms(graph_, numbers_, e, steps);
    const auto sum = forms.linear(e) ? forms.expand(e) : std::nullopt;
    if (!sum || sum->weights.empty() || static_cast<i64>(sum->weights.size()) > most_written_terms) return {};
    const auto fits = [&](const auto& term) {
      const double w = term.second;
      return std::isfinite(w) && (is_float(node.type) || (std::fabs(w) < 0x1p31 && std::trunc(w) == w));
    };
    if (!std::all_of(sum->weights.begin(), sum->weights.end(), fits)) return {};
    const ExprNode leaf = graph_.node(sum->leaf);
    const bool converted = leaf.op == Op::convert;
    const ExprNode access = converted ? graph_.node(leaf.args[0]) : leaf;
    ExprId total;
    for (const auto& [offset, weight] : sum->weights) {
      ExprNode moved = access;
      for (std::size_t d = 0; d < moved.index.size(); ++d)
        moved.index[d].vars.clear(), moved.index[d].offset = offset[d];
      ExprId term = graph_.expr(std::move(moved));
      if (converted) term = ir::convert(graph_, node.type, term);
      const double factor = node.type == ElementType::u32 && weight < 0 ? weight + 0x1p32 : weight;
      if (factor != 1) term = ir::binary(graph_, Op::mul, term, ir::constant(graph_, node.type, factor));
      total = total.valid() ? ir::binary(graph_, Op::add, total, term) : term;
    }
    remarks_.push_back(fmt::format("window of '{}' is taken as the {} of its {} weights that are not 0", current_->name,
                                   sum->weights.size(), terms));
    return total;
  }

  // A sum over the rows of a series of volumes reads some dozens of rows at once. Where extents are powers of two all
  // of them meet in few sets of the first cache, and extents are seldom known. A copy of the array, which is kept in a
  // ring, has rows and planes at odd distances: 3^4 weights on 128 x 128 x 64 x 32 floats took 164 ms, and take 80.
  ExprId of_a_copy(const ExprNode& node) {
    if (node.op != Op::reduce_sum || !rows_together_ || current_->domain.size() < 4) return {};
    StageId image = 0;
    std::size_t reads = 0;
    i64 rows = 0;
    for (ExprId e : ir::postorder(graph_, {node.args[0]})) {
      const ExprNode& access = graph_.node(e);
      if (!weighs(access.op)) return {};
      if (access.op != Op::access) continue;
      ++reads;
      image = access.stage;
      rows = 1;
      std::set<std::uint32_t> counted;
      for (std::size_t d = 0; d + 1 < access.index.size(); ++d)
        for (auto [var, coefficient] : access.index[d].vars)
          for (const ir::Var& v : node.vars)
            if (v.id == var && counted.insert(var).second) rows *= v.hi - v.lo + 1;
    }
    const Stage& source = graph_.stage(image);
    if (reads != 1 || rows < least_copied_rows || source.kind != StageKind::input) return {};
    if (source.domain != current_->domain) return {};
    auto [copy, fresh] = copies_.try_emplace(image);
    if (fresh) copy->second = copy_of(image);
    return ir::rewrite(graph_, graph_.expr(node), [&](ExprId, const ExprNode& access) {
      if (access.op != Op::access || access.stage != image) return ExprId{};
      ExprNode moved = access;
      moved.stage = copy->second;
      return graph_.expr(std::move(moved));
    });
  }

  StageId copy_of(StageId image) {
    const Stage& source = graph_.stage(image);
    Stage stage;
    stage.name = source.name + ".rows";
    stage.type = source.type;
    stage.domain = source.domain;
    stage.span = source.span;
    stage.margin_lo.assign(stage.domain.size(), 0);
    stage.margin_hi = stage.margin_lo;
    ExprNode access;
    access.op = Op::access;
    access.type = source.type;
    access.stage = image;
    access.index.assign(stage.domain.size(), {});
    access.border.assign(stage.domain.size(), Border{BorderMode::none, 0});
    stage.body = graph_.expr(std::move(access));
    remarks_.push_back("'" + source.name + "' is read from a copy in a ring, whose rows lie at odd distances");
    return graph_.add(std::move(stage));
  }

  static bool weighs(Op op) {
    return op == Op::access || op == Op::convert || op == Op::mul || op == Op::lookup || op == Op::constant ||
           op == Op::var || op == Op::add || op == Op::sub;
  }

  // A sum whose terms and weights are too many for the registers keeps its loops but those over rows. With these
  // written out, neighbouring rows share the loads, and their totals stay in registers.
  ExprId rows_written(const ExprNode& node, i64 terms) {
    const bool any_order = !is_float(node.type) || numbers_ == Numbers::fast;
    if (node.op != Op::reduce_sum || !any_order || !rows_together_ || current_->domain.size() < 2) return {};
    bool converted = false;
    std::set<std::uint32_t> rows, others;  // what moves along rows, and along the rest
    for (ExprId e : ir::postorder(graph_, {node.args[0]})) {
      const ExprNode& access = graph_.node(e);
      // Other arithmetic costs more than its loads, and stages that are computed together share it where it is written.
      if (!weighs(access.op)) return {};
      converted |= access.op == Op::convert && graph_.node(access.args[0]).op == Op::access;
      if (access.op != Op::access) continue;
      for (std::size_t d = 0; d < access.index.size(); ++d)
        for (auto [var, coefficient] : access.index[d].vars) (d + 2 == access.index.size() ? rows : others).insert(var);
    }
    if (terms < (converted ? least_converted_terms : least_looped_terms)) return {};
    ExprNode inner = node, outer = node;
    std::erase_if(inner.vars, [&](const ir::Var& v) { return !rows.contains(v.id) || others.contains(v.id); });
    std::erase_if(outer.vars,
                  [&](const ir::Var& v) { return std::count(inner.vars.begin(), inner.vars.end(), v) > 0; });
    if (inner.vars.empty() || outer.vars.empty() || analyze::term_count(inner) > most_written_rows) return {};
    outer.args = {written(inner)};
    return graph_.expr(std::move(outer));
  }

  // A median, or an element of another rank.
  ExprId ranked(const ExprNode& node, bool nested, i64 terms) {
    if (!nested && terms <= most_looked_at) {
      const ExprNode reduction = node;
      const RankTerms list = rank_terms(graph_, reduction);
      const ExprNode& first = graph_.node(list.terms.front());
      const ElementType values = first.op == Op::convert ? graph_.node(first.args[0]).type : reduction.type;
      const auto count = static_cast<i64>(list.terms.size());
      const std::size_t dimensions = current_->domain.size();
      if (list.rank && count <= most_network_terms(values))
        return rank_network(graph_, reduction.type, dimensions, list.terms, static_cast<std::size_t>(*list.rank));
      if (!list.rank && count <= most_chosen_terms)
        return rank_choice(graph_, reduction.type, dimensions, list.terms, reduction.args[1]);
    }
    remarks_.push_back(fmt::format("{} of '{}' is found bit by bit", node.op == Op::reduce_median ? "median" : "rank",
                                   current_->name));
    return rank_search(graph_, node);
  }

  // Which of -0 and 0 has a rank depends on the order of comparisons; x + 0 is 0 for both.
  ExprId positive_zero(ExprId e) {
    const ElementType type = graph_.node(e).type;
    if (!is_float(type) || numbers_ == Numbers::fast) return e;
    return combine(graph_, Op::add, type, e, ir::constant(graph_, type, 0));
  }

  // Does variable v of the reduction move exactly one dimension of the access, by one sample a step, alone?
  static std::optional<std::size_t> dimension_of(const ExprNode& access, std::uint32_t var) {
    std::optional<std::size_t> found;
    for (std::size_t d = 0; d < access.index.size(); ++d)
      for (auto [id, coefficient] : access.index[d].vars) {
        if (id != var) continue;
        if (found || coefficient != 1 || access.index[d].vars.size() != 1) return {};
        found = d;
      }
    return found;
  }

  // Booleans are masks while they are computed: of two, `all` finds the lesser and `any` the greater.
  static Op step_on(Op reduction, ElementType type) {
    if (type == ElementType::boolean && reduction == Op::reduce_min) return ir::step_of(Op::reduce_all);
    if (type == ElementType::boolean && reduction == Op::reduce_max) return ir::step_of(Op::reduce_any);
    return ir::step_of(reduction);
  }

  bool by_blocks(Op op, i64 length, StageId image) const {
    return rows_together_ && worth_running(length, op != Op::add, graph_.stage(image).kind != StageKind::input);
  }

  // The least or greatest of consecutive samples along one dimension: of many, on cores, by blocks that are kept.
  // `domain`: of the stage that it is for.
  ExprId window(Op op, const ExprNode& access, std::size_t dim, i64 lo, i64 length,
                const std::vector<ir::SizeId>& domain, StageId image) {
    if (!by_blocks(op, length, image)) return doubled_window(graph_, op, access, dim, lo, length);
    ExprNode first = access;
    first.index[dim].vars.clear();
    first.index[dim].offset = lo;
    return RunningWindow(graph_, op, graph_.expr(std::move(first)), dim, length, domain, *current_).value();
  }

  // The sum of consecutive samples along one dimension, as numbers of a type; otherwise as above.
  ExprId total(const ExprNode& access, ElementType type, std::size_t dim, i64 lo, i64 length,
               const std::vector<ir::SizeId>& domain, StageId image) {
    const auto sample = [&](i64 offset) {
      ExprNode moved = access;
      moved.index[dim].vars.clear();
      moved.index[dim].offset = offset;
      return ir::convert(graph_, type, graph_.expr(std::move(moved)));
    };
    if (by_blocks(Op::add, length, image))
      return RunningWindow(graph_, Op::add, sample(lo), dim, length, domain, *current_).value();
    ExprId sum = sample(lo);
    for (i64 t = 1; t < length; ++t) sum = combine(graph_, Op::add, type, sum, sample(lo + t));
    return sum;
  }

  // Of one dimension, of an image of any extents.
  ExprId window_alone(Op op, const ExprNode& access, std::size_t dim, i64 lo, i64 length) {
    const std::vector<ir::SizeId>& domain = graph_.stage(access.stage).domain;
    bool own = domain.size() == current_->domain.size();
    for (std::size_t d = 0; own && d < domain.size(); ++d)
      own = access.index[d].scale == 1 && access.index[d].shift == ir::SizeId{} &&
            (d == dim || (access.index[d].offset == 0 && domain[d] == current_->domain[d]));
    return own ? window(op, access, dim, lo, length, current_->domain, access.stage)
               : doubled_window(graph_, op, access, dim, lo, length);
  }

  ExprId one_dimension_at_a_time(const ExprNode& node) {
    bool any_order = !is_float(node.type) || numbers_ == Numbers::fast;  // sums round
    bool idempotent = any_order && (node.op == Op::reduce_min || node.op == Op::reduce_max ||
                                    node.op == Op::reduce_any || node.op == Op::reduce_all);
    // Other sums have had their turn (separable.cpp); boxes of any size come here.
    bool sum = any_order && node.op == Op::reduce_sum && analyze::term_count(node) > LinearForms::most_terms;
    if (!idempotent && !sum) return {};
    // The body: an access, perhaps widened by one conversion.
    ExprNode body = graph_.node(node.args[0]);
    std::optional<ElementType> widened;
    if (body.op == Op::convert && graph_.node(body.args[0]).op == Op::access) {
      widened = body.type;
      body = graph_.node(body.args[0]);
    }
    if (body.op != Op::access) return {};
    if (widened && idempotent && !widens(body.type, *widened)) return {};
    std::size_t rank = body.index.size();
    std::vector<const ir::Var*> var_of(rank);
    for (const ir::Var& v : node.vars) {
      auto d = dimension_of(body, v.id);
      if (!d || var_of[*d]) return {};
      var_of[*d] = &v;
    }
    std::size_t moving = 0;
    for (std::size_t d = 0; d < rank; ++d) {
      if (var_of[d])
        ++moving;
      else if (!body.index[d].vars.empty())
        return {};
    }
    if (moving == 1) {
      for (std::size_t d = 0; d < rank; ++d)
        if (var_of[d]) {
          const ir::Var& v = *var_of[d];
          i64 length = v.hi - v.lo + 1;
          if (length < 4 || !idempotent || widened) return {};
          return window_alone(step_on(node.op, body.type), body, d, body.index[d].offset + v.lo, length);
        }
    }
    const Stage& source = graph_.stage(body.stage);
    if (source.domain.size() != current_->domain.size()) return {};
    for (std::size_t d = 0; d < rank; ++d) {
      if (body.index[d].scale != 1 || body.index[d].shift != ir::SizeId{}) return {};
      if (source.domain[d] != current_->domain[d]) return {};
      if (!var_of[d] && body.index[d].offset != 0) return {};
    }
    // A stage per dimension, fastest dimension first: rows are shared by register blocks in the last one.
    std::vector<std::size_t> order;
    for (std::size_t d = rank; d-- > 0;)
      if (var_of[d]) order.push_back(d);
    if (rows_first_) {
      // Which value stands in a corner depends on the order.
      std::reverse(order.begin(), order.end());
      std::vector<double> constants;
      for (const std::size_t d : order)
        if (body.border[d].mode == BorderMode::constant) constants.push_back(body.border[d].value);
      if (std::adjacent_find(constants.begin(), constants.end(), std::not_equal_to<>()) != constants.end()) return {};
    }
    if (order.size() >= 3 && !rows_together_) std::swap(order[1], order.back());
    ExprId value;
    StageId from = body.stage;
    ElementType type = body.type;
    std::vector<i64> margin_lo(rank), margin_hi(rank);
    // Dimensions that are taken by blocks later: the first pass continues the image there.
    std::vector<ir::SizeId> domain = current_->domain;
    std::vector<bool> ahead(rank);
    for (std::size_t k = 1; k < order.size(); ++k) {
      const std::size_t d = order[k];
      const i64 length = var_of[d]->hi - var_of[d]->lo + 1;
      ahead[d] = by_blocks(step_on(node.op, node.type), length, body.stage);
      if (ahead[d]) domain[d] = graph_.size_binary(ir::SizeOp::add, domain[d], graph_.size(length - 1));
      // What has been added up along others is not the constant.
      if (sum && !ahead[d] && body.border[d].mode == BorderMode::constant) return {};
    }
    for (std::size_t k = 0; k < order.size(); ++k) {
      std::size_t d = order[k];
      const ir::Var& v = *var_of[d];
      ExprNode access;
      access.op = Op::access;
      access.type = type;
      access.stage = from;
      access.index.assign(rank, {});
      access.border.assign(rank, Border{BorderMode::clamp, 0});
      if (!ahead[d]) access.border[d] = body.border[d];
      i64 lo = body.index[d].offset + v.lo, length = v.hi - v.lo + 1;
      for (std::size_t e = 0; e < rank && k == 0; ++e) {
        if (!ahead[e]) continue;
        access.index[e].offset = body.index[e].offset + var_of[e]->lo;
        if (body.border[e].mode != BorderMode::none) access.border[e] = body.border[e];
      }
      domain[d] = current_->domain[d];
      if (idempotent)
        value = window(step_on(node.op, type), access, d, ahead[d] ? 0 : lo, length, domain, body.stage);
      else
        value = total(access, node.type, d, ahead[d] ? 0 : lo, length, domain, body.stage);
      type = graph_.node(value).type;
      if (body.border[d].mode == BorderMode::none) {
        margin_lo[d] = std::max<i64>(0, -lo);
        margin_hi[d] = std::max<i64>(0, lo + length - 1);
      }
      if (k + 1 == order.size()) break;
      Stage part;
      part.kind = StageKind::point;
      part.name = current_->name + "." + std::to_string(k + 1);
      part.type = type;
      part.domain = domain;
      part.span = current_->span;
      part.body = value;
      part.margin_lo = margin_lo;
      part.margin_hi = margin_hi;
      from = graph_.add(std::move(part));
    }
    if (idempotent && widened) {
      ExprNode convert_node;
      convert_node.op = Op::convert;
      convert_node.type = node.type;
      convert_node.args = {value};
      value = graph_.expr(std::move(convert_node));
    }
    remarks_.push_back("window of '" + current_->name + "' is taken one dimension at a time");
    return value;
  }

  Graph& graph_;
  Numbers numbers_;
  Method method_;
  bool rows_together_, rows_first_;
  std::vector<std::string>& remarks_;
  Rebuild rebuild_;
  SeparableSums sums_;
  ByteSums bytes_;
  MatrixSums matrices_;
  TransformedSums transforms_;
  const Stage* current_ = nullptr;
  std::map<StageId, StageId> copies_;  // of inputs
};

}  // namespace

void expand_windows(Graph& graph, Numbers numbers, Method method, const machine::Machine& device,
                    const std::vector<i64>& assumed, std::vector<std::string>& remarks, std::vector<SumChoice>& sums,
                    Tilings& tilings) {
  WindowPass(graph, numbers, method, device, assumed, remarks, sums, tilings).run();
}

}  // namespace tessera::rewrite
