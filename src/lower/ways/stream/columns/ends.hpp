// The ends of rows that a pass reads: copies of a few vectors, continued by the border; ends.cpp.
#pragma once

#include "lower/ways/stream/rows.hpp"

namespace tessera::lower {

// Of a row of the source.
i64 patch_bytes(const StreamGroup&, const plan::Pass&, const PassBody::Source&);

// The rows of every source for columns from x0 to x1, of which whole vectors compute so many; those of long tables go
// into their variables.
std::vector<std::vector<ir::nest::Value>> patched_ends(const PassOfTile&, const std::vector<Pointers>& sources,
                                                       const ir::nest::Value& x0, const ir::nest::Value& x1,
                                                       const ir::nest::Value& whole);

}  // namespace tessera::lower
