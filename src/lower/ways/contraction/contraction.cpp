// See contraction.hpp.
#include "lower/ways/contraction/contraction.hpp"

#include <algorithm>
#include <functional>

#include "ir/build.hpp"
#include "lower/point.hpp"
#include "lower/ways/stream/columns/columns.hpp"
#include "lower/ways/stream/group.hpp"
#include "rewrite/sums/contraction.hpp"

namespace tessera::lower {

using ir::ExprId;
using ir::ExprNode;
using ir::Op;
using ir::StageId;
using ir::nest::integer;
using ir::nest::Lane;
using ir::nest::Type;
using ir::nest::Value;
using ir::nest::variable;
using rewrite::AffineIndex;
using rewrite::Contraction;
using rewrite::Factor;

namespace {

constexpr i64 line = 64, raw_bytes = 32;  // of a number, and what lies between numbers

// What a run's extents make of it; `tile`: of the shape, no more than this in any region.
struct Amounts {
  std::vector<Value> counts;  // turns of every variable
  Value inner, per, terms;    // terms a turn of the first one; turns of it at once; terms at once, at most
  Value blocks, columns, points;
};

struct Panels {  // u8*
  Value down, across, partial, block, raw;
};

class ContractionWriter {
 public:
  ContractionWriter(const Declared& declared, const Contraction& c)
      : d_(declared),
        group_(declared.group),
        b_(declared.builder),
        c_(c),
        stage_(group_.planned.anchor),
        rank_(group_.rank),
        shape_(rewrite::contraction_tile(group_.machine, c.type)),
        lane_(ir::nest::lane_of(c.type)),
        size_(ir::nest::size_of(lane_)),
        vector_{lane_, shape_.lanes, false} {}

  void find_amounts();
  void reserve(ScratchStack&);
  void compute(const TileFunction&, const Region&);

 private:
  using Vars = std::map<std::uint32_t, Value>;

  bool is_outer(std::size_t d) const { return d + 1 < rank_ && d != c_.row; }
  Value lanes_at(const Value& memory) const { return convert({lane_, 1, true}, memory); }

  // Reading.
  Value place_of(const AffineIndex&, const std::vector<Value>& point, const Vars&) const;
  bool surely_inside(const AffineIndex&, ir::SizeId extent) const;
  bool reads_rows() const;
  struct Element {
    Value base;                                    // u8*: its row, or the element itself
    std::vector<std::pair<Value, double>> beyond;  // flags, and the constants that stand there
  };
  Element element(const Factor&, const std::vector<Value>& point, const Vars&, std::size_t dims);
  Value constant_of(const Factor&, double given) const;
  Value product_of(const Factor&, const Value& read);
  Value number(const Factor&, const std::vector<Value>& point, const Vars&);

  // Packing.
  void terms(const std::function<void(const Vars&, const Value& term)>&);
  void pack_down(std::vector<Value> point);
  Value panel_at(const Value& panel, const Value& term) const;
  void pack_across(const std::vector<Value>& point, const Value& panels);
  void pack_row(const std::vector<Value>& point, const Vars&, const Value& term, const Value& panels);
  void outer_loop(std::size_t dim, std::vector<Value> point, const Value& number);
  void panels(std::vector<Value> point, const Value& number);
  struct Panel {
    Value from, number;  // its first column, from the tile's first one on; its place among those that are packed
  };
  void block(std::vector<Value> point, const Value& number, const Panel&, const Value& m);

  // Results.
  using Totals = std::vector<std::vector<Value>>;
  Value partial_at(const Value& number, const Value& m, const Value& from, int r, int v) const;
  void store_rows(const Totals&, const std::vector<Value>& point, const Value& left);
  void store_ends(const Totals&, const std::vector<Value>& point, const Value& left, const Value& columns);
  void store(const Value& total, const std::vector<Value>& point, const Value& to, const Value& x, const Value& count);
  PointEmitter::Values along_row(const std::vector<Value>& point);
  PointSource source(const std::vector<Value>& point, const Value& x, int lanes, const Value& count);

