// One pair of overlap-save tiles: convolution through a Fourier transform as a function of a loop nest.
//
// A tile is T0 x T1 real numbers. Two tiles A and B are the real and the imaginary part of one tile of complex numbers;
// the weights are real, so the product with their spectrum keeps the two apart. The function computes
//
//   result[y][x] = sum over i < K0, j < K1 of weights[i][j] * tile[y + i][x + j]
//
// (a correlation; whoever wants a convolution turns the weights around) modulo T0 and T1: point (0, 0) of the result
// belongs to point (0, 0) of the tile, and the first T0 - K0 + 1 rows and T1 - K1 + 1 columns of it hold no point that
// went around. With the anchor of the weights at (a0, a1), result (0, 0) is the one of the point (a0, a1) of the tile.
//
// Forward, digits stay where they fall; the spectrum of the weights lies in that order, the way back takes it: nothing
// is reordered. Columns come first, V neighbours as lanes, read from both tiles by row pointers; then groups of V rows,
// transposed in registers, multiplied and brought back at one go; then columns back, stored to the rows of the result.
// With f the digits that are known so far, forward pass i transforms r legs of block f times exp(-2 pi i k f / (f's
// range r)): few twiddles, one row of them for a block. Backward it is the usual decimation in time. Both multiply what
// they load. Backward is forward with real and imaginary parts exchanged.
//
// Rows alone are a plan with T0 = 1: V rows of each tile side by side, every lane a tile of its own, weights of one
// row.
//
// A sum over planes as well, of a volume, is one of such products: forward and back are functions of their own, so that
// a tile of a plane is transformed once, and what is multiplied and brought back is a sum over planes of weights.
//
// The error is at most 2 eps log2(T0 T1) of the largest number of the two tiles times the sum of |weights|: a huge tile
// B shows in A, and what is not finite in one spoils all of both.
#pragma once

#include <string>
#include <vector>

#include "ir/nest/nest.hpp"

namespace tessera::fft {

// The shape, and what its function and its spectrum must agree on. The radices of an axis have its extent as product;
// the first one is that of the pass which reads the tile and writes the result.
struct TilePlan {
  i64 rows = 0, columns = 0;      // T0 (or 1), T1: multiples of the lanes
  std::vector<i64> down, across;  // radices of columns (T0) and of rows (T1)
  ir::nest::Type vector;          // of floats or doubles, 2 to 16 lanes
  i64 grain = 1;                  // of one row: so many points, a divisor of the lanes, of which windows hold a group
};

// Whether a tile may be so high or wide: a multiple of the lanes, a product of 2, 3, 5 and 7, 4 <= n <= 8192.
bool is_tile_extent(i64 n, int lanes);
// The extents are such ones, or one row.
TilePlan plan_tile(i64 rows, i64 columns, ir::nest::Type vector);
// The grain for windows of so many columns.
i64 grain_of(i64 columns, int lanes);

// Rows of a tile: T0, or the lanes where T0 = 1.
i64 tile_rows(const TilePlan&);

// Numbers of the lane type that the function wants as scratch memory, best aligned to a vector, and in a spectrum. The
// last two vectors of it tell how far the numbers of the pair lie apart when the function is done:
//   the sums of the squares of all that was read; of tiles of one row lane by lane, those of row k of A and of B
//   the least magnitude, in any lane, of all results (and of some that went around); of tiles of one row the least of
//   what each `grain` points have as their largest, lane by lane
i64 tile_scratch(const TilePlan&);
i64 tile_spectrum_size(const TilePlan&);

// "fft_tile_64x64"
std::string name_of(const TilePlan&);

// What the function takes as `n`: of how many rows and columns, from (0, 0) on, the results are stored. Nothing else is
// written, nothing behind T1 numbers of a row is read. Neither exceeds the extents; a tile without results (rows 0) is
// read all the same. `ahead` numbers behind its rows lie those of the next pair, which the function asks the memory for
// while it computes: twice the columns of results where A and B are neighbours in a row of tiles. It may lead anywhere.
struct TileArguments {
  i64 rows_a = 0, columns_a = 0, rows_b = 0, columns_b = 0;
  i64 ahead = 0;
  // Of sums over planes: so many volumes of weights, so many planes of each; whether a second plane of results is
  // stored.
  i64 volumes = 1, along = 1, second = 0;
};

// Adds the function
//   void NAME(void* const* rows, void* const* out, T* spectrum, T* scratch, const i64* n)
// with T the lane of numbers, and its tables of twiddles, to a module. `rows` are tile_rows pointers to T1 numbers for
// tile A, then as many for B; `out` the same for the results (pointers beyond the rows asked for are not used). Neither
// rows nor results need be aligned. Results may not lie where rows of the two tiles do.
void add_tile(ir::nest::Module&, const TilePlan&, const std::string& name);

// Adds the functions for sums over planes, of tiles of more than one row:
//   void NAME_there(void* const* rows, T* spectrum, T* scratch, const i64* n)
//   void NAME_back(void* const* spectra, void* const* out, T* weights, T* scratch, const i64* n)
// The first one writes the spectrum of a pair of tiles, tile_spectrum_size numbers; of n it uses `ahead`. The second
// one adds up two planes of results, which share what is read: of every volume it takes along + 1 spectra, the last one
// for the second plane alone; the spectra of weights stand behind one another, volume by volume. `out`: tiles A and B
// of the first plane, then those of the second. Scratch: twice tile_scratch.
void add_stack(ir::nest::Module&, const TilePlan&, const std::string& name);

// The spectrum of K0 x K1 weights (row by row, K0 <= T0, K1 <= T1) for the function: in the order of its digits and
// lanes, over T0 T1. Computed in double; 256 x 256 take less than 10 ms.
std::vector<double> tile_spectrum(const TilePlan&, const std::vector<double>& weights, i64 k0, i64 k1);

}  // namespace tessera::fft
