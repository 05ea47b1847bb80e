// Exact sums of bytes by dot products.
//
// Processors with AVX-512 VNNI multiply 64 bytes by 64 signed bytes and add the products, four neighbours at a time, to
// sixteen totals of 32 bits, in one instruction a cycle. Nothing saturates: sums wrap as they should. A vector of bytes
// at column x + p so gives a part of the sums of the columns x + p, x + p + 4, ...: every fourth one. Four such vectors
// of totals make 64 columns. Bytes are never widened, and results that are bytes again go together by shifts, without
// a shuffle. A sum of K x K weights takes K * ceil(K / 4) instructions for 16 results: 3.75 cycles for 4 columns at 15.
//
// Weights beyond a signed byte are low + 128 * high, which is two sums; both wrap alike.
#include "rewrite/sums/bytes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>

#include "analyze/pairs.hpp"
#include "ir/build.hpp"
#include "rewrite/sums/running.hpp"

namespace tessera::rewrite {

using ir::ExprId;
using ir::ExprNode;
using ir::Graph;
using ir::Op;
using ir::Stage;
using ir::StageId;

namespace {

constexpr i64 most_quads = 144;         // that a point takes: sixteen times as many are written out
constexpr std::size_t most_chains = 2;  // of totals, sixteen registers for four rows of the first
constexpr i64 least_terms = 4, least_apart = 12;
constexpr double least_weight = 128 * -128 - 64, most_weight = 128 * 127 + 63;

// Nanoseconds, measured at 5 to 15 weights a side. The rest is what goes to and from memory.
constexpr double of_quad = 0.02, of_point = 0.06;
// Of bytes, one dimension at a time: of a weight, and of a point.
constexpr double of_tap = 0.019, of_both = 0.07;

struct Weighed {
  ExprId leaf;
  Weights weights;
};

const ExprNode& read_by(const Graph& graph, ExprId leaf) {
  const ExprNode& top = graph.node(leaf);
  return top.op == Op::convert ? graph.node(top.args[0]) : top;
}

// A byte at a fixed distance along its row, as neighbours in memory.
bool reads_bytes(const Graph& graph, const ExprNode& access) {
  if (graph.stage(access.stage).type != ElementType::u8 || analyze::in_struct(graph, access.stage)) return false;
  const ir::Index& column = access.index.back();
  return column.scale == 1 && column.shift == ir::SizeId{};
}

std::optional<Weighed> sum_of_bytes(const Graph& graph, LinearForms& forms, ExprId e) {
  const ExprNode& node = graph.node(e);
  if (node.type != ElementType::i32 && node.type != ElementType::u32) return {};
  if (!forms.linear(e) || node.args.empty() || node.op == Op::convert) return {};
  auto sum = forms.expand(e);
  if (!sum || sum->weights.empty() || graph.node(sum->leaf).op != Op::convert) return {};
  if (!reads_bytes(graph, read_by(graph, sum->leaf))) return {};
  Weighed weighed{sum->leaf, {}};
  for (const auto& [offset, weight] : sum->weights) {
    const double w = weight - 0x1p32 * std::floor((weight + 0x1p31) / 0x1p32);  // totals wrap
    if (std::trunc(w) != w || w < least_weight || w > most_weight) return {};
    if (w != 0) weighed.weights.emplace_back(offset, w);
  }
  if (weighed.weights.empty()) return {};
  return weighed;
}

// Weights as quads whose rows are not known yet: an invalid id for the row, by its offsets.
struct Quads {
  using Map = std::map<std::pair<Offset, i64>, std::uint32_t>;  // by row and first column
  Map low, high;
  i64 terms = 0;
  bool narrow = false;
  std::size_t count() const { return low.size() + high.size(); }
};

Quads quads_of(const Weights& weights, std::size_t rank) {
  Quads quads;
  double below = 0, above = 0;
  bool wide = false;
  for (const auto& [offset, w] : weights) {
    (w < 0 ? below : above) += 255 * w;
    wide |= w < -128 || w > 127;
  }
  quads.terms = static_cast<i64>(weights.size());
  quads.narrow = above <= 32767 ? below >= -32768 : below == 0 && above <= 65535;
  const auto put = [](Quads::Map& to, const Offset& row, i64 column, i64 at, i64 w) {
    if (w != 0) to[{row, column}] |= (static_cast<std::uint32_t>(w) & 255u) << (8 * (at - column));
  };
  std::map<Offset, i64> first;                    // column of the quad that is being filled, by row
  for (const auto& [offset, weight] : weights) {  // along each row
    Offset row = offset;
    const i64 at = offset[rank - 1], w = static_cast<i64>(weight);
    row[rank - 1] = 0;
    const auto [column, fresh] = first.try_emplace(row, at);
    if (at - column->second >= 4) column->second = at;
    const i64 high = wide ? (w + 64) >> 7 : 0;
    put(quads.low, row, column->second, at, w - 128 * high);
    put(quads.high, row, column->second, at, high);
  }
  return quads;
}

// Are dot products cheaper than what is done else? In 16-bit lanes of bytes a term is two operations on 32 columns.
bool gains(i64 terms, std::size_t quads, bool narrow) {
  if (static_cast<i64>(quads) > most_quads) return false;
  return narrow ? 2 * static_cast<i64>(quads) + 6 < terms : terms >= least_terms;
}

// Whether a body may be computed for every fourth column, `sums` apart.
bool rest_allows(const Graph& graph, const Stage& stage, const std::set<std::uint32_t>& sums) {
  if (stage.type == ElementType::f16 || stage.type == ElementType::f64) return false;
  std::vector<ExprId> stack{stage.body};
  std::set<std::uint32_t> seen;
  while (!stack.empty()) {
    const ExprId e = stack.back();
    stack.pop_back();
    if (sums.contains(e.id) || !seen.insert(e.id).second) continue;
    const ExprNode& node = graph.node(e);
    if (node.type == ElementType::f64 || (node.type == ElementType::f16 && node.op != Op::constant)) return false;
    if (is_reduction(node.op) || is_whole(node.op) || is_lanes(node.op) || node.op == Op::coord ||
        node.op == Op::gather || node.op == Op::lookup)
      return false;
    if (node.op == Op::access && (!reads_bytes(graph, node) || !node.index.back().vars.empty())) return false;
    for (const ExprId a : node.args) stack.push_back(a);
  }
  return true;
}

// The largest sums of bytes below the root, those that others contain left out.
std::vector<std::pair<ExprId, Weighed>> largest_sums(const Graph& graph, ExprId body, i64& steps) {
  std::vector<std::pair<ExprId, Weighed>> found;
  const std::vector<ExprId> order = ir::postorder(graph, {body});
  LinearForms forms(graph, Numbers::exact, body, steps);
  std::set<std::uint32_t> wanted{body.id};
  for (auto it = order.rbegin(); it != order.rend() && steps > 0; ++it) {
    if (!wanted.contains(it->id)) continue;
    if (auto sum = sum_of_bytes(graph, forms, *it)) {
      found.emplace_back(*it, std::move(*sum));
      continue;
    }
    // (Terms of a sum that is loops are no stages: they move with its variables.)
    if (is_reduction(graph.node(*it).op)) continue;
    for (const ExprId a : graph.node(*it).args) wanted.insert(a.id);
  }
  return found;
}

Offset row_of(const ExprNode& access) {
  Offset row{};
  for (std::size_t d = 0; d + 1 < access.index.size(); ++d) row[d] = access.index[d].offset;
  return row;
}

}  // namespace

std::vector<WeighedBytes> sums_of_bytes(const Graph& graph, ExprId body, i64& steps) {
  std::vector<WeighedBytes> result;
  for (auto& [e, weighed] : largest_sums(graph, body, steps)) {
    const ExprNode& top = graph.node(weighed.leaf);
    result.push_back({e, top.op == Op::convert ? top.args[0] : weighed.leaf, std::move(weighed.weights)});
  }
  return result;
}

double price_of_quads(double quads) {
  return of_point + of_quad * quads;
}

std::optional<std::vector<ByteSum>> works_in_quads(const Graph& graph, StageId s) {
  const Stage& stage = graph.stage(s);
  if (stage.kind != ir::StageKind::point || stage.note > 0 || analyze::in_struct(graph, s)) return {};
  for (ExprId e : ir::postorder(graph, {stage.body}))
    if (is_reduction(graph.node(e).op)) return {};
  i64 steps = i64{1} << 20;
  std::vector<ByteSum> sums;
  std::set<std::uint32_t> known;
  i64 terms = 0;
  std::size_t count = 0, chains = 0;
  bool narrow = true;
  for (const auto& [e, weighed] : largest_sums(graph, stage.body, steps)) {
    const ExprNode& leaf = read_by(graph, weighed.leaf);
    const Quads quads = quads_of(weighed.weights, leaf.index.size());
    std::map<Offset, ExprId> rows;
    for (const ExprId a : ir::accesses(graph, e)) rows.try_emplace(row_of(graph.node(a)), a);
    ByteSum sum;
    sum.sum = e;
    sum.terms = quads.terms;
    sum.narrow = quads.narrow;
    for (const auto& [at, weights] : quads.low)
      sum.low.push_back({rows.at(at.first), at.second, static_cast<std::int32_t>(weights)});
    for (const auto& [at, weights] : quads.high)
      sum.high.push_back({rows.at(at.first), at.second, static_cast<std::int32_t>(weights)});
    terms += sum.terms;
    count += sum.quads();
    chains += sum.chains();
    narrow = narrow && sum.narrow;
    known.insert(e.id);
    sums.push_back(std::move(sum));
  }
  if (sums.empty() || chains > most_chains || !gains(terms, count, narrow)) return {};
  if (!rest_allows(graph, stage, known)) return {};
  return sums;
}

// ---- what is to be summed so ---------------------------------------------------------------------------------------

struct ByteSums::Found {
  ExprId sum;
  ExprId leaf;
  Weights weights;
  Quads quads;
  ElementType type;
};

// One dimension at a time weights of rank 1 take less as soon as there are many.
bool ByteSums::worth(const Found& f) const {
  if (!gains(f.quads.terms, f.quads.count(), f.quads.narrow)) return false;
  if (method_ == Method::direct) return true;
  const ExprNode& read = read_by(graph_, f.leaf);
  const auto w = tensor_of(f.weights, read.index, f.type);
  if (!w) return false;
  std::vector<std::vector<std::size_t>> each;
  for (std::size_t d = 0; d < w->rank; ++d)
    if (w->extent[d] > 1) each.push_back({d});
  if (each.size() < 2) return f.quads.count() < static_cast<std::size_t>(f.quads.terms);
  const auto product = outer_product(*w, f.type, each, 2);
  if (!product) return true;
  double apart = of_both * static_cast<double>(each.size() - 1) + of_quad * static_cast<double>(product->extra.size());
  for (const Product::Factor& factor : product->factors) apart += of_tap * running_terms(factor.weights);
  return price_of_quads(static_cast<double>(f.quads.count())) < apart;
}

// The sum, written out along its rows.
ExprId ByteSums::written(const Found& f) const {
  const ExprNode read = read_by(graph_, f.leaf);
  const bool unsigned_type = f.type == ElementType::u32;
  ExprId total;
  for (const auto& [offset, weight] : f.weights) {
    ExprNode access = read;
    for (std::size_t d = 0; d < access.index.size(); ++d) access.index[d].offset = offset[d], access.index[d].vars = {};
    const ExprId byte = ir::convert(graph_, f.type, graph_.expr(std::move(access)));
    const ExprId term = ir::binary(
        graph_, Op::mul, byte, ir::constant(graph_, f.type, unsigned_type && weight < 0 ? weight + 0x1p32 : weight));
    total = total.valid() ? ir::binary(graph_, Op::add, total, term) : term;
  }
  return total;
}

bool ByteSums::take(Stage& stage, bool alone, std::vector<std::string>& remarks) {
  if (!device_.byte_products || (method_ != Method::automatic && method_ != Method::direct)) return false;
  std::vector<Found> found;
  std::set<std::uint32_t> known;
  std::size_t chains = 0;
  bool all = true;
  for (auto& [e, weighed] : largest_sums(graph_, stage.body, steps_left_)) {
    const ElementType type = graph_.node(e).type;
    Quads quads = quads_of(weighed.weights, read_by(graph_, weighed.leaf).index.size());
    Found f{e, weighed.leaf, std::move(weighed.weights), std::move(quads), type};
    const bool yes = worth(f);
    const bool many = f.quads.terms >= least_apart;
    all = all && (yes || !many);
    known.insert(e.id);
    chains += f.quads.high.empty() ? 1 : 2;
    if (yes) found.push_back(std::move(f));
  }
  if (found.empty()) return false;
  all = all && alone && chains <= most_chains && rest_allows(graph_, stage, known);
  if (!all) std::erase_if(found, [](const Found& f) { return f.quads.terms < least_apart; });
  std::unordered_map<std::uint32_t, ExprId> instead;
  for (const Found& f : found) {
    ExprId value = written(f);
    remarks.push_back(fmt::format("'{}' sums {} bytes by {} products of four, {:.2g} ns a point (predicted)",
                                  stage.name, f.quads.terms, f.quads.count(),
                                  price_of_quads(static_cast<double>(f.quads.count()))));
    if (!all) {
      Stage part;
      part.name = stage.name + ".sum";
      part.type = f.type;
      part.domain = stage.domain;
      part.span = stage.span;
      part.margin_lo = stage.margin_lo;
      part.margin_hi = stage.margin_hi;
      part.body = value;
      const std::size_t rank = stage.domain.size();
      value = ir::access(graph_, graph_.add(std::move(part)), std::vector<ir::Index>(rank),
                         std::vector<Border>(rank, {BorderMode::clamp, 0}));
    }
    instead[f.sum.id] = value;
  }
  stage.body = ir::rewrite(graph_, stage.body, [&](ExprId old, const ExprNode&) {
    auto it = instead.find(old.id);
    return it == instead.end() ? ExprId{} : it->second;
  });
  return all;
}

std::optional<double> price_by_quads(const Graph& graph, const machine::Machine& device, const Stage& stage,
                                     StageId source, const Tensor& w) {
  if (!device.byte_products || is_float(stage.type) || graph.stage(source).type != ElementType::u8) return {};
  if (analyze::in_struct(graph, source) || w.scale[w.rank - 1] != 1) return {};
  Weights weights;
  for (i64 k = 0; k < w.count(); ++k)
    if (const double x = w.at[static_cast<std::size_t>(k)]; x != 0) {
      if (x < least_weight || x > most_weight) return {};
      weights.emplace_back(w.offset(k), x);
    }
  const Quads quads = quads_of(weights, w.rank);
  if (!gains(quads.terms, quads.count(), quads.narrow)) return {};
  return price_of_quads(static_cast<double>(quads.count()));
}

}  // namespace tessera::rewrite
