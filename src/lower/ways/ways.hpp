// The tables of ways of running, one of devices and one of cores, and the choice among the rows of a table.
#pragma once

#include <span>

#include "lower/way.hpp"

namespace tessera::lower {

// In the order in which they are asked.
std::span<const DeviceWay* const> device_ways();
std::span<const CoreWay* const> core_ways();

// Asks the ways of a table about every group of the plan and writes down what they answered and which one is taken.
//
// The first one that fits and settles is taken. Else the cheapest: a way that is asked later is taken before one that
// is asked earlier where its price is at most a twentieth higher, since it does with less memory.
void choose_device_ways(plan::Plan&, i64 most_shared = shared_of_block);
void choose_core_ways(plan::Plan&);

// The row that a group has taken.
template <class Program>
const Way<Program>& way_of(std::span<const Way<Program>* const> table, const plan::Group& group) {
  for (const Way<Program>* way : table)
    if (!group.way.asked.empty() && group.way.chosen().way == way->name) return *way;
  throw Error(ErrorClass::internal, "a group has no way of running");
}

}  // namespace tessera::lower
