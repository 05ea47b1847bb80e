// Lanes of pieces of a whole image (ir/reductions.hpp): lanes.cpp.
#pragma once

#include "lower/ways/stream/declared.hpp"

namespace tessera::lower {

// Of scratch memory that a pass needs to copy pieces into.
i64 piece_bytes(const StreamGroup&, const PassBody&);

}  // namespace tessera::lower
