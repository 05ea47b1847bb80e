// Tables of numbers as text.
#pragma once

#include <vector>

#include "ir/graph.hpp"

namespace tessera::emit {

// Throws Error(argument), with the table's name, where tables hold more numbers than a text should: a number takes some
// 14 bytes there, and no compiler gets through a gigabyte.
void check_tables(const std::vector<ir::Table>&);
// The same of the tables of Fourier transforms whose extents are known.
void check_transform_tables(i64 numbers);

}  // namespace tessera::emit
