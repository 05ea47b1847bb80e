// Point passes before lowering: bodies shifted to every row of the block, and the rows of producers that they read.
#include "lower/ways/stream/pass_body.hpp"

#include <algorithm>

#include "analyze/expressions.hpp"
#include "base/division.hpp"
#include "lower/ways/stream/forms.hpp"

namespace tessera::lower {

using ir::ExprId;
using ir::ExprNode;
using ir::Op;
using ir::StageId;

namespace {

// One table of rows for both: unless it would have rows that neither reads in plenty, as of a cross.
bool share_table(const PassBody::Source& a, const PassBody::Source& b) {
  if (a.table.empty() || b.table.empty()) return a.table.empty() && b.table.empty();
  PassBody::Source both = a;
  for (std::size_t d = 0; d < a.table.size(); ++d)
    both.table[d] = {std::min(a.table[d].first, b.table[d].first), std::max(a.table[d].second, b.table[d].second)};
  return both.entries() <= a.entries() + b.entries();
}

// The fields of an array lie in the same rows: those of one type are read by the same pointers, and patched together.
StageId first_field(const ir::Graph& graph, StageId s) {
  const ir::Stage& stage = graph.stage(s);
  if (stage.kind != ir::StageKind::input) return s;
  for (StageId first = 0; first < s; ++first) {
    const ir::Stage& other = graph.stage(first);
    if (other.kind == ir::StageKind::input && other.argument == stage.argument && other.type == stage.type)
      return first;
  }
  return s;
}

// Every root: of each row and stage, and of each phase where neighbouring columns are computed apart.
std::vector<ExprId> roots_of(const StreamGroup& group, const plan::Pass& pass) {
  std::vector<ExprId> roots;
  for (int r = 0; r < pass.rows; ++r)
    for (StageId s : pass.stages)
      roots.push_back(analyze::shift_along(group.graph, group.stage(s).body, group.rank, pass.along, r));
  const std::size_t rows = roots.size();
  for (int phase = 1; phase < lowering_of(pass.form).phases; ++phase)
    for (std::size_t k = 0; k < rows; ++k)
      roots.push_back(analyze::shift_columns(group.graph, roots[k], group.rank, phase));
  return roots;
}

// What one access reads.
PassBody::Source source_of(const StreamGroup& group, const plan::Pass& pass, const ExprNode& node,
                           const analyze::VarRanges& ranges) {
  PassBody::Source source;
  source.stage = first_field(group.graph, node.stage);
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
  const i64 multiple = lowering_of(pass.form).multiple;
  source.lo = base::floor_divide(lo, multiple) * multiple;
  source.hi = hi;
  source.scale = node.index.back().scale;
  source.shift = node.index.back().shift;
  return source;
}

// The source that an access reads: one that is there already and then reads all that both read, or a new one.
std::size_t joined(std::vector<PassBody::Source>& sources, PassBody::Source source) {
  auto same = std::find_if(sources.begin(), sources.end(), [&](const PassBody::Source& other) {
    return other.stage == source.stage && other.outer == source.outer && other.outer_border == source.outer_border &&
           other.column_border == source.column_border && other.scale == source.scale && other.shift == source.shift &&
           share_table(other, source);
  });
  const std::size_t at = static_cast<std::size_t>(same - sources.begin());
  if (same == sources.end()) {
    sources.push_back(std::move(source));
    return at;
  }
  same->lo = std::min(same->lo, source.lo);
  same->hi = std::max(same->hi, source.hi);
  for (std::size_t d = 0; d < same->table.size(); ++d) {
    same->table[d].first = std::min(same->table[d].first, source.table[d].first);
    same->table[d].second = std::max(same->table[d].second, source.table[d].second);
  }
  return at;
}

PassBody body_of(const StreamGroup& group, const plan::Pass& pass) {
  PassBody body;
  body.roots = roots_of(group, pass);
  const std::vector<ExprId> all = ir::postorder(group.graph, body.roots);
  analyze::VarRanges ranges;
  for (ExprId e : all)
    for (const ir::Var& v : group.graph.node(e).vars) ranges[v.id] = {v.lo, v.hi};
  for (ExprId e : all) {
    const ExprNode& node = group.graph.node(e);
    if (node.op == Op::access) body.source_of[&node] = joined(body.sources, source_of(group, pass, node, ranges));
  }
  if (const auto complete = lowering_of(pass.form).complete) complete(group, pass, body);
  return body;
}

}  // namespace

bool PassBody::Source::is_long() const {
  constexpr i64 most_written = 192;
  return !table.empty() && entries() > most_written;
}

i64 PassBody::Source::entries() const {
  i64 n = 1;
  for (auto [lo, hi] : table) n *= hi - lo + 1;
  return n;
}

// A sum along a row loads every element as often as the sum has terms. All but one of these vectors of 64 bytes lie in
// two lines of the cache, and each such load takes as long as two. So every other one is made of the whole vectors
// around it: shuffles run beside loads, and both are then as long as the additions. (On a Zen 4 core 15 terms took 24.5
// cycles with loads alone or shuffles alone, 15.7 with half of each.) What rows share is loaded seldom enough.
void take_shifted(const StreamGroup& group, const plan::Pass& pass, PassBody& body) {
  constexpr int line = 64;
  constexpr std::size_t least_offsets = 4;
  if (group.machine.vector_bytes < line) return;
  std::map<const ExprNode*, std::size_t> uses;
  for (ExprId e : ir::postorder(group.graph, body.roots))
    for (ExprId a : group.graph.node(e).args)
      if (group.graph.node(a).op == Op::access) ++uses[&group.graph.node(a)];
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
    const bool whole = pass.lanes * group.bytes(source.stage) == line;
    if (!whole || group.element_step(source.stage) != 1 || offsets[k].size() < least_offsets) continue;
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

std::vector<PassBody> bodies_of(const StreamGroup& group) {
  std::vector<PassBody> bodies(group.passes().size());
  for (std::size_t p = 0; p < bodies.size(); ++p)
    if (lowering_of(group.pass(p).form).turn) bodies[p] = body_of(group, group.pass(p));
  return bodies;
}

}  // namespace tessera::lower
