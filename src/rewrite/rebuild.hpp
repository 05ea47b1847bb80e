// How a rewriting pass replaces the stages of a graph while keeping its expressions, extents, arguments and tables.
//
// Stages are immutable in meaning: a pass takes them all out, walks them in order and adds new ones; `map` says which
// new stage stands for which old one, and `carry` rewrites the accesses of an expression accordingly.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ir/graph.hpp"
#include "machine/machine.hpp"
#include "rewrite/sums/choice.hpp"
#include "rewrite/sums/tiles/tiling.hpp"
#include "tessera/options.hpp"

namespace tessera::rewrite {

class Rebuild {
 public:
  explicit Rebuild(ir::Graph& graph) : graph_(graph), old_(graph.take_stages()), map_(old_.size()) {}

  const std::vector<ir::Stage>& old() const { return old_; }
  const ir::Stage& old(ir::StageId s) const { return old_[s]; }
  void set(ir::StageId old_id, ir::StageId new_id) { map_[old_id] = new_id; }
  ir::StageId map(ir::StageId old_id) const { return map_[old_id]; }

  // The expression with every access and gather pointing at the new stages.
  ir::ExprId carry(ir::ExprId body);
  // The old stage, its sources renamed, ready to be added.
  ir::Stage carry(const ir::Stage& stage);
  // Adds `carry(old stage)` and remembers it.
  ir::StageId keep(ir::StageId old_id);
  // Renames the stages of the outputs; call once, last.
  void finish();

 private:
  ir::Graph& graph_;
  std::vector<ir::Stage> old_;
  std::vector<ir::StageId> map_;
  ir::RewriteMemo memo_;
};

// Drops stages that no output needs (inputs stay: they belong to the arguments).
void remove_dead_stages(ir::Graph&);

// Lets one stage stand for all that compute the same from the same; outputs keep theirs.
void merge_equal_stages(ir::Graph&);

// Puts the shorter functions of `fast` numbers in place of those that are exact to the last bit.
void shorten_functions(ir::Graph&);

// Arrays that got a leading dimension of extent 1.
struct Lifted {
  std::vector<bool> arguments, outputs;  // nothing: none did
  std::size_t of_argument(std::size_t a) const { return !arguments.empty() && arguments[a] ? 1 : 0; }
  std::size_t of_output(std::size_t o) const { return !outputs.empty() && outputs[o] ? 1 : 0; }
};
// Gives every stage of rank 1 a leading dimension of extent 1, so that rank 1 needs no code of its own.
Lifted lift_rank(ir::Graph&);

// Puts a copying stage behind every field of a struct argument, so that only copies read interleaved memory.
void separate_fields(ir::Graph&);

// Replaces window reductions by written expressions where they are small, and splits windows that can be taken one
// dimension at a time into a stage per dimension. Large windows stay as loops. Appends what it did to `remarks`.
// Long weighted sums are marked to be taken through Fourier transforms where that is cheaper
// (rewrite/sums/tiles/tiles.hpp). Appends to `sums` how the weighted sums are taken that were looked at, and to
// `tilings` what notes of stages say.
void expand_windows(ir::Graph&, Numbers, Method, const machine::Machine&, const std::vector<i64>& assumed,
                    std::vector<std::string>& remarks, std::vector<SumChoice>& sums, Tilings& tilings);

// Do the pieces of a composed stage, all of one stride, fill every phase of it over the whole extent?
bool tiled_by_pieces(ir::Graph&, const ir::Stage& composed);
// For every stage: is it composed of pieces that cover it and that can all be computed right into it?
std::vector<bool> fillable_by_pieces(ir::Graph&);
// Puts a copying stage between a composed stage that its pieces cover and every piece that others read too.
void separate_pieces(ir::Graph&);

// Where all outputs are structs whose fields are computed alike, each from the same field of the arguments: one stage
// for all of them, of rows of numbers. Returns the graph as it was, or nothing where it stays as it is.
std::shared_ptr<const ir::Graph> join_fields(ir::Graph&, std::vector<std::string>& remarks);

// Folds stages into their consumers where the composition is exact at every border and costs less than storing rows.
void fold_stages(ir::Graph&, const machine::Machine&, std::vector<std::string>& remarks);

}  // namespace tessera::rewrite
