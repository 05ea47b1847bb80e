// C for cores, with the vectors that GCC and Clang share.
#include "emit/nest/dialect.hpp"

namespace tessera::emit {

constinit const Dialect c_dialect = {
    .vectors = true,
    .nan = {.f32 = "__builtin_nanf(\"\")", .f64 = "__builtin_nan(\"\")"},
    .infinity = {.f32 = "__builtin_inff()", .f64 = "__builtin_inf()"},
    .table = "static const {type} {name}[] __attribute__((unused))",
    .pointer_of_pointer = "(({type})(void*)({a}))",
    .pointer_of_integer = "(({type})(tsr_word)({a}))",
    .choice_of_reals = "tsr_choose({m}, {a}, {b}, {lane})",
    .fused = "tsr_fused_{type}({a}, {b}, {c})",
    .open_extreme = {.f32 = "tsr_choose({a} {op} {b}, {a}, {b}, {lane})",
                     .f64 = "tsr_choose({a} {op} {b}, {a}, {b}, {lane})"},
    .reals = {.neg = "tsr_neg({a}, {lane})", .mul = "{product}({a} * {b})"},
    .halves = {.neg = "tsr_neg({a}, {lane})"},
    .wrapping = {.neg = "(({type})(-({unsigned})({a})))",
                 .sum = "(({type})(({unsigned})({a}) {op} ({unsigned})({b})))",
                 .mul = "(({type})(({unsigned})({a}) {op} ({unsigned})({b})))",
                 .shl = "(({type})(({unsigned})({a}) {op} ({unsigned})({b})))"},
};

}  // namespace tessera::emit
