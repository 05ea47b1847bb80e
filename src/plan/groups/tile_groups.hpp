// Groups of sums that are taken through Fourier transforms of tiles, with what comes before and after: tile_groups.cpp.
#pragma once

#include "plan/groups/prices.hpp"
#include "plan/passes/layout.hpp"

namespace tessera::plan {

class TileGroups {
 public:
  explicit TileGroups(const GraphFacts& facts) : facts_(facts), graph_(facts.graph), edges_(facts.edges) {}

  bool has_tiles(const Set&) const;
  // Is a stage of the set computed by tiles, or while they are loaded?
  bool belongs_to_tiles(ir::StageId, const Set&) const;
  // Of sets that have tiles.
  Layout layout_of_tiles(const Set&, std::vector<bool> leaves) const;
  Price price_of_tiles(const Set&, const Layout&) const;

 private:
  bool reads_before_tiles(ir::StageId, const Set&) const;  // a prologue
  std::string no_tiles(const Set&, const std::vector<bool>& leaves) const;
  double points(ir::StageId s) const { return facts_.of(s).points; }

  const GraphFacts& facts_;
  const ir::Graph& graph_;
  const std::vector<Edge>& edges_;
};

}  // namespace tessera::plan
