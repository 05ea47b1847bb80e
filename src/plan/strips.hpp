// Strips of a GPU: a thread keeps the rows of its columns in registers, so that a group may need no more than there
// are.
#pragma once

#include <functional>
#include <vector>

#include "ir/graph.hpp"
#include "plan/edges.hpp"

namespace tessera::plan {

// About how many registers of 32 bits a thread needs that computes two columns of these stages in one strip, as
// lower/device_stream.cpp counts them; 0 where they run in no strip anyway: other than two dimensions, stages of
// different sizes, reads at other than constant distances. `set` ascends; `reads` holds the numbers of a stage's edges;
// `bytes` of a stage's elements as they are kept.
int strip_registers(const ir::Graph&, const std::vector<Edge>&, const std::vector<std::vector<std::size_t>>& reads,
                    const std::vector<ir::StageId>& set, const std::function<int(ir::StageId)>& bytes);

}  // namespace tessera::plan
