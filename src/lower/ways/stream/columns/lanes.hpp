// Lanes of pieces of a whole image (ir/reductions.hpp): lanes.cpp.
#pragma once

#include "lower/ways/stream/declared.hpp"

namespace tessera::lower {

// Of scratch memory that a pass needs to copy pieces into.
i64 piece_bytes(const StreamGroup&, const PassBody&);

// Row `number` of a stage that is lanes of pieces, from column x on: vectors beside each other, so that a piece is read
// line after line. `memory`: where pieces may be copied.
void store_lanes(const Declared&, const ir::ExprNode&, const ir::nest::Value& number, const ir::nest::Value& x,
                 const ir::nest::Value& memory, const ir::nest::Value& to);

}  // namespace tessera::lower
