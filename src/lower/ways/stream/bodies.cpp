// Point passes before lowering: bodies shifted to every row of the block, and the rows of producers that they read.
#include <algorithm>

#include "analyze/expressions.hpp"
#include "base/division.hpp"
#include "lower/ways/stream/group.hpp"

namespace tessera::lower {

using ir::ExprId;
using ir::ExprNode;
using ir::Op;
using ir::StageId;

bool PassBody::Source::is_long() const {
  constexpr i64 most_written = 192;
  return !table.empty() && entries() > most_written;
}

// One table of rows for both: unless it would have rows that neither reads in plenty, as of a cross.
static bool share_table(const PassBody::Source& a, const PassBody::Source& b) {
  if (a.table.empty() || b.table.empty()) return a.table.empty() && b.table.empty();
  PassBody::Source both = a;
  for (std::size_t d = 0; d < a.table.size(); ++d)
    both.table[d] = {std::min(a.table[d].first, b.table[d].first), std::max(a.table[d].second, b.table[d].second)};
  return both.entries() <= a.entries() + b.entries();
}

// The fields of an array lie in the same rows: those of one type are read by the same pointers, and patched together.
static StageId first_field(const ir::Graph& graph, StageId s) {
  const ir::Stage& stage = graph.stage(s);
  if (stage.kind != ir::StageKind::input) return s;
  for (StageId first = 0; first < s; ++first) {
    const ir::Stage& other = graph.stage(first);
    if (other.kind == ir::StageKind::input && other.argument == stage.argument && other.type == stage.type)
      return first;
  }
  return s;
}

i64 PassBody::Source::entries() const {
  i64 n = 1;
  for (auto [lo, hi] : table) n *= hi - lo + 1;
  return n;
}

void GroupLowering::analyze_pass(std::size_t number) {
  const plan::Pass& pass = group_.passes[number];
  PassBody& body = bodies_[number];
  if (pass.kind != plan::PassKind::point) return;
  for (int r = 0; r < pass.rows; ++r)
    for (StageId s : pass.stages)
      body.roots.push_back(analyze::shift_along(plan_.graph, stage(s).body, rank_, pass.along, r));
  const std::size_t rows = body.roots.size();
  for (int phase = 1; phase < (pass.quads ? 4 : pass.pairs ? 2 : 1); ++phase)
    for (std::size_t k = 0; k < rows; ++k)
      body.roots.push_back(analyze::shift_columns(plan_.graph, body.roots[k], rank_, phase));
  std::vector<ExprId> all = ir::postorder(plan_.graph, body.roots);
  analyze::VarRanges ranges;
  for (ExprId e : all)
    for (const ir::Var& v : plan_.graph.node(e).vars) ranges[v.id] = {v.lo, v.hi};
  for (ExprId e : all) {
    const ExprNode& node = plan_.graph.node(e);
    if (node.op != Op::access) continue;
    PassBody::Source source;
    source.stage = first_field(plan_.graph, node.stage);
    source.outer.assign(node.index.begin(), node.index.end() - 1);
    source.outer_border.assign(node.border.begin(), node.border.end() - 1);
    source.column_border = node.border.back();
    bool moved = false;
    for (const ir::Index& index : source.outer) moved |= !index.vars.empty();
    if (moved)
      for (ir::Index& index : source.outer) {
        source.table.push_back(analyze::offset_span(index, ranges));
        index.offset = 0;
        index.vars.clear();  // loops over the same rows share them
      }
    auto [lo, hi] = analyze::offset_span(node.index.back(), ranges);
    source.lo = pass.pairs ? lo - (lo & 1) : lo;  // pairs begin at even distances
    source.hi = hi;
    source.scale = node.index.back().scale;
    source.shift = node.index.back().shift;
    auto same = std::find_if(body.sources.begin(), body.sources.end(), [&](const PassBody::Source& other) {
      return other.stage == source.stage && other.outer == source.outer && other.outer_border == source.outer_border &&
             other.column_border == source.column_border && other.scale == source.scale &&
             other.shift == source.shift && share_table(other, source);
    });
    if (same == body.sources.end()) {
      body.source_of[&node] = body.sources.size();
      body.sources.push_back(std::move(source));
      continue;
    }
    body.source_of[&node] = static_cast<std::size_t>(same - body.sources.begin());
    same->lo = std::min(same->lo, source.lo);
    same->hi = std::max(same->hi, source.hi);
    for (std::size_t d = 0; d < same->table.size(); ++d) {
      same->table[d].first = std::min(same->table[d].first, source.table[d].first);
      same->table[d].second = std::max(same->table[d].second, source.table[d].second);
    }
  }
  shift_columns(number);
  if (pass.quads) prepare_products(number);
}

// A sum along a row loads every element as often as the sum has terms. All but one of these vectors of 64 bytes lie in
// two lines of the cache, and each such load takes as long as two. So every other one is made of the whole vectors
// around it: shuffles run beside loads, and both are then as long as the additions. (On a Zen 4 core 15 terms took 24.5
// cycles with loads alone or shuffles alone, 15.7 with half of each.) What rows share is loaded seldom enough.
void GroupLowering::shift_columns(std::size_t number) {
  constexpr int line = 64;
  constexpr std::size_t least_offsets = 4;
  const plan::Pass& pass = group_.passes[number];
  PassBody& body = bodies_[number];
  if (pass.pairs || pass.quads || plan_.device.vector_bytes < line) return;
  std::map<const ExprNode*, std::size_t> uses;
  for (ExprId e : ir::postorder(plan_.graph, body.roots))
    for (ExprId a : plan_.graph.node(e).args)
      if (plan_.graph.node(a).op == Op::access) ++uses[&plan_.graph.node(a)];
  std::vector<std::set<i64>> offsets(body.sources.size());
  std::vector<std::size_t> read(body.sources.size());
  for (const auto& [node, k] : body.source_of) {
    const ir::Index& column = node->index.back();
    if (column.scale != 1 || !column.vars.empty()) continue;
    read[k] += std::max<std::size_t>(1, uses[node]);
    if (column.offset % pass.lanes != 0) offsets[k].insert(column.offset);
  }
  for (std::size_t k = 0; k < body.sources.size(); ++k) {
    PassBody::Source& source = body.sources[k];
    const bool whole = pass.lanes * ir::nest::size_of(memory_lane(source.stage)) == line;
    if (!whole || element_step(source.stage) != 1 || offsets[k].size() < least_offsets) continue;
    if (2 * read[k] > 3 * (offsets[k].size() + 1)) continue;
    bool turn = false;
    for (i64 offset : offsets[k])
      if (turn = !turn; turn) source.shifted.insert(offset);
    for (i64 offset : source.shifted) {
      const i64 first = base::floor_divide(offset, i64{pass.lanes}) * pass.lanes;
      source.lo = std::min(source.lo, first);
      source.hi = std::max(source.hi, first + pass.lanes);
    }
  }
}

}  // namespace tessera::lower
