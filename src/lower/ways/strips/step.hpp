// One step of a strip, see strips.hpp, whatever the text around it: it loads rows, computes the next ones of
// every stage, keeps both in registers, and stores those of results. Who writes the text says where threads and strips
// lie.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "ir/build.hpp"
#include "lower/device_function.hpp"
#include "lower/twins.hpp"
#include "plan/passes/strips.hpp"

namespace tessera::lower {

class StripStep : protected DeviceFunction {
 protected:
  using StripRing = plan::StripRing;
  static constexpr int warps_of_block = 4;  // each with a strip of its own

  StripStep(plan::Plan&, const Interface&, analyze::Ranges&, std::size_t group, std::string name);
  ~StripStep() = default;

  // ---- what the group needs; strip_.why says whether it is a strip at all ----
  // At the thread's own row.
  std::size_t ring_number(ir::StageId s) const { return ring_of_.at({s, plan::Slice(rank_ - 2, 0)}); }
  const StripRing& ring_of(ir::StageId s) const { return strip_.rings[ring_number(s)]; }
  const std::vector<ir::SizeId>& domain_of(const StripRing& ring) const { return graph_.stage(ring.stage).domain; }
  int bytes_of(ir::StageId s) const { return ir::nest::size_of(memory_lane(s)); }
  int registers() const;
  // Registers of a row, from that of its first column, that a thread computes of a stage.
  std::pair<i64, i64> computed_columns(const StripRing&) const;
  i64 width() const { return static_cast<i64>(columns_) * values_; }  // columns of a thread
  // Can registers hold two values of all that is kept?
  bool twins_fit();
  double operations_of(const StripRing&, std::size_t rows);  // of a thread
  bool exchanging() const { return halo_[0] + halo_[1] > 0; }
  // Elements of one load or store of a ring's columns: they begin at multiples of as many.
  i64 vector_of(const StripRing&) const;
  // Loads of a row: the first column and how many.
  std::vector<std::pair<i64, i64>> loads_of(const StripRing&) const;

  // ---- where it is inside ----
  // Columns that a thread loads or computes left and right of its own.
  std::pair<i64, i64> columns_beside(const StripRing&) const;
  // Around a thread's row, in a dimension in between, what of an extent is computed or read.
  std::map<ir::SizeId, std::pair<i64, i64>> rows_beside(std::size_t dimension) const;
  // The steps [from, to) whose rows, and those of all slots, are inside.
  std::pair<i64, ir::SizeId> steps_inside();
  // (size + more) / rate, rounded down.
  ir::SizeId steps(ir::SizeId size, i64 more, i64 rate);
  ir::SizeId smaller(ir::SizeId, ir::SizeId);

  // ---- the text: first where the thread's columns begin, then its registers, then steps ----
  void place_columns(const Value& first);
  void place_slices(std::vector<Value> rows) { slice_ = std::move(rows); }
  const Value& slice(std::size_t dimension) const { return slice_[dimension - 1]; }
  // Once `rows_inside_` and its like are set: where borders map the slices to.
  void map_slices();
  void declare_rings();
  void step(const Value& y);

  std::vector<ir::StageId> order_;
  std::map<ir::StageId, plan::StripReads> reads_;
  std::set<ir::StageId> is_result_;           // leave the group
  std::map<std::size_t, double> operations_;  // of a step inside, by ring

  // Of the text that is written.
  plan::Strip strip_;
  int columns_ = 4;            // registers of a row
  int values_ = 1;             // in each: 2 where it holds those of a column and of its twin; see plan/passes/twins.cpp
  std::array<i64, 2> halo_{};  // threads of a warp, at its ends, that store nothing
  Value stores_;               // does the thread store? Missing: it does
  Value others_;               // so many first rows are another tile's. Missing: none
  std::optional<i64> known_step_;  // from the first row of a tile
  bool rows_inside_ = false, columns_inside_ = false, slices_inside_ = true;
  // Columns as vectors, though those beside the first and the last thread's own may be outside. These threads take
  // what a border maps to from their own.
  bool columns_patched_ = false;
  Value at_left_, at_right_,
      in_row_;              // is the thread the first or the last of the row, or in it at all? Missing: it is in it
  std::map<i64, Value> x_;  // the thread's first column, by rate
  Value y0_, y1_;           // the strip

 private:
  using Place = std::pair<ir::StageId, plan::Slice>;
  bool member(ir::StageId s) const { return reads_.contains(s); }
  std::size_t last() const { return rank_ - 1; }
  // Of an access, in the dimensions in between.
  static plan::Slice slice_of(const ir::ExprNode&);
  // Steps and columns that compute every row and column of the results.
  void find_domain();
  std::size_t ring_index(const ir::ExprNode&, const StripRing& to) const;
  i64 margin_of(ir::StageId, std::size_t dimension) const;
  // Where a border maps an index of a dimension in between to, relative to the thread's; `off`: to its border value.
  struct MappedSlice {
    Value index, off;
  };
  const MappedSlice& mapped_slice(std::size_t dimension, const Border&, i64 distance, ir::SizeId extent);
  bool is_kept(const StripRing& ring) const { return ring.depth > 0 && (ring.memory || read_.contains(ring.stage)); }

