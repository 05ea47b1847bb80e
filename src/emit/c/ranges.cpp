// What brings the rounding of a transform down to what is near a point, in C: of tiles that hold numbers of very
// different size.
//
// Rounding spreads a part of the largest numbers of a tile over all of its results. A result is kept where its own
// window holds a number of at least 1/32 of the root of the mean square of the tile (32 = 1e-5 / (c 2^-24): c, some 5,
// is measured, docs/design/sums.md). For the others the tile is taken once more without the numbers that are larger
// than any in their windows, and so on; where a window holds zeros alone, the result is 0. So an impulse leaves its
// rounding as far as its own window reaches, and no farther.
//
//   tsr_range_far        may there be such results? By what windows hold at least: `least`, as the results say that the
//                        tile's function found on its way (fft/cpu/tile.hpp), and `low`, of a row here and there
//   tsr_range_doubtful   the same of tiles of one row
//   tsr_range_most       magnitudes, or the larger ones of these and those of a further plane
//   tsr_range_slide      the largest one of every window
//   tsr_range_next       the largest of these that is too small: what is larger is left out, 0: nothing is too small
//   tsr_range_mask       copies of rows without what is left out
//   tsr_range_keep       results of windows that hold nothing larger
//   tsr_range_clear      results of windows of zeros
//   tsr_range_mark, add  doubles under weights of one sign: results that are next to nothing, which a quotient by them
//                        would show, term by term (tsr_range_thin, tsr_range_result: are there any?)
//
// Magnitudes are compared as integers, in whose order they are, NaN being largest. Rows of tables are A's, then B's;
// tiles of one row are `rows` tiles of their own.
#include <fmt/format.h>

#include "emit/c/prelude.hpp"
#include "emit/names.hpp"

