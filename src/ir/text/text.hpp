// The grammar of the text form, shared by the printer and the parser.
//
//   parameter "M"
//   a0 = array "img" float [M, N]                      a1 = array "p" struct "rgb" {"r" uint8 0, "g" uint8 1} [M]
//   a2 = scalar "gain" float
//   t0 = table "k" float [3] : 1 2 1
//   s0 = input "img" float [M, N] : a0 0               argument and field
//   $0 = (mul s0[i, i-1] 2f)                           an expression used more than once, or deep
//   s1 = point "f" float [M, N] 0..0 1..1 : (add $0 s0[i:clamped, 2*i+v3+{M/2}-1:constant(0.5)])
//   s2 = compose "c" float [2*M, N]
//     piece s1 [0, 0] [2, 1] [M, N]                    start, stride, count; or  piece 0.5 ...
//   span "file.forma" 3 5 7 "  g = f(img);"            of the argument or stage above it
//   z0 = min(M, N)                                     an extent too long to write out each time
//   output "" float : s1
//
//   expression := $N | INT | NUMBER "f" | NUMBER "d" | vN | sN "[" index {"," index} "]" | "(" op {operand} ")"
//   op         := name [":" type]     the type is written where the operands do not tell it (const, convert, saturate)
//   reductions := (sum v0=-1..1 v1=-2..2 expression)
//   leaves     := (coord D) (extent D) (param P) (scalar A) (const:uint8 3); (gather sN e ...), (lookup tN e ...)
//                 (value sN) (min_of sN) (max_of sN) (sum_of sN) (mean_of sN) (sum_lanes sN PIECE) (size {extent})
//                 (bins:int sN) (partial sN PIECE BIN); (sum_into value key (size {extent}) ...)
#pragma once

#include <optional>

#include "ir/graph.hpp"

namespace tessera::ir::text {

// The type of a node as its operands tell it; nothing where the text has to name it.
std::optional<ElementType> implied_type(const Graph&, const ExprNode&);

// A parameter whose name can stand in an extent as it is; others are written $0, $1 ...
bool plain_parameter(const Graph&, std::size_t index);

}  // namespace tessera::ir::text
