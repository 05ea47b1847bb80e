// The element of a rank of a window, the median among them, in minima and maxima that neighbouring rows share, or by
// bisection.
//
// Each row of the window is sorted first: the rows of a register block that see it share that work, since hash-consing
// makes one node of it. Sorting the k-th elements of all rows next leaves a matrix sorted both ways, in which element
// (i, j) has at least (i+1)(j+1) - 1 others below and (n-i)(m-j) - 1 above, so that half of it can no longer be the
// median (of 3x3, the three on the diagonal stay: 12 operations, and 6 for every row). What stays is compared pair by
// pair, always the pair that tells most, dropping what has too many known to be above or below it. The alternative is
// Batcher's merge exchange over all terms; the cheaper one is taken. Nodes that the result does not need never count.
//
// Elements that a test leaves out are the greatest value of the type, behind all others: they are no terms. The matrix
// holds them at the ends of shorter rows (of a disc, say), where no comparison is spent on them.
//
// A rank that is known at the point alone is chosen among sorted terms, by the bits of the rank.
//
// Larger windows are bisected: the element of rank k is the largest t that at most k terms are less than, found bit by
// bit with a counting loop for each.
#include "rewrite/median.hpp"

#include <algorithm>
#include <bitset>
#include <cmath>
#include <limits>
#include <map>

#include "analyze/expressions.hpp"
#include "analyze/ranges.hpp"
#include "ir/build.hpp"
#include "ir/variables.hpp"

namespace tessera::rewrite {

using ir::ExprId;
using ir::ExprNode;
using ir::Graph;
using ir::Op;

namespace {

constexpr std::size_t most_selected = 49;  // terms of a window that is taken pair by pair, as it is
constexpr std::size_t most_matched = 128;  // terms of a window that is taken row by row
using Set = std::bitset<most_matched>;

// What is known about values of which the one of a certain rank is looked for.
struct Order {
  std::vector<Set> above, below;  // of every value: those that are no less, those that are no greater, without itself
  Set left;                       // those that it may still be
  std::size_t rank;               // among these

  Order(std::size_t count, std::size_t wanted) : above(count), below(count), rank(wanted) {
    for (std::size_t k = 0; k < count; ++k) left.set(k);
  }

  // Drops those that have too many on one side.
  void prune() {
    for (bool changed = true; changed;) {
      changed = false;
      for (std::size_t x = 0; x < above.size(); ++x) {
        if (!left[x]) continue;
        bool low = above[x].count() + rank >= left.count(), high = below[x].count() > rank;
        if (!low && !high) continue;
        left.reset(x);
        for (std::size_t y = 0; y < above.size(); ++y) above[y].reset(x), below[y].reset(x);
        if (low) --rank;
        changed = true;
      }
    }
  }

  // The lesser of the two now stands at a, the greater one at b.
  void exchanged(std::size_t a, std::size_t b) {
    Set either_above = above[a] | above[b], both_above = above[a] & above[b];
    Set either_below = below[a] | below[b], both_below = below[a] & below[b];
    above[a] = either_above, above[a].set(b), below[a] = both_below;
    below[b] = either_below, below[b].set(a), above[b] = both_above;
    for (std::size_t z = 0; z < above.size(); ++z) {
      if (z == a || z == b) continue;
      below[z].set(a, either_above[z]), below[z].set(b, both_above[z]);
      above[z].set(b, either_below[z]), above[z].set(a, both_below[z]);
    }
  }
};

class Networks {
 public:
  Networks(Graph& graph, ElementType type, std::size_t rank) : graph_(graph), type_(type), rank_(rank) {
    const double most = is_float(type) ? std::numeric_limits<double>::infinity() : ir::integer_limits(type).hi;
    last_ = ir::constant(graph, type, most);
  }