namespace tessera::emit {

namespace {

constexpr std::string_view text = R"(typedef TSR_INT tsr_range_word __attribute__((may_alias));
TSR_INLINE TSR_INT tsr_range_bits(TSR_REAL v) {
  TSR_INT bits;
  __builtin_memcpy(&bits, &v, sizeof bits);
  return bits & TSR_ALL;
}
TSR_INLINE double tsr_range_number(TSR_INT bits) {
  TSR_REAL v;
  __builtin_memcpy(&v, &bits, sizeof v);
  return (double)v;
}
TSR_INLINE const tsr_range_word* tsr_range_row(const u8* table, i64 k) { return (const tsr_range_word*)(const void*)tsr_row(table, k); }
TSR_INLINE double tsr_range_larger_of(double a, double b) { return a > b ? a : b; }
TSR_INLINE i32 tsr_range_far(double energy, double low, i64 count) {
  return !(energy >= TSR_TINY && energy <= TSR_HUGE && low * low >= energy / (1024 * (double)count));
}
/* `energy`: that of each, or 0: as found. */
TSR_HELPER i32 tsr_range_doubtful(const TSR_REAL* found, i64 lanes, i64 count, double energy) {
  i32 some = 0;
  for (i64 k = 0; k < lanes; ++k)
    some |= tsr_range_far(energy > 0 ? energy : (double)found[k], (double)found[lanes + k], count);
  return some;
}
TSR_HELPER double tsr_range_energy(const TSR_REAL* found, i64 lanes) {
  double energy = 0;
  for (i64 k = 0; k < lanes; ++k) energy += (double)found[k];
  return energy;
}
/* What windows hold at least: the least result over the sum of all weights. */
TSR_HELPER double tsr_range_least(const TSR_REAL* found, i64 lanes, TSR_REAL weights) {
  double least = (double)found[lanes];
  for (i64 k = 1; k < lanes; ++k)
    if ((double)found[lanes + k] < least) least = (double)found[lanes + k];
  return weights > 0 ? least / (double)weights : 0;
}
/* to[i]: the larger one of from[i] and from[i + by]. */
TSR_INLINE void tsr_range_larger(TSR_INT* __restrict__ to, const TSR_INT* __restrict__ from, i64 by, i64 count) {
  for (i64 i = 0; i < count; ++i) to[i] = from[i] > from[i + by] ? from[i] : from[i + by];
}
/* Of windows of k numbers; `lines` has room for two of n. Gives the line that they are in. */
TSR_INLINE TSR_INT* tsr_range_line(TSR_INT* lines, i64 n, i64 k) {
  TSR_INT *from = lines, *to = lines + n;
  for (i64 have = 1; have < k;) {
    i64 by = 2 * have <= k ? have : k - have;
    tsr_range_larger(to, from, by, n - have - by + 1);
    have += by;
    TSR_INT* other = from;
    from = to, to = other;
  }
  return from;
}
TSR_HELPER double tsr_range_low(const u8* table, i64 rows, i64 columns, i64 k0, i64 k1, TSR_INT* lines) {
  TSR_INT least = TSR_ALL;
  for (i64 tile = 0; tile < 2; ++tile)
    for (i64 y = k0 / 2; y < rows; y += k0) {
      const tsr_range_word* row = tsr_range_row(table, tile * rows + y);
      for (i64 c = 0; c < columns; ++c) lines[c] = row[c] & TSR_ALL;
      const TSR_INT* most = tsr_range_line(lines, columns, k1);
      for (i64 c = 0; c < columns - k1 + 1; ++c) least = most[c] < least ? most[c] : least;
    }
  return tsr_range_number(least);
}
TSR_HELPER void tsr_range_most(const u8* table, i64 rows, i64 columns, TSR_INT* most, i64 more) {
  for (i64 y = 0; y < rows; ++y) {
    const tsr_range_word* row = tsr_range_row(table, y);
    TSR_INT* to = most + y * columns;
    if (more)
      for (i64 c = 0; c < columns; ++c) to[c] = (row[c] & TSR_ALL) > to[c] ? row[c] & TSR_ALL : to[c];
    else
      for (i64 c = 0; c < columns; ++c) to[c] = row[c] & TSR_ALL;
  }
}
TSR_HELPER void tsr_range_slide(TSR_INT* most, i64 rows, i64 columns, i64 k0, i64 k1, TSR_INT* lines) {
  for (i64 have = 1; have < k0;) {
    i64 by = 2 * have <= k0 ? have : k0 - have;
    for (i64 y = 0; y < rows - have - by + 1; ++y) {
      TSR_INT* __restrict__ row = most + y * columns;
      const TSR_INT* __restrict__ below = row + by * columns;
      for (i64 c = 0; c < columns; ++c) row[c] = below[c] > row[c] ? below[c] : row[c];
    }
    have += by;
  }
  for (i64 y = 0; y < rows; ++y) {
    __builtin_memcpy(lines, most + y * columns, (unsigned long)(columns * (i64)sizeof *most));
    __builtin_memcpy(most + y * columns, tsr_range_line(lines, columns, k1), (unsigned long)(columns * (i64)sizeof *most));
  }
}
/* The sum of squares over that of the largest number, which is given; of numbers that are not larger than `limit`. */
TSR_INLINE double tsr_range_sum(const tsr_range_word* row, i64 columns, TSR_INT limit, double scale) {
  double sums[8] = {0};
  i64 c = 0;
  for (; c + 8 <= columns; c += 8)
    for (i64 k = 0; k < 8; ++k) {
      TSR_INT m = row[c + k] & TSR_ALL;
      double v = tsr_range_number(m <= limit ? m : 0) * scale;
      sums[k] += v * v;
    }
  for (; c < columns; ++c) {
    TSR_INT m = row[c] & TSR_ALL;
    double v = tsr_range_number(m <= limit ? m : 0) * scale;
    sums[0] += v * v;
  }
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}
TSR_INLINE double tsr_range_scale(TSR_INT limit) {
  double largest = tsr_range_number(limit);
  return largest > TSR_SMALL ? 1 / largest : 1 / TSR_SMALL;
}
/* Mean squares over that of the limit of what a level reads, for each tile or pair: added up, or the larger one. */
TSR_HELPER void tsr_range_squares(const u8* table, i64 rows, i64 columns, i64 alone, const TSR_INT* limits,
                                  double* squares, i64 more) {
  double all = 0;
  for (i64 y = 0; y < rows; ++y) {
    TSR_INT limit = limits[alone ? y : 0];
    double scale = tsr_range_scale(limit), sum = 0;
    for (i64 tile = 0; tile < 2; ++tile)
      sum += tsr_range_sum(tsr_range_row(table, tile * rows + y), columns, limit, scale);
    if (alone) squares[y] = sum / (double)columns;
    all += sum;
  }
  all /= (double)(rows * columns);
  if (!alone) squares[0] = more && squares[0] > all ? squares[0] : all;
}
/* The largest magnitude of all: where the first level begins. */
TSR_HELPER void tsr_range_first(const TSR_INT* most, i64 rows, i64 columns, i64 alone, TSR_INT* limits) {
  TSR_INT largest = 0;
  for (i64 y = 0; y < 2 * rows; ++y) {
    TSR_INT own = 0;
    for (i64 c = 0; c < columns; ++c) own = most[y * columns + c] > own ? most[y * columns + c] : own;
    if (alone) limits[y % rows] = y >= rows && limits[y % rows] > own ? limits[y % rows] : own;
    largest = own > largest ? own : largest;
  }
  if (!alone) limits[0] = largest;
}
TSR_INLINE TSR_INT tsr_range_below(const TSR_INT* most, i64 wide, TSR_INT edge) {
  TSR_INT largest = 0;
  for (i64 c = 0; c < wide; ++c) {
    TSR_INT m = most[c] < edge ? most[c] : 0;
    largest = m > largest ? m : largest;
  }
  return largest;
}
/* The least magnitude of a window whose result may be kept: the edge of the squares. */
TSR_INLINE TSR_INT tsr_range_edge(TSR_INT limit, double square) {
  double scale = tsr_range_scale(limit), least = square / 1024;
  TSR_INT lo = 0, hi = limit; /* the edge lies in (lo, hi], or above hi */
  if (square <= 0) return 0;
  while (hi - lo > 1) {
    TSR_INT middle = lo + (hi - lo) / 2;
    double v = tsr_range_number(middle) * scale;
    if (v * v >= least) hi = middle; else lo = middle;
  }
  return hi;
}
TSR_HELPER i32 tsr_range_next(const TSR_INT* most, i64 rows, i64 columns, const i64* n, i64 alone, TSR_INT* limits,
                              const double* squares) {
  i32 some = 0;
  for (i64 unit = 0; unit < (alone ? rows : 1); ++unit) {
    TSR_INT edge = tsr_range_edge(limits[unit], squares[unit]), next = 0;
    for (i64 tile = 0; tile < 2; ++tile) {
      i64 high = n[2 * tile], wide = n[2 * tile + 1];
      for (i64 y = alone ? unit : 0; y < (alone ? tsr_min(unit + 1, high) : high); ++y) {
        TSR_INT below = tsr_range_below(most + (tile * rows + y) * columns, wide, edge);
        next = below > next ? below : next;
      }
    }
    limits[unit] = next;
    some |= next > 0;
  }
  return some;
}
TSR_HELPER void tsr_range_mask(u8* table, u8* own, i64 rows, i64 columns, i64 alone, const TSR_INT* limits) {
  for (i64 k = 0; k < 2 * rows; ++k) {
    TSR_INT limit = limits[alone ? k % rows : 0];
    tsr_range_word* to = (tsr_range_word*)(void*)(own + k * columns * (i64)sizeof(TSR_REAL));
    const tsr_range_word* from = tsr_range_row(table, k);
    if (from != to) __builtin_memcpy(to, from, (unsigned long)(columns * (i64)sizeof(TSR_REAL)));
    for (i64 c = 0; c < columns; ++c) to[c] = (to[c] & TSR_ALL) <= limit ? to[c] : 0;
    tsr_set_row(table, k, to);
  }
}
TSR_HELPER void tsr_range_keep(const u8* table, const u8* level, i64 rows, i64 columns, const TSR_INT* most, const i64* n,
                               i64 alone, const TSR_INT* limits) {
  for (i64 tile = 0; tile < 2; ++tile)
    for (i64 y = 0; y < n[2 * tile]; ++y) {
      TSR_INT limit = limits[alone ? y : 0];
      const TSR_INT* m = most + (tile * rows + y) * columns;
      tsr_range_word* to = (tsr_range_word*)(void*)tsr_row(table, tile * rows + y);
      const tsr_range_word* from = tsr_range_row(level, tile * rows + y);
      for (i64 c = 0; c < n[2 * tile + 1]; ++c) to[c] = m[c] <= limit ? from[c] : to[c];
    }
}
TSR_HELPER void tsr_range_clear(const u8* table, i64 rows, i64 columns, const TSR_INT* most, const i64* n) {
  for (i64 tile = 0; tile < 2; ++tile)
    for (i64 y = 0; y < n[2 * tile]; ++y) {
      const TSR_INT* m = most + (tile * rows + y) * columns;
      tsr_range_word* to = (tsr_range_word*)(void*)tsr_row(table, tile * rows + y);
      for (i64 c = 0; c < n[2 * tile + 1]; ++c) to[c] = m[c] == 0 ? 0 : to[c];
    }
}
/* The least magnitude of all results. */
TSR_HELPER double tsr_range_result(const u8* table, i64 rows, const i64* n) {
  TSR_INT least = TSR_ALL;
  for (i64 tile = 0; tile < 2; ++tile)
    for (i64 y = 0; y < n[2 * tile]; ++y) {
      const tsr_range_word* row = tsr_range_row(table, tile * rows + y);
      for (i64 c = 0; c < n[2 * tile + 1]; ++c) least = (row[c] & TSR_ALL) < least ? row[c] & TSR_ALL : least;
    }
  return tsr_range_number(least);
}
/* Is a result, over the sum of all weights, next to nothing beside numbers of that energy? */
TSR_INLINE i32 tsr_range_thin(double energy, double result, i64 count) {
  return !(result * result >= energy / (0x1p56 * (double)count));
}
/* Such beside what its own window holds, where weights that are next to nothing, or 0, lie upon it: 0, and -1 in place of
   the largest number of the window. */
TSR_HELPER i32 tsr_range_mark(const u8* table, i64 rows, i64 columns, TSR_INT* most, const i64* n, TSR_REAL weights) {
  i32 some = 0;
  for (i64 tile = 0; tile < 2; ++tile)
    for (i64 y = 0; y < n[2 * tile]; ++y) {
      TSR_INT* m = most + (tile * rows + y) * columns;
      TSR_REAL* to = (TSR_REAL*)(void*)tsr_row(table, tile * rows + y);
      for (i64 c = 0; c < n[2 * tile + 1]; ++c) {
        double v = (double)(to[c] < 0 ? -to[c] : to[c]);
        if (m[c] <= 0 || v >= tsr_range_number(m[c]) * (double)weights * 0x1p-30) continue;
        m[c] = -1, to[c] = 0, some = 1;
      }
    }
  return some;
}
/* The sums of these, term by term. */
TSR_HELPER void tsr_range_add(const u8* table, const u8* results, i64 rows, i64 columns, const TSR_INT* most,
                              const i64* n, const TSR_REAL* weights, i64 k0, i64 k1) {
  for (i64 tile = 0; tile < 2; ++tile)
    for (i64 y = 0; y < n[2 * tile]; ++y) {
      const TSR_INT* m = most + (tile * rows + y) * columns;
      TSR_REAL* to = (TSR_REAL*)(void*)tsr_row(results, tile * rows + y);
      for (i64 c = 0; c < n[2 * tile + 1]; ++c) {
        if (m[c] >= 0) continue;
        for (i64 k = 0; k < k0; ++k) {
          const TSR_REAL* from = (const TSR_REAL*)(const void*)tsr_row(table, tile * rows + y + k) + c;
          for (i64 l = 0; l < k1; ++l)
            if (weights[k * k1 + l] != 0) to[c] += weights[k * k1 + l] * from[l];
        }
      }
    }
}
TSR_HELPER void tsr_range_rows(u8* table, u8* memory, i64 rows, i64 columns) {
  for (i64 k = 0; k < rows; ++k) tsr_set_row(table, k, memory + k * columns * (i64)sizeof(TSR_REAL));
}
)";

}  // namespace

std::string ranges_text(ir::nest::Lane lane) {
  const bool doubles = lane == ir::nest::Lane::f64;
  return map_identifiers(text, [&](std::string_view word) -> std::string {
    if (word == "TSR_REAL") return doubles ? "f64" : "f32";
    if (word == "TSR_INT") return doubles ? "i64" : "i32";
    if (word == "TSR_ALL") return doubles ? "0x7fffffffffffffffLL" : "0x7fffffff";
    // Beyond these, squares say nothing; whose inverse is a number.
    if (word == "TSR_TINY") return doubles ? "1e-280" : "1e-28";
    if (word == "TSR_HUGE") return doubles ? "1e300" : "1e38";
    if (word == "TSR_SMALL") return doubles ? "1e-300" : "1e-60";
    if (word.starts_with("tsr_range_")) return fmt::format("{}_{}", word, doubles ? "f64" : "f32");
    return std::string(word);
  });
}

}  // namespace tessera::emit
