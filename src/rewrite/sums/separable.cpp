// A weighted sum of one image whose weights are an outer product is a sum of sums: K * L terms become K + L.
//
// The weights are read off the expression, whether it is a window with a table or written out term by term: every
// expression of additions and of multiplications by constants is a list of (offset, weight). For a pivot p the outer
// product through p's own row and column is the only candidate, so that a pivot with few entries off the candidate
// decides; those few (the 1 + a in the middle of an unsharp mask) stay as terms of their own.
//
// Integers: weights are divided by the greatest common divisors of their rows and columns, which for an outer product
// gives integers again (Gauss's lemma), and the sum is the same modulo 2^32. Floats, in `fast` numbers only: dyadic
// weights are factored as integers, exactly; others within a few roundings of every single weight.
#include "rewrite/sums/separable.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "ir/build.hpp"
#include "rewrite/sums/low_rank.hpp"
#include "rewrite/sums/running.hpp"
#include "rewrite/sums/tiles/device_tiles.hpp"
#include "rewrite/sums/weights.hpp"

namespace tessera::rewrite {

using ir::ExprId;
using ir::ExprNode;
using ir::Graph;
using ir::Op;
using ir::Stage;
using ir::StageId;

namespace {

constexpr double block_rows = 4;  // rows of a register block that the price assumes
constexpr double gain = 0.8;      // at most this part of the price of the sum as written

// ---- prices, in vector instructions a point ------------------------------------------------------------------------

double operations(const std::vector<double>& weights, ElementType type) {
  double terms = 0, factors = 0;
  for (double w : weights) {
    if (w == 0) continue;
    terms += 1;
    if (std::fabs(w) != 1) factors += 1;
  }
  if (is_float(type)) return factors > 0 ? terms : std::max(0.0, terms - 1);  // multiply and add are one
  return std::max(0.0, terms - 1) + factors;
}

// Loads of rows are shared by the rows of a block.
double rows_read(const Tensor& w, std::size_t d) {
  double taps = static_cast<double>(w.extent[d]), step = static_cast<double>(w.scale[d]);
  return (step * (block_rows - 1) + taps) / block_rows;
}

double loads(const Tensor& w, const std::vector<std::size_t>& dims, const machine::Machine& device) {
  double n = device.load_price;
  for (std::size_t d : dims) {
    if (d + 1 == w.rank && w.scale[d] > 1) n *= 3;  // every other element is loads and a shuffle
    const bool shared = d + 2 == w.rank || (d + 2 < w.rank && dims.size() == 1 && !device.columns_together);
    n *= shared ? rows_read(w, d) : static_cast<double>(w.extent[d]);
  }
  return n;
}

double price_of(const Product& p, const Tensor& w, ElementType type, const machine::Machine& device) {
  double extra = static_cast<double>(p.extra.size()) * (is_float(type) ? 1 : 2);
  if (!is_float(type) && p.scale != 1) extra += 1;
  double stored = 0, points = 1;  // of the pass, for every point of the result
  for (std::size_t k = p.factors.size(); k-- > 0;) {
    const Product::Factor& f = p.factors[k];
    bool last = k + 1 == p.factors.size();
    stored += points * (operations(f.weights, type) + loads(w, f.dims, device) + (last ? 0 : device.ring_price));
    for (std::size_t d : f.dims) points *= static_cast<double>(w.scale[d]);
  }
  double price = stored;
  const Product::Factor& last = p.factors.back();
  if (p.factors.size() == 2 && last.dims.size() == 1 && last.dims[0] + 2 == w.rank) {  // the first inside the second
    const Product::Factor& first = p.factors.front();
    price =
        std::min(price, (operations(first.weights, type) + loads(w, first.dims, device)) * rows_read(w, last.dims[0]) +
                            operations(last.weights, type));
  }
  return price + extra;
}

}  // namespace

// ---- one stage -----------------------------------------------------------------------------------------------------

class SumSplitter {
 public:
  SumSplitter(SeparableSums& all, const Stage& stage)
      : all_(all), graph_(all.graph_), stage_(stage), forms_(graph_, all.numbers_, stage.body, all.steps_left_) {}

