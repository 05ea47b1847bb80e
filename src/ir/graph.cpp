// The graph as a container: operation table, hash-consed expressions, stages, and the walkers over expressions.
//
// Expressions are looked up in an open-addressing table of ids beside a vector of their 64-bit hashes, so that a graph
// of half a million nodes is built in a fraction of a second. Constants compare by their bits: -0.0 is not 0.0, and a
// NaN equals itself.
#include "ir/graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <iterator>
#include <utility>

#include "base/process/deadline.hpp"

namespace tessera::ir {
namespace {

constexpr std::uint32_t kEmpty = 0xffffffff;

struct OpInfo {
  std::string_view name;
  int arity;
};

constexpr OpInfo kOps[] = {
#define X(name, arity, text) {text, arity},
    TESSERA_OPS(X)
#undef X
};

class Hasher {
 public:
  void mix(std::uint64_t v) {
    h_ ^= v;
    h_ *= 0x9e3779b97f4a7c15ULL;
    h_ ^= h_ >> 29;
  }
  std::uint64_t value() const { return h_ ^ (h_ >> 32); }

 private:
  std::uint64_t h_ = 0x243f6a8885a308d3ULL;
};

std::uint64_t bits(double v) {
  return std::bit_cast<std::uint64_t>(v);
}

std::uint64_t hash_of(const ExprNode& n) {
  Hasher h;
  h.mix(static_cast<std::uint64_t>(n.op) << 8 | static_cast<std::uint64_t>(n.type));
  h.mix(n.args.size() << 32 | n.stage);
  for (ExprId a : n.args) h.mix(a.id);
  h.mix(static_cast<std::uint64_t>(n.ivalue));
  h.mix(bits(n.fvalue));
  for (const Index& i : n.index) {
    h.mix(static_cast<std::uint64_t>(i.offset));
    h.mix(static_cast<std::uint64_t>(i.scale) << 32 ^ i.shift.id);
    for (auto [v, c] : i.vars) {
      h.mix(v);
      h.mix(static_cast<std::uint64_t>(c));
    }
  }
  for (const Border& b : n.border) {
    h.mix(static_cast<std::uint64_t>(b.mode));
    h.mix(bits(b.value));
  }
  for (const Var& v : n.vars) {
    h.mix(v.id);
    h.mix(static_cast<std::uint64_t>(v.lo));
    h.mix(static_cast<std::uint64_t>(v.hi) ^ std::uint64_t{v.end.id} << 32);
  }
  return h.value();
}

bool same_border(const Border& a, const Border& b) {
  return a.mode == b.mode && bits(a.value) == bits(b.value);
}

bool same(const ExprNode& a, const ExprNode& b) {
  return a.op == b.op && a.type == b.type && a.args == b.args && a.ivalue == b.ivalue &&
         bits(a.fvalue) == bits(b.fvalue) && a.stage == b.stage && a.index == b.index && a.vars == b.vars &&
         std::equal(a.border.begin(), a.border.end(), b.border.begin(), b.border.end(), same_border);
}

}  // namespace

bool runs_over_extents(const ExprNode& reduction) {
  return std::any_of(reduction.vars.begin(), reduction.vars.end(), [](const Var& v) { return v.end != SizeId{}; });
}

std::string_view name_of(Op op) {
  return kOps[static_cast<std::size_t>(op)].name;
}
int arity_of(Op op) {
  return kOps[static_cast<std::size_t>(op)].arity;
}
bool is_reduction(Op op) {
  return op >= Op::reduce_sum && op <= Op::reduce_all;
}

bool reads_stage(Op op) {
  return op == Op::access || op == Op::gather || (op >= Op::value && op <= Op::partial);
}
bool is_whole(Op op) {
  return op >= Op::whole_min && op <= Op::whole_mean;
}
bool is_lanes(Op op) {
  return op >= Op::lanes_min && op <= Op::lanes_sum;
}

bool is_into(Op op) {
  return op >= Op::into_sum && op <= Op::into_max;
}

bool is_function(Op op) {
  return (op >= Op::sqrt && op <= Op::trunc) || op == Op::pow || op == Op::atan2 || op == Op::hypot || op == Op::fmod;
}

std::optional<Op> op_named(std::string_view name) {
  for (std::size_t i = 0; i < std::size(kOps); ++i)
    if (kOps[i].name == name) return static_cast<Op>(i);
  return std::nullopt;
}

Graph::Graph() {
  sizes_.emplace_back();
  size_hashes_.push_back(0);
  size_index_.emplace(SizeNode{}, SizeId{});
}

ExprId Graph::expr(ExprNode node) {
  base::count_towards_deadline();
  if (exprs_.size() * 2 >= expr_slots_.size()) {
    expr_slots_.assign(expr_slots_.empty() ? 256 : expr_slots_.size() * 2, kEmpty);
    for (std::uint32_t id = 0; id < exprs_.size(); ++id) {
      std::size_t slot = expr_hashes_[id] & (expr_slots_.size() - 1);
      while (expr_slots_[slot] != kEmpty) slot = (slot + 1) & (expr_slots_.size() - 1);
      expr_slots_[slot] = id;
    }
  }
  const std::uint64_t hash = hash_of(node);
  std::size_t slot = hash & (expr_slots_.size() - 1);
  for (; expr_slots_[slot] != kEmpty; slot = (slot + 1) & (expr_slots_.size() - 1)) {
    const std::uint32_t id = expr_slots_[slot];
    if (expr_hashes_[id] == hash && same(exprs_[id], node)) return {id};
  }
  if (exprs_.size() >= kEmpty - 1) throw Error(ErrorClass::internal, "the graph holds more than 2^32 expressions");
  const auto id = static_cast<std::uint32_t>(exprs_.size());
  for (ExprId a : node.args)
    if (a.id >= id)
      throw Error(ErrorClass::internal,
                  fmt::format("operand {} of a new '{}' expression does not exist yet", a.id, name_of(node.op)));
  for (const Var& v : node.vars) reserve_vars(v.id + 1);
  expr_slots_[slot] = id;
  expr_hashes_.push_back(hash);
  exprs_.push_back(std::move(node));
  return {id};
}

Stage stage_like(const Stage& of, StageKind kind) {
  Stage stage;
  stage.kind = kind;
  stage.name = of.name;
  stage.type = of.type;
  stage.domain = of.domain;
  stage.span = of.span;
  return stage;
}

StageId Graph::add(Stage stage) {
  base::reached_stage(stage.name);
  const auto id = static_cast<StageId>(stages_.size());
  stages_.push_back(std::move(stage));
  for (StageId s : sources(*this, id))
    if (s >= id) {
      std::string name = stages_.back().name;
      stages_.pop_back();
      throw Error(ErrorClass::internal,
                  fmt::format("stage '{}' ({}) reads stage {}, which does not exist yet", name, id, s));
    }
  return id;
}

std::vector<Stage> Graph::take_stages() {
  std::vector<Stage> taken(std::make_move_iterator(stages_.begin()), std::make_move_iterator(stages_.end()));
  stages_.clear();
  return taken;
}

namespace {

// Which expressions a walk has seen: a mark per expression, the number of the walk. Nothing is cleared between walks.
class Seen {
 public:
  explicit Seen(std::size_t expressions) {
    if (marks().size() < expressions) marks().resize(expressions);
    if (++walk() == 0) {
      std::fill(marks().begin(), marks().end(), 0);
      walk() = 1;
    }
  }
  bool insert(ExprId e) { return std::exchange(marks()[e.id], walk()) != walk(); }

