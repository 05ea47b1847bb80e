// Products of factors that are wider than a multiplier, as sums of products that fit one.
//
// Synthesis would take such a product apart by itself, but without registers between the parts. Here a factor is cut
// into digits of one bit less than the multiplier takes, the uppermost with the sign:
//
//   a b = sum over i, j of a_i b_j 2^(17 (i + j))
//
// Parts of one difference i - j lie side by side, 34 bits from each other, so they are one number without an addition:
// of n and m digits n + m - 1 numbers are left to be added. Of a square those of j - i are those of i - j, which counts
// twice. Bits beyond the result's are never made. Additions then get their clocks like all others. Where a part has no
// multipliers, the rows of a product are added: as signed digits of a constant, else a selection for each bit.
#pragma once

#include "hardware/netlist/chip.hpp"
#include "hardware/netlist/netlist.hpp"

namespace tessera::hardware {

// The same results, with multipliers that the chip has.
Netlist split_products(const Netlist&, Chip);

}  // namespace tessera::hardware
