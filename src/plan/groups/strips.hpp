// Groups of devices whose threads keep rows in registers: what strips.hpp says of one, against what a thread has.
// Where no strips are planned, none of this is asked but `repetition`.
#pragma once

#include <string>

#include "plan/passes/layout.hpp"

namespace tessera::plan {

// Why a set of that layout is no strip that fits registers; "" where it is one.
std::string no_strip(const GraphFacts&, const Layout&);
// Is it one, and no set of copies alone? Those gain nothing by it.
bool runs_in_strips(const GraphFacts&, const Set&, const Layout&);
// What neighbouring threads compute twice, of stages that differ in size: 1 and more.
double repetition(const GraphFacts&, const Layout&);

// What a thread of a register tile has (lower/ways/register_tiles), which looks ahead of nothing.
struct RegisterTile {
  bool is_strip = false;
  int columns = 0, registers = 0;  // 0: it is none
  double text = 0;                 // instructions of one of `rows` rows
  static constexpr i64 rows = 4;   // of the lowest one there is (register_tiles.cpp)
};
RegisterTile register_tile(const GraphFacts&, const Set&, const Layout&);

}  // namespace tessera::plan
