// Sums of bytes as products of four neighbours (rewrite/sums/bytes.hpp): bytes.cpp. Which products a pass takes, its
// body says (pass_body.hpp).
#pragma once

#include <utility>

#include "lower/point.hpp"
#include "lower/ways/stream/columns/columns.hpp"

namespace tessera::lower {

// The sums of a block at column x, by expression.
PointEmitter::Values byte_totals(const PassOfTile&, const std::vector<Pointers>& sources, const ir::nest::Value& x);
// What is stored of the results of four phases, at which columns.
std::vector<std::pair<i64, ir::nest::Value>> of_quads(Builder&, const std::vector<ir::nest::Value>& phases,
                                                      ir::nest::Lane lane);

}  // namespace tessera::lower
