// One group of a plan as a C-like function for a CPU core.
//
//   extents, this tile's part of the anchor
//   for every pass, last first: the region of its stages that this tile needs
//   ring buffers in scratch memory
//   for every step along the anchor's rows:
//     for every pass: the rows that are due, in blocks of `rows`:
//       a pointer to every row that the block reads or writes (borders of rows are settled here)
//       columns: runs of whole vectors straight from memory; near the ends of a row, short runs through small patches
//       that hold the row continued by its border
//     after a block: margins set to 0, rings continued beyond their ends, rows copied to arrays
//
// So the loop over columns has no test for borders, and one text serves inside and edge.
#pragma once

#include <map>
#include <memory>
#include <set>

#include "lower/interface.hpp"
#include "lower/point.hpp"
#include "lower/vocabulary.hpp"
#include "plan/edges.hpp"

namespace tessera::lower {

// Everything about a point pass that does not depend on where in the tile it runs.
struct PassBody {
  // rows * stages: row r of stage k is roots[r * stages + k]. Where columns are computed in pairs, these are the even
  // ones, and as many roots for the odd ones follow; in quads, those of every fourth column, from the first, the second
  // ... on.
  std::vector<ir::ExprId> roots;
  // The rows of producers that the block reads. Rows that a reduction variable chooses form one table.
  struct Source {
    ir::StageId stage = 0;
    std::vector<ir::Index> outer;  // without the column; offsets 0 where `table` says that variables move it
    std::vector<Border> outer_border;
    Border column_border;
    std::vector<std::pair<i64, i64>> table;  // per outer dimension: first and last offset, when variables move it
    i64 lo = 0, hi = 0, scale = 1;           // of the column index, over all accesses
    ir::SizeId shift;
    std::set<i64> shifted;  // offsets of columns that are taken from two whole vectors
    i64 entries() const;
    bool is_long() const;  // pointers to its rows are found by a loop: their text would take minutes to compile
  };
  std::vector<Source> sources;
  std::map<const ir::ExprNode*, std::size_t> source_of;  // access -> source; nodes of a graph stay where they are
  // Products of four bytes (rewrite/sums/bytes.hpp), in the order of what they read.
  struct Product {
    std::size_t source = 0;
    i64 column = 0, weights = 0;
    std::size_t total = 0;
  };
  std::vector<Product> products;
  struct Total {  // of one sum; `high`: the total of what is multiplied by 128
    ir::ExprId sum;
    std::size_t low = 0;
    std::optional<std::size_t> high;
  };
  std::vector<Total> totals;
};

class GroupLowering {
 public:
  GroupLowering(plan::Plan& plan, const Interface& interface, analyze::Ranges& ranges, std::size_t group);
  ~GroupLowering();
  // tsr_gK_shape, tsr_gK_scratch, tsr_gK.
  void into(ir::nest::Module&);

 private:
  using Value = ir::nest::Value;
  // Where a pass stores the values of a stage.
  struct Target {
    Value to;  // typed: column 0 of the row; shared by the pieces that fill one row
    // Pieces that fill one row: this one is number `part` of `parts`, whose vectors are stored interleaved.
    int part = 0, parts = 1;
    std::size_t first = 0;  // position of part 0 among the targets
  };
  struct Region {  // per dimension
    std::vector<Value> lo, hi;
  };
  struct Part {  // of what is computed of a pass
    Region region;
    bool sure = false;              // it is never empty
    std::vector<Value> wanted_for;  // extents of the consumer's region, if that may be empty
  };
  struct Ring {
    Value base;                // u8*: column 0 of slot 0
    Value first;               // of a pair of tiles: where its first column stands
    std::vector<Value> pitch;  // bytes between slots (dimension 0), rows of middle dimensions
  };
  struct Workspace {  // of a pass, in scratch memory
    Value dump, patches, outputs;
    Value ends;   // rows of which the ends are patched by one call
    Value piece;  // of a whole image, copied
    // By source and outer dimension, where the border is constant: column 0 of a row of border values.
    std::map<std::size_t, std::vector<Value>> constants;
  };
  struct Pointers {             // of a source, at one block
    std::vector<Value> direct;  // one per table entry
    Value listed;               // of a long table, whose text would be too long: an array of them, filled by a loop
    Value current;              // variable (or array of them): direct, or the patch
  };

  struct Transform;
  struct TilePart;
  struct Plane;

  void analyze_pass(std::size_t pass);
  void shift_columns(std::size_t pass);
  // Sums of bytes: bytes.cpp.
  void prepare_products(std::size_t pass);
  PointEmitter::Values byte_totals(std::size_t pass, const std::vector<Pointers>& sources, const Value& x);
  std::vector<std::pair<i64, Value>> of_quads(const std::vector<Value>& phases, ir::nest::Lane lane);
  ir::nest::Function shape_function();
  ir::nest::Function scratch_function();
  ir::nest::Function tile_function();

