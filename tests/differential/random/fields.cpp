// A random graph of images of numbers, once for every field of structs.
#include "differential/random/fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "differential/random/generate.hpp"

namespace tessera::differential {
namespace {

using ir::ExprId;
using ir::ExprNode;
using ir::Graph;
using ir::Stage;
using ir::StageId;

Format record_of(const std::string& name, ElementType type, std::size_t fields) {
  std::vector<std::pair<std::string, ElementType>> list;
  for (std::size_t f = 0; f < fields; ++f) list.emplace_back(fmt::format("f{}", f), type);
  return Format::record(name, list);
}

// The body of a field's stage: it reads that field's stages, and reductions have variables of their own.
class Field {
 public:
  Field(Graph& graph, std::size_t number) : graph_(graph), number_(number) {}

  std::map<StageId, StageId> stages;  // old, new

  ExprId body(ExprId old) {
    return ir::rewrite(
        graph_, old,
        [&](ExprId, const ExprNode& node) {
          ExprNode moved = node;
          if (reads_stage(node.op)) moved.stage = stages.at(node.stage);
          if (node.op == ir::Op::var) moved.ivalue = variable(static_cast<std::uint32_t>(node.ivalue));
          for (ir::Var& v : moved.vars) v.id = variable(v.id);
          for (ir::Index& index : moved.index) {
            for (auto& [var, coefficient] : index.vars) var = variable(var);
            std::sort(index.vars.begin(), index.vars.end());
          }
          return graph_.expr(std::move(moved));
        },
        memo_);
  }

 private:
  std::uint32_t variable(std::uint32_t old) {
    if (number_ == 0) return old;
    const auto [at, fresh] = variables_.try_emplace(old, 0);
    if (fresh) at->second = graph_.new_var();
    return at->second;
  }

  Graph& graph_;
  std::size_t number_;
  std::map<std::uint32_t, std::uint32_t> variables_;
  ir::RewriteMemo memo_;
};

void give_fields(Graph& graph, std::size_t count) {
  std::vector<bool> was_struct;
  for (ir::Argument& a : graph.arguments) {
    was_struct.push_back(a.format.is_struct());
    if (a.is_array && !a.format.is_struct()) a.format = record_of("of_" + a.name, a.format.scalar, count);
  }
  const std::vector<Stage> old = graph.take_stages();
  std::vector<Field> fields;
  for (std::size_t f = 0; f < count; ++f) fields.emplace_back(graph, f);
  for (StageId s = 0; s < old.size(); ++s) {
    const bool shared = old[s].kind == ir::StageKind::input && was_struct[old[s].argument];
    for (std::size_t f = 0; f < count; ++f) {
      if (shared && f > 0) {
        fields[f].stages[s] = fields[0].stages.at(s);
        continue;
      }
      Stage stage = old[s];
      stage.name += fmt::format("_{}", f);
      if (stage.kind == ir::StageKind::input && !shared) stage.field = static_cast<std::uint32_t>(f);
      if (stage.body.valid()) stage.body = fields[f].body(stage.body);
      for (ir::Piece& piece : stage.pieces)
        if (piece.stage) piece.stage = fields[f].stages.at(*piece.stage);
      fields[f].stages[s] = graph.add(std::move(stage));
    }
  }
  for (ir::Output& o : graph.outputs) {
    const StageId of = o.stages.front();
    o.stages.clear();
    for (const Field& field : fields) o.stages.push_back(field.stages.at(of));
    o.format = record_of("of_result", old[of].type, count);
  }
}

}  // namespace

Case random_fields_case(std::uint64_t seed) {
  Case c = random_case(seed);
  const std::size_t count = 2 + seed % 3;
  give_fields(c.graph, count);
  c.name = fmt::format("fields of seed {}", seed);
  return c;
}

}  // namespace tessera::differential