  ExprId run(std::vector<std::string>& remarks) {
    std::unordered_map<std::uint32_t, ExprId> instead;
    // From the root down: the largest sums first, parts of those that do not separate later.
    std::vector<ExprId> order = ir::postorder(graph_, {stage_.body});
    std::unordered_map<std::uint32_t, bool> wanted{{stage_.body.id, true}};
    for (auto it = order.rbegin(); it != order.rend() && all_.steps_left_ > 0; ++it) {
      if (!wanted[it->id]) continue;
      if (forms_.linear(*it) && graph_.node(*it).args.size() > 0)
        if (ExprId value = separated(*it); value.valid()) {
          instead[it->id] = value;
          continue;
        }
      for (ExprId a : graph_.node(*it).args) wanted[a.id] = true;
    }
    if (instead.empty()) return stage_.body;
    remarks.push_back("window of '" + stage_.name + "' is taken " +
                      (products_ > 1 ? fmt::format("as the sum of {} that are taken one dimension at a time", products_)
                                     : "one dimension at a time"));
    return ir::rewrite(graph_, stage_.body, [&](ExprId old, const ExprNode&) {
      auto it = instead.find(old.id);
      return it == instead.end() ? ExprId{} : it->second;
    });
  }

 private:
  ExprId separated(ExprId e) {
    auto sum = forms_.expand(e);
    if (!sum || sum->weights.size() < 4) return {};
    const ExprNode leaf = graph_.node(sum->leaf);
    source_ = leaf.op == Op::convert ? graph_.node(leaf.args[0]) : leaf;
    type_ = graph_.node(e).type;
    converted_ = leaf.op == Op::convert;
    std::size_t rank = source_.index.size();
    if (rank < 2 || rank != stage_.domain.size()) return {};
    for (const ir::Index& index : source_.index)
      if (index.scale < 1) return {};
    auto w = tensor_of(sum->weights, source_.index, type_);
    if (!w) return {};
    const std::vector<Product> terms = products(*w);
    if (std::count_if(w->extent.begin(), w->extent.begin() + static_cast<std::ptrdiff_t>(rank),
                      [](i64 n) { return n > 1; }) < 2)
      return refused(*w, "its weights lie along one dimension already");
    if (terms.empty())
      return refused(*w, all_.method_ == Method::low_rank
                             ? "its weights are no sum of outer products that have fewer terms, or some "
                               "of its weights are zeros that the products would make up of others"
                             : "its weights are no outer product");
    ExprId value;
    for (const Product& p : terms) {
      const ExprId term = built(p, *w);
      if (!term.valid()) return refused(*w, "what lies beyond its border has no counterpart between two dimensions");
      value = value.valid() ? ir::binary(graph_, Op::add, value, term) : term;
    }
    products_ = std::max(products_, terms.size());
    taken(*w, terms.size());
    return value;
  }

  // What the sum is taken as: what costs least, or is asked for; nothing: it stays.
  std::vector<Product> products(const Tensor& w) {
    std::vector<std::size_t> moving, order = order_of(w);
    for (std::size_t d = 0; d < w.rank; ++d)
      if (w.extent[d] > 1) moving.push_back(d);
    if (moving.size() < 2) return {};
    const bool asked = all_.method_ != Method::automatic;
    if (!asked && all_.device_.columns_together &&
        waits_for_dimensions(w, type_, graph_.stage(source_.stage).type, points_of(graph_, stage_, all_.assumed_)))
      return {};
    double least = asked ? INFINITY : gain * (operations(w.at, type_) + loads(w, moving, all_.device_));
    std::vector<Product> best;
    const auto consider = [&](std::vector<Product> terms) {
      double price = 0;
      for (const Product& p : terms) price += price_of(p, w, type_, all_.device_);
      if (price <= least) least = price, best = std::move(terms);
    };
    auto product = factored(w);
    if (product && all_.device_.rows_first && !is_float(type_)) turn_signs(*product);
    if (product && (all_.method_ != Method::low_rank || (product->extra.empty() && have_fewer_terms({*product}, w))))
      consider({*product});
    if (all_.method_ == Method::separable || (product && product->extra.empty())) return best;
    // Of more products than these there are more terms than weights; of planes perhaps of fewer products too.
    double sides = 0;
    for (const std::size_t d : moving) sides += static_cast<double>(w.extent[d]);
    const auto most = static_cast<std::size_t>(
        (static_cast<double>(std::count_if(w.at.begin(), w.at.end(), [](double x) { return x != 0; })) - 1) / sides);
    if (most < 2) return best;
    all_.steps_left_ -= w.count() * static_cast<i64>(4 * std::min(most, most_products));
    if (all_.steps_left_ < 0) return best;
    const bool finite = !is_float(graph_.stage(source_.stage).type);
    if (auto terms = low_rank(w, type_, order, std::min(most, most_products), finite);
        terms && have_fewer_terms(*terms, w))
      consider(std::move(*terms));
    return best;
  }