  void declare_extents();
  void declare_arrays();
  void tile_extents();
  void regions();
  std::vector<Part> parts_of(std::size_t pass, const std::vector<bool>& sure);
  Region united(const std::vector<Part>& parts, bool sure);
  void reserve_all();
  Value scratch_size();
  void stream();
  // A stage that is computed through Fourier transforms of tiles: tiles.cpp.
  bool transformed() const { return !tiled_.empty(); }
  // With stages that are computed while tiles are loaded, or on their results: tile_ends.cpp.
  bool fused() const { return transformed() && group_.stages.size() > 1; }
  std::optional<ir::StageId> prologue_of(ir::StageId tiled) const;
  void take_borders(ir::StageId tiled, ir::StageId prologue);
  void reserve_ring(ir::StageId, std::vector<Value> span);
  void reserve_workspace(std::size_t pass);
  void begin_pair(const std::vector<Value>& index, const Value& x0);
  void prologue(const std::vector<Value>& index, const Value& x0);
  void fill_outside(const std::vector<Value>& index, const Value& x, const Value& width);
  void epilogue();
  void shape_of_transform(std::vector<Value>& extents, const std::vector<Value>& n, const Value& threads);
  void prepare_transform(ir::nest::Module&, ir::StageId);  // its functions and tables, before those of the group
  void reserve_transform();
  void transform();
  void rows_of_tiles(const std::vector<Value>& index);
  void pair_of_tiles(const std::vector<Value>& index, const Value& x0);
  TilePart part_of(i64 number, const std::vector<Value>& index, const Value& x0);
  void load_tile(const TilePart&, const std::vector<Value>& index, const Value& x0, const Plane* plane);
  void place_results(const TilePart&, const std::vector<Value>& index);
  void finish_pair(const TilePart (&parts)[2], const std::vector<Value>& index, const Value& x0, const Value& doubtful);
  // Results beside which a pair has far larger numbers: ranges.cpp.
  void reserve_ranges(Transform&);
  ir::nest::Value range_call(const std::string& name, ir::nest::Type result, std::vector<Value> args) const;
  void range_step(const std::string& name, std::vector<Value> args);
  using OfPlane = std::function<void(const Value& volume, const Value& along)>;
  Value found_of_tile();
  Value sum_of_weights();
  Value is_sharp();
  Value energy_of(const Value& found);
  Value far(const Value& energy, const Value& low);
  Value doubtful_pair();
  void keep_range_of_plane(const Value& slot);
  std::pair<Value, Value> doubtful_planes(const std::function<Value(const Value& volume, const Value& along)>& slot);
  void narrow_ranges(const TilePart (&parts)[2], const std::vector<Value>& index, const Value& x0);
  void level_of_pair(const std::function<void(const OfPlane&)>& planes, const Value& limits);
  void clear_results(const TilePart&);
  void sum_directly(const TilePart&, const Value& first_weight);
  void copy_results(const TilePart&, const std::vector<Value>& index);
  void margins_of_tiles(const std::vector<Value>& index);
  bool stacked() const { return plan_.tiling(tiled_.front()).planes > 1; }
  // Of volumes: stack.cpp.
  void pair_of_stacks(const std::vector<Value>& index, const Value& since, const Value& pair, const Value& x0);
  void each_plane(const std::function<void(const Value& volume, const Value& along)>& body, const Value& first,
                  i64 end);
  Plane plane_at(const std::vector<Value>& index, const Value& volume, const Value& along);
  void pass_rows(std::size_t pass, const Value& end);
  void point_block(std::size_t pass, const std::vector<Value>& index, const Value& count);
  void columns(std::size_t pass, const std::vector<Value>& index, const Value& count, std::vector<Pointers>& sources,
               const std::vector<Target>& targets);
  void vectors(std::size_t pass, const std::vector<Value>& index, const std::vector<Pointers>& sources,
               const std::vector<Target>& targets, const Value& from, const Value& to, const Value& streaming);
  // Of an array of pointers to rows.
  static Value listed_row(const Value& rows, const Value& entry) {
    return ir::nest::call("tsr_at", rows->type, {rows, entry});
  }
  Value border_row(std::size_t pass, std::size_t source, const Value& row);
  void long_patches(std::size_t pass, std::size_t source, const Pointers&, const Value& outside, i64 first, i64 step,
                    const std::vector<Value>& border);
  // The rows of every source for columns from x0 on (ends.cpp); those of long tables go into their variables.
  std::vector<std::vector<Value>> patched_ends(std::size_t pass, const std::vector<Pointers>& sources, const Value& x0,
                                               const Value& x1, const Value& whole);
  bool patched_together(std::size_t pass, std::size_t a, std::size_t b) const;
  void prefetch(std::size_t pass, const std::vector<Pointers>& sources, const Value& x);
  void store_interleaved(const Value& to, const Value& x, std::vector<Value> row);
  std::vector<Value> written_index(ir::StageId, const std::vector<Value>& index) const;
  void compose_row(std::size_t pass, const std::vector<Value>& index);
  void store_family(const std::vector<const ir::Piece*>&, const std::vector<Value>& at, const Value& out,
                    ir::nest::Lane lane, const Value& lo, const Value& hi, ElementType type);
  // Lanes of pieces of a whole image: lanes.cpp.
  i64 piece_bytes(std::size_t pass) const;
  Value piece_of(ir::StageId, const Value& first, const Value& end, const Value& memory);
  void store_lanes(const ir::ExprNode&, const Value& number, const Value& x, const Value& memory, const Value& to);
  void finish_row(ir::StageId, const std::vector<Value>& index, const Value& target);
  void copy_row(ir::StageId, const std::vector<Value>& index, const Value& target);
  Value is_mine(ir::StageId, const std::vector<Value>& index) const;
  Value placed_row(ir::StageId, const std::vector<Value>& index);

