// What the tables of devices' dialects have in common.
#pragma once

#include "emit/nest/dialect.hpp"

namespace tessera::emit {

// Defined by device/prelude_*.c.inc.
constexpr OfReals names_of_nan{.f32 = "tsr_nan_f32", .f64 = "tsr_nan_f64"};
constexpr OfReals names_of_infinity{.f32 = "tsr_inf_f32", .f64 = "tsr_inf_f64"};

// C computes narrow integers in int; what overflows is defined for unsigned ones alone.
constexpr Arithmetic narrow_arithmetic{
    .neg = "(({type})tsr_negative((u32){a}))",
    .bit_not = "(({type})(~{a}))",
    .sum = "(({type})((u32){a} {op} (u32){b}))",
    .mul = "(({type})((u32){a} {op} (u32){b}))",
    .shl = "(({type})((u32){a} {op} {b}))",
    .infix = "(({type})({a} {op} {b}))",
};

}  // namespace tessera::emit