  // A scale of -1 is none where a factor has weights of both signs: b - a for -(a - b).
  void turn_signs(Product& p) const {
    const double limit = ir::integer_limits(type_).hi;
    if (p.scale >= 0 || -p.scale > limit) return;
    for (std::size_t k = p.factors.size(); k-- > 0;) {
      std::vector<double>& all = p.factors[k].weights;
      const auto [least, most] = std::minmax_element(all.begin(), all.end());
      if (*least >= 0 || *most <= 0 || -*least > limit) continue;
      for (double& w : all) w = w == 0 ? 0 : -w;
      p.scale = -p.scale;
      return;
    }
  }

  // For `explain`: the sum may have been priced before (tiles.cpp), as may others of its extents have been.
  SumChoice& choice(const Tensor& w, Method method) {
    const std::vector<i64> extents(w.extent.begin(), w.extent.begin() + static_cast<std::ptrdiff_t>(w.rank));
    SumChoice* found = nullptr;
    for (SumChoice& c : all_.choices_) {
      const bool open = c.taken == Method::direct && c.refusal.empty() && c.extents == extents;
      if (!open || (c.stage != stage_.name && c.stage != stage_.name + ".sum")) continue;
      if (!found) found = &c;
      for (const SumChoice::Price& p : c.prices)
        if (p.method == method) return c;
    }
    if (found) return *found;
    SumChoice& c = all_.choices_.emplace_back();
    c.stage = stage_.name;
    c.extents = extents;
    return c;
  }

  void taken(const Tensor& w, std::size_t rank) {
    const Method method = rank > 1 || all_.method_ == Method::low_rank ? Method::low_rank : Method::separable;
    SumChoice& c = choice(w, method);
    c.taken = method;
    c.rank = rank;
  }

  // Of the largest sums alone: parts of one that is refused are looked at as well.
  ExprId refused(const Tensor& w, const char* why) {
    const bool asked = all_.method_ == Method::separable || all_.method_ == Method::low_rank;
    if (!asked || refused_) return {};
    refused_ = true;
    choice(w, all_.method_).refusal = why;
    return {};
  }

  // The order of the passes: columns first, rows last, since register blocks share rows.
  std::vector<std::size_t> order_of(const Tensor& w) const {
    std::vector<std::size_t> order;
    for (std::size_t d = w.rank; d-- > 0;)
      if (w.extent[d] > 1) order.push_back(d);
    if (all_.device_.rows_first) std::reverse(order.begin(), order.end());
    // Cores have blocks of planes as well, and what stands in front of those needs the smallest rings.
    if (order.size() >= 3 && all_.device_.columns_together) std::swap(order[1], order.back());
    return order;
  }

  std::optional<Product> factored(const Tensor& w) {
    const std::vector<std::size_t> order = order_of(w);
    if (order.size() < 2) return {};
    for (const std::vector<std::size_t>& apart : splits(order, w))
      if (auto p = searched(w, apart, order, 0)) return p;
    all_.steps_left_ -= w.count() * 48;
    if (all_.steps_left_ < 0) return {};
    return searched(w, order, order, w.at.size() >= 25 ? 4 : 1);
  }

