// A point stage's expression as straight code: each node of the DAG is one instruction with one result slot.
//
// A node inside a reduction is evaluated in the innermost loop whose variable it depends on; one that depends on none
// is evaluated once per point. The order of the terms of a reduction is that of the graph.
#pragma once

#include "ir/graph.hpp"

namespace tessera::ref {

struct Instruction {
  ir::ExprId expr;
  std::uint32_t result = 0;             // slot
  std::vector<std::uint32_t> operands;  // slots
  std::uint32_t block = 0;              // of a reduction: the code of its loop body
};

struct Code {
  // blocks[0] is run once per point; the others by their reductions.
  std::vector<std::vector<Instruction>> blocks;
  std::size_t slot_count = 0;
};

Code compile(const ir::Graph&, ir::ExprId body);

}  // namespace tessera::ref
