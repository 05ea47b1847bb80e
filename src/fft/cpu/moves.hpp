// Between rows of memory and points: functions of loop nests that transpose squares of V x V numbers in registers.
//
// `rows` is a table of pointers, one for every lane (two for real transforms, whose rows go two by two as the real and
// the imaginary part of one: rows 2i and 2i + 1 are those of lane i). Squares lie every V (V/2 complex) elements of a
// row; the last one ends with the row and overlaps its neighbour. So `count` is at least V (V/2 where complex numbers
// stand in the rows); shorter rows are the caller's. Points lie behind one another.
//
// In a block, point k of a row stands behind the point of the row before; `pitch` numbers behind it stand V further
// columns of the same row.
#pragma once

#include <string>

#include "ir/nest/nest.hpp"

namespace tessera::fft {

enum class Move : std::uint8_t {
  rows_in,         // complex rows -> points
  rows_out,        // points -> complex rows
  blocks_out,      // points -> blocks: rows[i] is the place of row i in the first block
  blocks_out_far,  // the same past the caches
  real_rows_in,    // real rows, two for every lane -> points
  real_rows_out,   // points -> real rows
  halves_out,      // points of n -> the first half of the spectra of both rows, in blocks
  halves_out_far,  // the same past the caches
  half_rows_out,   // the same to complex rows
  halves_in,       // blocks -> points
  half_rows_in,    // complex rows -> points
  lane_twiddles,   // point k times point k of a table and number k of another, in place
};

// What a move takes, in order, behind its two pointers and `scale` (a number that everything read is multiplied by; the
// table of points for lane_twiddles, whose other table is at the address `pitch` and which needs no rows).
struct MoveArguments {
  i64 count = 0;   // elements of a row; of halves n / 2 + 1
  i64 re_at = 0;   // 0, or V where points have their imaginary part first
  i64 pitch = 0;   // of blocks, in numbers
  i64 points = 0;  // of halves: n. Point 0 of n and, for even n, n / 2 are their own mirror images: `halves_in` leaves
                   // its second values at points n and n + 1, for the caller to take the mean
};

// The function of that name is void (void* const* rows, T* points, T* scale, const i64* n) for those that read rows,
// void (T* points, void* const* rows, T* scale, const i64* n) for those that write them.
std::string name_of(Move);
ir::nest::Module move_module(Move, ir::nest::Type vector);

}  // namespace tessera::fft