  // Every dimension apart; else one of three or more from the others, which stay together.
  static std::vector<std::vector<std::size_t>> splits(const std::vector<std::size_t>& order, const Tensor& w) {
    std::vector<std::vector<std::size_t>> list{order};
    if (w.rank > 2 && order.size() > 2)
      for (std::size_t d : order) list.push_back({d});
    return list;
  }

  std::optional<Product> searched(const Tensor& w, const std::vector<std::size_t>& apart,
                                  const std::vector<std::size_t>& all, std::size_t most_extra) {
    all_.steps_left_ -= w.count();
    std::vector<std::vector<std::size_t>> sides;
    for (std::size_t d : apart) sides.push_back({d});
    if (apart.size() < all.size()) {
      sides.emplace_back();
      for (std::size_t d = 0; d < w.rank; ++d)
        if (d != apart[0] && w.extent[d] > 1) sides.back().push_back(d);
    }
    return outer_product(w, type_, sides, most_extra);
  }

  // Values beyond an edge, after factors that add up to `total`; nothing when they have no exact counterpart.
  std::optional<Border> border_of(std::size_t d, double total, bool first) const {
    Border b = source_.border[d];
    if (b.mode != BorderMode::constant || first) return b;
    double value = b.value;
    ElementType from = graph_.stage(source_.stage).type;
    value = ir::evaluate(Op::convert, from, ElementType::f64, &value);
    b.value = value * total;
    if (is_float(type_)) return b;
    auto [lo, hi] = ir::integer_limits(type_);
    if (b.value < lo || b.value > hi) return {};
    return b;
  }

  ExprId constant(double v) {
    if (type_ == ElementType::u32 && v < 0) v += 4294967296.0;
    return ir::constant(graph_, type_, v);
  }

  using Members = std::vector<std::pair<ExprId, bool>>;
  static Members::iterator first_added(Members& members) {
    const auto it = std::find_if(members.begin(), members.end(), [](const auto& m) { return !m.second; });
    return it == members.end() ? members.begin() : it;
  }

  // What has equal weights is added up before it is multiplied: integers, and floats of `fast` numbers on vector cores,
  // which add with other units than they multiply and add with.
  ExprId weighted(const std::vector<std::pair<ExprId, double>>& terms) {
    std::vector<std::pair<double, Members>> groups;  // magnitude, terms with their signs
    for (auto [e, w] : terms) {
      if (w == 0) continue;
      bool apart = is_float(type_) && std::fabs(w) != 1 && !all_.adds_first(type_);
      auto same = std::find_if(groups.begin(), groups.end(), [&](const auto& g) { return g.first == std::fabs(w); });
      if (apart || same == groups.end()) same = groups.insert(groups.end(), {std::fabs(w), {}});
      same->second.emplace_back(e, w < 0);
    }
    ExprId total;
    for (auto& [w, members] : groups) {
      // Something to take away from first.
      if (all_.device_.rows_first && !is_float(type_))
        std::rotate(members.begin(), first_added(members), members.end());
      bool negative = members.front().second;  // the whole group
      ExprId value;
      for (auto [e, sign] : members)
        value = value.valid() ? ir::binary(graph_, sign == negative ? Op::add : Op::sub, value, e) : e;
      if (w != 1 && !(total.valid() && !is_float(type_)))
        value = ir::binary(graph_, Op::mul, value, constant(negative ? -w : w)), negative = false;
      else if (w != 1)
        value = ir::binary(graph_, Op::mul, value, constant(w));
      else if (negative && !total.valid())
        value = ir::unary(graph_, Op::neg, value), negative = false;
      total = total.valid() ? ir::binary(graph_, negative ? Op::sub : Op::add, total, value) : value;
    }
    return total;
  }