  ExprId best(const std::vector<ExprId>& terms, std::size_t wanted) {
    std::vector<ExprId> all = terms;
    sort(all);
    ExprId found = all[wanted];
    if (terms.size() <= most_selected) {
      Order order(terms.size(), wanted);
      order.prune();
      const ExprId other = select(terms, order, false);
      if (price(other) < price(found)) found = other;
    }
    std::vector<std::vector<ExprId>> rows = rows_of(terms);
    if (rows.size() < 2 || rows[0].size() < 2 || rows.size() * rows[0].size() > most_matched) return found;
    for (bool extremes : {false, true}) {
      ExprId other = row_by_row(rows, wanted, extremes);
      if (price(other) < price(found)) found = other;
    }
    return found;
  }

  // The rank is a value.
  ExprId chosen(std::vector<ExprId> terms, ExprId wanted) {
    sort(terms);
    const auto number = [&](std::size_t v) { return ir::constant(graph_, ElementType::i32, static_cast<double>(v)); };
    wanted = ir::binary(graph_, Op::min, ir::binary(graph_, Op::max, wanted, number(0)), number(terms.size() - 1));
    for (std::size_t bit = 1; terms.size() > 1; bit *= 2) {
      const ExprId odd = ir::truth(graph_, ir::binary(graph_, Op::bit_and, wanted, number(bit)));
      std::vector<ExprId> next;
      for (std::size_t k = 0; k < terms.size(); k += 2)
        next.push_back(k + 1 < terms.size() ? ir::select(graph_, odd, terms[k + 1], terms[k]) : terms[k]);
      terms = std::move(next);
    }
    return terms[0];
  }

 private:
  ExprId combine(Op op, ExprId a, ExprId b) {
    ExprNode node;
    node.op = op;
    node.type = type_;
    node.args = {a, b};
    return graph_.expr(std::move(node));
  }

  // Batcher's merge exchange (Knuth 5.2.2 M), any n.
  void sort(std::vector<ExprId>& v) {
    std::size_t n = v.size(), top = 1;
    while (top * 2 < n) top *= 2;
    for (std::size_t p = top; n > 1 && p > 0; p /= 2) {
      std::size_t q = top, r = 0, d = p;
      for (;;) {
        for (std::size_t i = 0; i + d < n; ++i)
          if ((i & p) == r) exchange(v, i, i + d);
        if (q == p) break;
        d = q - p;
        q /= 2;
        r = p;
      }
    }
  }

  // Terms that read the same row, in order of columns; shorter rows end in what stands behind all terms.
  std::vector<std::vector<ExprId>> rows_of(const std::vector<ExprId>& terms) {
    std::map<std::vector<i64>, std::vector<ExprId>> rows;
    for (ExprId term : terms) {
      std::vector<ExprId> reads = ir::accesses(graph_, term);
      if (reads.empty()) return {};
      const ExprNode& access = graph_.node(reads.front());
      std::vector<i64> key;
      for (std::size_t d = 0; d + 1 < access.index.size(); ++d) key.push_back(access.index[d].offset);
      rows[key].push_back(term);
    }
    std::vector<std::vector<ExprId>> list;
    std::size_t longest = 0;
    for (auto& [key, row] : rows) {
      // (Not std::stable_sort: it calls what the C++ library itself calls deprecated.)
      std::sort(row.begin(), row.end(),
                [&](ExprId a, ExprId b) { return std::pair(column(a), a.id) < std::pair(column(b), b.id); });
      list.push_back(row);
      longest = std::max(longest, row.size());
    }
    for (std::vector<ExprId>& row : list) row.resize(longest, last_);
    return list;
  }

  i64 column(ExprId term) { return graph_.node(ir::accesses(graph_, term).front()).index.back().offset; }

