// Strips of a fixed height in one text without a loop: register tiles, for warps whose reads all lie inside. What is
// outside is the frame, a column a thread, in the same kernel; see DeviceKernel::Frame.
//
// A thread computes the halo columns of stages in between itself, or takes them from its neighbours in the warp
// (exchange), where that costs less.
#pragma once

#include <cstdint>

#include "lower/ways/strips/step.hpp"
#include "lower/ways/strips/strips.hpp"

namespace tessera::lower {

class RegisterTiles : protected StripStep {
 protected:
  using StripStep::StripStep;
  ~RegisterTiles() = default;

  // Columns of a thread and rows of a tile that suit the group, where it has some.
  bool choose_tile(StripFit&);
  // Tiles and the frame around them. Afterwards the group is as they left it: exchanging, where they do.
  void tiles(const StripFit&);
  void exchange_no_more();

  i64 threads_of_tile() const { return 32 - halo_[0] - halo_[1]; }

 private:
  // Instructions of a tile's text: without those that only find out where it lies.
  double text(i64 height);
  double conversions(i64 height) const;
  void consider(StripFit&, double& least);
  // Of at most so many columns a thread, `values` in a register.
  StripFit shape_of(i64 widest, int values);
  // From here on a thread computes its own columns alone. Threads at the ends of a warp miss what their neighbours
  // would give them; so many there store nothing.
  void exchange();
  // Where nothing that tiles read is outside.
  void find_frame(i64 height);
  enum class Framed : std::uint8_t { blocks, across, top, bottom, left, right, above, below, at_left, groups, rows };
  Value framed(Framed);
  // Of volumes: the rows [first, first + warps) of every plane are a group, a warp each; `number` of one. Nothing where
  // the warp's is beyond the last one.
  Value place_rows(const Value& group);
  Value all_rows();
  Value everything_inside();  // but columns: what a warp's tile reads
  // Do tiles hold the first and the last columns, planes and rows, too? Threads at both sides take what borders map to
  // from their own columns.
  bool with_sides() const;
  // What the compiler of kernels makes of the text, which these two heed:
  // - Are rows that two tiles have stored by one of them alone? Both have the same bits. But stores in branches keep
  //   loads from moving far ahead of their use: of 128 registers 11 spill, else 41 (seven points of a volume, 3 % of
  //   its time; squares of non-local means 5 %). Of weights it is the other way round: a sum of 7 x 7 spills then.
  // - Is a step of the frame too long to have two in a turn? They take registers that tiles inside need (7 x 7: 110 in
  //   place of 95, 6 % of its time).
  bool stores_once() const;
  bool is_long_step() const;
  std::vector<ir::ExprId> bodies() const;  // of all stages that are computed
  // All steps in one text.
  void tile(const Value& block);
  void steps(i64 height, bool inside);  // planes and rows
  // A column a thread, one step after the other.
  void frame(const Value& block);

  plan::Strip together_;  // without exchange
};

}  // namespace tessera::lower