  // Sums of many equal neighbours: rows of blocks are worth their place on cores.
  bool in_blocks(const Product::Factor& f, const Tensor& w) const {
    const std::size_t d = f.dims[0];
    if (all_.device_.columns_together || source_.index[d].scale != 1 || source_.index[d].shift != ir::SizeId{})
      return false;
    for (std::size_t e = 0; e < w.rank; ++e)
      if (w.extent[e] == 1 && (w.lo[e] != 0 || graph_.stage(source_.stage).domain[e] != stage_.domain[e])) return false;
    return worth_running(f.weights, graph_.stage(source_.stage).kind != ir::StageKind::input);
  }

  std::vector<bool> continued_ahead(const Product& p, const Tensor& w) const {
    std::vector<bool> ahead(w.rank);
    for (std::size_t k = 1; k < p.factors.size(); ++k)
      if (const Product::Factor& f = p.factors[k]; f.dims.size() == 1) ahead[f.dims[0]] = in_blocks(f, w);
    return ahead;
  }

  static void continue_ahead(const std::vector<bool>& ahead, const Tensor& w, const std::vector<Border>& borders,
                             std::vector<ir::Index>& index, std::vector<Border>& border) {
    for (std::size_t d = 0; d < w.rank; ++d) {
      if (!ahead[d]) continue;
      index[d].offset = w.lo[d];
      border[d] = borders[d];
      // Without a border nobody reads what is beyond the image.
      if (border[d].mode == BorderMode::none) border[d] = {BorderMode::clamp, 0};
    }
  }

  // The first sample of a pass along one dimension.
  ExprId first_of(std::size_t d, StageId from, const std::vector<Border>& borders, const Tensor& w, bool source,
                  const std::vector<bool>& ahead) {
    std::vector<ir::Index> index(w.rank);
    std::vector<Border> border(w.rank, Border{BorderMode::clamp, 0});
    if (source) continue_ahead(ahead, w, borders, index, border);
    if (!ahead[d]) {
      index[d].offset = w.lo[d];
      border[d] = borders[d];
    }
    const ExprId e = ir::access(graph_, from, std::move(index), std::move(border));
    return source && converted_ ? ir::convert(graph_, type_, e) : e;
  }

