// What a window reduces as a stage of its own; see products.cpp.
#pragma once

#include <string>
#include <vector>

#include "ir/graph.hpp"
#include "machine/machine.hpp"
#include "rewrite/sums/choice.hpp"

namespace tessera::rewrite {

// Makes stages of the functions of images that windows reduce, products above all, where the reduction is one of a
// single image then and a method takes it for less than term by term; takes factors that do not move with the window
// out of it. Appends what it did, and why not, to `remarks`. `assumed`: parameters.
void name_products(ir::Graph&, Numbers, Method, const machine::Machine&, const std::vector<i64>& assumed,
                   std::vector<std::string>& remarks);

}  // namespace tessera::rewrite
