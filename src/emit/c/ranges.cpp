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

namespace detail {
extern const std::string_view c_ranges_text;
}

std::string ranges_text(ir::nest::Lane lane) {
  const bool doubles = lane == ir::nest::Lane::f64;
  return map_identifiers(detail::c_ranges_text, [&](std::string_view word) -> std::string {
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