  ExprId built(const Product& p, const Tensor& w) {
    std::size_t rank = w.rank;
    std::vector<double> constants;
    for (const Border& b : source_.border)
      if (b.mode == BorderMode::constant) constants.push_back(b.value);
    bool one_value = std::all_of(constants.begin(), constants.end(), [&](double v) { return v == constants[0]; });
    if (!one_value && (rank > 2 || all_.device_.rows_first))
      return {};  // which value stands in a corner depends on the order of the dimensions
    // Borders first: nothing is added to the graph when one of them has no counterpart.
    std::vector<std::vector<Border>> borders;
    double total = 1;
    for (std::size_t k = 0; k < p.factors.size(); ++k) {
      borders.emplace_back(rank, Border{BorderMode::clamp, 0});
      for (std::size_t d = 0; d < rank; ++d) {
        auto b = border_of(d, total, k == 0);
        if (!b) return {};
        borders.back()[d] = *b;
      }
      double sum = 0;
      for (double x : p.factors[k].weights) sum += x;
      total *= sum;
    }
    const Stage& source = graph_.stage(source_.stage);
    std::vector<ir::SizeId> domain = source.domain;
    std::vector<i64> margin_lo(rank), margin_hi(rank);
    StageId from = source_.stage;
    ExprId value;
    // Dimensions whose turn comes later, and that are taken by blocks then: the first pass continues the image there.
    const std::vector<bool> ahead = continued_ahead(p, w);
    for (std::size_t d = 0; d < rank; ++d)
      if (ahead[d]) domain[d] = graph_.size_binary(ir::SizeOp::add, stage_.domain[d], graph_.size(w.extent[d] - 1));
    for (std::size_t k = 0; k < p.factors.size(); ++k) {
      const Product::Factor& f = p.factors[k];
      bool last = k + 1 == p.factors.size();
      std::vector<std::pair<ExprId, double>> terms;
      for (std::size_t t = 0; t < f.weights.size(); ++t) {
        double weight = f.weights[t];
        if (last && is_float(type_)) weight *= p.scale;  // not in the first pass: sums that differ in scale share it
        if (weight == 0) continue;
        std::vector<ir::Index> index(rank);
        std::vector<Border> border(rank, Border{BorderMode::clamp, 0});
        i64 rest = static_cast<i64>(t);
        for (std::size_t i = f.dims.size(); i-- > 0;) {
          std::size_t d = f.dims[i];
          index[d] = source_.index[d];
          index[d].vars.clear();
          index[d].offset = w.lo[d] + rest % w.extent[d];
          border[d] = borders[k][d];
          rest /= w.extent[d];
        }
        if (f.dims.size() == 1 && ahead[f.dims[0]]) index[f.dims[0]].offset -= w.lo[f.dims[0]];
        if (k == 0) continue_ahead(ahead, w, borders[0], index, border);
        for (std::size_t d = 0; last && d < rank; ++d) {
          if (w.extent[d] > 1) continue;  // dimensions that do not move take their offset at last
          index[d] = source_.index[d];
          index[d].vars.clear();
          index[d].offset = w.lo[d];
          border[d] = borders[k][d];
        }
        ExprId e = ir::access(graph_, from, std::move(index), std::move(border));
        if (k == 0 && converted_) e = ir::convert(graph_, type_, e);
        terms.emplace_back(e, weight);
      }
      if (f.dims.size() == 1 && in_blocks(f, w)) {
        std::vector<double> weights = f.weights;
        for (double& x : weights) x *= last && is_float(type_) ? p.scale : 1;
        const std::size_t d = f.dims[0];
        std::vector<ir::SizeId> whole = domain;
        whole[d] = stage_.domain[d];
        const ExprId first = first_of(d, from, borders[k], w, k == 0, ahead);
        terms = RunningWindow(graph_, Op::add, first, d, static_cast<i64>(weights.size()), std::move(whole), stage_)
                    .weighed(weights);
      }
      value = weighted(terms);
      for (std::size_t d : f.dims) {
        domain[d] = stage_.domain[d];
        if (source_.border[d].mode != BorderMode::none) continue;
        margin_lo[d] = stage_.margin_lo[d];
        margin_hi[d] = stage_.margin_hi[d];
      }
      if (last) break;
      from = part(value, domain, margin_lo, margin_hi, k);
    }
    if (!is_float(type_) && p.scale != 1) value = ir::binary(graph_, Op::mul, value, constant(p.scale));
    std::vector<std::pair<ExprId, double>> extra;
    for (auto [offset, weight] : p.extra) {
      ExprNode access = source_;
      for (std::size_t d = 0; d < rank; ++d) {
        access.index[d].vars.clear();
        access.index[d].offset = offset[d];
      }
      ExprId e = graph_.expr(std::move(access));
      extra.emplace_back(converted_ ? ir::convert(graph_, type_, e) : e, weight);
    }
    if (!extra.empty()) value = ir::binary(graph_, Op::add, value, weighted(extra));
    return value;
  }

  StageId part(ExprId body, const std::vector<ir::SizeId>& domain, const std::vector<i64>& margin_lo,
               const std::vector<i64>& margin_hi, std::size_t number) {
    auto [it, fresh] = all_.parts_.try_emplace({body, domain, margin_lo, margin_hi});
    if (!fresh) return it->second;
    Stage s;
    s.name = stage_.name + "." + std::to_string(number + 1);
    s.type = type_;
    s.domain = domain;
    s.span = stage_.span;
    s.body = body;
    s.margin_lo = margin_lo;
    s.margin_hi = margin_hi;
    return it->second = graph_.add(std::move(s));
  }

  SeparableSums& all_;
  Graph& graph_;
  const Stage& stage_;
  LinearForms forms_;
  bool refused_ = false;
  std::size_t products_ = 0;  // of the sum that has most
  ExprNode source_;           // the access of the sum at hand
  ElementType type_ = ElementType::f32;
  bool converted_ = false;
};

ExprId SeparableSums::split(const Stage& stage, std::vector<std::string>& remarks) {
  if (stage.kind != ir::StageKind::point || stage.domain.size() < 2) return stage.body;
  return SumSplitter(*this, stage).run(remarks);
}

}  // namespace tessera::rewrite
