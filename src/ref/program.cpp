// Placing the nodes of an expression into loops: an explicit stack, since expressions may be a hundred thousand deep.
#include "ref/program.hpp"

#include <algorithm>
#include <unordered_set>

namespace tessera::ref {
namespace {

using ir::ExprId;
using ir::ExprNode;
using VarSet = std::vector<std::uint32_t>;  // sorted

class Compiler {
 public:
  Compiler(const ir::Graph& g, ExprId body) : g_(g) {
    for (ExprId e : ir::postorder(g, {body})) {
      slot_.emplace(e.id, static_cast<std::uint32_t>(slot_.size()));
      note_free_variables(e);
    }
    code_.slot_count = slot_.size();
    code_.blocks.emplace_back();
    levels_.push_back({0, {}});
    place(body);
  }
  Code take() { return std::move(code_); }

 private:
  struct Level {
    std::uint32_t block;
    std::unordered_set<std::uint32_t> placed;
  };
  struct Frame {
    ExprId e;
    std::size_t next = 0;
    bool opened = false;
  };

  void note_free_variables(ExprId e) {
    const ExprNode& n = g_.node(e);
    VarSet open;
    if (n.op == ir::Op::var) open.push_back(static_cast<std::uint32_t>(n.ivalue));
    for (const ir::Index& i : n.index)
      for (const auto& term : i.vars) open.push_back(term.first);
    for (ExprId a : n.args)
      if (auto it = free_.find(a.id); it != free_.end()) open.insert(open.end(), it->second.begin(), it->second.end());
    std::erase_if(open, [&](std::uint32_t v) {
      return std::any_of(n.vars.begin(), n.vars.end(), [&](const ir::Var& own) { return own.id == v; });
    });
    std::sort(open.begin(), open.end());
    open.erase(std::unique(open.begin(), open.end()), open.end());
    if (!open.empty()) free_.emplace(e.id, std::move(open));
  }

  // The innermost open loop that the node depends on.
  std::size_t level_of(ExprId e) const {
    std::size_t level = 0;
    if (auto it = free_.find(e.id); it != free_.end())
      for (std::uint32_t v : it->second) level = std::max(level, loop_of_.at(v));
    return level;
  }

  bool placed(ExprId e) const { return levels_[level_of(e)].placed.contains(e.id); }

  void open(const ExprNode& n) {
    for (const ir::Var& v : n.vars) loop_of_[v.id] = levels_.size();
    levels_.push_back({static_cast<std::uint32_t>(code_.blocks.size()), {}});
    code_.blocks.emplace_back();
  }

  void place(ExprId root) {
    std::vector<Frame> stack{{root}};
    while (!stack.empty()) {
      Frame& top = stack.back();
      const ExprNode& n = g_.node(top.e);
      if (!top.opened && ir::is_reduction(n.op)) {
        open(n);
        top.opened = true;
      }
      if (top.next < n.args.size()) {
        const ExprId child = n.args[top.next++];
        if (!placed(child)) stack.push_back({child});
        continue;
      }
      Instruction instruction{top.e, slot_.at(top.e.id), {}, 0};
      for (ExprId a : n.args) instruction.operands.push_back(slot_.at(a.id));
      if (top.opened) {
        instruction.block = levels_.back().block;
        levels_.pop_back();
        for (const ir::Var& v : n.vars) loop_of_.erase(v.id);
      }
      Level& level = levels_[level_of(top.e)];
      level.placed.insert(top.e.id);
      code_.blocks[level.block].push_back(std::move(instruction));
      stack.pop_back();
    }
  }

  const ir::Graph& g_;
  Code code_;
  std::vector<Level> levels_;
  std::unordered_map<std::uint32_t, std::uint32_t> slot_;
  std::unordered_map<std::uint32_t, VarSet> free_;
  std::unordered_map<std::uint32_t, std::size_t> loop_of_;
};

}  // namespace

Code compile(const ir::Graph& g, ExprId body) {
  return Compiler(g, body).take();
}

}  // namespace tessera::ref