  ExprId row_by_row(std::vector<std::vector<ExprId>> rows, std::size_t wanted_rank, bool extremes) {
    std::size_t n = rows.size(), m = rows[0].size();
    for (std::vector<ExprId>& row : rows) sort(row);
    // Element (i, j): the i-th of the j-th elements of all rows, so that it is at most those right of it and below it.
    Order order(n * m, wanted_rank);
    std::vector<std::size_t> lengths(m);
    for (const std::vector<ExprId>& row : rows)
      for (std::size_t j = 0; j < m; ++j) lengths[j] += row[j] == last_ ? 0 : 1;
    const auto is_last = [&](std::size_t a) { return a / m >= lengths[a % m]; };
    for (std::size_t a = 0; a < n * m; ++a)
      for (std::size_t b = 0; b < n * m; ++b)
        if (a != b && (is_last(a) == is_last(b) ? a / m <= b / m && a % m <= b % m : is_last(b)))
          order.above[a].set(b), order.below[b].set(a);
    order.prune();
    std::vector<ExprId> v(n * m);
    for (std::size_t j = 0; j < m; ++j) {
      std::vector<ExprId> column;
      std::vector<std::size_t> wanted;
      for (std::size_t i = 0; i < n; ++i) {
        column.push_back(rows[i][j]);
        if (order.left[i * m + j]) wanted.push_back(i);
      }
      column = picked(column, wanted, extremes);
      for (std::size_t i : wanted) v[i * m + j] = column[i];
    }
    return select(std::move(v), std::move(order), extremes);
  }

  // The wanted places of the values in order; other places hold anything.
  std::vector<ExprId> picked(const std::vector<ExprId>& values, const std::vector<std::size_t>& wanted, bool extremes) {
    if (wanted.empty()) return values;
    std::size_t n = values.size();
    std::vector<ExprId> best = values;
    sort(best);
    auto cost = [&](const std::vector<ExprId>& v) {
      std::vector<ExprId> roots;
      for (std::size_t i : wanted) roots.push_back(v[i]);
      return analyze::operation_count(graph_, roots);
    };
    auto consider = [&](const std::vector<ExprId>& v) {
      if (cost(v) < cost(best)) best = v;
    };
    std::vector<ExprId> up = values, down = values;  // one after the other from an end
    for (std::size_t last = n - 1; last > 0 && last >= wanted.front(); --last)
      for (std::size_t i = 0; i < last; ++i) exchange(up, i, i + 1);
    for (std::size_t first = 0; first + 1 < n && first <= wanted.back(); ++first)
      for (std::size_t i = n - 1; i > first; --i) exchange(down, i - 1, i);
    consider(up);
    consider(down);
    if (wanted.size() == 1) {
      std::vector<ExprId> one = values;
      Order order(n, wanted[0]);
      order.prune();
      one[wanted[0]] = select(values, order, extremes);
      consider(one);
    }
    return best;
  }

  void exchange(std::vector<ExprId>& v, std::size_t i, std::size_t k) {
    ExprId a = v[i], b = v[k];
    if (a == last_) std::swap(a, b);
    if (b == last_) {
      v[i] = a, v[k] = b;
      return;
    }
    v[i] = combine(is_float(type_) ? Op::least : Op::min, a, b);
    v[k] = combine(is_float(type_) ? Op::most : Op::max, a, b);
  }

  // The element that is looked for, comparing one pair after the other.
  ExprId select(std::vector<ExprId> v, Order order, bool extremes) {
    Set& left = order.left;
    std::vector<Set>&above = order.above, &below = order.below;
    while (left.count() > 1) {
      std::size_t a = 0, b = 0;
      double most = -1;
      for (std::size_t x = 0; x < v.size(); ++x)
        for (std::size_t y = x + 1; left[x] && y < v.size(); ++y) {
          if (!left[y] || above[x][y] || below[x][y]) continue;
          double up =
              static_cast<double>((above[x] | above[y]).count() + 1) / static_cast<double>(left.count() - order.rank);
          double down = static_cast<double>((below[x] | below[y]).count() + 1) / static_cast<double>(order.rank + 1);
          double tells = extremes ? std::max(up, down) + 0.01 * std::min(up, down) : up + down;
          if (tells > most) most = tells, a = x, b = y;
        }
      exchange(v, a, b);
      order.exchanged(a, b);
      order.prune();
    }
    for (std::size_t x = 0; x < v.size(); ++x)
      if (left[x]) return v[x];
    return v[0];
  }

