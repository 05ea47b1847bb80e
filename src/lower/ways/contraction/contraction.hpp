// Contractions on cores (rewrite/sums/contraction.hpp): packed panels and tiles of registers.
//
//   for blocks of terms that fit the caches:
//     pack `down`: for every block of `high` rows, term after term, their numbers beside each other
//     for every row of the other dimensions, for panels of `wide` columns:
//       pack `across`: term after term, `wide` numbers, with borders applied
//       for every block of rows: high x wide totals in registers, one turn a term
//
// A turn loads `vectors` vectors and `high` numbers for high x vectors multiply-adds. Terms are added in their order,
// one total a result, whatever the tile is: so results do not depend on it.
#pragma once

#include "lower/way.hpp"

namespace tessera::lower {

extern const CoreWay core_contractions;

}  // namespace tessera::lower