  Value extent(ir::SizeId);
  Value array_base(std::size_t array);  // u8*: its first element; what P holds at that place
  Value stride(std::size_t position);   // of an array, bytes; what N holds at that place
  Value size_value(ir::SizeId);
  Value span_bound(ir::StageId, std::size_t dim);
  Value reserve(const Value& bytes);
  void guard();
  Pointers source_rows(const PassBody::Source&, ir::StageId consumer, const std::vector<Value>& index,
                       const std::vector<Value>& constant_rows);
  Value source_row(const PassBody::Source&, const std::vector<Value>& offsets, ir::StageId consumer,
                   const std::vector<Value>& index, const std::vector<Value>& constant_rows);
  Value row_at(ir::StageId, const std::vector<Value>& at);  // u8* to column 0 of a ring or array row
  Value typed(ir::StageId, const Value& bytes) const;       // u8* as a pointer to the stage's elements
  i64 patch_bytes(std::size_t pass, const PassBody::Source&) const;
  bool in_group(ir::StageId) const;
  std::size_t pass_of(ir::StageId) const;
  bool direct_result(ir::StageId) const;
  ir::StageId written(ir::StageId) const;         // whose rows hold its values: itself, or what it is a piece of
  i64 slack(ir::StageId, std::size_t dim) const;  // what pieces may write outside the region of what they fill
  ir::nest::Lane memory_lane(ir::StageId) const;
  i64 element_step(ir::StageId) const;  // elements between neighbours of a row in memory
  i64 element_offset(ir::StageId) const;
  // Fields of bytes, read as lanes of 32 bits: fields.cpp.
  bool reads_words(std::size_t pass, ir::StageId) const;
  i64 beyond(std::size_t pass, ir::StageId) const;
  // Results that are fields of one struct and leave together.
  std::vector<ir::StageId> leaving_with(ir::StageId) const;
  void copy_fields(std::size_t pass, const std::vector<Value>& index, const Value& count,
                   const std::vector<Value>& rows);
  Value field_words(const Value& pointer, const Value& at, i64 field, i64 fields, int lanes) const;
  i64 border_bits(const Border&, ir::StageId) const;
  // Elements that go one way at the ends of a row: fields of one point, where the border asks for a point of the image.
  i64 bordered(BorderMode) const;
  const ir::Stage& stage(ir::StageId s) const { return plan_.graph.stage(s); }

  plan::Plan& plan_;
  const Interface& interface_;
  analyze::Ranges& ranges_;
  const plan::Group& group_;
  std::size_t number_;
  std::size_t rank_;
  std::vector<plan::Edge> edges_;
  std::vector<PassBody> bodies_;  // by pass
  Builder* builder_ = nullptr;

  std::map<ir::SizeId, Value> extents_;
  std::map<std::size_t, Value> bases_, strides_;  // by place in P and in N
  std::vector<Value> tile_lo_, tile_hi_;
  std::vector<Region> regions_;        // by pass
  std::map<ir::StageId, Region> own_;  // of results
  std::vector<Value> done_;            // by pass: rows of dimension 0 below are computed
  std::map<ir::StageId, Ring> rings_;
  std::vector<Workspace> work_;  // by pass
  Value scratch_top_;
  std::vector<ir::StageId> tiled_;  // stages that are computed through transforms
  std::vector<std::unique_ptr<Transform>> transforms_;
  Transform* transform_ = nullptr;  // the one that is being written
  Region wanted_;                   // of all of them, of this tile
  bool measuring_ = false;          // only adding up scratch memory
  std::vector<Value> guards_;       // offsets of the gaps between blocks of scratch memory
};

}  // namespace tessera::lower