  // ---- memory ----
  // Columns that are loaded for some beside the thread's own: whole vectors, of the last one no more than needed.
  i64 load_beside(const StripRing&, i64 columns) const;
  i64 last_vector(const StripRing&, i64 columns) const;
  i64 load_left(const StripRing& r) const { return load_beside(r, r.left); }
  i64 load_right(const StripRing& r) const { return load_beside(r, r.right); }
  void load_columns(const StripRing&, const Value& pointer, i64 first, i64 count, const std::vector<Value>& to);
  void where_it_is(const StripRing&, i64 column, const std::function<void()>& load);
  Value patched_by_constant(const StripRing&, const Value&, i64 column);
  static Border memory_border(const StripRing&, std::size_t dimension);
  void load_row(const StripRing&, i64 number, const std::vector<Value>& to);  // from that of the step
  // Where the thread's columns of a row begin, in bytes.
  Value columns_of_row(const StripRing&, const std::vector<Value>& outer);
  // The same of row `number` of the step, in a text without a test for rows: a stride behind the row before.
  Value row_of_tile(const StripRing&, i64 number);
  bool rows_known() const { return known_step_ && rows_inside_ && columns_inside_ && slices_inside_; }
  // The rows of a result that a step computes, those of this strip alone.
  void store_rows(ir::StageId, const Value& first, const std::vector<std::vector<Value>>& rows);
  void store_row(ir::StageId, const Value& at, const std::vector<Value>&);

  // ---- stages ----
  void compute(std::size_t ring);
  // The columns beside those of the thread.
  void take_from_neighbours(const StripRing&, std::vector<std::vector<Value>>& rows);
  // Its points of a step, rows of them.
  std::vector<ir::ExprId> points(const StripRing&, std::size_t rows);
  void evaluate(std::size_t ring, const Value& r, std::vector<std::vector<Value>>& rows);
  void put_together(const StripRing&, std::vector<std::vector<Value>>& rows);

  // ---- twins ----
  // A result that is not read again and that is computed a value a register: rows of it are its columns.
  bool is_parted(ir::StageId);
  bool done_together(ir::StageId);
  void load_twins(const StripRing&, const Value& pointer, const std::vector<Value>& to);
  void store_twins(ir::StageId, const Value& pointer, const std::vector<Value>& values);
  bool stores_twins(ir::StageId);
  // Of a row, the columns of the thread, each by itself.
  std::vector<Value> own_columns(ir::StageId, const std::vector<Value>& values);
  void take_twins_from_neighbours(const StripRing&, std::vector<std::vector<Value>>& rows);
  void evaluate_twins(ir::StageId, const Value& r, std::vector<std::vector<Value>>& rows);
  void evaluate_parted(ir::StageId, const Value& r, const std::vector<ir::ExprId>& roots, TwinEmitter&,
                       std::vector<std::vector<Value>>& rows);

  // ---- accesses ----
  // The slot and the column of an access; its column is the offset from the thread's first one.
  static std::size_t slot_of(const ir::ExprNode&, const StripRing& from, const StripRing& to);
  static std::size_t column_of(const ir::ExprNode&, const StripRing& from);
  Value kept(const ir::ExprNode&, const StripRing& to);
  // The element of a ring's row at a column, or what the border maps it to where columns are patched.
  Value patched(const StripRing&, const std::vector<Value>& row, std::size_t column, const Border&);
  // How far from where it points a border may map an access.
  std::pair<i64, i64> mapped_by(const ir::ExprNode&, const StripRing& to, std::size_t dimension) const;
  // What `kept` gives, where a border maps it elsewhere: among the rows and columns at hand.
  Value found(const ir::ExprNode&, const StripRing& to, const Value& r);
  // Is the slice one that the border of an access may map to?
  bool may_map(const ir::ExprNode&, const StripRing& to, const StripRing& from) const;
  // In one slice, at the access's row and column or where their borders map it to.
  Value found_in(std::size_t ring, const ir::ExprNode&, const StripRing& to, const Value& r);
  // The row of a ring that a border maps to; `off` where it is one of border values.
  const std::vector<Value>& mapped_row(std::size_t ring, const ir::ExprNode&, const StripRing& to, const Value& r,
                                       Value& off);

  struct MappedRow {
    std::vector<Value> values;
    Value off;
  };
  std::map<Place, std::size_t> ring_of_;
  std::map<ir::StageId, bool> done_together_;
  std::map<ir::StageId, i64> byte_;                                            // of its twins' halves that is stored
  std::set<ir::StageId> read_;                                                 // in the group
  std::vector<std::vector<std::vector<Value>>> at_;                            // ring, slot, column
  std::map<std::tuple<std::size_t, i64, BorderMode>, MappedRow> mapped_rows_;  // of the stage that is computed
  struct RowOfTile {
    i64 number = 0;
    Value at;
  };
  // The last one asked for, of every place and rate: columns begin elsewhere at another.
  std::map<std::pair<Place, std::array<i64, 2>>, RowOfTile> rows_of_tile_;
  Value y_;                   // the step
  std::vector<Value> slice_;  // the thread's row, in the dimensions in between
  std::map<std::tuple<std::size_t, BorderMode, i64, ir::SizeId>, MappedSlice> mapped_slices_;
};

}  // namespace tessera::lower