  const Declared& d_;
  const StreamGroup& group_;
  Builder& b_;
  const Contraction& c_;
  const StageId stage_;
  const std::size_t rank_;
  const rewrite::ContractionTile shape_;
  const Lane lane_;
  const i64 size_;
  const Type vector_;
  Amounts n_;
  Panels memory_;
  // While the tile's function is written.
  const TileFunction* tile_ = nullptr;
  const Region* region_ = nullptr;
  Value first_, end_, count_;  // turns of the first variable, and their terms
};

// ---- amounts and memory --------------------------------------------------------------------------------------------

void ContractionWriter::find_amounts() {
  Value all;
  n_.inner = integer(1);
  for (std::size_t k = 0; k < c_.vars.size(); ++k) {
    const ir::Var& v = c_.vars[k];
    n_.counts.push_back(v.end == ir::SizeId{} ? integer(v.hi - v.lo + 1) : b_.let("turns", d_.extent(v.end) - v.lo));
    if (k > 0) n_.inner = n_.inner * n_.counts[k];
  }
  n_.inner = b_.let("inner", n_.inner);
  all = b_.let("all", n_.counts[0] * n_.inner);
  const Value some = call_i64("tsr_quotient", {integer(rewrite::contraction_block), n_.inner});
  n_.per = b_.let("per", choose(at_most(all, rewrite::contraction_terms), max(n_.counts[0], 1), some));
  n_.terms = b_.let("terms", min(n_.per, n_.counts[0]) * n_.inner);
  const auto extent = [&](std::size_t d) { return load(tile_shape(), integer(static_cast<i64>(d)), 1); };
  n_.blocks = b_.let("blocks", call_i64("tsr_ceil_div", {extent(c_.row), integer(shape_.high)}));
  n_.columns = b_.let("columns", call_i64("tsr_ceil_div", {extent(rank_ - 1), integer(shape_.wide())}) * shape_.wide());
  n_.points = integer(1);
  for (std::size_t d = 0; d < rank_; ++d)
    if (is_outer(d)) n_.points = n_.points * extent(d);
  n_.points = b_.let("points", n_.points);
}

void ContractionWriter::reserve(ScratchStack& scratch) {
  memory_.down = scratch.reserve(n_.blocks * shape_.high * n_.terms * size_);
  memory_.across = scratch.reserve(n_.terms * (rewrite::contraction_together * shape_.wide() * size_));
  const Value several = convert(index_type, less(n_.per, n_.counts[0]));
  memory_.partial = scratch.reserve(several * n_.points * n_.blocks * shape_.high * n_.columns * size_);
  memory_.block = scratch.reserve(integer(shape_.high * shape_.wide() * size_));
  memory_.raw = scratch.reserve(integer(shape_.wide() * raw_bytes + line));
}

// ---- reading -------------------------------------------------------------------------------------------------------

Value ContractionWriter::place_of(const AffineIndex& index, const std::vector<Value>& point, const Vars& vars) const {
  Value at = integer(index.offset);
  for (const auto& [d, c] : index.points) at = at + point[d] * c;
  for (const auto& [v, c] : index.vars) at = at + vars.at(v) * c;
  return at;
}

bool ContractionWriter::surely_inside(const AffineIndex& index, ir::SizeId extent) const {
  if (index.offset == 0 && index.vars.empty() && index.points.size() == 1 && index.points[0].second == 1)
    return group_.stage(stage_).domain[index.points[0].first] == extent;
  if (!index.points.empty()) return false;
  i64 lo = index.offset, hi = index.offset;
  for (const auto& [id, c] : index.vars) {
    const auto v = std::find_if(c_.vars.begin(), c_.vars.end(), [&, id = id](const ir::Var& x) { return x.id == id; });
    if (v->end != ir::SizeId{}) return index.vars.size() == 1 && c == 1 && index.offset == 0 && v->end == extent;
    lo += std::min(c * v->lo, c * v->hi), hi += std::max(c * v->lo, c * v->hi);
  }
  const std::optional<i64> n = group_.graph.constant(extent);
  return n && lo >= 0 && hi < *n;
}

// Does a panel read a part of a row for every term?
bool ContractionWriter::reads_rows() const {
  const Factor& f = c_.across;
  for (std::size_t d = 0; d + 1 < f.index.size(); ++d)
    if (f.index[d].moves_with(rank_ - 1)) return false;
  const auto& column = f.index.back().points;
  return column.size() == 1 && column[0] == std::pair<std::size_t, i64>{rank_ - 1, 1} &&
         group_.element_step(f.stage) == 1;
}

// By the first `dims` dimensions: all of them, or all but the column.
ContractionWriter::Element ContractionWriter::element(const Factor& f, const std::vector<Value>& point,
                                                      const Vars& vars, std::size_t dims) {
  const std::vector<ir::SizeId>& domain = group_.stage(f.stage).domain;
  const auto place = group_.place(f.stage);
  const ArrayRef& array = group_.interface.arrays[place->array];
  Element out;
  Value offset = integer(place->offset);
  for (std::size_t d = 0; d < dims; ++d) {
    Value at = place_of(f.index[d], point, vars);
    if (!surely_inside(f.index[d], domain[d])) {
      const Value n = d_.extent(domain[d]);
      const BorderMode mode = f.border[d].mode;
      at = b_.let("at", at);
      if (mode != BorderMode::none && mode != BorderMode::clamp)
        at = b_.let("at", call_i64("tsr_map", {integer(static_cast<i64>(mode)), at, n}));
      if (mode == BorderMode::constant) out.beyond.emplace_back(less(at, 0), f.border[d].value);
      at = b_.let("at", call_i64("tsr_clamp", {at, integer(0), n - 1}));
    }
    const bool last = d + 1 == domain.size();
    offset = offset + at * (last ? integer(place->element_stride) : d_.stride(array.strides + d));
  }
  out.base = address(d_.array_base(place->array), offset);
  return out;
}

// What products take, of what an image holds.
Value ContractionWriter::product_of(const Factor& f, const Value& read) {
  const int lanes = read->type.lanes;
  if (f.value == f.read) return convert({lane_, lanes, false}, read);
  const PointSource none = source(std::vector<Value>(rank_, integer(0)), integer(0), lanes, {});
  PointEmitter emitter(group_.graph, group_.ranges, b_, none);
  Value out;
  PointEmitter::Values known;
  known[f.read.id] = b_.let("v", read);
  emitter.emit({f.value}, [&](std::size_t, const Value& v) { out = v; }, std::move(known));
  return convert({lane_, lanes, false}, out);
}

// One number, as products take it.
Value ContractionWriter::number(const Factor& f, const std::vector<Value>& point, const Vars& vars) {
  const Element e = element(f, point, vars, f.index.size());
  const Lane stored = group_.memory_lane(f.stage);
  Value v = b_.let("v", load(convert({stored, 1, true}, e.base), integer(0), 1));
  for (std::size_t k = e.beyond.size(); k-- > 0;)
    v = b_.let("v", choose(e.beyond[k].first, constant_of(f, e.beyond[k].second), v));
  return b_.let("v", product_of(f, v));
}

// A border's constant, as the image holds it.
Value ContractionWriter::constant_of(const Factor& f, double given) const {
  const Type one{group_.memory_lane(f.stage), 1, false};
  return is_float(one.lane) ? ir::nest::real(given, one) : integer(static_cast<i64>(given), one);
}

// ---- packing -------------------------------------------------------------------------------------------------------

// All terms that are taken at once, in their order.
void ContractionWriter::terms(const std::function<void(const Vars&, const Value& term)>& each) {
  Vars vars;
  std::function<void(std::size_t, Value)> nest = [&](std::size_t k, const Value& before) {
    if (k == c_.vars.size()) return each(vars, before);
    const ir::Var& v = c_.vars[k];
    const Value lo = k == 0 ? first_ : integer(0), hi = k == 0 ? end_ : n_.counts[k];
    b_.loop("w", lo, hi, integer(1), [&](const Value& w) {
      vars[v.id] = v.lo == 0 ? w : b_.let("w", w + v.lo);
      nest(k + 1, k == 0 ? w - first_ : before * n_.counts[k] + w);
    });
  };
  nest(0, integer(0));
}

void ContractionWriter::pack_down(std::vector<Value> point) {
  const Value begin = region_->lo[c_.row], last = b_.let("last", region_->hi[c_.row] - 1);
  const Value blocks = b_.let("blocks", call_i64("tsr_ceil_div", {region_->hi[c_.row] - begin, integer(shape_.high)}));
  b_.loop("m", integer(0), blocks, integer(1), [&](const Value& m) {
    std::vector<Value> rows;
    for (i64 r = 0; r < shape_.high; ++r) rows.push_back(b_.let("row", min(begin + m * shape_.high + r, last)));
    const Value to = b_.let("to", lanes_at(address(memory_.down, m * count_ * (shape_.high * size_))));
    terms([&](const Vars& vars, const Value& term) {
      const Value at = b_.let("k", term * shape_.high);
      for (i64 r = 0; r < shape_.high; ++r) {
        point[c_.row] = rows[static_cast<std::size_t>(r)];
        b_.store(to, at + r, number(c_.down, point, vars));
      }
    });
  });
}

// Where a panel has its numbers of a term.
Value ContractionWriter::panel_at(const Value& panel, const Value& term) const {
  return lanes_at(address(memory_.across, (panel * count_ + term) * (shape_.wide() * size_)));
}

// A part of a row for every panel, continued by its border.
void ContractionWriter::pack_row(const std::vector<Value>& point, const Vars& vars, const Value& term,
                                 const Value& panels) {
  const Factor& f = c_.across;
  const Lane stored = group_.memory_lane(f.stage);
  const i64 bytes = ir::nest::size_of(stored);
  const Element e = element(f, point, vars, f.index.size() - 1);
  const Value begin = b_.let("x", place_of(f.index.back(), point, vars));
  const Value n = d_.extent(group_.stage(f.stage).domain.back());
  const Value row = b_.let("from", e.base);
  const auto inside_rows = [&](const Value& panel) {
    const Value x = b_.let("x", begin + panel * shape_.wide());
    const Value to = b_.let("to", panel_at(panel, term));
    const auto copy = [&](const Value& from) {
      for (int v = 0; v < shape_.vectors; ++v)
        b_.store(to, integer(v * shape_.lanes),
                 b_.let("v", product_of(f, load(from, integer(v * shape_.lanes), shape_.lanes))));
    };
    b_.branch(
        less(integer(-1), x) & at_most(x + shape_.wide(), n),
        [&] { copy(b_.let("from", convert({stored, 1, true}, address(row, x * bytes)))); },
        [&] {
          BorderMode mode = f.border.back().mode;
          if (mode == BorderMode::none) mode = BorderMode::clamp;
          b_.call("tsr_patch", {memory_.raw, row, ir::nest::call("tsr_nowhere", bytes_pointer, {}), x,
                                integer(shape_.wide()), n, integer(static_cast<i64>(mode)), integer(1), integer(bytes),
                                integer(group_.border_bits(f.border.back(), f.stage))});
          copy(convert({stored, 1, true}, memory_.raw));
        });
  };
  const auto each = [&](const auto& fn) { b_.loop("p", integer(0), panels, integer(1), fn); };
  if (e.beyond.empty()) return each(inside_rows);
  Value beyond = integer(0, flag_type), constant;
  for (std::size_t k = e.beyond.size(); k-- > 0;) {
    beyond = beyond | e.beyond[k].first;
    const Value own = constant_of(f, e.beyond[k].second);
    constant = constant ? b_.let("v", choose(e.beyond[k].first, own, constant)) : own;
  }
  b_.branch(
      beyond,
      [&] {
        const Value all = b_.let("v", broadcast(product_of(f, constant), shape_.lanes));
        each([&](const Value& panel) {
          const Value to = b_.let("to", panel_at(panel, term));
          for (int v = 0; v < shape_.vectors; ++v) b_.store(to, integer(v * shape_.lanes), all);
        });
      },
      [&] { each(inside_rows); });
}

void ContractionWriter::pack_across(const std::vector<Value>& point, const Value& panels) {
  const bool rows = reads_rows();
  terms([&](const Vars& vars, const Value& term) {
    if (rows) return pack_row(point, vars, term, panels);
    const Value last = region_->hi[rank_ - 1] - 1;
    b_.loop("p", integer(0), panels, integer(1), [&](const Value& panel) {
      const Value to = b_.let("to", panel_at(panel, term));
      const Value begin = b_.let("x", point[rank_ - 1] + panel * shape_.wide());
      b_.loop("t", integer(0), integer(shape_.wide()), integer(1), [&](const Value& t) {
        std::vector<Value> at = point;
        at[rank_ - 1] = b_.let("x", min(begin + t, last));
        b_.store(to, t, number(c_.across, at, vars));
      });
    });
  });
}

// ---- the tile ------------------------------------------------------------------------------------------------------

void ContractionWriter::compute(const TileFunction& tile, const Region& region) {
  tile_ = &tile, region_ = &region;
  std::vector<Value> point(rank_, integer(0));
  bool moves = false;
  for (std::size_t d = 0; d < rank_; ++d) moves = moves || (is_outer(d) && c_.down.moves_with(d));
  b_.loop("c", integer(0), n_.counts[0], n_.per, [&](const Value& c) {
    first_ = c;
    end_ = b_.let("end", min(c + n_.per, n_.counts[0]));
    count_ = b_.let("count", (end_ - first_) * n_.inner);
    if (!moves) pack_down(point);
    outer_loop(0, point, integer(0));
  });
}

void ContractionWriter::outer_loop(std::size_t d, std::vector<Value> point, const Value& number) {
  while (d + 1 < rank_ && !is_outer(d)) ++d;
  if (d + 1 >= rank_) {
    bool moves = false;
    for (std::size_t k = 0; k < rank_; ++k) moves = moves || (is_outer(k) && c_.down.moves_with(k));
    if (moves) pack_down(point);
    return panels(std::move(point), number);
  }
  const Value extent = load(tile_shape(), integer(static_cast<i64>(d)), 1);
  b_.loop("z", region_->lo[d], region_->hi[d], integer(1), [&](const Value& i) {
    point[d] = i;
    outer_loop(d + 1, point, b_.let("number", number * extent + (i - region_->lo[d])));
  });
}

void ContractionWriter::panels(std::vector<Value> point, const Value& number) {
  const Value begin = region_->lo[rank_ - 1];
  const Value width = b_.let("width", region_->hi[rank_ - 1] - begin);
  const Value blocks =
      b_.let("blocks", call_i64("tsr_ceil_div", {region_->hi[c_.row] - region_->lo[c_.row], integer(shape_.high)}));
  constexpr i64 together = rewrite::contraction_together;
  b_.loop("n", integer(0), width, integer(together * shape_.wide()), [&](const Value& some) {
    point[rank_ - 1] = b_.let("x", begin + some);
    const Value count =
        b_.let("panels", min(call_i64("tsr_ceil_div", {width - some, integer(shape_.wide())}), integer(together)));
    pack_across(point, count);
    b_.loop("p", integer(0), count, integer(1), [&](const Value& panel) {
      const Value from = b_.let("from", some + panel * shape_.wide());
      point[rank_ - 1] = b_.let("x", begin + from);
      b_.loop("m", integer(0), blocks, integer(1), [&](const Value& m) { block(point, number, {from, panel}, m); });
    });
  });
}

// Where totals wait between blocks of terms: an index of numbers.
Value ContractionWriter::partial_at(const Value& number, const Value& m, const Value& from, int r, int v) const {
  return ((number * n_.blocks + m) * shape_.high + r) * n_.columns + from + v * shape_.lanes;
}

void ContractionWriter::block(std::vector<Value> point, const Value& number, const Panel& panel, const Value& m) {
  const Value& from = panel.from;
  Totals totals(static_cast<std::size_t>(shape_.high));
  const Type one{lane_, 1, false};
  const Value zero = is_float(lane_) ? ir::nest::real(-0.0, one) : integer(0, one);
  const Value partial = b_.let("partial", lanes_at(memory_.partial));
  for (auto& row : totals)
    for (int v = 0; v < shape_.vectors; ++v) row.push_back(b_.var("total", broadcast(zero, shape_.lanes)));
  const auto each = [&](const auto& fn) {
    for (int r = 0; r < shape_.high; ++r)
      for (int v = 0; v < shape_.vectors; ++v)
        fn(r, v, totals[static_cast<std::size_t>(r)][static_cast<std::size_t>(v)]);
  };
  b_.branch(less(integer(0), first_), [&] {
    each([&](int r, int v, const Value& total) {
      b_.assign(total, load(partial, partial_at(number, m, from, r, v), shape_.lanes));
    });
  });
  const Value down = b_.let("down", lanes_at(address(memory_.down, m * count_ * (shape_.high * size_))));
  const Value across = b_.let("across", panel_at(panel.number, integer(0)));
  const bool fuses = is_float(lane_) && group_.options.numbers == Numbers::fast;
  b_.loop("k", integer(0), count_, integer(1), [&](const Value& k) {
    std::vector<Value> columns;
    for (int v = 0; v < shape_.vectors; ++v)
      columns.push_back(b_.let("v", load(across, k * shape_.wide() + v * shape_.lanes, shape_.lanes)));
    for (int r = 0; r < shape_.high; ++r) {
      const Value row = b_.let("r", broadcast(load(down, k * shape_.high + r, 1), shape_.lanes));
      for (std::size_t v = 0; v < columns.size(); ++v) {
        const Value& total = totals[static_cast<std::size_t>(r)][v];
        b_.assign(total, fuses ? ir::nest::fused(row, columns[v], total) : total + row * columns[v]);
      }
    }
  });
  b_.branch(
      less(end_, n_.counts[0]),
      [&] {
        each([&](int r, int v, const Value& total) { b_.store(partial, partial_at(number, m, from, r, v), total); });
      },
      [&] {
        point[c_.row] = b_.let("row", region_->lo[c_.row] + m * shape_.high);
        const Value left = b_.let("left", region_->hi[c_.row] - point[c_.row]);
        const Value columns = b_.let("columns", region_->hi[rank_ - 1] - point[rank_ - 1]);
        b_.branch(
            at_most(integer(shape_.wide()), columns), [&] { store_rows(totals, point, left); },
            [&] { store_ends(totals, point, left, columns); });
      });
}

// ---- results -------------------------------------------------------------------------------------------------------

// `count`: of these lanes there are no more in memory; the others hold anything.
PointSource ContractionWriter::source(const std::vector<Value>& point, const Value& x, int lanes, const Value& count) {
  PointSource s;
  s.lanes = lanes;
  s.fuses = group_.options.numbers == Numbers::fast;
  s.load = [=, this](const ExprNode& n, const std::map<std::uint32_t, Value>&) {
    const Value row = group_.typed(n.stage, d_.row_of_array(n.stage, {point.begin(), point.end() - 1}));
    const i64 step = group_.element_step(n.stage);
    const Value at = x * step + group_.element_offset(n.stage);
    if (!count) return load(row, at, lanes, step);
    const Value bytes = (count * step - (step - 1)) * group_.bytes(n.stage);
    b_.call("tsr_copy_end", {memory_.raw, convert(bytes_pointer, address(row, at)), bytes});
    return load(group_.typed(n.stage, memory_.raw), integer(0), lanes, step);
  };
  s.gather = [=, this](const ExprNode& n, std::vector<Value> indices) {  // of one lane: along_row
    for (Value& i : indices) i = convert(index_type, i);
    return gathered_one(*tile_, n, indices);
  };
  s.leaf = [=, this](const ExprNode& n) { return leaf(*tile_, stage_, n, point, x, lanes); };
  s.table = [this](std::size_t t) {
    return variable("tsr_table_" + std::to_string(t), {ir::nest::lane_of(group_.graph.tables[t].type), 1, true});
  };
  return s;
}

// Reads that do not depend on the column, once a row.
PointEmitter::Values ContractionWriter::along_row(const std::vector<Value>& point) {
  PointEmitter::Values known;
  const PointSource one = source(point, point[rank_ - 1], 1, {});
  std::vector<ExprId> stack{group_.stage(stage_).body}, reads;
  std::set<std::uint32_t> seen;
  while (!stack.empty()) {
    const ExprId e = stack.back();
    stack.pop_back();
    if (e == c_.sum || !seen.insert(e.id).second) continue;
    const ExprNode& n = group_.graph.node(e);
    if (n.op == Op::gather && n.type != ElementType::boolean)
      reads.push_back(e);
    else
      for (const ExprId a : n.args) stack.push_back(a);
  }
  if (reads.empty()) return known;
  PointEmitter emitter(group_.graph, group_.ranges, b_, one);
  emitter.emit(reads,
               [&](std::size_t k, const Value& v) { known[reads[k].id] = b_.let("v", broadcast(v, shape_.lanes)); });
  return known;
}

// What the stage makes of a vector of totals, from column x on; `count`: of so many of them alone.
void ContractionWriter::store(const Value& total, const std::vector<Value>& point, const Value& to, const Value& x,
                              const Value& count) {
  PointEmitter::Values known = along_row(point);
  known[c_.sum.id] = total;
  const PointSource operands = source(point, x, shape_.lanes, count);
  PointEmitter emitter(group_.graph, group_.ranges, b_, operands);
  const ExprId body = group_.stage(stage_).body;
  emitter.emit(
      {body},
      [&](std::size_t, const Value& v) {
        const Value out = emitter.stored(body, v, group_.memory_lane(stage_));
        if (!count) return b_.store(to, x, out);
        b_.store(group_.typed(stage_, memory_.raw), integer(0), out);
        b_.call("tsr_copy_end", {convert(bytes_pointer, address(to, x)), memory_.raw, count * group_.bytes(stage_)});
      },
      std::move(known));
}

void ContractionWriter::store_rows(const Totals& totals, const std::vector<Value>& point, const Value& left) {
  for (int r = 0; r < shape_.high; ++r)
    where_due(b_, static_cast<std::size_t>(r), left, [&] {
      std::vector<Value> at = point;
      if (r > 0) at[c_.row] = b_.let("row", point[c_.row] + r);
      const Value to = b_.let("to", group_.typed(stage_, d_.row_of_array(stage_, {at.begin(), at.end() - 1})));
      for (int v = 0; v < shape_.vectors; ++v)
        store(b_.let("v", totals[static_cast<std::size_t>(r)][static_cast<std::size_t>(v)]), at, to,
              b_.let("x", point[rank_ - 1] + v * shape_.lanes), {});
    });
}

// Fewer columns than a panel has.
void ContractionWriter::store_ends(const Totals& totals, const std::vector<Value>& point, const Value& left,
                                   const Value& columns) {
  const Value block = b_.let("block", lanes_at(memory_.block));
  for (int r = 0; r < shape_.high; ++r)
    for (int v = 0; v < shape_.vectors; ++v)
      b_.store(block, integer(r * shape_.wide() + v * shape_.lanes),
               totals[static_cast<std::size_t>(r)][static_cast<std::size_t>(v)]);
  b_.loop("r", integer(0), min(left, integer(shape_.high)), integer(1), [&](const Value& r) {
    std::vector<Value> at = point;
    at[c_.row] = b_.let("row", point[c_.row] + r);
    const Value to = b_.let("to", group_.typed(stage_, d_.row_of_array(stage_, {at.begin(), at.end() - 1})));
    for (int v = 0; v < shape_.vectors; ++v)
      b_.branch(less(integer(v * shape_.lanes), columns), [&] {
        const Value count = b_.let("count", min(columns - v * shape_.lanes, integer(shape_.lanes)));
        store(b_.let("v", load(block, r * shape_.wide() + v * shape_.lanes, shape_.lanes)), at, to,
              b_.let("x", point[rank_ - 1] + v * shape_.lanes), count);
      });
  });
}

// ---- the functions of a group --------------------------------------------------------------------------------------

constexpr Type integers_type{Lane::i64, 1, true};

// See rewrite::contraction_extents.
ir::nest::Function shape_of(const StreamGroup& group, const Contraction& c) {
  ir::nest::Function f;
  f.name = group.name() + "_shape";
  f.parameters = {
      {"N", integers_type, true, false}, {"threads", index_type, false, false}, {"T", integers_type, false, false}};
  Builder b(f.body);
  Declared d(group, b);
  d.declare_extents({});
  const rewrite::ContractionTile shape = rewrite::contraction_tile(group.machine, c.type);
  const std::size_t rank = group.rank, column = rank - 1;
  std::vector<Value> n, out(rank, integer(1));
  for (const ir::SizeId s : group.stage(group.planned.anchor).domain) n.push_back(d.extent(s));
  const auto parts = [&](const Value& of, const Value& most) {
    return b.let("parts", max(call_i64("tsr_ceil_div", {of, most}), 1));
  };
  const auto round_up = [&](const Value& of, i64 unit) {
    return b.let("extent", call_i64("tsr_ceil_div", {of, integer(unit)}) * unit);
  };
  Value outer = integer(1);
  std::optional<std::size_t> last;
  for (std::size_t k = 0; k < column; ++k)
    if (k != c.row) outer = outer * max(n[k], 1), last = k;
  outer = b.let("outer", outer);
  out[column] =
      round_up(parts(n[column], parts(n[column], integer(rewrite::contraction_panels * shape.wide()))), shape.wide());
  out[c.row] = round_up(parts(n[c.row], parts(n[c.row], integer(rewrite::contraction_rows))), shape.high);
  if (last)
    out[*last] = b.let("extent", call_i64("tsr_clamp", {integer(rewrite::contraction_points) / out[column], integer(1),
                                                        max(n[*last], 1)}));
  const Value threads = variable("threads", index_type);
  Value tiles = parts(n[column], out[column]) * parts(n[c.row], out[c.row]);
  for (std::size_t k = 0; k < column; ++k)
    if (k != c.row) tiles = tiles * parts(n[k], out[k]);
  const Value few = b.let("few", less(tiles, threads));
  const Value others = b.let("others", outer * parts(n[c.row], out[c.row]));
  const Value narrow = min(out[column], round_up(parts(n[column], parts(threads, others)), shape.wide()));
  const Value across = b.let("across", outer * parts(n[column], b.let("extent", narrow)));
  const Value low = min(out[c.row], round_up(parts(n[c.row], parts(threads, across)), shape.high));
  if (last) out[*last] = choose(few, integer(1), out[*last]);
  out[column] = choose(few, narrow, out[column]);
  out[c.row] = choose(few, low, out[c.row]);
  const auto put = [&](std::size_t at, const Value& v) {
    b.assign_element(tile_shape(), integer(static_cast<i64>(at)), v);
  };
  Value count = integer(1);
  for (std::size_t k = 0; k < rank; ++k) {
    const Value extent = b.let("extent", max(out[k], 1));
    put(k, extent);
    count = count * call_i64("tsr_ceil_div", {n[k], extent});
  }
  put(rank, count);
  put(rank + 1, integer(0));
  return f;
}

ir::nest::Function scratch_of(const StreamGroup& group, const Contraction& c) {
  ir::nest::Function f;
  f.name = group.name() + "_scratch";
  f.has_result = true;
  f.result = index_type;
  f.parameters = {{"N", integers_type, true, false}, {"T", integers_type, true, false}};
  Builder b(f.body);
  Declared d(group, b);
  ContractionWriter writer(d, c);
  writer.find_amounts();
  ScratchStack scratch(b, ScratchStack::Use::measured, group.options.guarded);
  writer.reserve(scratch);
  b.call("return", {scratch.size()});
  return f;
}

ir::nest::Function tile_of(const StreamGroup& group, const Contraction& c, const std::vector<PassBody>& bodies) {
  ir::nest::Function f;
  f.name = group.name();
  f.essay = group.stage(group.planned.anchor).name;
  f.parameters = {{"P", bytes_pointer, false, true},
                  {"N", integers_type, true, false},
                  {"T", integers_type, true, false},
                  {"tile", index_type, false, false},
                  {"S", bytes_pointer, false, false}};
  Builder b(f.body);
  TileFunction tile(group, bodies, b);
  tile.declare_extents(bodies);
  tile.declare_arrays();
  tile.regions = regions_of(tile).of_pass;
  ContractionWriter writer(tile, c);
  writer.find_amounts();
  if (group.options.guarded) {
    ScratchStack measured(b, ScratchStack::Use::measured, true);
    writer.reserve(measured);
    b.call("tsr_spoil", {variable("S", bytes_pointer), measured.size()});
  }
  ScratchStack scratch(b, ScratchStack::Use::written, group.options.guarded);
  writer.reserve(scratch);
  writer.compute(tile, tile.regions[0]);
  for (const Value& g : scratch.guards()) b.call("tsr_guarded", {address(variable("S", bytes_pointer), g)});
  return f;
}

bool is_contraction(const WayQuestion& q) {
  const StageId s = q.plan.groups[q.group].anchor;
  return q.plan.graph.stage(s).note > 0 && q.plan.tiling(s).contraction;
}

}  // namespace

const CoreWay core_contractions = {
    "contraction", [](Schedule) { return true; },
    [](const WayQuestion& q) {
      return is_contraction(q) ? accepted(core_contractions, nullptr, nanoseconds_of_result(q))
                               : of_another_kind(core_contractions, "it is no sum of products of two images");
    },
    [](const WayQuestion& q, const plan::WayAnswer&, const std::string& name, Lowered& into) {
      const StreamGroup group(q, name);
      const std::optional<Contraction> c = rewrite::contraction_of(group.graph, group.stage(group.planned.anchor));
      if (!c) throw Error(ErrorClass::internal, "'" + group.stage(group.planned.anchor).name + "' is no contraction");
      const std::vector<PassBody> bodies = bodies_of(group);
      into.module.functions.push_back(shape_of(group, *c));
      into.module.functions.push_back(scratch_of(group, *c));
      into.module.functions.push_back(tile_of(group, *c, bodies));
    },
    true};

}  // namespace tessera::lower