  // Operations a point, in a block of as many rows as so large an expression is given.
  double price(ExprId e) {
    double alone = analyze::operation_count(graph_, {e});
    int rows = alone <= 140 ? 4 : alone <= 300 ? 2 : 1;
    std::vector<ExprId> block;
    for (int r = 0; r < rows; ++r) block.push_back(analyze::shift_rows(graph_, e, rank_, r));
    return analyze::operation_count(graph_, block) / rows;
  }

  Graph& graph_;
  ElementType type_;
  std::size_t rank_;
  ExprId last_;  // behind all terms
};

// ---- bisection -----------------------------------------------------------------------------------------------------

class Bisection {
 public:
  Bisection(Graph& graph, const ExprNode& reduction) : graph_(graph), reduction_(reduction), body_(reduction.args[0]) {
    n_ = analyze::term_count(reduction);
  }

  ExprId run() { return is_float(reduction_.type) ? number() : integer(); }

 private:
  ExprId i32(double v) { return ir::constant(graph_, ElementType::i32, v); }
  ExprId real(double v) { return ir::constant(graph_, reduction_.type, v); }

  // Whether at most `most` terms are less than t.
  ExprId few_below(ExprId body, ExprId t, ExprId most) {
    ir::VariableNames names;  // of its own: t has counted with others
    std::vector<ir::Var> vars = ir::fresh_variables(graph_, reduction_.vars, names);
    ExprId terms = ir::renamed(graph_, body, names);
    ExprId less = ir::convert(graph_, ElementType::i32, ir::binary(graph_, Op::lt, terms, t));
    return ir::binary(graph_, Op::le, ir::reduce(graph_, Op::reduce_sum, std::move(vars), less), most);
  }

  // How many terms are below the one that is looked for, at most.
  ExprId rank() {
    const ExprId last = i32(static_cast<double>(n_ - 1));
    if (reduction_.op == Op::reduce_median) return i32(static_cast<double>((n_ - 1) / 2));
    return ir::binary(graph_, Op::min, ir::binary(graph_, Op::max, reduction_.args[1], i32(0)), last);
  }

  ExprId integer() {
    auto [lo, hi] = values_of(graph_, body_);
    double bit = 1;
    while (lo + 2 * bit - 1 < hi) bit *= 2;
    ExprId most = rank(), t = ir::constant(graph_, reduction_.type, lo);
    for (; bit >= 1; bit /= 2) {
      ExprId higher = sum(t, bit);
      t = ir::select(graph_, few_below(body_, higher, most), higher, t);
    }
    return t;
  }

  // t + bit, which may be half of all numbers.
  ExprId sum(ExprId t, double bit) {
    if (reduction_.type == ElementType::i32 && bit == 2147483648.0) return i32(0);  // t is the least number still
    return ir::binary(graph_, Op::add, t, ir::constant(graph_, reduction_.type, bit));
  }

  std::size_t table(const char* name, const std::vector<double>& values) {
    for (std::size_t k = 0; k < graph_.tables.size(); ++k)
      if (graph_.tables[k].name == name && graph_.tables[k].type == reduction_.type &&
          graph_.tables[k].values == values)
        return k;
    graph_.tables.push_back({name, reduction_.type, {static_cast<i64>(values.size())}, values});
    return graph_.tables.size() - 1;
  }

