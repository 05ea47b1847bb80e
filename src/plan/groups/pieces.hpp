// Groups of reductions of one image, on devices: lanes of pieces with what each piece comes to (ir/reductions.hpp).
//
// A block of threads takes a piece, a thread each of its lanes, and one thread takes the lanes together. So lanes do
// not go through memory, and an image of which several numbers are asked, as its least and its greatest element, is
// read once. What has only one piece is one block, together with others of the kind.
#pragma once

#include "plan/groups/facts.hpp"
#include "plan/passes/layout.hpp"

namespace tessera::plan {

// Lanes that one stage alone reads, as the rows of lanes that stand at its own point. Nothing where it reads others.
std::optional<ir::StageId> lanes_read_by(const GraphFacts&, ir::StageId);

// What makes pairs go together: an image that they read in pieces; nothing where each is one block anyway.
std::optional<ir::StageId> image_of_lanes(const GraphFacts&, ir::StageId lanes);
// Is it a set of such pairs that go together, in which every stage has its other one?
bool are_pieces(const GraphFacts&, const Set&);
Layout layout_of_pieces(const GraphFacts&, const Set&, std::vector<bool> leaves);

}  // namespace tessera::plan
