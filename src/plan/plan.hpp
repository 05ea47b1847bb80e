// The plan: how a stage graph runs on one machine. Pure data; `explain` prints it, `lower` follows it.
//
// make_plan rewrites the graph (windows expanded, cheap or single-use stages folded into their consumers), then cuts it
// into groups. A group runs over tiles of its anchor stage; a tile streams along dimension 0. Each step computes the
// next rows of every pass of the group, in order; a stage that later passes read keeps its last `depth` rows in a ring.
// Nothing in a plan depends on the extents of the images but the hints that the cost model was given, so that one
// compiled plan serves every size.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/footprint.hpp"
#include "ir/graph.hpp"
#include "ir/nest/nest.hpp"
#include "machine/machine.hpp"
#include "plan/way.hpp"
#include "rewrite/rebuild.hpp"
#include "rewrite/sums/choice.hpp"
#include "rewrite/sums/tiles/tiling.hpp"
#include "tessera/options.hpp"

namespace tessera::plan {

struct Options {
  Schedule schedule = Schedule::automatic;
  Numbers numbers = Numbers::fast;
  Method method = Method::automatic;  // of weighted sums
  std::vector<i64> parameters;        // extents that the cost model assumes; empty: a 2160 x 3840 image
  // For tests: scratch memory begins as 0xff, and a tile that writes between its blocks stops the process.
  bool guarded = false;
};

// Where the values of a computed stage live.
enum class Home {
  memory,  // an argument
  ring,    // the last rows, in per-thread scratch memory
  array,   // whole, in memory: an output or an intermediate between groups
  inside,  // rows and columns of the ring of the composed stage that it is a piece of
};

struct StagePlan {
  int group = -1;
  Home home = Home::array;
  std::vector<ir::SizeId> extents;            // of its array, where these are no domain: pieces and bins (ir/keyed.hpp)
  bool also_array = false;                    // a ring whose rows are copied to an array as well
  ir::nest::Lane lane = ir::nest::Lane::f32;  // stored element type: the narrowest that holds every value
  std::vector<bool> periodic;                 // per dimension: computed beyond its domain, for consumers that wrap
  // Against the anchor of its group, per dimension: the stage has num points where the anchor has den, and an anchor
  // range [a, b) needs at most [floor(a * num / den) + before, ceil(b * num / den) + after) of it.
  struct Rate {
    i64 num = 1, den = 1;
    i64 before = 0, after = 0;
  };
  std::vector<Rate> rate;
  // Rows are complete below floor(e * num / den) + lag once the anchor has reached row e.
  i64 lag = 0;
  // inside: element j stands at start + stride * j of `whole`
  ir::StageId whole = 0;
  std::vector<i64> start, stride;
  // ring
  bool filled = false;         // a composed stage whose pieces are inside it
  i64 depth = 0;               // rows kept along dimension 0; 0: all rows of the tile
  i64 reach = 0;               // columns that consumers may read beyond the last one, vectors included
  i64 pad_lo = 0, pad_hi = 0;  // columns filled by the border beyond the domain
  Border pad;                  // how
};

// How neighbouring columns of a pass are computed: chosen once, by the table of plan/passes/forms.cpp.
enum class PassForm {
  compose,    // none is: rows of pieces are copied
  tiles,      // by a transform or by matrix units, tile by tile
  reduction,  // partial results of a whole image, read line after line
  keyed,      // elements go into bins, one after the other
  quads,      // sums of bytes, as four vectors of 32-bit lanes: every fourth column
  pairs,      // bytes, as two vectors of 16-bit lanes: even and odd columns
  vectors,    // as a vector of neighbours
};
std::string_view name_of(PassForm);

struct Pass {
  PassForm form = PassForm::vectors;
  std::vector<ir::StageId> stages;  // computed in the same loop; one for compose
  int rows = 1;                     // rows of the block that one loop body computes
  std::size_t along = 0;            // the dimension along which these lie, planes in sums over planes
  int lanes = 16;                   // columns that one turn of the loop computes

  bool composes() const { return form == PassForm::compose; }
};

// Why two sets of stages, named by their last ones, were put into one group or not.
struct Decision {
  ir::StageId a = 0, b = 0;
  bool fused = false;
  std::string why;
};

struct Group {
  ir::StageId anchor = 0;           // the stage whose domain is cut into tiles
  std::vector<ir::StageId> stages;  // topological order
  std::vector<Pass> passes;
  std::vector<ir::StageId> results;     // stages that leave the group as arrays
  i64 step = 4;                         // anchor rows a step
  i64 halo_rows = 0, halo_columns = 0;  // computed beyond a tile's own, over the longest chain
  double ring_bytes_per_column = 0;     // of scratch, for one row of the middle dimensions
  std::vector<i64> ring_halo;           // of volumes, per dimension: what rings hold beyond a tile, by their bytes
  i64 tile_rows = 0, tile_columns = 0;  // hints for the assumed extents; 0: all
  std::vector<Decision> reasons;        // in the order in which they were taken
  GroupWay way;                         // how it runs, once the ways have been asked (lower/ways/ways.hpp)
  // predictions per anchor point
  double bytes = 0;                                        // moved to and from memory
  double operations = 0;                                   // vector-lane operations
  double nanoseconds = 0;                                  // one core, whole domain at the assumed extents
  double memory_nanoseconds = 0, compute_nanoseconds = 0;  // what the time is made of; the longer one bounds it
};

struct Plan {
  ir::Graph graph;  // rewritten
  // The graph with the arguments and outputs that a caller knows, where they are others in `graph`: fields.cpp.
  std::shared_ptr<const ir::Graph> declared;
  const ir::Graph& interface() const { return declared ? *declared : graph; }
  // So many elements of a row are one point, whose fields all go one way. Extents and offsets of columns count
  // elements; borders go by points.
  i64 together() const { return declared ? static_cast<i64>(declared->outputs.front().format.fields.size()) : 1; }
  // How the stage is computed as a whole; without rows where it is not.
  const rewrite::Tiling& tiling(ir::StageId s) const { return tilings.at(graph.stage(s).note); }
  Options options;
  machine::Machine device;
  std::vector<StagePlan> stages;         // by stage id of `graph`
  std::vector<Group> groups;             // in the order in which they run
  rewrite::Lifted lifted;                // arrays of rank 1, which run as of rank 2
  double minimum_bytes = 0;              // inputs read once, outputs written once, at the assumed extents
  std::vector<std::string> remarks;      // rewrites that were done
  std::vector<rewrite::SumChoice> sums;  // as far as they were looked at
  rewrite::Tilings tilings;              // what notes of stages say
};

// Of the array of a stage that has one: its domain, or what its plan says.
inline const std::vector<ir::SizeId>& extents_of_array(const Plan& plan, ir::StageId s) {
  return plan.stages[s].extents.empty() ? plan.graph.stage(s).domain : plan.stages[s].extents;
}

// The passes, in order, are listed at the top of make_plan.cpp. `graph` must verify.
Plan make_plan(ir::Graph graph, const Options&, const machine::Machine&);

// Its own pass among them: outputs become stages of their own. An argument that is returned is copied, a stage that is
// returned twice too.
void compute_outputs(ir::Graph&);

// Predictions of the same plan for other extents; decisions stay as they are.
void predict(Plan&, const std::vector<i64>& parameters);

}  // namespace tessera::plan