  // Floats have sign, exponent and fraction, and each is found in turn. When the median is negative, all terms change
  // sign, so that its magnitude is what is looked for.
  ExprId number() {
    bool wide = reduction_.type == ElementType::f64;
    int exponents = wide ? 2048 : 256, fraction = wide ? 52 : 23, bias = wide ? 1023 : 127;
    std::vector<double> least, unit;  // of every exponent: its least number, and the distance of its numbers
    for (int e = 0; e < exponents; ++e) {
      bool infinite = e + 1 == exponents;
      unit.push_back(infinite ? 0 : std::ldexp(1.0, std::max(e, 1) - bias - fraction));
      least.push_back(e == 0 ? 0 : infinite ? std::numeric_limits<double>::infinity() : std::ldexp(1.0, e - bias));
    }
    std::size_t least_table = table("least", least), unit_table = table("unit", unit);
    const ExprId below = rank();
    ExprId positive = few_below(body_, real(0), below);
    ExprId sign = ir::select(graph_, positive, real(1), real(-1));
    const ExprId last = i32(static_cast<double>(n_ - 1));
    ExprId most = ir::select(graph_, positive, below, ir::binary(graph_, Op::sub, last, below));
    ExprId body = ir::binary(graph_, Op::mul, body_, sign);
    ExprId e = i32(0);
    for (int bit = exponents / 2; bit >= 1; bit /= 2) {
      ExprId higher = ir::binary(graph_, Op::add, e, i32(bit));
      e = ir::select(graph_, few_below(body, ir::lookup(graph_, least_table, {higher}), most), higher, e);
    }
    ExprId t = ir::lookup(graph_, least_table, {e}), step = ir::lookup(graph_, unit_table, {e});
    for (int k = fraction; k-- > 0;) {
      ExprId higher = ir::binary(graph_, Op::add, t, ir::binary(graph_, Op::mul, step, real(std::ldexp(1.0, k))));
      t = ir::select(graph_, few_below(body, higher, most), higher, t);
    }
    return ir::binary(graph_, Op::mul, t, sign);
  }

  Graph& graph_;
  ExprNode reduction_;
  ExprId body_;
  i64 n_ = 1;
};

}  // namespace

ir::IntegerLimits values_of(const Graph& graph, ExprId e) {
  const ExprNode& n = graph.node(e);
  const ir::IntegerLimits all = ir::integer_limits(n.type);
  if (const auto v = ir::constant_value(graph, e)) return {*v, *v};
  if (n.op == Op::convert && !is_float(graph.node(n.args[0]).type)) {
    const ir::IntegerLimits from = values_of(graph, n.args[0]);
    return from.lo >= all.lo && from.hi <= all.hi ? from : all;
  }
  if (n.op == Op::select) {
    const ir::IntegerLimits a = values_of(graph, n.args[1]), b = values_of(graph, n.args[2]);
    return {std::min(a.lo, b.lo), std::max(a.hi, b.hi)};
  }
  return all;
}

ExprId rank_network(Graph& graph, ElementType type, std::size_t dimensions, const std::vector<ExprId>& terms,
                    std::size_t rank) {
  return Networks(graph, type, dimensions).best(terms, rank);
}

ExprId rank_choice(Graph& graph, ElementType type, std::size_t dimensions, const std::vector<ExprId>& terms,
                   ExprId rank) {
  return Networks(graph, type, dimensions).chosen(terms, rank);
}

ExprId rank_search(Graph& graph, const ExprNode& reduction) {
  return Bisection(graph, reduction).run();
}

RankTerms rank_terms(Graph& graph, const ExprNode& reduction) {
  RankTerms found;
  ir::VariableValues at = ir::first_values(reduction.vars);
  do {
    found.terms.push_back(ir::substitute(graph, reduction.args[0], at));
  } while (ir::next_values(at, reduction.vars));
  const auto count = static_cast<i64>(found.terms.size());
  if (reduction.op == Op::reduce_median) {
    found.rank = (count - 1) / 2;
  } else if (const auto rank = ir::constant_value(graph, reduction.args[1])) {
    found.rank = std::clamp<i64>(static_cast<i64>(*rank), 0, count - 1);
  }
  // What a constant that nothing exceeds comes behind is found without it.
  const bool real = is_float(reduction.type);
  double most = -std::numeric_limits<double>::infinity();
  for (const ExprId e : found.terms)
    most = std::max(most, real ? std::numeric_limits<double>::infinity() : values_of(graph, e).hi);
  std::vector<ExprId> others;
  for (const ExprId e : found.terms)
    if (ir::constant_value(graph, e) != most) others.push_back(e);
  if (found.rank && *found.rank < static_cast<i64>(others.size())) found.terms = std::move(others);
  return found;
}

i64 most_network_terms(ElementType of_values) {
  return of_values == ElementType::boolean || size_of(of_values) == 1 ? 121 : 225;
}

}  // namespace tessera::rewrite
