// Groups of reductions of one image, on devices: lanes of pieces with what each piece comes to (ir/reductions.hpp).
//
// A block of threads takes a piece, a thread each of its lanes, and one thread takes the lanes together. So lanes do
// not go through memory, and an image of which several numbers are asked, as its least and its greatest element, is
// read once. What has only one piece is one block, together with others of the kind.
#pragma once

#include "plan/groups/facts.hpp"
#include "plan/passes/layout.hpp"

namespace tessera::plan {

struct ReductionPair {
  ir::StageId lanes = 0, total = 0;  // `total` takes rows of lanes together, each at its own point
};

// The pairs that a set consists of. Nothing where it holds another stage, where a pair waits for another one, or where
// they read several images in pieces.
std::vector<ReductionPair> reduction_pairs(const ir::Graph&, const Set&);

// Lanes that a stage takes together, and that no other stage reads.
std::optional<ir::StageId> lanes_of_total(const GraphFacts&, ir::StageId total);
// What is read in pieces; nothing where all of it is one piece, and so one block.
std::optional<ir::StageId> image_in_pieces(const ir::Graph&, ir::StageId lanes);

Layout layout_of_pieces(const GraphFacts&, const Set&, std::vector<bool> leaves);

}  // namespace tessera::plan