 private:
  static std::vector<std::uint32_t>& marks() {
    thread_local std::vector<std::uint32_t> all;
    return all;
  }
  static std::uint32_t& walk() {
    thread_local std::uint32_t number = 0;
    return number;
  }
};

}  // namespace

std::vector<ExprId> postorder(const Graph& g, const std::vector<ExprId>& roots) {
  std::vector<ExprId> order;
  Seen seen(g.expr_count());
  struct Frame {
    ExprId e;
    std::size_t next;
  };
  std::vector<Frame> stack;
  for (ExprId root : roots) {
    if (!root.valid() || !seen.insert(root)) continue;
    stack.push_back({root, 0});
    while (!stack.empty()) {
      Frame& top = stack.back();
      const auto& args = g.node(top.e).args;
      if (top.next == args.size()) {
        base::count_towards_deadline();
        order.push_back(top.e);
        stack.pop_back();
        continue;
      }
      const ExprId child = args[top.next++];
      if (seen.insert(child)) stack.push_back({child, 0});
    }
  }
  return order;
}

ExprId rewrite(Graph& g, ExprId root, const RewriteFn& fn) {
  RewriteMemo memo;
  return rewrite(g, root, fn, memo);
}

ExprId rewrite(Graph& g, ExprId root, const RewriteFn& fn, RewriteMemo& memo) {
  if (auto known = memo.find(root.id); known != memo.end()) return known->second;
  struct Frame {
    ExprId e;
    std::size_t next;
  };
  std::vector<Frame> stack{{root, 0}};
  while (!stack.empty()) {
    Frame& top = stack.back();
    const ExprNode& old = g.node(top.e);
    if (top.next < old.args.size()) {
      const ExprId child = old.args[top.next++];
      if (!memo.contains(child.id)) stack.push_back({child, 0});
      continue;
    }
    const ExprId e = top.e;
    ExprNode node = old;
    for (ExprId& a : node.args) a = memo.at(a.id);
    ExprId result = fn(e, node);
    if (!result.valid()) result = g.expr(std::move(node));
    memo.emplace(e.id, result);
    stack.pop_back();
  }
  return memo.at(root.id);
}

std::vector<ExprId> accesses(const Graph& g, ExprId body) {
  std::vector<ExprId> all = postorder(g, {body});
  std::erase_if(all, [&](ExprId e) { return g.node(e).op != Op::access; });
  return all;
}

std::vector<StageId> sources(const Graph& g, StageId s) {
  const Stage& stage = g.stage(s);
  std::vector<StageId> found;
  if (stage.kind == StageKind::point && stage.body.valid()) {
    for (ExprId e : postorder(g, {stage.body})) {
      const ExprNode& n = g.node(e);
      if (reads_stage(n.op)) found.push_back(n.stage);
    }
  }
  if (stage.kind == StageKind::compose)
    for (const Piece& p : stage.pieces)
      if (p.stage) found.push_back(*p.stage);
  if (stage.kind == StageKind::fourier) {
    found.push_back(stage.fourier.re);
    if (stage.fourier.im) found.push_back(*stage.fourier.im);
  }
  if (stage.kind == StageKind::carried || stage.kind == StageKind::last) found.push_back(stage.of);
  if (stage.kind == StageKind::last && stage.loop < g.loops.size()) {  // all that the loop is made of
    const Loop& loop = g.loops[stage.loop];
    found.push_back(loop.test);
    found.insert(found.end(), loop.carried.begin(), loop.carried.end());
    found.insert(found.end(), loop.next.begin(), loop.next.end());
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

}  // namespace tessera::ir
